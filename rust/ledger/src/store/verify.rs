//! Reads every byte of a generation against its checksums, and its parts against each other.
//!
//! Nothing stops at the first problem: each file is judged by itself, and the report lists all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use headwater_types::Chain;

use super::manifest::{ChainEntry, Manifest, SegmentEntry, SidecarEntry};
use super::parts::{FileRef, LABELS, file_digest};
use super::sidecar::{KINDS, kind_of};
use super::{FileProblem, ImportKind, VerifyReport, folder};
use crate::facts::{BlockFacts, TokenFacts};
use crate::labels::LabelFile;
use crate::read::Result;
use crate::segment::Segment;
use crate::{Cancel, LedgerError};

/// The number of times a generation may be collected under the verification before its result counts.
const ATTEMPTS: usize = 3;

pub(super) fn verify(root: &Path, progress: &dyn Fn(u64, u64), cancel: &Cancel) -> Result<VerifyReport> {
    let mut report = verify_newest(root, progress, cancel)?;
    for _ in 1..ATTEMPTS {
        // A file that a writer collected is not damage. Its manifest goes first.
        if report.is_sound() || root.join(folder::manifest_name(report.generation)).exists() {
            break;
        }
        report = verify_newest(root, progress, cancel)?;
    }
    Ok(report)
}

fn verify_newest(root: &Path, progress: &dyn Fn(u64, u64), cancel: &Cancel) -> Result<VerifyReport> {
    let mut check = Check { root, progress, cancel, total: 0, report: VerifyReport::default() };
    let generations = folder::generations(root)?;
    let Some((newest, older)) = generations.split_last() else {
        return Err(LedgerError::NoStore { path: root.to_owned() });
    };
    for generation in older {
        check.manifest(*generation)?;
    }
    check.report.generation = *newest;
    if let Some(manifest) = check.manifest(*newest)? {
        check.contents(&manifest)?;
    }
    check.report.problems.sort();
    check.report.problems.dedup();
    Ok(check.report)
}

/// Returns whether a file carries checksums of its own, page by page, which show where it is damaged.
fn is_paged(file: &FileRef) -> bool {
    let sidecars = KINDS.iter().map(|kind| kind.name());
    sidecars.chain([folder::SEGMENTS, LABELS]).any(|folder| file.name.starts_with(folder))
}

struct Check<'a> {
    root: &'a Path,
    progress: &'a dyn Fn(u64, u64),
    cancel: &'a Cancel,
    total: u64,
    report: VerifyReport,
}

impl Check<'_> {
    fn problem(&mut self, file: PathBuf, offset: u64, what: impl Into<String>) {
        self.report.problems.push(FileProblem { file, offset, what: what.into() });
    }

    /// Puts damage into the report; other errors end the work.
    fn noted<T>(&mut self, result: Result<T>, path: &Path) -> Result<Option<T>> {
        match result {
            Ok(value) => return Ok(Some(value)),
            Err(LedgerError::Corrupt { file, offset, what }) => self.problem(file, offset, what),
            Err(LedgerError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(error) => {
                let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
                self.problem(path.to_owned(), 0, format!("{error}{}", source.unwrap_or_default()));
            }
        }
        Ok(None)
    }

    fn manifest(&mut self, generation: u64) -> Result<Option<Manifest>> {
        let path = self.root.join(folder::manifest_name(generation));
        let manifest = match Manifest::read(self.root, generation) {
            // Collected since the folder was listed.
            Err(LedgerError::GenerationGone { .. }) => return Ok(None),
            manifest => self.noted(manifest, &path)?,
        };
        self.report.files += 1;
        self.report.bytes += std::fs::metadata(&path).map_or(0, |file| file.len());
        Ok(manifest)
    }

    fn contents(&mut self, manifest: &Manifest) -> Result<()> {
        let path = self.root.join(folder::manifest_name(manifest.generation));
        let listed = manifest.files();
        self.total = listed.iter().flatten().map(|file| file.length).sum::<u64>() + self.report.bytes;
        for file in listed {
            match file {
                Ok(file) => self.file(&file)?,
                Err(what) => self.problem(path.clone(), 0, what),
            }
        }
        // What cannot be opened is in the report by now; what can is checked together.
        for (chain, entry) in &manifest.chains {
            let mut segments = Vec::new();
            for entry in entry.all_segments() {
                segments.extend(self.segment(*chain, entry)?);
            }
            for (kind, entries) in &entry.sidecars {
                for sidecar in entries {
                    self.sidecar(kind, sidecar, &segments)?;
                }
            }
            self.duplicates(&segments)?;
            self.copies(&segments)?;
        }
        self.labels(manifest)?;
        self.feed(manifest)
    }

    /// Every page and every claim of the imports of labels, and whether they are the ones that were listed.
    fn labels(&mut self, manifest: &Manifest) -> Result<()> {
        for entry in manifest.imports.iter().filter(|entry| entry.kind() == ImportKind::Labels) {
            let Ok(file) = entry.file() else { continue };
            self.cancel.check()?;
            let path = self.root.join(&file.name);
            let checked = folder::open_listed_container(self.root, &file).and_then(|container| {
                container.verify(&mut |_, _| {})?;
                LabelFile::read(container)?.each(&mut |_| Ok(()))
            });
            if self.noted(checked, &path)?.is_some() {
                self.is_listed(&file);
            }
        }
        Ok(())
    }

    /// Every page of the segments that only the feed lists, and whether they are the ones that were listed.
    fn feed(&mut self, manifest: &Manifest) -> Result<()> {
        let of_chain = |entry: &ChainEntry| {
            entry.all_segments().filter_map(|entry| entry.file.to_ref().ok()).map(|file| file.name).collect::<Vec<_>>()
        };
        let mut checked: BTreeSet<String> = manifest.chains.values().flat_map(of_chain).collect();
        for file in manifest.feed.segments().filter_map(|entry| entry.to_ref().ok()) {
            self.cancel.check()?;
            if !checked.insert(file.name.clone()) {
                continue;
            }
            let path = self.root.join(&file.name);
            let before = self.report.problems.len();
            let Some(segment) = self.noted(folder::open_listed(self.root, &file), &path)? else { continue };
            let pages = segment.verify(&mut |_, _| {});
            self.noted(pages, &path)?;
            if self.report.problems.len() == before {
                self.is_listed(&file);
            }
        }
        Ok(())
    }

    /// Length and digest of the whole file.
    fn file(&mut self, file: &FileRef) -> Result<()> {
        self.cancel.check()?;
        let path = self.root.join(&file.name);
        self.report.files += 1;
        match std::fs::read(&path) {
            Err(source) => {
                self.noted::<()>(Err(folder::missing_or_io(&path, source)), &path)?;
            }
            Ok(bytes) => {
                let length = bytes.len() as u64;
                self.report.bytes += length;
                if length != file.length {
                    let what = format!("it has {length} bytes, expected {}", file.length);
                    self.problem(path, length.min(file.length), what);
                } else if file_digest(&bytes) != file.digest && !is_paged(file) {
                    self.problem(path, 0, "its digest is not the listed one");
                }
            }
        }
        (self.progress)(self.report.bytes, self.total.max(self.report.bytes));
        Ok(())
    }

    /// Every page of a segment, and whether it is the one that was listed.
    fn segment(&mut self, chain: Chain, entry: &SegmentEntry) -> Result<Option<(PathBuf, Segment)>> {
        self.cancel.check()?;
        let Ok(file) = entry.file.to_ref() else { return Ok(None) };
        let path = self.root.join(&file.name);
        let before = self.report.problems.len();
        let Some(segment) = self.noted(folder::open_listed(self.root, &file), &path)? else { return Ok(None) };
        let pages = segment.verify(&mut |_, _| {});
        self.noted(pages, &path)?;
        if self.report.problems.len() > before {
            return Ok(None);
        }
        let digest = std::fs::read(&path).map(|bytes| file_digest(&bytes));
        if digest.ok() != Some(file.digest) {
            self.problem(path, 0, "its pages are sound, but it is not the file that was listed");
            return Ok(None);
        }
        let counts = (segment.chain(), segment.transactions(), segment.movements());
        if counts != (chain, entry.transactions, entry.movements) {
            let what = format!(
                "it holds {} with {} transactions and {} movements, listed is {chain} with {} and {}",
                counts.0, counts.1, counts.2, entry.transactions, entry.movements
            );
            self.problem(path.clone(), 0, what);
        }
        Ok(Some((path, segment)))
    }

    /// Every page of a sidecar, whether it is the one that was listed, and whether it is of the segments it is listed
    /// for, as far as those are sound.
    fn sidecar(&mut self, kind: &str, entry: &SidecarEntry, segments: &[(PathBuf, Segment)]) -> Result<()> {
        let (Some(kind), Ok(file)) = (kind_of(kind), entry.file.to_ref()) else { return Ok(()) };
        self.cancel.check()?;
        let path = self.root.join(&file.name);
        let opened = folder::open_listed_container(self.root, &file).and_then(|container| {
            container.verify(&mut |_, _| {})?;
            kind.open(container)
        });
        let Some(opened) = self.noted(opened, &path)? else { return Ok(()) };
        if !self.is_listed(&file) {
            return Ok(());
        }
        let covered = entry.covers.iter().map(|name| {
            let path = self.root.join(name);
            segments.iter().find(|(held, _)| *held == path).map(|(_, segment)| segment)
        });
        let covered: Option<Vec<&Segment>> = covered.collect();
        if covered.is_some_and(|covered| !kind.is_of(&opened, &covered)) {
            self.problem(path, 0, "it was built from other segments");
        }
        Ok(())
    }

    /// Returns whether a file whose pages are sound is the one that was listed, which is a problem when it is not.
    fn is_listed(&mut self, file: &FileRef) -> bool {
        let path = self.root.join(&file.name);
        let is_listed = std::fs::read(&path).is_ok_and(|bytes| file_digest(&bytes) == file.digest);
        if !is_listed {
            self.problem(path, 0, "its pages are sound, but it is not the file that was listed");
        }
        is_listed
    }

    /// A transaction is in one segment only.
    fn duplicates(&mut self, segments: &[(PathBuf, Segment)]) -> Result<()> {
        for (place, (path, segment)) in segments.iter().enumerate() {
            for row in 0..segment.transactions() {
                if row % 4096 == 0 {
                    self.cancel.check()?;
                }
                // One problem is enough of a file.
                let Some(hash) = self.noted(segment.hash(row), path)? else { break };
                for (other, later) in &segments[place + 1..] {
                    if self.noted(later.find(&hash), other)?.flatten().is_some() {
                        let what = format!("transaction {hash:?} is in {} too", path.display());
                        self.problem(other.clone(), 0, what);
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies of blocks and tokens say the same.
    fn copies(&mut self, segments: &[(PathBuf, Segment)]) -> Result<()> {
        let mut blocks: BTreeMap<u64, BlockFacts> = BTreeMap::new();
        let mut tokens: BTreeMap<_, TokenFacts> = BTreeMap::new();
        for (path, segment) in segments {
            for block in self.noted(segment.blocks(), path)?.unwrap_or_default() {
                let held = blocks.entry(block.number).or_insert_with(|| block.clone());
                if *held != block {
                    self.problem(path.clone(), 0, format!("block {} differs from another copy", block.number));
                }
            }
            for token in self.noted(segment.tokens(), path)?.unwrap_or_default() {
                let held = tokens.entry(token.contract).or_insert_with(|| token.clone());
                if *held != token {
                    self.problem(path.clone(), 0, format!("token {} differs from another copy", token.contract));
                }
            }
        }
        Ok(())
    }
}
