//! The files of the audit log: `requests.log`, and behind it `requests.log.1`, `.2` and so on, older and older.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use headwater_ledger::permissions;
use serde::Serialize;

use super::LogSettings;
use crate::StateError;
use crate::secrets::io_error;

/// The maximum number of servers that write to one folder, each to separate files.
const SERVERS: u32 = 16;

/// Makes a folder that only its owner may read, where it is missing: lines say who asked about whom.
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The files of one server.
pub(super) struct LogFiles {
    /// The current file.
    path: PathBuf,
    file: Option<File>,
    /// Its size.
    bytes: u64,
    /// True if it ends within a line: after a write that failed, or a kill.
    is_torn: bool,
    max_bytes: u64,
    max_files: u32,
    /// No other server takes the same files while this is held.
    _lock: File,
}

impl LogFiles {
    /// Opens the first files of the folder that no other server writes to.
    pub fn open(folder: &Path, settings: &LogSettings) -> Result<Self, StateError> {
        make_folder(folder).map_err(io_error("cannot make the folder", folder))?;
        for number in 1..=SERVERS {
            let name = if number == 1 { "requests".to_owned() } else { format!("requests-{number}") };
            let lock_path = folder.join(format!("{name}.lock"));
            let lock = File::options().create(true).truncate(false).write(true).open(&lock_path);
            let lock = lock.map_err(io_error("cannot open", &lock_path))?;
            permissions::inherit(&lock, &lock_path);
            if lock.try_lock().is_err() {
                continue;
            }
            let path = folder.join(format!("{name}.log"));
            let (max_bytes, max_files) = (settings.file_bytes.max(1), settings.files.max(1));
            let mut files = Self { path, file: None, bytes: 0, is_torn: false, max_bytes, max_files, _lock: lock };
            let opened = files.remove_surplus().and_then(|()| files.reopen().map(drop));
            opened.map_err(io_error("cannot open", &files.path))?;
            return Ok(files);
        }
        let source = io::Error::other(format!("{SERVERS} servers write their audit logs there already"));
        Err(io_error("cannot write into", folder)(source))
    }

    /// The file behind the current one with this number.
    fn older(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// Removes files that an earlier server with more of them left behind.
    fn remove_surplus(&self) -> io::Result<()> {
        let mut number = self.max_files;
        while self.older(number).exists() {
            fs::remove_file(self.older(number))?;
            number += 1;
        }
        Ok(())
    }

    /// Closes the current file if it was removed or renamed, so that the next line begins a new one.
    fn close_moved(&mut self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let is_same = |named: &Metadata, open: &Metadata| (named.dev(), named.ino()) == (open.dev(), open.ino());
        match fs::metadata(&self.path) {
            Ok(named) if is_same(&named, &file.metadata()?) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(_) | Err(_) => {
                self.file = None;
                self.path.parent().map_or(Ok(()), make_folder)
            }
        }
    }

    /// Opens the current file, where it is not open.
    fn reopen(&mut self) -> io::Result<&mut File> {
        if self.file.is_none() {
            let mut file = File::options().create(true).append(true).read(true).open(&self.path)?;
            permissions::inherit(&file, &self.path);
            self.bytes = file.metadata()?.len();
            let mut last = [b'\n'];
            if self.bytes > 0 {
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
            }
            self.is_torn = last != [b'\n'];
            self.file = Some(file);
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("the file is closed"))
    }

    /// Moves every file one place back, which removes the oldest one, and begins a new one.
    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        if self.max_files == 1 {
            fs::remove_file(&self.path)?;
        }
        for number in (1..self.max_files).rev() {
            let from = if number == 1 { self.path.clone() } else { self.older(number - 1) };
            match fs::rename(&from, self.older(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.reopen().map(drop)
    }

    /// Appends lines, as many as can be written; returns their number, and why not all of them.
    pub fn append(&mut self, lines: &[Vec<u8>]) -> (usize, Option<io::Error>) {
        let mut written = 0;
        while written < lines.len() {
            match self.append_some(&lines[written..]) {
                Ok(count) => written += count,
                Err(error) => {
                    // Opened again for the next line: it may have been removed, or its disk be back.
                    self.file = None;
                    return (written, Some(error));
                }
            }
        }
        (written, None)
    }

    /// Appends as many lines as the current file has room for, at least one; returns their number.
    fn append_some(&mut self, lines: &[Vec<u8>]) -> io::Result<usize> {
        self.close_moved()?;
        self.reopen()?;
        let mut text = if self.is_torn { b"\n".to_vec() } else { Vec::new() };
        let room = self.max_bytes.saturating_sub(self.bytes);
        let fits = |text: &Vec<u8>, line: &Vec<u8>| (text.len() + line.len()) as u64 <= room;
        let mut count = 0;
        while let Some(line) = lines.get(count).filter(|line| fits(&text, line)) {
            text.extend_from_slice(line);
            count += 1;
        }
        if count == 0 {
            if self.bytes > 0 {
                self.rotate()?;
            }
            // A line that is larger than the limit fills a file alone.
            text.clone_from(&lines[0]);
            count = 1;
        }
        let file = self.reopen()?;
        file.write_all(&text)?;
        self.bytes += text.len() as u64;
        self.is_torn = false;
        Ok(count)
    }
}

/// The files of an audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogUse {
    /// Their folder.
    pub folder: PathBuf,
    /// The number of files.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Lines that could not be written since the start of the server that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_lines: Option<u64>,
}

impl LogUse {
    /// Counts the files in a folder.
    pub(super) fn of(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let logs = entries.filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| name.starts_with("requests") && name.contains(".log"))
        });
        let sizes: Vec<u64> = logs.map(|entry| entry.metadata().map_or(0, |file| file.len())).collect();
        let files = sizes.len() as u64;
        Self { folder: folder.to_owned(), files, bytes: sizes.iter().sum(), lost_lines: None }
    }
}
