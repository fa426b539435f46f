//! The status of a follower for other processes, and the lock that keeps a chain from being followed twice.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_ledger::store::{CommitReport, LiveState, LiveStatus};
use headwater_types::Chain;

use super::options::FollowProgress;
use crate::error::NodeError;
use crate::history::{HistoryProgress, HistoryState};
use crate::source::NodeHeads;

/// The time after which the status is written again though nothing has changed, in milliseconds.
const REFRESH_MS: u64 = 5_000;

/// The file with the status of a follower.
pub(super) struct StatusFile<'a> {
    store: &'a Path,
    written: Mutex<LiveStatus>,
    /// Released by the system when the process ends, however it ends.
    _lock: File,
}

impl<'a> StatusFile<'a> {
    /// Takes the lock of a chain.
    pub fn open(store: &'a Path, chain: Chain) -> Result<Self, NodeError> {
        let folder = store.join("live");
        let path = folder.join(format!("{}.lock", chain.name()));
        let failed = |source| NodeError::Io { file: path.display().to_string(), source };
        fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(NodeError::FollowedAlready { chain }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let held = LiveStatus::read(store, chain)?;
        let status = held.unwrap_or(LiveStatus {
            chain,
            state: LiveState::CatchingUp,
            head_block: 0,
            final_block: 0,
            written_ms: 0,
        });
        Ok(Self { store, written: Mutex::new(LiveStatus { written_ms: 0, ..status }), _lock: lock })
    }

    /// Writes a state.
    pub fn set(&self, state: LiveState, progress: &dyn FollowProgress) -> Result<(), NodeError> {
        self.write(|status| status.state = state, progress)
    }

    /// Writes a state and the heads of the nodes.
    pub fn set_heads(
        &self,
        state: LiveState,
        heads: NodeHeads,
        progress: &dyn FollowProgress,
    ) -> Result<(), NodeError> {
        let change = |status: &mut LiveStatus| {
            *status = LiveStatus { state, head_block: heads.newest, final_block: heads.newest_final, ..status.clone() };
        };
        self.write(change, progress)
    }

    /// Writes the status where it has changed, or was written too long ago.
    fn write(&self, change: impl FnOnce(&mut LiveStatus), progress: &dyn FollowProgress) -> Result<(), NodeError> {
        let mut written = self.written.lock().expect("no holder of the lock panics");
        let mut status = written.clone();
        change(&mut status);
        let now = now_ms();
        if status == *written && now.saturating_sub(status.written_ms) < REFRESH_MS {
            return Ok(());
        }
        let is_new = written.written_ms == 0 || written.state != status.state;
        status.written_ms = now;
        status.write(self.store)?;
        *written = status.clone();
        drop(written);
        if is_new {
            progress.state(&status);
        }
        Ok(())
    }

    /// Returns a progress that keeps the status alive while history is loaded.
    pub fn heartbeat<'b>(&'b self, progress: &'b dyn FollowProgress) -> Heartbeat<'b> {
        Heartbeat { status: self, progress }
    }
}

/// Hands the progress of history on, and keeps the status alive.
pub(super) struct Heartbeat<'a> {
    status: &'a StatusFile<'a>,
    progress: &'a dyn FollowProgress,
}

impl Heartbeat<'_> {
    fn beat(&self) {
        // What cannot be written now is written with the next change, which reports the error.
        let _ = self.status.write(|_| {}, self.progress);
    }
}

impl HistoryProgress for Heartbeat<'_> {
    fn update(&self, state: HistoryState) {
        self.beat();
        self.progress.history().update(state);
    }

    fn committed(&self, report: &CommitReport) {
        self.beat();
        self.progress.history().committed(report);
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.beat();
        self.progress.history().building(kind, done, total);
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
