//! Holds: small files by which readers keep a generation from being collected.
//!
//! `holds/<generation>-<random>.json` names the process that reads the generation. Only the name of the file and the time
//! of its last write count; the contents are for people. The reader writes the file again every minute, and deletes it
//! when the last user of the generation is dropped. A file that was not written for an hour is of a process that ended
//! without that, and is collected. The writer makes the folder, so that it belongs to the user who collects.
//!
//! A reader writes its hold before it opens the manifest. A writer renames the manifest of an expired generation, lists the
//! holds once more, and gives the manifest its name back if there is one. So a reader that finds the manifest after it
//! wrote its hold keeps the generation. A collection that breaks off in between deletes no file of the generation, and
//! the next one begins by giving the manifest its name back.
//!
//! This needs a file system on which all processes see a new file at once. Where a machine lists a folder from a cache of
//! its own (NFS), a hold counts from when that is refreshed: soon enough for a generation that has not expired yet.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use serde::Serialize;

use super::folder::{self, HOLDS, io_error};
use crate::LedgerError;
use crate::permissions;
use crate::read::Result;

/// The time between two writes of a hold.
const REFRESH: Duration = Duration::from_mins(1);

/// The time after which a hold that was not written again no longer counts, in seconds.
pub const HOLD_SECS: u64 = 60 * 60;

/// A hold of this process on one generation, until it is dropped.
pub(super) struct Hold {
    file: HoldText,
    /// That of the generation.
    manifest: PathBuf,
    /// Without a lock, which a process could be forked with.
    state: Arc<ArcSwap<RefreshState>>,
    /// The process that took it. A forked one has a copy of this value, but not the thread.
    process: u32,
    refresher: Option<(Sender<()>, JoinHandle<()>)>,
}

/// The outcome of the writes of a hold so far.
struct RefreshState {
    /// When the last successful one began.
    written: Instant,
    /// The error of the last one.
    fault: Option<io::Error>,
}

/// The file of a hold and its contents.
#[derive(Clone)]
struct HoldText {
    path: PathBuf,
    text: Vec<u8>,
}

/// The contents of a hold, for people.
#[derive(Serialize)]
struct HoldOrigin {
    generation: u64,
    /// Epoch seconds, by the clock of the reader.
    since: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    process: u32,
}

impl Hold {
    /// Holds a generation; `None` where the folder of holds is missing or cannot be written to.
    pub(super) fn take(root: &Path, generation: u64) -> Result<Option<Self>> {
        Self::take_with(REFRESH, root, generation)
    }

    fn take_with(interval: Duration, root: &Path, generation: u64) -> Result<Option<Self>> {
        let process = std::process::id();
        let path = root.join(HOLDS).join(format!("{generation:010}-{:016x}.json", draw_suffix(root)?));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let origin = HoldOrigin { generation, since, host: host(), process };
        let mut text = serde_json::to_vec(&origin).expect("plain records have a JSON form");
        text.push(b'\n');
        let file = HoldText { path, text };
        let written = Instant::now();
        match file.write() {
            Ok(()) => {}
            Err(error) if is_denied(&error) => return Ok(None),
            Err(source) => return Err(file.remove_after("cannot write", source)),
        }
        let state = Arc::new(ArcSwap::from_pointee(RefreshState { written, fault: None }));
        let (stop, stopped) = mpsc::channel();
        let (refreshed, outcome) = (file.clone(), Arc::clone(&state));
        let refresh = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // A write that fails now is tried again long before the hold no longer counts.
                let now = Instant::now();
                let fault = refreshed.write().err();
                let written = if fault.is_none() { now } else { outcome.load().written };
                outcome.store(Arc::new(RefreshState { written, fault }));
            }
        };
        match thread::Builder::new().name("headwater-hold".to_owned()).spawn(refresh) {
            Ok(thread) => {
                let manifest = root.join(folder::manifest_name(generation));
                Ok(Some(Self { file, manifest, state, process, refresher: Some((stop, thread)) }))
            }
            Err(source) => Err(file.remove_after("cannot start the thread that refreshes", source)),
        }
    }

    /// Returns the reason why the generation is no longer held, if it is not.
    pub(super) fn lapse(&self) -> Option<String> {
        self.lapse_at(Instant::now())
    }

    fn lapse_at(&self, now: Instant) -> Option<String> {
        let path = self.file.path.display();
        if !self.manifest.exists() {
            let manifest = self.manifest.display();
            return Some(format!("{manifest} is missing, since {path} was deleted or not written for an hour"));
        }
        let state = self.state.load();
        let age = now.saturating_duration_since(state.written);
        let fault = state.fault.as_ref().map(|fault| format!(" ({fault})")).unwrap_or_default();
        (age > Duration::from_secs(HOLD_SECS)).then(|| format!("{path} was not written for an hour{fault}"))
    }
}

/// Returns whether an error says that this process may not hold generations of the store.
fn is_denied(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some((stop, thread)) = self.refresher.take() else { return };
        if std::process::id() != self.process {
            // The thread and the file are the parent's.
            std::mem::forget((stop, thread));
            return;
        }
        drop(stop);
        // Only after its end no write can make the file anew.
        let _ = thread.join();
        self.file.remove();
    }
}

impl HoldText {
    /// Writes the file in place, so that a full disk does not end a hold.
    fn write(&self) -> io::Result<()> {
        let mut file = File::options().create(true).truncate(false).write(true).open(&self.path)?;
        permissions::inherit(&file, &self.path);
        file.write_all(&self.text)
    }

    /// Deletes the file. One that is left is collected within an hour.
    fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Deletes the file, and returns the error for the cause.
    fn remove_after(&self, action: &'static str, source: io::Error) -> LedgerError {
        self.remove();
        io_error(action, &self.path, source)
    }
}

/// Draws the random part of a name.
fn draw_suffix(root: &Path) -> Result<u64> {
    getrandom::u64().map_err(|error| io_error("cannot draw a random name for a hold on", root, error.into()))
}

/// Returns the name of this machine, where the system has it in a file.
pub(super) fn host() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The file of a hold, of whichever process.
pub(super) struct HoldFile {
    pub(super) path: PathBuf,
    pub(super) generation: u64,
    written: SystemTime,
}

impl HoldFile {
    /// Returns whether its process still refreshes it; `now` is of the clock of the file system.
    pub(super) fn is_live(&self, now: SystemTime) -> bool {
        now.duration_since(self.written).map_or(true, |age| age <= Duration::from_secs(HOLD_SECS))
    }
}

/// Lists the holds of all processes.
pub(super) fn list(root: &Path) -> Result<Vec<HoldFile>> {
    let folder = root.join(HOLDS);
    let failed = |source| io_error("cannot list", &folder, source);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(failed(source)),
    };
    let mut holds = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let Some(generation) = entry.file_name().to_str().and_then(generation_of) else { continue };
        match entry.metadata().and_then(|file| file.modified()) {
            Ok(written) => holds.push(HoldFile { path: entry.path(), generation, written }),
            // Dropped since the folder was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(failed(source)),
        }
    }
    Ok(holds)
}

/// Returns whether a process holds a generation. A hold that no longer counts does until it is collected.
pub(super) fn is_held(root: &Path, generation: u64) -> bool {
    list(root).is_ok_and(|holds| holds.iter().any(|hold| hold.generation == generation))
}

/// Returns the generation in the name of a hold. Other files of the folder are not ours.
fn generation_of(name: &str) -> Option<u64> {
    let (generation, random) = name.strip_suffix(".json")?.split_once('-')?;
    let is_random = random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_random { generation.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a folder with generation 7, and holds that.
    fn held_folder() -> (tempfile::TempDir, Hold) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(HOLDS)).unwrap();
        fs::write(folder.path().join(folder::manifest_name(7)), b"").unwrap();
        let hold = Hold::take_with(Duration::from_millis(5), folder.path(), 7).unwrap().unwrap();
        (folder, hold)
    }

    fn wait(is_done: &dyn Fn() -> bool) {
        let start = Instant::now();
        while !is_done() {
            assert!(start.elapsed() < Duration::from_secs(30), "the hold is not refreshed");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn hold_is_written_again_until_it_is_dropped() {
        let (folder, hold) = held_folder();
        let (path, text) = (hold.file.path.clone(), hold.file.text.clone());
        let past = SystemTime::now() - Duration::from_secs(2 * HOLD_SECS);
        let is_live = |now| list(folder.path()).unwrap().iter().any(|hold| hold.is_live(now));
        File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
        wait(&|| is_live(SystemTime::now()));
        // Of a machine that slept, and whose hold was collected meanwhile.
        fs::remove_file(&path).unwrap();
        wait(&|| fs::read(&path).is_ok_and(|bytes| bytes == text));
        assert!(is_held(folder.path(), 7) && !is_held(folder.path(), 8));
        drop(hold);
        thread::sleep(Duration::from_millis(20));
        assert!(!path.exists() && !is_held(folder.path(), 7));
    }

    #[test]
    fn hold_counts_for_an_hour_after_its_last_write() {
        let written = UNIX_EPOCH + Duration::from_secs(1_000_000);
        let hold = HoldFile { path: PathBuf::new(), generation: 1, written };
        assert!(hold.is_live(written + Duration::from_secs(HOLD_SECS)));
        assert!(!hold.is_live(written + Duration::from_secs(HOLD_SECS + 1)));
        assert!(hold.is_live(written - Duration::from_secs(9)), "a clock that was set back ends no hold");
    }

    #[test]
    fn hold_without_refresh_for_an_hour_reports_the_fault() {
        let (folder, hold) = held_folder();
        let an_hour_later = || Instant::now() + Duration::from_secs(HOLD_SECS + 1);
        assert!(hold.lapse().is_none());
        let holds = folder.path().join(HOLDS);
        fs::remove_dir_all(&holds).unwrap();
        wait(&|| hold.state.load().fault.is_some());
        assert!(hold.lapse().is_none(), "it counts until an hour has passed");
        let lapse = hold.lapse_at(an_hour_later()).unwrap();
        assert!(lapse.contains("was not written for an hour (No such file"), "{lapse}");
        fs::create_dir(&holds).unwrap();
        wait(&|| hold.state.load().fault.is_none());
        assert!(hold.lapse().is_none(), "it was written again, and the generation is still there");
        fs::remove_file(&hold.manifest).unwrap();
        let lapse = hold.lapse().unwrap();
        assert!(lapse.contains("manifest-0000000007.json is missing, since"), "{lapse}");
    }

    #[test]
    fn hold_without_the_folder_of_the_writer_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Hold::take(folder.path(), 1).unwrap().is_none());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "readers make no folder");
    }
}
