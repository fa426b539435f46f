//! Merging of segments: what the tiers ask for, or all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_types::Chain;

use super::contents::ChainContents;
use super::parts::{Part, Storage, keep_joined};
use super::sidecar::{Scope, kind_of};
use super::tiers;
use crate::read::Result;
use crate::{Cancel, LedgerError};

/// The progress of a merge: of how many rows, how many are merged.
pub(super) type MergeProgress<'a> = &'a dyn Fn(u64, u64);

/// Returns how much a segment holds, as far as merging cares: movements, mostly. One of transactions or blocks alone
/// counts those.
pub(super) fn weight(part: &Part) -> u64 {
    let segment = &part.segment;
    segment.balance_changes().max(u64::from(segment.transactions())).max(segment.block_count()).max(1)
}

/// The outcome of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There was nothing to merge.
    Idle,
    /// Segments were merged into one.
    Merged,
    /// The segments would pass what one can count: they answer as well apart.
    Apart,
}

/// Merges the sealed segments that the tiers ask for, once; `due` names them, given what each holds.
///
/// Segments that a table of the chain covers are not merged with others, which would end the table.
pub(super) fn merge_due(
    chain: Chain,
    held: &mut ChainContents,
    due: impl Fn(&[u64]) -> Option<Vec<usize>>,
    (storage, merging): (&mut dyn Storage, MergeProgress<'_>),
    cancel: &Cancel,
) -> Result<Outcome> {
    let (covered, others) = by_coverage(held);
    for open in [others, covered] {
        let weights: Vec<u64> = open.iter().map(|part| weight(part)).collect();
        if let Some(due) = due(&weights) {
            let due: Vec<Arc<Part>> = due.into_iter().map(|place| Arc::clone(&open[place])).collect();
            return merge(chain, held, &due, storage, merging, cancel);
        }
    }
    Ok(Outcome::Idle)
}

/// Merges the sealed segments that no table of the chain covers, where it has a table.
pub(super) fn merge_uncovered(
    chain: Chain,
    held: &mut ChainContents,
    (storage, merging): (&mut dyn Storage, MergeProgress<'_>),
    cancel: &Cancel,
) -> Result<Outcome> {
    let (covered, others) = by_coverage(held);
    if covered.is_empty() || others.len() < 2 {
        return Ok(Outcome::Idle);
    }
    merge(chain, held, &others, storage, merging, cancel)
}

/// The segments that may be merged: those that a table of the chain covers, and the others.
fn by_coverage(held: &ChainContents) -> (Vec<Arc<Part>>, Vec<Arc<Part>>) {
    let tables =
        || held.sidecars.all().filter(|(kind, _)| kind_of(kind).is_some_and(|kind| kind.scope() == Scope::Chain));
    let covered: BTreeSet<&str> = tables().flat_map(|(_, table)| table.covers.iter().map(String::as_str)).collect();
    mergeable(held).into_iter().partition(|part| covered.contains(&*part.file.name))
}

/// Merges one group of the sealed segments on the way to as few as there may be.
pub(super) fn merge_most(
    chain: Chain,
    held: &mut ChainContents,
    storage: &mut dyn Storage,
    merging: MergeProgress<'_>,
    cancel: &Cancel,
) -> Result<Outcome> {
    let open = mergeable(held);
    let weights: Vec<u64> = open.iter().map(|part| weight(part)).collect();
    match tiers::compacted(&weights).into_iter().next() {
        None => Ok(Outcome::Idle),
        Some(group) => {
            let group: Vec<Arc<Part>> = group.into_iter().map(|place| Arc::clone(&open[place])).collect();
            merge(chain, held, &group, storage, merging, cancel)
        }
    }
}

/// The sealed segments that may be merged, in order of their blocks.
fn mergeable(held: &ChainContents) -> Vec<Arc<Part>> {
    let mut open: Vec<Arc<Part>> =
        held.sealed.iter().filter(|part| !held.apart.contains(&part.file.name)).cloned().collect();
    open.sort_by_key(|part| (part.segment.block_range(), part.file.name.clone()));
    open
}

fn merge(
    chain: Chain,
    held: &mut ChainContents,
    parts: &[Arc<Part>],
    storage: &mut dyn Storage,
    merging: MergeProgress<'_>,
    cancel: &Cancel,
) -> Result<Outcome> {
    let names: BTreeSet<String> = parts.iter().map(|part| part.file.name.clone()).collect();
    let sources: Vec<_> = parts.iter().collect();
    match keep_joined(storage, (chain, held.network), &sources, merging, cancel) {
        // Blocks or times too far apart for one segment, or too many of something.
        Err(LedgerError::SegmentFull { .. }) => {
            held.apart.extend(names);
            Ok(Outcome::Apart)
        }
        Err(error) => Err(error),
        Ok(merged) => {
            held.replace_merged(chain, &names, merged, (storage, cancel))?;
            Ok(Outcome::Merged)
        }
    }
}
