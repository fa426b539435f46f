//! The files that a generation consists of, and where new ones are kept.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_types::{BlockHash, Chain, Network};

use super::claims::Claims;
use crate::external::Scratch;
use crate::read::Result;
use crate::segment::{self, Container, Segment, SegmentInput, Source, Spool};
use crate::{Cancel, LedgerError};

/// The folder of imports of labels.
pub(super) const LABELS: &str = "labels";

/// A file by its name in the store, and how to know it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileRef {
    pub(super) name: String,
    pub(super) length: u64,
    pub(super) digest: u128,
}

impl FileRef {
    /// The digest as manifests write it: 32 hexadecimal digits.
    pub(super) fn digest_text(&self) -> String {
        format!("{:032x}", self.digest)
    }
}

/// One live segment.
pub(super) struct Part {
    pub(super) file: FileRef,
    pub(super) segment: Arc<Segment>,
    /// The identity of its content, see [`crate::lineage`].
    pub(super) content: u128,
}

impl Part {
    /// Creates the part of a segment whose content no other segment has.
    pub(super) fn new(file: FileRef, segment: Segment) -> Self {
        let content = own_content(&file);
        Self { file, segment: Arc::new(segment), content }
    }
}

/// The identity of content that is in one file only.
pub(super) fn own_content(file: &FileRef) -> u128 {
    let mut bytes = file.digest.to_le_bytes().to_vec();
    bytes.extend_from_slice(file.name.as_bytes());
    file_digest(&bytes)
}

/// A followed block that may still be taken back.
#[derive(Clone)]
pub(super) struct TailBlock {
    pub(super) number: u64,
    pub(super) hash: BlockHash,
    pub(super) parent: BlockHash,
    pub(super) claims: Claims,
    pub(super) part: Arc<Part>,
}

/// The function that writes a file, from front to back.
pub(super) type WriteFn<'a> = &'a mut dyn FnMut(&mut dyn Write) -> Result<()>;

/// The storage of new files: a folder, or memory.
pub(super) trait Storage {
    /// Returns the folder for work that does not fit into memory.
    fn scratch(&self) -> Scratch;

    /// Keeps a segment, which `write` writes, and opens it.
    fn keep_segment(&mut self, chain: Chain, write: WriteFn<'_>) -> Result<Arc<Part>>;

    /// Keeps a container of checked pages, which `write` writes, and opens it; `kind` is its folder and its ending, and
    /// its name begins with `stem`.
    fn keep_container(&mut self, kind: &str, stem: &str, write: WriteFn<'_>) -> Result<(FileRef, Container)>;

    /// Keeps another file; `kind` is its folder and `extension` its ending.
    fn keep_file(&mut self, kind: &str, extension: &str, bytes: Vec<u8>) -> Result<FileRef>;
}

/// Builds a segment of facts and keeps it.
pub(super) fn keep_built(storage: &mut dyn Storage, input: &SegmentInput, cancel: &Cancel) -> Result<Arc<Part>> {
    let spool = Spool::within(&storage.scratch());
    storage.keep_segment(input.chain, &mut |out| segment::build_into(input, &spool, out, cancel).map(drop))
}

/// Merges whole segments and keeps the one they make, which has the content of all of them.
pub(super) fn keep_joined(
    storage: &mut dyn Storage,
    (chain, network): (Chain, Network),
    parts: &[&Arc<Part>],
    merging: &dyn Fn(u64, u64),
    cancel: &Cancel,
) -> Result<Arc<Part>> {
    let sources: Vec<_> = parts.iter().map(|part| Source { segment: &part.segment, without: &[] }).collect();
    let made = keep_merged(storage, (chain, network), &sources, merging, cancel)?;
    let content = parts.iter().fold(0_u128, |sum, part| sum.wrapping_add(part.content));
    Ok(Arc::new(Part { file: made.file.clone(), segment: Arc::clone(&made.segment), content }))
}

/// Merges segments, some rows of which may be left out, and keeps the one they make.
pub(super) fn keep_merged(
    storage: &mut dyn Storage,
    (chain, network): (Chain, Network),
    sources: &[Source<'_>],
    merging: &dyn Fn(u64, u64),
    cancel: &Cancel,
) -> Result<Arc<Part>> {
    let scratch = storage.scratch();
    storage.keep_segment(chain, &mut |out| {
        segment::merge((chain, network), sources, &scratch, out, (merging, cancel)).map(drop)
    })
}

/// Writes bytes whose place the storage can name better than the error of the system.
pub(super) fn write_all(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    let failed = |source| LedgerError::Io { action: "cannot write", path: PathBuf::new(), source };
    out.write_all(bytes).map_err(failed)
}

/// The digest that identifies a file.
pub(super) fn file_digest(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}
