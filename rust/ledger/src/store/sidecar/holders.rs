//! The holder table of a chain, see [`crate::holders`].

use std::io::Write;

use super::{AttachedSidecar, Kind, Merge, MergeFn, Occasion, OpenedSidecar, Scope, Target};
use crate::external::Scratch;
use crate::holders::{self, HolderFile, HolderTable};
use crate::read::Result;
use crate::segment::{Container, Segment};
use crate::{Cancel, Snapshot};

/// Movements and opening balances outside of a table from which on it is worth to be built.
const MIN_HOLDINGS: u64 = 1 << 18;

pub(super) struct Holders;

impl Kind for Holders {
    fn name(&self) -> &'static str {
        "holders"
    }

    fn scope(&self) -> Scope {
        Scope::Chain
    }

    /// A table is rewritten when a quarter of what it holds came after it, so that each movement is read for it a few
    /// times at most, or half of what is read at most without it.
    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool> {
        if occasion == Occasion::Change {
            return Ok(false);
        }
        let [covered, newer] = target.covered_and_newer();
        let is_overtaken = holders::is_overtaken(&covered, &newer)?;
        let changes = |segments: &[&Segment]| segments.iter().map(|segment| segment.balance_changes()).sum::<u64>();
        let (covered, newer) = (changes(&covered), changes(&newer));
        Ok(match occasion {
            Occasion::All => newer > 0 || target.held.is_none(),
            Occasion::Request | Occasion::Change => {
                let is_large = newer > covered / 4 || newer > holders::MAX_UNCOVERED / 2;
                is_overtaken && covered >= MIN_HOLDINGS || newer >= MIN_HOLDINGS && is_large
            }
        })
    }

    /// Accounts, at most: those of several segments count once for each.
    fn work(&self, target: &Target<'_>) -> u64 {
        target.parts.iter().map(|part| part.segment.addresses()).sum()
    }

    fn build(
        &self,
        target: &Target<'_>,
        scratch: &Scratch,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
        cancel: &Cancel,
    ) -> Result<()> {
        holders::build(&target.segments(), scratch, out, progress, cancel)
    }

    fn merge(&self) -> Option<MergeFn> {
        Some(carry)
    }

    fn open(&self, file: Container) -> Result<OpenedSidecar> {
        HolderFile::read(file).map(|table| OpenedSidecar::new(0, table))
    }

    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool {
        let table = opened.typed::<HolderFile>();
        table.segments() == segments.len() as u64 && segments.iter().all(|segment| segment.chain() == table.chain())
    }

    fn attach(&self, snapshot: Snapshot, files: Vec<AttachedSidecar>) -> Snapshot {
        snapshot.with_holders(files.into_iter().map(|AttachedSidecar { chain, places, opened }| {
            (chain, HolderTable { file: opened.typed(), covered: places })
        }))
    }
}

fn carry(merge: &Merge<'_>, scratch: &Scratch, out: &mut dyn Write, cancel: &Cancel) -> Result<()> {
    merge.files.iter().try_for_each(|(table, covered)| {
        let covered: Vec<_> = covered.iter().map(|covered| (covered.segment, covered.place)).collect();
        holders::carry(&table.opened.typed::<HolderFile>(), &covered, merge.merged, (scratch, &mut *out), cancel)
    })
}
