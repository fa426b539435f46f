//! Clocks and counters of the process.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::fs::Advice;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::Result;
use super::error::doing;

/// The cost of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// By the clock on the wall.
    pub wall_ns: u64,
    /// The time of all threads of the process.
    pub cpu_ns: u64,
}

/// Processor time of all threads of this process.
#[must_use]
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Runs something and returns what it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (cpu, wall) = (cpu_ns(), Instant::now());
    let outcome = work();
    let wall_ns = u64::try_from(wall.elapsed().as_nanos()).unwrap_or(u64::MAX);
    (outcome, Cost { wall_ns, cpu_ns: cpu_ns() - cpu })
}

/// Anonymous memory now and the most of all memory so far, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Resident and not of a file.
    pub anonymous: u64,
    /// The most that was resident.
    pub peak: u64,
}

/// Reads `/proc/self/status`; zeros where there is none.
#[must_use]
pub fn memory() -> Memory {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    Memory { anonymous: kib("RssAnon:"), peak: kib("VmHWM:") }
}

/// Does something and returns the most anonymous memory of the process meanwhile, looked at every so often.
pub fn watched<T>(every: Duration, work: impl FnOnce() -> T) -> (T, u64) {
    let mut most = 0;
    let outcome = std::thread::scope(|scope| {
        // Closed when the work is done, or panics.
        let (running, ended) = mpsc::channel::<()>();
        let most = &mut most;
        scope.spawn(move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                *most = memory().anonymous.max(*most);
            }
        });
        let outcome = work();
        drop(running);
        outcome
    });
    (outcome, memory().anonymous.max(most))
}

/// Memory that the system could give away now.
#[must_use]
pub fn available_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Bytes that the storage delivered to this process, and major faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reads {
    /// Bytes.
    pub bytes: u64,
    /// Faults that waited for the storage.
    pub major_faults: u64,
}

impl Reads {
    /// The counters now; zeros where the system has none.
    #[must_use]
    pub fn now() -> Self {
        let io = fs::read_to_string("/proc/self/io").unwrap_or_default();
        let bytes = io.lines().find_map(|line| line.strip_prefix("read_bytes: ")).and_then(|text| text.parse().ok());
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Behind the name in brackets: state, parent, ..., the tenth is the count of major faults.
        let faults = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(9)?.parse().ok());
        Self { bytes: bytes.unwrap_or(0), major_faults: faults.unwrap_or(0) }
    }

    /// Returns what was read since.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(before.bytes),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
        }
    }
}

/// Drops the pages of every file below a folder from the cache of the system. Pages that are mapped stay: close the
/// mappings first.
///
/// # Errors
/// When a file cannot be opened or advised.
pub fn forget_pages(folder: &Path) -> Result<()> {
    for path in files_below(folder)? {
        let file = fs::File::open(&path).map_err(doing(format!("opening {}", path.display())))?;
        file.sync_data().map_err(doing("syncing"))?;
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)
            .map_err(|error| doing(format!("advising {}", path.display()))(error.into()))?;
    }
    Ok(())
}

/// Every file below a folder.
///
/// # Errors
/// When a folder cannot be listed.
pub fn files_below(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(doing(format!("listing {}", folder.display())))? {
            let path = entry.map_err(doing("listing"))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Bytes of every file below a path; of the file itself when it is one.
///
/// # Errors
/// When it cannot be read.
pub fn bytes_below(path: &Path) -> Result<u64> {
    if path.is_file() {
        return Ok(fs::metadata(path).map_err(doing("reading a size"))?.len());
    }
    let mut bytes = 0;
    for file in files_below(path)? {
        bytes += fs::metadata(&file).map_err(doing("reading a size"))?.len();
    }
    Ok(bytes)
}
