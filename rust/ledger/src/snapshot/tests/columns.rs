//! Columns show what postings show, whole and in parts, one account and all.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use headwater_types::{Address, Amount, Asset, Chain, TimeWindow, Timestamp, TxHash};
use proptest::prelude::*;

use super::oracle::Oracle;
use super::segmentation::deal;
use super::snapshot;
use crate::facts::{BlockFacts, Body, TransactionFacts};
use crate::read::{
    Account, Accounts, AddressRange, Assets, ColumnSet, Direction, MovementKind, Movements, PostingColumns, Scan,
    ScanOrder, Status, Sweeps, Transactions,
};
use crate::segment::SegmentInput;
use crate::segment::tests::economy::{address, hash, input, is_full, time_of};
use crate::{Cancel, LedgerError, Snapshot};

type PostingRow =
    ((u64, TxHash, Timestamp), (MovementKind, Direction, Option<Status>, bool), (Option<Address>, Asset, Amount));

fn seen(ledger: &Snapshot, columns: PostingColumns<'_>, into: &mut Vec<PostingRow>) {
    assert!(!columns.is_empty() && columns.transactions().is_sorted());
    for at in 0..columns.len() {
        let head = ledger.transaction_head(columns.transaction(columns.transactions()[at])).unwrap();
        let flags = columns.flags()[at];
        let other = columns.counterparty(columns.counterparties()[at]);
        into.push((
            (head.block, head.hash, columns.time(at)),
            (flags.kind(), flags.direction(), flags.status(), flags.creates_contract()),
            (
                other.map(|other| ledger.address(other).unwrap()),
                ledger.asset(columns.asset(columns.assets()[at])).unwrap(),
                columns.amount(at),
            ),
        ));
    }
}

fn by_columns(ledger: &Snapshot, account: &Account, scan: &Scan) -> Vec<PostingRow> {
    let mut rows = Vec::new();
    ledger
        .posting_columns(account, scan, (ColumnSet::ALL, &Cancel::new()), &mut |columns| {
            seen(ledger, columns, &mut rows);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    rows.sort();
    rows
}

fn by_postings(ledger: &Snapshot, account: &Account, scan: &Scan) -> Vec<PostingRow> {
    let mut rows: Vec<PostingRow> = ledger
        .postings(account, scan)
        .unwrap()
        .map(|posting| posting.unwrap())
        .map(|row| {
            let head = ledger.transaction_head(row.transaction).unwrap();
            (
                (head.block, head.hash, row.time),
                (row.kind, row.direction, row.status, row.creates_contract),
                (
                    row.counterparty.map(|other| ledger.address(other).unwrap()),
                    ledger.asset(row.asset).unwrap(),
                    row.amount,
                ),
            )
        })
        .collect();
    rows.sort();
    rows
}

fn scans(chain: Chain) -> Vec<Scan> {
    let time = |block| Some(time_of(chain, block).secs());
    let window = TimeWindow::new(time(2).min(time(6)), time(2).max(time(6))).unwrap();
    let token = |number| Asset::Token(address(chain, number));
    let assets =
        [None, Some(vec![token(3), Asset::Native]), Some(vec![token(4)]), Some(vec![token(200)]), Some(vec![])];
    let mut scans = Vec::new();
    for assets in assets {
        for window in [TimeWindow::default(), window] {
            for (from_block, up_to_block) in [(None, None), (Some(3), None), (Some(2), Some(7))] {
                let assets = assets.clone();
                scans.push(Scan { window, assets, from_block, up_to_block, ..Scan::default() });
            }
        }
    }
    scans
}

fn check(input: &SegmentInput) {
    let oracle = Oracle::new(input);
    let chain = input.chain;
    for parts in [1, 3, 17] {
        let ledger = snapshot(&deal(input, parts));
        for number in 0..9 {
            let address = address(chain, number);
            let Some(account) = ledger.account(chain, &address).unwrap() else { continue };
            let step = if is_full() { 5 } else { 11 };
            for (place, scan) in scans(chain).into_iter().enumerate() {
                let afters = oracle.rows.get(&address).into_iter().flatten().step_by(step).map(|row| Some(row.key));
                for (after, turn) in afters.chain([None]).zip(place..) {
                    let orders = [ScanOrder::NewestFirst, ScanOrder::OldestFirst];
                    // By turns, or both.
                    for order in if is_full() { &orders[..] } else { &orders[turn % 2..=turn % 2] } {
                        check_scan(&ledger, &oracle, &account, &Scan { order: *order, after, ..scan.clone() });
                    }
                }
            }
        }
        check_sweeps(&ledger, chain);
    }
}

fn check_scan(ledger: &Snapshot, oracle: &Oracle, account: &Account, scan: &Scan) {
    let expected = by_postings(ledger, account, scan);
    assert_eq!(expected.len(), oracle.scan(&account.address, scan).len());
    assert_eq!(by_columns(ledger, account, scan), expected, "{scan:?}");
    assert_eq!(ledger.count_postings(account, scan, &Cancel::new()).unwrap(), expected.len() as u64);
    for parts in [1, 2, 5] {
        let scans = ledger.split(account, scan, parts).unwrap();
        assert!((1..=parts).contains(&scans.len()));
        let mut together: Vec<PostingRow> = scans.iter().flat_map(|scan| by_columns(ledger, account, scan)).collect();
        together.sort();
        assert_eq!(together, expected, "{scans:?}");
    }
}

type RowsByAddress = BTreeMap<Address, Vec<PostingRow>>;

fn swept(ledger: &Snapshot, chain: Chain, range: &AddressRange) -> RowsByAddress {
    let mut rows = RowsByAddress::new();
    let mut last = None;
    ledger
        .sweep(chain, range, (ColumnSet::ALL, &Cancel::new()), &mut |address, columns| {
            assert!(last <= Some(*address), "addresses come in order");
            last = Some(*address);
            seen(ledger, columns, rows.entry(*address).or_default());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    for rows in rows.values_mut() {
        rows.sort();
    }
    rows
}

fn check_sweeps(ledger: &Snapshot, chain: Chain) {
    let all = swept(ledger, chain, &AddressRange::default());
    for number in 0..9 {
        let address = address(chain, number);
        let rows =
            ledger.account(chain, &address).unwrap().map(|account| by_postings(ledger, &account, &Scan::default()));
        let rows = rows.filter(|rows| !rows.is_empty());
        assert_eq!(all.get(&address), rows.as_ref());
    }
    for parts in [1, 2, 5] {
        let ranges = ledger.split_addresses(chain, parts).unwrap();
        assert!((1..=parts).contains(&ranges.len()));
        let mut together = RowsByAddress::new();
        for range in &ranges {
            together.extend(swept(ledger, chain, range));
        }
        assert_eq!(together, all, "{ranges:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn account_chains_show_the_same_in_columns(
        input in prop_oneof![input(Chain::ETHEREUM, 0..30), input(Chain::TRON, 0..30)],
    ) {
        check(&input);
    }

    #[test]
    fn bitcoin_shows_the_same_in_columns(input in input(Chain::BITCOIN, 0..30)) {
        check(&input);
    }
}

#[test]
fn a_hub_is_shown_in_batches_and_its_parts_are_about_equal() {
    let ledger = snapshot(&[super::cold::busy()]);
    let hub = ledger.account(Chain::ETHEREUM, &super::cold::account(0)).unwrap().unwrap();
    let mut batches = 0;
    ledger
        .posting_columns(&hub, &Scan::default(), (ColumnSet::FLAGS, &Cancel::new()), &mut |columns| {
            batches += 1;
            assert!(columns.transactions().is_empty() && columns.flags().len() == columns.len());
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert!(batches > 4, "{batches}");
    let scans = ledger.split(&hub, &Scan::default(), 4).unwrap();
    assert_eq!(scans.len(), 4);
    for scan in scans {
        let length = ledger.count_postings(&hub, &scan, &Cancel::new()).unwrap();
        assert!((hub.postings / 5..hub.postings / 3).contains(&length), "{length} of {}", hub.postings);
    }
    let mut swept = 0;
    ledger
        .sweep(
            Chain::ETHEREUM,
            &AddressRange::default(),
            (ColumnSet::FLAGS, &Cancel::new()),
            &mut |address, columns| {
                swept += if *address == hub.address { columns.len() as u64 } else { 0 };
                Ok(ControlFlow::Continue(()))
            },
        )
        .unwrap();
    assert_eq!(swept, hub.postings);
}

#[test]
fn cancelled_scan_and_sweep_stop() {
    let ledger = snapshot(&[super::cold::busy()]);
    let hub = ledger.account(Chain::ETHEREUM, &super::cold::account(0)).unwrap().unwrap();
    let cancel = Cancel::new();
    let mut batches = 0;
    let stopped = ledger.posting_columns(&hub, &Scan::default(), (ColumnSet::ALL, &cancel), &mut |_| {
        batches += 1;
        cancel.cancel();
        Ok(ControlFlow::Continue(()))
    });
    assert!(matches!(stopped, Err(LedgerError::Cancelled(_))) && batches == 1);
    let range = AddressRange::default();
    let stopped = ledger.sweep(Chain::ETHEREUM, &range, (ColumnSet::ALL, &cancel), &mut |_, _| unreachable!());
    assert!(matches!(stopped, Err(LedgerError::Cancelled(_))));
    let mut seen = 0;
    ledger
        .sweep(Chain::ETHEREUM, &range, (ColumnSet::FLAGS, &Cancel::new()), &mut |_, _| {
            seen += 1;
            Ok(ControlFlow::Break(()))
        })
        .unwrap();
    assert_eq!(seen, 1, "breaking ends a sweep");
}

#[test]
fn an_account_of_more_than_a_batch_is_swept_behind_lighter_ones() {
    let account = |first: u8, number: u16| {
        let mut bytes = [first; 20];
        bytes[1..3].copy_from_slice(&number.to_be_bytes());
        Address::Evm(bytes)
    };
    // 300 light accounts, then one of 5,000 movements, then 300 light ones.
    let busy = account(5, 0);
    let transaction = |number: u16| {
        let mut facts = TransactionFacts::new(hash(u64::from(number)), u64::from(number));
        let from = account(if number.is_multiple_of(2) { 1 } else { 9 }, number % 300);
        facts.body = Some(Body { from: Some(from), to: Some(busy), value: Amount::from(u64::from(number)) });
        facts
    };
    let block = |number: u16| BlockFacts {
        number: u64::from(number),
        hash: None,
        parent: None,
        time: Timestamp::new(i64::from(number)),
    };
    let ledger = snapshot(&[SegmentInput {
        chain: Chain::ETHEREUM,
        network: headwater_types::Network::Mainnet,
        blocks: (0..5000).map(block).collect(),
        transactions: (0..5000).map(transaction).collect(),
        contracts: Vec::new(),
        tokens: Vec::new(),
    }]);
    let all = swept(&ledger, Chain::ETHEREUM, &AddressRange::default());
    assert_eq!(all.len(), 301);
    for (address, rows) in all {
        let account = ledger.account(Chain::ETHEREUM, &address).unwrap().unwrap();
        assert_eq!(rows, by_postings(&ledger, &account, &Scan::default()));
    }
}
