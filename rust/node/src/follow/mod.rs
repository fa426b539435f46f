//! Following a chain: each new block of live nodes is verified and added to the tail of the store, and blocks that the nodes
//! replaced are taken back.
//!
//! - [`follow`] runs until it is cancelled. Before it, blocks that are final already are loaded as history, without events.
//! - [`branch`] finds the block at which the store and the nodes part.
//! - [`block`] fetches one block and reads its facts.
//! - [`agreement`] asks all providers, and takes what more than half of them say.
//! - [`wake`] waits for the next block; [`status`] is the status for other processes.
//!
//! A replaced block stays until the blocks in its place are verified; then both change in one generation. A replacement deeper
//! than the tail ends the work with [`NodeError::DeepReorg`], and nothing is written.

mod agreement;
mod block;
mod branch;
mod clock;
mod freezes;
mod options;
mod status;
mod wake;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use headwater_ingest::labels::refresh_freezes;
use headwater_ledger::read::{Coverage, CoverageTable, Generation as _, Transactions as _, uncovered};
use headwater_ledger::store::{AdvanceReport, LiveState, TailAdvance, TailPosition, Writer, WriterOptions};
use headwater_ledger::{Cancel, LedgerError};
use headwater_types::{BlockHash, Chain};

use self::agreement::AgreedHeads;
use self::block::PreparedBlock;
use self::branch::Branch;
pub use self::options::{FollowOptions, FollowProgress, FollowReport, FollowStep};
use self::status::StatusFile;
use self::wake::Wake;
pub use self::wake::split_sockets;
use crate::error::NodeError;
use crate::heads::MAX_HEAD;
use crate::history::{HistoryOptions, load_history};
use crate::pool::Providers;
use crate::score_file;
use crate::source::{NodeHeads, Source};
use crate::sources::source_of;
use crate::spool::Spool;

/// The most blocks of one generation.
const STEP: u64 = 32;

/// Blocks beyond the undo depth that the tail gathers before they become final together.
const SEAL: u64 = 16;

/// The wait after a failure that passes.
const PAUSE: Duration = Duration::from_secs(1);

/// Follows a chain until the work is cancelled, or the last block of the options is held.
///
/// A store that was followed before continues with the block after its tail, whatever the time in between, so that each
/// block makes its events. Otherwise blocks up to the newest final one are loaded as history first, without events.
///
/// # Errors
/// [`NodeError::DeepReorg`] when the nodes replaced blocks that are final in the store; and when another process follows the
/// chain, the verified blocks contradict another source, or the store fails. Failures of nodes are waited for.
pub fn follow(
    store: &Path,
    providers: &Providers,
    options: &FollowOptions,
    progress: &dyn FollowProgress,
    cancel: &Cancel,
) -> Result<FollowReport, NodeError> {
    if let Some(from) = options.from.filter(|from| *from > MAX_HEAD) {
        return Err(NodeError::Range(format!("a store can hold no block {from}: the last one is {MAX_HEAD}")));
    }
    let status = StatusFile::open(store, options.chain)?;
    let wake = Wake::new(options.chain, &options.sockets)?;
    let mut follower = Follower {
        store,
        providers,
        options,
        progress,
        cancel,
        status,
        wake,
        noted: Mutex::default(),
        silent: Mutex::default(),
        latest: None,
        report: FollowReport::default(),
    };
    let outcome = follower.run();
    let report = follower.report;
    let ended = follower.status.end();
    let saved = score_file::add(store, options.chain, providers, clock::now()).and(ended);
    match outcome {
        Err(error) if cancel.check().is_ok() => Err(error),
        _ => saved.map(|()| report),
    }
}

/// A follower that runs.
struct Follower<'a> {
    store: &'a Path,
    providers: &'a Providers,
    options: &'a FollowOptions,
    progress: &'a dyn FollowProgress,
    cancel: &'a Cancel,
    status: StatusFile,
    wake: Wake,
    /// Reasons that were reported.
    noted: Mutex<BTreeSet<&'static str>>,
    /// Nodes that are put aside, as far as that was reported.
    silent: Mutex<BTreeSet<String>>,
    /// The heads that the nodes stated last.
    latest: Option<NodeHeads>,
    report: FollowReport,
}

/// The outcome of one look at the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Blocks were added.
    Advanced,
    /// There is nothing new.
    Idle,
}

impl Follower<'_> {
    fn run(&mut self) -> Result<(), NodeError> {
        let Some(mut session) = self.patiently(Self::start)? else { return Ok(()) };
        while self.cancel.check().is_ok() && !self.is_done(&session.writer) {
            match self.patiently(|follower| follower.look(&mut session))? {
                Some(Look::Idle) => self.wake.wait(self.options.poll, self.cancel),
                Some(Look::Advanced) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Repeats work that fails for a reason that passes; `None` when the work was cancelled.
    fn patiently<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, NodeError>,
    ) -> Result<Option<T>, NodeError> {
        loop {
            let error = match work(self) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(error) => error,
            };
            if self.cancel.check().is_err() {
                return Ok(None);
            }
            let reason = describe(&error);
            if error.halts() {
                self.set_state(LiveState::Halted { reason })?;
                return Err(error);
            }
            // Addresses that never fit are an error of the caller.
            let is_wrong = matches!(error, NodeError::NoAnswer { is_lasting: true, .. }) && self.latest.is_none();
            if is_wrong || !error.passes() {
                return Err(error);
            }
            self.set_state(LiveState::Waiting { reason })?;
            self.wake.wait(PAUSE.min(self.options.retry), self.cancel);
            self.providers.forgive(self.options.retry);
        }
    }

    fn set_state(&self, state: LiveState) -> Result<(), NodeError> {
        let silent = self.silent.lock().expect("no holder of the lock panics").iter().cloned().collect();
        self.status.set(state, self.latest, silent, self.progress)
    }

    /// Writes that the store follows its nodes, or waits for nodes that are far behind, given its newest block.
    fn set_following(&self, agreed: &AgreedHeads, newest: u64) -> Result<(), NodeError> {
        let head = agreed.heads.newest;
        self.set_state(match &agreed.slow {
            Some(slow) => LiveState::Waiting { reason: format!("{slow}; remove its address, or name a further node") },
            None if head.saturating_add(self.lag_limit()) < newest => LiveState::Waiting {
                reason: format!(
                    "the next block is {}, and the newest block of the nodes is {head}: they are behind the store, or another \
                     source brought rows of later blocks",
                    newest.saturating_add(1)
                ),
            },
            None => LiveState::Following,
        })
    }

    /// Loads history up to the newest final block where the store was not followed yet, and opens the store.
    fn start(&mut self) -> Result<Session, NodeError> {
        let chain = self.options.chain;
        let writer = self.writer()?;
        let coverage = writer.snapshot().coverage().get(&chain).cloned();
        if let (Some(lowest), Some(newest)) = (writer.tail(chain).first(), writer.tail(chain).last()) {
            if let Some(from) = self.options.from.filter(|from| *from != newest.number + 1) {
                let next = newest.number + 1;
                self.note_once(
                    "the first block has no effect",
                    &[format!("block {next} is next after those that were followed, not {from}")],
                );
            }
            return Session::new(self.store, writer, source_of(chain, coverage.as_ref(), lowest.number), None);
        }
        let source = source_of(chain, coverage.as_ref(), self.options.from.unwrap_or(0));
        let heads = self.heads(&*source)?.heads;
        self.latest = Some(heads);
        let next = coverage.as_ref().and_then(last_held).map(|last| last + 1);
        let from = self.options.from.or(next).unwrap_or(heads.newest_final);
        self.note_start(from, heads, self.options.from.or(next).is_none());
        drop(writer);
        if from <= heads.newest_final {
            self.set_state(LiveState::CatchingUp)?;
            let options = HistoryOptions {
                chain,
                from: Some(from),
                to: Some(heads.newest_final),
                parallel: self.options.parallel,
                blocks_per_commit: crate::history::BLOCKS_PER_COMMIT,
                traces: self.options.traces,
                imported_at: clock::now(),
            };
            let progress = self.progress.history();
            let report = load_history(self.store, self.providers, &options, progress, self.cancel)?;
            self.progress.loaded(&report);
            if let Some(gap) = report.gaps.into_iter().find(|gap| gap.what == "blocks") {
                let (first, last, reasons) = (gap.from_block, gap.to_block, gap.reasons);
                return Err(NodeError::NoProvider { first, last, reasons, is_gap: true });
            }
        }
        let writer = self.writer()?;
        let coverage = writer.snapshot().coverage().get(&chain).cloned();
        let next = coverage.as_ref().and_then(last_held).map_or(from, |last| from.max(last + 1));
        let next = next.max(heads.newest_final + 1);
        // A node that states old heads must not hide blocks that an earlier load did not get.
        let ranges = coverage.as_ref().map_or(&[][..], |coverage| coverage.ranges_of(CoverageTable::Transactions));
        let gap = uncovered(ranges, (from, next.max(1) - 1)).first().copied().filter(|_| from < next);
        if let Some((first, last)) = gap {
            let newest_final = heads.newest_final;
            return Err(NodeError::Range(format!(
                "blocks {first} to {last} are missing in the store, and the newest final block of the nodes is {newest_final}"
            )));
        }
        Session::new(self.store, writer, source_of(chain, coverage.as_ref(), from), Some(next))
    }

    /// Reports what a first block means that is not obvious.
    fn note_start(&self, from: u64, heads: NodeHeads, is_default: bool) {
        if is_default && from > 0 {
            let reasons = format!(
                "earlier blocks are not loaded; `headwater ingest --rpc URL --from 0 --to {}` adds them",
                from - 1
            );
            self.note_once("the store begins with the newest final block", &[format!("block {from}"), reasons]);
        } else if from > heads.newest_final && from <= heads.newest {
            let reason = format!(
                "if the nodes replace blocks before {from}, following halts; the newest final block is {}",
                heads.newest_final
            );
            self.note_once("the first block is not final yet", &[reason]);
        }
    }

    fn writer(&self) -> Result<Writer, NodeError> {
        let options = WriterOptions::default().named(format!("headwater follow {}", self.options.chain));
        Ok(options.cancelled_by(self.cancel).open(self.store)?)
    }

    /// Compares the store with the nodes, and adds what is new.
    fn look(&mut self, session: &mut Session) -> Result<Look, NodeError> {
        let began = Instant::now();
        self.providers.forgive(self.options.retry);
        self.import_freezes(session)?;
        let source = &*session.intake.source;
        let agreed = self.heads(source)?;
        let heads = agreed.heads;
        self.latest = Some(heads);
        let until = self.options.until.unwrap_or(u64::MAX);
        let (tail, below) = session.window(self.options.chain)?;
        let newest = tail.last().map_or(below.0, |block| block.number);
        if tail.last().is_some_and(|block| block.number == heads.newest && Some(block.hash) == heads.hash) {
            self.set_following(&agreed, newest)?;
            return Ok(Look::Idle);
        }
        let branch = Branch { tail: &tail, below };
        let (fork, hash) = match branch.fork(heads.newest, &|numbers| self.hashes(source, numbers)) {
            Err(error @ NodeError::DeepReorg { .. }) => {
                return Err(self.checked_reorg(&session.intake, below).unwrap_or(error));
            }
            found => found?,
        };
        // All that was replaced changes in one generation, and at most so many blocks more.
        let last = heads.newest.min(until).min(newest.max(fork.saturating_add(STEP)));
        if last <= fork {
            self.set_following(&agreed, newest)?;
            return Ok(Look::Idle);
        }
        let mut blocks = self.prepare(&session.intake, &session.writer.snapshot(), (fork + 1, last), hash)?;
        // What was said to be replaced and is the same was not replaced: hashes are verified now.
        let same = blocks.iter().take_while(|block| branch.has(block.number, block.hash)).count();
        blocks.drain(..same);
        let Some(first) = blocks.first() else { return Err(NodeError::Moved { block: fork + 1 }) };
        let keep_to = (first.number <= newest && !tail.is_empty()).then(|| first.number - 1);
        self.advance(session, keep_to, blocks, began)?;
        self.set_following(&agreed, last)?;
        Ok(Look::Advanced)
    }

    /// Fetches the block below the tail, which the nodes say they replaced. Returns an error that passes if they did not.
    fn checked_reorg(&self, intake: &Intake, (block, held): (u64, Option<BlockHash>)) -> Option<NodeError> {
        let fetch = |provider: &_| intake.source.fetch(provider, (block, block), self.cancel);
        match self.providers.ask((block, block), fetch) {
            Ok(fetched) => (fetched.hashes.first().copied() == held).then_some(NodeError::Moved { block }),
            Err(error) => Some(error),
        }
    }

    /// Adds verified blocks, in place of those above `keep_to`.
    fn advance(
        &mut self,
        session: &mut Session,
        keep_to: Option<u64>,
        blocks: Vec<PreparedBlock>,
        began: Instant,
    ) -> Result<(), NodeError> {
        let chain = self.options.chain;
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
        let (from_block, to_block) = (first.number, last.number);
        let lowest = session.writer.tail(chain).first().map_or(from_block, |block| block.number);
        let undo = u64::from(chain.undo_depth());
        let is_long = (to_block + 1).saturating_sub(lowest) >= undo + SEAL;
        let transactions = blocks.iter().map(PreparedBlock::transactions).sum();
        let has_freezes = blocks.iter().any(|block| block.has_freezes);
        // In one turn: another writer may add rows of these blocks in between.
        let AdvanceReport { generation, removed, sealed, .. } = session.writer.exclusively(self.cancel, |writer| {
            let snapshot = writer.snapshot();
            let batches = blocks.into_iter().map(|block| block.with_claims(&snapshot)).collect::<Result<_, _>>()?;
            let seal_to = is_long.then(|| to_block - undo);
            Ok::<_, NodeError>(writer.advance_tail(chain, TailAdvance { keep_to, blocks: batches, seal_to })?)
        })?;
        self.report.add(to_block - from_block + 1, removed, generation);
        self.progress.advanced(&FollowStep {
            chain: chain.name(),
            generation,
            from_block,
            to_block,
            removed,
            sealed,
            transactions,
            seconds: began.elapsed().as_secs_f64(),
        });
        session.are_freezes_due |= has_freezes || removed > 0;
        self.import_freezes(session)?;
        if sealed > 0 { self.build_tables(session) } else { Ok(()) }
    }

    /// Imports the freezes of the store as it is now, where they may have changed: those of a block that was taken back are
    /// gone.
    fn import_freezes(&mut self, session: &mut Session) -> Result<(), NodeError> {
        if session.are_freezes_due {
            refresh_freezes(&mut session.writer, clock::now(), self.cancel)?;
            session.are_freezes_due = false;
        }
        Ok(())
    }

    /// Builds the tables that are due. Without them answers take longer and are the same.
    fn build_tables(&self, session: &mut Session) -> Result<(), NodeError> {
        let progress = |kind, done, total| self.progress.history().building(kind, done, total);
        let built = match session.writer.has_due_sidecars() {
            Ok(true) => session.writer.rebuild_sidecars(&progress, self.cancel).map(drop),
            due => due.map(drop),
        };
        match built {
            Err(error) if !matches!(error, LedgerError::Cancelled(_)) => {
                self.note_once("tables were not built, so some answers take longer", &[error.to_string()]);
                Ok(())
            }
            built => Ok(built?),
        }
    }

    /// Reports a reason for which followed blocks lack something, the first time.
    fn note_once(&self, what: &'static str, reasons: &[String]) {
        if self.noted.lock().expect("no holder of the lock panics").insert(what) {
            self.progress.note(&format!("{what}: {}", reasons.join("; ")));
        }
    }

    fn is_done(&self, writer: &Writer) -> bool {
        let chain = self.options.chain;
        let newest = writer.tail(chain).last().map(|block| block.number);
        let newest = newest.or_else(|| last_held(writer.snapshot().coverage().get(&chain)?));
        self.options.until.is_some_and(|until| newest.is_some_and(|newest| newest >= until))
    }
}

/// A store that is followed.
struct Session {
    writer: Writer,
    intake: Intake,
    /// The first block of the tail, as long as the tail is empty.
    next: Option<u64>,
    /// True if blocks changed since freezes were imported, or may have changed before the process began.
    are_freezes_due: bool,
}

/// The way of blocks into the store.
struct Intake {
    source: Box<dyn Source>,
    spool: Spool,
}

/// The tail of a chain, and the block below it with its hash, where that is known.
type Window = (Vec<TailPosition>, (u64, Option<BlockHash>));

impl Session {
    fn new(store: &Path, writer: Writer, source: Box<dyn Source>, next: Option<u64>) -> Result<Self, NodeError> {
        Ok(Self { writer, intake: Intake { source, spool: Spool::new(store)? }, next, are_freezes_due: true })
    }

    fn window(&self, chain: Chain) -> Result<Window, NodeError> {
        let tail = self.writer.tail(chain);
        let below = match tail.first() {
            Some(lowest) => (lowest.number.saturating_sub(1), Some(lowest.parent)),
            None => {
                let number = self.next.unwrap_or(0).saturating_sub(1);
                let held = self.writer.snapshot().block(chain, number)?;
                (number, held.and_then(|block| block.hash))
            }
        };
        Ok((tail, below))
    }
}

/// Returns the last block of the ranges whose transactions are complete in the store. Single rows of later blocks, as exports
/// of accounts bring them, do not count.
fn last_held(coverage: &Coverage) -> Option<u64> {
    coverage.ranges_of(CoverageTable::Transactions).last().map(|(_, last)| *last)
}

/// Describes an error with its causes and the remedy, in one line.
fn describe(error: &NodeError) -> String {
    let remedy = match error {
        NodeError::Ledger(LedgerError::Conflict { .. }) => {
            "; another source brought this block: load the chain into a new store without that source"
        }
        _ => "",
    };
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    let mut parts: Vec<String> = causes.map(ToString::to_string).collect();
    parts.dedup();
    parts.join(": ").split_whitespace().collect::<Vec<_>>().join(" ") + remedy
}
