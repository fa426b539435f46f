//! The status of a follower for other processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_types::Chain;

use super::clock::now_ms;
use super::options::FollowProgress;
use crate::error::NodeError;
use crate::source::NodeHeads;

/// The interval at which the status is written again though nothing has changed.
const REFRESH: Duration = Duration::from_secs(5);

/// The file with the status of a follower. A thread writes it again and again while the follower works or waits.
pub(super) struct StatusFile {
    writer: Arc<StatusWriter>,
    /// Dropped to end the thread.
    _alive: Sender<()>,
    /// The lock of the chain.
    _lock: File,
}

struct StatusWriter {
    store: PathBuf,
    /// The status as it was written last.
    written: Mutex<LiveStatus>,
}

impl StatusFile {
    /// Takes the lock of a chain.
    pub fn open(store: &Path, chain: Chain) -> Result<Self, NodeError> {
        let lock = LiveStatus::lock(store, chain)?.ok_or(NodeError::FollowedAlready { chain })?;
        let held = LiveStatus::read(store, chain)?;
        let first = LiveStatus {
            chain,
            state: LiveState::CatchingUp,
            head_block: 0,
            final_block: 0,
            written_ms: 0,
            silent: Vec::new(),
        };
        let status = LiveStatus { written_ms: 0, ..held.unwrap_or(first) };
        let writer = Arc::new(StatusWriter { store: store.to_owned(), written: Mutex::new(status) });
        let (alive, ended) = mpsc::channel();
        let refreshed = Arc::clone(&writer);
        thread::spawn(move || {
            while ended.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
                refreshed.refresh();
            }
        });
        Ok(Self { writer, _alive: alive, _lock: lock })
    }

    /// Writes a state, with the newest heads and the nodes that do not answer. A halted chain stays halted until it is followed
    /// again.
    pub fn set(
        &self,
        state: LiveState,
        heads: Option<NodeHeads>,
        silent: Vec<String>,
        progress: &dyn FollowProgress,
    ) -> Result<(), NodeError> {
        let change = |status: &mut LiveStatus| {
            if !(status.is_halted() && matches!(state, LiveState::Waiting { .. })) {
                status.state = state;
            }
            if let Some(heads) = heads {
                (status.head_block, status.final_block) = (heads.newest, heads.newest_final);
            }
            status.silent = silent;
        };
        self.writer.write(change, progress)
    }

    /// Writes that the follower ended.
    pub fn end(self) -> Result<(), NodeError> {
        let mut written = self.writer.written.lock().unwrap_or_else(PoisonError::into_inner);
        let status = written.clone();
        // The thread writes no more.
        written.written_ms = 0;
        drop(written);
        if status.written_ms > 0 { Ok(status.ended().write(&self.writer.store)?) } else { Ok(()) }
    }
}

impl StatusWriter {
    /// Writes the status where it has changed.
    fn write(&self, change: impl FnOnce(&mut LiveStatus), progress: &dyn FollowProgress) -> Result<(), NodeError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let mut status = written.clone();
        change(&mut status);
        if status == *written && status.written_ms > 0 {
            return Ok(());
        }
        let is_new = written.written_ms == 0 || written.state != status.state;
        status.written_ms = now_ms();
        status.write(&self.store)?;
        *written = status.clone();
        drop(written);
        if is_new {
            progress.state(&status);
        }
        Ok(())
    }

    /// Writes the status again, with the time of now.
    fn refresh(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.written_ms > 0 {
            written.written_ms = now_ms();
            // The next change reports the error.
            let _ = written.write(&self.store);
        }
    }
}
