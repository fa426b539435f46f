//! An edge file: the records of the accounts of one segment, found by account.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use headwater_types::{Chain, Timestamp, Usd};

use super::pack::{
    AssetSums, BLOCK, Block, FLOW_COLUMNS, PAIR_COLUMNS, Shape, asset_block, place_width, places_by, selected,
};
use super::records::{EdgeFlows, EdgeOrder};
use super::tally::{AccountEdges, AssetRow, PairRow};
use crate::LedgerError;
use crate::bits::{get_small, packed_bytes, take_varint};
use crate::error::Result;
use crate::market::MarketStamp;
use crate::segment::{Column, Container, Section, Segment, search};

pub(super) const SUMMARY: Section<Summary> = Section::new("edge.summary");
/// The beginnings of the records of every 64th account, and the end of the last.
pub(super) const STARTS: Section<u64> = Section::new("edge.starts");
/// The distance of the beginning of each record from that.
pub(super) const STEPS: Section<u32> = Section::new("edge.steps");
/// The records.
pub(super) const DATA: Section<u8> = Section::new("edge.data");
/// Accounts per start.
pub(super) const STEP: u32 = 64;

/// Numbers about the whole file.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    pub(super) stamp: u128,
    pub(super) accounts: u64,
    pub(super) pairs: u64,
    pub(super) rows: u64,
    /// The number of transactions of its segment.
    pub(super) transactions: u64,
    pub(super) movements: u64,
    pub(super) base: i64,
}

/// The edges of one segment, open.
pub(crate) struct EdgeFile {
    chain: Chain,
    summary: Summary,
    starts: Column<u64>,
    steps: Column<u32>,
    data: Column<u8>,
}

impl EdgeFile {
    /// Reads what is about the whole file, not the records.
    pub(crate) fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        let summary = file.column(SUMMARY)?.get(0)?;
        let (starts, steps, data) = (file.column(STARTS)?, file.column(STEPS)?, file.column(DATA)?);
        Ok(Self { chain: file.chain()?, summary, starts, steps, data })
    }

    pub(crate) const fn chain(&self) -> Chain {
        self.chain
    }

    /// Under which registry and prices it was built.
    pub(crate) const fn stamp(&self) -> MarketStamp {
        MarketStamp(self.summary.stamp)
    }

    /// Returns whether it was built from a segment like this one.
    pub(crate) fn is_of(&self, segment: &Segment) -> bool {
        let Summary { accounts, transactions, movements, .. } = self.summary;
        self.chain() == segment.chain()
            && (accounts, transactions, movements)
                == (segment.addresses(), segment.transactions().into(), segment.movements())
    }

    fn base(&self) -> Timestamp {
        Timestamp::new(self.summary.base)
    }

    fn start_of(&self, account: u32) -> Result<usize> {
        if u64::from(account) == self.summary.accounts {
            return self.place(self.starts.get(self.starts.len().saturating_sub(1))?);
        }
        let start = self.starts.get((account / STEP) as usize)?;
        self.place(start.saturating_add(self.steps.get(account as usize)?.into()))
    }

    fn place(&self, at: u64) -> Result<usize> {
        usize::try_from(at).map_err(|_| self.starts.wrong(0, "lies outside"))
    }

    /// The record of an account; `None` when it has no counterparty.
    pub(crate) fn account(&self, account: u32) -> Result<Option<Record<'_>>> {
        let range = self.start_of(account)?..self.start_of(account.saturating_add(1))?;
        if range.is_empty() { Ok(None) } else { Record::open(self, range).map(Some) }
    }
}

/// The number of bytes that a record is opened by: a short one is whole then, a long one says where its parts are.
const OPENED: usize = 1024;
/// Bytes of an entry of the directory.
const ENTRY: usize = 16;
/// Up to one pair in so many is read one by one; beyond that all are.
const FEW: usize = 16;
/// Blocks that a visit keeps open.
const KEPT: usize = 4;

/// The record of one account.
pub(crate) struct Record<'a> {
    file: &'a EdgeFile,
    range: Range<usize>,
    shape: Shape,
    /// Pairs that the orders by sent and received hold; only of a long record.
    held: [usize; 2],
    /// The beginning of the directory, or of the blocks of a short record.
    behind: usize,
}

impl<'a> Record<'a> {
    fn open(file: &'a EdgeFile, range: Range<usize>) -> Result<Self> {
        let mut record = Self { file, range, shape: Shape::new(0, 0, 0), held: [0; 2], behind: 0 };
        let opened = record.range.start..record.range.end.min(record.range.start + OPENED);
        let opened = file.data.slice(opened)?;
        let mut rest = opened;
        let mut take = || take_varint(&mut rest).and_then(|count| usize::try_from(count).ok());
        let counts = [take(), take(), take()];
        let [Some(pairs), Some(flows), Some(rows)] = counts else { return Err(record.wrong()) };
        record.shape = Shape::new(pairs, flows, rows);
        if record.shape.is_long() {
            let (Some(sent), Some(received)) = (take(), take()) else { return Err(record.wrong()) };
            record.held = [sent, received];
        }
        record.behind = record.range.start + opened.len() - rest.len();
        Ok(record)
    }

    /// All of it.
    pub(crate) fn all(&self) -> Result<AccountEdges> {
        self.leading(self.shape.pairs)
    }

    /// The first pairs of an order, at most `limit`, with their asset rows.
    pub(crate) fn first(&self, order: EdgeOrder, limit: usize) -> Result<AccountEdges> {
        if order == EdgeOrder::Total {
            return self.leading(self.shape.pairs.min(limit));
        }
        let length = self.length(order);
        if length.is_none_or(|length| length.min(limit) > self.shape.pairs / FEW) {
            let all = self.all()?;
            return Ok(selected(&all, places_by(&all.pairs, order), limit));
        }
        let mut edges = AccountEdges::default();
        let at = self.order_at(order)?;
        for rank in 0..length.unwrap_or_default().min(limit) {
            let place = self.place_at(order, at, rank)?;
            let (columns, first) = self.pair_block(place / BLOCK)?;
            let pair = columns.pair(place % BLOCK, self.file.base());
            let before: usize = (0..place % BLOCK).map(|row| columns.assets(row) as usize).sum();
            edges.pairs.push(pair);
            self.push_rows(first + before, &edges.pairs[rank..], &mut edges.rows)?;
        }
        Ok(edges)
    }

    /// Shows pairs in an order, without their assets and without allocating, until `visit` breaks off: local id and
    /// flows.
    pub(crate) fn visit(
        &self,
        order: EdgeOrder,
        visit: &mut dyn FnMut(u32, &EdgeFlows) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let base = self.file.base();
        self.visit_rows(order, |columns, row| visit(columns.other(row), &columns.flows(row, base)))
    }

    /// The same with the US dollars of the order alone.
    pub(crate) fn visit_usd(
        &self,
        order: EdgeOrder,
        visit: &mut dyn FnMut(u32, Usd) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        self.visit_rows(order, |columns, row| visit(columns.other(row), columns.weight(row, order).0))
    }

    /// Shows where pairs are, in an order: their block, and the row in it.
    fn visit_rows(
        &self,
        order: EdgeOrder,
        mut show: impl FnMut(&Block<'a, PAIR_COLUMNS>, usize) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        if order == EdgeOrder::Total {
            for block in 0..self.shape.pairs.div_ceil(BLOCK) {
                let (columns, _) = self.pair_block(block)?;
                for row in 0..rows_of(block, self.shape.pairs) {
                    if show(&columns, row).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
            }
            return Ok(ControlFlow::Continue(()));
        }
        let Some(length) = self.length(order) else {
            let (columns, _) = self.pair_block(0)?;
            let mut held = [(Reverse((Usd::ZERO, 0)), 0_u32, 0_usize); BLOCK];
            let mut count = 0;
            for row in 0..self.shape.pairs {
                let weight = columns.weight(row, order);
                if weight.1 > 0 {
                    held[count] = (Reverse(weight), columns.other(row), row);
                    count += 1;
                }
            }
            held[..count].sort_unstable();
            for (.., row) in &held[..count] {
                if show(&columns, *row).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            return Ok(ControlFlow::Continue(()));
        };
        let at = self.order_at(order)?;
        // The strongest of an order are mostly among the strongest in total: in few blocks, which are kept.
        let mut kept = [const { None }; KEPT];
        for rank in 0..length {
            let place = self.place_at(order, at, rank)?;
            let block = place / BLOCK;
            let slot = &mut kept[block % KEPT];
            let columns = match slot {
                Some((held, columns)) if *held == block => columns,
                _ => &slot.insert((block, self.pair_block(block)?.0)).1,
            };
            if show(columns, place % BLOCK).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Number of pairs.
    pub(crate) const fn pairs(&self) -> usize {
        self.shape.pairs
    }

    /// Movements of all pairs in the default scope.
    pub(crate) fn transfers(&self) -> Result<u64> {
        let (mut sum, mut of_block) = (0, [0; BLOCK]);
        for block in 0..self.shape.pairs.div_ceil(BLOCK) {
            let rows = &mut of_block[..rows_of(block, self.shape.pairs)];
            self.pair_block(block)?.0.transfers(rows);
            sum += rows.iter().sum::<u64>();
        }
        Ok(sum)
    }

    /// Number of asset rows of all pairs.
    pub(crate) const fn rows(&self) -> usize {
        self.shape.rows
    }

    /// Number of pairs that an order holds; `None` where none is stored, as the record is short.
    pub(crate) fn ranks(&self, order: EdgeOrder) -> Option<usize> {
        self.length(order)
    }

    /// The pair at a rank of a stored order: local id, and what the order goes by.
    pub(crate) fn ranked(&self, order: EdgeOrder, rank: usize) -> Result<(u32, (Usd, u64))> {
        let place = self.place_at(order, self.order_at(order)?, rank)?;
        let (columns, _) = self.pair_block(place / BLOCK)?;
        Ok((columns.other(place % BLOCK), columns.weight(place % BLOCK, order)))
    }

    /// One pair with its asset rows, by the local id of the counterparty; of a long record by halving.
    pub(crate) fn find(&self, other: u32) -> Result<Option<AccountEdges>> {
        let pairs = self.shape.pairs;
        let other_at = |place: usize| -> Result<u32> { Ok(self.pair_block(place / BLOCK)?.0.other(place % BLOCK)) };
        let place = if pairs <= BLOCK {
            let (columns, _) = self.pair_block(0)?;
            (0..pairs).find(|row| columns.other(*row) == other)
        } else {
            let width = place_width(pairs);
            let at = self.order_at(EdgeOrder::Received)? + packed_bytes(self.held[1], width);
            let rank = search(0..pairs, |rank| Ok(other_at(self.packed_place(at, rank)?)? < other))?;
            let place = (rank < pairs).then(|| self.packed_place(at, rank)).transpose()?;
            match place {
                Some(place) if other_at(place)? == other => Some(place),
                _ => None,
            }
        };
        let Some(place) = place else { return Ok(None) };
        let (columns, first) = self.pair_block(place / BLOCK)?;
        let before: usize = (0..place % BLOCK).map(|row| columns.assets(row) as usize).sum();
        let mut edges = AccountEdges { pairs: vec![columns.pair(place % BLOCK, self.file.base())], rows: Vec::new() };
        self.push_rows(first + before, &edges.pairs, &mut edges.rows)?;
        Ok(Some(edges))
    }

    /// Length of a stored order; `None` when none is stored.
    fn length(&self, order: EdgeOrder) -> Option<usize> {
        let is_stored = self.shape.pairs > BLOCK;
        is_stored.then(|| match order {
            EdgeOrder::Total => self.shape.pairs,
            EdgeOrder::Sent => self.held[0],
            EdgeOrder::Received => self.held[1],
        })
    }

    /// Returns where the places of an order begin.
    fn order_at(&self, order: EdgeOrder) -> Result<usize> {
        Ok(match order {
            EdgeOrder::Total => 0,
            EdgeOrder::Sent => self.start(3)?,
            EdgeOrder::Received => self.start(3)? + packed_bytes(self.held[0], place_width(self.shape.pairs)),
        })
    }

    /// The pair at a rank of a stored order, whose places begin at `at`.
    fn place_at(&self, order: EdgeOrder, at: usize, rank: usize) -> Result<usize> {
        match order {
            EdgeOrder::Total => Ok(rank),
            EdgeOrder::Sent | EdgeOrder::Received => self.packed_place(at, rank),
        }
    }

    /// A pair, from the packed places that begin at `at`.
    fn packed_place(&self, at: usize, rank: usize) -> Result<usize> {
        let pairs = self.shape.pairs;
        let width = place_width(pairs) as usize;
        let bit = rank * width;
        let from = at + bit / 8;
        let bytes = self.file.data.slice(from..(from + 8).min(self.range.end).max(from))?;
        let place = get_small(bytes, 0, 56) >> (bit % 8) & ((1 << width) - 1);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place < pairs { Ok(place) } else { Err(self.wrong()) }
    }

    /// The pairs before a place, with their asset rows.
    fn leading(&self, end: usize) -> Result<AccountEdges> {
        let mut pairs = Vec::with_capacity(end);
        for block in 0..end.div_ceil(BLOCK) {
            let (columns, _) = self.pair_block(block)?;
            pairs.extend((0..rows_of(block, end)).map(|row| columns.pair(row, self.file.base())));
        }
        let mut rows = Vec::with_capacity(pairs.len());
        self.push_rows(0, &pairs, &mut rows)?;
        Ok(AccountEdges { pairs, rows })
    }

    /// Appends the asset rows of neighbouring pairs, the first of which begins at `start`.
    fn push_rows(&self, start: usize, pairs: &[PairRow], into: &mut Vec<AssetRow>) -> Result<()> {
        let mut of_pairs = pairs.iter().flat_map(|pair| std::iter::repeat_n(&pair.flows, pair.assets as usize));
        let end = start + pairs.iter().map(|pair| pair.assets as usize).sum::<usize>();
        if end > self.shape.rows {
            return Err(self.wrong());
        }
        let mut sums = Vec::with_capacity(BLOCK);
        let mut flow_block = None;
        for block in start / BLOCK..end.div_ceil(BLOCK) {
            let wanted = start.max(block * BLOCK) - block * BLOCK..(end - block * BLOCK).min(BLOCK);
            let (range, flow) = self.block(2, block)?;
            sums.clear();
            let before = asset_block(self.file.data.slice(range)?, rows_of(block, self.shape.rows), wanted, &mut sums);
            let mut flow = flow + before.ok_or_else(|| self.wrong())?;
            for AssetSums { asset, has_flows, received, sent } in &sums {
                let mut flows = *of_pairs.next().ok_or_else(|| self.wrong())?;
                if *has_flows {
                    if flow_block.is_none_or(|(held, _)| held != flow / BLOCK) {
                        flow_block = Some((flow / BLOCK, self.flow_block(flow / BLOCK)?));
                    }
                    flows = flow_block.map_or(flows, |(_, columns)| columns.flows(flow % BLOCK, self.file.base()));
                    flow += 1;
                }
                into.push(AssetRow { asset: *asset, flows, received: *received, sent: *sent });
            }
        }
        Ok(())
    }

    /// The pairs and assets with most movements: the local id of the counterparty and the asset row of each, most
    /// movements first, then in the order of pairs and of their rows. Reads the movements of all, and all else of those
    /// found only.
    pub(crate) fn busiest(&self, limit: usize) -> Result<Vec<(u32, AssetRow)>> {
        let mut best: BinaryHeap<Reverse<(u64, Reverse<usize>, usize)>> = BinaryHeap::new();
        let mut own = OwnTransfers { record: self, block: usize::MAX, transfers: [0; BLOCK], next: 0 };
        let mut row = 0;
        for block in 0..self.shape.pairs.div_ceil(BLOCK) {
            let (columns, _) = self.pair_block(block)?;
            let mut transfers = [0; BLOCK];
            let transfers = &mut transfers[..rows_of(block, self.shape.pairs)];
            columns.transfers(transfers);
            for (place, of_pair) in transfers.iter().enumerate() {
                let assets = columns.assets(place) as usize;
                for asset in row..row + assets {
                    // The flows of the only asset are those of the pair.
                    let count = if assets == 1 && *of_pair > 0 { *of_pair } else { own.next()? };
                    if best.len() < limit || best.peek().is_some_and(|Reverse((least, ..))| count > *least) {
                        best.push(Reverse((count, Reverse(asset), block * BLOCK + place)));
                        if best.len() > limit {
                            best.pop();
                        }
                    }
                }
                row += assets;
            }
        }
        let mut found = Vec::with_capacity(best.len());
        for Reverse((_, Reverse(row), place)) in best.into_sorted_vec() {
            let mut pair = self.pair_block(place / BLOCK)?.0.pair(place % BLOCK, self.file.base());
            pair.assets = 1;
            let mut rows = Vec::with_capacity(1);
            self.push_rows(row, std::slice::from_ref(&pair), &mut rows)?;
            found.extend(rows.into_iter().map(|row| (pair.other, row)));
        }
        Ok(found)
    }

    /// A block of pairs, and the place of its first asset row.
    fn pair_block(&self, block: usize) -> Result<(Block<'a, PAIR_COLUMNS>, usize)> {
        let (range, first) = self.block(0, block)?;
        let rows = rows_of(block, self.shape.pairs);
        Ok((Block::new(self.file.data.slice(range)?, rows).ok_or_else(|| self.wrong())?, first))
    }

    fn flow_block(&self, block: usize) -> Result<Block<'a, FLOW_COLUMNS>> {
        if block * BLOCK >= self.shape.flows {
            return Err(self.wrong());
        }
        let (range, _) = self.block(1, block)?;
        let rows = rows_of(block, self.shape.flows);
        Block::new(self.file.data.slice(range)?, rows).ok_or_else(|| self.wrong())
    }

    /// Blocks of each kind: pairs, flows, asset rows.
    fn blocks(&self) -> [usize; 3] {
        [self.shape.pairs, self.shape.flows, self.shape.rows].map(|rows| rows.div_ceil(BLOCK))
    }

    /// Returns where the blocks of a kind begin; the kind behind the last is the orders.
    fn start(&self, kind: usize) -> Result<usize> {
        let blocks = self.blocks();
        if !self.shape.is_long() {
            let lengths = |kind: usize| -> Result<usize> {
                Ok(match kind {
                    0 => self.pair_block(0)?.0.length(),
                    1 if self.shape.flows > 0 => self.flow_block(0)?.length(),
                    _ => 0,
                })
            };
            return (0..kind).try_fold(self.behind, |start, kind| Ok(start + lengths(kind)?));
        }
        let mut start = self.behind + blocks.iter().sum::<usize>() * ENTRY;
        let mut entry = 0;
        for of_kind in &blocks[..kind] {
            entry += of_kind;
            if *of_kind > 0 {
                start += self.entry(entry - 1)?[0];
            }
        }
        Ok(start)
    }

    /// Returns where a block is, and the first row that belongs to it.
    fn block(&self, kind: usize, block: usize) -> Result<(Range<usize>, usize)> {
        let start = self.start(kind)?;
        if !self.shape.is_long() {
            return Ok((start..self.range.end, 0));
        }
        let entry = self.blocks()[..kind].iter().sum::<usize>() + block;
        let begin = if block == 0 { 0 } else { self.entry(entry - 1)?[0] };
        let [end, first] = self.entry(entry)?;
        Ok((start + begin..start + end, first))
    }

    fn entry(&self, entry: usize) -> Result<[usize; 2]> {
        let at = self.behind + entry * ENTRY;
        let bytes = self.file.data.slice(at..at + ENTRY)?;
        let number = |at: usize| {
            let bytes: [u8; 8] = bytes[at..at + 8].try_into().unwrap_or_default();
            usize::try_from(u64::from_le_bytes(bytes)).unwrap_or(usize::MAX)
        };
        let [end, first] = [number(0), number(8)];
        if end > self.range.len() || first > self.shape.rows { Err(self.wrong()) } else { Ok([end, first]) }
    }

    #[cold]
    fn wrong(&self) -> LedgerError {
        self.file.data.wrong(self.range.start, "begins a record that does not add up")
    }
}

/// The movements of asset rows that have flows of their own, one after the other.
struct OwnTransfers<'r, 'a> {
    record: &'r Record<'a>,
    block: usize,
    transfers: [u64; BLOCK],
    next: usize,
}

impl OwnTransfers<'_, '_> {
    fn next(&mut self) -> Result<u64> {
        let (block, place) = (self.next / BLOCK, self.next % BLOCK);
        if block != self.block {
            let rows = rows_of(block, self.record.shape.flows);
            self.record.flow_block(block)?.transfers(&mut self.transfers[..rows]);
            self.transfers[rows..].fill(0);
            self.block = block;
        }
        self.next += 1;
        Ok(self.transfers[place])
    }
}

/// Rows of a block, when there are so many in all.
fn rows_of(block: usize, rows: usize) -> usize {
    rows.saturating_sub(block * BLOCK).min(BLOCK)
}
