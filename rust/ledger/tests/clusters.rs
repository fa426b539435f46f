//! Clusters are what the transactions of a chain come to, one after the other: from a table, from a table and newer
//! segments, or from segments alone.

use std::collections::BTreeMap;

use headwater_ledger::bitcoin::TransactionView;
use headwater_ledger::clusters::{Link, Member, link};
use headwater_ledger::facts::{Batch, InputFacts, OutPoint, OutputFacts, UtxoFacts};
use headwater_ledger::read::{Ledger, ScriptType};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_testkit::strategies::utxo_chain;
use headwater_testkit::{ANCHOR, Chainlet, address, followed, hash, is_full};
use headwater_types::{Address, Chain, Timestamp, TxHash};
use proptest::prelude::*;

const CHAIN: Chain = Chain::BITCOIN;

const WAYS: [Segmentation; 5] = [
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 5 },
    Segmentation { segments: 3, split: Split::Runs, tail_blocks: 2 },
    Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 0 },
    Segmentation { segments: 17, split: Split::Scattered, tail_blocks: 3 },
];

/// Name of each cluster, with its members in order: address, and by which transaction it came under which name.
type MembersByName = BTreeMap<Address, Vec<MemberHistory>>;

/// An address, and by which transaction it came under which name.
type MemberHistory = (Address, Option<(TxHash, Address)>);

/// Follows the chain transaction by transaction with lists of addresses.
fn oracle(ledger: &dyn Ledger, batch: &Batch) -> MembersByName {
    let mut order: Vec<_> = batch.transactions.iter().collect();
    order.sort_by_key(|facts| (facts.block, facts.index, facts.hash));
    let mut seen: Vec<Address> = Vec::new();
    let mut clusters: Vec<Vec<MemberHistory>> = Vec::new();
    for facts in order {
        let found = ledger.find_transaction(CHAIN, &facts.hash).unwrap().unwrap();
        let utxo = ledger.transaction(found).unwrap().facts.utxo.unwrap();
        let view = TransactionView::new(&utxo, facts.block, Timestamp::new(0));
        let spent = view.spent().filter_map(|spent| spent.owner);
        let payees = view.outputs().iter().filter_map(|output| output.owner);
        for address in spent.chain(payees) {
            if !seen.contains(&address) {
                seen.push(address);
            }
        }
        if link(&view) != Link::Together {
            continue;
        }
        // Keyless coins and those below 1,000 satoshis say nothing of who signed.
        let is_signed = |spent: &&OutputFacts| spent.amount >= 1_000 && spent.owner != Some(number(ANCHOR));
        let payers: Vec<Address> = view.spent().filter(is_signed).filter_map(|spent| spent.owner).collect();
        let place = |clusters: &mut Vec<Vec<_>>, address: Address| {
            let known = clusters.iter().position(|members| members.iter().any(|(member, _)| *member == address));
            known.unwrap_or_else(|| {
                clusters.push(vec![(address, None)]);
                clusters.len() - 1
            })
        };
        let age = |name: Address| seen.iter().position(|known| *known == name);
        for payer in &payers[1..] {
            let (one, other) = (place(&mut clusters, payers[0]), place(&mut clusters, *payer));
            if one == other {
                continue;
            }
            let name = |place: usize| clusters[place].iter().find(|(_, joined)| joined.is_none()).unwrap().0;
            let (older, younger) = if age(name(one)) <= age(name(other)) { (one, other) } else { (other, one) };
            let (into, gone) = (name(older), name(younger));
            let mut moved = std::mem::take(&mut clusters[younger]);
            let last = moved.iter_mut().find(|(member, _)| *member == gone).unwrap();
            last.1 = Some((facts.hash, into));
            clusters[older].extend(moved);
            clusters.remove(younger);
        }
    }
    let mut named = MembersByName::new();
    for mut members in clusters {
        members.sort_by_key(|(member, _)| seen.iter().position(|known| known == member));
        named.insert(members[0].0, members);
    }
    named
}

/// Returns what a ledger says, asked address by address, in pages of two.
fn reported(ledger: &dyn Ledger) -> MembersByName {
    let clusters = ledger.clusters(CHAIN, &Cancel::new()).unwrap().expect("small, or built");
    let mut named = MembersByName::new();
    for address in ledger.find_addresses(CHAIN, "", usize::MAX, usize::MAX).unwrap().addresses {
        let account = ledger.account(CHAIN, &address).unwrap().unwrap();
        let Some(cluster) = clusters.of(&account).unwrap() else { continue };
        let mut members: Vec<Member> = Vec::new();
        loop {
            let page = clusters.members(&cluster, members.last().map(|member| member.first), 2).unwrap();
            if page.is_empty() {
                break;
            }
            members.extend(page);
        }
        assert_eq!(cluster.size, members.len() as u64);
        assert!(members.is_sorted_by_key(|member| member.first));
        assert!(members.iter().any(|member| member.address == address), "a cluster has the address asked for");
        let reported =
            |member: &Member| (member.address, member.joined.map(|joined| (joined.transaction, joined.into)));
        let members: Vec<_> = members.iter().map(reported).collect();
        let known = named.entry(cluster.name).or_insert_with(|| members.clone());
        assert_eq!(*known, members, "all members give the same answer");
    }
    named
}

fn store_of(batches: impl IntoIterator<Item = Batch>) -> MemoryStore {
    let mut store = MemoryStore::default();
    for batch in batches {
        store.commit(batch, &Cancel::new()).unwrap();
    }
    store
}

fn number(number: u64) -> Address {
    address(CHAIN, number)
}

/// 1 and 2 pay together, 3 and 4 do, then 2 and 4; 5 never pays with another.
fn four() -> Chainlet {
    Chainlet::bitcoin()
        .mine(1, 5_000)
        .mine(3, 5_000)
        .mine(4, 5_000)
        .mine(2, 5_000)
        .spend(&[(1, 0, 0), (4, 0, 0)], &[(2, 9_000), (5, 990)])
        .spend(&[(2, 0, 0), (3, 0, 0)], &[(4, 9_000), (6, 990)])
        .spend(&[(6, 0, 0), (5, 0, 0)], &[(7, 17_000)])
        .spend(&[(5, 0, 1)], &[(8, 900)])
}

#[test]
fn dust_and_keyless_inputs_link_nobody() {
    use ScriptType::{P2tr, P2wpkh};
    let dust = |amount| vec![spent(1, 20_000, P2wpkh), spent(2, amount, P2wpkh)];
    assert_eq!(linked(dust(999), vec![paid(3, 20_500, P2wpkh)]), Link::Apart);
    assert_eq!(linked(dust(1_000), vec![paid(3, 20_500, P2wpkh)]), Link::Together);
    let mut anchor = vec![spent(1, 20_000, P2wpkh), spent(2, 20_000, P2tr)];
    anchor[1].spent.as_mut().unwrap().owner = Some(number(ANCHOR));
    assert_eq!(linked(anchor.clone(), vec![paid(3, 39_000, P2wpkh)]), Link::Apart);
    anchor.push(spent(4, 20_000, P2wpkh));
    assert_eq!(linked(anchor, vec![paid(3, 59_000, P2wpkh)]), Link::Together, "1 and 4 signed");
}

#[test]
fn an_anchor_joins_no_spenders() {
    // 1 and 2 each spend an anchor with a coin of theirs; 3 and 4 pay together, with the anchor.
    let anchors = [(ANCHOR, 240), (ANCHOR, 5_000), (ANCHOR, 5_000), (9, 1_000)];
    let chain = Chainlet::bitcoin()
        .mine(1, 50_000)
        .mine(2, 50_000)
        .mine(3, 50_000)
        .mine(4, 50_000)
        .mine(8, 50_000)
        .spend(&[(5, 0, 0)], &anchors)
        .spend(&[(1, 0, 0), (6, 0, 0)], &[(11, 50_000)])
        .spend(&[(2, 0, 0), (6, 0, 1)], &[(12, 54_000)])
        .spend(&[(3, 0, 0), (4, 0, 0), (6, 0, 2)], &[(13, 104_000)]);
    let store = store_of([chain.batch()]);
    let expected =
        MembersByName::from([(number(3), vec![(number(3), None), (number(4), Some((hash(9, 0), number(3))))])]);
    assert_eq!(reported(&*store.snapshot()), expected);
    assert_eq!(reported(&*store.with_sidecars(&Cancel::new()).unwrap().snapshot()), expected);
}

#[test]
fn merged_cluster_keeps_the_older_name_and_records_the_join() {
    let joined = |block, into| Some((hash(block, 0), number(into)));
    let expected = MembersByName::from([(
        number(1),
        vec![(number(1), None), (number(3), joined(7, 1)), (number(4), joined(6, 3)), (number(2), joined(5, 1))],
    )]);
    let store = store_of([four().batch()]);
    assert_eq!(reported(&*store.snapshot()), expected);
    assert_eq!(reported(&*store.with_sidecars(&Cancel::new()).unwrap().snapshot()), expected);
    // Block by block, each time from where it was.
    let batch = four().batch();
    let mut grown = MemoryStore::default();
    for block in 1..=8 {
        let mut part = batch.clone();
        part.blocks.retain(|facts| facts.number == block);
        part.transactions.retain(|facts| facts.block == block);
        grown.commit(part, &Cancel::new()).unwrap();
        if block % 3 == 0 {
            grown = grown.with_sidecars(&Cancel::new()).unwrap();
        }
        let _ = reported(&*grown.snapshot());
    }
    assert_eq!(reported(&*grown.snapshot()), expected);
}

fn spent(address: u64, amount: u64, script: ScriptType) -> InputFacts {
    let previous = OutPoint { hash: TxHash::new([9; 32]), index: u32::try_from(address).unwrap() };
    InputFacts::new(previous, Some(paid(address, amount, script)))
}

fn paid(address: u64, amount: u64, script: ScriptType) -> OutputFacts {
    OutputFacts { owner: Some(number(address)), amount, script, data: None }
}

fn linked(inputs: Vec<InputFacts>, outputs: Vec<OutputFacts>) -> Link {
    let facts = UtxoFacts::new(false, inputs, outputs);
    link(&TransactionView::new(&facts, 800_000, Timestamp::new(1_690_168_629)))
}

#[test]
fn payjoins_and_coinjoins_link_nobody() {
    use ScriptType::{P2pkh, P2wpkh};
    let pair = |second| vec![spent(1, 10_000, P2wpkh), spent(2, 5_000, second)];
    // The coin of 5,000 is needed for neither output of 6,000 and 8,000, and is of another form.
    let outputs = || vec![paid(3, 8_000, P2wpkh), paid(4, 6_000, P2wpkh)];
    assert_eq!(linked(pair(P2pkh), outputs()), Link::Apart);
    assert_eq!(linked(pair(P2wpkh), outputs()), Link::Together);
    assert_eq!(linked(pair(P2pkh), vec![paid(3, 11_000, P2wpkh), paid(4, 3_000, P2wpkh)]), Link::Together);
    // Three equal outputs of three payers, and their change.
    let payers = |count: u64| (1..=count).map(|payer| spent(payer, 21_000, P2wpkh)).collect::<Vec<_>>();
    let round = || (10..13).map(|payee| paid(payee, 10_001, P2wpkh));
    let change = || (20..23).map(|payee| paid(payee, 9_000 + payee, P2wpkh));
    assert_eq!(linked(payers(3), round().chain(change()).collect()), Link::Apart);
    // One input less is held: the others may be several people's all the same.
    let mut unknown = payers(4);
    unknown[3].spent = None;
    assert_eq!(linked(unknown, round().chain(change()).collect()), Link::Apart);
    assert_eq!(linked(vec![spent(1, 9_000, P2pkh), spent(1, 9_000, P2pkh)], vec![paid(2, 17_000, P2pkh)]), Link::Apart);
}

#[test]
fn very_large_transactions_link_only_into_their_own_cluster() {
    use ScriptType::P2pkh;
    let payers = |inputs: u64, addresses: u64| {
        (0..inputs).map(|input| spent(1 + input % addresses, 1_000, P2pkh)).collect::<Vec<_>>()
    };
    let two = || vec![paid(900, 7, P2pkh), paid(901, 5_000, P2pkh)];
    assert_eq!(linked(payers(1_001, 501), two()), Link::Apart);
    assert_eq!(linked(payers(1_001, 500), two()), Link::Together);
    assert_eq!(linked(payers(1_000, 501), two()), Link::Together);
    assert_eq!(linked(payers(1_001, 501), vec![paid(900, 7, P2pkh)]), Link::Consolidates(number(900)));

    // 1,001 coins of 501 addresses go to one that paid with address 1 before, or did not.
    let consolidation = |is_joined: bool| {
        let mut chain = Chainlet::bitcoin().mine(900, 5_000).mine(1, 5_000);
        let before: &[(u64, u32, u32)] = if is_joined { &[(1, 0, 0), (2, 0, 0)] } else { &[(1, 0, 0)] };
        chain = chain.spend(before, &[(950, 30)]);
        for input in 0..1_001 {
            chain = chain.mine(1 + input % 501, 1_000);
        }
        let inputs: Vec<_> = (0..1_001).map(|input| (4 + input, 0, 0)).collect();
        store_of([chain.spend(&inputs, &[(900, 1_000_000)]).batch()])
    };
    let sizes = |store: &MemoryStore| {
        let of = |store: &MemoryStore| reported(&*store.snapshot()).values().map(Vec::len).collect::<Vec<_>>();
        let sizes = of(store);
        assert_eq!(of(&store.with_sidecars(&Cancel::new()).unwrap()), sizes);
        sizes
    };
    assert_eq!(sizes(&consolidation(true)), [502]);
    assert_eq!(sizes(&consolidation(false)), [0; 0]);
}

fn blocks(batch: &Batch, range: std::ops::RangeInclusive<u64>) -> Batch {
    let mut part = batch.clone();
    part.blocks.retain(|facts| range.contains(&facts.number));
    part.transactions.retain(|facts| range.contains(&facts.block));
    part
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 96 } else { 32 }))]

    #[test]
    fn clusters_are_what_the_chain_comes_to(batch in utxo_chain(), cut in 1..20_u64) {
        let cancel = Cancel::new();
        let store = store_of([batch.clone()]);
        let expected = oracle(&*store.snapshot(), &batch);
        let members = || expected.values().flatten().map(|(member, _)| member);
        prop_assert!(members().all(|member| !member.is_keyless()), "what anybody can spend is in no cluster");
        for way in WAYS {
            let segmented = store.in_segments(way).unwrap();
            prop_assert_eq!(&reported(&*segmented.snapshot()), &expected);
            prop_assert_eq!(&reported(&*segmented.with_sidecars(&cancel).unwrap().snapshot()), &expected);
        }
        // In two parts, in either order, with a table of the first.
        let last = batch.blocks.last().unwrap().number;
        let parts = [blocks(&batch, 0..=cut.min(last)), blocks(&batch, cut.min(last) + 1..=last)];
        for parts in [parts.clone(), [parts[1].clone(), parts[0].clone()]] {
            let mut grown = MemoryStore::default();
            for part in parts {
                if !part.transactions.is_empty() {
                    grown.commit(part, &cancel).unwrap();
                    let _ = reported(&*grown.snapshot());
                    grown = grown.with_sidecars(&cancel).unwrap();
                }
            }
            prop_assert_eq!(&reported(&*grown.snapshot()), &expected);
        }
    }
}

/// Blocks 5 to 7 are followed, taken back and brought again, with questions on the way; a table covers the first four.
#[test]
fn blocks_taken_back_and_brought_again_leave_no_trace() {
    let cancel = Cancel::new();
    let batch = four().batch();
    let expected = reported(&*store_of([batch.clone()]).snapshot());
    let mut store = store_of([blocks(&batch, 1..=4)]).with_sidecars(&cancel).unwrap();
    let bring = |store: &mut MemoryStore, numbers: std::ops::RangeInclusive<u64>| {
        for number in numbers {
            store.append_tail_block(followed(blocks(&batch, number..=number), 1, 1)).unwrap();
            let _ = reported(&*store.snapshot());
        }
    };
    bring(&mut store, 5..=7);
    store.roll_back_tail(CHAIN, 4).unwrap();
    assert_eq!(reported(&*store.snapshot()), reported(&*store_of([blocks(&batch, 1..=4)]).snapshot()));
    bring(&mut store, 5..=6);
    store.roll_back_tail(CHAIN, 5).unwrap();
    bring(&mut store, 6..=8);
    assert_eq!(reported(&*store.snapshot()), expected);
}

/// So many payments, each of two coins of its own. The change is passed on to many, which are the same each time: so
/// there are many movements for few transactions.
fn payments(first: u64, count: u64) -> Batch {
    let mut chain = Chainlet::bitcoin().at_block(first);
    for number in 0..count {
        let owner = (first + number) * 4;
        chain = if number == 0 { chain } else { chain.same_block() };
        chain = chain.mine(owner, 5_000).same_block().mine(owner + 1, 7_000);
        let index = u32::try_from(number * 4).unwrap();
        chain = chain
            .same_block()
            .spend(&[(first, index, 0), (first, index + 1, 0)], &[(owner + 2, 9_000), (owner + 3, 2_500)]);
        let many: Vec<_> = (0..60).map(|payee| (5_000_000 + payee, 40)).collect();
        chain = chain.same_block().spend(&[(first, index + 2, 1)], &many);
    }
    chain.batch()
}

#[test]
fn cluster_table_is_built_when_worth_it_extended_and_verified() {
    let (folder, cancel) = (tempfile::tempdir().unwrap(), Cancel::new());
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let tables = || std::fs::read_dir(folder.path().join("clusters")).map_or(0, Iterator::count);
    writer.commit(payments(1, 100), &cancel).unwrap();
    writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap();
    assert_eq!(tables(), 0, "so little is read as it is");
    writer.commit(payments(1_000, 4_000), &cancel).unwrap();
    assert!(writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap());
    assert!(!writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap(), "there is nothing to do again");
    assert_eq!(tables(), 1);
    let sizes = |ledger: &dyn Ledger| {
        let clusters = ledger.clusters(CHAIN, &cancel).unwrap().unwrap();
        [4, 5, 4_000, 4_001, 300_000 * 4].map(|of| {
            let account = ledger.account(CHAIN, &number(of)).unwrap();
            account.and_then(|account| clusters.of(&account).unwrap()).map(|cluster| (cluster.name, cluster.size))
        })
    };
    let first = Some((number(4), 2));
    let second = Some((number(4_000), 2));
    assert_eq!(sizes(&*writer.snapshot()), [first, first, second, second, None]);
    writer.commit(payments(300_000, 4_000), &cancel).unwrap();
    let later = Some((number(300_000 * 4), 2));
    assert_eq!(sizes(&*writer.snapshot()), [first, first, second, second, later]);
    // Extended by what came behind it.
    assert!(writer.rebuild_sidecars(&|_, _, _| {}, &cancel).unwrap());
    assert_eq!((tables(), sizes(&*writer.snapshot())), (2, [first, first, second, second, later]));
    drop(writer);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(sizes(&*store.snapshot().unwrap()), [first, first, second, second, later]);
    assert!(store.verify(&|_, _| {}, &cancel).unwrap().is_sound());
}
