//! The load of a range of blocks from nodes into a store: fetched at the same time, verified, and committed in order.

use std::path::Path;
use std::thread;
use std::time::Instant;

use headwater_ingest::{IngestError, LoadStart, Options, Progress, ProgressState, StoreReport, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::read::{Coverage, CoverageTable, Generation as _, uncovered};
use headwater_ledger::store::{CommitReport, Writer, WriterOptions};
use headwater_types::{Chain, Timestamp};
use serde::Serialize;

use crate::error::NodeError;
use crate::heads::{Heads, find_heads};
use crate::link_check::{Fetch, LinkCheck, held_blocks};
use crate::pending::{Link, PendingCommit};
use crate::pool::Providers;
use crate::queue::{AHEAD, Pieces, Queue};
use crate::score_card::ProviderSummary;
use crate::score_file;
use crate::source::Source;
use crate::sources::source_of;
use crate::spool::{Spool, remove};
use crate::transport::Provider;

/// A commit is made once so many bytes of answers are gathered.
const COMMIT_BYTES: usize = 64 << 20;

/// Blocks of one commit, unless the caller wants another number.
pub const BLOCKS_PER_COMMIT: u64 = 5_000;

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
    /// Blocks of one commit, unless 64 MiB of answers come before.
    pub blocks_per_commit: u64,
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
    let mut writer = WriterOptions::default().cancelled_by(cancel).open(store)?;
    let outcome = load_into(&mut writer, store, providers, options, progress, cancel);
    let saved = score_file::add(store, options.chain, providers, options.imported_at);
    let report = outcome?;
    saved?;
    Ok(report)
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
    let source = source_of(chain, writer.snapshot().coverage().get(&chain), from);
    let Heads { to, note } = find_heads(providers, &*source, (from, options.to), cancel)?;
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
        notes: note.into_iter().collect(),
    };
    let open = load.missing(source.tables(), (from, to));
    let held = (to - from + 1) - count(&open);
    let (blocks, outcome) = load.pass("blocks", &open, &|provider, range| source.fetch(provider, range, cancel));
    outcome?;
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
        notes: load.notes.into_iter().chain(source.notes()).collect(),
        seconds: began.elapsed().as_secs_f64(),
        generation: load.generation,
    })
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

fn count(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(first, last)| last - first + 1).sum()
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
    /// Sentences for the report.
    notes: Vec<String>,
}

/// The outcome of a pass over ranges.
#[derive(Default)]
struct PassOutcome {
    total: u64,
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
    fn pass(
        &mut self,
        what: &'static str,
        ranges: &[(u64, u64)],
        fetch: &Fetch<'_>,
    ) -> (PassOutcome, Result<(), NodeError>) {
        let pieces = Pieces::new(ranges);
        let check = LinkCheck { snapshot: self.writer.snapshot(), chain: self.options.chain, ranges, fetch };
        let providers = self.providers;
        let ask = |range| providers.ask(range, |provider| check.fetch(provider, range));
        let queue = Queue::default();
        let mut passed = PassOutcome { total: count(ranges), ..PassOutcome::default() };
        let outcome = thread::scope(|scope| {
            let _stop = queue.stop_at_end();
            for _ in 0..self.options.parallel.clamp(1, pieces.count().clamp(1, AHEAD)) {
                scope.spawn(|| queue.work(&pieces, &ask));
            }
            self.take(what, &pieces, &queue, &mut passed)
        });
        (passed, outcome)
    }

    /// Takes pieces in order, and commits them.
    fn take(
        &mut self,
        what: &'static str,
        pieces: &Pieces,
        queue: &Queue,
        passed: &mut PassOutcome,
    ) -> Result<(), NodeError> {
        let cancel = self.cancel;
        let (mut pending, mut link) = (PendingCommit::default(), Link::default());
        for place in 0..pieces.count() {
            let Some(range) = pieces.get(place) else { break };
            let taken = queue.take(place).and_then(|fetched| link.follow(range, &fetched).map(|()| fetched));
            match taken {
                Ok(fetched) => {
                    passed.blocks += fetched.blocks;
                    passed.transactions += fetched.transactions();
                    pending.add(range, fetched);
                }
                Err(NodeError::NoProvider { is_gap: true, reasons, .. }) => passed.add_gap(what, range, reasons),
                Err(error) => {
                    // What was verified before a failure or a stop is kept.
                    return self.commit(&pending, &Cancel::new()).and(Err(error));
                }
            }
            if pending.content.len() >= COMMIT_BYTES || pending.blocks >= self.options.blocks_per_commit {
                self.commit(&std::mem::take(&mut pending), cancel)?;
            }
            let movements = movements(self.writer, self.options.chain).saturating_sub(self.movements_before);
            let PassOutcome { blocks: done, transactions, total, .. } = *passed;
            self.progress.update(HistoryState { what, done, total, transactions, movements });
        }
        self.commit(&pending, &Cancel::new())
    }

    /// Loads internal movements of blocks that are held verified, where a node has them. Returns what was loaded, and the
    /// reason for which others are missing.
    fn traces(&mut self, range: (u64, u64)) -> Result<(PassOutcome, Option<String>), NodeError> {
        if self.options.traces == Traces::LeftOut {
            return Ok((PassOutcome::default(), Some("they were left out by the caller".to_owned())));
        }
        let (source, chain, cancel) = (self.source, self.options.chain, self.cancel);
        if !source.has_traces() {
            return Ok((PassOutcome::default(), None));
        }
        let snapshot = self.writer.snapshot();
        let none = Coverage::default();
        let verified = snapshot.coverage().get(&chain).unwrap_or(&none).ranges_of(CoverageTable::VerifiedTransactions);
        let open = self.missing(&[CoverageTable::Traces], range);
        let open: Vec<_> = open.into_iter().flat_map(|range| uncovered(&uncovered(verified, range), range)).collect();
        let fetch =
            |provider: &Provider, range| source.fetch_traces(provider, &held_blocks(&snapshot, chain, range)?, cancel);
        match self.pass("internal movements", &open, &fetch) {
            (passed, Ok(())) => Ok((passed, None)),
            // Answers say that they are missing: a load without them is of use.
            (passed, Err(NodeError::NoProvider { reasons, .. })) => Ok((passed, Some(reasons.join("; ")))),
            (_, Err(error)) => Err(error),
        }
    }

    /// Commits what was gathered: its facts by the reader of such files, then the ranges that are complete.
    fn commit(&mut self, pending: &PendingCommit, cancel: &Cancel) -> Result<(), NodeError> {
        let Some(range) = pending.range else { return Ok(()) };
        if !pending.content.is_empty() {
            self.read(range, &pending.content, cancel)?;
        }
        let chain = self.options.chain;
        // In one turn: another writer may add rows in between.
        let (report, surplus) = self.writer.exclusively(cancel, |writer| {
            let surplus = pending.surplus(&writer.snapshot(), chain)?;
            let mut batch = Batch::new(chain);
            batch.claims = pending.claims(&surplus);
            Ok::<_, NodeError>((writer.commit(batch, cancel)?, surplus))
        })?;
        if let Some(first) = surplus.first() {
            self.notes.push(format!(
                "the store holds rows of block {first} that its node does not have, and of {} other blocks: they came from \
                 another source, and these blocks are not marked as verified",
                surplus.len() - 1
            ));
        }
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
        let outcome = ingest(std::slice::from_ref(&file), &reading, self.writer, &as_ingest, cancel);
        outcome.map_err(|source| match source {
            IngestError::Cancelled(_) | IngestError::Store(_) => NodeError::Ingest(source),
            source => NodeError::Contradiction { first, last, source },
        })?;
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
