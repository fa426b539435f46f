//! The ways into postings, held against each other, and sums against postings.

use std::collections::BTreeMap;

use headwater_types::{Address, Amount, Chain, TxHash};
use proptest::prelude::*;

use super::economy::{hash, input};
use crate::Cancel;
use crate::primitives::{ColumnBuffer, ColumnSet, Direction, NOBODY};
use crate::segment::fee::saturating_add;
use crate::segment::{RawPosting, Segment, SegmentInput, Sums, build, fee_of};

pub(super) fn open(input: &SegmentInput) -> Segment {
    Segment::from_bytes("memory", build(input, &Cancel::new()).unwrap()).unwrap()
}

pub(super) fn postings(segment: &Segment, account: u32) -> Vec<RawPosting> {
    let mut read = Vec::new();
    segment.postings().read(segment.postings().range(account).unwrap(), &mut read).unwrap();
    read
}

/// Compares single looks at postings, columns of them and halving with whole postings.
fn check_access(segment: &Segment, account: u32) {
    let reader = segment.postings();
    let (range, whole) = (reader.range(account).unwrap(), postings(segment, account));
    assert_eq!(range.end - range.start, whole.len() as u64);
    for (at, posting) in (range.start..).zip(&whole) {
        assert_eq!(reader.block(at).unwrap(), posting.block);
        assert_eq!(reader.place(at).unwrap(), (posting.row, posting.kind(), posting.ordinal()));
    }
    let (start, end) = (whole.len() as u64 / 3, whole.len() as u64 - whole.len() as u64 / 4);
    let mut part = Vec::new();
    reader.read(range.start + start..range.start + end, &mut part).unwrap();
    let expected = &whole[usize::try_from(start).unwrap()..usize::try_from(end).unwrap()];
    assert_eq!(part, expected);
    let mut columns = ColumnBuffer::default();
    // A first batch is before it, so that places of large amounts count from the beginning.
    reader.columns(range.clone(), ColumnSet::ALL, &mut columns).unwrap();
    reader.columns(range.start + start..range.start + end, ColumnSet::ALL, &mut columns).unwrap();
    assert_eq!(columns.rows.len(), whole.len() + expected.len());
    let base = segment.base().1;
    let view = columns.view(0, base, 0..columns.len());
    for (at, posting) in whole.iter().chain(expected).enumerate() {
        assert_eq!((columns.rows[at], columns.times[at]), (posting.row, posting.time));
        assert_eq!(columns.others[at], posting.other.unwrap_or(NOBODY));
        assert_eq!(columns.assets[at], posting.asset);
        assert_eq!((columns.flags[at].0, view.amount(at)), (posting.flags, posting.amount));
    }
    let mut some = ColumnBuffer::default();
    reader.columns(range.clone(), ColumnSet::COUNTERPARTIES.with(ColumnSet::TIMES), &mut some).unwrap();
    assert_eq!(
        (some.others.len(), some.times.len(), some.rows.len(), some.amounts.len()),
        (whole.len(), whole.len(), 0, 0)
    );
    for at in range.clone() {
        assert_eq!(reader.account_of(at).unwrap(), account);
    }
    for row in 0..=segment.transactions() {
        let place = whole.partition_point(|posting| posting.row < row) as u64;
        assert_eq!(reader.seek_row(range.clone(), row).unwrap(), range.start + place);
    }
}

/// Every way into the postings gives the same, and sums are those of the postings and the fees.
pub(super) fn check(input: &SegmentInput) {
    let segment = open(input);
    let mut fees: BTreeMap<Address, Amount> = BTreeMap::new();
    for facts in &input.transactions {
        if let (Some(payer), Some(fee)) = (facts.body.and_then(|body| body.from), fee_of(facts)) {
            let paid = fees.entry(payer).or_default();
            *paid = saturating_add(*paid, fee);
        }
    }
    for account in 0..u32::try_from(segment.addresses()).unwrap() {
        check_access(&segment, account);
        let mut expected: BTreeMap<u32, Sums> = BTreeMap::new();
        for posting in postings(&segment, account).iter().filter(|posting| posting.counts()) {
            let sums = expected.entry(posting.asset).or_default();
            match posting.direction() {
                Direction::In => sums.received = saturating_add(sums.received, posting.amount),
                Direction::Out => sums.sent = saturating_add(sums.sent, posting.amount),
                Direction::Own => {}
            }
        }
        if let Some(&fee) = fees.get(&segment.address(account).unwrap()) {
            let native = expected.entry(0).or_default();
            native.sent = saturating_add(native.sent, fee);
            native.fees = fee;
        }
        let expected: Vec<Sums> = expected.into_iter().map(|(asset, sums)| Sums { asset, ..sums }).collect();
        assert_eq!(segment.holdings(account, &[]).unwrap(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn postings_read_alike_every_way_and_sum_to_holdings(
        evm in input(Chain::ETHEREUM, 0..40), tron in input(Chain::TRON, 0..20), bitcoin in input(Chain::BITCOIN, 0..40),
    ) {
        [evm, tron, bitcoin].iter().for_each(check);
    }

    #[test]
    fn many_hashes_at_once_are_found_as_each_alone(
        input in input(Chain::ETHEREUM, 0..300), mut numbers in proptest::collection::vec(0..400_u64, 0..300),
    ) {
        numbers.sort_unstable();
        let mut hashes: Vec<TxHash> = numbers.iter().map(|&number| hash(number)).collect();
        hashes.sort_unstable();
        let segment = open(&input);
        let alone = hashes.iter().enumerate();
        let alone: Vec<_> =
            alone.filter_map(|(place, hash)| segment.find(hash).unwrap().map(|row| (place, row))).collect();
        prop_assert_eq!(segment.find_many(&hashes).unwrap(), alone);
    }
}
