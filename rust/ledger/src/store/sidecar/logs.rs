//! The index of the logs of a segment, see [`crate::logs`].

use std::io::Write;

use super::{AttachedSidecar, Kind, Occasion, OpenedSidecar, Scope, Target, by_segment};
use crate::external::Scratch;
use crate::logs::{self, LogFile, MIN_LOGS};
use crate::read::Result;
use crate::segment::{Container, Segment};
use crate::{Cancel, Snapshot};

pub(super) struct Logs;

impl Kind for Logs {
    fn name(&self) -> &'static str {
        "logs"
    }

    fn scope(&self) -> Scope {
        Scope::Segment
    }

    fn is_due(&self, target: &Target<'_>, occasion: Occasion) -> Result<bool> {
        let logs = self.work(target);
        Ok(!target.is_current
            && match occasion {
                Occasion::All => logs > 0,
                Occasion::Request => logs >= MIN_LOGS,
                Occasion::Change => target.is_new && logs >= MIN_LOGS,
            })
    }

    /// Logs, rounded up to whole blocks of them.
    fn work(&self, target: &Target<'_>) -> u64 {
        target.parts.iter().map(|part| part.segment.max_logs()).sum()
    }

    fn build(
        &self,
        target: &Target<'_>,
        scratch: &Scratch,
        out: &mut dyn Write,
        progress: &dyn Fn(u64),
        cancel: &Cancel,
    ) -> Result<()> {
        target.parts.iter().try_for_each(|part| logs::build(&part.segment, scratch, out, progress, cancel))
    }

    fn open(&self, file: Container) -> Result<OpenedSidecar> {
        LogFile::read(file).map(|file| OpenedSidecar::new(0, file))
    }

    fn is_of(&self, opened: &OpenedSidecar, segments: &[&Segment]) -> bool {
        matches!(segments, [segment] if opened.typed::<LogFile>().is_of(segment))
    }

    fn attach(&self, snapshot: Snapshot, files: Vec<AttachedSidecar>) -> Snapshot {
        let files = by_segment(&snapshot, &files);
        snapshot.with_logs(files)
    }
}
