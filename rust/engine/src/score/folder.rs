//! The folder of a job of scores: its lock, its description and its parts.
//!
//! Parts lie in the folder `OUTPUT.parts` with `job.json`, the description of the job, and `lock`, which one process
//! holds. A part appears whole or not at all, and its name contains the checksum of its bytes.
#![expect(clippy::disallowed_methods, reason = "the job of scores is the one part of the engine that writes files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::ScoreError;

/// Attempts to take the lock while other processes come and go.
const LOCK_ATTEMPTS: u32 = 100;

/// The beginning of the name of a part.
const PREFIX: &str = "part-";

/// A folder that this process has locked until its end.
pub(super) struct LockedFolder {
    path: PathBuf,
    /// The path that the folder gets before it is removed.
    removed: PathBuf,
    lock: File,
}

/// The parts of one job.
pub(super) struct PartFolder {
    folder: LockedFolder,
    /// Identifies the job: the parts of another one have other checksums.
    seed: u64,
    ending: &'static str,
    /// The files that were there at the start, by the number of their part.
    found: BTreeMap<usize, Vec<PathBuf>>,
}

impl PartFolder {
    /// Creates the folder of an output where it is missing, and locks it.
    pub fn lock(output: &Path) -> Result<LockedFolder, ScoreError> {
        let (folder, removed) = (beside(output, ".parts"), beside(output, ".parts.over"));
        let path = folder.join("lock");
        for _ in 0..LOCK_ATTEMPTS {
            match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(ScoreError::file(folder)(error));
                }
                _ => {}
            }
            let opened = File::options().create(true).truncate(false).write(true).open(&path);
            let file = match opened {
                // Another process has just ended its work and removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(ScoreError::file(&path))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(ScoreError::Busy { path: output.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(ScoreError::file(path)(error)),
            }
            // The previous owner of the lock may have removed the file.
            let is_there = |file: &File| io::Result::Ok(fs::metadata(&path)?.ino() == file.metadata()?.ino());
            if is_there(&file).unwrap_or(false) {
                return Ok(LockedFolder { path: folder, removed, lock: file });
            }
        }
        Err(ScoreError::Busy { path: output.to_owned() })
    }

    /// Returns the part of a number if it is whole. Removes damaged ones and those of another job.
    pub fn find(&self, number: usize) -> Result<Option<(PathBuf, Vec<u8>)>, ScoreError> {
        for path in self.found.get(&number).into_iter().flatten() {
            let bytes = fs::read(path).map_err(ScoreError::file(path))?;
            if path.file_name().is_some_and(|name| name == self.name(number, &bytes).as_str()) {
                return Ok(Some((path.clone(), bytes)));
            }
            fs::remove_file(path).map_err(ScoreError::file(path))?;
        }
        Ok(None)
    }

    /// Writes the part of a number.
    pub fn write(&self, number: usize, bytes: &[u8]) -> Result<PathBuf, ScoreError> {
        let path = self.folder.path.join(self.name(number, bytes));
        whole_file(&path, |file| file.write_all(bytes))?;
        Ok(path)
    }

    /// Removes the folder and releases its lock.
    pub fn remove(self) -> Result<(), ScoreError> {
        let LockedFolder { path, removed, lock } = self.folder;
        let cleared = fs::remove_dir_all(&removed).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        // Renamed first, so that another process finds all of the folder or nothing.
        let done = cleared.and_then(|()| fs::rename(&path, &removed)).and_then(|()| fs::remove_dir_all(&removed));
        drop(lock);
        done.map_err(ScoreError::file(path))
    }

    fn name(&self, number: usize, bytes: &[u8]) -> String {
        format!("{PREFIX}{number:06}-{:016x}.{}", xxh3_64_with_seed(bytes, self.seed), self.ending)
    }
}

impl LockedFolder {
    /// Compares the job with that of the folder, or writes its description there.
    pub fn resume(self, job: &BTreeMap<String, String>, ending: &'static str) -> Result<PartFolder, ScoreError> {
        let text = serde_json::to_vec_pretty(job).expect("a map of texts has a JSON form");
        let description = self.path.join("job.json");
        let found = parts(&self.path)?;
        match fs::read(&description).map(|text| serde_json::from_slice::<BTreeMap<String, String>>(&text)) {
            Ok(Ok(before)) if before == *job => {}
            // A job without parts blocks no other: its input was refused.
            Ok(Ok(before)) if !found.is_empty() => {
                return Err(ScoreError::OtherJob { path: self.path, difference: difference(&before, job) });
            }
            // Without a readable description, the checksums show which job the parts are of.
            Ok(Ok(_) | Err(_)) => whole_file(&description, |file| file.write_all(&text))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                whole_file(&description, |file| file.write_all(&text))?;
            }
            Err(error) => return Err(ScoreError::file(description)(error)),
        }
        Ok(PartFolder { folder: self, seed: xxh3_64(&text), ending, found })
    }
}

/// Returns the files of parts in a folder, by the number of their part.
fn parts(folder: &Path) -> Result<BTreeMap<usize, Vec<PathBuf>>, ScoreError> {
    let mut found: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(ScoreError::file(folder))? {
        let file = entry.map_err(ScoreError::file(folder))?.path();
        if let Some(number) = file.file_name().and_then(|name| number_of(name.to_str()?)) {
            found.entry(number).or_default().push(file);
        }
    }
    Ok(found)
}

fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Returns the path with a longer ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Describes the difference between two jobs.
fn difference(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> String {
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let shown =
        |of: &BTreeMap<String, String>, name: &String| of.get(name).cloned().unwrap_or_else(|| "none".to_owned());
    let differ = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    differ
        .map(|name| format!("{name} was {}, is {}", shown(before, name), shown(now, name)))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Writes a file that appears whole or not at all.
pub(super) fn whole_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), ScoreError> {
    let partial = beside(path, ".partial");
    let write = || {
        let mut file = BufWriter::new(File::create(&partial)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(ScoreError::file(path))
}
