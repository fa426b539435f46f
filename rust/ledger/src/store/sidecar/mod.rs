//! Sidecars: files that are derived from segments and kept beside them, so that common questions are answered faster.
//!
//! A sidecar may be missing or stale at any time: answers are the same without it, only slower, and it is built again
//! from the segments. The store treats all kinds alike, through the table [`KINDS`]: it builds what is due, carries
//! files over merges, lists them in the manifest with the segments that they cover, drops those of segments that are
//! gone, hands the current ones to the snapshot, verifies them and counts what is missing.
//!
//! # Adding a kind
//!
//! 1. A file in this folder with a type that implements [`Kind`]: when it is due, how it is built, how it is opened,
//!    and what a snapshot does with it. Its content is a container of checked pages
//!    ([`SegmentFile`](crate::segment::SegmentFile), [`Container`]).
//! 2. A line in [`KINDS`].
//!
//! What reads such files belongs in a module of the crate, as [`crate::edges`] and
//! [`crate::clusters`] are, and is
//! reached through the snapshot. A kind over one segment each ([`Scope::Segment`]) needs no thought about merges: the
//! merged segment gets a new file, or one merged from those before ([`Kind::merge`]). The tests of this module take
//! another kind through all of it.

mod bridges;
mod clusters;
mod edges;
mod holders;
mod logs;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use headwater_types::Chain;

use super::imports::Imports;
use super::parts::{FileRef, Part};
use crate::external::Scratch;
use crate::read::Result;
use crate::segment::{Container, Segment};
use crate::{Cancel, Snapshot};

/// All kinds, in the order in which they are built.
pub(super) static KINDS: &[&dyn Kind] = &[
    &edges::Edges,
    &holders::Holders,
    &logs::Logs,
    &clusters::Clusters,
    &bridges::Bridges,
    #[cfg(test)]
    &tests::Counts,
];

/// The scope of one file of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// One segment.
    Segment,
    /// All final segments that the chain has when it is built.
    Chain,
}

/// When files are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// With a change of the store, which should stay fast.
    Change,
    /// When the writer is asked for what is missing.
    Request,
    /// All that can be built, however small, for tests.
    All,
}

/// The content that a file is to be built for.
pub(super) struct Target<'a> {
    pub(super) chain: Chain,
    /// The segments to cover: one, or the final ones of the chain.
    pub(super) parts: &'a [Arc<Part>],
    pub(super) imports: &'a Imports,
    /// The file there is, current or stale.
    pub(super) held: Option<&'a Sidecar>,
    /// True if the file there is has the right stamp and belongs to segments like its own.
    pub(super) is_current: bool,
    /// True if the change made any of the segments.
    pub(super) is_new: bool,
}

impl Target<'_> {
    pub(super) fn segments(&self) -> Vec<&Segment> {
        self.parts.iter().map(|part| &*part.segment).collect()
    }

    /// The segments that the file there is covers, and the others.
    fn covered_and_newer(&self) -> [Vec<&Segment>; 2] {
        let is_covered = |part: &&Arc<Part>| self.held.is_some_and(|table| table.covers.contains(&part.file.name));
        let (covered, newer): (Vec<_>, Vec<_>) = self.parts.iter().partition(is_covered);
        [covered, newer].map(|parts| parts.into_iter().map(|part| &*part.segment).collect())
    }
}

/// A merge of segments, as a kind sees it that takes its files along.
pub(super) struct Merge<'a> {
    /// The files that cover the merged segments, each with what it covers in its own order.
    pub(super) files: &'a [(Arc<Sidecar>, Vec<CoveredSegment<'a>>)],
    /// The segment that the merge made.
    pub(super) merged: &'a Segment,
}

/// A segment that a file covers.
pub(super) struct CoveredSegment<'a> {
    pub(super) segment: &'a Segment,
    /// Its place among those that the new file covers, where the merged one is the first; `None` when it was merged.
    pub(super) place: Option<u32>,
}

/// Writes a file from those of merged segments.
pub(super) type MergeFn = fn(&Merge<'_>, &Scratch, &mut dyn Write, &Cancel) -> Result<()>;

/// An open file, handed to the snapshot.
pub(super) struct AttachedSidecar {
    pub(super) chain: Chain,
    /// Places of the segments that it covers among all of the snapshot, in the order of the file.
    pub(super) places: Vec<u32>,
    pub(super) opened: OpenedSidecar,
}

/// The files of a kind of scope [`Scope::Segment`], at the places of their segments; `None` where a segment has none.
fn by_segment<T: Any + Send + Sync>(snapshot: &Snapshot, files: &[AttachedSidecar]) -> Vec<Option<Arc<T>>> {
    let mut placed = vec![None; snapshot.segments().len()];
    for file in files {
        for place in &file.places {
            placed[*place as usize] = Some(file.opened.typed());
        }
    }
    placed
}

/// A file that a kind has opened.
#[derive(Clone)]
pub(super) struct OpenedSidecar {
    /// The stamp it was built under, see [`Kind::stamp`].
    pub(super) stamp: u128,
    file: Arc<dyn Any + Send + Sync>,
}

impl OpenedSidecar {
    fn new<T: Any + Send + Sync>(stamp: u128, file: T) -> Self {
        Self { stamp, file: Arc::new(file) }
    }

    /// The file in the type that its kind opens.
    fn typed<T: Any + Send + Sync>(&self) -> Arc<T> {
        Arc::clone(&self.file).downcast().expect("a kind is given the files it opened")
    }
}

/// One kind of sidecar.
pub(super) trait Kind: Sync {
    /// Its name in manifests; also the folder of its files and how they end.
    fn name(&self) -> &'static str;

    /// Returns what one file covers.
    fn scope(&self) -> Scope;

    /// The digest of what a file depends on beside its segments, such as prices. A file with another stamp is stale.
    fn stamp(&self, _chain: Chain, _imports: &Imports) -> u128 {
        0
    }

    /// Returns whether a file is to be built, in place of the one there is.
    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool>;

    /// Returns how much there is to do, in the units of the progress of [`Kind::build`].
    fn work(&self, target: &Target<'_>) -> u64;

    /// Writes the file. `progress` receives how much is done.
    fn build(
        &self,
        target: &Target<'_>,
        scratch: &Scratch,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
        cancel: &Cancel,
    ) -> Result<()>;

    /// Returns how files are merged with their segments, where that is cheaper than to build a new one.
    fn merge(&self) -> Option<MergeFn> {
        None
    }

    /// Opens a file.
    fn open(&self, file: Container) -> Result<OpenedSidecar>;

    /// Returns whether a file was built from segments like these, by what it states of them.
    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool;

    /// Gives the current files to the snapshot that reads them.
    fn attach(&self, snapshot: Snapshot, files: Vec<AttachedSidecar>) -> Snapshot;
}

/// The kind of a name.
pub(super) fn kind_of(name: &str) -> Option<&'static dyn Kind> {
    KINDS.iter().copied().find(|kind| kind.name() == name)
}

/// One live file.
pub(super) struct Sidecar {
    pub(super) file: FileRef,
    /// Names of the files of the segments that it covers, in the order in which it numbers them.
    pub(super) covers: Vec<String>,
    pub(super) opened: OpenedSidecar,
}

/// The sidecars of one chain, by kind and what they cover.
#[derive(Clone, Default)]
pub(super) struct Sidecars {
    by_kind: BTreeMap<&'static str, BTreeMap<String, Arc<Sidecar>>>,
}

impl Sidecars {
    pub(super) const NONE: Self = Self { by_kind: BTreeMap::new() };

    /// Adds a file, in place of one that covers the same.
    pub(super) fn insert(&mut self, kind: &dyn Kind, sidecar: Arc<Sidecar>) {
        let key = match kind.scope() {
            Scope::Segment => sidecar.covers.first().cloned().unwrap_or_default(),
            Scope::Chain => String::new(),
        };
        self.by_kind.entry(kind.name()).or_default().insert(key, sidecar);
    }

    /// The file for some segments, current or not.
    pub(super) fn held(&self, kind: &dyn Kind, parts: &[Arc<Part>]) -> Option<&Arc<Sidecar>> {
        let key = match kind.scope() {
            Scope::Segment => parts.first()?.file.name.as_str(),
            Scope::Chain => "",
        };
        self.by_kind.get(kind.name())?.get(key)
    }

    pub(super) fn of(&self, kind: &dyn Kind) -> impl Iterator<Item = &Arc<Sidecar>> {
        self.by_kind.get(kind.name()).into_iter().flat_map(BTreeMap::values)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Arc<Sidecar>)> {
        self.by_kind.iter().flat_map(|(name, files)| files.values().map(move |file| (*name, file)))
    }

    /// Keeps the files of which all that they cover is still there.
    pub(super) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        for files in self.by_kind.values_mut() {
            files.retain(|_, sidecar| sidecar.covers.iter().all(|name| is_there(name)));
        }
    }
}
