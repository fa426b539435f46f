//! Following a chain that is replaced while it is asked, by a follower that is stopped while it writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::read::{
    ChainRange, CoverageTable, Generation as _, Generations as _, History as _, Transactions as _,
};
use headwater_ledger::store::{LiveState, LiveStatus, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_node::{
    FollowOptions, FollowProgress, FollowReport, FollowStep, HistoryProgress, HistoryState, NodeError, Providers,
    Traces, follow,
};
use headwater_types::{BlockHash, Chain};

use crate::fake::{FakeNode, digest, ranges};
use crate::follow_node::{Draws, Scene, SimulatedChain, Weather, block_hash, locked, node};

/// Blocks below the newest one that are final.
pub(crate) const FINALITY: u64 = 8;

/// The tables that followed blocks are complete with.
const TABLES: [CoverageTable; 7] = [
    CoverageTable::Blocks,
    CoverageTable::Transactions,
    CoverageTable::Receipts,
    CoverageTable::TokenTransfers,
    CoverageTable::Logs,
    CoverageTable::VerifiedTransactions,
    CoverageTable::VerifiedReceipts,
];

/// Gathers the steps, the states and the notes of a follower.
#[derive(Default)]
pub(crate) struct ProgressLog {
    pub steps: Mutex<Vec<FollowStep>>,
    pub states: Mutex<Vec<LiveState>>,
    pub notes: Mutex<Vec<String>>,
}

impl HistoryProgress for ProgressLog {
    fn update(&self, _: HistoryState) {}
}

impl FollowProgress for ProgressLog {
    fn history(&self) -> &dyn HistoryProgress {
        self
    }

    fn state(&self, status: &LiveStatus) {
        self.states.lock().unwrap().push(status.state.clone());
    }

    fn advanced(&self, step: &FollowStep) {
        self.steps.lock().unwrap().push(step.clone());
    }

    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }
}

pub(crate) fn options(until: Option<u64>) -> FollowOptions {
    FollowOptions {
        from: Some(0),
        until,
        poll: Duration::from_millis(1),
        retry: Duration::from_millis(1),
        parallel: 1,
        traces: Traces::LeftOut,
        ..FollowOptions::new(Chain::ETHEREUM)
    }
}

pub(crate) fn run(
    store: &Path,
    nodes: &[&FakeNode],
    options: &FollowOptions,
    cancel: &Cancel,
) -> (Result<FollowReport, NodeError>, ProgressLog) {
    let urls: Vec<String> = nodes.iter().map(|node| node.url.clone()).collect();
    let (providers, progress) = (Providers::new(&urls, None).unwrap(), ProgressLog::default());
    (follow(store, &providers, options, &progress, cancel), progress)
}

/// The digest of a store that reads the chain from a file, and is complete where following is.
fn digest_of_files(folder: &Path, chain: &SimulatedChain) -> String {
    let file = folder.join("blocks.jsonl");
    fs::write(&file, chain.lines()).unwrap();
    let store = folder.join("files");
    let reading = headwater_ingest::Options {
        chain: Some(Chain::ETHEREUM),
        format: Some("evm-rpc".to_owned()),
        ..headwater_ingest::Options::default()
    };
    let mut writer = Writer::open_or_create(&store).unwrap();
    headwater_ingest::ingest(&[file], &reading, &mut writer, &headwater_ingest::Silent, &Cancel::new()).unwrap();
    let mut batch = headwater_ledger::facts::Batch::new(Chain::ETHEREUM);
    for table in TABLES {
        batch.claims.push(headwater_ledger::facts::Claim::Blocks { first: 0, last: chain.head(), table });
    }
    writer.commit(batch, &Cancel::new()).unwrap();
    drop(writer);
    digest(&store)
}

/// The complete ranges and the transactions of a store, which show a difference that a digest hides.
fn contents(store: &Path) -> (String, Vec<(u64, Option<u32>, String)>) {
    let snapshot = Store::open(store).unwrap().snapshot().unwrap();
    let ranges = format!("{:?}", snapshot.coverage()[&Chain::ETHEREUM].ranges);
    let mut rows = Vec::new();
    for run in snapshot.transaction_runs(Chain::ETHEREUM, &ChainRange::default(), 1 << 16).unwrap() {
        for reference in run.unwrap().transactions() {
            let facts = snapshot.transaction(reference).unwrap().facts;
            rows.push((facts.block, facts.index, format!("{facts:?}")));
        }
    }
    rows.sort();
    (ranges, rows)
}

/// Checks that the items of the feed, added and taken back, come to the blocks of the chain behind the first, each once.
fn check_feed(store: &Path, chain: &SimulatedChain) {
    let feed = Store::open(store).unwrap().feed().unwrap();
    let mut held: BTreeMap<u64, BlockHash> = BTreeMap::new();
    let mut adoptions: BTreeMap<BlockHash, u32> = BTreeMap::new();
    for (place, item) in feed.after(0, usize::MAX).unwrap().into_iter().enumerate() {
        assert_eq!(item.position, place as u64 + 1);
        let hash = item.hash.unwrap();
        let adoption = adoptions.entry(hash).or_default();
        assert_eq!(item.adoption, *adoption, "block {}", item.number);
        if item.removed {
            *adoption += 1;
            assert_eq!(held.remove(&item.number), Some(hash), "it takes back what was added");
        } else {
            assert_eq!(held.insert(item.number, hash), None, "block {} is added once", item.number);
        }
    }
    let first = held.keys().next().copied().unwrap_or(chain.head() + 1);
    let expected: BTreeMap<u64, BlockHash> = (first..=chain.head())
        .map(|number| (number, block_hash(&chain.blocks[usize::try_from(number).unwrap()])))
        .collect();
    assert_eq!(held, expected);
}

/// Counts of what happened to followers.
#[derive(Debug, Clone, Copy, Default)]
struct Trials {
    /// Blocks that were taken back.
    removed: u64,
    /// Answers with a change.
    lies: u64,
}

impl Trials {
    const fn and(self, other: Self) -> Self {
        Self { removed: self.removed + other.removed, lies: self.lies + other.lies }
    }
}

/// Follows a chain through changes, failures, wrong answers and stops that a seed decides, and compares the outcome with the
/// last chain.
fn follow_through(folder: &Path, seed: u64) -> Trials {
    let mut draws = Draws::new(seed);
    let mut chain = SimulatedChain::new(FINALITY);
    let begun = draws.below(15);
    chain.grow(begun, &mut draws);
    let weather = Weather { growth: 80, replacement: 60, deep: 20, failure: 50, stale: 30, lie: 40, stop: 10 };
    let changes = 10 + draws.below(20);
    let scene = Arc::new(Mutex::new(Scene { chain, draws, weather, changes, cancel: Cancel::new(), lies: 0 }));
    let node = node(&scene);
    let store = folder.join("store");
    let mut removed = 0;
    loop {
        let cancel = Cancel::new();
        let until = {
            let mut scene = locked(&scene);
            scene.cancel = cancel.clone();
            (scene.changes == 0).then(|| scene.chain.head())
        };
        // Without an end it runs until it is stopped, which the last change does too.
        let report = thread::scope(|scope| {
            scope.spawn(|| {
                while until.is_none() && cancel.check().is_ok() && locked(&scene).changes > 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                if until.is_none() {
                    cancel.cancel();
                }
            });
            let report = run(&store, &[&node], &options(until), &cancel).0;
            cancel.cancel();
            report
        });
        removed += report.unwrap_or_else(|error| panic!("seed {seed}: {error}")).removed;
        if until.is_some() {
            break;
        }
    }
    let chain = locked(&scene).chain.clone();
    let expected = digest_of_files(folder, &chain);
    assert_eq!(contents(&store), contents(&folder.join("files")), "seed {seed}");
    assert_eq!(digest(&store), expected, "seed {seed}");
    check_feed(&store, &chain);
    let lies = locked(&scene).lies;
    Trials { removed, lies }
}

/// Follows through so many seeds, on all cores.
fn follow_seeds(seeds: u64) -> Trials {
    let next = std::sync::atomic::AtomicU64::new(0);
    let work = || {
        let mut trials = Trials::default();
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= seeds {
                return trials;
            }
            // Memory, where there is a folder in it: a thousand stores are synced to the disk otherwise.
            let memory = Path::new("/dev/shm");
            let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
            trials = trials.and(follow_through(folder.unwrap().path(), seed));
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).fold(Trials::default(), Trials::and)
    })
}

#[test]
fn store_equals_the_last_chain_after_reorgs_and_stops() {
    let trials = follow_seeds(200);
    assert!(trials.removed > 200 && trials.lies > 200, "{trials:?}");
}

#[test]
fn full_run_store_equals_the_last_chain_of_ten_thousand_seeds() {
    let began = Instant::now();
    let trials = follow_seeds(10_000);
    println!("10000 seeds, {trials:?}, {:.0} s", began.elapsed().as_secs_f64());
}

#[test]
fn replacement_below_the_tail_halts_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut draws = Draws::new(3);
    let mut chain = SimulatedChain::new(FINALITY);
    chain.grow(40, &mut draws);
    let scene = Scene::calm(chain);
    let node = node(&scene);
    run(&store, &[&node], &options(Some(40)), &Cancel::new()).0.unwrap();
    let before = (digest(&store), Store::open(&store).unwrap().snapshot().unwrap().generation());
    // The tail begins behind the history, which ended at the newest final block.
    locked(&scene).chain.replace_above(31, 12, &mut draws);
    let (outcome, progress) = run(&store, &[&node], &options(None), &Cancel::new());
    let error = outcome.unwrap_err();
    assert!(matches!(error, NodeError::DeepReorg { block: 32, tail: 8 }), "{error}");
    assert!(matches!(progress.states.lock().unwrap().last(), Some(LiveState::Halted { .. })));
    let status = LiveStatus::read(&store, Chain::ETHEREUM).unwrap().unwrap();
    assert!(matches!(&status.state, LiveState::Halted { reason } if reason.contains("new store")), "{status:?}");
    assert_eq!((digest(&store), Store::open(&store).unwrap().snapshot().unwrap().generation()), before);
    // Once the nodes are back on the chain of the store, following continues.
    let mut again = SimulatedChain::new(FINALITY);
    again.grow(40, &mut Draws::new(3));
    again.grow(2, &mut draws);
    locked(&scene).chain = again;
    run(&store, &[&node], &options(Some(42)), &Cancel::new()).0.unwrap();
}

#[test]
fn disagreeing_providers_are_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut draws = Draws::new(5);
    let mut chain = SimulatedChain::new(FINALITY);
    chain.grow(12, &mut draws);
    let (one, other) = (Scene::calm(chain.clone()), Scene::calm(chain));
    let (first, second) = (node(&one), node(&other));
    run(&store, &[&first, &second], &options(Some(12)), &Cancel::new()).0.unwrap();
    let before = digest(&store);
    locked(&one).chain.grow(3, &mut draws);
    locked(&other).chain.replace(2, 6, &mut Draws::new(9));
    let cancel = Cancel::new();
    let disagree =
        |state: &LiveState| matches!(state, LiveState::Waiting { reason } if reason.contains("do not agree"));
    let (outcome, progress) = thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            let state = || LiveStatus::read(&store, Chain::ETHEREUM).unwrap().unwrap().state;
            while !disagree(&state()) && began.elapsed() < Duration::from_mins(1) {
                thread::sleep(Duration::from_millis(5));
            }
            cancel.cancel();
        });
        run(&store, &[&first, &second], &options(None), &cancel)
    });
    outcome.unwrap();
    assert_eq!((digest(&store), progress.steps.lock().unwrap().len()), (before, 0));
    let states = progress.states.lock().unwrap();
    let disagree =
        |state: &LiveState| matches!(state, LiveState::Waiting { reason } if reason.contains("do not agree"));
    assert!(states.iter().any(disagree), "{states:?}");
    drop(states);
    let agreed = locked(&other).chain.clone();
    locked(&one).chain = agreed.clone();
    run(&store, &[&first, &second], &options(Some(agreed.head())), &Cancel::new()).0.unwrap();
    check_feed(&store, &agreed);
}

#[test]
fn first_block_beyond_what_a_store_holds_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(&Scene::calm(SimulatedChain::new(FINALITY)));
    let options = FollowOptions { from: Some(u64::MAX), ..options(None) };
    let error = run(&folder.path().join("store"), &[&node], &options, &Cancel::new()).0.unwrap_err();
    assert!(error.to_string().contains("the last one is 4294967295"), "{error}");
}

#[test]
fn chain_is_followed_once_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let scene = Scene::calm(SimulatedChain::new(FINALITY));
    let (node, cancel) = (node(&scene), Cancel::new());
    thread::scope(|scope| {
        scope.spawn(|| run(&store, &[&node], &options(None), &cancel).0.unwrap());
        let began = Instant::now();
        while LiveStatus::read(&store, Chain::ETHEREUM).unwrap().is_none() && began.elapsed() < Duration::from_secs(20)
        {
            thread::sleep(Duration::from_millis(5));
        }
        let error = run(&store, &[&node], &options(None), &Cancel::new()).0.unwrap_err();
        assert!(error.to_string().contains("another process follows ethereum"), "{error}");
        cancel.cancel();
    });
}

#[test]
fn tail_is_sealed_beyond_the_undo_depth() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut draws = Draws::new(7);
    let mut chain = SimulatedChain::new(FINALITY);
    chain.grow(10, &mut draws);
    let scene = Scene::calm(chain);
    let node = node(&scene);
    run(&store, &[&node], &options(Some(10)), &Cancel::new()).0.unwrap();
    locked(&scene).chain.grow(300, &mut draws);
    let (report, progress) = run(&store, &[&node], &options(Some(310)), &Cancel::new());
    assert_eq!(report.unwrap().blocks, 300);
    assert!(progress.steps.lock().unwrap().iter().map(|step| step.sealed).sum::<u64>() >= 160);
    let undo = u64::from(Chain::ETHEREUM.undo_depth());
    let writer = Writer::open_or_create(&store).unwrap();
    let tail = writer.tail(Chain::ETHEREUM).len() as u64;
    assert!((undo..undo + 48).contains(&tail), "{tail}");
    drop(writer);
    assert_eq!(ranges(&store, Chain::ETHEREUM, CoverageTable::VerifiedTransactions), [(0, 310)]);
    // Nodes that replace all of the tail are followed.
    locked(&scene).chain.replace_above(310 - undo, undo + 1, &mut draws);
    let (report, _) = run(&store, &[&node], &options(Some(311)), &Cancel::new());
    let report = report.unwrap();
    assert_eq!((report.removed, report.reorgs), (undo, 1));
    check_feed(&store, &locked(&scene).chain);
}
