//! The tail of followed blocks: it grows, is taken back, and becomes final.

use headwater_ledger::facts::{Batch, BlockFacts, Claim, TokenFacts};
use headwater_ledger::read::{Assets as _, CoverageTable, Generation, Generations, Transactions as _};
use headwater_ledger::store::{TailAdvance, Writer};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, address};
use headwater_types::{BlockHash, Chain};

use crate::disk::{digest, transfers, writer};

const CHAIN: Chain = Chain::ETHEREUM;

#[test]
fn empty_blocks_are_held_in_the_tail_and_final() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    let empty = |number| Batch { transactions: Vec::new(), ..tail_block(number, 1, 1) };
    for batch in [tail_block(5, 1, 1), empty(6), empty(7)] {
        live.append_tail_block(batch).unwrap();
    }
    let held = || {
        let coverage = Store::open(folder.path()).unwrap().current().unwrap().coverage()[&CHAIN].clone();
        (coverage.first_block, coverage.last_block, coverage.last_time)
    };
    let time = |number| Some(empty(number).blocks[0].time);
    assert_eq!(held(), (Some(5), Some(7), time(7)));
    live.seal_tail(CHAIN, 6).unwrap();
    assert_eq!(held(), (Some(5), Some(7), time(7)));
    live.seal_tail(CHAIN, 7).unwrap();
    assert_eq!(held(), (Some(5), Some(7), time(7)));
    live.append_tail_block(empty(8)).unwrap();
    live.roll_back_tail(CHAIN, 7).unwrap();
    assert_eq!(held(), (Some(5), Some(7), time(7)));
}

fn block_hash(number: u64, fork: u8) -> BlockHash {
    let mut bytes = [fork; 32];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    BlockHash::new(bytes)
}

/// One followed block with one transfer; the fork decides its hash, that of its parent is of `parent_fork`.
fn tail_block(number: u64, fork: u8, parent_fork: u8) -> Batch {
    let mut batch = Chainlet::ethereum().at_block(number).transfer(u64::from(fork), 7, number).batch();
    batch.blocks = vec![BlockFacts {
        hash: Some(block_hash(number, fork)),
        parent: Some(block_hash(number - 1, parent_fork)),
        ..batch.blocks[0].clone()
    }];
    batch.transactions[0].hash = headwater_types::TxHash::new({
        let mut bytes = [fork; 32];
        bytes[24..].copy_from_slice(&number.to_be_bytes());
        bytes
    });
    batch.claims = vec![Claim::Blocks { first: number, last: number, table: CoverageTable::Transactions }];
    batch
}

#[test]
fn tail_with_rollbacks_ends_as_a_straight_ingest() {
    let folder = tempfile::tempdir().unwrap();
    let mut live = writer(folder.path());
    live.commit(transfers(1, 4), &Cancel::new()).unwrap();
    let reader = Store::open(folder.path()).unwrap();
    for number in 5..=9 {
        live.append_tail_block(tail_block(number, 1, 1)).unwrap();
    }
    let coverage = || reader.current().unwrap().coverage()[&CHAIN].clone();
    assert_eq!(coverage().ranges[&CoverageTable::Transactions], [(5, 9)]);
    let stranger = live.append_tail_block(tail_block(10, 2, 2)).unwrap_err();
    assert!(matches!(stranger, LedgerError::TailBroken { number: 10, .. }), "{stranger}");
    assert!(matches!(live.append_tail_block(tail_block(12, 1, 1)), Err(LedgerError::TailBroken { .. })));

    assert_eq!(live.roll_back_tail(CHAIN, 7).unwrap(), 2);
    assert_eq!((coverage().last_block, coverage().transactions), (Some(7), 7));
    live.append_tail_block(tail_block(8, 2, 1)).unwrap();
    live.append_tail_block(tail_block(9, 2, 2)).unwrap();
    assert!(matches!(live.roll_back_tail(CHAIN, 3), Err(LedgerError::BelowTail { lowest: 5, .. })));
    let with_tail = digest(folder.path());
    assert_eq!(live.seal_tail(CHAIN, 8).unwrap(), 4);
    assert_eq!(digest(folder.path()), with_tail, "sealing changes nothing that can be read");
    assert!(matches!(live.roll_back_tail(CHAIN, 7), Err(LedgerError::BelowTail { lowest: 9, .. })));
    drop(live);
    let mut again = writer(folder.path());
    again.append_tail_block(tail_block(10, 2, 2)).unwrap();

    let straight = tempfile::tempdir().unwrap();
    let mut ingest = writer(straight.path());
    ingest.commit(transfers(1, 4), &Cancel::new()).unwrap();
    for (number, fork, parent) in [(5, 1, 1), (6, 1, 1), (7, 1, 1), (8, 2, 1), (9, 2, 2), (10, 2, 2)] {
        ingest.commit(tail_block(number, fork, parent), &Cancel::new()).unwrap();
    }
    assert_eq!(digest(folder.path()), digest(straight.path()));
    let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn block_that_is_taken_back_leaves_nothing_in_other_parts() {
    let token = |symbol: Option<&str>, decimals| TokenFacts {
        contract: address(CHAIN, 90),
        symbol: symbol.map(str::to_owned),
        name: None,
        decimals,
        is_non_fungible: false,
    };
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    // A source with block 6 by its time alone, and a token without its symbol.
    let mut known = transfers(6, 1);
    known.blocks.iter_mut().for_each(|block| (block.hash, block.parent) = (None, None));
    known.transactions[0].block_hash = None;
    known.tokens = vec![token(None, Some(6))];
    writer.commit(known, &Cancel::new()).unwrap();
    writer.append_tail_block(tail_block(5, 1, 1)).unwrap();
    let before = digest(folder.path());
    for fork in [1, 2] {
        let more = Batch { tokens: vec![token(Some("abc"), None)], ..tail_block(6, fork, 1) };
        writer.append_tail_block(more).unwrap();
        let held = writer.snapshot().token_facts(CHAIN, &address(CHAIN, 90)).unwrap().unwrap();
        assert_eq!((held.symbol.as_deref(), held.decimals), (Some("abc"), Some(6)));
        assert_eq!(writer.snapshot().block(CHAIN, 6).unwrap().unwrap().hash, Some(block_hash(6, fork)));
        writer.roll_back_tail(CHAIN, 5).unwrap();
        assert_eq!(digest(folder.path()), before, "fork {fork}");
    }
    // What stays is joined when it becomes final, and when segments are merged.
    let more = Batch { tokens: vec![token(Some("abc"), None)], ..tail_block(6, 2, 1) };
    writer.append_tail_block(more).unwrap();
    let with_tail = digest(folder.path());
    writer.seal_tail(CHAIN, 6).unwrap();
    assert_eq!(digest(folder.path()), with_tail);
    writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    assert_eq!(digest(folder.path()), with_tail);
    assert_eq!(writer.snapshot().block(CHAIN, 6).unwrap().unwrap().hash, Some(block_hash(6, 2)));
}

#[test]
fn step_of_a_follower_is_one_generation_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.commit(transfers(1, 4), &Cancel::new()).unwrap();
    let generation = |writer: &Writer| writer.snapshot().generation();
    let first = generation(&writer);
    let blocks = (5..=9).map(|number| tail_block(number, 1, 1)).collect();
    let report = writer.advance_tail(CHAIN, TailAdvance { blocks, ..TailAdvance::default() }).unwrap();
    assert_eq!((report.generation, report.blocks.len(), report.removed), (first + 1, 5, 0));
    let before = digest(folder.path());
    // The second of the new blocks does not follow the first: the old ones stay.
    let broken = vec![tail_block(8, 2, 1), tail_block(9, 3, 3)];
    let advance = TailAdvance { keep_to: Some(7), blocks: broken, seal_to: None };
    assert!(matches!(writer.advance_tail(CHAIN, advance), Err(LedgerError::TailBroken { number: 9, .. })));
    assert_eq!((digest(folder.path()), generation(&writer)), (before, first + 1));
    let blocks = vec![tail_block(8, 2, 1), tail_block(9, 2, 2), tail_block(10, 2, 2)];
    let advance = TailAdvance { keep_to: Some(7), blocks, seal_to: Some(6) };
    let report = writer.advance_tail(CHAIN, advance).unwrap();
    assert_eq!((report.generation, report.removed, report.sealed), (first + 2, 2, 2));
    let tail: Vec<(u64, BlockHash)> = writer.tail(CHAIN).into_iter().map(|block| (block.number, block.hash)).collect();
    let of = |number, fork| (number, block_hash(number, fork));
    assert_eq!(tail, [of(7, 1), of(8, 2), of(9, 2), of(10, 2)]);
    let feed = writer.feed().after(0, usize::MAX).unwrap();
    let items: Vec<(u64, bool)> = feed.iter().map(|item| (item.number, item.removed)).collect();
    let added = (5..=9).map(|number| (number, false));
    let expected: Vec<_> = added.chain([(9, true), (8, true), (8, false), (9, false), (10, false)]).collect();
    assert_eq!(items, expected);
    assert_eq!(writer.advance_tail(CHAIN, TailAdvance::default()).unwrap().generation, first + 2);
}

#[test]
fn rows_of_other_sources_go_with_their_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.commit(transfers(1, 3), &Cancel::new()).unwrap();
    for number in 5..=6 {
        writer.append_tail_block(tail_block(number, 1, 1)).unwrap();
    }
    let before = digest(folder.path());
    // A list with block 6 by its time, one transaction of it, another one of it, and one that is behind it.
    let mut known = tail_block(6, 1, 1);
    known.blocks[0] = BlockFacts { hash: None, parent: None, ..known.blocks[0].clone() };
    known.transactions[0].nonce = Some(9);
    let mut other = known.transactions[0].clone();
    other.hash = headwater_types::TxHash::new([99; 32]);
    known.transactions.push(other);
    let later = tail_block(8, 1, 1);
    known.blocks.extend(later.blocks);
    known.transactions.extend(later.transactions);
    known.claims = vec![Claim::Blocks { first: 4, last: 8, table: CoverageTable::Receipts }];
    let report = writer.commit(known, &Cancel::new()).unwrap();
    assert_eq!((report.added, report.enriched), (2, 1));
    let claimed = |writer: &Writer| writer.snapshot().coverage()[&CHAIN].ranges[&CoverageTable::Receipts].clone();
    assert_eq!(claimed(&writer), [(4, 8)]);
    let transactions = |writer: &Writer| writer.snapshot().coverage()[&CHAIN].transactions;
    assert_eq!(transactions(&writer), 7);
    // Block 6 is replaced: nothing of it is left, and nothing contradicts the other one.
    let advance = TailAdvance { keep_to: Some(5), blocks: vec![tail_block(6, 2, 1)], seal_to: None };
    writer.advance_tail(CHAIN, advance).unwrap();
    assert_eq!(claimed(&writer), [(4, 5), (7, 8)]);
    assert_eq!(transactions(&writer), 6);
    writer.roll_back_tail(CHAIN, 5).unwrap();
    drop(writer);
    assert_ne!(digest(folder.path()), before, "block 8 stays");
    let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn rows_that_were_held_before_go_with_their_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    writer.append_tail_block(tail_block(5, 1, 1)).unwrap();
    let before = digest(folder.path());
    // An account export has a transaction of block 6 before it is followed.
    let mut early = tail_block(6, 1, 1);
    early.claims.clear();
    early.blocks[0] = BlockFacts { hash: None, parent: None, ..early.blocks[0].clone() };
    writer.commit(early, &Cancel::new()).unwrap();
    let mut followed = tail_block(6, 1, 1);
    followed.transactions[0].nonce = Some(9);
    writer.append_tail_block(followed).unwrap();
    assert_eq!(writer.snapshot().coverage()[&CHAIN].transactions, 2);
    writer.roll_back_tail(CHAIN, 5).unwrap();
    assert_eq!(writer.snapshot().coverage()[&CHAIN].transactions, 1);
    // The time of the block, which all sources agree on, stays.
    writer.append_tail_block(tail_block(6, 2, 1)).unwrap();
    assert_eq!(writer.snapshot().block(CHAIN, 6).unwrap().unwrap().hash, Some(block_hash(6, 2)));
    assert_ne!(digest(folder.path()), before);
}

#[test]
fn a_chain_whose_only_blocks_are_rolled_back_is_absent_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(folder.path());
    let empty = digest(folder.path());
    writer.append_tail_block(tail_block(5, 1, 1)).unwrap();
    assert_ne!(digest(folder.path()), empty);
    assert_eq!(writer.roll_back_tail(CHAIN, 4).unwrap(), 1);
    assert!(writer.snapshot().coverage().is_empty());
    assert_eq!(digest(folder.path()), empty);
}
