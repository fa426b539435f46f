//! The edges of a segment, see [`crate::edges`].

use std::io::Write;

use headwater_types::{Chain, Family};

use super::super::imports::Imports;
use super::{AttachedSidecar, Kind, Occasion, OpenedSidecar, Scope, Target, by_segment};
use crate::edges::{self, EdgeFile, LASTING_MOVEMENTS, MAX_GROUPED, MIN_MOVEMENTS, Terms};
use crate::external::Scratch;
use crate::read::Result;
use crate::segment::{Container, Segment, Spool};
use crate::{Cancel, Snapshot};

pub(super) struct Edges;

impl Kind for Edges {
    fn name(&self) -> &'static str {
        "edges"
    }

    fn scope(&self) -> Scope {
        Scope::Segment
    }

    fn stamp(&self, chain: Chain, imports: &Imports) -> u128 {
        imports.stamp(chain).0
    }

    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool> {
        if target.chain.family() == Family::Utxo || target.is_current {
            return Ok(false);
        }
        let [part] = target.parts else { return Ok(false) };
        let movements = part.segment.movements();
        Ok(match occasion {
            Occasion::All => true,
            Occasion::Request => movements >= MIN_MOVEMENTS,
            // Others are soon merged, and grouped on reading until then.
            Occasion::Change => {
                target.is_new
                    && movements >= MIN_MOVEMENTS
                    && (movements >= LASTING_MOVEMENTS || part.segment.max_postings()? > MAX_GROUPED)
            }
        })
    }

    /// Postings: each movement is under both its ends.
    fn work(&self, target: &Target<'_>) -> u64 {
        target.parts.iter().map(|part| part.segment.movements() * 2).sum()
    }

    fn build(
        &self,
        target: &Target<'_>,
        scratch: &Scratch,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
        cancel: &Cancel,
    ) -> Result<()> {
        let terms = Terms { registry: &target.imports.registry, prices: &target.imports.prices };
        let spool = Spool::within(scratch);
        target
            .parts
            .iter()
            .try_for_each(|part| edges::build(&part.segment, terms, &spool, out, &mut |done| progress(done), cancel))
    }

    fn open(&self, file: Container) -> Result<OpenedSidecar> {
        let edges = EdgeFile::read(file)?;
        Ok(OpenedSidecar::new(edges.stamp().0, edges))
    }

    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool {
        matches!(segments, [segment] if opened.typed::<EdgeFile>().is_of(segment))
    }

    fn attach(&self, snapshot: Snapshot, files: Vec<AttachedSidecar>) -> Snapshot {
        let files = by_segment(&snapshot, &files);
        snapshot.with_edges(files)
    }
}
