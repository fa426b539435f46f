//! One file, opened through whatever compresses it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::IngestError;
use crate::error::Place;
use crate::source::Lines;

/// How a file is compressed, told from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, several members included.
    Gzip,
    /// bzip2, several streams included.
    Bzip2,
}

impl Compression {
    fn of(magic: &[u8]) -> Self {
        match magic {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Self::Bzip2,
            _ => Self::None,
        }
    }
}

/// A file to be read.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    bytes: u64,
    compression: Compression,
    max_line_bytes: usize,
    done: Arc<AtomicU64>,
}

impl Input {
    pub(crate) fn new(path: &Path, max_line_bytes: usize) -> Result<Self, IngestError> {
        let failed = |source| IngestError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let mut magic = Vec::new();
        (&mut file).take(4).read_to_end(&mut magic).map_err(failed)?;
        let compression = Compression::of(&magic);
        Ok(Self { path: path.to_owned(), bytes, compression, max_line_bytes, done: Arc::default() })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name without folder and without the ending that names the compression.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".bz2"));
        plain.map(str::to_owned).unwrap_or(name)
    }

    /// Its length on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How it is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// The longest line that is read.
    #[must_use]
    pub fn max_line_bytes(&self) -> usize {
        self.max_line_bytes
    }

    /// How many bytes of it were read so far, as they lie on disk.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed).min(self.bytes)
    }

    /// Says how far a reader that does not go through [`Input::open`] has come.
    pub(crate) fn set_done(&self, bytes: u64) {
        self.done.store(bytes, Ordering::Relaxed);
    }

    /// The decompressed content from its beginning.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(&self) -> Result<Box<dyn Read + Send>, IngestError> {
        self.done.store(0, Ordering::Relaxed);
        let file = self.file()?;
        let counted = Counted { inner: file, done: Arc::clone(&self.done) };
        let buffered = BufReader::with_capacity(1 << 17, counted);
        Ok(match self.compression {
            Compression::None => Box::new(buffered),
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
        })
    }

    /// The file as it lies on disk, for readers that seek.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn file(&self) -> Result<File, IngestError> {
        File::open(&self.path).map_err(|source| self.io(source))
    }

    /// The decompressed content as lines.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn lines(&self) -> Result<Lines, IngestError> {
        Ok(Lines::new(self.clone(), self.open()?))
    }

    /// The whole decompressed content, when it is not longer than `limit` bytes.
    ///
    /// # Errors
    /// When it is longer, damaged, or cannot be read.
    pub fn read_whole(&self, limit: u64) -> Result<Vec<u8>, IngestError> {
        let mut content = Vec::new();
        self.open()?.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(|error| self.io(error))?;
        if u64::try_from(content.len()).unwrap_or(u64::MAX) > limit {
            return Err(self.damaged(None, format!("it is longer than the {limit} bytes that are read whole")));
        }
        Ok(content)
    }

    /// The first decompressed bytes, at most `limit`, as far as they can be read.
    ///
    /// # Errors
    /// When the file cannot be opened or nothing of it can be read.
    pub(crate) fn head(&self, limit: u64) -> Result<Vec<u8>, IngestError> {
        let mut content = Vec::new();
        match self.open()?.take(limit).read_to_end(&mut content) {
            Err(error) if content.is_empty() => Err(self.io(error)),
            _ => Ok(content),
        }
    }

    /// An error of reading: damage where the content is at fault, the system's otherwise.
    #[must_use]
    pub fn io(&self, error: io::Error) -> IngestError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.damaged(None, "it ends too early: it was cut off"),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                self.damaged(None, error.to_string())
            }
            _ => IngestError::Io { path: self.path.clone(), source: error },
        }
    }

    /// An error that says the file is damaged.
    #[must_use]
    pub fn damaged(&self, place: Option<Place>, what: impl Into<String>) -> IngestError {
        IngestError::Damaged { path: self.path.clone(), place, what: what.into() }
    }
}

struct Counted {
    inner: File,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done.fetch_add(u64::try_from(count).unwrap_or(0), Ordering::Relaxed);
        Ok(count)
    }
}
