//! Reading of the columns of rows: of one row alone, or of one row after the other, as a merge does.

use headwater_types::Amount;

use super::super::pack::{AmountTable, BLOCK, Table};
use crate::error::Result;

/// The reader of the rows of tables.
pub(super) trait Reading {
    fn head(&mut self, table: &Table<7>, at: usize) -> Result<[u64; 7]>;
    fn movement(&mut self, table: &Table<5>, at: usize) -> Result<[u64; 5]>;
    fn amount(&mut self, amounts: &AmountTable, at: usize) -> Result<Amount>;
}

/// Reads where it is asked to, and nothing else.
pub(super) struct DirectReads;

impl Reading for DirectReads {
    fn head(&mut self, table: &Table<7>, at: usize) -> Result<[u64; 7]> {
        table.row(at)
    }

    fn movement(&mut self, table: &Table<5>, at: usize) -> Result<[u64; 5]> {
        table.row(at)
    }

    fn amount(&mut self, amounts: &AmountTable, at: usize) -> Result<Amount> {
        amounts.get(at)
    }
}

/// Decodes whole blocks and keeps them, for rows of one segment in their order, or in order of hashes.
#[derive(Default)]
pub(crate) struct Walk {
    heads: BlockCache<7>,
    movements: BlockCache<5>,
    pub(super) hashes: BlockCache<2>,
    amounts: Vec<Amount>,
    /// The block that the amounts are of.
    block: Option<usize>,
}

impl Reading for Walk {
    fn head(&mut self, table: &Table<7>, at: usize) -> Result<[u64; 7]> {
        self.heads.row(table, at)
    }

    fn movement(&mut self, table: &Table<5>, at: usize) -> Result<[u64; 5]> {
        self.movements.row(table, at)
    }

    fn amount(&mut self, amounts: &AmountTable, at: usize) -> Result<Amount> {
        if self.block != Some(at / BLOCK) {
            self.load(amounts, at / BLOCK)?;
        }
        match self.amounts.get(at % BLOCK) {
            Some(&amount) => Ok(amount),
            None => amounts.get(at),
        }
    }
}

impl Walk {
    fn load(&mut self, table: &AmountTable, block: usize) -> Result<()> {
        self.block = None;
        self.amounts.clear();
        table.read_block(block, &mut self.amounts)?;
        self.block = Some(block);
        Ok(())
    }
}

/// The block of a table that was decoded last.
pub(super) struct BlockCache<const K: usize> {
    block: Option<usize>,
    count: usize,
    columns: [[u64; BLOCK]; K],
}

impl<const K: usize> Default for BlockCache<K> {
    fn default() -> Self {
        Self { block: None, count: 0, columns: [[0; BLOCK]; K] }
    }
}

impl<const K: usize> BlockCache<K> {
    pub(super) fn row(&mut self, table: &Table<K>, at: usize) -> Result<[u64; K]> {
        let block = at / BLOCK;
        if self.block != Some(block) {
            self.block = None;
            for (number, column) in self.columns.iter_mut().enumerate() {
                self.count = table.block(block, number, column)?;
            }
            self.block = Some(block);
        }
        if at % BLOCK >= self.count {
            return Err(table.outside(at));
        }
        Ok(self.columns.each_ref().map(|column| column[at % BLOCK]))
    }
}
