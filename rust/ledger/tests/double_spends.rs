//! Double spends: of transactions that spend one output the first on the chain is held, whatever order they come in.

use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::facts::OutPoint;
use headwater_ledger::read::{Generations, Ledger};
use headwater_ledger::store::{DoubleSpend, MemoryStore};
use headwater_testkit::{Chainlet, address, hash};
use headwater_types::{Chain, Family};

const CHAIN: Chain = Chain::BITCOIN;

/// 1 pays 2 in block 2, and pays 3 the same coin in block 3; 3 pays 4 in block 4 what it never got.
fn chain() -> Batch {
    Chainlet::bitcoin()
        .mine(1, 50_000)
        .spend(&[(1, 0, 0)], &[(2, 49_000)])
        .spend(&[(1, 0, 0)], &[(3, 48_000)])
        .mine(5, 60_000)
        .spend(&[(4, 0, 0)], &[(6, 59_000)])
        .batch()
}

fn of_blocks(numbers: &[u64]) -> Batch {
    let mut batch = chain();
    batch.blocks.retain(|facts| numbers.contains(&facts.number));
    batch.transactions.retain(|facts| numbers.contains(&facts.block));
    batch
}

fn expected(was_held: bool) -> DoubleSpend {
    let text = |block| hash(block, 0).display(Family::Utxo);
    DoubleSpend { left_out: text(3), block: 3, kept: text(2), output: format!("{}:0", text(1)), was_held }
}

/// Commits the blocks in this order, and returns the double spends that were named.
fn committed(store: &mut MemoryStore, parts: &[&[u64]]) -> Vec<DoubleSpend> {
    let commit = |part: &&[u64]| store.commit(of_blocks(part), &Cancel::new()).unwrap().double_spends;
    parts.iter().flat_map(commit).collect()
}

fn is_right(ledger: &dyn Ledger) {
    let output = OutPoint { hash: hash(1, 0), index: 0 };
    assert_eq!(ledger.spender(CHAIN, &output).unwrap(), Some((hash(2, 0), 0)));
    assert!(ledger.find_transaction(CHAIN, &hash(3, 0)).unwrap().is_none());
    assert!(ledger.account(CHAIN, &address(CHAIN, 3)).unwrap().is_none_or(|account| account.postings == 0));
    assert_eq!(ledger.account(CHAIN, &address(CHAIN, 2)).unwrap().unwrap().postings, 1);
    assert_eq!(ledger.account(CHAIN, &address(CHAIN, 6)).unwrap().unwrap().postings, 1, "others stay");
    assert_eq!(ledger.coverage()[&CHAIN].last_block, Some(5));
}

#[test]
fn later_spend_of_an_output_is_left_out_and_named() {
    let orders: [(&[&[u64]], bool); 4] = [
        (&[&[1, 2, 3, 4, 5]], false),
        (&[&[1], &[2], &[3], &[4, 5]], false),
        // The later one came first: it is taken out.
        (&[&[1], &[3], &[2], &[4, 5]], true),
        (&[&[3, 4, 5], &[2], &[1]], true),
    ];
    let mut digests = Vec::new();
    for (order, was_held) in orders {
        let mut store = MemoryStore::default();
        assert_eq!(committed(&mut store, order), [expected(was_held)], "{order:?}");
        is_right(&*store.current().unwrap());
        digests.push(store.digest(&Cancel::new()).unwrap());
    }
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "the order of commits changes nothing");
}

#[test]
fn repeated_commit_names_the_double_spend_again() {
    let mut store = MemoryStore::default();
    let all: &[u64] = &[1, 2, 3, 4, 5];
    assert_eq!(committed(&mut store, &[all, all]), [expected(false), expected(false)]);
    is_right(&*store.current().unwrap());
}

#[test]
fn spends_of_other_outputs_are_no_double_spend() {
    let batch = Chainlet::bitcoin()
        .mine(1, 50_000)
        .spend(&[(1, 0, 0)], &[(2, 20_000), (1, 29_000)])
        .spend(&[(2, 0, 0)], &[(3, 19_000)])
        .spend(&[(2, 0, 1)], &[(4, 28_000)])
        .batch();
    let mut store = MemoryStore::default();
    for _ in 0..2 {
        assert_eq!(store.commit(batch.clone(), &Cancel::new()).unwrap().double_spends, []);
    }
}

#[test]
fn left_out_transaction_takes_no_output_from_others() {
    // Block 3 spends what block 2 spends, and a coin of its own, which block 5 spends later.
    let batch = Chainlet::bitcoin()
        .mine(1, 50_000)
        .spend(&[(1, 0, 0)], &[(2, 49_000)])
        .mine(7, 10_000)
        .spend(&[(1, 0, 0), (3, 0, 0)], &[(3, 58_000)])
        .spend(&[(3, 0, 0)], &[(8, 9_000)])
        .batch();
    let mut store = MemoryStore::default();
    let found = store.commit(batch, &Cancel::new()).unwrap().double_spends;
    assert_eq!(found.iter().map(|double| double.block).collect::<Vec<_>>(), [4]);
    let ledger = store.current().unwrap();
    let spender = ledger.spender(CHAIN, &OutPoint { hash: hash(3, 0), index: 0 }).unwrap();
    assert_eq!(spender, Some((hash(5, 0), 0)));
}

#[test]
fn what_a_rival_of_a_rival_lost_is_restored_by_another_ingest() {
    // Block 3 spends the coins of blocks 1 and 2; block 4 spends that of block 1 before it, block 6 that of block 2 after it.
    let batch = Chainlet::bitcoin()
        .mine(1, 50_000)
        .mine(2, 40_000)
        .mine(9, 1_000)
        .spend(&[(1, 0, 0)], &[(3, 49_000)])
        .spend(&[(1, 0, 0), (2, 0, 0)], &[(4, 89_000)])
        .spend(&[(2, 0, 0)], &[(5, 39_000)])
        .batch();
    let of = |numbers: &[u64]| {
        let mut part = batch.clone();
        part.blocks.retain(|facts| numbers.contains(&facts.number));
        part.transactions.retain(|facts| numbers.contains(&facts.block));
        part
    };
    let mut store = MemoryStore::default();
    let mut commit = |numbers: &[u64]| store.commit(of(numbers), &Cancel::new()).unwrap().double_spends;
    assert_eq!(
        commit(&[1, 2, 3, 5, 6]).iter().map(|double| (double.block, double.was_held)).collect::<Vec<_>>(),
        [(6, false)]
    );
    // What is taken out says that what it kept out must come again.
    let found = commit(&[4]);
    assert_eq!(found.iter().map(|double| (double.block, double.was_held)).collect::<Vec<_>>(), [(5, true)]);
    assert!(found[0].to_string().ends_with("ingest the blocks after it again"));
    commit(&[5, 6]);
    let ledger = store.current().unwrap();
    let spender = |block| ledger.spender(CHAIN, &OutPoint { hash: hash(block, 0), index: 0 }).unwrap();
    assert_eq!((spender(1), spender(2)), (Some((hash(4, 0), 0)), Some((hash(6, 0), 0))));
}
