//! The receiver of what a format reads: gathered over files, committed in batches of bounded size.

mod commit;
mod lookup;
mod spans;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, BlockFacts, Claim, LogFacts, Movement, TokenFacts, TransactionFacts};
use headwater_ledger::read::CoverageTable;
use headwater_types::{Address, BlockHash, Chain, Family, Network, Timestamp, TxHash};

use self::commit::Last;
use self::spans::Spans;
use crate::IngestError;
use crate::error::{Place, RowError};
use crate::genesis::genesis_time;
use crate::options::{OnError, Options, Progress, ProgressState};
use crate::report::{FileReport, IngestReport, NO_ROW, OmittedRows, QUOTED};
use crate::source::{Counts, Input};
use crate::target::{HeldToken, Target};

/// Rows between two checks of the cancel token and two reports of progress.
const ROWS_BETWEEN_CHECKS: u64 = 4096;

/// Takes facts from a format and hands them to the target in batches.
///
/// Facts are only committed at a *boundary*: a point where the format says that what it handed over so far is
/// complete. Transactions whose block has no known time yet wait for a later batch, since a later file may state it.
pub struct Sink<'a> {
    target: &'a mut dyn Target,
    options: &'a Options,
    progress: &'a dyn Progress,
    cancel: &'a Cancel,
    report: IngestReport,
    files: usize,
    bytes_total: u64,
    bytes_before: u64,
    file: Option<Input>,
    current: FileReport,
    /// The position of the row that is being read.
    place: Place,
    pending: Batch,
    /// The rows that state each pending transaction.
    origins: Vec<RowOrigin>,
    /// The rows that state each pending block.
    block_origins: Vec<RowOrigin>,
    weight: Weight,
    groups: HashMap<(u64, TxHash), usize>,
    /// Blocks that rows stated since the last commit.
    blocks: HashMap<u64, KnownBlock>,
    /// Contracts by whether their tokens are fungible, as far as they were asked for.
    fungible: HashMap<Address, bool>,
    /// Kinds of contradictions of which the first was named: file, what it is about, field.
    named: BTreeSet<(usize, &'static str, &'static str)>,
    places: HashMap<(u64, u32), TxHash>,
    positions: HashMap<TxHash, (u64, Option<u32>)>,
    placed: usize,
    /// Senders of pending transactions, filled for formats that ask.
    senders: HashMap<TxHash, Address>,
    senders_placed: usize,
    group: u64,
    spans: Spans,
}

/// The rows that state a transaction or a block; messages name the first one.
#[derive(Debug, Clone, Copy)]
struct RowOrigin {
    /// Number of their file among those of the report.
    file: usize,
    place: Place,
    rows: usize,
}

/// The facts of a block that rows state.
#[derive(Debug, Clone, Copy)]
struct KnownBlock {
    time: Timestamp,
    hash: Option<BlockHash>,
}

#[derive(Default)]
struct Weight {
    movements: usize,
    bytes: usize,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(
        target: &'a mut dyn Target,
        options: &'a Options,
        progress: &'a dyn Progress,
        cancel: &'a Cancel,
        files: usize,
        bytes_total: u64,
    ) -> Self {
        Self {
            target,
            options,
            progress,
            cancel,
            report: IngestReport::default(),
            files,
            bytes_total,
            bytes_before: 0,
            file: None,
            current: FileReport::default(),
            place: Place::Row(0),
            origins: Vec::new(),
            block_origins: Vec::new(),
            pending: Batch::new(options.chain.unwrap_or(Chain::ETHEREUM)),
            weight: Weight::default(),
            groups: HashMap::new(),
            blocks: HashMap::new(),
            fungible: HashMap::new(),
            named: BTreeSet::new(),
            places: HashMap::new(),
            positions: HashMap::new(),
            placed: 0,
            senders: HashMap::new(),
            senders_placed: 0,
            group: 0,
            spans: Spans::default(),
        }
    }

    /// The chain of the file being read.
    #[must_use]
    pub fn chain(&self) -> Chain {
        self.pending.chain
    }

    /// The choices of the caller.
    #[must_use]
    pub fn options(&self) -> &Options {
        self.options
    }

    /// Counts one row read at this position.
    ///
    /// # Errors
    /// When the work was cancelled.
    pub fn count_row(&mut self, place: Place) -> Result<(), IngestError> {
        self.place = place;
        self.current.rows += 1;
        self.report.rows += 1;
        if self.current.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            self.cancel.check()?;
            self.report_progress();
        }
        Ok(())
    }

    /// Leaves a row out, or stops, as the caller of the ingest chose.
    ///
    /// # Errors
    /// The row's error, when the ingest stops at the first.
    pub fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        match self.options.on_error {
            OnError::Stop => Err(IngestError::Row(Box::new(error))),
            OnError::Skip => {
                self.skip(format!("{}: {}", error.place, error.field));
                Ok(())
            }
        }
    }

    fn skip(&mut self, reason: String) {
        let origin = RowOrigin { file: self.report.files.len(), place: self.place, rows: 1 };
        self.skip_of(origin, reason, Quoted::IfRoom);
    }

    /// Leaves rows out of a file: of the one being read, or of one that ended.
    fn skip_of(&mut self, origin: RowOrigin, reason: String, quoted: Quoted) {
        let rows = u64::try_from(origin.rows).unwrap_or(u64::MAX);
        self.report.skipped += rows;
        let report = self.report.files.get_mut(origin.file).unwrap_or(&mut self.current);
        report.skipped += rows;
        if quoted == Quoted::Always || report.skipped_reasons.len() < QUOTED {
            report.skipped_reasons.push(reason);
        }
    }

    /// Counts the current row as one that is understood and must not count, whatever the caller chose about broken
    /// rows. The report gives one line per reason, so a reason names the kind and not the row.
    pub fn omit(&mut self, reason: impl Into<String>) {
        let origin = RowOrigin { file: self.report.files.len(), place: self.place, rows: 1 };
        self.omit_of(origin, reason.into());
    }

    /// The same of rows of the file being read or of one that ended.
    fn omit_of(&mut self, origin: RowOrigin, reason: String) {
        let rows = u64::try_from(origin.rows).unwrap_or(u64::MAX);
        let report = self.report.files.get_mut(origin.file).unwrap_or(&mut self.current);
        match report.omitted.iter_mut().find(|omitted| omitted.reason == reason) {
            Some(omitted) => omitted.rows += rows,
            None => report.omitted.push(OmittedRows { reason, rows, first: origin.place.to_string() }),
        }
    }

    /// Returns the count of rows of the current file that were left out so far.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.current.skipped
    }

    /// Returns the count of commits so far.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.report.commits
    }

    /// Adds a warning about the current file, once.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.current.warnings.contains(&warning) {
            self.current.warnings.push(warning);
        }
    }

    /// Counts movements of non-fungible tokens.
    pub fn count_non_fungible(&mut self, count: u64) {
        self.current.non_fungible += count;
        self.report.non_fungible += count;
    }

    /// The network that the file belongs to, on UTXO chains.
    pub fn network(&mut self, network: Network) {
        self.pending.network = Some(network);
    }

    /// A block.
    pub fn block(&mut self, mut block: BlockFacts) {
        block.time = self.time_at(block.number, block.time);
        // Of two blocks of one height the first is used until the commit decides about the other.
        let known = self.blocks.entry(block.number).or_insert(KnownBlock { time: block.time, hash: block.hash });
        known.hash = known.hash.or(block.hash);
        self.weight.movements += 1;
        self.block_origins.push(RowOrigin { file: self.report.files.len(), place: self.place, rows: 1 });
        self.pending.blocks.push(block);
    }

    /// The time of a block as a source states it. Sources give none to the first block of most chains, or zero.
    fn time_at(&self, number: u64, stated: Timestamp) -> Timestamp {
        if stated.secs() == 0 { genesis_time(self.chain(), number).unwrap_or(stated) } else { stated }
    }

    /// Takes a transaction as one row states it. Other facts of the same transaction are kept apart: the store joins them.
    pub fn transaction(&mut self, facts: TransactionFacts) {
        self.transaction_of(facts, (self.place, 1));
    }

    /// Takes a transaction that so many rows state, the first of them at this position.
    pub(crate) fn transaction_of(&mut self, mut facts: TransactionFacts, (place, rows): (Place, usize)) {
        self.origins.push(RowOrigin { file: self.report.files.len(), place, rows });
        if let Some(time) = facts.time {
            let time = self.time_at(facts.block, time);
            facts.time = Some(time);
            self.blocks.entry(facts.block).or_insert(KnownBlock { time, hash: None });
        }
        self.weight.movements += facts.movements.len() + facts.logs.len();
        if let Some(utxo) = &facts.utxo {
            self.weight.movements += utxo.inputs.len() + utxo.outputs.len();
        }
        self.weight.bytes += facts.input.as_ref().map_or(0, Vec::len);
        self.weight.bytes += facts.logs.iter().map(|log| log.data.len()).sum::<usize>();
        self.pending.transactions.push(facts);
    }

    /// Begins another source inside the same file: unindexed movements of one transaction are gathered per source.
    pub fn source(&mut self, number: u64) {
        self.group = number;
    }

    /// Adds to what the current source says of a transaction: `head` is used when it has said nothing yet, or has placed
    /// the transaction in another block.
    fn entry(&mut self, head: TransactionFacts) -> &mut TransactionFacts {
        let key = (self.group, head.hash);
        let held = self.groups.get(&key).copied().filter(|&place| {
            let held = &self.pending.transactions[place];
            (held.block, held.block_hash) == (head.block, head.block_hash)
        });
        if let Some(place) = held {
            self.origins[place].rows += 1;
        } else {
            self.groups.insert(key, self.pending.transactions.len());
            self.transaction(head);
        }
        let place = self.groups[&key];
        &mut self.pending.transactions[place]
    }

    /// Takes one movement of a transaction. Rows of one file about the same transaction come together.
    pub fn movement(&mut self, mut head: TransactionFacts, movement: Movement) {
        self.weight.movements += 1;
        let approximate = std::mem::take(&mut head.approximate);
        let entry = self.entry(head);
        entry.movements.push(movement);
        entry.approximate.extend(approximate);
    }

    /// Takes one log of a transaction, with the movement that it is evidence of.
    pub fn log(&mut self, head: TransactionFacts, log: LogFacts, movement: Option<Movement>) {
        self.weight.movements += 1;
        self.weight.bytes += log.data.len();
        let entry = self.entry(head);
        entry.logs.push(log);
        entry.movements.extend(movement);
    }

    /// An address known to be a contract.
    pub fn contract(&mut self, address: Address) {
        self.pending.contracts.push(address);
    }

    /// Takes facts of a token.
    pub fn token(&mut self, token: TokenFacts) {
        self.pending.tokens.push(token);
    }

    /// A contract whose tokens are not fungible. Transfers that were read before it was known count ids as amounts.
    ///
    /// # Errors
    /// When the target cannot be read.
    pub fn non_fungible_contract(&mut self, contract: Address) -> Result<(), IngestError> {
        if self.target.token_of(self.chain(), &contract)? == HeldToken::Known {
            self.warn(format!(
                "{contract} is ERC-721, and the store may hold transfers of it whose ids count as amounts: they were \
                 read before this file; build the store anew, where files of contracts are read first"
            ));
        }
        self.fungible.insert(contract, false);
        self.token(TokenFacts { contract, symbol: None, name: None, decimals: None, is_non_fungible: true });
        Ok(())
    }

    /// A statement of completeness. Given at the end of a file, and only when no row of it was left out.
    pub fn claim(&mut self, claim: Claim) {
        self.pending.claims.push(claim);
    }

    /// Claims a table from the first to the last row of a file that is part of an export. At the end of the load the claim
    /// is extended to the ends of the export ranges in which it begins or ends. If there are none, files of transactions
    /// give them.
    pub fn claim_span(&mut self, table: CoverageTable, (first, last): (u64, u64)) {
        self.claim(Claim::Blocks { first, last, table });
        self.spans.add_span(self.export(), table, (first, last));
    }

    /// Takes the range of blocks of a file of blocks without holes: other files of the export were made for it too.
    pub fn export_range(&mut self, range: (u64, u64)) {
        self.spans.add_range(self.export(), range);
    }

    /// The export that the file being read is part of: its folder and format.
    fn export(&self) -> (PathBuf, String) {
        (self.last_file().parent().unwrap_or(Path::new("")).to_owned(), self.current.format.clone())
    }

    /// Ends work that was cancelled, where no rows are counted.
    ///
    /// # Errors
    /// When the work was cancelled.
    pub fn check(&self) -> Result<(), IngestError> {
        Ok(self.cancel.check()?)
    }

    /// Marks a point where what was handed over is complete: commits it when it has grown enough.
    ///
    /// # Errors
    /// When the target refuses the batch or the work was cancelled.
    pub fn boundary(&mut self) -> Result<(), IngestError> {
        let full = self.pending.transactions.len() >= self.options.batch_transactions
            || self.weight.movements >= self.options.batch_movements
            || self.weight.bytes >= self.options.batch_bytes;
        if full { self.commit(Last::No) } else { Ok(()) }
    }

    /// Commits what is left.
    pub(crate) fn finish(mut self) -> Result<IngestReport, IngestError> {
        self.commit(Last::Yes)?;
        Ok(self.report)
    }

    pub(crate) fn begin_file(&mut self, input: &Input, chain: Chain, report: FileReport) -> Result<(), IngestError> {
        self.cancel.check()?;
        if self.pending.chain != chain {
            self.commit(Last::Yes)?;
            self.pending = Batch::new(chain);
            self.fungible.clear();
        }
        if chain.family() == Family::Utxo && self.options.network.is_some() {
            self.pending.network = self.options.network;
        }
        self.file = Some(input.clone());
        self.current = report;
        self.groups.clear();
        self.group = 0;
        self.report_progress();
        Ok(())
    }

    /// Ends the file; `damage` is what ended it early, when broken rows are skipped.
    pub(crate) fn end_file(&mut self, damage: Option<String>) -> Result<(), IngestError> {
        if let Some(damage) = damage {
            self.skip(damage);
        }
        if self.current.rows == 0 && self.current.skipped == 0 {
            self.warn(NO_ROW);
        }
        self.report_progress();
        self.report.files.push(std::mem::take(&mut self.current));
        if let Some(file) = self.file.take() {
            self.bytes_before += file.bytes();
        }
        self.boundary()
    }

    /// The file that is being read or was read last.
    fn last_file(&self) -> &Path {
        let ended = || self.report.files.last().map_or(Path::new(""), |report| &report.path);
        self.file.as_ref().map_or_else(ended, Input::path)
    }

    fn report_progress(&self) {
        let Some(file) = &self.file else { return };
        let path: &Path = file.path();
        self.progress.update(ProgressState {
            file: path,
            file_number: self.report.files.len() + 1,
            files: self.files,
            bytes_done: self.bytes_before + file.done(),
            bytes_total: self.bytes_total,
            rows: self.report.rows,
        });
    }
}

impl Counts for Sink<'_> {
    fn count_row(&mut self, place: Place) -> Result<(), IngestError> {
        Sink::count_row(self, place)
    }

    fn reject(&mut self, error: RowError) -> Result<(), IngestError> {
        Sink::reject(self, error)
    }
}

/// The treatment of a reason beyond the first few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Always,
    IfRoom,
}
