//! The turns of writers: one at a time changes a store, and the others wait.
//!
//! `writer.lock` is locked while a change runs, and its first line names the writer that has it. The system releases the
//! lock when the process ends, however it ends. A waiting writer locks `writer.queue` first, so a writer that commits in a
//! loop cannot take the next turn before it.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use serde::{Deserialize, Serialize};

use super::folder::io_error;
use super::holds;
use crate::permissions;
use crate::read::Result;
use crate::{Cancel, LedgerError, LockHolder};

const LOCK: &str = "writer.lock";
const QUEUE: &str = "writer.queue";

/// The wait after which the notice is given.
const NOTICE_AFTER: Duration = Duration::from_secs(2);
/// The wait after which a writer gives up, unless its options name another.
const MAX_WAIT: Duration = Duration::from_mins(10);
/// Bounds of the sleep between two attempts, which is an eighth of the wait so far.
const MIN_SLEEP: Duration = Duration::from_micros(200);
const MAX_SLEEP: Duration = Duration::from_millis(50);
/// Length of the first line of the lock file with the spaces behind it, which cover an earlier, longer one.
const RECORD_BYTES: usize = 512;
/// Bytes of a command that are kept.
const COMMAND_BYTES: usize = 128;

static DEFAULTS: ArcSwapOption<WriterOptions> = ArcSwapOption::const_empty();

/// The first line of the lock file.
#[derive(Serialize, Deserialize)]
struct HolderRecord {
    process: u32,
    host: Option<String>,
    command: String,
    /// When the turn began, in milliseconds since the epoch.
    since_ms: u64,
}

/// A wait for the turn of another writer.
#[derive(Debug, Clone)]
pub struct LockWait {
    /// The store.
    pub store: PathBuf,
    /// The writer that has the lock; `None` where it cannot be read.
    pub holder: Option<LockHolder>,
    /// The wait so far.
    pub waited: Duration,
}

impl fmt::Display for LockWait {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = self.store.display();
        match &self.holder {
            Some(holder) => write!(out, "{store}: waiting for {holder}"),
            None => write!(out, "{store}: waiting for another process, which writes to it"),
        }
    }
}

type WaitHook = Arc<dyn Fn(&LockWait) + Send + Sync>;

/// The choices of a writer about its turns.
///
/// ```
/// use std::time::Duration;
/// use headwater_ledger::store::WriterOptions;
///
/// let folder = tempfile::tempdir()?;
/// let options = WriterOptions::default().named("nightly import").wait_at_most(Duration::from_secs(5));
/// let writer = options.on_wait(|wait| eprintln!("{wait}")).open(folder.path())?;
/// assert_eq!(writer.snapshot().generation(), 1);
/// # use headwater_ledger::read::Generation as _;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WriterOptions {
    name: String,
    max_wait: Duration,
    on_wait: Option<WaitHook>,
    cancel: Cancel,
}

impl Default for WriterOptions {
    /// Returns the defaults of the process, else: the name of the program, a wait of 10 minutes, and no notice.
    fn default() -> Self {
        if let Some(options) = DEFAULTS.load_full() {
            return Self::clone(&options);
        }
        let program = std::env::current_exe().ok();
        let name = program.as_deref().and_then(Path::file_stem).map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| "a program".to_owned());
        Self { name, max_wait: MAX_WAIT, on_wait: None, cancel: Cancel::new() }
    }
}

impl fmt::Debug for WriterOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, max_wait, .. } = self;
        out.debug_struct("WriterOptions").field("name", name).field("max_wait", max_wait).finish_non_exhaustive()
    }
}

impl WriterOptions {
    /// Makes these the defaults of all writers that this process opens from now on.
    pub fn make_default(self) {
        DEFAULTS.store(Some(Arc::new(self)));
    }

    /// Sets the name that waiting writers read, such as `headwater ingest`.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Sets the wait after which a change fails with [`LedgerError::Locked`].
    #[must_use]
    pub fn wait_at_most(self, max_wait: Duration) -> Self {
        Self { max_wait, ..self }
    }

    /// Sets the function that is called once for each wait of more than two seconds.
    #[must_use]
    pub fn on_wait(self, notice: impl Fn(&LockWait) + Send + Sync + 'static) -> Self {
        Self { on_wait: Some(Arc::new(notice)), ..self }
    }

    /// Ends all waits of the writer when this token is set.
    #[must_use]
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }
}

/// The lock of a store, open but not locked.
pub(super) struct WriterLock {
    root: PathBuf,
    lock: File,
    queue: File,
    options: WriterOptions,
    host: Option<String>,
    is_held: AtomicBool,
    /// When the turn began, in milliseconds since the epoch.
    since_ms: AtomicU64,
}

/// The lock of a store, held until it is dropped.
pub(super) struct Turn(Arc<WriterLock>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.is_held.store(false, Ordering::Release);
        // Else the system releases it when the file is closed.
        let _ = self.0.lock.unlock();
    }
}

impl WriterLock {
    pub(super) fn open(root: &Path, options: WriterOptions) -> Result<Arc<Self>> {
        let [lock, queue] = [LOCK, QUEUE].map(|name| {
            let path = root.join(name);
            let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
            file.inspect(|file| permissions::inherit(file, &path))
                .map_err(|source| io_error("cannot open", &path, source))
        });
        let (root, host, is_held, since_ms) =
            (root.to_owned(), holds::host(), AtomicBool::new(false), AtomicU64::new(0));
        Ok(Arc::new(Self { root, lock: lock?, queue: queue?, options, host, is_held, since_ms }))
    }

    /// Returns whether this writer has the lock.
    pub(super) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    /// Waits for the lock.
    pub(super) fn take(self: &Arc<Self>, cancel: &Cancel) -> Result<Turn> {
        let mut wait = Wait { began: Instant::now(), is_noticed: false };
        self.lock_file(&self.queue, QUEUE, &mut wait, cancel)?;
        let locked = self.lock_file(&self.lock, LOCK, &mut wait, cancel);
        let unlocked = self.queue.unlock();
        locked?;
        self.is_held.store(true, Ordering::Release);
        self.since_ms.store(now_ms(), Ordering::Relaxed);
        let turn = Turn(Arc::clone(self));
        unlocked.map_err(|source| io_error("cannot unlock", &self.root.join(QUEUE), source))?;
        // A full disk must not keep a change out that needs no space; only a name is missing then.
        let _ = self.write_holder();
        Ok(turn)
    }

    fn lock_file(&self, file: &File, name: &str, wait: &mut Wait, cancel: &Cancel) -> Result<()> {
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(io_error("cannot lock", &self.root.join(name), source)),
            }
            cancel.check()?;
            self.options.cancel.check()?;
            let waited = wait.began.elapsed();
            let Some(left) = self.options.max_wait.checked_sub(waited).filter(|left| !left.is_zero()) else {
                let (path, holder) = (self.root.clone(), self.holder());
                return Err(LedgerError::Locked { path, waited_secs: waited.as_secs(), holder });
            };
            if waited >= NOTICE_AFTER && !wait.is_noticed {
                wait.is_noticed = true;
                if let Some(notice) = &self.options.on_wait {
                    notice(&LockWait { store: self.root.clone(), holder: self.holder(), waited });
                }
            }
            thread::sleep((waited / 8).clamp(MIN_SLEEP, MAX_SLEEP).min(left));
        }
    }

    /// Writes into the lock file which writer has the lock, and returns the time of that by the clock that dates the files
    /// of the store, which need not be that of this machine.
    pub(super) fn write_holder(&self) -> Result<SystemTime> {
        let mut command = self.options.name.clone();
        command.truncate(command.floor_char_boundary(COMMAND_BYTES));
        let (process, host, since_ms) = (std::process::id(), self.host.clone(), self.since_ms.load(Ordering::Relaxed));
        let holder = HolderRecord { process, host, command, since_ms };
        let mut line = serde_json::to_vec(&holder).expect("plain records have a JSON form");
        line.push(b'\n');
        line.resize(line.len().max(RECORD_BYTES), b' ');
        let mut lock = &self.lock;
        let written = lock.seek(SeekFrom::Start(0)).and_then(|_| lock.write_all(&line));
        let time = written.and_then(|()| lock.metadata()).and_then(|file| file.modified());
        time.map_err(|source| io_error("cannot write", &self.root.join(LOCK), source))
    }

    /// Reads which writer has the lock; `None` where none wrote its name, or the system lets only the holder read it.
    fn holder(&self) -> Option<LockHolder> {
        let mut text = Vec::new();
        let mut lock = &self.lock;
        lock.seek(SeekFrom::Start(0)).and_then(|_| lock.take(RECORD_BYTES as u64).read_to_end(&mut text)).ok()?;
        let line = text.split(|byte| *byte == b'\n').next()?;
        let HolderRecord { process, host, command, since_ms } = serde_json::from_slice(line).ok()?;
        let host = host.filter(|host| self.host.as_ref() != Some(host));
        Some(LockHolder { process, host, command, secs: now_ms().saturating_sub(since_ms) / 1000 })
    }
}

/// A wait for a turn.
struct Wait {
    began: Instant,
    is_noticed: bool,
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    u64::try_from(now).unwrap_or(u64::MAX)
}
