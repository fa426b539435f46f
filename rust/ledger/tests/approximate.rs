//! Amounts that a source holds as doubles are shown, and count in no balance until another source states them exactly.

use headwater_ledger::facts::{AmountOf, Batch};
use headwater_ledger::read::{Generation, Ledger, MovementKind, Ordinal, Scan, Transactions};
use headwater_ledger::store::{MemoryStore, Writer, in_memory};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::strategies::approximate_chain;
use headwater_testkit::{Chainlet, address, holdings_of, is_full, over_segmentations, rows_of, token};
use headwater_types::{Amount, Asset, Chain};
use proptest::prelude::*;

const CHAIN: Chain = Chain::ETHEREUM;
/// Doubles of this size have steps of 2^28.
const LARGE: u128 = 1 << 80;

fn commit_all<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> MemoryStore {
    let mut store = MemoryStore::default();
    for batch in batches {
        store.commit(batch.clone(), &Cancel::new()).unwrap();
    }
    store
}

/// 1 pays 2 some of the native coin, 3 of it come from 9 to 2 inside, and some of token 1 go from 2 to 1.
fn paid(value: u128, tokens: u128, approximate: &[AmountOf]) -> Batch {
    let chain = Chainlet::ethereum().transfer(1, 2, 0).internal(9, 2, 3).token_movement(1, 2, 1, 0);
    let change = |facts: &mut headwater_ledger::facts::TransactionFacts| {
        facts.body.as_mut().unwrap().value = Amount::from_u128(value);
        facts.movements[1].amount = Amount::from_u128(tokens);
        facts.approximate = approximate.iter().copied().collect();
    };
    chain.with(change).batch()
}

/// Returns what 2 received and sent of an asset.
fn sums(ledger: &dyn Ledger, asset: &Asset) -> Option<(u128, u128)> {
    let account = ledger.account(CHAIN, &address(CHAIN, 2)).unwrap().unwrap();
    let held = ledger.holdings(&account).unwrap();
    let holding = held.iter().find(|holding| holding.asset == *asset)?;
    Some((holding.received().to_u128().unwrap(), holding.sent().to_u128().unwrap()))
}

const ALL: [AmountOf; 2] = [AmountOf::Value, AmountOf::Token(0)];

#[test]
fn an_approximate_amount_is_shown_and_marked_and_in_no_balance() {
    over_segmentations([paid(LARGE, LARGE, &ALL)], |ledger| {
        let coverage = &ledger.coverage()[&CHAIN];
        assert_eq!((coverage.movements, coverage.approximate), (3, 2));
        assert_eq!(sums(ledger, &Asset::Native), Some((3, 0)), "the internal one is exact");
        assert_eq!(sums(ledger, &token(CHAIN, 1)), None);
        let account = ledger.account(CHAIN, &address(CHAIN, 2)).unwrap().unwrap();
        let rows: Vec<_> = ledger.postings(&account, &Scan::default()).unwrap().map(Result::unwrap).collect();
        let shown: Vec<_> = rows.iter().map(|row| (row.kind, row.ordinal, row.amount, row.approximate)).collect();
        let (large, first) = (Amount::from_u128(LARGE), Ordinal::Indexed(0));
        assert_eq!(
            shown,
            [
                (MovementKind::Token, first, large, true),
                (MovementKind::Internal, Ordinal::Indexed(1), Amount::from(3), false),
                (MovementKind::Native, first, large, true),
            ]
        );
        assert!(rows.iter().all(|row| !row.creates_contract));
        let transaction = ledger.transaction(rows[0].transaction).unwrap();
        for row in &rows {
            assert_eq!(transaction.is_approximate(row.kind, row.ordinal), row.approximate);
        }
    });
}

#[test]
fn exact_amount_replaces_an_approximate_one_in_any_order() {
    let rough = paid(LARGE, LARGE, &ALL);
    let exact = paid(LARGE + 77, LARGE + 5, &[]);
    let half = paid(LARGE + 77, LARGE, &[AmountOf::Token(0)]);
    let whole = commit_all([&exact]);
    for order in [vec![&rough, &exact], vec![&exact, &rough], vec![&rough, &half, &exact], vec![&half, &exact, &rough]]
    {
        let store = commit_all(order);
        let digest = |store: &MemoryStore| store.digest(&Cancel::new()).unwrap();
        assert_eq!(digest(&store), digest(&whole));
        let ledger = store.snapshot();
        assert_eq!(ledger.coverage()[&CHAIN].approximate, 0);
        assert_eq!(sums(&*ledger, &Asset::Native), Some((LARGE + 80, 0)));
        assert_eq!(sums(&*ledger, &token(CHAIN, 1)), Some((0, LARGE + 5)));
    }
    let store = commit_all([&rough, &half]);
    assert_eq!(store.snapshot().coverage()[&CHAIN].approximate, 1, "of the token no better amount is known");
}

#[test]
fn smaller_approximate_amount_prevails_and_far_ones_conflict() {
    let step = 1 << 28;
    let (low, high) = (paid(LARGE, 9, &ALL[..1]), paid(LARGE + step, 9, &ALL[..1]));
    for order in [[&low, &high], [&high, &low]] {
        let store = commit_all(order);
        let ledger = store.snapshot();
        let found = ledger.find_transaction(CHAIN, &low.transactions[0].hash).unwrap().unwrap();
        let facts = ledger.transaction(found).unwrap().facts;
        assert_eq!(facts.body.unwrap().value, Amount::from_u128(LARGE));
        assert_eq!(ledger.coverage()[&CHAIN].approximate, 1);
    }
    for far in [paid(LARGE + 2 * step, 9, &ALL[..1]), paid(LARGE + 2 * step, 9, &[])] {
        let error = commit_all([&low]).commit(far, &Cancel::new()).unwrap_err();
        assert!(matches!(error, LedgerError::Conflict { field: "value", .. }), "{error}");
    }
    let exact = paid(LARGE + 1, 9, &[]);
    let error = commit_all([&exact]).commit(paid(LARGE, 9, &[]), &Cancel::new()).unwrap_err();
    assert!(matches!(error, LedgerError::Conflict { field: "value", .. }), "both are said to be exact: {error}");
}

#[test]
fn a_mark_on_what_is_not_there_says_nothing() {
    let odd = paid(5, 6, &[AmountOf::Internal(77), AmountOf::Token(1)]);
    let store = commit_all([&odd]);
    assert_eq!(store.snapshot().coverage()[&CHAIN].approximate, 0);
    let plain = commit_all([&paid(5, 6, &[])]);
    assert_eq!(store.digest(&Cancel::new()).unwrap(), plain.digest(&Cancel::new()).unwrap());
}

#[test]
fn approximate_amounts_on_disk_are_merged_reopened_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let other = Chainlet::ethereum().at_block(9).transfer(1, 2, 4).batch();
    for batch in [&paid(LARGE, LARGE, &ALL), &other, &paid(LARGE, LARGE + 5, &ALL[..1])] {
        writer.commit(batch.clone(), &Cancel::new()).unwrap();
    }
    writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    drop(writer);
    let store = Store::open(folder.path()).unwrap();
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    let ledger = store.snapshot().unwrap();
    assert_eq!(ledger.coverage()[&CHAIN].approximate, 1);
    assert_eq!(sums(&*ledger, &Asset::Native), Some((7, 0)));
    assert_eq!(sums(&*ledger, &token(CHAIN, 1)), Some((0, LARGE + 5)));
    let memory = in_memory(vec![other, paid(LARGE, LARGE + 5, &ALL[..1])], vec![], vec![]).unwrap();
    assert_eq!(store.digest(&Cancel::new()).unwrap(), memory.digest(&Cancel::new()).unwrap());
}

/// A hub has its sums stored, by day too.
#[test]
fn a_busy_account_sums_only_what_is_exact() {
    let chain = (0..1500).fold(Chainlet::ethereum(), |chain, number| {
        chain.token_transfer(1, 2, 3, 1).with(|facts| {
            if number % 3 == 0 {
                facts.approximate.insert(AmountOf::of_fact(&facts.movements[0]).unwrap());
            }
        })
    });
    over_segmentations([chain.batch()], |ledger| assert_eq!(sums(ledger, &token(CHAIN, 1)), Some((0, 1000))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 64 } else { 32 }))]

    #[test]
    fn rows_and_holdings_are_those_of_the_facts(batch in approximate_chain()) {
        over_segmentations([batch.clone()], |ledger| {
            for number in 0..6 {
                let address = address(CHAIN, number);
                let expected = rows_of(&batch.transactions, &address);
                let Some(account) = ledger.account(CHAIN, &address).unwrap() else {
                    assert!(expected.is_empty());
                    continue;
                };
                let mut marked = 0;
                for row in ledger.postings(&account, &Scan::default()).unwrap().map(Result::unwrap) {
                    let transaction = ledger.transaction(row.transaction).unwrap();
                    assert_eq!(transaction.is_approximate(row.kind, row.ordinal), row.approximate);
                    marked += usize::from(row.approximate);
                }
                assert_eq!(marked, expected.iter().filter(|row| row.approximate).count());
                let held = holdings_of(&batch.transactions, &address);
                let holdings = ledger.holdings(&account).unwrap();
                assert_eq!(holdings.len(), held.len());
                for holding in holdings {
                    let held = held[&holding.asset];
                    assert_eq!((holding.received(), holding.sent(), holding.fees), (held.received, held.sent, held.fees));
                }
            }
        });
    }
}
