//! Hubs: accounts with more postings than are counted when they are asked for.

use std::collections::BTreeMap;

use headwater_types::{Amount, Asset, Chain, Network, Timestamp, TxHash};

use super::economy::address;
use super::reading::{check, open, postings};
use crate::facts::{BlockFacts, Body, Movement, MovementFact, TransactionFacts};
use crate::primitives::{Direction, Ordinal, Status};
use crate::segment::SegmentInput;

const CHAIN: Chain = Chain::ETHEREUM;

/// Transfers of account 0 with a few others in some tokens; some fail, one amount is past 128 bits.
pub(super) fn busy(transactions: u64) -> SegmentInput {
    let transaction = |number: u64| {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let mut facts = TransactionFacts::new(TxHash::new(bytes), number / 7);
        facts.index = u32::try_from(number % 7).ok();
        let (hub, other) = (address(CHAIN, 0), address(CHAIN, 1 + u8::try_from(number * 5 % 11).unwrap()));
        let (from, to) = if number.is_multiple_of(3) { (hub, other) } else { (other, hub) };
        if number.is_multiple_of(4) {
            facts.body = Some(Body { from: Some(from), to: Some(to), value: Amount::from(number % 1000) });
            facts.status = Some(if number.is_multiple_of(40) { Status::Failed } else { Status::Success });
            facts.fee = Some(Amount::from(number % 50));
        }
        let token = if number.is_multiple_of(9) { 20 + u8::try_from(number % 5).unwrap() } else { 20 };
        facts.movements = vec![Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Indexed(number % 300),
            from: Some(from),
            to: if number.is_multiple_of(97) { Some(from) } else { Some(to) },
            asset: Asset::Token(address(CHAIN, token)),
            amount: if number == 77 {
                Amount::MAX
            } else {
                Amount::from_u128(u128::from(number * number) << (number % 60))
            },
        }];
        facts
    };
    // Four blocks a day.
    let time = |number: u64| Timestamp::new(1_600_000_000 + 21_600 * number.cast_signed());
    let block = |number| BlockFacts { number, hash: None, parent: None, time: time(number) };
    SegmentInput {
        chain: CHAIN,
        network: Network::Mainnet,
        blocks: (0..=transactions / 7).map(block).collect(),
        transactions: (0..transactions).map(transaction).collect(),
        contracts: Vec::new(),
        tokens: Vec::new(),
    }
}

#[test]
fn sums_of_hubs_are_those_of_their_postings() {
    for transactions in [1024, 1025, 1200, 3000] {
        check(&busy(transactions));
    }
}

#[test]
fn the_sub_index_of_a_hub_names_its_postings_by_asset() {
    let segment = open(&busy(3000));
    let hub = segment.account(&address(CHAIN, 0)).unwrap().unwrap();
    let light = segment.account(&address(CHAIN, 1)).unwrap().unwrap();
    assert!(segment.asset_places(light, 0).unwrap().is_none());
    let first = segment.postings().range(hub).unwrap().start;
    let all = postings(&segment, hub);
    assert!(all.len() > 3000);
    for asset in 0..=u32::try_from(segment.asset_count()).unwrap() {
        let places = segment.asset_places(hub, asset).unwrap().unwrap();
        let expected: Vec<u64> =
            (first..).zip(&all).filter(|(_, posting)| posting.asset == asset).map(|(at, _)| at).collect();
        let mut read = Vec::new();
        places.read(0..usize::MAX, &mut read).unwrap();
        assert_eq!((places.len(), &read), (expected.len(), &expected));
        for (place, &at) in expected.iter().enumerate().step_by(7) {
            assert_eq!((places.get(place).unwrap(), places.lower_bound(at).unwrap()), (at, place));
        }
        assert!(places.get(expected.len()).is_err());
    }
}

#[test]
fn days_sum_to_what_is_held() {
    let input = busy(3000);
    let segment = open(&input);
    for account in 0..u32::try_from(segment.addresses()).unwrap() {
        for sums in segment.holdings(account, &[]).unwrap() {
            let days = segment.daily(account, sums.asset).unwrap();
            assert!(days.is_sorted_by(|a, b| a.day < b.day));
            let all = |of: fn(&crate::segment::DayChange) -> Amount| {
                days.iter().fold(Amount::ZERO, |sum, day| sum.checked_add(of(day)).unwrap_or(Amount::MAX))
            };
            assert_eq!(all(|day| day.received), sums.received);
            assert_eq!((all(|day| day.sent), all(|day| day.fees)), (sums.sent, sums.fees));
        }
    }
    // A day of the hub by hand: what its postings of that day moved.
    let hub = segment.account(&address(CHAIN, 0)).unwrap().unwrap();
    let asset = 1;
    let mut expected: BTreeMap<i64, (Amount, Amount)> = BTreeMap::new();
    for posting in postings(&segment, hub) {
        if posting.asset != asset || posting.status() == Some(Status::Failed) {
            continue;
        }
        let (received, sent) =
            expected.entry((1_600_000_000 + i64::from(posting.time)).div_euclid(86_400)).or_default();
        let add = |sum: &mut Amount| *sum = sum.checked_add(posting.amount).unwrap_or(Amount::MAX);
        match posting.direction() {
            Direction::In => add(received),
            Direction::Out => add(sent),
            Direction::Own => {}
        }
    }
    let days = segment.daily(hub, asset).unwrap();
    let held: BTreeMap<_, _> = days.iter().map(|day| (day.day, (day.received, day.sent))).collect();
    expected.retain(|_, sums| *sums != (Amount::ZERO, Amount::ZERO));
    assert_eq!(held, expected);
}
