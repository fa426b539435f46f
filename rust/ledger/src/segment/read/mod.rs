//! Reading a segment.

mod accounts;
mod many;
mod postings;
mod transactions;
mod utxo;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use headwater_types::{Address, Asset, BlockHash, Chain, Network, Timestamp, TxHash};

use self::accounts::Accounts;
use self::postings::RawPostings;
use self::transactions::{Dictionaries, Transactions};
use self::utxo::Utxo;
use super::column::{Blobs, Column, NONE, OptionalColumn};
use super::container::Container;
use super::layout::{self, NO_DECIMALS, Summary, account};
use crate::facts::{BlockFacts, OutPoint, OutputFacts, TokenFacts, TransactionFacts};
use crate::read::{Result, TransactionHead};

pub(crate) use self::accounts::Sums;
pub(crate) use self::postings::{PostingsReader, RawPosting};
pub(crate) use self::transactions::Unindexed;

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

/// One open segment: immutable, shared between threads, checked page by page as it is read.
pub struct Segment {
    file: Arc<Container>,
    summary: Summary,
    rows: u32,
    accounts: Accounts,
    assets: Column<u32>,
    tokens: Tokens,
    blobs: Blobs,
    blocks: Blocks,
    transactions: Transactions,
    postings: RawPostings,
    utxo: Utxo,
}

struct Tokens {
    contracts: Column<u32>,
    symbols: Column<u32>,
    names: Column<u32>,
    decimals: Column<u16>,
}

struct Blocks {
    numbers: Column<u64>,
    times: Column<i64>,
    hashes: OptionalColumn<[u8; 32]>,
    parents: OptionalColumn<[u8; 32]>,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment")
            .field("chain", &self.chain())
            .field("transactions", &self.rows)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl Segment {
    /// Opens a file by memory map. Reads the directory and the checksums, not the data.
    ///
    /// # Errors
    /// When the file cannot be read, is no segment, is cut short, is of a newer format, or is damaged where it was
    /// read.
    pub fn open(path: &Path) -> Result<Self> {
        Self::read(Container::open(path)?)
    }

    /// The same over bytes in memory; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`Segment::open`].
    pub fn from_bytes(name: &str, bytes: impl AsRef<[u8]>) -> Result<Self> {
        Self::read(Container::from_bytes(name, bytes.as_ref())?)
    }

    fn read(file: Container) -> Result<Self> {
        let file = Arc::new(file);
        let summaries = file.column(layout::SUMMARY)?;
        let summary = summaries.get(0)?;
        let rows = u32::try_from(summary.transactions)
            .map_err(|_| summaries.wrong(0, "counts more transactions than rows can number"))?;
        Ok(Self {
            summary,
            rows,
            accounts: Accounts::open(&file)?,
            assets: file.column(layout::ASSET_CONTRACTS)?,
            tokens: Tokens {
                contracts: file.column(layout::TOKEN_CONTRACTS)?,
                symbols: file.column(layout::TOKEN_SYMBOLS)?,
                names: file.column(layout::TOKEN_NAMES)?,
                decimals: file.column(layout::TOKEN_DECIMALS)?,
            },
            blobs: Blobs::open(&file, layout::BLOBS)?,
            blocks: Blocks {
                numbers: file.column(layout::BLOCK_NUMBERS)?,
                times: file.column(layout::BLOCK_TIMES)?,
                hashes: OptionalColumn::open(&file, layout::BLOCK_HASHES)?,
                parents: OptionalColumn::open(&file, layout::BLOCK_PARENTS)?,
            },
            transactions: Transactions::open(&file, summary)?,
            postings: RawPostings::open(&file)?,
            utxo: Utxo::open(&file)?,
            file,
        })
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.file.chain()
    }

    /// The network.
    #[must_use]
    pub fn network(&self) -> Network {
        self.file.network()
    }

    /// Number of transactions; rows are `0..transactions()`, by (block, index with unknown last, hash).
    #[must_use]
    pub fn transactions(&self) -> u32 {
        self.rows
    }

    /// Number of movements: native, internal and token ones; on UTXO chains one per transaction and address.
    /// Non-fungible ones do not count.
    #[must_use]
    pub fn movements(&self) -> u64 {
        self.summary.movements
    }

    /// Number of addresses.
    #[must_use]
    pub fn addresses(&self) -> u64 {
        self.accounts.len() as u64
    }

    /// Number of blocks in the block table.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.blocks.numbers.len() as u64
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.file.length()
    }

    /// First and last block that hold a transaction; `None` without transactions.
    #[must_use]
    pub fn block_range(&self) -> Option<(u64, u64)> {
        (self.rows > 0).then_some((self.summary.first_block, self.summary.last_block))
    }

    /// Earliest and latest time of a transaction; `None` without transactions.
    #[must_use]
    pub fn time_range(&self) -> Option<(Timestamp, Timestamp)> {
        let Summary { first_time, last_time, .. } = self.summary;
        (self.rows > 0).then_some((Timestamp::new(first_time), Timestamp::new(last_time)))
    }

    /// The row of a transaction.
    ///
    /// # Errors
    /// When the file is damaged where it is read (so everywhere below).
    pub fn find(&self, hash: &TxHash) -> Result<Option<u32>> {
        self.transactions.find(hash)
    }

    /// The row of the transaction at a place.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn row_at(&self, block: u64, index: u32) -> Result<Option<u32>> {
        self.transactions.row_at(block, index)
    }

    /// The hash of the transaction at a place.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn hash_at(&self, block: u64, index: u32) -> Result<Option<TxHash>> {
        self.row_at(block, index)?.map(|row| self.hash(row)).transpose()
    }

    /// The hash of a row.
    ///
    /// # Errors
    /// When the file is damaged, or has no such row.
    pub fn hash(&self, row: u32) -> Result<TxHash> {
        Ok(TxHash::new(self.transactions.head(row)?.hash))
    }

    /// Where the transaction of a row stands.
    ///
    /// # Errors
    /// When the file is damaged, or has no such row.
    pub fn head(&self, row: u32) -> Result<TransactionHead> {
        let head = self.transactions.head(row)?;
        Ok(TransactionHead {
            chain: self.chain(),
            hash: TxHash::new(head.hash),
            block: self.transactions.block(&head),
            time: self.transactions.time(&head),
            index: transactions::index_of(&head),
        })
    }

    /// Rows of the transactions of a block range, both ends included.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn rows_of_blocks(&self, first: u64, last: u64) -> Result<Range<u32>> {
        self.transactions.rows_of_blocks(first, last)
    }

    /// The facts of a row, exactly as they went in (unindexed ordinals are `Unindexed(0)`).
    ///
    /// # Errors
    /// When the file is damaged, or has no such row.
    pub fn facts(&self, row: u32) -> Result<TransactionFacts> {
        self.facts_with(row, Unindexed::AsStated)
    }

    pub(crate) fn facts_with(&self, row: u32, unindexed: Unindexed) -> Result<TransactionFacts> {
        self.transactions.facts(row, unindexed, &self.dictionaries())
    }

    fn dictionaries(&self) -> Dictionaries<'_> {
        Dictionaries { accounts: &self.accounts, assets: &self.assets, blobs: &self.blobs, utxo: &self.utxo }
    }

    /// All blocks by number, exactly as they went in.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn blocks(&self) -> Result<Vec<BlockFacts>> {
        (0..self.blocks.numbers.len()).map(|place| self.block_at(place)).collect()
    }

    /// One block.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn block(&self, number: u64) -> Result<Option<BlockFacts>> {
        let numbers = &self.blocks.numbers;
        let place = numbers.partition(0..numbers.len(), |held| held < number)?;
        let found = place < numbers.len() && numbers.get(place)? == number;
        found.then(|| self.block_at(place)).transpose()
    }

    fn block_at(&self, place: usize) -> Result<BlockFacts> {
        let row = u32::try_from(place).map_err(|_| self.blocks.numbers.outside(place))?;
        Ok(BlockFacts {
            number: self.blocks.numbers.get(place)?,
            hash: self.blocks.hashes.get(row)?.map(BlockHash::new),
            parent: self.blocks.parents.get(row)?.map(BlockHash::new),
            time: Timestamp::new(self.blocks.times.get(place)?),
        })
    }

    /// The stated contracts, as they went in, by address.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn contracts(&self) -> Result<Vec<Address>> {
        let flags = self.accounts.all_flags()?.iter().zip(0_u32..);
        flags.filter(|(flags, _)| *flags & account::STATED != 0).map(|(_, id)| self.accounts.address(id)).collect()
    }

    /// The token facts, as they went in, by contract.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn tokens(&self) -> Result<Vec<TokenFacts>> {
        (0..self.tokens.contracts.len()).map(|place| self.token_at(place)).collect()
    }

    /// What sources say about one token.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn token(&self, contract: &Address) -> Result<Option<TokenFacts>> {
        let Some(account) = self.accounts.find(contract)? else { return Ok(None) };
        let contracts = &self.tokens.contracts;
        let place = contracts.partition(0..contracts.len(), |held| held < account)?;
        let found = place < contracts.len() && contracts.get(place)? == account;
        found.then(|| self.token_at(place)).transpose()
    }

    fn token_at(&self, place: usize) -> Result<TokenFacts> {
        let text = |id: u32| (id != NONE).then(|| self.blobs.text(id)).transpose();
        let decimals = self.tokens.decimals.get(place)?;
        Ok(TokenFacts {
            contract: self.accounts.address(self.tokens.contracts.get(place)?)?,
            symbol: text(self.tokens.symbols.get(place)?)?,
            name: text(self.tokens.names.get(place)?)?,
            decimals: match u8::try_from(decimals) {
                Ok(decimals) => Some(decimals),
                Err(_) if decimals == NO_DECIMALS => None,
                Err(_) => return Err(self.tokens.decimals.wrong(place, "is no number of decimals")),
            },
        })
    }

    /// An output of a transaction held here; `None` when the transaction or the output is not.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn output(&self, point: &OutPoint) -> Result<Option<OutputFacts>> {
        let Some(row) = self.find(&point.hash)? else { return Ok(None) };
        self.utxo.output(row, point.index, &self.dictionaries())
    }

    /// The inputs held here that spend outputs of a transaction, by output.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn spenders_of(&self, hash: &TxHash) -> Result<Vec<Spend>> {
        self.utxo.spenders_of(hash)
    }

    /// The inputs whose output was not known, as (output, row of the spending transaction), in order of rows: what a
    /// later commit may complete.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn unresolved_inputs(&self) -> Result<Vec<(OutPoint, u32)>> {
        self.utxo.unresolved(self.rows)
    }

    /// Checks every page of the file; `progress` hears of (pages done, pages in all).
    ///
    /// # Errors
    /// At the first damaged page.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        self.file.verify(progress)
    }

    pub(crate) fn account(&self, address: &Address) -> Result<Option<u32>> {
        self.accounts.find(address)
    }

    pub(crate) fn address(&self, account: u32) -> Result<Address> {
        self.accounts.address(account)
    }

    /// Number of accounts; ids are `0..accounts()`, in order of address.
    pub(crate) fn accounts(&self) -> Result<u32> {
        u32::try_from(self.accounts.len()).map_err(|_| self.assets.wrong(0, "has more accounts than ids can number"))
    }

    /// The first account whose address is not before this one.
    pub(crate) fn first_account_from(&self, address: &Address) -> Result<u32> {
        let place = self.accounts.first_from(address)?;
        u32::try_from(place).map_err(|_| self.assets.wrong(0, "has more accounts than ids can number"))
    }

    /// The account that a posting is filed under.
    pub(crate) fn account_of_posting(&self, at: u64) -> Result<u32> {
        self.postings.account_of(at)
    }

    /// The number of an asset; `None` when it never moved here.
    pub(crate) fn asset_id(&self, asset: &Asset) -> Result<Option<u32>> {
        let Asset::Token(contract) = asset else { return Ok(Some(0)) };
        let Some(account) = self.accounts.find(contract)? else { return Ok(None) };
        let place = self.assets.partition(1..self.assets.len(), |held| held < account)?;
        if place >= self.assets.len() || self.assets.get(place)? != account {
            return Ok(None);
        }
        u32::try_from(place).map(Some).map_err(|_| self.assets.outside(place))
    }

    pub(crate) fn is_contract(&self, account: u32) -> Result<bool> {
        Ok(self.accounts.flags(account)? != 0)
    }

    pub(crate) fn asset(&self, asset: u32) -> Result<Asset> {
        self.dictionaries().asset(asset)
    }

    pub(crate) fn holdings(&self, account: u32) -> Result<Vec<Sums>> {
        self.accounts.holdings(account)
    }

    pub(crate) fn postings(&self) -> &dyn PostingsReader {
        &self.postings
    }

    /// Places, in order of text, of the addresses whose text begins with `start`.
    pub(crate) fn with_prefix(&self, start: &str) -> Result<Range<usize>> {
        self.accounts.with_prefix(start)
    }

    pub(crate) fn at_text(&self, place: usize) -> Result<u32> {
        self.accounts.at_text(place)
    }

    /// The first block and time that postings count from.
    pub(crate) fn base(&self) -> (u64, Timestamp) {
        (self.summary.base_block, Timestamp::new(self.summary.base_time))
    }

    /// Whether no later block has an earlier time.
    pub(crate) fn times_ordered(&self) -> bool {
        self.summary.times_ordered == 1
    }

    #[cfg(test)]
    pub(crate) fn touched_pages(&self) -> u32 {
        self.file.touched()
    }
}
