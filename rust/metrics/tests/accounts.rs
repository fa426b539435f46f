//! Measures from columns, against the same measured from rows by the book, over 1, 3 and 17 segments and on one
//! thread and three.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use headwater_ledger::Cancel;
use headwater_ledger::read::{Direction, Ledger, Posting, Scan, Status};
use headwater_metrics::counterparties::{FailedTransactions, Params, by_asset, by_count};
use headwater_metrics::grouping::{Count, Side};
use headwater_metrics::sums::{AssetSum, AssetSums, BalanceColumns, balances_of_every_address};
use headwater_metrics::sweep::every_address;
use headwater_testkit::{address, over_segmentations, strategies};
use headwater_types::{Address, Amount, Asset, Balance, Chain};
use proptest::prelude::*;

const CHAIN: Chain = Chain::ETHEREUM;

fn postings(ledger: &dyn Ledger, address: &Address) -> Vec<Posting> {
    let Some(account) = ledger.account(CHAIN, address).unwrap() else { return Vec::new() };
    ledger.postings(&account, &Scan::default()).unwrap().map(|posting| posting.unwrap()).collect()
}

fn other(ledger: &dyn Ledger, posting: &Posting) -> Option<Address> {
    posting.counterparty.map(|other| ledger.address(other).unwrap())
}

/// Exact sums by asset from rows.
fn sums_by_the_book(ledger: &dyn Ledger, address: &Address) -> Vec<AssetSum> {
    let mut sums: BTreeMap<Asset, AssetSum> = BTreeMap::new();
    for posting in postings(ledger, address).iter().filter(|posting| posting.status != Some(Status::Failed)) {
        if posting.direction == Direction::Own {
            continue;
        }
        let asset = ledger.asset(posting.asset).unwrap();
        let empty = AssetSum { asset, balance: Balance::default(), received_count: 0, sent_count: 0 };
        let sum = sums.entry(asset).or_insert(empty);
        if posting.direction == Direction::In {
            sum.balance.receive(posting.amount).unwrap();
            sum.received_count += 1;
        } else {
            sum.balance.send(posting.amount).unwrap();
            sum.sent_count += 1;
        }
    }
    sums.into_values().collect()
}

fn on_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

fn addresses() -> impl Iterator<Item = Address> {
    (0..12).map(|number| address(CHAIN, number))
}

fn check_sums(ledger: &dyn Ledger) -> Vec<(Address, Vec<AssetSum>)> {
    let cancel = Cancel::new();
    let keep = |address: &Address, sums: &AssetSums| Some((*address, sums.iter().collect::<Vec<_>>()));
    let of_all = |threads| on_threads(threads, || every_address::<AssetSums, _>(ledger, CHAIN, &cancel, keep).unwrap());
    let all = of_all(1);
    assert_eq!(all, of_all(3));
    assert!(all.is_sorted_by_key(|(address, _)| *address));
    let in_columns = |threads| on_threads(threads, || balances_of_every_address(ledger, CHAIN, &cancel).unwrap());
    for columns in [in_columns(1), in_columns(3)] {
        let rows = columns.iter().flat_map(BalanceColumns::iter);
        let rows = rows.map(|(address, sums)| (*address, sums.map(|(asset, sum)| (*asset, sum)).collect::<Vec<_>>()));
        let expected = all
            .iter()
            .map(|(address, sums)| (*address, sums.iter().map(|sum| (sum.asset, sum.balance)).collect::<Vec<_>>()));
        assert!(rows.eq(expected));
    }
    for address in addresses() {
        match all.iter().find(|(held, _)| *held == address) {
            None => assert!(postings(ledger, &address).is_empty()),
            Some((_, found)) => assert_eq!(found, &sums_by_the_book(ledger, &address)),
        }
    }
    all
}

/// Counts, sums, first and last.
type Flows = (u64, u64, Amount, Amount, i64, i64);
type NamedGroup = (Address, Option<Asset>, (u64, u64), Option<(Amount, Amount, i64, i64)>);

fn check_ranking(ledger: &dyn Ledger, address: &Address, failed: FailedTransactions, top: usize) -> Vec<NamedGroup> {
    let Some(account) = ledger.account(CHAIN, address).unwrap() else { return Vec::new() };
    let mut groups: BTreeMap<(Address, Option<Asset>), Flows> = BTreeMap::new();
    for posting in postings(ledger, address) {
        let Some(other) = other(ledger, &posting) else { continue };
        if posting.direction == Direction::Own
            || (failed == FailedTransactions::LeftOut && posting.status == Some(Status::Failed))
        {
            continue;
        }
        let asset = ledger.asset(posting.asset).unwrap();
        let secs = posting.time.secs();
        for key in [(other, Some(asset)), (other, None)] {
            let group = groups.entry(key).or_insert((0, 0, Amount::ZERO, Amount::ZERO, secs, secs));
            let (count, sum) = match posting.direction {
                Direction::In => (&mut group.0, &mut group.2),
                Direction::Out | Direction::Own => (&mut group.1, &mut group.3),
            };
            *count += 1;
            // Sums over assets mean nothing and are not looked at.
            *sum = sum.checked_add(posting.amount).unwrap_or(Amount::MAX);
            (group.4, group.5) = (group.4.min(secs), group.5.max(secs));
        }
    }
    let params = Params::new(Scan::default(), top).with_failed(failed);
    let cancel = Cancel::new();
    let name = |account| ledger.address(account).unwrap();
    let flows = by_asset(ledger, &account, &params, &cancel).unwrap();
    let counts = by_count(ledger, &account, &params, &cancel).unwrap();
    let by_side = |count: &Count| (count.of(Side::Received), count.of(Side::Sent));
    let mut found = Vec::new();
    for group in &flows.top {
        let tally = group.tally;
        let [received, sent] = [Side::Received, Side::Sent].map(|side| tally.sum(side).total());
        let sums = (received, sent, tally.first_secs, tally.last_secs);
        let asset = group.asset.map(|asset| ledger.asset(asset).unwrap());
        found.push((name(group.account), asset, by_side(&tally.count), Some(sums)));
    }
    for group in &counts.top {
        found.push((name(group.account), None, by_side(&group.tally), None));
    }
    let expected = |by_asset: bool| {
        let mut expected: Vec<NamedGroup> = groups
            .iter()
            .filter(|((_, asset), _)| asset.is_some() == by_asset)
            .map(|((other, asset), group)| {
                let sums = (group.2, group.3, group.4, group.5);
                (*other, *asset, (group.0, group.1), by_asset.then_some(sums))
            })
            .collect();
        expected.sort_by_key(|(other, asset, count, _)| (Reverse(count.0 + count.1), *other, *asset));
        let length = expected.len();
        expected.truncate(top);
        (expected, length)
    };
    let ((by_asset, flow_groups), (by_count, count_groups)) = (expected(true), expected(false));
    assert_eq!((flows.groups, counts.groups), (flow_groups, count_groups));
    assert_eq!(found, [by_asset, by_count].concat());
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn sums_of_every_address_are_those_by_the_book(batch in strategies::account_chain()) {
        over_segmentations([batch], check_sums);
    }

    #[test]
    fn rankings_of_counterparties_are_those_by_the_book(batch in strategies::account_chain(), top in 1usize..20) {
        over_segmentations([batch], |ledger| {
            let failed = [FailedTransactions::LeftOut, FailedTransactions::Counted];
            let asked = addresses().flat_map(|address| failed.map(|failed| (address, failed)));
            asked.map(|(address, failed)| check_ranking(ledger, &address, failed, top)).collect::<Vec<_>>()
        });
    }
}
