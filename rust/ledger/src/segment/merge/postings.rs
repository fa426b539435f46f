//! Postings and fees of several segments, account by account.

use headwater_types::Amount;

use super::accounts::{Ids, SourceIds};
use super::leave::OmittedEntries;
use super::rows::RowOrder;
use super::{CANCEL_STEP, Source, release};
use crate::Cancel;
use crate::error::Result;
use crate::segment::fee::saturating_add;
use crate::segment::layout::NONE;
use crate::segment::posting::RawPosting;
use crate::segment::read::Segment;
use crate::segment::write::{FeesWriter, Frame, PostingsWriter};

/// Numbers of postings read at a time.
const CHUNK: u64 = 4096;

/// The postings of one account in one source, in pieces.
struct Run<'a> {
    source: &'a Source<'a>,
    ids: &'a SourceIds,
    place: usize,
    /// The distance of its blocks and times from those of the new segment.
    offset: (u32, u32),
    /// Old id of the next account.
    account: u32,
    at: u64,
    end: u64,
    piece: Vec<RawPosting>,
    next: usize,
}

impl Run<'_> {
    /// Goes to the account that has a new id, if it is the next one here.
    fn begin(&mut self, new: u32) -> Result<bool> {
        let accounts = &self.ids.accounts;
        while accounts.get(self.account as usize) == Some(&NONE) {
            self.account += 1;
        }
        if accounts.get(self.account as usize) != Some(&new) {
            return Ok(false);
        }
        let range = self.source.segment.postings().range(self.account)?;
        self.account += 1;
        (self.at, self.end) = (range.start, range.end);
        Ok(self.at < self.end)
    }

    /// The next posting under new ids; `None` behind the last one.
    fn head(&mut self, merged: &RowOrder) -> Result<Option<&RawPosting>> {
        while self.next == self.piece.len() && self.at < self.end {
            let next = self.at.saturating_add(CHUNK).min(self.end);
            self.piece.clear();
            self.next = 0;
            self.source.segment.postings().read(self.at..next, &mut self.piece)?;
            self.at = next;
            if !self.source.without.is_empty() {
                self.piece.retain(|posting| !self.source.is_out(posting.row));
            }
            let rows = &merged.rows[self.place];
            for posting in &mut self.piece {
                posting.row = rows.get(posting.row);
                posting.block = posting.block.wrapping_add(self.offset.0);
                posting.time = posting.time.wrapping_add(self.offset.1);
                posting.other = self.ids.optional(posting.other);
                posting.asset = self.ids.asset(posting.asset);
            }
        }
        Ok(self.piece.get(self.next))
    }
}

/// Returns what is added to distances from one base, modulo 2^32, to count from another.
fn offset(segment: &Segment, frame: Frame) -> (u32, u32) {
    let (block, time) = segment.base();
    let low = |distance: u64| u32::try_from(distance & u64::from(u32::MAX)).unwrap_or(0);
    let times = time.secs().wrapping_sub(frame.first_time).cast_unsigned();
    (low(block.wrapping_sub(frame.first_block)), low(times))
}

/// Hands all postings on: accounts in order, the postings of each by row. Those of one row are of one source, and keep
/// their order.
pub(super) fn merge(
    sources: &[Source<'_>],
    ids: &Ids,
    merged: &RowOrder,
    frame: Frame,
    writer: &mut PostingsWriter<'_, '_>,
    cancel: &Cancel,
) -> Result<()> {
    let mut runs: Vec<Run<'_>> = sources
        .iter()
        .enumerate()
        .map(|(place, source)| Run {
            source,
            ids: &ids.sources[place],
            place,
            offset: offset(source.segment, frame),
            account: 0,
            at: 0,
            end: 0,
            piece: Vec::new(),
            next: 0,
        })
        .collect();
    let mut open = Vec::with_capacity(sources.len());
    let mut count = 0_u64;
    for account in 0..u32::try_from(ids.accounts).unwrap_or(NONE) {
        open.clear();
        for (place, run) in runs.iter_mut().enumerate() {
            if run.begin(account)?
                && let Some(head) = run.head(merged)?
            {
                open.push((head.row, place));
            }
        }
        while !open.is_empty() {
            // Few sources, and long runs of each: looking at all of them costs less than keeping them in order.
            open.sort_unstable();
            let (_, place) = open[0];
            let until = open.get(1).map_or(u32::MAX, |next| next.0);
            let run = &mut runs[place];
            let row = loop {
                match run.head(merged)? {
                    Some(head) if head.row < until => {
                        if count.is_multiple_of(CANCEL_STEP) {
                            cancel.check()?;
                            release(sources, count);
                        }
                        count += 1;
                        writer.push(account, head)?;
                        run.next += 1;
                    }
                    head => break head.map(|head| head.row),
                }
            };
            match row {
                // A row that is in two sources is damage; it must not keep this from ending.
                Some(row) if row > open[0].0 => open[0].0 = row,
                Some(_) => open[0].0 = until,
                None => {
                    open.swap_remove(0);
                }
            }
        }
    }
    Ok(())
}

/// Sums of fees by new account: those stored, and those counted anew.
pub(super) fn merge_fees(
    sources: &[Source<'_>],
    leaving: &[OmittedEntries],
    ids: &Ids,
    merged: &RowOrder,
    writer: &mut FeesWriter,
) -> Result<()> {
    let mut anew: Vec<(u32, Amount)> = merged.fees.iter().map(|(account, fee)| (*account, *fee)).collect();
    anew.sort_unstable_by_key(|(account, _)| *account);
    let mut anew = anew.into_iter().peekable();
    let mut next = vec![0; sources.len()];
    let mut heads: Vec<Option<(u32, Amount)>> = Vec::with_capacity(sources.len());
    let head = |source: usize, next: &mut usize| -> Result<Option<(u32, Amount)>> {
        let segment = sources[source].segment;
        while *next < segment.fee_payers() {
            let (payer, fee) = segment.fee_of_payer(*next)?;
            *next += 1;
            if !leaving[source].recounts(payer) {
                return Ok(Some((ids.sources[source].account(payer), fee)));
            }
        }
        Ok(None)
    };
    for (source, next) in next.iter_mut().enumerate() {
        heads.push(head(source, next)?);
    }
    loop {
        let stored = heads.iter().flatten().map(|head| head.0);
        let Some(account) = stored.chain(anew.peek().map(|head| head.0)).min() else { return Ok(()) };
        let mut sum = Amount::ZERO;
        for source in 0..heads.len() {
            while let Some((_, fee)) = heads[source].filter(|head| head.0 == account) {
                sum = saturating_add(sum, fee);
                heads[source] = head(source, &mut next[source])?;
            }
        }
        while let Some((_, fee)) = anew.next_if(|head| head.0 == account) {
            sum = saturating_add(sum, fee);
        }
        writer.push(account, sum)?;
    }
}
