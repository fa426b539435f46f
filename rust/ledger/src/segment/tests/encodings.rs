//! Packed and raw files of the same facts are the same segment to whoever reads them.

use headwater_types::{Chain, TxHash};
use proptest::prelude::*;

use super::economy::{hash, input};
use crate::Cancel;
use crate::read::{ColumnBuffer, ColumnSet, NOBODY};
use crate::segment::read::Walk;
use crate::segment::{Encoding, RawPosting, Segment, SegmentInput, Unindexed, build_as, openings_of};

pub(super) fn open(input: &SegmentInput, encoding: Encoding) -> Segment {
    Segment::from_bytes("memory", build_as(input, encoding, &Cancel::new()).unwrap()).unwrap()
}

pub(super) fn postings(segment: &Segment, account: u32) -> Vec<RawPosting> {
    let mut read = Vec::new();
    segment.postings().read(segment.postings().range(account).unwrap(), &mut read).unwrap();
    read
}

/// What single looks at postings, columns of them and halving give, against whole postings.
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
    // A first batch stands before it, so that places of large amounts count from the beginning.
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

pub(super) fn check_equal(input: &SegmentInput) {
    let (raw, packed) = (open(input, Encoding::Raw), open(input, Encoding::Packed));
    assert_eq!(packed.transactions(), raw.transactions());
    assert_eq!((packed.movements(), packed.addresses()), (raw.movements(), raw.addresses()));
    assert_eq!((packed.block_count(), packed.asset_count()), (raw.block_count(), raw.asset_count()));
    assert_eq!((packed.block_range(), packed.time_range()), (raw.block_range(), raw.time_range()));
    assert_eq!(packed.times_ordered(), raw.times_ordered());
    assert_eq!((packed.marks(), packed.openings()), (raw.marks(), raw.openings()));
    for place in 0..=raw.marks().openings {
        assert_eq!(packed.opening_at(place).unwrap(), raw.opening_at(place).unwrap());
    }
    let begins = raw.begins(&openings_of([&raw])).unwrap();
    assert_eq!(packed.begins(&openings_of([&packed])).unwrap(), begins);
    let mut walk = Walk::default();
    for row in 0..raw.transactions() {
        assert_eq!(packed.facts(row).unwrap(), raw.facts(row).unwrap());
        assert_eq!(
            packed.facts_with(row, Unindexed::Numbered).unwrap(),
            raw.facts_with(row, Unindexed::Numbered).unwrap()
        );
        let head = raw.head(row).unwrap();
        assert_eq!(packed.head(row).unwrap(), head);
        assert_eq!(packed.row_by_hash(row, &mut walk).unwrap(), raw.row_by_hash(row, &mut walk).unwrap());
        for segment in [&raw, &packed] {
            assert_eq!(segment.row_from(head.block, head.index, &head.hash).unwrap(), row);
        }
        assert_eq!(packed.spenders_of(&head.hash).unwrap(), raw.spenders_of(&head.hash).unwrap());
    }
    for number in 0..50 {
        assert_eq!(packed.find(&hash(number)).unwrap(), raw.find(&hash(number)).unwrap());
        assert_eq!(packed.spenders_of(&hash(number)).unwrap(), raw.spenders_of(&hash(number)).unwrap());
    }
    for block in 0..15 {
        assert_eq!(packed.block(block).unwrap(), raw.block(block).unwrap());
        assert_eq!(packed.rows_of_blocks(block / 2, block).unwrap(), raw.rows_of_blocks(block / 2, block).unwrap());
        for index in 0..20 {
            assert_eq!(packed.row_at(block, index).unwrap(), raw.row_at(block, index).unwrap());
        }
    }
    assert_eq!(packed.rows_of_blocks(0, u64::MAX).unwrap(), 0..raw.transactions());
    assert_eq!(packed.unresolved_inputs().unwrap(), raw.unresolved_inputs().unwrap());
    assert_eq!(packed.tokens().unwrap(), raw.tokens().unwrap());
    assert_eq!(packed.contracts().unwrap(), raw.contracts().unwrap());
    for prefix in ["", "0x", "0x2", "bc1", "1", "T"] {
        let places = raw.with_prefix(prefix).unwrap();
        assert_eq!(packed.with_prefix(prefix).unwrap(), places);
        for place in places {
            assert_eq!(packed.at_text(place).unwrap(), raw.at_text(place).unwrap());
        }
    }
    for account in 0..u32::try_from(raw.addresses()).unwrap() {
        let address = raw.address(account).unwrap();
        assert_eq!((packed.address(account).unwrap(), packed.account(&address).unwrap()), (address, Some(account)));
        assert_eq!(packed.is_contract(account).unwrap(), raw.is_contract(account).unwrap());
        assert_eq!(postings(&packed, account), postings(&raw, account));
        assert_eq!(packed.holdings(account, &[]).unwrap(), raw.holdings(account, &[]).unwrap());
        assert_eq!(packed.holdings(account, &begins).unwrap(), raw.holdings(account, &begins).unwrap());
        for asset in 0..u32::try_from(raw.asset_count()).unwrap() {
            assert_eq!(packed.asset(asset).unwrap(), raw.asset(asset).unwrap());
            assert_eq!(packed.daily(account, asset).unwrap(), raw.daily(account, asset).unwrap());
        }
        check_access(&raw, account);
        check_access(&packed, account);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packed_and_raw_files_give_equal_answers(
        evm in input(Chain::ETHEREUM, 0..40), tron in input(Chain::TRON, 0..20), bitcoin in input(Chain::BITCOIN, 0..40),
    ) {
        [evm, tron, bitcoin].iter().for_each(check_equal);
    }

    #[test]
    fn many_hashes_at_once_are_found_as_each_alone(
        input in input(Chain::ETHEREUM, 0..300), mut numbers in proptest::collection::vec(0..400_u64, 0..300),
    ) {
        numbers.sort_unstable();
        let mut hashes: Vec<TxHash> = numbers.iter().map(|&number| hash(number)).collect();
        hashes.sort_unstable();
        for encoding in [Encoding::Raw, Encoding::Packed] {
            let segment = open(&input, encoding);
            let alone = hashes.iter().enumerate();
            let alone: Vec<_> =
                alone.filter_map(|(place, hash)| segment.find(hash).unwrap().map(|row| (place, row))).collect();
            prop_assert_eq!(segment.find_many(&hashes).unwrap(), alone);
        }
    }
}
