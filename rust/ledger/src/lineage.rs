//! The content that generations have in common, whatever segments it is in.
//!
//! Every segment has an identity of its content: a digest of its file, or, where it was merged of others, the sum of
//! theirs. So what was derived of some segments stays valid for the segment that a merge makes of them, and a reader
//! that skipped generations still recognizes it. A segment that gains or loses anything has a new identity.

use std::collections::HashMap;
use std::sync::Arc;

use crate::segment::Segment;

/// The identity of what a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentIdentity {
    /// Digest of its content.
    pub(crate) content: u128,
    /// First and last block.
    pub(crate) blocks: Option<(u64, u64)>,
}

impl SegmentIdentity {
    pub(crate) fn of(segment: &Segment, content: u128) -> Self {
        // A segment of an empty block has no transactions, and still a place on the chain.
        let of_blocks = || segment.last_block_to(u64::MAX).ok()?.map(|block| (block.number, block.number));
        Self { content, blocks: segment.block_range().or_else(of_blocks) }
    }

    fn contains(&self, other: &Self) -> bool {
        self.blocks.zip(other.blocks).is_some_and(|(all, part)| all.0 <= part.0 && part.1 <= all.1)
    }
}

/// The segments of a generation, with what generations hand on of one kind and the identities of the segments.
pub(crate) struct CarriedSegments<'a, T> {
    pub(crate) segments: &'a [Arc<Segment>],
    pub(crate) cache: Option<(&'a T, &'a [SegmentIdentity])>,
}

/// The differences between segments that are known and those of a generation. All are places in the lists compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentDiff {
    /// Segments in both, as (known, now).
    pub(crate) kept: Vec<(usize, usize)>,
    /// Segments that were merged into one, as (known, now).
    pub(crate) merged: Vec<(Vec<usize>, usize)>,
    /// Known segments whose content is gone.
    pub(crate) removed: Vec<usize>,
    /// New segments.
    pub(crate) added: Vec<usize>,
}

/// Compares known segments with those of a generation. Time is linear in both, but for segments that were merged.
pub(crate) fn compare(known: &[SegmentIdentity], now: &[SegmentIdentity]) -> SegmentDiff {
    let places: HashMap<u128, usize> = known.iter().map(|identity| identity.content).zip(0..).collect();
    let mut diff = SegmentDiff::default();
    let mut is_left = vec![true; known.len()];
    for (at, identity) in now.iter().enumerate() {
        match places.get(&identity.content).filter(|place| is_left[**place]) {
            Some(place) => {
                is_left[*place] = false;
                diff.kept.push((*place, at));
            }
            None => diff.added.push(at),
        }
    }
    diff.added.retain(|at| {
        let sum = |places: &[usize]| places.iter().fold(0_u128, |sum, place| sum.wrapping_add(known[*place].content));
        let left: Vec<usize> = (0..known.len()).filter(|place| is_left[*place]).collect();
        let within: Vec<usize> = left.iter().copied().filter(|place| now[*at].contains(&known[*place])).collect();
        let Some(merged) = [left, within].into_iter().find(|those| !those.is_empty() && sum(those) == now[*at].content)
        else {
            return true;
        };
        for place in &merged {
            is_left[*place] = false;
        }
        diff.merged.push((merged, *at));
        false
    });
    diff.removed = (0..known.len()).filter(|place| is_left[*place]).collect();
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contents: &[(u128, u64, u64)]) -> Vec<SegmentIdentity> {
        contents
            .iter()
            .map(|&(content, first, last)| SegmentIdentity { content, blocks: Some((first, last)) })
            .collect()
    }

    #[test]
    fn one_more_block_is_added() {
        let (known, now) = (of(&[(5, 0, 9), (7, 10, 10)]), of(&[(5, 0, 9), (7, 10, 10), (8, 11, 11)]));
        let expected = SegmentDiff { kept: vec![(0, 0), (1, 1)], added: vec![2], ..SegmentDiff::default() };
        assert_eq!(compare(&known, &now), expected);
    }

    #[test]
    fn a_replaced_block_is_removed_and_added() {
        let (known, now) = (of(&[(5, 0, 9), (7, 10, 10)]), of(&[(5, 0, 9), (9, 10, 10)]));
        let expected = SegmentDiff { kept: vec![(0, 0)], removed: vec![1], added: vec![1], ..SegmentDiff::default() };
        assert_eq!(compare(&known, &now), expected);
    }

    #[test]
    fn merged_segments_are_recognized_beside_new_ones() {
        let known = of(&[(1, 0, 0), (2, 1, 1), (4, 2, 2), (8, 3, 3)]);
        let now = of(&[(3, 0, 1), (12, 2, 3), (16, 4, 4)]);
        let expected =
            SegmentDiff { merged: vec![(vec![0, 1], 0), (vec![2, 3], 1)], added: vec![2], ..SegmentDiff::default() };
        assert_eq!(compare(&known, &now), expected);
        // Another content of the same blocks is not theirs.
        let diff = compare(&known[..2], &of(&[(4, 0, 1)]));
        assert_eq!((diff.removed, diff.added), (vec![0, 1], vec![0]));
    }
}
