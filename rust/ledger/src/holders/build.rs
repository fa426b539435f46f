//! Builds the holder table of segments: one pass by address, one sort by asset and balance.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::io::Write;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use headwater_types::{Address, Amount, Asset, Balance};

use super::file::{
    ASSETS, AssetEntry, BLOCK, BLOCKS, Count, DATA, LARGE, MARKS, MOMENTS, Mark, SUMMARY, Summary, put_block,
};
use super::moments::Moments;
use crate::Cancel;
use crate::bits::halves;
use crate::error::Result;
use crate::external::{ExternalSorter, Scratch};
use crate::segment::{HistoryStart, SectionPart, Segment, SegmentFile, Spool, openings_of};

/// Accounts after which the memory of what was read of the segments is given back.
const ACCOUNTS_PER_RELEASE: u64 = 1 << 17;

/// A holder to be sorted: by asset, then larger balances first, then in order of address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
struct Row {
    asset: u64,
    /// The complement of the balance, its larger half first, so that larger balances come first.
    rest: [u64; 2],
    /// Place of the account among all addresses.
    rank: u64,
    place: u32,
    id: u32,
}

/// Writes the holder table of segments, which all are of one chain and at least one. `progress` hears of accounts done.
///
/// # Errors
/// When a segment is damaged, a temporary file cannot be written, or the work is cancelled.
pub(crate) fn build(
    segments: &[&Segment],
    scratch: &Scratch,
    out: &mut dyn Write,
    progress: &dyn Fn(u64),
    cancel: &Cancel,
) -> Result<()> {
    let (assets, numbers) = assets_of(segments)?;
    let begins = begins_of(segments)?;
    let zero = Count { total: Some(Amount::ZERO), ..Count::default() };
    let mut counts = vec![zero; assets.len()];
    let mut sorter: ExternalSorter<Row> = ExternalSorter::new(&scratch.share(2), cancel);
    let mut accounts = Accounts::new(segments)?;
    let mut rank = 0;
    while let Some(places) = accounts.next()? {
        if rank % 4096 == 0 {
            cancel.check()?;
            progress(rank);
        }
        if rank % ACCOUNTS_PER_RELEASE == 0 {
            for segment in segments {
                segment.release();
            }
        }
        let (place, id) = places[0];
        for (asset, balance) in balances(segments, (&numbers, &begins), places)? {
            let count = &mut counts[asset];
            let Some(held) = balance.received().checked_sub(balance.sent()) else {
                count.negative += 1;
                continue;
            };
            if held.is_zero() {
                continue;
            }
            count.rows += 1;
            count.total = count.total.and_then(|total| total.checked_add(held));
            match held.to_u128() {
                None => count.large.push((held, rank, place, id)),
                Some(held) => {
                    let rest = halves(!held);
                    sorter.push(Row { asset: asset as u64, rest, rank, place, id })?;
                }
            }
        }
        rank += 1;
    }
    progress(rank);

    let mut sorted = sorter.finish()?.peekable();
    let (mut entries, mut blocks, mut large) = (Vec::new(), Vec::new(), Vec::new());
    let (mut all_moments, mut marks) = (Vec::new(), Vec::new());
    let mut data = Data::new(&Spool::within(scratch));
    for (number, (asset, mut count)) in assets.iter().zip(counts).enumerate() {
        count.large.sort_by_key(|(held, rank, ..)| (Reverse(*held), *rank));
        entries.push(AssetEntry::new(asset, &count, blocks.len(), large.len()));
        large.extend(count.large.iter().map(|(held, ..)| held.to_be_bytes()));
        let mut moments = Moments::default();
        // Adds the balances of a block, and marks it.
        let mut mark = |balances: &mut dyn Iterator<Item = Amount>| {
            let (before, mut least) = (moments.top().sum, Amount::ZERO);
            for balance in balances {
                moments.push(balance);
                least = balance;
            }
            marks.push(Mark::new(before, least));
        };
        for rows in count.large.chunks(BLOCK) {
            mark(&mut rows.iter().map(|(held, ..)| *held));
        }
        let mut block: Vec<(u128, u32, u32)> = count.large.iter().map(|(.., place, id)| (0, *place, *id)).collect();
        // Large balances have blocks of their own, whose small ones are nothing.
        for rows in block.chunks(BLOCK) {
            blocks.push(data.put(rows)?);
        }
        block.clear();
        loop {
            let is_next = match sorted.peek() {
                Some(Ok(row)) => row.asset == number as u64,
                Some(Err(_)) => true,
                None => false,
            };
            let row = if is_next { sorted.next().transpose()? } else { None };
            block.extend(row.map(|row| {
                let [high, low] = row.rest.map(|half| u128::from(!half));
                (high << 64 | low, row.place, row.id)
            }));
            if block.len() == BLOCK || row.is_none() && !block.is_empty() {
                mark(&mut block.iter().map(|(held, ..)| Amount::from_u128(*held)));
                blocks.push(data.put(&block)?);
                block.clear();
            }
            if row.is_none() {
                break;
            }
        }
        all_moments.push(moments.stored());
    }
    blocks.push(data.part.len());
    let mut out = SegmentFile::begin(out, segments[0].chain(), segments[0].network())?;
    out.put(SUMMARY, &[Summary { accounts: rank, assets: entries.len() as u64, segments: segments.len() as u64 }])?;
    out.put(ASSETS, &entries)?;
    out.put(BLOCKS, &blocks)?;
    out.part(DATA, data.part)?;
    out.put(LARGE, &large)?;
    out.put(MOMENTS, &all_moments)?;
    out.put(MARKS, &marks)?;
    out.finish()?;
    Ok(())
}

/// The blocks on their way to the file.
pub(super) struct Data {
    pub(super) part: SectionPart,
    bytes: Vec<u8>,
}

impl Data {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self { part: SectionPart::new(spool), bytes: Vec::new() }
    }

    /// Adds a block, and returns where it begins.
    pub(super) fn put(&mut self, rows: &[(u128, u32, u32)]) -> Result<u64> {
        let start = self.part.len();
        self.bytes.clear();
        put_block(rows, &mut self.bytes);
        self.part.write(&self.bytes)?;
        Ok(start)
    }
}

/// All assets of some segments in order, and the number of each by segment and local id.
pub(super) fn assets_of(segments: &[&Segment]) -> Result<(Vec<Asset>, Vec<Vec<usize>>)> {
    let mut by_segment = Vec::with_capacity(segments.len());
    for segment in segments {
        by_segment.push((0..segment.assets()?).map(|asset| segment.asset(asset)).collect::<Result<Vec<_>>>()?);
    }
    let assets: Vec<Asset> = by_segment.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let number: HashMap<Asset, usize> = assets.iter().enumerate().map(|(number, asset)| (*asset, number)).collect();
    let numbers = by_segment.iter().map(|of| of.iter().map(|asset| number[asset]).collect()).collect();
    Ok((assets, numbers))
}

/// Returns where the histories of tokens begin in each of some segments, as all of them together state it.
pub(super) fn begins_of(segments: &[&Segment]) -> Result<Vec<Vec<HistoryStart>>> {
    let openings = openings_of(segments.iter().copied());
    let begins = |segment: &&Segment| if openings.is_empty() { Ok(Vec::new()) } else { segment.begins(&openings) };
    segments.iter().map(begins).collect()
}

/// Returns what an account held at the beginning or received, and what it sent, over several segments, by number of the
/// asset.
pub(super) fn balances(
    segments: &[&Segment],
    (numbers, begins): (&[Vec<usize>], &[Vec<HistoryStart>]),
    places: &[(u32, u32)],
) -> Result<Vec<(usize, Balance)>> {
    let mut sums: Vec<(usize, Amount, Amount)> = Vec::new();
    // Sums past 256 bits stay at the largest amount, as inside a segment.
    let add = |sum: &mut Amount, amount: Amount| *sum = sum.checked_add(amount).unwrap_or(Amount::MAX);
    for &(place, id) in places {
        for held in segments[place as usize].holdings(id, &begins[place as usize])? {
            let asset = numbers[place as usize][held.asset as usize];
            let at = sums.iter().position(|(known, ..)| *known == asset).unwrap_or_else(|| {
                sums.push((asset, Amount::ZERO, Amount::ZERO));
                sums.len() - 1
            });
            add(&mut sums[at].1, held.opening);
            add(&mut sums[at].1, held.received);
            add(&mut sums[at].2, held.sent);
        }
    }
    Ok(sums.into_iter().map(|(asset, came, sent)| (asset, Balance::of(came, sent))).collect())
}

/// All accounts of some segments in order of address, each with its places, the first segment first.
pub(super) struct Accounts<'a> {
    segments: &'a [&'a Segment],
    heads: BinaryHeap<Reverse<(Address, u32, u32)>>,
    places: Vec<(u32, u32)>,
}

impl<'a> Accounts<'a> {
    pub(super) fn new(segments: &'a [&'a Segment]) -> Result<Self> {
        let mut this = Self { segments, heads: BinaryHeap::new(), places: Vec::new() };
        for place in 0..u32::try_from(segments.len()).unwrap_or(u32::MAX) {
            this.push(place, 0)?;
        }
        Ok(this)
    }

    fn push(&mut self, place: u32, id: u32) -> Result<()> {
        let segment = self.segments[place as usize];
        if u64::from(id) < segment.addresses() {
            self.heads.push(Reverse((segment.address(id)?, place, id)));
        }
        Ok(())
    }

    /// The places of the next account, as (segment, local id).
    pub(super) fn next(&mut self) -> Result<Option<&[(u32, u32)]>> {
        let Some(&Reverse((address, ..))) = self.heads.peek() else { return Ok(None) };
        self.places.clear();
        while let Some(&Reverse((head, place, id))) = self.heads.peek() {
            if head != address {
                break;
            }
            self.heads.pop();
            self.places.push((place, id));
            self.push(place, id + 1)?;
        }
        Ok(Some(&self.places))
    }
}
