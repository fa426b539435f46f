//! The invariants of the economy, judged from its facts alone.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::facts::{Batch, BlockFacts, Claim, MovementFact, OutPoint, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, ScriptType, Status};
use headwater_simulate::truth::{BridgeOutcome, JointKind, Role};
use headwater_simulate::{Economy, Preset, Production, Truth, economy};
use sha3::Digest;

use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};

use crate::{DEMO, demo};

fn of_chain(chain: Chain) -> impl Iterator<Item = &'static Batch> {
    DEMO.batches.iter().filter(move |batch| batch.chain == chain)
}

fn transactions(chain: Chain) -> Vec<&'static TransactionFacts> {
    of_chain(chain).flat_map(|batch| &batch.transactions).collect()
}

fn account_chains() -> impl Iterator<Item = Chain> {
    Chain::all().filter(|chain| chain.family() != Family::Utxo)
}

fn fee(facts: &TransactionFacts) -> Amount {
    let by_gas = facts.gas_used.zip(facts.effective_gas_price);
    let by_gas = by_gas.map(|(used, price)| Amount::from(used).checked_mul(price).unwrap());
    facts.fee.or(by_gas).unwrap_or_default()
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let bits = |economy: &Economy| economy.prices.iter().map(|price| price.usd.to_bits()).collect::<Vec<_>>();
    let is_same = || {
        let again = economy(Preset::Demo, 7);
        again == **DEMO && bits(&again) == bits(&DEMO)
    };
    let again: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(is_same)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(again, [true, true]);
}

#[test]
fn another_seed_gives_another_economy() {
    let other = demo(8);
    let hashes = |economy: &Economy| -> BTreeSet<TxHash> {
        economy.batches.iter().flat_map(|batch| &batch.transactions).map(|facts| facts.hash).collect()
    };
    let (mine, others) = (hashes(&DEMO), hashes(other));
    assert_eq!(mine.intersection(&others).count(), 0);
    assert_ne!(DEMO.prices, other.prices);
}

/// Replays every movement in order of block, position and ordinal: nobody may ever have less than nothing, and at the
/// end every asset is where it must be: what came into being, less what was burned and paid as fees.
#[test]
fn nobody_spends_what_they_do_not_have_and_value_is_conserved() {
    for chain in account_chains() {
        let counterfeit = contracts_of(chain, Role::CounterfeitToken);
        let mut held: BTreeMap<(Address, Asset), Amount> = BTreeMap::new();
        let mut made: BTreeMap<Asset, Amount> = BTreeMap::new();
        let mut gone: BTreeMap<Asset, Amount> = BTreeMap::new();
        let add = |map: &mut BTreeMap<Asset, Amount>, asset, amount: Amount| {
            let sum = map.entry(asset).or_default();
            *sum = sum.checked_add(amount).unwrap();
        };
        let mut all = transactions(chain);
        all.sort_by_key(|facts| (facts.block, facts.index.map_or(u64::MAX, u64::from), facts.hash));
        for facts in all {
            let body = facts.body.as_ref().unwrap();
            let mut flows: Vec<(Option<Address>, Option<Address>, Asset, Amount)> = Vec::new();
            if let Some(from) = body.from {
                flows.push((Some(from), None, Asset::Native, fee(facts)));
            }
            if facts.status == Some(Status::Success) {
                flows.push((body.from, body.to.or(facts.created), Asset::Native, body.value));
                // Multi-tokens are not amounts, and what a counterfeit states never happened.
                let counts = |movement: &&headwater_ledger::facts::Movement| {
                    movement.kind != MovementFact::NonFungible && !counterfeit.contains(&movement.asset)
                };
                for movement in facts.movements.iter().filter(counts) {
                    let real = |address: Option<Address>| {
                        address.filter(|address| movement.kind == MovementFact::Internal || !address.is_zero())
                    };
                    flows.push((real(movement.from), real(movement.to), movement.asset, movement.amount));
                }
            } else {
                assert!(facts.movements.is_empty() && facts.logs.is_empty());
            }
            for (from, to, asset, amount) in flows {
                match from {
                    Some(from) => {
                        let balance = held.entry((from, asset)).or_default();
                        *balance = balance.checked_sub(amount).unwrap_or_else(|| {
                            panic!("{chain} {:?}: {from} has {balance} of {asset:?}, spends {amount}", facts.hash)
                        });
                    }
                    None => add(&mut made, asset, amount),
                }
                match to {
                    Some(to) => {
                        let balance = held.entry((to, asset)).or_default();
                        *balance = balance.checked_add(amount).unwrap();
                    }
                    None => add(&mut gone, asset, amount),
                }
            }
        }
        let mut left: BTreeMap<Asset, Amount> = BTreeMap::new();
        for ((_, asset), balance) in held {
            add(&mut left, asset, balance);
        }
        for (asset, made) in made {
            let gone = gone.get(&asset).copied().unwrap_or_default();
            assert_eq!(made, left[&asset].checked_add(gone).unwrap(), "{chain} {asset:?}");
        }
    }
}

fn contracts_of(chain: Chain, role: Role) -> BTreeSet<Asset> {
    let rows = DEMO.truth.addresses.iter().filter(|row| row.chain == chain && row.role == role);
    rows.map(|row| Asset::Token(row.address)).collect()
}

#[test]
fn a_wrapped_coin_is_backed_by_its_contract() {
    for (chain, contract) in [
        (Chain::ETHEREUM, "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
        (Chain::BSC, "0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c"),
        (Chain::TRON, "TNUC9Qb1rRpS5CbWLmNMxXBjyFoydXjWFR"),
    ] {
        let contract = Address::parse(chain, contract).unwrap();
        let (mut supply, mut backing, mut wraps) = (0_i128, 0_i128, 0);
        let signed = |amount: Amount| i128::try_from(amount.to_u128().unwrap()).unwrap();
        for facts in transactions(chain).into_iter().filter(|facts| facts.status == Some(Status::Success)) {
            let body = facts.body.as_ref().unwrap();
            if body.to == Some(contract) {
                backing += signed(body.value);
            }
            for movement in &facts.movements {
                if movement.asset == Asset::Token(contract) && movement.from.unwrap().is_zero() {
                    supply += signed(movement.amount);
                    wraps += 1;
                } else if movement.asset == Asset::Token(contract) && movement.to.unwrap().is_zero() {
                    supply -= signed(movement.amount);
                } else if movement.kind == MovementFact::Internal && movement.from == Some(contract) {
                    backing -= signed(movement.amount);
                } else if movement.kind == MovementFact::Internal && movement.to == Some(contract) {
                    backing += signed(movement.amount);
                }
            }
        }
        assert!(wraps > 5, "{chain}: {wraps}");
        assert_eq!(supply, backing, "{chain}");
    }
}

/// A pool reports its reserves with every change: they are what it has, and no swap makes their product smaller.
#[test]
fn pools_hold_what_they_say_and_keep_their_product() {
    let keccak = |text: &str| -> [u8; 32] { sha3::Keccak256::digest(text.as_bytes()).into() };
    let (sync, swap) =
        (keccak("Sync(uint112,uint112)"), keccak("Swap(address,uint256,uint256,uint256,uint256,address)"));
    let mut swaps = 0;
    for chain in account_chains() {
        let pools: BTreeSet<_> =
            contracts_of(chain, Role::DexPool).into_iter().filter_map(|asset| asset.contract().copied()).collect();
        let mut held: BTreeMap<(Address, Address), u128> = BTreeMap::new();
        let mut reserves: BTreeMap<Address, [u128; 2]> = BTreeMap::new();
        for facts in transactions(chain).into_iter().filter(|facts| facts.status == Some(Status::Success)) {
            for movement in &facts.movements {
                let (Asset::Token(token), MovementFact::Token) = (movement.asset, movement.kind) else { continue };
                let raw = || movement.amount.to_u128().unwrap();
                if let Some(from) = movement.from.filter(|from| pools.contains(from) && *from != token) {
                    *held.get_mut(&(from, token)).unwrap() -= raw();
                }
                if let Some(to) = movement.to.filter(|to| pools.contains(to) && *to != token) {
                    *held.entry((to, token)).or_default() += raw();
                }
            }
            for log in facts.logs.iter().filter(|log| log.topics[0] == sync) {
                let word =
                    |place: usize| u128::from_be_bytes(log.data[32 * place + 16..32 * place + 32].try_into().unwrap());
                let reported = [word(0), word(1)];
                let mine: Vec<_> = held
                    .range((log.address, Address::Evm([0; 20]))..)
                    .take_while(|row| row.0.0 == log.address)
                    .collect();
                assert_eq!(mine.iter().map(|row| *row.1).collect::<Vec<_>>(), reported, "{chain} {}", log.address);
                let product =
                    |pair: [u128; 2]| Amount::from_u128(pair[0]).checked_mul(Amount::from_u128(pair[1])).unwrap();
                let traded = facts.logs.iter().any(|other| other.address == log.address && other.topics[0] == swap);
                if let (Some(before), true) = (reserves.get(&log.address), traded) {
                    assert!(product(reported) >= product(*before), "{chain} {}", log.address);
                    swaps += 1;
                }
                reserves.insert(log.address, reported);
            }
        }
    }
    assert!(swaps > 1_000, "{swaps}");
}

#[test]
fn bitcoin_coins_are_spent_once_and_after_they_exist() {
    let mut unspent: BTreeMap<OutPoint, (u64, u64, bool)> = BTreeMap::new();
    let mut fees_of_block = 0_u64;
    let mut coinbases = 0_u64;
    // The coinbase of a block takes its fees, so it is looked at last; within a block spenders may follow at once.
    let mut by_block: BTreeMap<u64, Vec<&TransactionFacts>> = BTreeMap::new();
    for facts in transactions(Chain::BITCOIN) {
        by_block.entry(facts.block).or_default().push(facts);
    }
    for (block, mut block_transactions) in by_block {
        block_transactions.sort_by_key(|facts| facts.index);
        assert_eq!(block_transactions[0].index, Some(0));
        for facts in &block_transactions[1..] {
            let utxo = facts.utxo.as_ref().unwrap();
            let mut paid_in = 0;
            for input in &utxo.inputs {
                let (amount, made, coinbase) =
                    unspent.remove(&input.previous).expect("a coin that exists and is unspent");
                assert!(!coinbase || block >= made + 100, "a coinbase was spent before it matured");
                assert_eq!(input.spent.as_ref().unwrap().amount, amount);
                paid_in += amount;
            }
            let paid_out: u64 = utxo.outputs.iter().map(|output| output.amount).sum();
            assert!(!utxo.coinbase && paid_out < paid_in);
            fees_of_block += paid_in - paid_out;
            add_outputs(&mut unspent, facts, false);
        }
        let coinbase = block_transactions[0].utxo.as_ref().unwrap();
        assert!(coinbase.coinbase && coinbase.inputs.is_empty());
        let reward: u64 = coinbase.outputs.iter().map(|output| output.amount).sum();
        assert_eq!(reward, 50 * 100_000_000 + fees_of_block, "block {block}");
        fees_of_block = 0;
        coinbases += 1;
        add_outputs(&mut unspent, block_transactions[0], true);
    }
    let left: u64 = unspent.values().map(|coin| coin.0).sum();
    assert_eq!(left, coinbases * 50 * 100_000_000);
}

fn add_outputs(unspent: &mut BTreeMap<OutPoint, (u64, u64, bool)>, facts: &TransactionFacts, coinbase: bool) {
    for (index, output) in (0..).zip(&facts.utxo.as_ref().unwrap().outputs) {
        assert_eq!(output.script == ScriptType::OpReturn, output.data.is_some());
        unspent.insert(OutPoint { hash: facts.hash, index }, (output.amount, facts.block, coinbase));
    }
}

#[test]
fn batches_cover_a_chain_with_every_non_empty_block() {
    for chain in Chain::all() {
        let mut next = 0;
        let mut blocks: BTreeMap<u64, &BlockFacts> = BTreeMap::new();
        for batch in of_chain(chain) {
            let ranges: BTreeSet<_> = batch
                .claims
                .iter()
                .map(|claim| match claim {
                    Claim::Blocks { first, last, .. } => (*first, *last),
                    Claim::Account { .. } => panic!("the economy claims whole blocks"),
                })
                .collect();
            let [(first, last)] = ranges.into_iter().collect::<Vec<_>>()[..] else {
                panic!("one range for all tables")
            };
            assert_eq!(first, next, "{chain}");
            next = last + 1;
            let whole = Claim::Blocks { first, last, table: CoverageTable::Blocks };
            assert_eq!(batch.claims.contains(&whole), chain == Chain::BITCOIN);
            let numbers: Vec<_> = batch.blocks.iter().map(|block| block.number).collect();
            assert_eq!((numbers[0], numbers[numbers.len() - 1]), (first, last));
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(chain != Chain::BITCOIN || numbers.len() as u64 == last - first + 1);
            blocks.extend(batch.blocks.iter().map(|block| (block.number, block)));
            for facts in &batch.transactions {
                assert_eq!(facts.time, Some(blocks[&facts.block].time), "{chain} block {}", facts.block);
            }
        }
        assert!(blocks.len() > 3_000, "{chain}: {}", blocks.len());
        let all: Vec<_> = blocks.into_values().collect();
        for pair in all.windows(2) {
            assert!(pair[0].time < pair[1].time && pair[0].hash.is_some());
            assert_eq!(pair[1].parent == pair[0].hash, pair[1].number == pair[0].number + 1);
        }
        let period = all[all.len() - 1].time.secs() - all[0].time.secs();
        assert!(period >= 400 * 86_400, "{chain}: {period}");
    }
}

/// The same slices whether they are kept or handed on one by one, and the same as in memory.
#[test]
fn an_economy_in_slices_is_the_economy_in_memory() {
    let mut batches = Vec::new();
    let mut truth = Truth::default();
    let mut slices = 0;
    for slice in Production::new(Preset::Demo, 7) {
        assert!(slice.batches.iter().all(|batch| batch.transactions.len() < 30_000));
        batches.extend(slice.batches);
        truth.append(slice.truth);
        slices += 1;
    }
    batches.sort_by_key(|batch| batch.chain);
    assert!(slices > 2 && batches == DEMO.batches && truth == DEMO.truth);
}

#[test]
fn positions_nonces_and_log_indexes_count_up_without_gaps() {
    for chain in Chain::all() {
        let mut next_index: BTreeMap<u64, u32> = BTreeMap::new();
        let mut next_log: BTreeMap<u64, u64> = BTreeMap::new();
        let mut next_nonce: BTreeMap<Address, u64> = BTreeMap::new();
        let mut hashes = BTreeSet::new();
        for facts in transactions(chain) {
            assert!(hashes.insert(facts.hash));
            let Some(index) = facts.index else {
                assert!(facts.hash.is_made());
                continue;
            };
            let expected = next_index.entry(facts.block).or_default();
            assert_eq!(index, *expected, "{chain} block {}", facts.block);
            *expected += 1;
            for log in &facts.logs {
                let expected = next_log.entry(facts.block).or_default();
                assert_eq!(log.index, *expected);
                *expected += 1;
            }
            for movement in facts.movements.iter().filter(|movement| movement.kind == MovementFact::Token) {
                let Ordinal::Indexed(index) = movement.ordinal else { panic!("the economy has its log indexes") };
                let log = facts.logs.iter().find(|log| log.index == index).unwrap();
                assert_eq!(Some(&log.address), movement.asset.contract());
                // Where an issuer destroys funds, the account may be before the amount.
                assert!(log.data.ends_with(&movement.amount.to_be_bytes()), "{chain} {index}");
            }
            if let (Family::Evm, Some(from)) = (chain.family(), facts.body.as_ref().and_then(|body| body.from)) {
                let expected = next_nonce.entry(from).or_default();
                assert_eq!(facts.nonce, Some(*expected));
                *expected += 1;
            }
        }
    }
}

#[test]
fn truth_names_existing_transactions_and_an_owner_per_address() {
    let hashes: BTreeMap<Chain, BTreeSet<TxHash>> =
        Chain::all().map(|chain| (chain, transactions(chain).iter().map(|facts| facts.hash).collect())).collect();
    let exists = |chain: Chain, hash: &TxHash| assert!(hashes[&chain].contains(hash), "{chain} {hash:?}");
    let truth = &DEMO.truth;
    truth.cases.iter().for_each(|step| exists(step.chain, &step.hash));
    truth.change_outputs.iter().for_each(|change| exists(Chain::BITCOIN, &change.hash));
    for transfer in &truth.bridge_transfers {
        exists(transfer.source.chain, &transfer.source.hash);
        if let Some(there) = &transfer.destination {
            exists(there.chain, &there.hash);
        }
    }
    for link in &truth.mixer_links {
        exists(link.chain, &link.deposit);
        exists(link.chain, &link.withdrawal);
    }

    let known: BTreeSet<_> = truth.addresses.iter().map(|row| (row.chain, row.address)).collect();
    for chain in Chain::all() {
        for facts in transactions(chain) {
            let mut seen: Vec<Option<Address>> = vec![facts.created];
            seen.extend(facts.body.iter().flat_map(|body| [body.from, body.to]));
            seen.extend(facts.movements.iter().flat_map(|movement| [movement.from, movement.to]));
            seen.extend(facts.utxo.iter().flat_map(|utxo| &utxo.outputs).map(|output| output.owner));
            for address in seen.into_iter().flatten() {
                assert!(known.contains(&(chain, address)), "{chain} {address} has no owner");
            }
        }
    }
    for step in &truth.cases {
        assert!(known.contains(&(step.chain, step.from)) && known.contains(&(step.chain, step.to)));
    }
    for label in &truth.labels {
        assert!(known.contains(&(label.chain, label.address)));
    }
}

#[test]
fn change_goes_back_to_the_wallet_that_pays() {
    let wallet: BTreeMap<_, _> = DEMO.truth.clusters.iter().map(|row| (row.address, &row.wallet)).collect();
    let by_hash: BTreeMap<_, _> = transactions(Chain::BITCOIN).into_iter().map(|facts| (facts.hash, facts)).collect();
    let mut fresh = 0;
    for change in &DEMO.truth.change_outputs {
        let utxo = by_hash[&change.hash].utxo.as_ref().unwrap();
        let payers: BTreeSet<_> =
            utxo.inputs.iter().map(|input| wallet[&input.spent.as_ref().unwrap().owner.unwrap()]).collect();
        let back = utxo.outputs[change.output_index as usize].owner.unwrap();
        assert!(payers.contains(wallet[&back]));
        // Only the receiver of a payment may add a coin of their own.
        let joint = DEMO.truth.joints.iter().find(|joint| joint.hash == change.hash);
        assert!(payers.len() == 1 || joint.is_some_and(|joint| joint.kind == JointKind::PayJoin));
        fresh += usize::from(utxo.inputs.iter().all(|input| input.spent.as_ref().unwrap().owner != Some(back)));
    }
    let all = DEMO.truth.change_outputs.len();
    assert!(all > 1_000 && fresh > all / 2 && fresh < all, "{fresh} of {all}");
}

#[test]
fn both_legs_of_a_bridge_differ_by_the_fee_and_by_minutes() {
    assert!(DEMO.truth.bridge_transfers.len() > 60, "{}", DEMO.truth.bridge_transfers.len());
    let decimals: BTreeMap<_, _> =
        DEMO.tokens.iter().map(|token| ((token.chain, Asset::Token(token.contract)), token.decimals)).collect();
    let micros: BTreeMap<_, _> =
        DEMO.truth.prices.iter().map(|price| ((&*price.symbol, price.time_secs), price.usd_micros)).collect();
    // Dollars, for what is swapped on the way; stablecoins as they are.
    let usd = |leg: &headwater_simulate::truth::BridgeLeg| {
        let day = leg.time_secs / 86_400 * 86_400;
        match leg.asset {
            Asset::Token(_) => leg.amount.to_f64(decimals[&(leg.chain, leg.asset)]),
            Asset::Native => {
                let price = micros[&(leg.chain.native_symbol(), day)];
                leg.amount.to_f64(leg.chain.native_decimals()) * f64::from(u32::try_from(price / 1_000).unwrap()) / 1e3
            }
        }
    };
    for transfer in &DEMO.truth.bridge_transfers {
        let Some(there) = &transfer.destination else {
            assert_eq!(transfer.outcome, BridgeOutcome::Pending);
            continue;
        };
        let (sent, received) = (usd(&transfer.source), usd(there));
        // Blocks of bitcoin are far apart, and the price of another day is in force when the second leg is in one.
        let swapped = transfer.source.asset == Asset::Native;
        let (spread, sending, hours) = if swapped { (0.2, 3.0, 48) } else { (0.0, 0.0, 4) };
        if transfer.outcome == BridgeOutcome::Completed {
            assert!(received < sent * (1.0 + spread), "{sent} {received}");
            assert!(received > sent * (0.95 - spread) - 1.0 - sending, "{sent} {received}");
            assert_ne!(transfer.source.chain, there.chain);
        } else {
            assert_eq!((transfer.source.chain, transfer.source.asset), (there.chain, there.asset));
            assert_eq!(transfer.source.amount == there.amount, !swapped);
        }
        let delay = there.time_secs.checked_sub(transfer.source.time_secs).expect("out after in");
        assert!((1..hours * 3_600).contains(&delay), "{delay}");
    }
}

#[test]
fn crimes_have_victims_and_a_way_out() {
    for (case, victims) in [("drainer-1", 15), ("investment-1", 15), ("theft-1", 1)] {
        let steps: Vec<_> = DEMO.truth.cases.iter().filter(|step| step.case == case).collect();
        let count = |stage: &str| steps.iter().filter(|step| step.stage == stage).count();
        assert!(count("loot") >= victims, "{case}: {}", count("loot"));
        assert!(count("cash_out") >= 2 && count("layer") >= 1, "{case}");
        assert!((0..).zip(&steps).all(|(number, step)| step.step == number));
    }
    let stages: BTreeSet<_> = DEMO.truth.cases.iter().map(|step| step.stage.as_str()).collect();
    assert!(["mix", "bridge", "setup", "lure"].iter().all(|stage| stages.contains(stage)), "{stages:?}");
    assert!(DEMO.truth.mixer_links.len() > 20, "{}", DEMO.truth.mixer_links.len());
}

#[test]
fn the_demo_has_its_size_and_all_that_it_promises() {
    let moved = |chain: Chain| -> usize {
        let of = |facts: &&TransactionFacts| {
            facts.body.iter().filter(|body| !body.value.is_zero()).count()
                + facts.movements.len()
                + facts.utxo.iter().flat_map(|utxo| &utxo.outputs).filter(|output| output.owner.is_some()).count()
        };
        transactions(chain).iter().map(of).sum()
    };
    let sizes: BTreeMap<_, _> = Chain::all().map(|chain| (chain, moved(chain))).collect();
    let all: usize = sizes.values().sum();
    assert!((42_000..70_000).contains(&all), "{sizes:?}");
    assert!(sizes.values().all(|&size| size > 5_000), "{sizes:?}");

    for chain in account_chains() {
        let all = transactions(chain);
        let count = |test: &dyn Fn(&TransactionFacts) -> bool| all.iter().filter(|facts| test(facts)).count();
        assert!(count(&|facts| facts.status == Some(Status::Failed) && !fee_free(facts)) > 10, "{chain} failed");
        assert!(count(&|facts| facts.created.is_some()) > 1, "{chain} created");
        let own = |facts: &TransactionFacts| facts.body.as_ref().is_some_and(|body| body.from == body.to);
        assert!(count(&own) > 5, "{chain} self");
        let zero_value = |facts: &TransactionFacts| facts.body.as_ref().is_some_and(|body| body.value.is_zero());
        assert!(count(&zero_value) > 100, "{chain} zero");
        assert!(count(&|facts| facts.hash.is_made()) > 100, "{chain} rewards");
        let internal =
            |facts: &TransactionFacts| facts.movements.iter().any(|movement| movement.kind == MovementFact::Internal);
        assert!(count(&internal) > 5, "{chain} internal");
    }
    let past_128_bits = transactions(Chain::ETHEREUM)
        .iter()
        .flat_map(|facts| &facts.movements)
        .filter(|movement| movement.amount.to_u128().is_none())
        .count();
    assert!(past_128_bits > 10);
    let roles: BTreeSet<_> = DEMO.truth.addresses.iter().map(|row| row.role).collect();
    assert_eq!(roles.len(), Role::ALL.len(), "{roles:?}");
}

fn fee_free(facts: &TransactionFacts) -> bool {
    fee(facts).is_zero()
}

#[test]
fn degrees_have_a_heavy_tail_and_people_sleep() {
    let mut friends: BTreeMap<Address, BTreeSet<Address>> = BTreeMap::new();
    let mut by_hour = [0_u32; 24];
    for facts in account_chains().flat_map(transactions) {
        by_hour[usize::try_from(facts.time.unwrap().secs() / 3_600 % 24).unwrap()] += 1;
        let body = facts.body.iter().filter_map(|body| body.from.zip(body.to));
        let moved = facts.movements.iter().filter_map(|movement| movement.from.zip(movement.to));
        for (from, to) in body.chain(moved) {
            friends.entry(from).or_default().insert(to);
            friends.entry(to).or_default().insert(from);
        }
    }
    let mut degrees: Vec<_> = friends.values().map(BTreeSet::len).collect();
    degrees.sort_unstable();
    let (median, largest) = (degrees[degrees.len() / 2], degrees[degrees.len() - 1]);
    assert!(median <= 8 && largest > 40 * median, "{median} {largest}");
    let (quiet, busy) = (by_hour.iter().min().unwrap(), by_hour.iter().max().unwrap());
    assert!(busy > &(quiet * 5 / 4), "{by_hour:?}");
}

#[test]
fn rates_are_complete_and_only_true_tokens_are_listed() {
    let mut days: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    for point in &DEMO.prices {
        assert!(point.usd > 0.0 && point.usd.is_finite());
        assert_eq!(point.time.secs().rem_euclid(86_400), 86_399);
        days.entry(&point.symbol).or_default().insert(point.time.secs().div_euclid(86_400));
    }
    let natives = Chain::all().map(Chain::native_symbol);
    let tokens = DEMO.tokens.iter().map(|token| token.symbol.as_str());
    for symbol in natives.chain(tokens) {
        assert_eq!(days[symbol.to_lowercase().as_str()].len(), 401, "{symbol}");
    }
    assert!(DEMO.tokens.iter().all(|token| token.verified));
    let listed: BTreeSet<_> = DEMO.tokens.iter().map(|token| token.contract).collect();
    let unlisted =
        DEMO.batches.iter().flat_map(|batch| &batch.tokens).filter(|token| !listed.contains(&token.contract));
    let symbols: Vec<_> = unlisted.filter_map(|token| token.symbol.as_deref()).collect();
    // Copies of a well-known symbol, given away or made for poisoning.
    assert!(symbols.iter().filter(|&&symbol| symbol == "USDT").count() >= 2);
    assert!(symbols.len() >= 9, "{symbols:?}");
}

#[test]
fn truth_reads_back_equal_and_only_some_labels_are_wrong() {
    let folder = tempfile::tempdir().unwrap();
    DEMO.truth.write(folder.path()).unwrap();
    assert_eq!(Truth::read(folder.path()).unwrap(), DEMO.truth);
    let wrong = DEMO.truth.labels.iter().filter(|label| !label.correct).count();
    assert!(wrong > 3 && wrong * 3 < DEMO.truth.labels.len(), "{wrong} of {}", DEMO.truth.labels.len());
    let labelled: BTreeSet<_> = DEMO.truth.labels.iter().map(|label| (label.chain, label.address)).collect();
    assert!(labelled.len() * 4 < DEMO.truth.addresses.len());
}

#[test]
fn a_damaged_truth_names_file_row_and_column() {
    let folder = tempfile::tempdir().unwrap();
    DEMO.truth.write(folder.path()).unwrap();
    std::fs::copy(folder.path().join("clusters.parquet"), folder.path().join("addresses.parquet")).unwrap();
    let message = Truth::read(folder.path()).unwrap_err().to_string();
    assert!(message.contains("addresses.parquet"), "{message}");
}

#[test]
fn every_seed_gives_an_economy_of_this_size_with_all_its_crimes() {
    for seed in [0, 1, 2, u64::MAX] {
        let economy = demo(seed);
        let rows = |batch: &Batch| -> usize {
            let inside = |facts: &TransactionFacts| {
                facts.movements.len() + facts.utxo.as_ref().map_or(0, |utxo| utxo.outputs.len())
            };
            batch.transactions.iter().map(|facts| 1 + inside(facts)).sum()
        };
        let all: usize = economy.batches.iter().map(rows).sum();
        assert!((60_000..100_000).contains(&all), "seed {seed}: {all} transactions and movements");
        let ends: BTreeSet<_> =
            economy.truth.cases.iter().filter(|step| step.stage == "cash_out").map(|step| step.case.as_str()).collect();
        for case in ["drainer-1", "investment-1", "theft-1"] {
            assert!(ends.contains(case), "seed {seed}: {ends:?}");
        }
    }
}
