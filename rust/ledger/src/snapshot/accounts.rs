//! All addresses of a chain, in order of their keys, a page at a time.

use headwater_types::Address;

use crate::read::Result;
use crate::segment::{Segment, search};

/// Places made ready for a page: a caller may ask for all there are.
const PAGE_HINT: usize = 8192;

/// The first `limit` addresses behind `after`, each once however many segments file it. O(limit × segments).
pub(super) fn page(segments: &[&Segment], after: Option<&Address>, limit: usize) -> Result<Vec<Address>> {
    let mut fronts = Vec::with_capacity(segments.len());
    for &segment in segments {
        let end = usize::try_from(segment.addresses()).unwrap_or(usize::MAX);
        let start = match after {
            Some(after) => search(0..end, |id| Ok(address(segment, id)?.key() <= after.key()))?,
            None => 0,
        };
        if start < end {
            fronts.push((address(segment, start)?, segment, start, end));
        }
    }
    let mut page = Vec::with_capacity(limit.min(PAGE_HINT));
    while page.len() < limit {
        let Some(next) = fronts.iter().map(|(front, ..)| *front).min_by_key(Address::key) else { break };
        page.push(next);
        let mut place = 0;
        while let Some((front, segment, id, end)) = fronts.get_mut(place) {
            if *front != next {
                place += 1;
            } else if *id + 1 < *end {
                *id += 1;
                *front = address(segment, *id)?;
                place += 1;
            } else {
                fronts.swap_remove(place);
            }
        }
    }
    Ok(page)
}

fn address(segment: &Segment, id: usize) -> Result<Address> {
    segment.address(u32::try_from(id).unwrap_or(u32::MAX))
}
