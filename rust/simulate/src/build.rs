//! A whole store of an economy: its chains, its public lists, and everything that a load builds.

use std::path::Path;

use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_ingest::{Progress, ProgressState, finish_load};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generation;
use headwater_ledger::store::{LabelImport, ShrinkPolicy, Writer};
use headwater_types::Timestamp;

use crate::error::SimulateError;
use crate::labels::LabelList;
use crate::load::{Destination, SimulateReport, simulate};
use crate::preset::Preset;

/// A step of building a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStep {
    /// Days of the economy are written.
    Days,
    /// A sidecar of this kind is built.
    Sidecar(&'static str),
}

/// Receives the step, the work done and all work of the step.
type StepProgress<'a> = &'a dyn Fn(BuildStep, u64, u64);

/// Builds a store of the economy of a preset and a seed: writes its chains, imports its public lists, and finishes the
/// load as an ingest does. The store is created where it is missing; `truth` is the folder of the ground truth.
///
/// All of it is dated by the last block: the same seed gives the same store, and a stopped run continues.
///
/// # Errors
/// As [`simulate`], and when a list cannot be imported.
pub fn build_store(
    store: &Path,
    (preset, seed): (Preset, u64),
    truth: Option<&Path>,
    progress: StepProgress<'_>,
    cancel: &Cancel,
) -> Result<SimulateReport, SimulateError> {
    let mut writer = Writer::open_or_create(store)?;
    writer.begin_load();
    let days = |done, total| progress(BuildStep::Days, done, total);
    let report = simulate(preset, seed, Destination { writer: &mut writer, truth }, &days, cancel)?;
    let head = writer.snapshot().coverage().values().filter_map(|coverage| coverage.last_time).max();
    let head = head.unwrap_or(Timestamp::new(0));
    import_lists(&mut writer, &report.lists, head)?;
    finish_load(&mut writer, head, &SidecarProgress(progress), cancel)?;
    Ok(report)
}

/// Imports the public lists of the economy.
fn import_lists(writer: &mut Writer, lists: &[LabelList], imported_at: Timestamp) -> Result<(), SimulateError> {
    for list in lists {
        let folder = tempfile::tempdir().map_err(SimulateError::Lists)?;
        let mut paths = Vec::new();
        for file in &list.files {
            let path = folder.path().join(&file.name);
            std::fs::write(&path, &file.bytes).map_err(SimulateError::Lists)?;
            paths.push(path);
        }
        let options = LabelOptions {
            source: Some(list.source.clone()),
            list: Some(list.name.clone()),
            ..LabelOptions::default()
        };
        let labels = read_labels(&paths, &options)?;
        let import = labels.into_import(list.edition.unwrap_or(imported_at), ShrinkPolicy::Accepted);
        // The dates are those of the economy: by the calendar its lists are not old.
        writer.import_labels(LabelImport { sanctions_of: Vec::new(), ..import })?;
    }
    Ok(())
}

/// The progress of sidecars, which follow the days.
struct SidecarProgress<'a>(StepProgress<'a>);

impl Progress for SidecarProgress<'_> {
    fn update(&self, _state: ProgressState<'_>) {}

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        (self.0)(BuildStep::Sidecar(kind), done, total);
    }
}
