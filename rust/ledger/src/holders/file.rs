//! A holder table on disk: of each asset blocks of up to 256 holders, packed.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use headwater_types::{Amount, Asset, Chain};
use ruint::aliases::U256;

use super::batch::{Balances, HolderBatch, VisitHolders};
use super::moments::{Moments, StoredMoments, Sum, Top, wide};

use crate::LedgerError;
use crate::bits::{get, get_small, packed_bytes, put_column, put_widths, width};
use crate::error::Result;
use crate::primitives::AccountRef;
use crate::primitives::pack;
use crate::segment::{Column, Container, Section, search};

pub(super) const SUMMARY: Section<Summary> = Section::new("holder.summary");
pub(super) const ASSETS: Section<AssetEntry> = Section::new("holder.assets");
/// The beginning of each block, and the end of the last one.
pub(super) const BLOCKS: Section<u64> = Section::new("holder.blocks");
pub(super) const DATA: Section<u8> = Section::new("holder.data");
/// Balances of at least 2^128, in order of their holders.
pub(super) const LARGE: Section<[u8; 32]> = Section::new("holder.large");
/// The sums over the holders of each asset.
pub(super) const MOMENTS: Section<StoredMoments> = Section::new("holder.moments");
/// One for each block.
pub(super) const MARKS: Section<Mark> = Section::new("holder.marks");
/// Holders of a block.
pub(super) const BLOCK: usize = 256;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    pub(super) accounts: u64,
    pub(super) assets: u64,
    pub(super) segments: u64,
}

/// An asset and where its holders are.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct AssetEntry {
    key: [u8; 24],
    rows: u64,
    negative: u64,
    /// Large ones among the rows, which come first and have blocks of their own.
    large: u64,
    first_block: u64,
    first_large: u64,
    total: [u8; 32],
    is_token: u32,
    has_total: u32,
}

/// The running counts of an asset.
#[derive(Clone, Default)]
pub(super) struct Count {
    pub(super) negative: u64,
    pub(super) rows: u64,
    pub(super) total: Option<Amount>,
    /// Balances of at least 2^128, with rank, place and id.
    pub(super) large: Vec<(Amount, u64, u32, u32)>,
}

impl AssetEntry {
    pub(super) fn new(asset: &Asset, count: &Count, first_block: usize, first_large: usize) -> Self {
        let mut key = [0; 24];
        if let Some(contract) = asset.contract() {
            let bytes = contract.key();
            key[..bytes.as_slice().len()].copy_from_slice(bytes.as_slice());
        }
        Self {
            key,
            rows: count.rows,
            negative: count.negative,
            large: count.large.len() as u64,
            first_block: first_block as u64,
            first_large: first_large as u64,
            total: count.total.unwrap_or_default().to_be_bytes(),
            is_token: u32::from(asset.contract().is_some()),
            has_total: u32::from(count.total.is_some()),
        }
    }

    /// Assets are in this order: the coin of the chain, then tokens by contract.
    const fn order(&self) -> (u32, [u8; 24]) {
        (self.is_token, self.key)
    }
}

/// The first holder of a block among those of its asset: by these it is found.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Mark {
    /// The sum over the blocks before.
    before: [u64; 5],
    /// The smallest balance of the block.
    least: [u64; 4],
}

impl Mark {
    pub(super) fn new(before: Sum, least: Amount) -> Self {
        let (mut mark, least) = (Self { before: [0; 5], least: [0; 4] }, wide(least));
        // No sum of 2^64 balances passes 320 bits.
        mark.before.copy_from_slice(&before.as_limbs()[..5]);
        mark.least.copy_from_slice(&least.as_limbs()[..4]);
        mark
    }

    fn before(&self) -> Sum {
        Sum::from_limbs_slice(&self.before)
    }

    fn least(&self) -> Amount {
        Amount::from_be_bytes(U256::from_limbs(self.least).to_be_bytes())
    }
}

/// Packs holders given as (balance, place of the segment, local id).
pub(super) fn put_block(rows: &[(u128, u32, u32)], out: &mut Vec<u8>) {
    let least = rows.iter().map(|(balance, ..)| *balance).min().unwrap_or(0);
    let columns: [Vec<u128>; 3] = [
        rows.iter().map(|(balance, ..)| balance - least).collect(),
        rows.iter().map(|(_, place, _)| u128::from(*place)).collect(),
        rows.iter().map(|(.., id)| u128::from(*id)).collect(),
    ];
    let widths = columns.each_ref().map(|column| width(column));
    out.extend_from_slice(&least.to_le_bytes());
    put_widths(&widths, out);
    for (column, width) in columns.iter().zip(widths) {
        put_column(column, width, out);
    }
}

/// The table of one chain, open.
pub(crate) struct HolderFile {
    chain: Chain,
    summary: Summary,
    assets: Column<AssetEntry>,
    blocks: Column<u64>,
    data: Column<u8>,
    large: Column<[u8; 32]>,
    moments: Column<StoredMoments>,
    marks: Column<Mark>,
}

impl HolderFile {
    pub(crate) fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        Ok(Self {
            summary: file.column(SUMMARY)?.get(0)?,
            assets: file.column(ASSETS)?,
            blocks: file.column(BLOCKS)?,
            data: file.column(DATA)?,
            large: file.column(LARGE)?,
            moments: file.column(MOMENTS)?,
            marks: file.column(MARKS)?,
            chain: file.chain()?,
        })
    }

    pub(crate) const fn chain(&self) -> Chain {
        self.chain
    }

    /// Returns the number of segments it covers.
    pub(crate) const fn segments(&self) -> u64 {
        self.summary.segments
    }

    pub(super) const fn summary(&self) -> Summary {
        self.summary
    }

    pub(super) fn assets(&self) -> Result<&[AssetEntry]> {
        self.assets.all()
    }

    /// All balances of at least 2^128.
    pub(super) fn large(&self) -> Result<&[[u8; 32]]> {
        self.large.all()
    }

    /// The sums of all assets, and the marks of all blocks.
    pub(super) fn measures(&self) -> Result<(&[StoredMoments], &[Mark])> {
        Ok((self.moments.all()?, self.marks.all()?))
    }

    /// The rows of each asset, as [`HolderFile::rows`]; whoever visits them is shown one block at a time.
    pub(super) fn all_rows<'a>(&'a self, covered: &'a [u32]) -> Result<impl Iterator<Item = AssetRows<'a>>> {
        let entries = self.assets.all()?.iter().enumerate();
        Ok(entries.map(move |(number, entry)| AssetRows { file: self, number, entry: *entry, covered }))
    }

    #[cold]
    pub(super) fn unknown_account(&self) -> LedgerError {
        self.blocks.wrong(0, "is of a table that names accounts which no segment has")
    }

    /// The rows of an asset; `covered` gives the places of the segments in the generation.
    pub(super) fn rows<'a>(&'a self, asset: &Asset, covered: &'a [u32]) -> Result<Option<AssetRows<'a>>> {
        let wanted = AssetEntry::new(asset, &Count::default(), 0, 0).order();
        let number = search(0..self.assets.len(), |number| Ok(self.assets.get(number)?.order() < wanted))?;
        if number == self.assets.len() {
            return Ok(None);
        }
        let entry = self.assets.get(number)?;
        Ok((entry.order() == wanted).then_some(AssetRows { file: self, number, entry, covered }))
    }
}

/// The rows of one asset in a table.
pub(super) struct AssetRows<'a> {
    file: &'a HolderFile,
    number: usize,
    entry: AssetEntry,
    covered: &'a [u32],
}

impl AssetRows<'_> {
    pub(super) const fn count(&self) -> u64 {
        self.entry.rows
    }

    pub(super) const fn negative(&self) -> u64 {
        self.entry.negative
    }

    pub(super) fn total(&self) -> Option<Amount> {
        (self.entry.has_total == 1).then(|| Amount::from_be_bytes(self.entry.total))
    }

    /// Their sums.
    pub(super) fn moments(&self) -> Result<Moments> {
        Ok(Moments::read(self.entry.rows, &self.file.moments.get(self.number)?))
    }

    /// Says that blocks are soon looked for: their marks are read in one go, not page by page.
    pub(super) fn will_search(&self) {
        let first = place(self.entry.first_block);
        self.file.marks.will_need(first..first + self.blocks());
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        let large = self.large();
        large.div_ceil(BLOCK) + place(self.entry.rows).saturating_sub(large).div_ceil(BLOCK)
    }

    /// Those in front of a block, which may be the one behind the last.
    pub(super) fn before(&self, block: usize) -> Result<Top> {
        if block >= self.blocks() {
            return Ok(self.moments()?.top());
        }
        Ok(Top { count: self.first_row(block) as u64, sum: self.mark(block)?.before() })
    }

    /// The smallest balance of a block.
    pub(super) fn least(&self, block: usize) -> Result<Amount> {
        Ok(self.mark(block)?.least())
    }

    /// All that hold at least so much.
    pub(super) fn at_least(&self, balance: Amount) -> Result<Top> {
        let block = search(0..self.blocks(), |block| Ok(self.least(block)? >= balance))?;
        let mut top = self.before(block)?;
        if block < self.blocks() {
            let balances = self.balances(block)?;
            let those = balances.into_iter().take_while(|held| *held >= balance);
            top = those.fold(top, |top, held| top.and(1, held));
        }
        Ok(top)
    }

    fn mark(&self, block: usize) -> Result<Mark> {
        self.file.marks.get(place(self.entry.first_block) + block)
    }

    fn large(&self) -> usize {
        place(self.entry.large)
    }

    /// The place of the first row of a block.
    fn first_row(&self, block: usize) -> usize {
        let (large, large_blocks) = (self.large(), self.large().div_ceil(BLOCK));
        if block < large_blocks { block * BLOCK } else { large + (block - large_blocks) * BLOCK }
    }

    /// Shows those from a block on in order; returns whether `visit` broke off.
    pub(super) fn visit(&self, first: usize, visit: VisitHolders<'_>) -> Result<ControlFlow<()>> {
        let mut room = Room::default();
        for block in first..self.blocks() {
            if visit(self.batch(block, &mut room)?).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The balances of a block.
    pub(super) fn balances(&self, block: usize) -> Result<Vec<Amount>> {
        Ok(self.batch(block, &mut Room::default())?.rows().map(|(_, held)| held).collect())
    }

    /// The first holder of a block.
    pub(super) fn first(&self, block: usize) -> Result<Option<(AccountRef, Amount)>> {
        Ok(self.batch(block, &mut Room::default())?.rows().next())
    }

    fn batch<'r>(&self, block: usize, room: &'r mut Room) -> Result<HolderBatch<'r>> {
        let (large, start) = (self.large(), self.first_row(block));
        let is_large = start < large;
        let end = if is_large { large } else { place(self.entry.rows) };
        let rows = BLOCK.min(end - start);
        self.read(place(self.entry.first_block) + block, rows, &mut room.accounts, &mut room.small)?;
        let balances = if is_large {
            let start = place(self.entry.first_large) + start;
            let bytes = self.file.large.slice(start..start + rows)?;
            room.large.clear();
            room.large.extend(bytes.iter().map(|bytes| Amount::from_be_bytes(*bytes)));
            Balances::Large(&room.large)
        } else {
            Balances::Small(&room.small)
        };
        Ok(HolderBatch { accounts: &room.accounts, balances })
    }

    fn read(&self, block: usize, rows: usize, accounts: &mut Vec<AccountRef>, balances: &mut Vec<u128>) -> Result<()> {
        const HEAD: usize = 16 + 3;
        let wrong = || self.file.blocks.wrong(block, "begins a block that does not add up");
        let ends = self.file.blocks.slice(block..block + 2)?;
        let range = |at: u64| usize::try_from(at).map_err(|_| wrong());
        let bytes = self.file.data.slice(range(ends[0])?..range(ends[1])?)?;
        let (head, packed) = bytes.split_at_checked(HEAD).ok_or_else(wrong)?;
        let least = u128::from_le_bytes(head[..16].try_into().map_err(|_| wrong())?);
        let widths = [head[16], head[17], head[18]].map(u32::from);
        let lengths = widths.map(|width| packed_bytes(rows, width));
        if widths.iter().any(|width| *width > 128) || packed.len() != lengths.iter().sum::<usize>() {
            return Err(wrong());
        }
        let (held, packed) = packed.split_at(lengths[0]);
        let (places, ids) = packed.split_at(lengths[1]);
        accounts.clear();
        balances.clear();
        for row in 0..rows {
            balances.push(least.wrapping_add(get(held, row, widths[0])));
            let place = usize::try_from(get_small(places, row, widths[1])).unwrap_or(usize::MAX);
            let place = *self.covered.get(place).ok_or_else(wrong)?;
            let id = u32::try_from(get_small(ids, row, widths[2])).map_err(|_| wrong())?;
            accounts.push(AccountRef(pack(place, id)));
        }
        Ok(())
    }
}

/// The rows of one block after the other.
#[derive(Default)]
struct Room {
    accounts: Vec<AccountRef>,
    small: Vec<u128>,
    large: Vec<Amount>,
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
