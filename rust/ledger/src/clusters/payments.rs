//! The transactions of some segments that spend from several addresses, in the order of the chain.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use headwater_types::address::UtxoAddress;
use headwater_types::{Address, TxHash};

use super::link::{Link, is_plain, link};
use super::records::FirstSeen;
use crate::Cancel;
use crate::bitcoin::{DUST_BELOW, TransactionView};
use crate::error::Result;
use crate::primitives::{TransactionRef, pack};
use crate::segment::Segment;

/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: u32 = 1 << 16;
/// Rows after which the memory of what was read of a segment is given back.
const ROWS_PER_RELEASE: u32 = 1 << 20;

/// A segment with its place among those of the generation.
pub(super) type NumberedSegment<'a> = (u32, &'a Segment);

/// A transaction that links addresses.
pub(super) struct Payment {
    pub(super) transaction: TransactionRef,
    /// Place of the segment, by number among those that are read.
    pub(super) segment: usize,
    /// Distinct accounts of that segment, in order of the inputs.
    pub(super) payers: Vec<u32>,
    pub(super) link: Link,
}

/// Block, position with unknown last, hash; then the segment by number, and the row.
type Head = (u64, u64, TxHash, usize, u32);

/// Reads the payments of segments.
pub(super) struct Payments<'a> {
    segments: &'a [NumberedSegment<'a>],
    heads: BinaryHeap<Reverse<Head>>,
    /// Rows read of each segment.
    rows: Vec<u32>,
    /// Accounts of each segment that have no owner.
    keyless: Vec<Vec<u32>>,
    payers: Vec<u32>,
    progress: &'a dyn Fn(u64),
    cancel: &'a Cancel,
}

impl<'a> Payments<'a> {
    /// `progress` hears of rows done.
    pub(super) fn of(
        segments: &'a [NumberedSegment<'a>],
        progress: &'a dyn Fn(u64),
        cancel: &'a Cancel,
    ) -> Result<Self> {
        let rows = vec![0; segments.len()];
        let keyless = segments.iter().map(|(_, segment)| keyless(segment)).collect::<Result<_>>()?;
        let mut this = Self { segments, heads: BinaryHeap::new(), rows, keyless, payers: Vec::new(), progress, cancel };
        for number in 0..segments.len() {
            this.advance(number)?;
        }
        Ok(this)
    }

    /// The next one that links addresses.
    pub(super) fn next(&mut self) -> Result<Option<Payment>> {
        while let Some(Reverse((.., number, row))) = self.heads.pop() {
            self.advance(number)?;
            let (place, segment) = self.segments[number];
            let link = link_of(segment, row)?;
            if link == Link::Apart {
                continue;
            }
            self.read_payers(number, row)?;
            let mut payers: Vec<u32> = Vec::with_capacity(self.payers.len());
            let mut seen = rustc_hash::FxHashSet::default();
            payers.extend(self.payers.iter().filter(|payer| seen.insert(**payer)));
            return Ok(Some(Payment { transaction: TransactionRef(pack(place, row)), segment: number, payers, link }));
        }
        Ok(None)
    }

    /// Looks for the next row of a segment that spends from several addresses.
    fn advance(&mut self, number: usize) -> Result<()> {
        let (_, segment) = self.segments[number];
        while self.rows[number] < segment.transactions() {
            let row = self.rows[number];
            self.rows[number] += 1;
            if row.is_multiple_of(ROWS_PER_CHECK) {
                self.cancel.check()?;
                (self.progress)(self.rows.iter().map(|rows| u64::from(*rows)).sum());
            }
            if row % ROWS_PER_RELEASE == ROWS_PER_RELEASE - 1 {
                segment.release();
            }
            self.read_payers(number, row)?;
            if self.payers.iter().any(|payer| *payer != self.payers[0]) {
                let head = segment.head(row)?;
                let index = head.index.map_or(u64::MAX, u64::from);
                self.heads.push(Reverse((head.block, index, head.hash, number, row)));
                break;
            }
        }
        Ok(())
    }
}

impl Payments<'_> {
    /// Reads who signed a row, in order of the inputs: the same as [`TransactionView::signers`].
    fn read_payers(&mut self, number: usize, row: u32) -> Result<()> {
        let (_, segment) = self.segments[number];
        segment.payers(row, DUST_BELOW, &mut self.payers)?;
        let keyless = &self.keyless[number];
        if !keyless.is_empty() {
            self.payers.retain(|payer| !keyless.contains(payer));
        }
        Ok(())
    }
}

/// The accounts of a segment that have no owner.
fn keyless(segment: &Segment) -> Result<Vec<u32>> {
    let addresses = UtxoAddress::keyless(segment.network()).into_iter().map(Address::Utxo);
    let found = addresses.filter_map(|address| segment.account(&address).transpose());
    found.collect()
}

fn link_of(segment: &Segment, row: u32) -> Result<Link> {
    let (inputs, outputs, is_one_form) = segment.outline(row)?;
    if is_plain(inputs, outputs, is_one_form) {
        return Ok(Link::Together);
    }
    let facts = segment.facts(row)?;
    let (Some(utxo), Some(time)) = (&facts.utxo, facts.time) else { return Ok(Link::Apart) };
    Ok(link(&TransactionView::new(utxo, facts.block, time)))
}

/// Returns where an account of a segment appears first in it; `None` where no transaction shows it.
pub(super) fn first_in(segment: &Segment, account: u32) -> Result<Option<FirstSeen>> {
    let postings = segment.postings();
    let range = postings.range(account)?;
    if range.is_empty() {
        return Ok(None);
    }
    let (row, ..) = postings.place(range.start)?;
    let head = segment.head(row)?;
    let position = segment.position(row, account)?.and_then(|position| u32::try_from(position).ok());
    Ok(Some(FirstSeen::new(head.block, head.index, &head.hash, position.unwrap_or(u32::MAX))))
}

/// An account of one of some segments in all of them, as (number of the segment, local id).
pub(super) fn places(segments: &[NumberedSegment<'_>], segment: usize, id: u32) -> Result<Vec<(usize, u32)>> {
    let address = segments[segment].1.address(id)?;
    let mut places = Vec::with_capacity(1);
    for (number, (_, other)) in segments.iter().enumerate() {
        let found = if number == segment { Some(id) } else { other.account(&address)? };
        places.extend(found.map(|id| (number, id)));
    }
    Ok(places)
}
