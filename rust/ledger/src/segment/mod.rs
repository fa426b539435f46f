//! One immutable file of columns: all that is held of one chain by one commit (or by a merge of several).
//!
//! A segment is made by [`build`] from joined facts and read through [`Segment`], from disk by memory map or from
//! bytes in memory, by the same code. It gives back exactly the facts that went in, and holds beside them what
//! answers need in place: postings by account, sums by account and asset, and indexes by hash and by output spent.

use std::path::Path;

use headwater_types::{Address, BlockHash, Chain, Network, Timestamp, TxHash};

use crate::Cancel;
use crate::facts::{BlockFacts, OutPoint, OutputFacts, TokenFacts, TransactionFacts};
use crate::read::Result;

/// What a segment is made of. Facts are joined: each transaction, block, contract and token occurs once, in any
/// order, and the block of every transaction is among `blocks`.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentInput {
    /// The chain.
    pub chain: Chain,
    /// Its network.
    pub network: Network,
    /// Blocks, with their times.
    pub blocks: Vec<BlockFacts>,
    /// Transactions.
    pub transactions: Vec<TransactionFacts>,
    /// Addresses that a source states to be contracts.
    pub contracts: Vec<Address>,
    /// Token facts.
    pub tokens: Vec<TokenFacts>,
}

/// The bytes of a segment file: the same for the same facts, in whatever order and on however many threads.
///
/// # Errors
/// When a transaction names a block that is not there ([`crate::LedgerError::UnknownTime`]), when facts contradict
/// each other, when the segment would pass its limits, or when cancelled.
pub fn build(_input: &SegmentInput, _cancel: &Cancel) -> Result<Vec<u8>> {
    todo!()
}

/// An input that spends an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spend {
    /// Which output it spends.
    pub output: u32,
    /// Row of the spending transaction.
    pub row: u32,
    /// Position of the input in it.
    pub input: u32,
    /// Whether the facts of the output are known to the input.
    pub known: bool,
}

/// One open segment.
pub struct Segment;

impl Segment {
    /// Opens a file by memory map. Reads the directory and the checksums, not the data.
    ///
    /// # Errors
    /// When the file cannot be read, is no segment, is cut short or damaged where it was read.
    pub fn open(_path: &Path) -> Result<Self> {
        todo!()
    }

    /// The same over bytes in memory; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`Segment::open`].
    pub fn from_bytes(_name: &str, _bytes: Vec<u8>) -> Result<Self> {
        todo!()
    }

    /// The chain.
    pub fn chain(&self) -> Chain {
        todo!()
    }

    /// The network.
    pub fn network(&self) -> Network {
        todo!()
    }

    /// Number of transactions; rows are `0..transactions()`, by (block, index with unknown last, hash).
    pub fn transactions(&self) -> u32 {
        todo!()
    }

    /// Number of movements: native, internal and token ones; on UTXO chains one per transaction and address.
    /// Non-fungible ones do not count.
    pub fn movements(&self) -> u64 {
        todo!()
    }

    /// Number of blocks in the block table.
    pub fn block_count(&self) -> u32 {
        todo!()
    }

    /// Size of the file in bytes.
    pub fn bytes(&self) -> u64 {
        todo!()
    }

    /// First and last block that hold a transaction; `None` without transactions.
    pub fn block_range(&self) -> Option<(u64, u64)> {
        todo!()
    }

    /// Earliest and latest time of a transaction; `None` without transactions.
    pub fn time_range(&self) -> Option<(Timestamp, Timestamp)> {
        todo!()
    }

    /// The row of a transaction.
    ///
    /// # Errors
    /// When the file is damaged (so everywhere below).
    pub fn find(&self, _hash: &TxHash) -> Result<Option<u32>> {
        todo!()
    }

    /// The row of the transaction at a place.
    pub fn row_at(&self, _block: u64, _index: u32) -> Result<Option<u32>> {
        todo!()
    }

    /// The hash of the transaction at a place.
    pub fn hash_at(&self, _block: u64, _index: u32) -> Result<Option<TxHash>> {
        todo!()
    }

    /// The hash of a row.
    pub fn hash(&self, _row: u32) -> Result<TxHash> {
        todo!()
    }

    /// Rows of the transactions of a block range, both ends included.
    pub fn rows_of_blocks(&self, _first: u64, _last: u64) -> Result<std::ops::Range<u32>> {
        todo!()
    }

    /// The facts of a row, exactly as they went in (unindexed ordinals are `Unindexed(0)` again).
    pub fn facts(&self, _row: u32) -> Result<TransactionFacts> {
        todo!()
    }

    /// All blocks by number, exactly as they went in.
    pub fn blocks(&self) -> Result<Vec<BlockFacts>> {
        todo!()
    }

    /// One block.
    pub fn block(&self, _number: u64) -> Result<Option<BlockFacts>> {
        todo!()
    }

    /// Hash of a block, where it is known.
    pub fn block_hash(&self, _number: u64) -> Result<Option<BlockHash>> {
        todo!()
    }

    /// The stated contracts, as they went in, by address.
    pub fn contracts(&self) -> Result<Vec<Address>> {
        todo!()
    }

    /// The token facts, as they went in, by contract.
    pub fn tokens(&self) -> Result<Vec<TokenFacts>> {
        todo!()
    }

    /// One token.
    pub fn token(&self, _contract: &Address) -> Result<Option<TokenFacts>> {
        todo!()
    }

    /// An output of a transaction held here; `None` when the transaction or the output is not.
    pub fn output(&self, _point: &OutPoint) -> Result<Option<OutputFacts>> {
        todo!()
    }

    /// The inputs held here that spend outputs of a transaction, by output.
    pub fn spenders_of(&self, _hash: &TxHash) -> Result<Vec<Spend>> {
        todo!()
    }

    /// The inputs whose output was not known, as (output, row of the spending transaction), in order of rows: what a
    /// later commit may complete.
    pub fn unresolved_inputs(&self) -> Result<Vec<(OutPoint, u32)>> {
        todo!()
    }

    /// Checks every page of the file; `progress` hears of (pages done, pages in all).
    pub fn verify(&self, _progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        todo!()
    }
}
