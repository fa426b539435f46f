//! Reading a segment.

mod accounts;
mod facts;
mod hashes;
mod hubs;
mod lines;
mod logs;
mod many;
mod openings;
mod postings;
mod source;
mod transactions;
mod utxo;
mod walk;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use headwater_types::{Address, Amount, Asset, BlockHash, Chain, Network, Timestamp, TxHash};

use self::accounts::Accounts;
use self::hubs::Hubs;
use self::openings::Openings;
use self::transactions::Transactions;
use self::utxo::Utxo;
use self::walk::DirectReads;
use super::column::{Blobs, OptionalColumn};
use super::container::Container;
use super::derived::DerivedTables;
use super::knots::Knots;
use super::layout::{self, NO_DECIMALS, NON_FUNGIBLE, Summary, account};
use super::marks::{MARKS, Marks};
use super::pack::Ints;
use super::posting::Shape;
use super::record::TransactionRecord;
use crate::error::Result;
use crate::facts::{BlockFacts, OutPoint, OutputFacts, TokenFacts, TransactionFacts};
use crate::primitives::{Opening, TransactionHead};

pub(crate) use self::hubs::{AssetPlaces, DayChange, Sums};
pub(crate) use self::lines::LineReader;
pub(crate) use self::openings::openings_of;
pub(crate) use self::postings::SegmentPostings;
pub(crate) use self::transactions::MissingOrdinals;
pub(crate) use self::walk::Walk;

/// An input that spends an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spend {
    /// The output that it spends.
    pub output: u32,
    /// Row of the spending transaction.
    pub row: u32,
    /// Position of the input in it.
    pub input: u32,
    /// True if the facts of the output are known to the input.
    pub known: bool,
}

/// One open segment: immutable, shared between threads, checked page by page as it is read.
pub struct Segment {
    file: Arc<Container>,
    summary: Summary,
    rows: u32,
    accounts: Accounts,
    assets: Ints,
    tokens: Tokens,
    blobs: Blobs,
    blocks: Blocks,
    transactions: Transactions,
    postings: SegmentPostings,
    hubs: Box<Hubs>,
    utxo: Utxo,
    marks: Marks,
    openings: Option<Openings>,
    /// Read once: every look at holdings asks for them.
    opened: Vec<(Asset, Opening)>,
    /// Values that other modules keep with it.
    pub(crate) derived: DerivedTables,
}

struct Tokens {
    length: usize,
    contracts: Ints,
    symbols: Ints,
    names: Ints,
    decimals: Ints,
}

struct Blocks {
    length: usize,
    numbers: Ints,
    times: Ints,
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
    /// When the file cannot be read, is not a segment, is cut short, is of another format, or is damaged where it was
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
        let counts = file.column(layout::COUNTS)?.get(0)?;
        let shift = file.column(layout::KNOT_SHIFT)?.get(0)?;
        let knots = Knots::new(shift, file.column(layout::KNOTS)?.all()?.to_vec());
        let shape = Shape::new(summary.transactions, summary.accounts, summary.assets, knots.clone());
        let marks = file.column(MARKS)?.get(0)?;
        let length = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let mut this = Self {
            summary,
            rows,
            accounts: Accounts::open(&file, summary.accounts)?,
            assets: Ints::open(&file, layout::ASSET_CONTRACTS)?,
            tokens: Tokens {
                length: length(counts.tokens),
                contracts: Ints::open(&file, layout::TOKEN_CONTRACTS)?,
                symbols: Ints::open(&file, layout::TOKEN_SYMBOLS)?,
                names: Ints::open(&file, layout::TOKEN_NAMES)?,
                decimals: Ints::open(&file, layout::TOKEN_DECIMALS)?,
            },
            blobs: Blobs::open(&file, layout::BLOBS)?,
            blocks: Blocks {
                length: length(counts.blocks),
                numbers: Ints::open(&file, layout::BLOCK_NUMBERS)?,
                times: Ints::open(&file, layout::BLOCK_TIMES)?,
                hashes: OptionalColumn::open(&file, layout::BLOCK_HASHES)?,
                parents: OptionalColumn::open(&file, layout::BLOCK_PARENTS)?,
            },
            transactions: Transactions::open(&file, summary, &counts, &knots)?,
            postings: SegmentPostings::open(&file, summary.accounts, shape)?,
            hubs: Box::new(Hubs::open(&file, &counts)?),
            utxo: Utxo::open(&file, &counts)?,
            marks,
            openings: Openings::open(&file, marks)?,
            opened: Vec::new(),
            derived: DerivedTables::default(),
            file,
        };
        // Whoever goes through the rows trusts their number.
        if this.transactions.heads.len() as u64 != summary.transactions {
            return Err(summaries.wrong(0, "counts another number of transactions than there are"));
        }
        this.opened = this.read_opened()?;
        Ok(this)
    }

    /// The chain.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.accounts.chain()
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
    /// Non-fungible ones and opening balances do not count.
    #[must_use]
    pub fn movements(&self) -> u64 {
        self.summary.movements
    }

    /// Counts what there is to add up for balances: movements, and balances that lists of holders state.
    pub(crate) fn balance_changes(&self) -> u64 {
        self.movements().saturating_add(self.marks.openings)
    }

    /// Number of addresses.
    #[must_use]
    pub fn addresses(&self) -> u64 {
        self.accounts.len() as u64
    }

    /// Number of blocks in the block table.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.blocks.length as u64
    }

    /// Size of the file in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.file.length()
    }

    /// Name and bytes of each section, in the order of the file.
    #[must_use]
    pub fn sections(&self) -> Vec<(String, u64)> {
        self.file.sections()
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

    /// The fee of a row, as [`fee_of`](super::fee_of) computes it on chains of accounts.
    pub(crate) fn fee(&self, row: u32) -> Result<Option<Amount>> {
        self.transactions.fee(row)
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
        self.transactions.heads.hash(row).map(TxHash::new)
    }

    /// Returns where the transaction of a row is.
    ///
    /// # Errors
    /// When the file is damaged, or has no such row.
    pub fn head(&self, row: u32) -> Result<TransactionHead> {
        let head = self.transactions.heads.get(row)?;
        Ok(TransactionHead {
            chain: self.chain(),
            hash: TxHash::new(head.hash),
            block: self.transactions.block(&head),
            time: self.transactions.time(&head),
            index: head.index,
        })
    }

    /// Rows of the transactions of a block range, both ends included.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn rows_of_blocks(&self, first: u64, last: u64) -> Result<Range<u32>> {
        self.transactions.rows_of_blocks(first, last)
    }

    /// The facts of a row, exactly as they went in (unindexed ordinals are `MissingOrdinals(0)`).
    ///
    /// # Errors
    /// When the file is damaged, or has no such row.
    pub fn facts(&self, row: u32) -> Result<TransactionFacts> {
        self.facts_with(row, MissingOrdinals::AsStated)
    }

    /// Reads a row as local ids: what a merge passes on.
    pub(crate) fn record(&self, row: u32, into: &mut TransactionRecord) -> Result<()> {
        self.transactions.record(row, (&self.utxo, &self.blobs), &mut DirectReads, into)
    }

    /// The same of one row after the other.
    pub(crate) fn next_record(&self, row: u32, walk: &mut Walk, into: &mut TransactionRecord) -> Result<()> {
        self.transactions.record(row, (&self.utxo, &self.blobs), walk, into)
    }

    /// First four bytes of the hash, and the row, at a place in order of hashes; for the merge of such orders.
    pub(crate) fn row_by_hash(&self, place: u32, walk: &mut Walk) -> Result<(u64, u32)> {
        self.transactions.by_hash(place as usize, walk)
    }

    /// The input at a place in the order of (hash spent, output, input): its number, and what it spends.
    pub(crate) fn input_by_hash(&self, place: usize) -> Result<(u32, [u8; 32], u32)> {
        self.utxo.spender_at(place)
    }

    /// All blocks by number, exactly as they went in.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn blocks(&self) -> Result<Vec<BlockFacts>> {
        (0..self.blocks.length).map(|place| self.block_at(place)).collect()
    }

    /// One block.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn block(&self, number: u64) -> Result<Option<BlockFacts>> {
        let numbers = &self.blocks.numbers;
        let place = numbers.lower_bound(0..self.blocks.length, number)?;
        let found = place < self.blocks.length && numbers.get(place)? == number;
        found.then(|| self.block_at(place)).transpose()
    }

    /// The last block up to a number.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn last_block_to(&self, number: u64) -> Result<Option<BlockFacts>> {
        let behind = match number.checked_add(1) {
            Some(next) => self.blocks.numbers.lower_bound(0..self.blocks.length, next)?,
            None => self.blocks.length,
        };
        behind.checked_sub(1).map(|place| self.block_at(place)).transpose()
    }

    fn block_at(&self, place: usize) -> Result<BlockFacts> {
        let row = u32::try_from(place).map_err(|_| self.blocks.numbers.outside(place))?;
        Ok(BlockFacts {
            number: self.blocks.numbers.get(place)?,
            hash: self.blocks.hashes.get(row)?.map(BlockHash::new),
            parent: self.blocks.parents.get(row)?.map(BlockHash::new),
            time: Timestamp::new(self.blocks.times.get(place)?.cast_signed()),
        })
    }

    /// The stated contracts, as they went in, by address.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn contracts(&self) -> Result<Vec<Address>> {
        let flags = self.accounts.all_flags()?;
        let stated = flags.iter().zip(0_u32..).filter(|(flags, _)| **flags & u64::from(account::STATED) != 0);
        stated.map(|(_, id)| self.accounts.address(id)).collect()
    }

    /// The token facts, as they went in, by contract.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn tokens(&self) -> Result<Vec<TokenFacts>> {
        (0..self.tokens.length).map(|place| self.token_at(place)).collect()
    }

    /// Returns what sources say about one token.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn token(&self, contract: &Address) -> Result<Option<TokenFacts>> {
        let Some(account) = self.accounts.find(contract)? else { return Ok(None) };
        let contracts = &self.tokens.contracts;
        let place = contracts.lower_bound(0..self.tokens.length, u64::from(account))?;
        let found = place < self.tokens.length && contracts.get(place)? == u64::from(account);
        found.then(|| self.token_at(place)).transpose()
    }

    fn token_at(&self, place: usize) -> Result<TokenFacts> {
        let text = |ids: &Ints| ids.optional_id(place)?.map(|id| self.blobs.text(id)).transpose();
        let decimals = self.tokens.decimals.get(place)?;
        Ok(TokenFacts {
            contract: self.accounts.address(self.tokens.contracts.id(place)?)?,
            symbol: text(&self.tokens.symbols)?,
            name: text(&self.tokens.names)?,
            is_non_fungible: decimals == u64::from(NON_FUNGIBLE),
            decimals: match u8::try_from(decimals) {
                Ok(decimals) => Some(decimals),
                Err(_) if [NO_DECIMALS, NON_FUNGIBLE].map(u64::from).contains(&decimals) => None,
                Err(_) => return Err(self.tokens.decimals.wrong(place, "is not a number of decimals")),
            },
        })
    }

    /// An output of a transaction held here; `None` when the transaction or the output is not.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn output(&self, point: &OutPoint) -> Result<Option<OutputFacts>> {
        let Some(row) = self.find(&point.hash)? else { return Ok(None) };
        self.output_of(row, point.index)
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

    /// The owners of what the inputs of a row spend, of at least `min_amount` satoshis each and as far as they are known, in
    /// order of the inputs.
    pub(crate) fn payers(&self, row: u32, min_amount: u64, into: &mut Vec<u32>) -> Result<()> {
        self.utxo.payers(row, min_amount, into)
    }

    /// Numbers of inputs and outputs of a row, and whether all that it is known to spend has one form of script.
    pub(crate) fn outline(&self, row: u32) -> Result<(usize, usize, bool)> {
        self.utxo.outline(row)
    }

    /// Returns where an account is among the inputs and then the outputs of a row.
    pub(crate) fn position(&self, row: u32, account: u32) -> Result<Option<usize>> {
        self.utxo.position(row, account)
    }

    /// Returns whether a row has a data output.
    pub(crate) fn has_note(&self, row: u32) -> Result<bool> {
        self.utxo.has_note(row)
    }

    /// The account that a row calls or pays.
    pub(crate) fn callee(&self, row: u32) -> Result<Option<u32>> {
        Ok(self.transactions.heads.get(row)?.to)
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

    /// Says that the postings read are not as many as accounts have.
    #[cold]
    pub(crate) fn miscounted(&self, account: u32) -> crate::LedgerError {
        self.assets.wrong(0, &format!("is beside postings that are not as many as those before account {account} are"))
    }

    /// The account that a posting is filed under.
    pub(crate) fn account_of_posting(&self, at: u64) -> Result<u32> {
        self.postings.account_of(at)
    }

    /// The number of an asset; `None` when it never moved here.
    pub(crate) fn asset_id(&self, asset: &Asset) -> Result<Option<u32>> {
        let Asset::Token(contract) = asset else { return Ok(Some(0)) };
        let Some(account) = self.accounts.find(contract)? else { return Ok(None) };
        let count = usize::try_from(self.summary.assets).unwrap_or(usize::MAX);
        let place = self.assets.lower_bound(1..count, u64::from(account))?;
        if place >= count || self.assets.get(place)? != u64::from(account) {
            return Ok(None);
        }
        u32::try_from(place).map(Some).map_err(|_| self.assets.outside(place))
    }

    pub(crate) fn is_contract(&self, account: u32) -> Result<bool> {
        Ok(self.accounts.flags(account)? != 0)
    }

    /// Number of assets; ids are below it.
    pub(crate) fn assets(&self) -> Result<u32> {
        Ok(u32::try_from(self.assets.len()?).unwrap_or(u32::MAX))
    }

    pub(crate) fn asset(&self, asset: u32) -> Result<Asset> {
        if asset == 0 {
            return Ok(Asset::Native);
        }
        self.accounts.address(self.assets.id(asset as usize)?).map(Asset::Token)
    }

    /// Number of assets, the native coin among them.
    pub(crate) fn asset_count(&self) -> u64 {
        self.summary.assets
    }

    /// The account of an asset's contract; the native coin has none.
    pub(crate) fn contract_of(&self, asset: u32) -> Result<Option<u32>> {
        if asset == 0 { Ok(None) } else { self.assets.id(asset as usize).map(Some) }
    }

    pub(crate) fn postings(&self) -> &SegmentPostings {
        &self.postings
    }

    /// The first row that is not before a place, by (block, index with unknown last, hash): with
    /// [`SegmentPostings::seek_row`] the way from a cursor to a posting.
    pub(crate) fn row_from(&self, block: u64, index: Option<u32>, hash: &TxHash) -> Result<u32> {
        self.transactions.row_from(block, index, hash)
    }

    /// The first row whose time is not before one, where times are ordered.
    pub(crate) fn row_from_time(&self, time: Timestamp) -> Result<u32> {
        self.transactions.row_from_time(time)
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

    /// Returns whether no later block has an earlier time.
    pub(crate) fn times_ordered(&self) -> bool {
        self.summary.times_ordered == 1
    }

    #[cfg(test)]
    pub(crate) fn touched_pages(&self) -> u32 {
        self.file.touched()
    }
}
