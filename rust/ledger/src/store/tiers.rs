//! The choice of segments to merge, so that few are open and each movement is rewritten a few times at most.
//!
//! Segments are filed by how much they hold: tier 0 below 4 movements, tier k from `4 * 8^(k-1)` on, so that tier 7
//! begins at a million (2^20), tier 8 at 8 and tier 9 at 64 millions. Once a tier has eight segments they are merged,
//! and all smaller ones with them. Eight segments of a tier make one of a higher tier, hence each movement is rewritten
//! at most once per tier: three times from a million to a final segment of 64 to 512 millions, which is merged no
//! more. Below a million there are six tiers more, so that following a chain block by block has its price too: at
//! most seven segments of each are open.

/// Segments of a tier that are merged.
pub(super) const FAN_IN: usize = 8;

/// The tier that is final.
const FINAL: u32 = 9;

/// The tier of a segment with so much in it.
pub(super) fn tier(weight: u64) -> u32 {
    (weight / 4).checked_ilog(FAN_IN as u64).map_or(0, |eighths| eighths + 1).min(FINAL)
}

/// The places of the segments to be merged next, given how much each holds; `None` when all is well.
pub(super) fn due(weights: &[u64]) -> Option<Vec<usize>> {
    let mut counts = [0; FINAL as usize + 1];
    for weight in weights {
        counts[tier(*weight) as usize] += 1;
    }
    let mut highest = (0..FINAL).rev().find(|tier| counts[*tier as usize] >= FAN_IN)?;
    loop {
        let taken: Vec<usize> = (0..weights.len()).filter(|place| tier(weights[*place]) <= highest).collect();
        let weight = taken.iter().map(|place| weights[*place]).fold(0, u64::saturating_add);
        let next = tier(weight);
        // What this merge makes would be the eighth of its tier: better to write it once.
        if next < FINAL && next > highest && counts[next as usize] + 1 >= FAN_IN {
            highest = next;
        } else {
            return Some(taken);
        }
    }
}

/// Segments below the last two tiers that may be open while a load continues.
const MAX_LOADED: usize = 64;

/// The places of the segments to be merged while more is to come: none before there are so many that reading suffers,
/// and then all that are small, so that a load writes each movement once more and not once for each tier.
pub(super) fn crowded(weights: &[u64]) -> Option<Vec<usize>> {
    let small: Vec<usize> = (0..weights.len()).filter(|place| tier(weights[*place]) + 1 < FINAL).collect();
    if small.len() < MAX_LOADED { None } else { Some(small) }
}

/// The segments in as few groups as may be merged into one each: in their order, none of them past what a final
/// segment holds. Groups of one are left out.
pub(super) fn compacted(weights: &[u64]) -> Vec<Vec<usize>> {
    const MOST: u64 = 4 << (3 * FINAL);
    let mut groups: Vec<(u64, Vec<usize>)> = Vec::new();
    for (place, weight) in weights.iter().enumerate() {
        match groups.last_mut() {
            Some((sum, group)) if sum.saturating_add(*weight) <= MOST => {
                *sum += weight;
                group.push(place);
            }
            _ => groups.push((*weight, vec![place])),
        }
    }
    groups.into_iter().map(|(_, group)| group).filter(|group| group.len() > 1).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tiers_begin_where_they_are_said_to() {
        for (weight, expected) in [
            (0, 0),
            (3, 0),
            (4, 1),
            (31, 1),
            (32, 2),
            ((1 << 20) - 1, 6),
            (1 << 20, 7),
            ((8 << 20) - 1, 7),
            (8 << 20, 8),
            (64 << 20, 9),
            (512 << 20, 9),
            (u64::MAX, 9),
        ] {
            assert_eq!(tier(weight), expected, "{weight}");
        }
    }

    #[test]
    fn eight_of_a_tier_are_merged_with_all_that_is_smaller() {
        assert_eq!(due(&[100; 7]), None);
        assert_eq!(due(&[100; 8]), Some((0..8).collect()));
        assert_eq!(due(&[100, 100, 100, 5, 3000, 100, 100, 100, 100, 100]), Some(vec![0, 1, 2, 3, 5, 6, 7, 8, 9]));
        // Eight of 300 make one of 2,400: the eighth of its tier, so all are merged at once.
        assert_eq!(due(&[[3000; 7].as_slice(), &[300; 8]].concat()), Some((0..15).collect()));
        assert_eq!(due(&[100 << 20; 20]), None, "final segments are left alone");
    }

    #[test]
    fn a_load_merges_once_it_is_crowded_and_leaves_the_large_alone() {
        assert_eq!(crowded(&[1_000_000; 63]), None);
        assert_eq!(crowded(&[1_000_000; 64]), Some((0..64).collect()));
        assert_eq!(crowded(&[[64 << 20, 9 << 20].as_slice(), &[5; 64]].concat()), Some((2..66).collect()));
    }

    #[test]
    fn compaction_makes_as_few_segments_as_fit() {
        assert_eq!(compacted(&[7]), Vec::<Vec<usize>>::new());
        assert_eq!(compacted(&[7, 100 << 20, 3]), [vec![0, 1, 2]]);
        assert_eq!(compacted(&[400 << 20, 200 << 20, 3]), [vec![1, 2]]);
    }

    proptest! {
        /// Commits of any size, one after the other: no movement is rewritten twice in one tier, few segments stay.
        #[test]
        fn each_movement_is_rewritten_at_most_once_per_tier(
            commits in prop::collection::vec(prop_oneof![1..10_u64, 1..3000_u64, 1..2_000_000_u64], 1..300),
        ) {
            // By segment: its weight, and the tiers in which anything of it was rewritten.
            let mut segments: Vec<(u64, u32)> = Vec::new();
            let (mut written, mut total) = (0, 0);
            for commit in commits {
                segments.push((commit, 0));
                (written, total) = (written + commit, total + commit);
                while let Some(taken) = due(&segments.iter().map(|segment| segment.0).collect::<Vec<_>>()) {
                    let mut merged = (0, 0);
                    for place in taken.into_iter().rev() {
                        let (weight, tiers) = segments.remove(place);
                        let bit = 1 << tier(weight);
                        prop_assert_eq!(tiers & bit, 0, "a second time in a tier");
                        merged = (merged.0 + weight, merged.1 | tiers | bit);
                    }
                    written += merged.0;
                    segments.push(merged);
                }
                for tier_of in 0..FINAL {
                    let open = segments.iter().filter(|segment| tier(segment.0) == tier_of).count();
                    prop_assert!(open < FAN_IN);
                }
            }
            prop_assert!(written <= total * u64::from(FINAL + 1));
        }
    }
}
