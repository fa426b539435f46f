//! The layout of a store in its folder, and how files get into it.
//!
//! ```text
//! manifest-0000000007.json     one per generation; the highest number is the current one
//! segments/  edges/  holders/  logs/  accounts/  tokens/  prices/  fx/  labels/  disputes/  feed/
//!                              files that manifests list, never changed once written
//! holds/0000000005-0123456789abcdef.json
//!                              one per reader that keeps a generation from being collected
//! manifest-0000000004.json.aside
//!                              a generation that a collection is about to delete
//! live/ethereum.json           the state of a follower of a live node
//! writer.lock                  locked while a writer changes the store; its first line names that writer
//! writer.queue                 locked by the writer that waits for the next turn
//! ```

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_types::Chain;
use serde::{Deserialize, Serialize};

use super::disk::{Disk, DiskFile};
use super::disputes::DISPUTES;
use super::parts::{FileRef, LABELS, Part, Storage, WriteFn, file_digest, write_all};
use super::sidecar::KINDS;
use super::sink::Sink;
use crate::LedgerError;
use crate::external::Scratch;
use crate::permissions;
use crate::read::Result;
use crate::segment::{Container, Segment};

pub(super) const SEGMENTS: &str = "segments";
pub(super) const FEED: &str = "feed";
pub(super) const HOLDS: &str = "holds";
pub(super) const TEMPORARY: &str = ".tmp";
/// The ending of a manifest that is set aside. Another one than that of temporary files, which are never restored.
const ASIDE: &str = ".aside";

/// Folders of listed files.
pub(super) fn folders() -> impl Iterator<Item = &'static str> {
    let sidecars = KINDS.iter().map(|kind| kind.name());
    [SEGMENTS, "accounts", "tokens", "prices", "fx", LABELS, DISPUTES, FEED].into_iter().chain(sidecars)
}

pub(super) fn manifest_name(generation: u64) -> String {
    format!("manifest-{generation:010}.json")
}

fn manifest_generation(name: &str) -> Option<u64> {
    name.strip_prefix("manifest-")?.strip_suffix(".json")?.parse().ok()
}

/// Returns the generations whose manifests are there, ascending. A folder that is missing has none.
pub(super) fn generations(path: &Path) -> Result<Vec<u64>> {
    generations_named(path, manifest_generation)
}

/// Returns the generations in the names that `generation` recognizes, ascending.
fn generations_named(path: &Path, generation: impl Fn(&str) -> Option<u64>) -> Result<Vec<u64>> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(source) => return Err(io_error("cannot list", path, source)),
    };
    let mut generations = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| io_error("cannot list", path, source))?;
        generations.extend(entry.file_name().to_str().and_then(&generation));
    }
    generations.sort_unstable();
    Ok(generations)
}

/// The error for a generation whose manifest is not in the folder.
pub(super) fn unknown_generation(path: &Path, generation: u64) -> LedgerError {
    match generations(path) {
        Ok(kept) => LedgerError::UnknownGeneration { path: path.to_owned(), generation, kept },
        Err(error) => error,
    }
}

pub(super) fn io_error(action: &'static str, path: &Path, source: io::Error) -> LedgerError {
    LedgerError::Io { action, path: path.to_owned(), source }
}

/// Reads a listed file whole, and checks that it is what was written.
pub(super) fn read_listed(root: &Path, file: &FileRef) -> Result<Vec<u8>> {
    let path = root.join(&file.name);
    let bytes = std::fs::read(&path).map_err(|source| missing_or_io(&path, source))?;
    check_length(&path, file, bytes.len() as u64)?;
    if file_digest(&bytes) != file.digest {
        return Err(LedgerError::Corrupt { file: path, offset: 0, what: "its digest is not the listed one".into() });
    }
    Ok(bytes)
}

/// Opens a listed segment. Its pages carry checksums of their own that are looked at when they are read.
pub(super) fn open_listed(root: &Path, file: &FileRef) -> Result<Segment> {
    Segment::open(&sound_length(root, file)?)
}

/// Opens a listed container, which carries checksums as a segment does.
pub(super) fn open_listed_container(root: &Path, file: &FileRef) -> Result<Container> {
    Container::open(&sound_length(root, file)?)
}

fn sound_length(root: &Path, file: &FileRef) -> Result<PathBuf> {
    let path = root.join(&file.name);
    let length = std::fs::metadata(&path).map_err(|source| missing_or_io(&path, source))?.len();
    check_length(&path, file, length)?;
    Ok(path)
}

/// A listed file that is gone is damage, not a fault of the system.
pub(super) fn missing_or_io(path: &Path, source: io::Error) -> LedgerError {
    match source.kind() {
        io::ErrorKind::NotFound => {
            LedgerError::Corrupt { file: path.to_owned(), offset: 0, what: "the file is missing".into() }
        }
        _ => io_error("cannot read", path, source),
    }
}

fn check_length(path: &Path, file: &FileRef, length: u64) -> Result<()> {
    if length == file.length {
        return Ok(());
    }
    Err(LedgerError::Corrupt {
        file: path.to_owned(),
        offset: length.min(file.length),
        what: format!("it has {length} bytes, expected {}", file.length),
    })
}

/// A file as manifests list it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub(super) file: String,
    length: u64,
    digest: String,
}

impl FileEntry {
    pub(super) fn of(file: &FileRef) -> Self {
        Self { file: file.name.clone(), length: file.length, digest: file.digest_text() }
    }

    pub(super) fn to_ref(&self) -> std::result::Result<FileRef, String> {
        let digest =
            u128::from_str_radix(&self.digest, 16).map_err(|_| format!("{:?} is not a digest", self.digest))?;
        let is_inside = folders().any(|folder| {
            self.file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).is_some_and(is_plain_name)
        });
        if !is_inside {
            return Err(format!("{:?} is not a file of a store", self.file));
        }
        Ok(FileRef { name: self.file.clone(), length: self.length, digest })
    }
}

/// A forged manifest must not reach files outside of the store.
fn is_plain_name(name: &str) -> bool {
    !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// The writing side of the folder. After a sync or rename that failed it refuses everything: what is on the disk is
/// unknown then, and trying again would hide it.
pub(super) struct Folder {
    path: PathBuf,
    disk: Box<dyn Disk>,
    is_latched: bool,
    /// The generation that is being prepared, and how many files it has so far: no two files share a name.
    generation: u64,
    count: u64,
    segment_bytes: u64,
    /// Folders with files of that generation, whose names are to be made durable before it is.
    touched: BTreeSet<String>,
}

impl Folder {
    pub(super) fn new(path: PathBuf, disk: Box<dyn Disk>) -> Self {
        Self { path, disk, is_latched: false, generation: 0, count: 0, segment_bytes: 0, touched: BTreeSet::new() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folders, that of holds included: it belongs to the user of the writer, whichever user reads first.
    pub(super) fn create(&mut self) -> Result<()> {
        for name in [""].into_iter().chain(folders()).chain([HOLDS]) {
            let path = self.path.join(name);
            let is_new = !name.is_empty() && !path.exists();
            self.disk.create_folder(&path).map_err(|source| io_error("cannot create", &path, source))?;
            if is_new {
                permissions::inherit_folder(&path);
            }
        }
        self.sync_folder("")
    }

    /// Refuses everything after a sync or rename that failed.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_latched {
            return Err(LedgerError::Latched { path: self.path.clone() });
        }
        Ok(())
    }

    /// Called before the files of a generation are written.
    pub(super) fn begin(&mut self, generation: u64) -> Result<()> {
        self.check()?;
        self.generation = generation;
        self.count = 0;
        self.segment_bytes = 0;
        self.touched.clear();
        Ok(())
    }

    /// Writes a manifest: the commit. What it lists was written and synced before.
    pub(super) fn publish(&mut self, bytes: &[u8]) -> Result<()> {
        for folder in std::mem::take(&mut self.touched) {
            self.sync_folder(&folder)?;
        }
        let name = manifest_name(self.generation);
        self.write(name, &mut |out| write_all(out, bytes))?;
        self.sync_folder("")
    }

    /// Bytes of the segments of the generation that is being prepared.
    pub(super) const fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Keeps a file that `write` writes; `kind` is its folder and `extension` its ending.
    pub(super) fn keep_stream(&mut self, kind: &str, extension: &str, write: WriteFn<'_>) -> Result<FileRef> {
        let name = self.next_name(kind, kind, extension);
        self.write(name, write)
    }

    pub(super) fn remove(&mut self, path: &Path) -> Result<()> {
        self.disk.remove(path).map_err(|source| io_error("cannot delete", path, source))
    }

    /// Hides a generation from readers that open it from now on.
    pub(super) fn set_manifest_aside(&mut self, generation: u64) -> Result<()> {
        let (path, aside) = self.manifest_paths(generation);
        self.disk.rename(&path, &aside).map_err(|source| io_error("cannot rename to", &aside, source))
    }

    /// Shows a generation again.
    pub(super) fn restore_manifest(&mut self, generation: u64) -> Result<()> {
        let (path, aside) = self.manifest_paths(generation);
        self.disk.rename(&aside, &path).map_err(|source| io_error("cannot rename to", &path, source))
    }

    /// Shows all generations again that a collection set aside before it broke off, and returns the first error.
    pub(super) fn restore_manifests(&mut self) -> Result<()> {
        let aside = generations_named(&self.path, |name| manifest_generation(name.strip_suffix(ASIDE)?))?;
        let restored = aside.into_iter().map(|generation| self.restore_manifest(generation));
        // One that fails must not keep the others hidden.
        restored.fold(Ok(()), Result::and)
    }

    /// Deletes a manifest that was set aside.
    pub(super) fn remove_manifest(&mut self, generation: u64) -> Result<()> {
        self.remove(&self.manifest_paths(generation).1)
    }

    /// Returns the path of a manifest, and the one it has while it is set aside.
    fn manifest_paths(&self, generation: u64) -> (PathBuf, PathBuf) {
        let name = manifest_name(generation);
        (self.path.join(&name), self.path.join(format!("{name}{ASIDE}")))
    }

    fn next_name(&mut self, folder: &str, stem: &str, extension: &str) -> String {
        self.count += 1;
        self.touched.insert(folder.to_owned());
        format!("{folder}/{stem}-{:010}-{:04}.{extension}", self.generation, self.count)
    }

    /// Writes a file under another name, syncs it, and gives it its name.
    fn write(&mut self, name: String, write: WriteFn<'_>) -> Result<FileRef> {
        self.check()?;
        let path = self.path.join(&name);
        let temporary = self.path.join(format!("{name}{TEMPORARY}"));
        let (mut file, length, digest) = match self.begin_file(&temporary, write) {
            Ok(written) => written,
            Err(error) => {
                // What was written of it is garbage that a later collection would find too.
                let _ = self.disk.remove(&temporary);
                return Err(error);
            }
        };
        file.sync().map_err(|source| self.latch("cannot sync", &temporary, source))?;
        drop(file);
        self.disk.rename(&temporary, &path).map_err(|source| self.latch("cannot rename to", &path, source))?;
        Ok(FileRef { name, length, digest })
    }

    fn begin_file(&mut self, path: &Path, write: WriteFn<'_>) -> Result<(Box<dyn DiskFile>, u64, u128)> {
        let failed = |source| io_error("cannot write", path, source);
        let mut sink = Sink::new(self.disk.create(path).map_err(failed)?);
        match write(&mut sink) {
            Ok(()) => sink.finish().map_err(failed),
            Err(error) => Err(sink.into_fault().map_or(error, failed)),
        }
    }

    fn sync_folder(&mut self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        self.disk.sync_folder(&path).map_err(|source| self.latch("cannot sync", &path, source))
    }

    fn latch(&mut self, action: &'static str, path: &Path, source: io::Error) -> LedgerError {
        self.is_latched = true;
        io_error(action, path, source)
    }
}

impl Storage for Folder {
    fn scratch(&self) -> Scratch {
        Scratch::folder(self.path.join(SEGMENTS), Scratch::MEMORY_BYTES)
    }

    fn keep_segment(&mut self, chain: Chain, write: WriteFn<'_>) -> Result<Arc<Part>> {
        let name = self.next_name(SEGMENTS, chain.name(), "segment");
        let file = self.write(name, write)?;
        self.segment_bytes += file.length;
        let segment = Segment::open(&self.path.join(&file.name))?;
        Ok(Arc::new(Part::new(file, segment)))
    }

    fn keep_container(&mut self, kind: &str, stem: &str, write: WriteFn<'_>) -> Result<(FileRef, Container)> {
        let name = self.next_name(kind, stem, kind);
        let file = self.write(name, write)?;
        let opened = Container::open(&self.path.join(&file.name))?;
        Ok((file, opened))
    }

    fn keep_file(&mut self, kind: &str, extension: &str, bytes: Vec<u8>) -> Result<FileRef> {
        self.keep_stream(kind, extension, &mut |out| write_all(out, &bytes))
    }
}
