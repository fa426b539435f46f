//! The folder of the parts of a job.
//!
//! It contains `job.json`, the description of the job, and a file for each finished part. A part appears whole or not at
//! all, and its name contains the checksum of its bytes under the description: processes that make the same part write
//! the same file, and a part of another job does not pass for one of this job. So writers of parts need no lock. Whoever
//! joins the parts holds `lock`.
#![expect(clippy::disallowed_methods, reason = "the job of scores is the one part of the engine that writes files")]

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::ScoreError;
use super::description::JobDescription;

/// Attempts to take the lock while other processes come and go.
const LOCK_ATTEMPTS: u32 = 100;

/// The beginning of the name of a part.
const PREFIX: &str = "part-";
/// The ending of files that are being written.
const UNFINISHED: &str = ".partial";
const DESCRIPTION: &str = "job.json";
const LOCK: &str = "lock";

/// The right to join the parts of a folder, which one process has at a time, until it ends.
#[derive(Debug)]
pub struct FolderLock {
    folder: PathBuf,
    lock: File,
}

/// The parts of one job.
#[derive(Debug)]
pub struct PartFolder {
    path: PathBuf,
    /// Identifies the job: the parts of another one have other checksums.
    seed: u64,
    ending: &'static str,
    /// The files that were there at the start, by the number of their part.
    found: BTreeMap<usize, Vec<PathBuf>>,
}

/// Returns the folder of the parts of an output.
#[must_use]
pub fn parts_folder(output: &Path) -> PathBuf {
    beside(output, ".parts")
}

impl FolderLock {
    /// Creates a folder of parts where it is missing, and locks it.
    ///
    /// # Errors
    /// [`ScoreError::Busy`] when another process holds the lock, [`ScoreError::File`] when it cannot be taken.
    pub fn take(folder: &Path) -> Result<Self, ScoreError> {
        let path = folder.join(LOCK);
        for _ in 0..LOCK_ATTEMPTS {
            create(folder)?;
            let opened = File::options().create(true).truncate(false).write(true).open(&path);
            let lock = match opened {
                // Another process has just ended its work and removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(ScoreError::file(&path))?,
            };
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(ScoreError::Busy { path: folder.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(ScoreError::file(path)(error)),
            }
            // The previous owner of the lock may have removed the file.
            let is_there = |file: &File| io::Result::Ok(fs::metadata(&path)?.ino() == file.metadata()?.ino());
            if is_there(&lock).unwrap_or(false) {
                return Ok(Self { folder: folder.to_owned(), lock });
            }
        }
        Err(ScoreError::Busy { path: folder.to_owned() })
    }

    /// Locks a folder that contains parts.
    ///
    /// # Errors
    /// As [`FolderLock::take`]; [`ScoreError::Input`] when it is not a folder of parts.
    pub fn existing(folder: &Path) -> Result<Self, ScoreError> {
        if folder.join(DESCRIPTION).is_file() {
            return Self::take(folder);
        }
        let message = "this is not a folder of parts, because it has no job.json; name the folder FILE.parquet.parts with the \
                       files of all shards";
        Err(ScoreError::input(folder, message))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the files of a job and, where nothing else is in it, the folder. Releases the lock.
    ///
    /// # Errors
    /// [`ScoreError::File`].
    pub fn remove(self) -> Result<(), ScoreError> {
        let Self { folder, lock } = self;
        let remove = || {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                if name == DESCRIPTION || name.starts_with(PREFIX) || name.ends_with(UNFINISHED) {
                    fs::remove_file(&path)?;
                }
            }
            fs::remove_file(folder.join(LOCK))
        };
        remove().map_err(ScoreError::file(&folder))?;
        drop(lock);
        match fs::remove_dir(&folder) {
            // Somebody else's files, or the next job that wants this folder.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(ScoreError::file(folder)),
        }
    }
}

impl PartFolder {
    /// Opens the folder of a job for writers of its parts: creates it where it is missing.
    ///
    /// # Errors
    /// [`ScoreError::OtherJob`] when it contains parts of another job, [`ScoreError::File`].
    pub fn open(path: &Path, job: &JobDescription, ending: &'static str) -> Result<Self, ScoreError> {
        create(path)?;
        let description = path.join(DESCRIPTION);
        let found = parts(path)?;
        let read = match fs::read_to_string(&description) {
            Err(error) if error.kind() != io::ErrorKind::NotFound && error.kind() != io::ErrorKind::InvalidData => {
                return Err(ScoreError::file(description)(error));
            }
            read => read.ok().and_then(|text| JobDescription::from_json(&text).ok()),
        };
        match read {
            Some(before) if before == *job => {}
            // A job without parts blocks no other: its input was refused.
            Some(before) if !found.is_empty() => {
                return Err(ScoreError::OtherJob { path: path.to_owned(), difference: before.difference(job) });
            }
            // Without a readable description, the checksums show which job the parts are of.
            _ => shared_file(&description, job.to_json().as_bytes())?,
        }
        Ok(Self::of(path, job, ending, found))
    }

    /// Opens a folder of parts as it is, with the description of its job.
    ///
    /// # Errors
    /// [`ScoreError::Input`] when its description cannot be read, [`ScoreError::File`].
    pub fn existing(path: &Path, ending: &'static str) -> Result<(Self, JobDescription), ScoreError> {
        let description = path.join(DESCRIPTION);
        let text = fs::read_to_string(&description).map_err(ScoreError::file(&description))?;
        let job =
            JobDescription::from_json(&text).map_err(|error| ScoreError::input(&description, error.to_string()))?;
        Ok((Self::of(path, &job, ending, parts(path)?), job))
    }

    fn of(path: &Path, job: &JobDescription, ending: &'static str, found: BTreeMap<usize, Vec<PathBuf>>) -> Self {
        Self { path: path.to_owned(), seed: xxh3_64(job.to_json().as_bytes()), ending, found }
    }

    /// Returns the part of a number if it is whole. Removes damaged ones and those of another job.
    ///
    /// # Errors
    /// [`ScoreError::File`].
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

    /// Returns whether there was a file of this part. Only [`PartFolder::find`] reads it.
    #[must_use]
    pub fn has(&self, number: usize) -> bool {
        self.found.contains_key(&number)
    }

    /// Writes the part of a number.
    ///
    /// # Errors
    /// [`ScoreError::File`].
    pub fn write(&self, number: usize, bytes: &[u8]) -> Result<PathBuf, ScoreError> {
        let path = self.path.join(self.name(number, bytes));
        shared_file(&path, bytes)?;
        Ok(path)
    }

    fn name(&self, number: usize, bytes: &[u8]) -> String {
        format!("{PREFIX}{number:06}-{:016x}.{}", xxh3_64_with_seed(bytes, self.seed), self.ending)
    }
}

fn create(folder: &Path) -> Result<(), ScoreError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(ScoreError::file(folder)(error)),
        _ => Ok(()),
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

/// Writes a file that appears whole or not at all. Only one process may write it at a time.
pub(super) fn whole_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), ScoreError> {
    let unfinished = beside(path, UNFINISHED);
    let write = || {
        let mut file = BufWriter::new(File::create(&unfinished)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(ScoreError::file(path))
}

/// Writes a file that appears whole or not at all, and that other processes may write at the same time.
fn shared_file(path: &Path, bytes: &[u8]) -> Result<(), ScoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || {
        // Readable for whoever may read the folder, as any other new file.
        let builder_permissions = Permissions::from_mode(0o666);
        let mut builder = tempfile::Builder::new();
        let mut file = builder.suffix(UNFINISHED).permissions(builder_permissions).tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(ScoreError::file(path))
}
