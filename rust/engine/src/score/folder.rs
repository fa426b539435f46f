//! The folder of the parts of a job.
//!
//! It contains `job.json`, the description of the job, and a file for each finished part. A file appears whole or not at
//! all. The name of a part contains the checksum of its bytes under the description: processes that make the same part
//! write the same file, and a part of another job does not pass for one of this job. So writers of parts need no lock.
//! The process that joins the parts holds `lock`. Nothing is removed before the joined file is on the disk.
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
/// Digits of the number of a part, at least, and of its checksum.
const NUMBER_DIGITS: usize = 6;
const CHECKSUM_DIGITS: usize = 16;
/// The beginning and the ending of the names of files that are being written.
const UNFINISHED: (&str, &str) = (".headwater-", ".partial");
const DESCRIPTION: &str = "job.json";
const LOCK: &str = "lock";

/// The right to join the parts of a folder, which one process has at a time, until it ends.
#[derive(Debug)]
pub struct FolderLock {
    folder: PathBuf,
    lock: File,
    /// The process that took the lock: a forked one has the file too, but not the lock.
    owner: u32,
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
                return Ok(Self { folder: folder.to_owned(), lock, owner: std::process::id() });
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
                       files of all shards; if FILE.parquet is there, its join was interrupted at the end: remove the folder";
        Err(ScoreError::input(folder, message))
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the parts of a job that were joined and, if nothing else is in it, the folder.
    ///
    /// # Errors
    /// [`ScoreError::File`].
    pub(super) fn clear(&self, joined: &[PathBuf]) -> Result<(), ScoreError> {
        let clear = || {
            // First, so that a process that is killed here leaves no folder that looks like an unfinished job.
            fs::remove_file(self.folder.join(DESCRIPTION))?;
            joined.iter().try_for_each(fs::remove_file)?;
            for entry in fs::read_dir(&self.folder)? {
                let entry = entry?;
                if entry.file_name().to_str().is_some_and(is_unfinished) {
                    fs::remove_file(entry.path())?;
                }
            }
            fs::remove_file(self.folder.join(LOCK))?;
            match fs::remove_dir(&self.folder) {
                // The files of somebody else, or the next job that wants this folder.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
                removed => removed,
            }
        };
        clear().map_err(ScoreError::file(&self.folder))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        if self.owner == std::process::id() {
            // A forked process would keep the lock by its copy of the file.
            let _ = self.lock.unlock();
        }
    }
}

impl PartFolder {
    /// Opens the folder of a job for writers of its parts: creates it where it is missing.
    ///
    /// # Errors
    /// [`ScoreError::OtherJob`] when it is the folder of another job, [`ScoreError::File`].
    pub fn open(path: &Path, job: &JobDescription, ending: &'static str) -> Result<Self, ScoreError> {
        create(path)?;
        // The first process describes the job, and all others compare.
        shared_file(&path.join(DESCRIPTION), job.to_json().as_bytes(), Existing::Kept)?;
        let (folder, before) = Self::existing(path, ending)?;
        if before == *job {
            return Ok(folder);
        }
        Err(ScoreError::OtherJob { path: path.to_owned(), difference: before.difference(job) })
    }

    /// Opens a folder of parts as it is, with the description of its job.
    ///
    /// # Errors
    /// [`ScoreError::Input`] when its description cannot be read, [`ScoreError::File`].
    pub fn existing(path: &Path, ending: &'static str) -> Result<(Self, JobDescription), ScoreError> {
        let description = path.join(DESCRIPTION);
        let text = fs::read_to_string(&description).map_err(ScoreError::file(&description))?;
        let job = JobDescription::from_json(&text)
            .map_err(|error| ScoreError::input(&description, format!("{error}; remove the folder to start again")))?;
        let seed = xxh3_64(job.to_json().as_bytes());
        Ok((Self { path: path.to_owned(), seed, ending, found: parts(path, ending)? }, job))
    }

    /// Returns the part of a number if it is whole.
    ///
    /// # Errors
    /// [`ScoreError::File`].
    pub fn find(&self, number: usize) -> Result<Option<(PathBuf, Vec<u8>)>, ScoreError> {
        for path in self.found.get(&number).into_iter().flatten() {
            match fs::read(path) {
                Ok(bytes) if path.file_name().is_some_and(|name| name == self.name(number, &bytes).as_str()) => {
                    return Ok(Some((path.clone(), bytes)));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(ScoreError::file(path)(error)),
            }
        }
        Ok(None)
    }

    /// Number of files that have the name of a part.
    pub(super) fn files(&self) -> u64 {
        self.found.values().map(|files| files.len() as u64).sum()
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
        match shared_file(&path, bytes, Existing::Replaced) {
            Err(ScoreError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Err(ScoreError::FolderGone { path: self.path.clone() })
            }
            written => written.map(|()| path),
        }
    }

    fn name(&self, number: usize, bytes: &[u8]) -> String {
        let checksum = xxh3_64_with_seed(bytes, self.seed);
        format!("{PREFIX}{number:0NUMBER_DIGITS$}-{checksum:0CHECKSUM_DIGITS$x}.{}", self.ending)
    }
}

fn create(folder: &Path) -> Result<(), ScoreError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(ScoreError::file(folder)(error)),
        _ => Ok(()),
    }
}

/// Returns the files of parts in a folder, by the number of their part.
fn parts(folder: &Path, ending: &str) -> Result<BTreeMap<usize, Vec<PathBuf>>, ScoreError> {
    let mut found: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(ScoreError::file(folder))? {
        let file = entry.map_err(ScoreError::file(folder))?.path();
        if let Some(number) = file.file_name().and_then(|name| number_of(name.to_str()?, ending)) {
            found.entry(number).or_default().push(file);
        }
    }
    Ok(found)
}

/// Returns the number in the name of a part. Other programs have parts with names of another form.
fn number_of(name: &str, ending: &str) -> Option<usize> {
    let (number, checksum) = name.strip_prefix(PREFIX)?.strip_suffix(ending)?.strip_suffix('.')?.split_once('-')?;
    let is_ours = number.len() >= NUMBER_DIGITS && checksum.len() == CHECKSUM_DIGITS;
    let is_hex = checksum.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_ours && is_hex { number.parse().ok() } else { None }
}

fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1)
}

/// Returns the path with a longer ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Writes the joined file of a job, which appears whole or not at all. Processes that join the same job write the same
/// bytes, those that join another one another file.
pub(super) fn whole_file(
    path: &Path,
    job: &JobDescription,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), ScoreError> {
    // The same name again after a kill, since the file may be large.
    let unfinished = beside(path, &format!(".{:016x}{}", xxh3_64(job.to_json().as_bytes()), UNFINISHED.1));
    let write = || {
        let mut file = BufWriter::new(File::create(&unfinished)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&unfinished, path)?;
        // The parts are removed next.
        File::open(folder_of(path))?.sync_all()
    };
    write().map_err(ScoreError::file(path))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The treatment of a file that is there already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Kept,
    Replaced,
}

/// Writes a file that appears whole or not at all, and that other processes may write at the same time.
fn shared_file(path: &Path, bytes: &[u8], existing: Existing) -> Result<(), ScoreError> {
    if existing == Existing::Kept && path.exists() {
        return Ok(());
    }
    let write = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED.0).suffix(UNFINISHED.1);
        // Readable for whoever may read the folder, as any other new file.
        let mut file = builder.permissions(Permissions::from_mode(0o666)).tempfile_in(folder_of(path))?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        let persisted = match existing {
            Existing::Kept => file.persist_noclobber(path),
            Existing::Replaced => file.persist(path),
        };
        match persisted {
            Err(error) if existing == Existing::Kept && error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            persisted => persisted.map(drop).map_err(|error| error.error),
        }
    };
    write().map_err(ScoreError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_names_of_other_programs_are_not_ours() {
        assert_eq!(number_of("part-000017-0123456789abcdef.parquet", "parquet"), Some(17));
        assert_eq!(number_of("part-1000000-0123456789abcdef.parquet", "parquet"), Some(1_000_000));
        for name in [
            "part-00000-3c5ab1a2-5e9f-4d5b-9a3c-0123456789ab-c000.snappy.parquet",
            "part-1-notes.txt",
            "part-000017-0123456789ABCDEF.parquet",
            "part-000017-0123456789abcdef.parquet.crc",
        ] {
            assert_eq!(number_of(name, "parquet"), None, "{name}");
        }
    }
}
