//! A holder table on disk: of each asset blocks of up to 256 holders, packed.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use headwater_types::{Amount, Asset, Chain};

use super::build::Count;
use super::records::{Balances, HolderBatch, VisitHolders};
use crate::LedgerError;
use crate::bits::{get, get_small, packed_bytes, put_column, put_widths, width};
use crate::read::{AccountRef, Result};
use crate::segment::{Column, Container, Section};
use crate::snapshot::pack;

pub(super) const SUMMARY: Section<Summary> = Section::new("holder.summary");
pub(super) const ASSETS: Section<AssetEntry> = Section::new("holder.assets");
/// Where each block begins, and where the last one ends.
pub(super) const BLOCKS: Section<u64> = Section::new("holder.blocks");
pub(super) const DATA: Section<u8> = Section::new("holder.data");
/// Balances of at least 2^128, in order of their holders.
pub(super) const LARGE: Section<[u8; 32]> = Section::new("holder.large");
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

    fn is_of(&self, asset: &Asset) -> bool {
        let other = Self::new(asset, &Count::default(), 0, 0);
        (self.is_token, self.key) == (other.is_token, other.key)
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
    file: Arc<Container>,
    summary: Summary,
    assets: Column<AssetEntry>,
    blocks: Column<u64>,
    data: Column<u8>,
    large: Column<[u8; 32]>,
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
            file,
        })
    }

    pub(crate) fn chain(&self) -> Chain {
        self.file.chain()
    }

    /// How many segments it covers.
    pub(crate) const fn segments(&self) -> u64 {
        self.summary.segments
    }

    /// Checks every page.
    pub(crate) fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.file.verify(progress)
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

    /// The rows of each asset, as [`HolderFile::rows`]; whoever visits them is shown one block at a time.
    pub(super) fn all_rows<'a>(&'a self, covered: &'a [u32]) -> Result<impl Iterator<Item = AssetRows<'a>>> {
        Ok(self.assets.all()?.iter().map(move |entry| AssetRows { file: self, entry: *entry, covered }))
    }

    #[cold]
    pub(super) fn unknown_account(&self) -> LedgerError {
        self.blocks.wrong(0, "is of a table that names accounts which no segment has")
    }

    /// The rows of an asset; `covered` gives the places of the segments in the generation.
    pub(super) fn rows<'a>(&'a self, asset: &Asset, covered: &'a [u32]) -> Result<Option<AssetRows<'a>>> {
        let entries = self.assets.all()?;
        // Few enough to look through; the native coin is the first.
        let entry = entries.iter().find(|entry| entry.is_of(asset));
        Ok(entry.map(|entry| AssetRows { file: self, entry: *entry, covered }))
    }
}

/// The rows of one asset in a table.
pub(super) struct AssetRows<'a> {
    file: &'a HolderFile,
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

    /// Shows them in order; tells whether `visit` broke off.
    pub(super) fn visit(&self, visit: VisitHolders<'_>) -> Result<ControlFlow<()>> {
        let (mut accounts, mut balances, mut amounts) = (Vec::new(), Vec::new(), Vec::new());
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let large = place(self.entry.large);
        let mut block = place(self.entry.first_block);
        let mut left = place(self.entry.rows);
        let mut large_left = large;
        while left > 0 {
            let is_large = large_left > 0;
            let rows = if is_large { large_left.min(BLOCK) } else { left.min(BLOCK) };
            self.read(block, rows, &mut accounts, &mut balances)?;
            let shown = if is_large {
                let start = place(self.entry.first_large) + large - large_left;
                amounts.clear();
                amounts.extend(
                    self.file.large.slice(start..start + rows)?.iter().map(|bytes| Amount::from_be_bytes(*bytes)),
                );
                large_left -= rows;
                Balances::Large(&amounts)
            } else {
                Balances::Small(&balances)
            };
            if visit(HolderBatch { accounts: &accounts, balances: shown }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            left -= rows;
            block += 1;
        }
        Ok(ControlFlow::Continue(()))
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
