//! The postings of an account, merged over segments in both orders, reading only what is shown.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use headwater_types::{Asset, TimeWindow, Timestamp};

use crate::primitives::pack;
use crate::read::{
    Account, AccountRef, AssetRef, ChainRange, ColumnBuffer, ColumnSet, Posting, PostingKey, Postings, Result, Scan,
    ScanOrder, TransactionRef,
};
use crate::segment::{AssetPlaces, RawPosting, Segment, SegmentPostings, search};

/// Postings read in one go: few at first, for a page wants a hundred, more when the scan continues.
const FIRST_CHUNK: u64 = 32;
const LARGEST_CHUNK: u64 = 1024;
/// Postings that a block has.
const BLOCK: u64 = 128;
/// An asset is rare in a hub when fewer than one in so many of its postings are of it.
const RARE: u64 = 8;

pub(super) fn scan<'a>(segments: &'a [Arc<Segment>], account: &Account, scan: &Scan) -> Result<Postings<'a>> {
    Ok(Box::new(Merge::new(segments, account, scan, FIRST_CHUNK)?))
}

/// The first postings of a scan, read as a whole where segments do not overlap.
pub(super) fn page(segments: &[Arc<Segment>], account: &Account, scan: &Scan, limit: usize) -> Result<Vec<Posting>> {
    let mut merge = Merge::new(segments, account, scan, limit.max(1) as u64)?;
    let most = usize::try_from(account.postings).unwrap_or(limit);
    let mut page = Vec::with_capacity(limit.min(most));
    while page.len() < limit && merge.run(limit, &mut page)? {}
    Ok(page)
}

/// Cursors over all segments, ordered so that the one that comes next is at the end.
struct Merge<'a> {
    cursors: Vec<Cursor<'a>>,
}

impl<'a> Merge<'a> {
    fn new(segments: &'a [Arc<Segment>], account: &Account, scan: &Scan, chunk: u64) -> Result<Self> {
        let mut merge = Self { cursors: Vec::with_capacity(account.places.len()) };
        for &(place, id) in &account.places {
            let segment = &segments[place as usize];
            let Some(filter) = Filter::new(segment, scan)? else { continue };
            let cursor = Cursor::new((place, segment), id, scan, filter, chunk)?;
            if !cursor.is_done() {
                merge.cursors.push(cursor);
                merge.settle()?;
            }
        }
        Ok(merge)
    }

    /// Takes what is read of the front cursor and comes before all others; whether there was anything.
    fn run(&mut self, limit: usize, into: &mut Vec<Posting>) -> Result<bool> {
        let until = match self.cursors.len().checked_sub(2) {
            Some(next) => Some(self.cursors[next].next_block()?),
            None => None,
        };
        let Some(front) = self.cursors.last_mut() else { return Ok(false) };
        let held = into.len();
        front.take_before(until, limit - held, into)?;
        if front.is_done() {
            self.cursors.pop();
        } else if into.len() == held {
            // The front begins in the block of another: one by one, in the order inside the block.
            into.extend(self.step()?);
        } else {
            self.settle()?;
        }
        Ok(true)
    }

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

/// The part of a scan that cannot be found by halving, in the numbers of one segment.
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

    /// Returns whether everything passes.
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

    /// The one asset that passes, if it is one.
    fn only_asset(&self) -> Option<u32> {
        self.assets.as_deref().and_then(|assets| if let [asset] = assets { Some(*asset) } else { None })
    }

    fn has_asset(&self, asset: impl FnOnce() -> u32) -> bool {
        self.assets.as_ref().is_none_or(|assets| assets.binary_search(&asset()).is_ok())
    }
}

/// Postings that are still to be read: a range of them, or those of it that a hub has in one asset.
pub(super) enum Remainder<'a> {
    All(Range<u64>),
    Asset(AssetPlaces<'a>, Range<usize>),
}

impl<'a> Remainder<'a> {
    /// The sub-index is taken where it leaves out most postings; elsewhere reading all of them is faster.
    pub(super) fn new(segment: &'a Segment, account: u32, filter: &Filter, range: Range<u64>) -> Result<Self> {
        let Some(asset) = filter.only_asset() else { return Ok(Self::All(range)) };
        let Some(places) = segment.asset_places(account, asset)? else { return Ok(Self::All(range)) };
        let held = places.lower_bound(range.start)?..places.lower_bound(range.end)?;
        let is_rare = (held.len() as u64).saturating_mul(RARE) < range.end - range.start;
        Ok(if is_rare { Self::Asset(places, held) } else { Self::All(range) })
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::All(range) => range.is_empty(),
            Self::Asset(_, range) => range.is_empty(),
        }
    }

    fn first(&self) -> Result<u64> {
        match self {
            Self::All(range) => Ok(range.start),
            Self::Asset(places, range) => places.get(range.start),
        }
    }

    fn last(&self) -> Result<u64> {
        match self {
            Self::All(range) => Ok(range.end - 1),
            Self::Asset(places, range) => places.get(range.end - 1),
        }
    }

    /// Takes about so many off the beginning: spans that hold them, and others that the filter refuses.
    pub(super) fn take_first(&mut self, count: u64) -> Result<Vec<Range<u64>>> {
        match self {
            Self::All(range) => {
                // Many to the end of a block, so that none is opened twice.
                let next = range.start + count;
                let next = range.end.min(if count < BLOCK { next } else { next.next_multiple_of(BLOCK) });
                let taken = range.start..next;
                range.start = next;
                Ok(vec![taken])
            }
            Self::Asset(places, range) => {
                let next = range.end.min(range.start.saturating_add(usize::try_from(count).unwrap_or(usize::MAX)));
                let taken = range.start..next;
                range.start = next;
                spans(places, taken)
            }
        }
    }

    fn take_last(&mut self, count: u64) -> Result<Vec<Range<u64>>> {
        match self {
            Self::All(range) => {
                // Many from the beginning of a block, so that none is opened twice.
                let next = range.end.saturating_sub(count);
                let next = range.start.max(if count < BLOCK { next } else { next / BLOCK * BLOCK });
                let taken = next..range.end;
                range.end = next;
                Ok(vec![taken])
            }
            Self::Asset(places, range) => {
                let next = range.start.max(range.end.saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)));
                let taken = next..range.end;
                range.end = next;
                spans(places, taken)
            }
        }
    }
}

/// Stretches that hold the postings of some places, one for those that lie in one block.
fn spans(places: &AssetPlaces<'_>, range: Range<usize>) -> Result<Vec<Range<u64>>> {
    let mut numbers = Vec::with_capacity(range.len());
    places.read(range, &mut numbers)?;
    let runs = numbers.chunk_by(|a, b| a / BLOCK == b / BLOCK);
    Ok(runs.map(|run| run[0]..run[run.len() - 1] + 1).collect())
}

/// The postings of an account in one segment, from one end.
struct Cursor<'a> {
    place: u32,
    segment: &'a Segment,
    postings: &'a SegmentPostings,
    order: ScanOrder,
    filter: Filter,
    /// Postings that are not read yet.
    left: Remainder<'a>,
    chunk: u64,
    /// Postings that are read and not taken, the next one last.
    read: Vec<RawPosting>,
}

impl<'a> Cursor<'a> {
    fn new(
        (place, segment): (u32, &'a Segment),
        account: u32,
        scan: &Scan,
        filter: Filter,
        chunk: u64,
    ) -> Result<Self> {
        let postings = segment.postings();
        let left = Remainder::new(segment, account, &filter, bounds(segment, account, scan)?)?;
        let (order, read) = (scan.order, Vec::new());
        let mut cursor = Self { place, segment, postings, order, filter, left, chunk, read };
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
            let spans = match self.order {
                ScanOrder::OldestFirst => self.left.take_first(self.chunk)?,
                ScanOrder::NewestFirst => self.left.take_last(self.chunk)?,
            };
            self.chunk = (self.chunk * 2).min(LARGEST_CHUNK);
            spans.into_iter().try_for_each(|span| self.postings.read(span, &mut self.read))?;
            if self.order == ScanOrder::OldestFirst {
                self.read.reverse();
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
        let posting = self.posting(&raw);
        self.look_ahead()?;
        Ok(posting)
    }

    /// Takes what is read and lies before a block of another, at most so many.
    fn take_before(&mut self, until: Option<u64>, most: usize, into: &mut Vec<Posting>) -> Result<()> {
        if self.read.is_empty() {
            self.fill()?;
        }
        let base = self.segment.base().0;
        let is_before = |posting: &RawPosting| {
            let block = base.saturating_add(u64::from(posting.block));
            until.is_none_or(|until| match self.order {
                ScanOrder::OldestFirst => block < until,
                ScanOrder::NewestFirst => block > until,
            })
        };
        // Those that come first are at the end.
        let least = self.read.len().saturating_sub(most);
        let first = least + self.read[least..].partition_point(|posting| !is_before(posting));
        into.extend(self.read[first..].iter().rev().map(|raw| self.posting(raw)));
        self.read.truncate(first);
        self.look_ahead()
    }

    /// Behind a filter, whether more passes shows only by reading on.
    fn look_ahead(&mut self) -> Result<()> {
        if self.read.is_empty() && !self.filter.is_empty() { self.fill() } else { Ok(()) }
    }

    #[inline]
    fn posting(&self, raw: &RawPosting) -> Posting {
        let (base_block, base_time) = self.segment.base();
        Posting {
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
            approximate: raw.is_approximate(),
        }
    }

    /// The number of the posting that comes next, if it is not read yet.
    fn next_unread(&self) -> Result<u64> {
        match self.order {
            ScanOrder::OldestFirst => self.left.first(),
            ScanOrder::NewestFirst => self.left.last(),
        }
    }

    fn next_block(&self) -> Result<u64> {
        let block = match self.read.last() {
            Some(posting) => posting.block,
            None => self.postings.block(self.next_unread()?)?,
        };
        Ok(self.segment.base().0.saturating_add(u64::from(block)))
    }

    fn next_key(&self) -> Result<PostingKey> {
        let (row, kind, ordinal) = match self.read.last() {
            Some(posting) => (posting.row, posting.kind(), posting.ordinal()),
            None => self.postings.place(self.next_unread()?)?,
        };
        let head = self.segment.head(row)?;
        Ok(PostingKey { block: head.block, index: head.index, hash: head.hash, kind, ordinal })
    }

    /// Compares in the order of the scan. Blocks decide without a look at the transactions, almost always.
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

/// The rows of a segment in a range of the chain; a window bounds them only where times are ordered.
pub(super) fn rows_in(segment: &Segment, range: &ChainRange) -> Result<Range<u32>> {
    let mut rows = 0..segment.transactions();
    if let Some(last) = range.up_to_block
        && segment.block_range().is_some_and(|(_, end)| end > last)
    {
        rows.end = segment.rows_of_blocks(0, last)?.end;
    }
    if let Some(first) = range.from_block
        && segment.block_range().is_some_and(|(start, _)| start < first)
    {
        rows.start = segment.rows_of_blocks(first, u64::MAX)?.start;
    }
    if segment.times_ordered() {
        let base_time = segment.base().1;
        let (first, last) = segment.time_range().unwrap_or((base_time, base_time));
        if let Some(start) = range.window.start()
            && start > first
        {
            rows.start = rows.start.max(segment.row_from_time(start)?);
        }
        if let Some(end) = range.window.end()
            && end < last
        {
            rows.end = rows.end.min(segment.row_from_time(Timestamp::new(end.secs().saturating_add(1)))?);
        }
    }
    Ok(rows.start..rows.end.max(rows.start))
}

/// The postings of an account that a scan wants: its bounds become rows, which are found among the heads of blocks of
/// postings; times only where they are ordered.
pub(super) fn bounds(segment: &Segment, account: u32, scan: &Scan) -> Result<Range<u64>> {
    let postings = segment.postings();
    let mut range = postings.range(account)?;
    let Scan { from_block, up_to_block, window, .. } = *scan;
    let rows = rows_in(segment, &ChainRange { from_block, up_to_block, window })?;
    if rows.start > 0 {
        range.start = postings.seek_row(range.clone(), rows.start)?;
    }
    if rows.end < segment.transactions() {
        range.end = postings.seek_row(range.clone(), rows.end)?;
    }
    if let Some(after) = &scan.after {
        let (first, last) = around(segment, &range, after)?;
        match scan.order {
            ScanOrder::OldestFirst => range.start = range.start.max(last),
            ScanOrder::NewestFirst => range.end = range.end.min(first),
        }
    }
    Ok(range.start..range.end.max(range.start))
}

/// The first posting of a range that is not before a key, and the first that is after it.
fn around(segment: &Segment, range: &Range<u64>, key: &PostingKey) -> Result<(u64, u64)> {
    let postings = segment.postings();
    let row = segment.row_from(key.block, key.index, &key.hash)?;
    let start = postings.seek_row(range.clone(), row)?;
    if row == segment.transactions() || segment.hash(row)? != key.hash {
        return Ok((start, start));
    }
    let of_row = start..postings.seek_row(start..range.end, row.saturating_add(1))?;
    let place = |at: u64| postings.place(at).map(|(_, kind, ordinal)| (kind, ordinal));
    let first = halve(of_row.clone(), |at| Ok(place(at)? < (key.kind, key.ordinal)))?;
    let last = halve(first..of_row.end, |at| Ok(place(at)? <= (key.kind, key.ordinal)))?;
    Ok((first, last))
}

fn halve(range: Range<u64>, before: impl Fn(u64) -> Result<bool>) -> Result<u64> {
    let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    Ok(range.start + search(0..length, |place| before(range.start + place as u64))? as u64)
}

fn later(base: Timestamp, distance: u32) -> Timestamp {
    Timestamp::new(base.secs().saturating_add(i64::from(distance)))
}

/// The numbers that a segment gives assets; `None` when it holds none of them.
pub(super) fn numbers(segment: &Segment, assets: &[Asset]) -> Result<Option<Vec<u32>>> {
    let mut numbers = Vec::with_capacity(assets.len());
    for asset in assets {
        numbers.extend(segment.asset_id(asset)?);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok((!numbers.is_empty()).then_some(numbers))
}
