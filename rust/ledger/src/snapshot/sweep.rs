//! Sweeps over all accounts of a chain in order of address, merged over segments.

use std::ops::{ControlFlow, Range};

use headwater_types::Address;

use super::columns::BATCH;
use crate::Cancel;
use crate::read::{AddressRange, ColumnBuffer, ColumnSet, Result, SweepVisit};
use crate::segment::Segment;

/// Places looked at in each segment for each part that a chain is divided into.
const SAMPLES_PER_PART: u64 = 16;
/// Numbers of postings, held or left out between accounts, that are read in one go.
const LONGEST_RUN: u64 = 4 * BATCH;

pub(super) fn sweep<'a>(
    segments: impl Iterator<Item = (u32, &'a Segment)>,
    range: &AddressRange,
    (wanted, cancel): (ColumnSet, &Cancel),
    visit: SweepVisit<'_>,
) -> Result<()> {
    // In falling order of address, so that the next one is at the end.
    let mut heads: Vec<Head<'a>> = Vec::new();
    for (place, segment) in segments {
        let mut head = Head::new(place, segment, ids(segment, range)?, wanted);
        if head.load(cancel)? {
            heads.push(head);
            settle(&mut heads);
        }
    }
    while let Some(head) = heads.last_mut() {
        if head.show(visit, cancel)?.is_break() {
            return Ok(());
        }
        if head.advance(cancel)? {
            settle(&mut heads);
        } else {
            heads.pop();
        }
    }
    Ok(())
}

fn settle(heads: &mut [Head<'_>]) {
    let mut at = heads.len() - 1;
    while at > 0 && heads[at].address > heads[at - 1].address {
        heads.swap(at, at - 1);
        at -= 1;
    }
}

/// The accounts of a segment inside a range of addresses.
fn ids(segment: &Segment, range: &AddressRange) -> Result<Range<u32>> {
    let from = range.from.as_ref().map_or(Ok(0), |address| segment.first_account_from(address))?;
    let until =
        range.until.as_ref().map_or_else(|| segment.accounts(), |address| segment.first_account_from(address))?;
    Ok(from..until)
}

/// The accounts of one segment, some of them read.
struct Head<'a> {
    part: u32,
    segment: &'a Segment,
    wanted: ColumnSet,
    /// Accounts that are not read yet.
    left: Range<u32>,
    buffer: ColumnBuffer,
    /// Accounts that are read, the next one last, with where their postings lie in the buffer.
    read: Vec<(u32, Range<usize>)>,
    /// Postings of the only account that is read which are not, because they are too many.
    rest: Range<u64>,
    /// The address of the next account.
    address: Option<Address>,
}

impl<'a> Head<'a> {
    fn new(part: u32, segment: &'a Segment, left: Range<u32>, wanted: ColumnSet) -> Self {
        let (buffer, read) = (ColumnBuffer::default(), Vec::new());
        Self { part, segment, wanted, left, buffer, read, rest: 0..0, address: None }
    }

    /// Reads the accounts that come next, as many as a batch holds; whether there is any.
    fn load(&mut self, cancel: &Cancel) -> Result<bool> {
        cancel.check()?;
        let postings = self.segment.postings();
        let mut run = 0..0_u64;
        self.read.clear();
        self.buffer.clear();
        while !self.left.is_empty() {
            let of_account = postings.range(self.left.start)?;
            let length = of_account.end - of_account.start;
            if length > 0 {
                if self.read.is_empty() {
                    run = of_account.start..of_account.start + length.min(BATCH);
                    self.rest = run.end..of_account.end;
                } else if of_account.start < run.end
                    || of_account.end - run.start > LONGEST_RUN
                    // Only the first of a run is read in pieces.
                    || length > BATCH
                {
                    break;
                } else {
                    run.end = of_account.end;
                }
                let start = self.read.last().map_or(0, |(_, places): &(u32, Range<usize>)| places.end);
                let length = usize::try_from(length.min(BATCH)).unwrap_or(usize::MAX);
                self.read.push((self.left.start, start..start + length));
            }
            self.left.start += 1;
            if run.end - run.start >= LONGEST_RUN
                || self.read.last().is_some_and(|(_, places)| places.end as u64 >= BATCH)
            {
                break;
            }
        }
        if self.read.is_empty() {
            return Ok(false);
        }
        self.read.reverse();
        postings.columns(run, self.wanted, &mut self.buffer)?;
        let expected = self.read.first().map_or(0, |(_, places)| places.end);
        if self.buffer.len() != expected {
            return Err(self.segment.miscounted(self.left.start));
        }
        self.name()?;
        Ok(true)
    }

    fn name(&mut self) -> Result<()> {
        self.address = self.read.last().map(|(id, _)| self.segment.address(*id)).transpose()?;
        Ok(())
    }

    /// Shows all postings of the next account.
    fn show(&mut self, visit: SweepVisit<'_>, cancel: &Cancel) -> Result<ControlFlow<()>> {
        let (Some((_, places)), Some(address)) = (self.read.last(), &self.address) else {
            return Ok(ControlFlow::Continue(()));
        };
        let base = self.segment.base().1;
        let mut shown = visit(address, self.buffer.view(self.part, base, places.clone()))?;
        while shown.is_continue() && !self.rest.is_empty() {
            cancel.check()?;
            let next = self.rest.end.min(self.rest.start + BATCH);
            self.buffer.clear();
            self.segment.postings().columns(self.rest.start..next, self.wanted, &mut self.buffer)?;
            self.rest.start = next;
            shown = visit(address, self.buffer.view(self.part, base, 0..self.buffer.len()))?;
        }
        Ok(shown)
    }

    /// Moves to the next account; returns whether there is one.
    fn advance(&mut self, cancel: &Cancel) -> Result<bool> {
        self.read.pop();
        if self.read.is_empty() {
            return self.load(cancel);
        }
        self.name()?;
        Ok(true)
    }
}

/// Divides the addresses of a chain into at most `parts` ranges of about equal numbers of postings.
pub(super) fn split<'a>(segments: impl Iterator<Item = &'a Segment>, parts: usize) -> Result<Vec<AddressRange>> {
    let segments: Vec<_> = segments.collect();
    let mut lengths = Vec::with_capacity(segments.len());
    for segment in &segments {
        let accounts = segment.accounts()?;
        lengths.push(if accounts == 0 { 0 } else { segment.postings().range(accounts - 1)?.end });
    }
    let step = lengths.iter().sum::<u64>() / (parts.max(1) as u64 * SAMPLES_PER_PART) + 1;
    let mut samples = Vec::new();
    for (segment, length) in segments.into_iter().zip(lengths) {
        for at in (0..length).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            samples.push(segment.address(segment.account_of_posting(at)?)?);
        }
    }
    samples.sort_unstable();
    let mut cuts: Vec<Address> =
        (1..parts).filter_map(|part| samples.get(part * samples.len() / parts).copied()).collect();
    cuts.dedup();
    let from = std::iter::once(None).chain(cuts.iter().copied().map(Some));
    let until = cuts.iter().copied().map(Some).chain([None]);
    Ok(from.zip(until).map(|(from, until)| AddressRange { from, until }).collect())
}
