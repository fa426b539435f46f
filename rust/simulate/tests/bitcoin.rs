//! The bitcoin side of the economy, judged from its facts and by rules that are written down here a second time: every
//! CoinJoin meets the conditions of its kind, and nothing else meets any of them.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::facts::{OutPoint, OutputFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_simulate::truth::{JointKind, JointTransaction, Role, WalletTruth};
use headwater_types::{Address, Chain, TxHash};

use crate::DEMO;

fn transactions() -> impl Iterator<Item = &'static TransactionFacts> {
    DEMO.batches.iter().filter(|batch| batch.chain == Chain::BITCOIN).flat_map(|batch| &batch.transactions)
}

fn joints() -> BTreeMap<TxHash, JointKind> {
    DEMO.truth.joints.iter().map(|&JointTransaction { hash, kind }| (hash, kind)).collect()
}

/// A transaction as the rules see it.
struct View<'a> {
    inputs: Vec<&'a OutputFacts>,
    outputs: Vec<&'a OutputFacts>,
    notes: usize,
}

impl<'a> View<'a> {
    fn of(utxo: &'a UtxoFacts) -> Self {
        Self {
            inputs: utxo.inputs.iter().map(|input| input.spent.as_ref().unwrap()).collect(),
            outputs: utxo.outputs.iter().filter(|output| output.script != ScriptType::OpReturn).collect(),
            notes: utxo.outputs.iter().filter(|output| output.script == ScriptType::OpReturn).count(),
        }
    }

    fn payers(&self) -> BTreeSet<Address> {
        self.inputs.iter().filter_map(|input| input.owner).collect()
    }

    fn outputs_differ(&self) -> bool {
        let payees: BTreeSet<_> = self.outputs.iter().filter_map(|output| output.owner).collect();
        payees.len() == self.outputs.len()
    }

    fn amounts(&self) -> BTreeMap<u64, usize> {
        let mut amounts = BTreeMap::new();
        self.outputs.iter().for_each(|output| *amounts.entry(output.amount).or_default() += 1);
        amounts
    }

    /// The commonest amount and how often it occurs; of equally common ones the largest.
    fn commonest(&self) -> (u64, usize) {
        self.amounts().into_iter().max_by_key(|&(amount, count)| (count, amount)).unwrap_or((0, 0))
    }

    fn no_input_dominates(&self) -> bool {
        let mut of_address: BTreeMap<_, usize> = BTreeMap::new();
        self.inputs.iter().for_each(|input| *of_address.entry(input.owner).or_default() += 1);
        of_address.values().all(|count| count * 10 <= self.inputs.len())
    }

    fn is_stonewall(&self) -> bool {
        let twice = self.amounts().values().filter(|count| **count == 2).count();
        (3..=4).contains(&self.outputs.len()) && twice == 1 && self.inputs.len() >= 2
    }

    fn is_whirlpool(&self) -> bool {
        let (n, payers) = (self.inputs.len(), self.payers().len());
        [100_000, 1_000_000, 5_000_000, 50_000_000].into_iter().any(|pool| {
            let excess: Vec<_> = self.inputs.iter().filter_map(|input| input.amount.checked_sub(pool)).collect();
            let larger = excess.iter().filter(|excess| **excess > 0).count();
            (5..=8).contains(&n)
                && n == self.outputs.len()
                && self.notes == 0
                && payers == n
                && self.outputs_differ()
                && self.outputs.iter().all(|output| output.amount == pool)
                && excess.len() == n
                && (1..=4).contains(&larger)
                && excess.iter().all(|excess| *excess == 0 || (100..=110_000).contains(excess))
        })
    }

    fn is_whirlpool_premix(&self) -> bool {
        let (amount, count) = self.commonest();
        let pools = [(100_000, 5_000), (1_000_000, 50_000), (5_000_000, 175_000), (50_000_000, 1_750_000)];
        pools.into_iter().any(|(pool, fee)| {
            let paid = self.outputs.iter().filter(|output| (fee / 2..=3 * fee).contains(&output.amount)).count();
            self.notes == 1
                && amount.checked_sub(pool).is_some_and(|excess| (100..=110_000).contains(&excess))
                && (1..=70).contains(&count)
                && self.outputs.len() - count <= 2
                && paid == 1
        })
    }

    fn band(&self, n: usize) -> bool {
        (n..=7 * n).contains(&self.payers().len())
    }

    fn is_wasabi_one_zero(&self) -> bool {
        let (amount, n) = self.commonest();
        let total: u64 = self.outputs.iter().map(|output| output.amount).sum();
        let beyond = total % amount.max(1);
        let batch = self.inputs.len() < 20 && beyond.min(amount.saturating_sub(beyond)) * 10_000 <= total;
        self.inputs.len() >= 10
            && amount.abs_diff(10_000_000) <= 500_000
            && n >= 3
            && 2 * n + 1 >= self.outputs.len()
            && self.band(n)
            && self.outputs_differ()
            && self.no_input_dominates()
            && !batch
            && !self.is_stonewall()
    }

    fn is_wasabi_one_one(&self) -> bool {
        let mut levels: BTreeMap<u32, usize> = BTreeMap::new();
        for output in &self.outputs {
            for level in 0..14 {
                let exact = 10_000_000_u64 << level;
                if output.amount.abs_diff(exact) * 20 <= exact {
                    *levels.entry(level).or_default() += 1;
                }
            }
        }
        let n = levels.values().copied().max().unwrap_or(0);
        let mixed: usize = levels.values().sum();
        self.inputs.len() >= 10
            && n >= 3
            && levels.values().all(|count| *count >= 2)
            && self.band(n)
            && self.outputs_differ()
            && self.no_input_dominates()
            && (2 * mixed + 1 >= self.outputs.len() || mixed + self.inputs.len() + 1 >= self.outputs.len())
            && self.amounts().values().any(|count| *count >= 3)
            && !self.is_stonewall()
    }

    fn is_wasabi_two(&self) -> bool {
        let amounts = self.amounts();
        let repeated: Vec<_> = amounts.values().filter(|count| **count > 1).collect();
        self.inputs.len() >= 20
            && self.outputs.iter().all(|output| output.amount >= 5_000)
            && self.outputs_differ()
            && self.no_input_dominates()
            && repeated.len() >= 3
            && 2 * repeated.iter().copied().sum::<usize>() + 1 >= self.outputs.len()
            && amounts.values().any(|count| *count == 1)
    }

    fn is_joinmarket(&self) -> bool {
        let (amount, n) = self.commonest();
        amount > 2_730
            && 2 * n >= self.outputs.len()
            && n >= 3
            && n <= self.payers().len()
            && self.outputs_differ()
            && self.amounts().len() >= 2
            && (self.inputs.len() < 50 || (self.inputs.len() <= 20 * n && 10 * self.outputs.len() >= 17 * n))
            && !self.is_stonewall()
    }

    /// The shape of a Stonewall counts as none: two payers look the same as one who pretends.
    fn is_generic(&self) -> bool {
        let participants = self.outputs.len().div_ceil(2);
        let amounts = self.amounts();
        self.inputs.len() >= 2
            && self.outputs.len() >= 3
            && participants <= self.payers().len()
            && self.commonest().1 == participants
            && amounts.iter().all(|(amount, count)| *count < participants || ![546, 2_730].contains(amount))
            && !self.is_stonewall()
    }

    fn meets(&self, kind: JointKind) -> bool {
        match kind {
            JointKind::Whirlpool => self.is_whirlpool(),
            JointKind::WhirlpoolPremix => self.is_whirlpool_premix(),
            JointKind::WasabiOneZero => self.is_wasabi_one_zero(),
            JointKind::WasabiOneOne => self.is_wasabi_one_one(),
            JointKind::WasabiTwo => self.is_wasabi_two(),
            JointKind::JoinMarket => self.is_joinmarket(),
            JointKind::Generic => self.is_generic(),
            JointKind::Stonewall => self.is_stonewall(),
            JointKind::PayJoin | JointKind::Wages => true,
        }
    }
}

#[test]
fn planted_coinjoins_meet_the_conditions_of_their_kind() {
    let joints = joints();
    let mut planted: BTreeMap<JointKind, usize> = BTreeMap::new();
    for facts in transactions() {
        let Some(&kind) = joints.get(&facts.hash) else { continue };
        let utxo = facts.utxo.as_ref().unwrap();
        let shown = || {
            let amounts = |side: &[&OutputFacts]| side.iter().map(|output| output.amount).collect::<Vec<_>>();
            let view = View::of(utxo);
            format!("{kind:?} {:?} -> {:?}", amounts(&view.inputs), amounts(&view.outputs))
        };
        assert!(View::of(utxo).meets(kind), "{}", shown());
        *planted.entry(kind).or_default() += 1;
    }
    for &kind in JointKind::ALL {
        assert!(planted.get(&kind).copied().unwrap_or(0) >= 3, "{kind:?}: {planted:?}");
    }
    assert_eq!(planted.values().sum::<usize>(), joints.len());
}

#[test]
fn lookalikes_fail_the_conditions_of_a_coinjoin() {
    let joints = joints();
    let kinds: Vec<_> = JointKind::ALL.iter().copied().filter(|kind| kind.is_coinjoin()).collect();
    assert_eq!(kinds.len(), 6);
    for facts in transactions() {
        let utxo = facts.utxo.as_ref().unwrap();
        if utxo.coinbase || joints.get(&facts.hash).is_some_and(|kind| kind.is_coinjoin()) {
            continue;
        }
        for &kind in &kinds {
            let view = View::of(utxo);
            assert!(!view.meets(kind), "{kind:?}: {:?} {:?}", joints.get(&facts.hash), view.amounts());
        }
    }
}

fn owners() -> BTreeMap<Address, &'static str> {
    let rows = DEMO.truth.addresses.iter().filter(|row| row.chain == Chain::BITCOIN);
    rows.map(|row| (row.address, &*row.owner)).collect()
}

#[test]
fn inputs_have_one_owner_unless_the_truth_says_otherwise() {
    let (owners, joints) = (owners(), joints());
    let mut several = 0;
    for facts in transactions() {
        let utxo = facts.utxo.as_ref().unwrap();
        let of: BTreeSet<_> = View::of(utxo).payers().iter().map(|payer| owners[payer]).collect();
        let joint = joints.get(&facts.hash).copied();
        let together = joint.is_some_and(|kind| kind.is_coinjoin() || kind == JointKind::PayJoin);
        assert!(together || of.len() <= 1, "{joint:?} {of:?}");
        several += usize::from(of.len() > 1);
    }
    assert!(several > 30, "{several}");
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

/// All inputs of a transaction that is not a CoinJoin lie together; then no two owners do.
#[test]
fn clusters_by_common_inputs_never_join_two_owners() {
    let (owners, joints) = (owners(), joints());
    let places: BTreeMap<_, _> = owners.keys().zip(0_usize..).collect();
    let mut parents: Vec<usize> = (0..places.len()).collect();
    for facts in transactions() {
        if joints.get(&facts.hash).is_some_and(|kind| kind.is_coinjoin() || *kind == JointKind::PayJoin) {
            continue;
        }
        let payers: Vec<_> =
            View::of(facts.utxo.as_ref().unwrap()).payers().iter().map(|payer| places[payer]).collect();
        for pair in payers.windows(2) {
            let (left, right) = (root(&mut parents, pair[0]), root(&mut parents, pair[1]));
            parents[left.max(right)] = left.min(right);
        }
    }
    let mut of_cluster: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, owner) in owners.values().enumerate() {
        let cluster = root(&mut parents, place);
        of_cluster.entry(cluster).or_default().insert(owner);
        *sizes.entry(cluster).or_default() += 1;
    }
    assert!(of_cluster.values().all(|owners| owners.len() == 1));
    assert!(sizes.values().max().unwrap() > &50, "the largest cluster is that of an exchange");
}

#[test]
fn transactions_follow_the_software_of_their_wallet() {
    let joints = joints();
    let wallets: BTreeMap<&str, &WalletTruth> =
        DEMO.truth.wallets.iter().map(|wallet| (wallet.wallet.as_str(), wallet)).collect();
    let of: BTreeMap<_, _> = DEMO.truth.clusters.iter().map(|row| (row.address, row.wallet.as_str())).collect();
    let changes: BTreeMap<_, _> =
        DEMO.truth.change_outputs.iter().map(|change| (change.hash, change.output_index as usize)).collect();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for facts in transactions() {
        let utxo = facts.utxo.as_ref().unwrap();
        assert!(utxo.weight_wu.is_some() && utxo.version.is_some());
        if utxo.coinbase || joints.contains_key(&facts.hash) {
            continue;
        }
        let wallet = wallets[of[&utxo.inputs[0].spent.as_ref().unwrap().owner.unwrap()]];
        assert_eq!(utxo.version, Some(wallet.version), "{wallet:?}");
        assert!(utxo.inputs.iter().all(|input| input.sequence == Some(wallet.sequence)), "{wallet:?}");
        let lock_time = u64::from(utxo.lock_time.unwrap());
        if wallet.lock_time == "newest_block" {
            assert!(lock_time < facts.block && lock_time + 102 > facts.block, "{lock_time} {}", facts.block);
        } else {
            assert_eq!(lock_time, 0);
        }
        let change = changes.get(&facts.hash).copied();
        match wallet.change_place.as_str() {
            "first" => assert!(change.is_none_or(|place| place == 0)),
            "last" => assert!(change.is_none_or(|place| place == utxo.outputs.len() - 1)),
            "sorted" => {
                assert!(utxo.outputs.windows(2).all(|pair| pair[0].amount <= pair[1].amount));
                let points: Vec<OutPoint> = utxo.inputs.iter().map(|input| input.previous).collect();
                assert!(points.windows(2).all(|pair| (pair[0].hash, pair[0].index) < (pair[1].hash, pair[1].index)));
            }
            other => assert_eq!(other, "anywhere"),
        }
        *seen.entry(wallet.software.as_str()).or_default() += 1;
    }
    for software in ["node", "desktop", "mobile", "web", "hardware", "vault", "service"] {
        assert!(seen.get(software).copied().unwrap_or(0) > 15, "{software}: {seen:?}");
    }
}

#[test]
fn fee_rates_follow_the_market_above_the_relay_minimum() {
    let mut rates = Vec::new();
    for facts in transactions() {
        let utxo = facts.utxo.as_ref().unwrap();
        if utxo.coinbase {
            continue;
        }
        let paid_in: u64 = utxo.inputs.iter().map(|input| input.spent.as_ref().unwrap().amount).sum();
        let paid_out: u64 = utxo.outputs.iter().map(|output| output.amount).sum();
        let virtual_bytes = u64::from(utxo.weight_wu.unwrap()).div_ceil(4);
        let rate = (paid_in - paid_out) * 1_000 / virtual_bytes;
        assert!(rate >= 990, "{rate} {:?}", facts.hash);
        rates.push(rate);
    }
    rates.sort_unstable();
    let at = |percent: usize| rates[rates.len() * percent / 100];
    assert!(at(90) > 3 * at(10), "{} {}", at(10), at(90));
    assert!((2_000..40_000).contains(&at(50)), "{}", at(50));
}

#[test]
fn a_peel_chain_is_made_of_one_coin_into_two_again_and_again() {
    let by_hash: BTreeMap<_, _> = transactions().map(|facts| (facts.hash, facts)).collect();
    let steps: Vec<_> =
        DEMO.truth.cases.iter().filter(|step| step.case == "theft-1" && step.stage == "layer").collect();
    let mut hops: BTreeMap<Address, (usize, i64)> = BTreeMap::new();
    let mut longest = 0;
    for step in steps {
        let facts = by_hash[&step.hash];
        let utxo = facts.utxo.as_ref().unwrap();
        assert_eq!((utxo.inputs.len(), utxo.outputs.len()), (1, 2));
        let held = utxo.inputs[0].spent.as_ref().unwrap();
        let peeled = utxo.outputs.iter().map(|output| output.amount).min().unwrap();
        assert!(peeled >= 1_000 && peeled * 10 <= held.amount * 3);
        let time = facts.time.unwrap().secs();
        let (before, last) = hops.get(&step.from).copied().unwrap_or((0, time));
        assert!(time - last <= 72 * 3_600);
        hops.insert(step.to, (before + 1, time));
        longest = longest.max(before + 1);
    }
    assert!(longest >= 20, "{longest}");
}

#[test]
fn dust_and_token_outputs_exist_and_dust_is_spent() {
    let dusted: BTreeSet<OutPoint> = transactions()
        .flat_map(|facts| {
            let outputs = (0..).zip(&facts.utxo.as_ref().unwrap().outputs);
            outputs
                .filter(|(_, output)| output.amount == 547)
                .map(|(index, _)| OutPoint { hash: facts.hash, index })
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(dusted.len() >= 100, "{}", dusted.len());
    let beside = |facts: &&TransactionFacts| {
        let inputs = &facts.utxo.as_ref().unwrap().inputs;
        inputs.len() > 1 && inputs.iter().any(|input| dusted.contains(&input.previous))
    };
    assert!(transactions().filter(beside).count() > 0);
    let tokens = transactions()
        .flat_map(|facts| &facts.utxo.as_ref().unwrap().outputs)
        .filter(|output| [330, 546].contains(&output.amount));
    assert!(tokens.count() > 20);
}

#[test]
fn fortunes_have_a_heavy_tail() {
    let mut held: BTreeMap<Address, i128> = BTreeMap::new();
    for facts in transactions() {
        let utxo = facts.utxo.as_ref().unwrap();
        for spent in utxo.inputs.iter().filter_map(|input| input.spent.as_ref()) {
            *held.entry(spent.owner.unwrap()).or_default() -= i128::from(spent.amount);
        }
        for output in utxo.outputs.iter().filter(|output| output.owner.is_some()) {
            *held.entry(output.owner.unwrap()).or_default() += i128::from(output.amount);
        }
    }
    let owners = owners();
    let mut fortunes: BTreeMap<&str, i128> = BTreeMap::new();
    for (address, satoshis) in held {
        assert!(satoshis >= 0);
        *fortunes.entry(owners[&address]).or_default() += satoshis;
    }
    let mut fortunes: Vec<_> = fortunes.into_values().filter(|fortune| *fortune > 0).collect();
    fortunes.sort_unstable();
    let (median, top) = (fortunes[fortunes.len() / 2], fortunes[fortunes.len() * 99 / 100]);
    assert!(top > 50 * median, "{median} {top}");
    let roles: BTreeSet<_> =
        DEMO.truth.addresses.iter().filter(|row| row.chain == Chain::BITCOIN).map(|row| row.role).collect();
    for role in [Role::CoinjoinCoordinator, Role::PaymentHot, Role::MixerPool, Role::Duster] {
        assert!(roles.contains(&role), "{role:?}");
    }
}

#[test]
fn no_kind_of_owner_makes_most_of_the_outputs() {
    let owners = owners();
    let mut made: BTreeMap<String, usize> = BTreeMap::new();
    for facts in transactions() {
        let utxo = facts.utxo.as_ref().unwrap();
        let payer = utxo.inputs.first().and_then(|input| input.spent.as_ref()?.owner);
        let owner = payer.map_or("coinbase", |payer| owners[&payer]);
        let kind: String = owner.chars().filter(|letter| letter.is_alphabetic() || *letter == '-').collect();
        *made.entry(kind).or_default() += utxo.outputs.len();
    }
    let all: usize = made.values().sum();
    assert!((10_000..30_000).contains(&all) && made.values().all(|count| count * 2 < all), "{all}: {made:?}");
}
