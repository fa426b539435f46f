//! The state of the followers of live nodes, one file for each chain, such as `live/ethereum.json`.
//!
//! It is for readers in other processes: which block the node has, and whether following stopped. Nothing of the data
//! depends on it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_types::{Chain, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::{LedgerError, Result};
use crate::permissions;

/// The folder of the files.
const LIVE: &str = "live";

/// A follower that wrote nothing for this time no longer runs.
const LAPSE: Duration = Duration::from_secs(30);

/// The state of the follower of one chain, as it was written last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveStatus {
    /// The chain.
    pub chain: Chain,
    /// The activity of the follower.
    pub state: LiveState,
    /// The newest block of the node.
    pub head_block: u64,
    /// The newest block that the node calls final.
    pub final_block: u64,
    /// The time at which this was written, in milliseconds since the epoch.
    pub written_ms: u64,
    /// The nodes that do not answer, by host.
    #[serde(default)]
    pub silent: Vec<String>,
}

/// The activity of a follower.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum LiveState {
    /// It loads blocks that are final already.
    CatchingUp,
    /// It adds each new block.
    Following,
    /// It waits for an answer of its nodes.
    Waiting {
        /// The reason.
        reason: String,
    },
    /// It stopped, and a person has to act: the chain of the node contradicts blocks that cannot be taken back.
    Halted {
        /// The contradiction, and the remedy.
        reason: String,
    },
}

impl LiveState {
    /// Returns its name, as files and figures have it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::CatchingUp => "catching_up",
            Self::Following => "following",
            Self::Waiting { .. } => "waiting",
            Self::Halted { .. } => "halted",
        }
    }
}

impl LiveStatus {
    /// Reads the status of the follower of a chain; `None` where none ever ran. A file that is damaged says nothing, and the
    /// follower writes it again.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(store: &Path, chain: Chain) -> Result<Option<Self>> {
        let path = path_of(store, chain);
        match fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(io_error("cannot read", &path, source)),
        }
    }

    /// Reads the status of the follower of a chain that runs now; `None` where none does.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read_live(store: &Path, chain: Chain) -> Result<Option<Self>> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Ok(Self::read(store, chain)?.filter(|status| status.is_live(now_ms)))
    }

    /// Reads the status of every chain that ever had a follower, in the order of the chains.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read_all(store: &Path) -> Result<Vec<Self>> {
        Chain::all().filter_map(|chain| Self::read(store, chain).transpose()).collect()
    }

    /// Returns the seconds from the time of the newest held block to the time at which this was written, at least 0.
    #[must_use]
    pub fn lag_secs(&self, newest_held: Timestamp) -> i64 {
        let written = i64::try_from(self.written_ms / 1000).unwrap_or(i64::MAX);
        written.saturating_sub(newest_held.secs()).max(0)
    }

    /// Returns the status of a follower that ended, which is live no more.
    #[must_use]
    pub fn ended(self) -> Self {
        let lapse = u64::try_from(LAPSE.as_millis()).unwrap_or(u64::MAX);
        Self { written_ms: self.written_ms.saturating_sub(lapse + 1), ..self }
    }

    /// Writes the status in place of the one before.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, store: &Path) -> Result<()> {
        let path = path_of(store, self.chain);
        let failed = |source| io_error("cannot write", &path, source);
        let bytes = serde_json::to_vec(self).expect("plain records have a JSON form");
        let temporary = path.with_extension(format!("json-{}", std::process::id()));
        permissions::create_folder(&store.join(LIVE)).map_err(failed)?;
        let mut file = permissions::create(&temporary).map_err(failed)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&temporary, &path).map_err(failed)
    }

    /// Returns the newest block of the node; `None` before its first answer.
    #[must_use]
    pub const fn head(&self) -> Option<u64> {
        if self.head_block == 0 && !matches!(self.state, LiveState::Following) { None } else { Some(self.head_block) }
    }

    /// Returns whether the chain is halted. It stays so after the end of its follower, until one continues.
    #[must_use]
    pub const fn is_halted(&self) -> bool {
        matches!(self.state, LiveState::Halted { .. })
    }

    /// Takes the lock of the one follower of a chain, who alone writes its status; `None` where another process has it. The
    /// system releases it when the process ends, however it ends.
    ///
    /// # Errors
    /// When the file of the lock cannot be made.
    pub fn lock(store: &Path, chain: Chain) -> Result<Option<File>> {
        let path = store.join(LIVE).join(format!("{}.lock", chain.name()));
        let failed = |source| io_error("cannot lock", &path, source);
        permissions::create_folder(&store.join(LIVE)).map_err(failed)?;
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        permissions::inherit(&lock, &path);
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Returns whether the follower runs: it wrote its status a short time ago. `now_ms` is in milliseconds since the epoch.
    #[must_use]
    pub fn is_live(&self, now_ms: u64) -> bool {
        u128::from(now_ms.saturating_sub(self.written_ms)) <= LAPSE.as_millis()
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> LedgerError {
    LedgerError::Io { action, path: path.to_owned(), source }
}

fn path_of(store: &Path, chain: Chain) -> PathBuf {
    store.join(LIVE).join(format!("{}.json", chain.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read_as_written_until_it_lapses() {
        let store = tempfile::tempdir().unwrap();
        assert_eq!(LiveStatus::read(store.path(), Chain::TRON).unwrap(), None);
        let status = LiveStatus {
            chain: Chain::TRON,
            state: LiveState::Halted { reason: "block 5 differs".to_owned() },
            head_block: 7,
            final_block: 3,
            written_ms: 100_000,
            silent: vec!["node.example".to_owned()],
        };
        status.write(store.path()).unwrap();
        assert_eq!(LiveStatus::read(store.path(), Chain::TRON).unwrap(), Some(status.clone()));
        assert!(status.is_live(130_000) && status.is_live(0));
        assert!(!status.is_live(130_001) && !status.clone().ended().is_live(100_000));
        assert_eq!(LiveStatus::read_all(store.path()).unwrap(), std::slice::from_ref(&status));
        assert_eq!([90, 100, 110].map(|held| status.lag_secs(Timestamp::new(held))), [10, 0, 0]);
        assert_eq!(LiveStatus::read_live(store.path(), Chain::TRON).unwrap(), None);
        fs::write(path_of(store.path(), Chain::TRON), "").unwrap();
        assert_eq!(LiveStatus::read(store.path(), Chain::TRON).unwrap(), None);
        let lock = LiveStatus::lock(store.path(), Chain::TRON).unwrap();
        assert!(lock.is_some() && LiveStatus::lock(store.path(), Chain::TRON).unwrap().is_none());
        assert!(LiveStatus::lock(store.path(), Chain::BSC).unwrap().is_some());
    }
}
