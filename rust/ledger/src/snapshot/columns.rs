//! Scans of one account column by column, and their division into parts for threads.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::postings::{Filter, Remainder, bounds};
use crate::Cancel;
use crate::read::{Account, ColumnBuffer, ColumnSet, ColumnVisit, Result, Scan};
use crate::segment::Segment;

/// Postings read in one go, and shown in one batch at most.
pub(super) const BATCH: u64 = 4096;
/// Places looked at for each part that a scan is divided into.
const SAMPLES_PER_PART: usize = 16;

pub(super) fn scan(
    segments: &[Arc<Segment>],
    account: &Account,
    scan: &Scan,
    (wanted, cancel): (ColumnSet, &Cancel),
    visit: ColumnVisit<'_>,
) -> Result<()> {
    let mut buffer = ColumnBuffer::default();
    for &(place, id) in &account.places {
        let segment = &*segments[place as usize];
        let Some(filter) = Filter::new(segment, scan)? else { continue };
        let mut left = Remainder::new(segment, id, &filter, bounds(segment, id, scan)?)?;
        let wanted = filter.columns().with(wanted);
        while !left.is_empty() {
            cancel.check()?;
            buffer.clear();
            for span in left.take_first(BATCH)? {
                segment.postings().columns(span, wanted, &mut buffer)?;
            }
            filter.apply(segment, &mut buffer);
            if buffer.len() > 0 && visit(buffer.view(place, segment.base().1, 0..buffer.len()))?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Number of postings of a scan, without reading those that no filter needs.
pub(super) fn count(segments: &[Arc<Segment>], account: &Account, wanted: &Scan, cancel: &Cancel) -> Result<u64> {
    let mut count = 0;
    for &(place, id) in &account.places {
        let segment = &segments[place as usize];
        let Some(filter) = Filter::new(segment, wanted)? else { continue };
        if filter.is_empty() {
            let Range { start, end } = bounds(segment, id, wanted)?;
            count += end - start;
        } else {
            let only = Account { places: vec![(place, id)], ..account.clone() };
            scan(segments, &only, wanted, (ColumnSet::FLAGS, cancel), &mut |batch| {
                count += batch.len() as u64;
                Ok(ControlFlow::Continue(()))
            })?;
        }
    }
    Ok(count)
}

/// Divides a scan by block into at most `parts` of about equal length, which together show what it shows.
pub(super) fn split(segments: &[Arc<Segment>], account: &Account, scan: &Scan, parts: usize) -> Result<Vec<Scan>> {
    let mut lengths = Vec::with_capacity(account.places.len());
    for &(place, id) in &account.places {
        let segment = &segments[place as usize];
        if Filter::new(segment, scan)?.is_some() {
            lengths.push((segment, bounds(segment, id, scan)?));
        }
    }
    let total: u64 = lengths.iter().map(|(_, range)| range.end - range.start).sum();
    let step = total / (parts.max(1) * SAMPLES_PER_PART) as u64 + 1;
    // The blocks of every `step`-th posting, each standing for `step` of them.
    let mut blocks = Vec::new();
    for (segment, range) in lengths {
        for at in range.step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            blocks.push(segment.base().0.saturating_add(u64::from(segment.postings().block(at)?)));
        }
    }
    blocks.sort_unstable();
    let mut scans = Vec::with_capacity(parts);
    let mut from_block = scan.from_block;
    for part in 1..parts {
        let Some(&last) = (part * blocks.len() / parts).checked_sub(1).and_then(|place| blocks.get(place)) else {
            continue;
        };
        let begun = from_block.is_none_or(|from| last >= from);
        if begun && scan.up_to_block.is_none_or(|end| last < end) && blocks.last().is_some_and(|end| last < *end) {
            scans.push(Scan { from_block, up_to_block: Some(last), ..scan.clone() });
            from_block = Some(last + 1);
        }
    }
    scans.push(Scan { from_block, ..scan.clone() });
    Ok(scans)
}
