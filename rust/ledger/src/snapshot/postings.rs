//! The postings of an account, merged over segments in both orders, reading only what is shown.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use headwater_types::{TimeWindow, Timestamp};

use super::columns::numbers;
use super::pack;
use crate::read::{
    Account, AccountRef, AssetRef, ColumnBuffer, ColumnSet, Posting, PostingKey, Postings, Result, Scan, ScanOrder,
    TransactionRef,
};
use crate::segment::{PostingsReader, RawPosting, Segment, search};

/// Postings read in one go: few at first, for a page wants a hundred, more when the scan goes on.
const FIRST_CHUNK: u64 = 32;
const LARGEST_CHUNK: u64 = 1024;

pub(super) fn scan<'a>(segments: &'a [Arc<Segment>], account: &Account, scan: &Scan) -> Result<Postings<'a>> {
    let mut merge = Merge { cursors: Vec::with_capacity(account.places.len()) };
    for &(place, id) in &account.places {
        let segment = &segments[place as usize];
        let Some(filter) = Filter::new(segment, scan)? else { continue };
        let cursor = Cursor::new((place, segment), id, scan, filter)?;
        if !cursor.is_done() {
            merge.cursors.push(cursor);
            merge.settle()?;
        }
    }
    Ok(Box::new(merge))
}

/// Cursors over all segments, ordered so that the one that comes next stands last.
struct Merge<'a> {
    cursors: Vec<Cursor<'a>>,
}

impl Merge<'_> {
    fn step(&mut self) -> Result<Option<Posting>> {
        let Some(front) = self.cursors.last_mut() else { return Ok(None) };
        let posting = front.take()?;
        if front.is_done() {
            self.cursors.pop();
        } else {
            self.settle()?;
        }
        Ok(Some(posting))
    }

    /// Moves the cursor that was read down to its new place: no step at all while segments do not overlap.
    fn settle(&mut self) -> Result<()> {
        let mut at = self.cursors.len() - 1;
        while at > 0 && self.cursors[at].compare(&self.cursors[at - 1])? == Ordering::Greater {
            self.cursors.swap(at, at - 1);
            at -= 1;
        }
        Ok(())
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<Posting>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            // One error ends the scan: what follows a hole must not look like the rest.
            self.cursors.clear();
        }
        step.transpose()
    }
}

/// What of a scan cannot be found by halving, in the numbers of one segment.
pub(super) struct Filter {
    /// Only these times, where they are not ordered.
    window: Option<TimeWindow>,
    /// Only these assets, in order.
    assets: Option<Vec<u32>>,
}

impl Filter {
    /// `None` when nothing in the segment can pass.
    pub(super) fn new(segment: &Segment, scan: &Scan) -> Result<Option<Self>> {
        let is_all = scan.window.start().is_none() && scan.window.end().is_none();
        let window = (!segment.times_ordered() && !is_all).then_some(scan.window);
        let Some(assets) = &scan.assets else { return Ok(Some(Self { window, assets: None })) };
        Ok(numbers(segment, assets)?.map(|assets| Self { window, assets: Some(assets) }))
    }

    /// Whether everything passes.
    pub(super) fn is_empty(&self) -> bool {
        self.window.is_none() && self.assets.is_none()
    }

    /// The columns it looks at.
    pub(super) fn columns(&self) -> ColumnSet {
        let times = if self.window.is_some() { ColumnSet::TIMES } else { ColumnSet::FLAGS };
        if self.assets.is_some() { times.with(ColumnSet::ASSETS) } else { times }
    }

    pub(super) fn apply(&self, segment: &Segment, columns: &mut ColumnBuffer) {
        let base = segment.base().1;
        if !self.is_empty() {
            columns.retain(0, |columns, at| {
                self.window.is_none_or(|window| window.contains(later(base, columns.times[at])))
                    && self.has_asset(|| columns.assets[at])
            });
        }
    }

    fn passes(&self, base: Timestamp, posting: &RawPosting) -> bool {
        self.window.is_none_or(|window| window.contains(later(base, posting.time))) && self.has_asset(|| posting.asset)
    }

    fn has_asset(&self, asset: impl FnOnce() -> u32) -> bool {
        self.assets.as_ref().is_none_or(|assets| assets.binary_search(&asset()).is_ok())
    }
}

/// The postings of an account in one segment, from one end.
struct Cursor<'a> {
    place: u32,
    segment: &'a Segment,
    postings: &'a dyn PostingsReader,
    order: ScanOrder,
    filter: Filter,
    /// Postings that are not read yet.
    left: Range<u64>,
    chunk: u64,
    /// Postings that are read and not taken, the next one last.
    read: Vec<RawPosting>,
}

impl<'a> Cursor<'a> {
    fn new((place, segment): (u32, &'a Segment), account: u32, scan: &Scan, filter: Filter) -> Result<Self> {
        let postings = segment.postings();
        let left = bounds(segment, account, scan)?;
        let mut cursor =
            Self { place, segment, postings, order: scan.order, filter, left, chunk: FIRST_CHUNK, read: Vec::new() };
        if !cursor.filter.is_empty() {
            cursor.fill()?;
        }
        Ok(cursor)
    }

    fn is_done(&self) -> bool {
        self.read.is_empty() && self.left.is_empty()
    }

    /// Reads on until there is a posting to take, or none left.
    fn fill(&mut self) -> Result<()> {
        let base = self.segment.base().1;
        while self.read.is_empty() && !self.left.is_empty() {
            let count = self.chunk.min(self.left.end - self.left.start);
            self.chunk = (self.chunk * 2).min(LARGEST_CHUNK);
            match self.order {
                ScanOrder::OldestFirst => {
                    let next = self.left.start + count;
                    self.postings.read(self.left.start..next, &mut self.read)?;
                    self.read.reverse();
                    self.left.start = next;
                }
                ScanOrder::NewestFirst => {
                    let next = self.left.end - count;
                    self.postings.read(next..self.left.end, &mut self.read)?;
                    self.left.end = next;
                }
            }
            if !self.filter.is_empty() {
                self.read.retain(|posting| self.filter.passes(base, posting));
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Posting> {
        if self.read.is_empty() {
            self.fill()?;
        }
        let raw = self.read.pop().expect("a cursor that is done leaves the merge");
        if self.read.is_empty() && !self.filter.is_empty() {
            // Whether more passes shows only by reading on.
            self.fill()?;
        }
        let (base_block, base_time) = self.segment.base();
        Ok(Posting {
            transaction: TransactionRef(pack(self.place, raw.row)),
            block: base_block.saturating_add(u64::from(raw.block)),
            time: later(base_time, raw.time),
            kind: raw.kind(),
            ordinal: raw.ordinal(),
            direction: raw.direction(),
            counterparty: raw.other.map(|other| AccountRef(pack(self.place, other))),
            asset: AssetRef(pack(self.place, raw.asset)),
            amount: raw.amount,
            status: raw.status(),
            creates_contract: raw.creates_contract(),
        })
    }

    /// The number of the posting that comes next, if it is not read yet.
    fn next_unread(&self) -> u64 {
        match self.order {
            ScanOrder::OldestFirst => self.left.start,
            ScanOrder::NewestFirst => self.left.end - 1,
        }
    }

    fn next_block(&self) -> Result<u64> {
        let block = match self.read.last() {
            Some(posting) => posting.block,
            None => self.postings.block(self.next_unread())?,
        };
        Ok(self.segment.base().0.saturating_add(u64::from(block)))
    }

    fn next_key(&self) -> Result<PostingKey> {
        let (row, kind, ordinal) = match self.read.last() {
            Some(posting) => (posting.row, posting.kind(), posting.ordinal()),
            None => self.postings.place(self.next_unread())?,
        };
        let head = self.segment.head(row)?;
        Ok(PostingKey { block: head.block, index: head.index, hash: head.hash, kind, ordinal })
    }

    /// Which comes first in the order of the scan. Blocks decide without a look at the transactions, almost always.
    fn compare(&self, other: &Self) -> Result<Ordering> {
        let mut ordering = self.next_block()?.cmp(&other.next_block()?);
        if ordering == Ordering::Equal {
            ordering = self.next_key()?.cmp(&other.next_key()?);
        }
        Ok(match self.order {
            ScanOrder::OldestFirst => ordering,
            ScanOrder::NewestFirst => ordering.reverse(),
        })
    }
}

/// The postings of an account that a scan wants, by halving; times only where they are ordered.
pub(super) fn bounds(segment: &Segment, account: u32, scan: &Scan) -> Result<Range<u64>> {
    let postings = segment.postings();
    let range = postings.range(account)?;
    let (base_block, base_time) = segment.base();
    let block = |at: u64| -> Result<u64> { Ok(base_block.saturating_add(u64::from(postings.block(at)?))) };
    let time = |at: u64| -> Result<Timestamp> { Ok(later(base_time, postings.time(at)?)) };
    let Range { start: mut low, end: mut high } = range;
    if let Some(last) = scan.up_to_block
        && segment.block_range().is_some_and(|(_, end)| end > last)
    {
        high = halve(low..high, |at| Ok(block(at)? <= last))?;
    }
    if let Some(first) = scan.from_block
        && segment.block_range().is_some_and(|(start, _)| start < first)
    {
        low = halve(low..high, |at| Ok(block(at)? < first))?;
    }
    if segment.times_ordered() {
        let (first, last) = segment.time_range().unwrap_or((base_time, base_time));
        if let Some(start) = scan.window.start()
            && start > first
        {
            low = halve(low..high, |at| Ok(time(at)? < start))?;
        }
        if let Some(end) = scan.window.end()
            && end < last
        {
            high = halve(low..high, |at| Ok(time(at)? <= end))?;
        }
    }
    if let Some(after) = &scan.after {
        let key = |at: u64| -> Result<PostingKey> {
            let (row, kind, ordinal) = postings.place(at)?;
            let head = segment.head(row)?;
            Ok(PostingKey { block: head.block, index: head.index, hash: head.hash, kind, ordinal })
        };
        let compare = |at: u64| -> Result<Ordering> {
            match block(at)?.cmp(&after.block) {
                Ordering::Equal => Ok(PostingKey::cmp(&key(at)?, after)),
                decided => Ok(decided),
            }
        };
        match scan.order {
            ScanOrder::OldestFirst => low = halve(low..high, |at| Ok(compare(at)? != Ordering::Greater))?,
            ScanOrder::NewestFirst => high = halve(low..high, |at| Ok(compare(at)? == Ordering::Less))?,
        }
    }
    Ok(low..high.max(low))
}

fn halve(range: Range<u64>, before: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    Ok(range.start + search(0..length, |place| before(range.start + place as u64))? as u64)
}

fn later(base: Timestamp, distance: u32) -> Timestamp {
    Timestamp::new(base.secs().saturating_add(i64::from(distance)))
}
