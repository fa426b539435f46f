//! Claims of sources to be complete: ranges of blocks and accounts, by table.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::Address;

use crate::facts::Claim;
use crate::read::CoverageTable;

/// The union of claims. Ranges are sorted, disjoint and not adjacent; both ends are included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Claims {
    pub(super) ranges: BTreeMap<CoverageTable, Vec<(u64, u64)>>,
    pub(super) accounts: BTreeMap<CoverageTable, BTreeSet<Address>>,
}

impl Claims {
    pub(super) fn of(claims: &[Claim]) -> Self {
        let mut union = Self::default();
        for claim in claims {
            match *claim {
                Claim::Blocks { first, last, table } if first <= last => {
                    insert(union.ranges.entry(table).or_default(), (first, last));
                }
                // A range that ends before it begins claims nothing.
                Claim::Blocks { .. } => {}
                Claim::Account { address, table } => {
                    union.accounts.entry(table).or_default().insert(address);
                }
            }
        }
        union
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty() && self.accounts.is_empty()
    }

    /// Takes out what is claimed of one block.
    pub(super) fn take_block(&mut self, number: u64) -> Self {
        let mut taken = Self::default();
        for (table, ranges) in &mut self.ranges {
            let place = ranges.partition_point(|(_, last)| *last < number);
            let Some(&(first, last)) = ranges.get(place).filter(|(first, _)| *first <= number) else { continue };
            let before = (first < number).then(|| (first, number - 1));
            let behind = (number < last).then(|| (number + 1, last));
            ranges.splice(place..=place, before.into_iter().chain(behind));
            taken.ranges.insert(*table, vec![(number, number)]);
        }
        self.ranges.retain(|_, ranges| !ranges.is_empty());
        taken
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (table, ranges) in &other.ranges {
            let held = self.ranges.entry(*table).or_default();
            for range in ranges {
                insert(held, *range);
            }
        }
        for (table, accounts) in &other.accounts {
            self.accounts.entry(*table).or_default().extend(accounts);
        }
    }
}

/// Adds a range and unites it with those it overlaps or touches.
fn insert(ranges: &mut Vec<(u64, u64)>, (mut first, mut last): (u64, u64)) {
    let from = ranges.partition_point(|held| held.1.saturating_add(1) < first);
    let to = ranges.partition_point(|held| held.0 <= last.saturating_add(1));
    if let Some(united) = ranges.get(from..to).filter(|united| !united.is_empty()) {
        first = first.min(united[0].0);
        last = last.max(united[united.len() - 1].1);
    }
    ranges.splice(from..to, [(first, last)]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_unite_when_they_overlap_or_touch() {
        let mut ranges = vec![];
        for range in [(10, 12), (20, 25), (13, 14), (1, 2), (4, 19), (u64::MAX, u64::MAX)] {
            insert(&mut ranges, range);
        }
        assert_eq!(ranges, [(1, 2), (4, 25), (u64::MAX, u64::MAX)]);
    }

    #[test]
    fn claims_of_one_block_are_taken_out_of_ranges() {
        let claim = |first, last| Claim::Blocks { first, last, table: CoverageTable::Blocks };
        for (number, left) in
            [(4, vec![(1, 3), (5, 9)]), (1, vec![(2, 9)]), (9, vec![(1, 8)]), (12, vec![(1, 9)]), (0, vec![(1, 9)])]
        {
            let mut claims = Claims::of(&[claim(1, 9)]);
            let taken = claims.take_block(number);
            assert_eq!(claims.ranges[&CoverageTable::Blocks], left);
            let mut again = claims;
            again.add(&taken);
            assert_eq!(again, Claims::of(&[claim(1, 9)]));
        }
        let mut single = Claims::of(&[claim(7, 7)]);
        single.take_block(7);
        assert!(single.is_empty());
    }

    proptest! {
        #[test]
        fn the_union_covers_exactly_what_was_claimed(ranges in prop::collection::vec((0..40u64, 0..6u64), 0..12)) {
            let mut union = vec![];
            for (first, length) in &ranges {
                insert(&mut union, (*first, first + length));
            }
            prop_assert!(union.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            for block in 0..50 {
                let claimed = ranges.iter().any(|(first, length)| (*first..=first + length).contains(&block));
                prop_assert_eq!(union.iter().any(|(first, last)| (*first..=*last).contains(&block)), claimed);
            }
        }
    }
}
