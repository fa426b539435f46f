//! The load of a range of blocks from nodes into a store: fetched at the same time, verified, and committed in order.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use headwater_ingest::{LoadStart, Options, Progress, ProgressState, StoreReport, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::Snapshot;
use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::read::{Coverage, CoverageTable, Generation as _, Transactions as _, uncovered};
use headwater_ledger::store::{CommitReport, Writer};
use headwater_types::{BlockHash, Chain, Family, Timestamp};
use serde::Serialize;

use crate::bitcoin_source::BitcoinSource;
use crate::error::{FetchError, NodeError};
use crate::evm_source::EvmSource;
use crate::pool::Providers;
use crate::queue::Queue;
use crate::score_card::ProviderSummary;
use crate::score_file;
use crate::source::{FetchedBlocks, Source};
use crate::spool::{Spool, remove};
use crate::transport::Provider;
use crate::tron_source::TronSource;

/// Blocks of one piece of work.
const PIECE: u32 = 10;
/// A commit is made once so many bytes of answers, or so many blocks, are gathered.
const COMMIT_BYTES: usize = 64 << 20;
const COMMIT_BLOCKS: u64 = 5_000;

/// The choices of a load from nodes.
#[derive(Debug, Clone)]
pub struct HistoryOptions {
    /// The chain.
    pub chain: Chain,
    /// The first block; if omitted, the first one that the store holds of the chain, else block 0.
    pub from: Option<u64>,
    /// The last block; the newest final one if omitted.
    pub to: Option<u64>,
    /// Requests at the same time.
    pub parallel: usize,
    /// The treatment of internal movements.
    pub traces: Traces,
    /// The time of the import of freezes.
    pub imported_at: Timestamp,
}

/// The treatment of internal movements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Traces {
    /// Loaded where a node has them; the report says where it has not.
    #[default]
    WherePossible,
    /// Not loaded.
    LeftOut,
}

/// The state of a running load from nodes.
#[derive(Debug, Clone, Copy)]
pub struct HistoryState {
    /// The kind of data that is loaded.
    pub what: &'static str,
    /// Blocks that were loaded.
    pub done: u64,
    /// Blocks to load.
    pub total: u64,
    /// Transactions that were loaded.
    pub transactions: u64,
    /// Movements that were committed.
    pub movements: u64,
}

/// Receives the progress of a load from nodes.
pub trait HistoryProgress: Sync {
    /// Called after every piece.
    fn update(&self, state: HistoryState);

    /// Called when a commit is durable.
    fn committed(&self, _report: &CommitReport) {}

    /// Called while sidecars are built.
    fn building(&self, _kind: &'static str, _done: u64, _total: u64) {}
}

/// Blocks that no provider has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// `blocks` or `internal movements`.
    pub what: &'static str,
    /// The first block.
    pub from_block: u64,
    /// The last block.
    pub to_block: u64,
    /// The answer of each provider about the first of them.
    pub reasons: Vec<String>,
}

/// The outcome of a load from nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryReport {
    /// The chain.
    pub chain: String,
    /// The first block that was asked for.
    pub from: u64,
    /// The last block that was asked for.
    pub to: u64,
    /// Blocks that were held and verified before.
    pub held: u64,
    /// Blocks that were loaded.
    pub blocks: u64,
    /// Transactions of them.
    pub transactions: u64,
    /// The changes of the store.
    #[serde(flatten)]
    pub store: StoreReport,
    /// Blocks whose internal movements were loaded.
    pub traced: u64,
    /// The reason for which internal movements are missing.
    pub traces_missing: Option<String>,
    /// Ranges that no provider has.
    pub gaps: Vec<Gap>,
    /// The score card of each provider.
    pub providers: Vec<ProviderSummary>,
    /// Sentences about what the loaded blocks lack although they are verified.
    pub notes: Vec<String>,
    /// Seconds of the load.
    pub seconds: f64,
    /// The last generation.
    pub generation: Option<u64>,
}

/// Loads a range of blocks into a store, which is created where it is missing.
///
/// Only blocks that the store does not hold verified are fetched, so the same load repeated asks for nothing, and one that
/// was stopped midway continues where it stopped.
///
/// # Errors
/// When no provider has a block that can be verified, the range is beyond the final head, the store refuses, or the work is
/// cancelled. What was committed before stays.
pub fn load_history(
    store: &Path,
    providers: &Providers,
    options: &HistoryOptions,
    progress: &dyn HistoryProgress,
    cancel: &Cancel,
) -> Result<HistoryReport, NodeError> {
    let mut writer = Writer::open_or_create(store)?;
    let outcome = load_into(&mut writer, store, providers, options, progress, cancel);
    score_file::add(store, options.chain, providers, options.imported_at)?;
    outcome
}

/// Loads through a writer.
fn load_into(
    writer: &mut Writer,
    store: &Path,
    providers: &Providers,
    options: &HistoryOptions,
    progress: &dyn HistoryProgress,
    cancel: &Cancel,
) -> Result<HistoryReport, NodeError> {
    let began = Instant::now();
    let chain = options.chain;
    let from = options.from.unwrap_or_else(|| first_held(writer, chain));
    let source = source_of(chain, writer, from);
    let to = last_block(providers, &*source, (from, options.to), cancel)?;
    let spool = Spool::new(store)?;
    let start = LoadStart::new(writer)?;
    let before = movements(writer, chain);
    writer.begin_load();
    let mut load = Load {
        writer,
        source: &*source,
        providers,
        options,
        progress,
        cancel,
        spool,
        movements_before: before,
        generation: None,
    };
    let open = load.missing(source.tables(), (from, to));
    let held = (to - from + 1) - count(&open);
    let blocks = load.pass("blocks", &open, &|provider, range| source.fetch(provider, range, cancel))?;
    let (traces, traces_missing) = load.traces((from, to))?;
    let store = start.finish(load.writer, options.imported_at, &AsIngest { progress }, cancel)?;
    Ok(HistoryReport {
        chain: chain.name().to_owned(),
        from,
        to,
        held,
        blocks: blocks.blocks,
        transactions: blocks.transactions,
        store,
        traced: traces.blocks,
        traces_missing,
        gaps: blocks.gaps.into_iter().chain(traces.gaps).collect(),
        providers: providers.all().iter().map(|provider| provider.card().summary(provider.name())).collect(),
        notes: source.notes(),
        seconds: began.elapsed().as_secs_f64(),
        generation: load.generation,
    })
}

/// Finds the source of a chain.
fn source_of(chain: Chain, writer: &Writer, from: u64) -> Box<dyn Source> {
    match chain.family() {
        Family::Evm => Box::new(EvmSource::new(chain)),
        Family::Utxo => Box::new(BitcoinSource::new(writer.snapshot().coverage().get(&chain), from)),
        Family::Tron => Box::new(TronSource::default()),
    }
}

/// Returns the first block that the store holds of a chain; 0 if none.
fn first_held(writer: &Writer, chain: Chain) -> u64 {
    let snapshot = writer.snapshot();
    let first = snapshot.coverage().get(&chain).and_then(|coverage| coverage.ranges_of(CoverageTable::Blocks).first());
    first.map_or(0, |(first, _)| *first)
}

fn movements(writer: &Writer, chain: Chain) -> u64 {
    writer.snapshot().coverage().get(&chain).map_or(0, |coverage| coverage.movements)
}

/// Checks that each provider is of the chain, and finds the last block of the load.
fn last_block(
    providers: &Providers,
    source: &dyn Source,
    (from, to): (u64, Option<u64>),
    cancel: &Cancel,
) -> Result<u64, NodeError> {
    let mut heads = Vec::new();
    for _ in providers.all() {
        // A provider of another chain, or one that does not answer, is put aside here.
        let head = providers.ask((from, to.unwrap_or(from)), |provider| {
            source.check_chain(provider, cancel)?;
            Ok(source.final_head(provider, cancel)?)
        });
        heads.push(head);
    }
    let head = heads.iter().filter_map(|head| head.as_ref().ok()).max().copied();
    let Some(head) = head else { return heads.swap_remove(0) };
    let to = to.unwrap_or(head);
    if to > head {
        return Err(NodeError::Range(format!(
            "block {to} is not final: the newest final block of the providers is {head}; load up to it, or later"
        )));
    }
    if from > to {
        return Err(NodeError::Range(format!("the range begins at block {from} and ends at {to}")));
    }
    Ok(to)
}

fn count(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(first, last)| last - first + 1).sum()
}

/// Divides ranges into pieces of work.
fn pieces(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let of_range = |&(first, last): &(u64, u64)| {
        (first..=last).step_by(PIECE as usize).map(move |begin| (begin, last.min(begin + u64::from(PIECE) - 1)))
    };
    ranges.iter().flat_map(of_range).collect()
}

/// A load that runs.
struct Load<'a> {
    writer: &'a mut Writer,
    source: &'a dyn Source,
    providers: &'a Providers,
    options: &'a HistoryOptions,
    progress: &'a dyn HistoryProgress,
    cancel: &'a Cancel,
    spool: Spool,
    movements_before: u64,
    generation: Option<u64>,
}

/// Fetches one range from a provider.
type Fetch<'f> = dyn Fn(&Provider, (u64, u64)) -> Result<FetchedBlocks, FetchError> + Sync + 'f;

/// The outcome of a pass over ranges.
#[derive(Default)]
struct PassOutcome {
    blocks: u64,
    transactions: u64,
    gaps: Vec<Gap>,
}

impl Load<'_> {
    /// Returns the ranges of which one of the tables is missing.
    fn missing(&self, tables: &[CoverageTable], range: (u64, u64)) -> Vec<(u64, u64)> {
        let snapshot = self.writer.snapshot();
        let none = Coverage::default();
        let coverage = snapshot.coverage().get(&self.options.chain).unwrap_or(&none);
        let mut open: Vec<_> = tables.iter().flat_map(|table| uncovered(coverage.ranges_of(*table), range)).collect();
        open.sort_unstable();
        let mut united: Vec<(u64, u64)> = Vec::new();
        for (begin, end) in open {
            match united.last_mut() {
                Some(last) if begin <= last.1.saturating_add(1) => last.1 = last.1.max(end),
                _ => united.push((begin, end)),
            }
        }
        united
    }

    /// Fetches ranges at the same time, and commits them in order. A piece that no provider has is a gap.
    fn pass(&mut self, what: &'static str, ranges: &[(u64, u64)], fetch: &Fetch<'_>) -> Result<PassOutcome, NodeError> {
        let (pieces, total) = (pieces(ranges), count(ranges));
        let linked = LinkCheck { snapshot: self.writer.snapshot(), chain: self.options.chain, ranges, fetch };
        let (providers, cancel) = (self.providers, self.cancel);
        let queue = Queue::default();
        let mut passed = PassOutcome::default();
        let ask = |range| providers.ask(range, |provider| linked.fetch(provider, range));
        thread::scope(|scope| {
            for _ in 0..self.options.parallel.clamp(1, pieces.len().max(1)) {
                scope.spawn(|| queue.work(&pieces, &ask));
            }
            let mut gathered = PendingCommit::default();
            let mut outcome = Ok(());
            for (place, range) in pieces.iter().enumerate() {
                match queue.take(place) {
                    Ok(fetched) => {
                        passed.blocks += fetched.blocks;
                        passed.transactions += fetched.transactions;
                        outcome = gathered.add(*range, fetched);
                    }
                    Err(NodeError::NoProvider { is_gap: true, reasons, .. }) => passed.add_gap(what, *range, reasons),
                    Err(error) => outcome = Err(error),
                }
                if outcome.is_err() {
                    break;
                }
                if gathered.content.len() >= COMMIT_BYTES || gathered.blocks >= COMMIT_BLOCKS {
                    outcome = self.commit(std::mem::take(&mut gathered), cancel);
                }
                let movements = movements(self.writer, self.options.chain).saturating_sub(self.movements_before);
                let PassOutcome { blocks: done, transactions, .. } = passed;
                self.progress.update(HistoryState { what, done, total, transactions, movements });
            }
            queue.stop();
            // What was verified before a failure or a stop is kept.
            self.commit(gathered, &Cancel::new()).and(outcome)
        })?;
        Ok(passed)
    }

    /// Loads internal movements of blocks that are held, where a node has them. Returns what was loaded, and the reason for
    /// which others are missing.
    fn traces(&mut self, range: (u64, u64)) -> Result<(PassOutcome, Option<String>), NodeError> {
        if self.options.traces == Traces::LeftOut {
            return Ok((PassOutcome::default(), Some("they were left out by the caller".to_owned())));
        }
        let (source, cancel) = (self.source, self.cancel);
        if !source.has_traces() {
            return Ok((PassOutcome::default(), None));
        }
        let open = self.missing(&[CoverageTable::Traces], range);
        match self.pass("internal movements", &open, &|provider, range| source.fetch_traces(provider, range, cancel)) {
            Ok(passed) => Ok((passed, None)),
            // Answers say that they are missing: a load without them is of use.
            Err(NodeError::NoProvider { reasons, .. }) => Ok((PassOutcome::default(), Some(reasons.join("; ")))),
            Err(error) => Err(error),
        }
    }

    /// Commits what was gathered: its facts by the reader of such files, then the ranges that are complete.
    fn commit(&mut self, gathered: PendingCommit, cancel: &Cancel) -> Result<(), NodeError> {
        let Some((first, last)) = gathered.range else { return Ok(()) };
        if !gathered.content.is_empty() {
            self.read((first, last), &gathered.content, cancel)?;
        }
        let mut batch = Batch::new(self.options.chain);
        batch.claims = gathered.claims;
        let report = self.writer.commit(batch, cancel)?;
        self.generation = Some(report.generation);
        Ok(())
    }

    /// Reads answers as a file of them.
    fn read(&mut self, (first, last): (u64, u64), content: &[u8], cancel: &Cancel) -> Result<(), NodeError> {
        let file = self.spool.write(&self.source.file_name(first, last), content)?;
        let reading = Options {
            chain: Some(self.options.chain),
            format: Some(self.source.format().to_owned()),
            network: self.source.network(),
            ..Options::default()
        };
        let as_ingest = AsIngest { progress: self.progress };
        ingest(std::slice::from_ref(&file), &reading, self.writer, &as_ingest, cancel)?;
        remove(&file)
    }
}

impl PassOutcome {
    fn add_gap(&mut self, what: &'static str, (from_block, to_block): (u64, u64), reasons: Vec<String>) {
        match self.gaps.last_mut() {
            Some(last) if last.to_block.checked_add(1) == Some(from_block) => last.to_block = to_block,
            _ => self.gaps.push(Gap { what, from_block, to_block, reasons }),
        }
    }
}

/// Fetches pieces that fit the blocks that the store holds around them.
struct LinkCheck<'a> {
    snapshot: Arc<Snapshot>,
    chain: Chain,
    /// The ranges of the load. Inside them each piece is compared with the one before.
    ranges: &'a [(u64, u64)],
    fetch: &'a Fetch<'a>,
}

impl LinkCheck<'_> {
    /// Fetches a piece, and compares it with the hashes of the blocks that the store holds: of the piece itself, and of
    /// those before and behind it.
    fn fetch(&self, provider: &Provider, (first, last): (u64, u64)) -> Result<FetchedBlocks, FetchError> {
        let mut fetched = (self.fetch)(provider, (first, last))?;
        provider.name().clone_into(&mut fetched.provider);
        for (number, hash) in (first..).zip(&fetched.hashes) {
            self.compare(number, *hash)?;
        }
        if let (Some(parent), Some(before)) = (fetched.parent, first.checked_sub(1)) {
            self.compare(before, parent)?;
        }
        let behind = last.saturating_add(1);
        let is_end = fetched.parent.is_some() && self.ranges.iter().any(|(_, end)| *end == last);
        if is_end && self.hash_of(behind).is_some() {
            let next = (self.fetch)(provider, (behind, behind))?;
            next.hashes.first().map_or(Ok(()), |hash| self.compare(behind, *hash))?;
            if next.parent != fetched.hashes.last().copied() {
                return Err(other_branch(behind));
            }
        }
        Ok(fetched)
    }

    fn hash_of(&self, number: u64) -> Option<BlockHash> {
        self.snapshot.block(self.chain, number).ok().flatten()?.hash
    }

    fn compare(&self, number: u64, hash: BlockHash) -> Result<(), FetchError> {
        if self.hash_of(number).is_some_and(|held| held != hash) { Err(other_branch(number)) } else { Ok(()) }
    }
}

fn other_branch(block: u64) -> FetchError {
    let text =
        format!("block {block}: its hash is not the one that the store holds: it is of another branch of the chain");
    FetchError::Lie { code: "branch", block, text }
}

/// Answers that wait for a commit.
#[derive(Default)]
struct PendingCommit {
    range: Option<(u64, u64)>,
    blocks: u64,
    content: Vec<u8>,
    claims: Vec<Claim>,
    /// The last block, with its hash and who answered it.
    last: Option<(u64, BlockHash, String)>,
}

impl PendingCommit {
    /// Adds a piece, which follows the one before.
    fn add(&mut self, (first, last): (u64, u64), fetched: FetchedBlocks) -> Result<(), NodeError> {
        if let (Some((number, hash, provider)), Some(parent)) = (&self.last, fetched.parent)
            && number.checked_add(1) == Some(first)
            && *hash != parent
        {
            return Err(NodeError::Branches {
                block: first,
                provider: fetched.provider,
                before: *number,
                other: provider.clone(),
            });
        }
        self.last = fetched.hashes.last().map(|hash| (last, *hash, fetched.provider));
        self.range = Some((self.range.map_or(first, |(begin, _)| begin), last));
        self.blocks += fetched.blocks;
        self.content.extend(fetched.content);
        self.claims.extend(fetched.complete.into_iter().map(|table| Claim::Blocks { first, last, table }));
        Ok(())
    }
}

/// Hands the progress of the reader on.
struct AsIngest<'a> {
    progress: &'a dyn HistoryProgress,
}

impl Progress for AsIngest<'_> {
    fn update(&self, _state: ProgressState<'_>) {}

    fn committed(&self, report: &CommitReport) {
        self.progress.committed(report);
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.progress.building(kind, done, total);
    }
}
