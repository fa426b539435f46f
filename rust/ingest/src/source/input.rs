//! One file, opened through whatever compresses it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Bounds;
use super::container::{Compression, GzipMembers, open_zip};
use super::layout::Layout;
use super::wrapped::WrappedRows;
use crate::IngestError;
use crate::error::Place;

/// The option that raises the limit of a document.
pub(super) const DOCUMENT_BYTES: &str = "--max-document-bytes";

/// A file to be read.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    bytes: u64,
    compression: Compression,
    bounds: Bounds,
    layout: Layout,
    wrapped: Option<Arc<WrappedRows>>,
    /// The content of a file that is part of the program.
    packed: Option<&'static [u8]>,
    done: Arc<AtomicU64>,
}

impl Input {
    pub(crate) fn new(path: &Path, bounds: &Bounds) -> Result<Self, IngestError> {
        let failed = |source| IngestError::Io { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let mut magic = Vec::new();
        (&mut file).take(4).read_to_end(&mut magic).map_err(failed)?;
        let (path, bounds, layout) = (path.to_owned(), bounds.clone(), Layout::default());
        let mut input = Self {
            path,
            bytes,
            compression: Compression::None,
            bounds,
            layout,
            wrapped: None,
            packed: None,
            done: Arc::default(),
        };
        // The bytes of block files mean nothing before their key is applied.
        if !input.is_block_file() {
            input.compression = Compression::of(&magic);
        }
        Ok(input)
    }

    /// Returns a file that is part of the program, compressed with gzip. Readers that seek cannot read it.
    pub(crate) fn packed(name: &'static str, content: &'static [u8]) -> Self {
        Self {
            path: PathBuf::from(name),
            bytes: content.len() as u64,
            compression: Compression::Gzip,
            bounds: Bounds::default(),
            layout: Layout::default(),
            wrapped: None,
            packed: Some(content),
            done: Arc::default(),
        }
    }

    /// Returns true if it is named as a node names its files of blocks and undo data, and their key.
    pub(crate) fn is_block_file(&self) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = |kind: &str| name.strip_prefix(kind).and_then(|rest| rest.strip_suffix(".dat"));
        let numbered = ["blk", "rev"].into_iter().find_map(number);
        name == "xor.dat"
            || numbered.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    }

    /// The same file with rows of text that are divided in this way.
    pub(crate) fn with_layout(&self, layout: Layout) -> Self {
        Self { layout, ..self.clone() }
    }

    /// Returns the layout of its rows of text.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The same file as a table of the rows that its document has there.
    pub(crate) fn with_rows(&self, rows: WrappedRows) -> Self {
        Self { wrapped: Some(Arc::new(rows)), ..self.clone() }
    }

    /// Returns the path to the rows in its document; `None` if the file is the rows.
    pub(crate) fn wrapped(&self) -> Option<&WrappedRows> {
        self.wrapped.as_deref()
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
        let plain = Compression::ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
        plain.map(str::to_owned).unwrap_or(name)
    }

    /// Its length on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its compression.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.compression
    }

    /// Returns the maximum sizes of its parts.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Returns the bytes of it that were read so far, as they lie on disk.
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
        if let Some(content) = self.packed {
            return Ok(Box::new(GzipMembers::new(content)));
        }
        let file = self.file()?;
        let counted = |file: File| {
            let counted = Counted { inner: file, done: Arc::clone(&self.done) };
            BufReader::with_capacity(1 << 17, counted)
        };
        Ok(match self.compression {
            Compression::None => Box::new(counted(file)),
            Compression::Gzip => Box::new(GzipMembers::new(counted(file))),
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(counted(file))),
            Compression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(counted(file));
                Box::new(decoder.map_err(|error| self.io(error))?)
            }
            Compression::Zip => open_zip(file, |file| Box::new(counted(file))).map_err(|error| self.io(error))?,
        })
    }

    /// The file as it lies on disk, for readers that seek.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn file(&self) -> Result<File, IngestError> {
        File::open(&self.path).map_err(|source| self.io(source))
    }

    /// The whole decompressed content as one document.
    ///
    /// # Errors
    /// When it is longer than a document may be, damaged, or cannot be read.
    pub(crate) fn read_document(&self) -> Result<Vec<u8>, IngestError> {
        let limit = self.bounds.document_bytes;
        self.read_up_to(limit as u64)?.ok_or_else(|| self.too_large(None, "document", limit, DOCUMENT_BYTES))
    }

    /// The whole decompressed content, when it is not longer than `limit` bytes.
    ///
    /// # Errors
    /// When it is longer, damaged, or cannot be read.
    pub fn read_whole(&self, limit: u64) -> Result<Vec<u8>, IngestError> {
        let longer = || self.damaged(None, format!("it is longer than the {limit} bytes that are read whole"));
        self.read_up_to(limit)?.ok_or_else(longer)
    }

    fn read_up_to(&self, limit: u64) -> Result<Option<Vec<u8>>, IngestError> {
        let room = self.bytes().min(limit).saturating_add(1);
        let mut content = Vec::with_capacity(usize::try_from(room).unwrap_or_default());
        self.open()?.take(limit.saturating_add(1)).read_to_end(&mut content).map_err(|error| self.io(error))?;
        Ok((u64::try_from(content.len()).unwrap_or(u64::MAX) <= limit).then_some(content))
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
            io::ErrorKind::Unsupported => IngestError::Container { path: self.path.clone(), what: error.to_string() },
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                let kind = match self.compression {
                    Compression::None => String::new(),
                    packed => format!("as {} data: ", packed.name()),
                };
                self.damaged(None, format!("{kind}{error}"))
            }
            _ => IngestError::Io { path: self.path.clone(), source: error },
        }
    }

    /// An error that says a part of the file is larger than it may be, and which option raises the bound.
    pub(crate) fn too_large(
        &self,
        place: Option<Place>,
        part: &'static str,
        limit: usize,
        option: &'static str,
    ) -> IngestError {
        IngestError::TooLarge { path: self.path.clone(), place, part, limit, option }
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
