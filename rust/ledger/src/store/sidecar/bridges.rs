//! The index of link keys of a segment, see [`crate::bridges`].

use std::io::Write;

use headwater_types::Chain;

use super::super::imports::Imports;
use super::{AttachedSidecar, Kind, Occasion, OpenedSidecar, Scope, Target, by_segment};
use crate::bridges::{self, BridgeFile, VERSION};
use crate::external::Scratch;
use crate::read::Result;
use crate::segment::{Container, Segment};
use crate::{Cancel, Snapshot};

/// Transactions of a segment from which on an index is worth to be built.
const MIN_TRANSACTIONS: u64 = 1 << 14;

pub(super) struct Bridges;

impl Kind for Bridges {
    fn name(&self) -> &'static str {
        "bridges"
    }

    fn scope(&self) -> Scope {
        Scope::Segment
    }

    fn stamp(&self, _: Chain, _: &Imports) -> u128 {
        VERSION
    }

    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool> {
        let [part] = target.parts else { return Ok(false) };
        let is_large = u64::from(part.segment.transactions()) >= MIN_TRANSACTIONS;
        Ok(!target.is_current
            && match occasion {
                Occasion::All => true,
                Occasion::Request => is_large,
                // Small ones are soon merged, and read on the first question until then.
                Occasion::Change => target.is_new && is_large,
            })
    }

    /// Transactions.
    fn work(&self, target: &Target<'_>) -> u64 {
        target.parts.iter().map(|part| u64::from(part.segment.transactions())).sum()
    }

    fn build(
        &self,
        target: &Target<'_>,
        scratch: &Scratch,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
        cancel: &Cancel,
    ) -> Result<()> {
        target.parts.iter().try_for_each(|part| bridges::build(&part.segment, scratch, out, progress, cancel))
    }

    fn open(&self, file: Container) -> Result<OpenedSidecar> {
        BridgeFile::read(file).map(|file| OpenedSidecar::new(VERSION, file))
    }

    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool {
        matches!(segments, [segment] if opened.typed::<BridgeFile>().is_of(segment))
    }

    fn attach(&self, snapshot: Snapshot, files: Vec<AttachedSidecar>) -> Snapshot {
        let files = by_segment(&snapshot, &files);
        snapshot.with_bridges(files)
    }
}
