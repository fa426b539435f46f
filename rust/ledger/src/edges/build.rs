//! The edges of a segment, by one pass over its postings in order of account.

use std::io::Write;
use std::sync::Arc;

use super::file::{DATA, STARTS, STEP, STEPS, SUMMARY, Summary};
use super::pack::Encoder;
use super::tally::{AccountEdges, Tally};
use super::value::{Values, counts, terms};
use crate::error::Result;
use crate::market::{MarketStamp, PriceTable, Registry};
use crate::segment::{RawPosting, SectionPart, Segment, SegmentFile, Spool, StreamedSection};
use crate::{Cancel, LedgerError};

/// Postings read at a time.
const CHUNK: u64 = 4096;

/// Postings after which the memory of what was read of the segment is given back.
const RELEASE_STEP: u64 = 1 << 21;

/// The registry and prices that edges are built under.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) prices: &'a PriceTable,
}

/// Writes the edge file of a segment. `progress` hears of postings done. In memory are the edges of one account at a
/// time, and what the spool keeps of the file.
///
/// # Errors
/// When the segment is damaged, the file cannot be written, or the work is cancelled.
pub(crate) fn build(
    segment: &Segment,
    Terms { registry, prices }: Terms<'_>,
    spool: &Arc<Spool>,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
    cancel: &Cancel,
) -> Result<()> {
    let terms = terms(segment, registry)?;
    let values = Values::new(segment, &terms, prices);
    let base = segment.base().1;
    let accounts = u32::try_from(segment.addresses()).unwrap_or(u32::MAX);
    let mut grouping = Grouping::new(segment)?;
    let [mut starts, mut steps] = [(); 2].map(|()| SectionPart::new(spool));
    let mut out = SegmentFile::begin(out, segment.chain(), segment.network())?;
    let mut data = StreamedSection::new(DATA);
    let (mut pairs, mut rows, mut done, mut released, mut start) = (0, 0, 0, 0, 0);
    let (mut encoder, mut record) = (Encoder::default(), Vec::new());
    for account in 0..accounts {
        if account % STEP == 0 {
            start = data.len();
            starts.write(&start.to_le_bytes())?;
        }
        let step = u32::try_from(data.len() - start).map_err(|_| full())?;
        steps.write(&step.to_le_bytes())?;
        let edges = grouping.of(account, &values, cancel)?;
        pairs += edges.pairs.len() as u64;
        rows += edges.rows.len() as u64;
        if !edges.pairs.is_empty() {
            record.clear();
            encoder.encode(edges, base, &mut record);
            data.write(&record, &mut out)?;
        }
        done += grouping.postings;
        if account % 4096 == 0 {
            cancel.check()?;
            progress(done);
        }
        if done - released > RELEASE_STEP {
            segment.release();
            released = done;
        }
    }
    segment.release();
    progress(done);
    starts.write(&data.len().to_le_bytes())?;
    let MarketStamp(stamp) = MarketStamp::of(registry, prices, segment.chain());
    let summary = Summary {
        accounts: accounts.into(),
        pairs,
        rows,
        transactions: segment.transactions().into(),
        movements: segment.movements(),
        base: base.secs(),
        stamp,
    };
    data.end(&mut out)?;
    out.part(STARTS, starts)?;
    out.part(STEPS, steps)?;
    out.put(SUMMARY, &[summary])?;
    out.finish()?;
    Ok(())
}

/// The edges of one account, grouped from its postings.
pub(crate) fn account_edges(
    segment: &Segment,
    account: u32,
    values: &Values<'_>,
    cancel: &Cancel,
) -> Result<AccountEdges> {
    let mut grouping = Grouping::new(segment)?;
    Ok(std::mem::take(grouping.of(account, values, cancel)?))
}

struct Grouping<'a> {
    segment: &'a Segment,
    /// The account that stands for minting and burning, which is nobody's counterparty.
    zero: Option<u32>,
    tally: Tally,
    chunk: Vec<RawPosting>,
    /// The postings of the account that was grouped last.
    postings: u64,
}

impl<'a> Grouping<'a> {
    fn new(segment: &'a Segment) -> Result<Self> {
        let zero = zero_account(segment)?;
        Ok(Self { segment, zero, tally: Tally::default(), chunk: Vec::new(), postings: 0 })
    }

    fn of(&mut self, account: u32, values: &Values<'_>, cancel: &Cancel) -> Result<&mut AccountEdges> {
        let range = self.segment.postings().range(account)?;
        self.postings = range.end - range.start;
        self.tally.begin(self.postings);
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min(start + CHUNK);
            if self.postings > CHUNK {
                cancel.check()?;
            }
            self.chunk.clear();
            self.segment.postings().read(start..end, &mut self.chunk)?;
            start = end;
            for posting in &self.chunk {
                let Some(other) = posting.other.filter(|other| Some(*other) != self.zero) else { continue };
                if counts(posting) {
                    self.tally.add(other, posting, &values.of(posting));
                }
            }
        }
        Ok(self.tally.finish())
    }
}

/// Ids are in order of key bytes, so the zero address is the first account or none.
fn zero_account(segment: &Segment) -> Result<Option<u32>> {
    Ok(if segment.addresses() > 0 && segment.address(0)?.is_zero() { Some(0) } else { None })
}

#[cold]
fn full() -> LedgerError {
    LedgerError::SegmentFull { what: "bytes of edges of neighbouring accounts", limit: u64::from(u32::MAX) }
}
