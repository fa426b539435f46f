//! The load of a range of blocks from nodes into a store: fetched at the same time, verified, and committed in order.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ingest::{Options, Progress, ProgressState, finish_load, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::read::{Coverage, CoverageTable, Generation as _, uncovered};
use headwater_ledger::store::{CommitReport, Writer};
use headwater_types::{Chain, Family, Timestamp};
use serde::Serialize;

use crate::bitcoin_source::BitcoinSource;
use crate::error::{FetchError, NodeError};
use crate::evm_source::EvmSource;
use crate::pool::Providers;
use crate::source::{Fetched, Source};
use crate::transport::Provider;
use crate::tron_source::TronSource;

/// Blocks of one piece of work.
const PIECE: u64 = 20;
/// Pieces that may be fetched before the first of them is committed.
const AHEAD: usize = 64;
/// A commit is made once so many bytes of answers, or so many blocks, are gathered.
const COMMIT_BYTES: usize = 64 << 20;
const COMMIT_BLOCKS: u64 = 5_000;

/// The choices of a load from nodes.
#[derive(Debug, Clone)]
pub struct HistoryOptions {
    /// The chain.
    pub chain: Chain,
    /// The first block.
    pub from: u64,
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
    /// What is loaded.
    pub what: &'static str,
    /// Blocks that were loaded.
    pub done: u64,
    /// Blocks to load.
    pub total: u64,
    /// Transactions that were loaded.
    pub transactions: u64,
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
    /// Blocks whose internal movements were loaded.
    pub traced: u64,
    /// The reason for which internal movements are missing.
    pub traces_missing: Option<String>,
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
    let began = Instant::now();
    let source = source_of(options.chain)?;
    let to = last_block(providers, &*source, options, cancel)?;
    let mut writer = Writer::open_or_create(store)?;
    let spool = Spool::new(store)?;
    writer.begin_load();
    let mut load = Load { source: &*source, providers, options, progress, cancel, spool, generation: None };
    let open = missing(&writer, options.chain, source.tables(), (options.from, to));
    let total = count(&open);
    let (blocks, transactions) =
        load.pass(&mut writer, "blocks", open, total, &|provider, range| source.fetch(provider, range, cancel))?;
    let (traced, traces_missing) = load.traces(&mut writer, (options.from, to))?;
    let as_ingest = AsIngest { progress };
    finish_load(&mut writer, options.imported_at, &as_ingest, cancel)?;
    Ok(HistoryReport {
        chain: options.chain.name().to_owned(),
        from: options.from,
        to,
        held: (to - options.from + 1) - total,
        blocks,
        transactions,
        traced,
        traces_missing,
        seconds: began.elapsed().as_secs_f64(),
        generation: load.generation,
    })
}

/// Finds the source of a chain.
fn source_of(chain: Chain) -> Result<Box<dyn Source>, NodeError> {
    match chain.family() {
        Family::Evm => Ok(Box::new(EvmSource::new(chain))),
        Family::Utxo => Ok(Box::new(BitcoinSource::default())),
        Family::Tron => Ok(Box::new(TronSource)),
    }
}

/// Checks that each provider is of the chain, and finds the last block of the load.
fn last_block(
    providers: &Providers,
    source: &dyn Source,
    options: &HistoryOptions,
    cancel: &Cancel,
) -> Result<u64, NodeError> {
    let mut heads = Vec::new();
    let range = (options.from, options.to.unwrap_or(options.from));
    for _ in providers.all() {
        // A provider of another chain, or one that does not answer, is put aside here.
        let head = providers.ask(range, |provider| {
            source.check_chain(provider, cancel)?;
            Ok(source.final_head(provider, cancel)?)
        });
        heads.push(head);
    }
    let head = heads.iter().filter_map(|head| head.as_ref().ok()).max().copied();
    let Some(head) = head else { return heads.swap_remove(0) };
    let to = options.to.unwrap_or(head);
    if to > head {
        return Err(NodeError::Range(format!(
            "block {to} is not final: the newest final block of the providers is {head}; load up to it, or later"
        )));
    }
    if options.from > to {
        return Err(NodeError::Range(format!("the range begins at block {} and ends at {to}", options.from)));
    }
    Ok(to)
}

/// Returns the ranges of which one of the tables is missing.
fn missing(writer: &Writer, chain: Chain, tables: &[CoverageTable], range: (u64, u64)) -> Vec<(u64, u64)> {
    let snapshot = writer.snapshot();
    let none = Coverage::default();
    let coverage = snapshot.coverage().get(&chain).unwrap_or(&none);
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

fn count(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(first, last)| last - first + 1).sum()
}

/// Divides ranges into pieces of work.
fn pieces(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let of_range = |&(first, last): &(u64, u64)| {
        (first..=last).step_by(PIECE as usize).map(move |begin| (begin, last.min(begin + PIECE - 1)))
    };
    ranges.iter().flat_map(of_range).collect()
}

/// A load that runs.
struct Load<'a> {
    source: &'a dyn Source,
    providers: &'a Providers,
    options: &'a HistoryOptions,
    progress: &'a dyn HistoryProgress,
    cancel: &'a Cancel,
    spool: Spool,
    generation: Option<u64>,
}

/// Fetches one range from a provider.
type Fetch<'f> = dyn Fn(&Provider, (u64, u64)) -> Result<Fetched, FetchError> + Sync + 'f;

impl Load<'_> {
    /// Fetches ranges at the same time, and commits them in order. Returns the blocks and transactions that were loaded.
    fn pass(
        &mut self,
        writer: &mut Writer,
        what: &'static str,
        ranges: Vec<(u64, u64)>,
        total: u64,
        fetch: &Fetch<'_>,
    ) -> Result<(u64, u64), NodeError> {
        let pieces = pieces(&ranges);
        let queue = Queue::default();
        let (mut blocks, mut transactions) = (0, 0);
        thread::scope(|scope| {
            for _ in 0..self.options.parallel.clamp(1, pieces.len().max(1)) {
                scope.spawn(|| {
                    queue.work(&pieces, &|range| self.providers.ask(range, |provider| fetch(provider, range)))
                });
            }
            let outcome = (|| {
                let mut gathered = Gathered::default();
                let mut last_hash: Option<(u64, Vec<u8>)> = None;
                for (place, range) in pieces.iter().enumerate() {
                    let fetched = queue.take(place)?;
                    check_link(&mut last_hash, *range, &fetched)?;
                    (blocks, transactions) = (blocks + fetched.blocks, transactions + fetched.transactions);
                    gathered.add(*range, fetched);
                    if gathered.content.len() >= COMMIT_BYTES || gathered.blocks >= COMMIT_BLOCKS {
                        self.commit(writer, std::mem::take(&mut gathered))?;
                    }
                    self.progress.update(HistoryState { what, done: blocks, total, transactions });
                }
                self.commit(writer, gathered)
            })();
            queue.stop();
            outcome
        })?;
        Ok((blocks, transactions))
    }
}

impl Load<'_> {
    /// Loads internal movements of blocks that are held, where a node has them. Returns the blocks, and the reason for which
    /// others are missing.
    fn traces(&mut self, writer: &mut Writer, range: (u64, u64)) -> Result<(u64, Option<String>), NodeError> {
        if self.options.traces == Traces::LeftOut {
            return Ok((0, Some("they were left out by the caller".to_owned())));
        }
        let source = self.source;
        let cancel = self.cancel;
        if source.fetch_traces(&self.providers.all()[0], (1, 0), cancel).is_none() {
            return Ok((0, None));
        }
        let open = missing(writer, self.options.chain, &[CoverageTable::Traces], range);
        let total = count(&open);
        let fetch = |provider: &Provider, range| match source.fetch_traces(provider, range, cancel) {
            Some(outcome) => outcome,
            None => Ok(Fetched::default()),
        };
        match self.pass(writer, "internal movements", open, total, &fetch) {
            Ok((blocks, _)) => Ok((blocks, None)),
            // Answers say that they are missing: a load without them is of use.
            Err(NodeError::NoProvider { reasons, .. }) => Ok((0, Some(reasons.join("; ")))),
            Err(error) => Err(error),
        }
    }

    /// Commits what was gathered: its facts by the reader of such files, then the ranges that are complete.
    fn commit(&mut self, writer: &mut Writer, gathered: Gathered) -> Result<(), NodeError> {
        let Some((first, last)) = gathered.range else { return Ok(()) };
        if !gathered.content.is_empty() {
            self.read(writer, (first, last), &gathered.content)?;
        }
        let mut batch = Batch::new(self.options.chain);
        batch.claims = gathered.claims;
        let report = writer.commit(batch, self.cancel)?;
        self.generation = Some(report.generation);
        Ok(())
    }

    /// Reads answers as a file of them.
    fn read(&self, writer: &mut Writer, (first, last): (u64, u64), content: &[u8]) -> Result<(), NodeError> {
        let file = self.spool.write(&self.source.file_name(first, last), content)?;
        let reading = Options {
            chain: Some(self.options.chain),
            format: Some(self.source.format().to_owned()),
            ..Options::default()
        };
        let as_ingest = AsIngest { progress: self.progress };
        ingest(std::slice::from_ref(&file), &reading, writer, &as_ingest, self.cancel)?;
        self.spool.remove(&file)
    }
}

/// Answers that wait for a commit.
#[derive(Default)]
struct Gathered {
    range: Option<(u64, u64)>,
    blocks: u64,
    content: Vec<u8>,
    claims: Vec<Claim>,
}

impl Gathered {
    fn add(&mut self, (first, last): (u64, u64), fetched: Fetched) {
        self.range = Some((self.range.map_or(first, |(begin, _)| begin), last));
        self.blocks += fetched.blocks;
        self.content.extend(fetched.content);
        self.claims.extend(fetched.complete.into_iter().map(|table| Claim::Blocks { first, last, table }));
    }
}

/// Compares the parent of the first block of a piece with the last block of the piece before.
fn check_link(last: &mut Option<(u64, Vec<u8>)>, (first, end): (u64, u64), fetched: &Fetched) -> Result<(), NodeError> {
    let (parent, hash) = &fetched.ends;
    if let Some((number, before)) = last.as_ref().filter(|(number, _)| number + 1 == first)
        && !parent.is_empty()
        && before != parent
    {
        return Err(NodeError::Range(format!(
            "block {first} does not follow block {number}: the providers are on different branches of the chain; load again, \
             or name one provider"
        )));
    }
    *last = Some((end, hash.clone()));
    Ok(())
}

/// Pieces of work for threads, whose outcomes are taken in order.
#[derive(Default)]
struct Queue {
    next: AtomicUsize,
    taken: AtomicUsize,
    is_stopped: AtomicBool,
    done: Mutex<BTreeMap<usize, Result<Fetched, NodeError>>>,
    changed: Condvar,
}

impl Queue {
    /// Fetches pieces until none is left, not too far ahead of what is taken.
    fn work(&self, pieces: &[(u64, u64)], fetch: &dyn Fn((u64, u64)) -> Result<Fetched, NodeError>) {
        while !self.is_stopped.load(Ordering::Acquire) {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = pieces.get(place) else { return };
            while place >= self.taken.load(Ordering::Acquire) + AHEAD {
                if self.is_stopped.load(Ordering::Acquire) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
            let outcome = fetch(*range);
            self.done.lock().expect("no holder of the lock panics").insert(place, outcome);
            self.changed.notify_all();
        }
    }

    /// Waits for the outcome of a piece.
    fn take(&self, place: usize) -> Result<Fetched, NodeError> {
        let mut done = self.done.lock().expect("no holder of the lock panics");
        loop {
            if let Some(outcome) = done.remove(&place) {
                self.taken.store(place + 1, Ordering::Release);
                return outcome;
            }
            done = self.changed.wait(done).expect("no holder of the lock panics");
        }
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }
}

/// The folder of answers on their way into the store. What a killed load left there is removed by the next one.
struct Spool {
    folder: PathBuf,
}

impl Spool {
    fn new(store: &Path) -> Result<Self, NodeError> {
        let folder = store.join("incoming");
        let failed = |source| NodeError::Io { file: folder.display().to_string(), source };
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self { folder })
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, NodeError> {
        let file = self.folder.join(name);
        fs::write(&file, content).map_err(|source| NodeError::Io { file: file.display().to_string(), source })?;
        Ok(file)
    }

    fn remove(&self, file: &Path) -> Result<(), NodeError> {
        fs::remove_file(file).map_err(|source| NodeError::Io { file: file.display().to_string(), source })
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
