//! The cluster table of a chain, see [`crate::clusters`].

use std::io::Write;

use headwater_types::Family;

use super::{AttachedSidecar, Kind, Occasion, OpenedSidecar, Scope, Sidecar, Target};
use crate::clusters::{self, ClusterFile, ClusterTable};
use crate::external::Scratch;
use crate::read::Result;
use crate::segment::{Container, Segment};
use crate::{Cancel, Snapshot};

/// Movements outside of a table from which on it is worth to be built.
const MIN_MOVEMENTS: u64 = 1 << 18;

pub(super) struct Clusters;

impl Kind for Clusters {
    fn name(&self) -> &'static str {
        "clusters"
    }

    fn scope(&self) -> Scope {
        Scope::Chain
    }

    /// A table is rewritten when a quarter of what it covers came after it, or half of what is read at most without it, or
    /// something came that is before its end.
    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool> {
        if target.chain.family() != Family::Utxo || occasion == Occasion::Change {
            return Ok(false);
        }
        let [covered, newer] = target.covered_and_newer();
        let is_behind = clusters::is_behind(&covered, &newer);
        let movements = |segments: &[&Segment]| segments.iter().map(|segment| segment.movements()).sum::<u64>();
        let (covered, newer) = (movements(&covered), movements(&newer));
        Ok(match occasion {
            Occasion::All => newer > 0 || target.held.is_none(),
            Occasion::Request | Occasion::Change => {
                let is_large = newer > covered / 4 || newer > clusters::MAX_UNCOVERED / 2;
                !is_behind && covered >= MIN_MOVEMENTS || newer >= MIN_MOVEMENTS && is_large
            }
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
        let covered = target.held.and_then(|table| covered(target, table));
        let table = target.held.map(|table| table.opened.typed::<ClusterFile>());
        let held = table.as_deref().zip(covered.as_deref());
        clusters::build(&target.segments(), held, (scratch, out), progress, cancel)
    }

    fn open(&self, file: Container) -> Result<OpenedSidecar> {
        ClusterFile::read(file).map(|table| OpenedSidecar::new(0, table))
    }

    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool {
        opened.typed::<ClusterFile>().is_of(segments)
    }

    fn attach(&self, snapshot: Snapshot, files: Vec<AttachedSidecar>) -> Snapshot {
        snapshot.with_clusters(files.into_iter().map(|AttachedSidecar { chain, places, opened }| {
            (chain, ClusterTable { file: opened.typed(), covered: places })
        }))
    }
}

/// Returns which segments a table covers, in its order; `None` where some are gone, or others do not come behind them.
fn covered(target: &Target<'_>, table: &Sidecar) -> Option<Vec<usize>> {
    let place = |name: &String| target.parts.iter().position(|part| part.file.name == *name);
    let covered: Vec<usize> = table.covers.iter().map(place).collect::<Option<_>>()?;
    let segments = target.segments();
    let (held, newer): (Vec<_>, Vec<_>) = (0..segments.len()).partition(|place| covered.contains(place));
    let of = |places: Vec<usize>| places.into_iter().map(|place| segments[place]).collect::<Vec<_>>();
    let is_of =
        table.opened.typed::<ClusterFile>().is_of(&covered.iter().map(|place| segments[*place]).collect::<Vec<_>>());
    (is_of && clusters::is_behind(&of(held), &of(newer))).then_some(covered)
}
