//! Balances that a list of holders states begin the history of their token: they count in balances and nowhere else.

use std::collections::BTreeMap;

use headwater_ledger::facts::{Batch, OPENING_PART, TransactionFacts, opening};
use headwater_ledger::read::{
    Accounts, AddressRange, Balances, ColumnSet, Counterparties, Generation, Holding, Ledger, Movements, Opening, Scan,
    Sweeps,
};
use headwater_ledger::store::{MemoryStore, Writer, in_memory};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::strategies::opened_chain;
use headwater_testkit::{Chainlet, address, holdings_of, is_full, over_segmentations, rows_of, token};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp};
use proptest::prelude::*;

const CHAIN: Chain = Chain::ETHEREUM;

fn holding(ledger: &dyn Ledger, holder: u64, asset: &Asset) -> Option<Holding> {
    let account = ledger.account(CHAIN, &address(CHAIN, holder)).unwrap()?;
    ledger.holdings(&account).unwrap().into_iter().find(|holding| holding.asset == *asset)
}

/// Opening, received, sent and balance of a holder of token 1.
fn reported(ledger: &dyn Ledger, holder: u64) -> Option<[u128; 4]> {
    let small = |amount: Amount| amount.to_u128().unwrap();
    let holding = holding(ledger, holder, &token(CHAIN, 1))?;
    Some([holding.opening, holding.received(), holding.sent(), holding.balance.shown()].map(small))
}

/// Largest first.
fn holders(ledger: &dyn Ledger) -> Vec<(Address, u128)> {
    let holders = ledger.holders(CHAIN, &token(CHAIN, 1)).unwrap().expect("small, or built");
    let rows = holders.first(usize::MAX).unwrap();
    rows.into_iter().map(|(account, held)| (ledger.address(account).unwrap(), held.to_u128().unwrap())).collect()
}

fn list(block: u64, held: &[(u64, u64)]) -> Vec<TransactionFacts> {
    let held = held.iter().map(|&(holder, amount)| (address(CHAIN, holder), Amount::from(amount))).collect();
    let contract = *token(CHAIN, 1).contract().unwrap();
    // The time of a block of a chainlet.
    let time = Timestamp::new(1_600_000_000 + 12 * i64::try_from(block).unwrap());
    opening(CHAIN, contract, block, time, held).unwrap().collect()
}

fn batch(transactions: Vec<TransactionFacts>) -> Batch {
    Batch { transactions, ..Batch::new(CHAIN) }
}

/// Block 1: 7 goes from 1 to 2. At the end of block 2, in which 3 goes from 2 to 1, a list states 100 of 1 and 40 of 3.
/// Then 10 goes from 1 to 2 in block 3, and 40 from 3 to 1 in block 4.
fn worked() -> Batch {
    Chainlet::ethereum()
        .token_transfer(1, 1, 2, 7)
        .token_transfer(1, 2, 1, 3)
        .opening(1, &[(1, 100), (3, 40), (4, 0)])
        .token_transfer(1, 1, 2, 10)
        .token_transfer(1, 3, 1, 40)
        .batch()
}

#[test]
fn opening_balance_adds_later_movements_only() {
    let tables = over_segmentations([worked()], |ledger| {
        assert_eq!(reported(ledger, 1), Some([100, 40, 10, 130]));
        assert_eq!(reported(ledger, 2), Some([0, 10, 0, 10]));
        assert_eq!(reported(ledger, 3), Some([40, 0, 40, 0]));
        assert_eq!(reported(ledger, 4), None, "a balance of nothing is not stated");
        assert_eq!(ledger.opening(CHAIN, &Asset::Native), None);
        let opening = ledger.opening(CHAIN, &token(CHAIN, 1));
        assert_eq!(opening, Some(Opening { block: 2, time: Timestamp::new(1_600_000_024) }));
        holders(ledger)
    });
    assert_eq!(tables, [(address(CHAIN, 1), 130), (address(CHAIN, 2), 10)]);
}

#[test]
fn an_opening_is_in_balances_and_nowhere_else() {
    let with = worked();
    let mut without = with.clone();
    without.transactions.retain(|facts| !facts.hash.is_made());
    let seen = |batch: &Batch| {
        let store = in_memory(vec![batch.clone()], vec![], vec![]).unwrap().with_sidecars(&Cancel::new()).unwrap();
        let ledger = store.snapshot();
        let coverage = &ledger.coverage()[&CHAIN];
        let mut swept = Vec::new();
        let wanted = (ColumnSet::ALL, &Cancel::new());
        ledger
            .sweep(CHAIN, &AddressRange::default(), wanted, &mut |address, batch| {
                swept.push((*address, batch.len(), batch.amounts().to_vec()));
                Ok(std::ops::ControlFlow::Continue(()))
            })
            .unwrap();
        let accounts: Vec<_> = (1..4)
            .map(|number| {
                let account = ledger.account(CHAIN, &address(CHAIN, number)).unwrap().unwrap();
                let rows: Vec<_> = ledger.postings(&account, &Scan::default()).unwrap().map(Result::unwrap).collect();
                let rows: Vec<_> = rows.iter().map(|row| (row.block, row.kind, row.amount)).collect();
                let edges = ledger
                    .edges(&account, headwater_ledger::edges::EdgeOrder::Total, 9, &Cancel::new())
                    .unwrap()
                    .unwrap();
                (account.postings, rows, edges.pairs.len())
            })
            .collect();
        (coverage.movements, swept, accounts)
    };
    assert_eq!(seen(&with), seen(&without));
}

#[test]
fn repeated_list_is_a_no_op_and_another_one_a_conflict() {
    let mut store = MemoryStore::default();
    let long: Vec<(u64, u64)> = (1..=OPENING_PART as u64 + 5).map(|holder| (holder, holder)).collect();
    let report = store.commit(batch(list(5, &long)), &Cancel::new()).unwrap();
    assert_eq!(report.added, 2, "two parts");
    let before = store.snapshot().generation();
    let mut again = long.clone();
    again.reverse();
    again.push(again[0]);
    assert_eq!(store.commit(batch(list(5, &again)), &Cancel::new()).unwrap().unchanged, 2);
    assert_eq!(store.snapshot().generation(), before);
    assert_eq!(store.snapshot().coverage()[&CHAIN].movements, 0);

    let shorter = &long[..OPENING_PART];
    let longer = [&long[..], &[(OPENING_PART as u64 + 6, 1)]].concat();
    for other in [shorter, &longer] {
        let error = store.commit(batch(list(5, other)), &Cancel::new()).unwrap_err();
        assert!(matches!(error, LedgerError::Conflict { field: "input", .. }), "{error}");
    }
    let mut other = long;
    other[0].1 = 77;
    let error = store.commit(batch(list(5, &other)), &Cancel::new()).unwrap_err();
    assert!(matches!(error, LedgerError::Conflict { field: "amount of a movement", .. }), "{error}");
    assert!(error.to_string().contains("OPENING_5_"), "{error}");
}

#[test]
fn a_list_that_states_two_balances_of_one_address_is_refused() {
    let held = vec![(address(CHAIN, 1), Amount::from(1)), (address(CHAIN, 1), Amount::ZERO)];
    let refused = opening(CHAIN, address(CHAIN, 9), 5, Timestamp::new(5), held);
    assert!(matches!(refused.err(), Some(LedgerError::Conflict { what: "opening balance of", .. })));
}

#[test]
fn later_opening_begins_the_history_in_any_order() {
    let moved = Chainlet::ethereum().at_block(8).token_transfer(1, 1, 2, 5).at_block(20).token_transfer(1, 2, 3, 1);
    let parts = [batch(list(5, &[(1, 50), (4, 9)])), batch(list(10, &[(1, 44), (2, 6)])), moved.batch()];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut store = MemoryStore::default();
        for place in order {
            store.commit(parts[place].clone(), &Cancel::new()).unwrap();
        }
        let ledger = store.snapshot();
        assert_eq!(ledger.opening(CHAIN, &token(CHAIN, 1)).unwrap().block, 10);
        let all: Vec<_> = (1..5).map(|holder| reported(&*ledger, holder)).collect();
        assert_eq!(all, [Some([44, 0, 0, 44]), Some([6, 0, 1, 5]), Some([0, 1, 0, 1]), None]);
        assert_eq!(holders(&*ledger), [(address(CHAIN, 1), 44), (address(CHAIN, 2), 5), (address(CHAIN, 3), 1)]);
    }
}

/// A hub has its sums stored: what moved before the block is taken out of them, too.
#[test]
fn a_busy_account_begins_anew_as_others_do() {
    let chain = (0..1500).fold(Chainlet::ethereum(), |chain, number| chain.token_transfer(1, 1, 2 + number % 7, 1));
    let mut whole = chain.batch();
    whole.transactions.extend(list(1400, &[(1, 1000)]));
    over_segmentations([whole], |ledger| assert_eq!(reported(ledger, 1), Some([1000, 0, 100, 900])));
}

#[test]
fn holder_table_is_rebuilt_after_a_later_opening() {
    let mut store = MemoryStore::default();
    let mut moved = worked();
    moved.transactions.retain(|facts| !facts.hash.is_made());
    store.commit(moved, &Cancel::new()).unwrap();
    let mut store = store.with_sidecars(&Cancel::new()).unwrap();
    let before = [(address(CHAIN, 1), 26), (address(CHAIN, 2), 14)];
    assert_eq!(holders(&*store.snapshot()), before, "3 sent 40 of nothing");
    store.commit(batch(list(2, &[(1, 100), (3, 40)])), &Cancel::new()).unwrap();
    let after = [(address(CHAIN, 1), 130), (address(CHAIN, 2), 10)];
    assert_eq!(holders(&*store.snapshot()), after);
    let store = store.with_sidecars(&Cancel::new()).unwrap();
    assert_eq!(holders(&*store.snapshot()), after);
}

#[test]
fn openings_on_disk_are_merged_reopened_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let whole = worked();
    for facts in &whole.transactions {
        let one = Batch { transactions: vec![facts.clone()], ..whole.clone() };
        writer.commit(one, &Cancel::new()).unwrap();
    }
    writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    drop(writer);
    let store = Store::open(folder.path()).unwrap();
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    let ledger = store.snapshot().unwrap();
    assert_eq!(reported(&*ledger, 1), Some([100, 40, 10, 130]));
    let one = in_memory(vec![whole], vec![], vec![]).unwrap();
    assert_eq!(store.digest(&Cancel::new()).unwrap(), one.digest(&Cancel::new()).unwrap());
}

type BalancesByAsset = BTreeMap<Asset, (Amount, Amount, Amount, Amount)>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 64 } else { 32 }))]

    #[test]
    fn holdings_and_holders_are_those_of_the_facts(batch in opened_chain(), cut in any::<prop::sample::Index>()) {
        let expected: Vec<BalancesByAsset> = (0..6).map(|number| {
            let held = holdings_of(&batch.transactions, &address(CHAIN, number));
            held.into_iter().map(|(asset, held)| (asset, (held.opening, held.received, held.sent, held.fees))).collect()
        }).collect();
        let check = |ledger: &dyn Ledger| {
            let mut balances: BTreeMap<Asset, BTreeMap<Address, Amount>> = BTreeMap::new();
            for number in 0..6 {
                let address = address(CHAIN, number);
                let account = ledger.account(CHAIN, &address).unwrap();
                let held: BalancesByAsset = account.iter().flat_map(|account| ledger.holdings(account).unwrap()).map(|held| {
                    if !held.balance.is_negative() && !held.balance.shown().is_zero() {
                        balances.entry(held.asset).or_default().insert(address, held.balance.shown());
                    }
                    (held.asset, (held.opening, held.received(), held.sent(), held.fees))
                }).collect();
                assert_eq!(held, expected[usize::try_from(number).unwrap()], "account {number}");
                let rows = account.map_or(0, |account| account.postings);
                assert_eq!(rows, rows_of(&batch.transactions, &address).len() as u64);
            }
            for asset in [token(CHAIN, 1), token(CHAIN, 2)] {
                let holders = ledger.holders(CHAIN, &asset).unwrap().unwrap();
                let rows = holders.first(usize::MAX).unwrap().into_iter();
                let rows: BTreeMap<_, _> = rows.map(|(account, held)| (ledger.address(account).unwrap(), held)).collect();
                assert_eq!(rows, balances.remove(&asset).unwrap_or_default());
            }
        };
        over_segmentations([batch.clone()], &check);
        // In two commits, the first of which has a table; and the other way round.
        let (one, other) = batch.transactions.split_at(cut.index(batch.transactions.len() + 1));
        for order in [[one, other], [other, one]] {
            let part = |transactions: &[_]| Batch { transactions: transactions.to_vec(), ..batch.clone() };
            let mut store = MemoryStore::default();
            store.commit(part(order[0]), &Cancel::new()).unwrap();
            let mut store = store.with_sidecars(&Cancel::new()).unwrap();
            store.commit(part(order[1]), &Cancel::new()).unwrap();
            check(&*store.snapshot());
            check(&*store.with_sidecars(&Cancel::new()).unwrap().snapshot());
        }
    }
}
