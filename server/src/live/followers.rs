//! Followers of live nodes in this process: one thread for each, which is started again when it ends.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headwater_ledger::Cancel;
use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_state::{causes, now_ms};
use headwater_types::Chain;

use super::nodes::NodeList;

/// The time after which a halted chain is tried again.
const HALTED_RETRY: Duration = Duration::from_secs(30);
/// The interval at which the status of a chain that waits is written again.
const REFRESH: Duration = Duration::from_secs(5);
/// The interval at which a waiting thread looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);
/// The time that followers have to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// The waits after failures that follow one another.
#[derive(Debug, Clone, Copy)]
struct Waits {
    first: Duration,
    longest: Duration,
    halted: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), longest: Duration::from_mins(1), halted: HALTED_RETRY }
    }
}

/// The reason for which following ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowEnd {
    /// The node contradicts blocks that cannot be taken back.
    Halted(String),
    /// Another process follows the chain, and writes its status.
    Elsewhere(String),
    /// Anything that may pass.
    Failed(String),
}

/// Follows the nodes of a chain into the store until it is cancelled; it writes its status itself.
pub(crate) type Follow = dyn Fn(Chain, &NodeList, &Cancel) -> Result<(), FollowEnd> + Send + Sync;

/// The followers of a store.
pub(crate) struct Followers {
    cancel: Cancel,
    threads: Vec<JoinHandle<()>>,
}

impl Followers {
    /// Starts one for each chain.
    pub fn start(store: &Path, nodes: &BTreeMap<Chain, NodeList>, follow: &Arc<Follow>) -> std::io::Result<Self> {
        Self::with_waits(store, nodes, follow, Waits::default())
    }

    fn with_waits(
        store: &Path,
        nodes: &BTreeMap<Chain, NodeList>,
        follow: &Arc<Follow>,
        waits: Waits,
    ) -> std::io::Result<Self> {
        let mut followers = Self { cancel: Cancel::new(), threads: Vec::new() };
        for (chain, nodes) in nodes {
            tracing::info!("{chain}: following {nodes}");
            let supervisor = Supervisor {
                store: store.to_owned(),
                chain: *chain,
                nodes: nodes.clone(),
                follow: Arc::clone(follow),
                waits,
                cancel: followers.cancel.clone(),
            };
            let thread = thread::Builder::new().name(format!("follow-{chain}"));
            followers.threads.push(thread.spawn(move || supervisor.run())?);
        }
        Ok(followers)
    }

    /// Returns what stops them.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Stops them, and waits for the end of the change that each has begun. Blocks: for threads that may.
    pub fn stop(self) {
        self.cancel.cancel();
        let asked = Instant::now();
        for thread in self.threads {
            while !thread.is_finished() && asked.elapsed() < STOP_TIMEOUT {
                thread::sleep(LOOK);
            }
            let name = thread.thread().name().unwrap_or_default().to_owned();
            if !thread.is_finished() {
                tracing::warn!("{name} did not stop within {} s; its last commit is whole", STOP_TIMEOUT.as_secs());
            } else if thread.join().is_err() {
                tracing::error!("{name} panicked");
            }
        }
    }
}

/// Runs the follower of one chain again and again.
struct Supervisor {
    store: PathBuf,
    chain: Chain,
    nodes: NodeList,
    follow: Arc<Follow>,
    waits: Waits,
    cancel: Cancel,
}

impl Supervisor {
    fn run(&self) {
        let mut wait = self.waits.first;
        while !self.is_cancelled() {
            let began = Instant::now();
            let followed = catch_unwind(AssertUnwindSafe(|| (self.follow)(self.chain, &self.nodes, &self.cancel)));
            if self.is_cancelled() {
                return;
            }
            let end = match followed {
                Ok(Err(end)) => end,
                Ok(Ok(())) => FollowEnd::Failed("the follower ended by itself".to_owned()),
                Err(_) => FollowEnd::Failed("the follower panicked; the log has the place".to_owned()),
            };
            match end {
                FollowEnd::Halted(reason) => self.wait(&LiveState::Halted { reason }, self.waits.halted),
                FollowEnd::Elsewhere(reason) => {
                    tracing::warn!("{reason}");
                    self.sleep(self.waits.halted);
                }
                FollowEnd::Failed(reason) => {
                    if began.elapsed() >= self.waits.longest {
                        wait = self.waits.first;
                    }
                    self.wait(&LiveState::Waiting { reason }, wait);
                    wait = (wait * 2).min(self.waits.longest);
                }
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.check().is_err()
    }

    fn sleep(&self, pause: Duration) {
        let began = Instant::now();
        while began.elapsed() < pause && !self.is_cancelled() {
            thread::sleep(LOOK.min(pause));
        }
    }

    /// Waits, with a status that says why.
    fn wait(&self, state: &LiveState, pause: Duration) {
        let began = Instant::now();
        let mut written: Option<Instant> = None;
        while began.elapsed() < pause && !self.is_cancelled() {
            if written.is_none_or(|written| written.elapsed() >= REFRESH) {
                let is_first = written.is_none();
                written = Some(Instant::now());
                match self.write_status(state) {
                    // No status has the reason: before the first answer of a node there is none.
                    Ok(false) if is_first => {
                        let (LiveState::Waiting { reason } | LiveState::Halted { reason }) = state else { return };
                        tracing::warn!("{}: cannot follow: {reason}", self.chain);
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(error = causes(&error), "{}: the status cannot be written", self.chain);
                    }
                }
            }
            thread::sleep(LOOK.min(pause));
        }
    }

    /// Writes a state with the last known blocks of the node; gives whether there are any. A halted chain stays so, and a
    /// follower in another process writes its status itself.
    fn write_status(&self, state: &LiveState) -> Result<bool, headwater_ledger::LedgerError> {
        let Some(_lock) = LiveStatus::lock(&self.store, self.chain)? else { return Ok(true) };
        let Some(known) = LiveStatus::read(&self.store, self.chain)? else { return Ok(false) };
        let written_ms = u64::try_from(now_ms()).unwrap_or(0);
        let state = if matches!(known.state, LiveState::Halted { .. }) { known.state.clone() } else { state.clone() };
        LiveStatus { state, written_ms, ..known }.write(&self.store)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::nodes::parse_follow;
    use super::*;

    const QUICK: Waits =
        Waits { first: Duration::from_millis(1), longest: Duration::from_millis(4), halted: Duration::from_millis(2) };

    fn until(what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(20), "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn status(chain: Chain, state: LiveState) -> LiveStatus {
        LiveStatus { chain, state, head_block: 9, final_block: 5, written_ms: 1, silent: Vec::new() }
    }

    #[test]
    fn follower_is_started_again_after_each_kind_of_end() {
        let store = tempfile::tempdir().unwrap();
        let (chain, nodes) = parse_follow("tron=http://127.0.0.1:1").unwrap();
        status(chain, LiveState::Following).write(store.path()).unwrap();
        let (calls, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counted, states, place) = (Arc::clone(&calls), Arc::clone(&seen), store.path().to_owned());
        let follow: Arc<Follow> = Arc::new(move |chain, nodes: &NodeList, cancel: &Cancel| {
            assert_eq!(nodes.addresses(), ["http://127.0.0.1:1"]);
            states.lock().unwrap().push(LiveStatus::read(&place, chain).unwrap().unwrap().state);
            match counted.fetch_add(1, Ordering::SeqCst) {
                0 => Err(FollowEnd::Failed("no answer".to_owned())),
                1 => panic!("a defect"),
                2 => Ok(()),
                3 => Err(FollowEnd::Halted("block 5 differs".to_owned())),
                _ => {
                    while cancel.check().is_ok() {
                        thread::sleep(Duration::from_millis(1));
                    }
                    Ok(())
                }
            }
        });
        let followers = Followers::with_waits(store.path(), &[(chain, nodes)].into(), &follow, QUICK).unwrap();
        until("the follower runs again", || calls.load(Ordering::SeqCst) == 5);
        followers.stop();
        let waiting = |reason: &str| LiveState::Waiting { reason: reason.to_owned() };
        let expected = [
            LiveState::Following,
            waiting("no answer"),
            waiting("the follower panicked; the log has the place"),
            waiting("the follower ended by itself"),
            LiveState::Halted { reason: "block 5 differs".to_owned() },
        ];
        assert_eq!(*seen.lock().unwrap(), expected);
        assert_eq!(calls.load(Ordering::SeqCst), 5, "it is not started again once it is to stop");
    }

    #[test]
    fn follower_stops_while_it_waits() {
        let store = tempfile::tempdir().unwrap();
        let nodes = [parse_follow("bsc=http://127.0.0.1:1").unwrap()].into();
        let follow: Arc<Follow> = Arc::new(|_, _: &NodeList, _: &Cancel| Err(FollowEnd::Halted("no".to_owned())));
        let followers = Followers::start(store.path(), &nodes, &follow).unwrap();
        thread::sleep(Duration::from_millis(20));
        let began = Instant::now();
        followers.stop();
        assert!(began.elapsed() < Duration::from_secs(5));
        assert_eq!(LiveStatus::read(store.path(), Chain::BSC).unwrap(), None, "no block of a node is known");
    }
}
