//! When segments are merged: each further one costs a light look-up about 0.2 us, each merge rewrites what it takes.
//!
//! Only small segments are merged, those below a million movements, once there are more than eight of them, and at
//! most two million movements at a time, so that a merge fits into memory. A large segment is never rewritten by a
//! merge, so each movement is rewritten a few times at most.

use std::sync::Arc;

use headwater_types::Chain;

use super::contents::{ChainContents, Part, Storage};
use super::rebuild;
use crate::read::Result;
use crate::{Cancel, LedgerError, segment};

const SMALL_MOVEMENTS: u64 = 1_000_000;
const SMALL_SEGMENTS: usize = 8;
const MERGED_MOVEMENTS: u64 = 2_000_000;

/// How much work a segment is to merge. Blocks count too: a segment may hold nothing else.
fn weight(part: &Part) -> u64 {
    part.segment.movements() + u64::from(part.segment.transactions())
}

/// Merges the small sealed segments where there are too many; tells whether it did.
pub(super) fn merge_small(
    chain: Chain,
    held: &mut ChainContents,
    storage: &mut dyn Storage,
    cancel: &Cancel,
) -> Result<bool> {
    let is_small = |part: &Arc<Part>| part.segment.movements() < SMALL_MOVEMENTS;
    let (mut small, mut sealed): (Vec<_>, Vec<_>) = held.sealed.iter().cloned().partition(is_small);
    if small.len() <= SMALL_SEGMENTS {
        return Ok(false);
    }
    small.sort_by_key(|part| (weight(part), part.file.name.clone()));
    let mut total = 0;
    let fitting = small.iter().take_while(|part| {
        total += weight(part);
        total <= MERGED_MOVEMENTS
    });
    let taken = fitting.count().max(2);
    let rest = small.split_off(taken);
    let input = rebuild::combined(chain, held.network, &small, cancel)?;
    let merged = match segment::build(&input, cancel) {
        // Blocks or times too far apart for one segment: the segments answer as well apart, and a commit must not
        // fail because of its merge.
        Err(LedgerError::SegmentFull { .. }) => return Ok(false),
        merged => merged?,
    };
    sealed.extend(rest);
    sealed.push(storage.keep_segment(chain, merged)?);
    held.sealed = sealed;
    Ok(true)
}
