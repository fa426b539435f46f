//! Holders are what the holdings of all accounts come to: from a table, from a table and newer segments, or from
//! segments alone.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use headwater_ledger::facts::Batch;
use headwater_ledger::holders::{HolderBatch, Holders, Moments, Top};
use headwater_ledger::read::{AccountRef, Generations, Ledger};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, Writer, in_memory};
use headwater_ledger::{Cancel, Store};
use headwater_testkit::strategies::{account_chain, approximate_chain, opened_chain, utxo_chain};
use headwater_testkit::{Chainlet, address, is_full, token};
use headwater_types::{Address, Amount, Asset, Chain};
use proptest::prelude::*;

const WAYS: [Segmentation; 4] = [
    Segmentation { segments: 1, split: Split::Runs, tail_blocks: 0 },
    Segmentation { segments: 3, split: Split::Runs, tail_blocks: 2 },
    Segmentation { segments: 3, split: Split::Scattered, tail_blocks: 0 },
    Segmentation { segments: 17, split: Split::Scattered, tail_blocks: 3 },
];

/// Holders in order, the number of negative accounts, the total.
type Table = (Vec<(Address, Amount)>, u64, Option<Amount>);

/// The same from the holdings of every account.
fn oracle(ledger: &dyn Ledger, chain: Chain) -> BTreeMap<Asset, Table> {
    let mut tables: BTreeMap<Asset, Table> = BTreeMap::new();
    let every = ledger.find_addresses(chain, "", usize::MAX, usize::MAX).unwrap().addresses;
    for address in every {
        let account = ledger.account(chain, &address).unwrap().unwrap();
        for holding in ledger.holdings(&account).unwrap() {
            let table = tables.entry(holding.asset).or_insert((Vec::new(), 0, Some(Amount::ZERO)));
            match holding.balance.received().checked_sub(holding.balance.sent()) {
                None => table.1 += 1,
                Some(held) if held.is_zero() => {}
                Some(held) => {
                    table.0.push((address, held));
                    table.2 = table.2.and_then(|total| total.checked_add(held));
                }
            }
        }
    }
    for (rows, ..) in tables.values_mut() {
        rows.sort_by_key(|(address, held)| (Reverse(*held), *address));
    }
    tables
}

fn named(ledger: &dyn Ledger, rows: impl IntoIterator<Item = (AccountRef, Amount)>) -> Vec<(Address, Amount)> {
    rows.into_iter().map(|(account, held)| (ledger.address(account).unwrap(), held)).collect()
}

fn check(ledger: &dyn Ledger, chain: Chain) {
    for (asset, (rows, negative, total)) in oracle(ledger, chain) {
        let holders = ledger.holders(chain, &asset).unwrap().expect("small, or built");
        assert_eq!(
            (holders.count(), holders.negative(), holders.total()),
            (rows.len() as u64, negative, total),
            "{asset:?}"
        );
        for limit in [0, 1, 3, usize::MAX] {
            let first = holders.first(limit).unwrap();
            assert_eq!(named(ledger, first), rows[..rows.len().min(limit)], "{asset:?} {limit}");
        }
        let mut seen = 0;
        holders
            .visit(&mut |batch| {
                seen += batch.accounts.len();
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, rows.len());
        check_ranks(ledger, &holders, &rows);
        check_measures(&holders, &rows);
    }
    let unknown = ledger.holders(chain, &Asset::Token(address(Chain::ETHEREUM, 77))).unwrap().unwrap();
    assert_eq!((unknown.count(), unknown.total()), (0, Some(Amount::ZERO)));
}

/// From every rank on there is the rest, or from a few of them where there are many.
fn check_ranks(ledger: &dyn Ledger, holders: &Holders<'_>, rows: &[(Address, Amount)]) {
    for rank in (0..=rows.len()).step_by(1 + rows.len() / 23) {
        let mut rest = Vec::new();
        let mut visit = |batch: HolderBatch<'_>| {
            rest.extend(batch.rows());
            if rest.len() < 300 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        holders.visit_from(rank as u64, &mut visit).unwrap();
        assert!(rest.len() >= 300.min(rows.len() - rank));
        let count = rest.len();
        assert_eq!(named(ledger, rest), rows[rank..rank + count], "from {rank}");
    }
}

/// Sums and largest balances of all holders, and of those but some, are what they are one by one.
fn check_measures(holders: &Holders<'_>, rows: &[(Address, Amount)]) {
    let part = |at: usize, share: u128| {
        let held = rows[at].1;
        let part = Amount::from_u128(held.to_u128().map_or(share, |held| (held / share).max(1)));
        (held, if share == 1 { held } else { part })
    };
    let cases = match rows.len() {
        0 => vec![vec![]],
        1..4 => vec![vec![], vec![part(0, 1)], vec![part(rows.len() - 1, 2)]],
        many => vec![vec![], vec![part(many / 2, 3), part(0, 1), part(many - 1, 1), part(many / 3, 1)]],
    };
    for without in cases {
        let mut balances: Vec<Amount> = rows.iter().map(|(_, held)| *held).collect();
        for (held, part) in &without {
            let at = balances.iter().position(|balance| balance == held).unwrap();
            balances[at] = held.checked_sub(*part).unwrap();
        }
        balances.retain(|balance| !balance.is_zero());
        balances.sort_unstable_by(|one, other| other.cmp(one));
        let mut moments = Moments::default();
        let mut tops = vec![Top::default()];
        for balance in &balances {
            moments.push(*balance);
            tops.push(tops[tops.len() - 1].and(1, *balance));
        }
        let ranked = holders.ranked(&without).unwrap();
        assert_eq!(*ranked.moments(), moments, "without {without:?}");
        for at in (0..tops.len()).step_by(1 + tops.len() / 23) {
            let top = tops[at];
            assert_eq!(ranked.largest(&|found| found.count >= top.count).unwrap(), top);
            assert_eq!(ranked.largest(&|found| found.sum >= top.sum).unwrap(), top);
            if let Some(balance) = balances.get(at) {
                let same = balances.partition_point(|held| held >= balance);
                assert_eq!(ranked.at_least(*balance).unwrap(), tops[same]);
            }
        }
        assert_eq!(ranked.largest(&|_| false).unwrap(), tops[tops.len() - 1]);
    }
}

fn check_everywhere(batch: Batch) {
    let chain = batch.chain;
    let store = in_memory(vec![batch], vec![], vec![]).unwrap();
    for way in WAYS {
        let segmented = store.in_segments(way).unwrap();
        check(&*segmented.snapshot(), chain);
        check(&*segmented.with_sidecars(&Cancel::new()).unwrap().snapshot(), chain);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 48 } else { 32 }))]

    #[test]
    fn holders_are_what_the_holdings_come_to(batch in account_chain()) {
        check_everywhere(batch);
    }

    #[test]
    fn so_they_are_where_histories_begin_with_stated_balances(batch in opened_chain()) {
        check_everywhere(batch);
    }

    #[test]
    fn so_they_are_where_amounts_are_approximate(batch in approximate_chain()) {
        check_everywhere(batch);
    }

    #[test]
    fn so_they_are_of_outputs(batch in utxo_chain()) {
        check_everywhere(batch);
    }

    #[test]
    fn commits_after_the_table_add_their_changes(batch in account_chain(), cut in 0..40_usize) {
        let chain = batch.chain;
        let cut = cut.min(batch.transactions.len());
        let (before, after) = batch.transactions.split_at(cut);
        let part = |transactions: &[_]| Batch { transactions: transactions.to_vec(), ..batch.clone() };
        let mut store = MemoryStore::default();
        store.commit(part(before), &Cancel::new()).unwrap();
        let mut store = store.with_sidecars(&Cancel::new()).unwrap();
        store.commit(part(after), &Cancel::new()).unwrap();
        check(&*store.snapshot(), chain);
        let whole = in_memory(vec![batch.clone()], vec![], vec![]).unwrap();
        let rows = |ledger: &dyn Ledger| {
            let holders = ledger.holders(chain, &Asset::Native).unwrap().unwrap();
            (named(ledger, holders.first(usize::MAX).unwrap()), holders.negative(), holders.total())
        };
        prop_assert_eq!(rows(&*store.snapshot()), rows(&*whole.snapshot()));
    }
}

/// More holders than a block holds, many of them with equal balances.
#[test]
fn a_large_table_is_in_order_in_blocks() {
    let chain = (0..1500_u64).fold(Chainlet::ethereum(), |chain, number| {
        let chain = if number % 4 == 0 { chain } else { chain.same_block() };
        chain.token_transfer(1, 0, 1 + number * 7919 % 1500, 1 + number % 37)
    });
    let large = Amount::from_be_bytes([1; 32]);
    let chain = (0..600_u64).fold(chain, |chain, number| {
        chain.token_transfer(2, 0, 1 + number, 1).with(|facts| {
            if number % 2 == 0 {
                facts.movements[0].amount = large;
            }
        })
    });
    check_everywhere(chain.batch());
}

/// Later commits move holders between blocks, into them and out of them: few, whose changes are applied one by one, and
/// many, for which all are read.
#[test]
fn changes_outside_of_a_large_table_move_ranks_and_sums() {
    let holders = |count: u64| {
        (0..count).fold(Chainlet::ethereum(), |chain, number| {
            let chain = if number % 100 == 0 { chain } else { chain.same_block() };
            chain.token_transfer(1, 0, 1 + number, 1 + number % 701)
        })
    };
    for moved in [9, 400] {
        let mut store = MemoryStore::default();
        store.commit(holders(3000).batch(), &Cancel::new()).unwrap();
        let mut store = store.with_sidecars(&Cancel::new()).unwrap();
        let later = (0..moved).fold(Chainlet::ethereum().at_block(500), |chain, number| {
            let chain = chain.token_transfer(1, 1 + number * 7, 1 + number * 131 % 3300, 1 + number % 5);
            chain.token_transfer(1, 0, 2900 + number * 3, 300)
        });
        store.commit(later.batch(), &Cancel::new()).unwrap();
        check(&*store.snapshot(), Chain::ETHEREUM);
    }
}

#[test]
fn total_past_256_bits_is_reported_and_not_clipped() {
    let most = |chain: Chainlet| chain.with(|facts| facts.movements[0].amount = Amount::MAX);
    let chain = most(Chainlet::ethereum().token_transfer(1, 0, 1, 1)).token_transfer(1, 0, 2, 1);
    let batch = chain.token_transfer(1, 2, 3, 1).batch();
    check_everywhere(batch.clone());
    let store = in_memory(vec![batch], vec![], vec![]).unwrap();
    let ledger = store.current().unwrap();
    let holders = ledger.holders(Chain::ETHEREUM, &token(Chain::ETHEREUM, 1)).unwrap().unwrap();
    assert_eq!((holders.count(), holders.total(), holders.negative()), (2, None, 1));
}

fn transfers(first: u64, count: u64) -> Batch {
    let chain = Chainlet::ethereum().at_block(first);
    (0..count)
        .fold(chain, |chain, number| {
            let chain = if number == 0 { chain } else { chain.same_block() };
            chain.transfer(first + number % 97, number % 89 + 200, number + 1)
        })
        .batch()
}

/// The same with thirty movements in each transaction: a table is as large for fewer transactions.
fn crowded(first: u64, transactions: u64) -> Batch {
    let chain = Chainlet::ethereum().at_block(first);
    (0..transactions)
        .fold(chain, |chain, number| {
            let chain = if number == 0 { chain } else { chain.same_block() };
            let (from, to) = (first + number % 97, number % 89 + 200);
            (0..29).fold(chain.transfer(from, to, number + 1), |chain, place| {
                chain.token_movement(7, from + place % 3, to + place % 5, number + place)
            })
        })
        .batch()
}

/// Two segments that stay for themselves, as they are too far apart, share accounts with two that are merged.
#[test]
fn a_merge_of_what_a_table_covers_carries_it_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let large = |chain: Chainlet, number: u64| {
        chain.token_transfer(3, 0, number, 1).with(|facts| facts.movements[0].amount = Amount::from_be_bytes([1; 32]))
    };
    for first in [30, 30 + (1 << 32)] {
        writer.commit(transfers(first, 300), &Cancel::new()).unwrap();
    }
    let segments = |writer: &mut Writer| writer.compact(Chain::ETHEREUM, &|_, _| {}, &Cancel::new()).unwrap().segments;
    assert_eq!(segments(&mut writer), 2);
    writer.commit(crowded(1, 4_700), &Cancel::new()).unwrap();
    let chain = (0..600).fold(Chainlet::ethereum().at_block(900), |chain, number| large(chain, number % 290 + 1));
    writer.commit(chain.batch(), &Cancel::new()).unwrap();
    writer.commit(crowded(25, 4_700), &Cancel::new()).unwrap();
    assert!(writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap());
    check(&*writer.snapshot(), Chain::ETHEREUM);
    let tables = || std::fs::read_dir(folder.path().join("holders")).unwrap().count();
    let built = tables();

    assert_eq!(segments(&mut writer), 3, "three became one");
    assert_eq!(tables(), built + 1, "written anew");
    writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap();
    assert_eq!(tables(), built + 1, "it is there");
    check(&*writer.snapshot(), Chain::ETHEREUM);
    // What is newer finds the accounts under the names that the table gives them.
    writer.commit(transfers(40, 400), &Cancel::new()).unwrap();
    check(&*writer.snapshot(), Chain::ETHEREUM);
    drop(writer);
    let store = Store::open(folder.path()).unwrap();
    check(&*store.snapshot().unwrap(), Chain::ETHEREUM);
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
}

#[test]
fn holder_table_is_built_when_worth_it_kept_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.commit(crowded(1, 9_000), &Cancel::new()).unwrap();
    assert!(writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap());
    assert!(!writer.rebuild_sidecars(&|_, _, _| {}, &Cancel::new()).unwrap(), "there is nothing to do again");
    writer.commit(transfers(2, 50), &Cancel::new()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    check(&*store.snapshot().unwrap(), Chain::ETHEREUM);
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());

    let file = std::fs::read_dir(folder.path().join("holders")).unwrap().next().unwrap().unwrap().path();
    let good = std::fs::read(&file).unwrap();
    let flips = if is_full() { 30 } else { 6 };
    for step in 0..flips {
        let place = (good.len() - 1) * step / (flips - 1);
        let mut bad = good.clone();
        bad[place] ^= 1 << (step % 8);
        std::fs::write(&file, &bad).unwrap();
        let report = Store::open(folder.path()).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
        assert!(report.problems.iter().any(|problem| problem.file == file), "byte {place}: {report:?}");
    }
}
