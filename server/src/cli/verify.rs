//! `headwater verify`.

use headwater_ledger::{Cancel, Store};

use super::Shared;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size};
use super::progress::{Bar, Unit};

/// Reads every file and compares it with its checksums; fails when one does not fit.
pub(super) fn run(shared: &Shared, output: Output) -> Result<(), Failure> {
    let path = shared.store()?;
    let store = Store::open(&path)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Bytes);
    let report = store.verify(&|done, total| bar.update(done, total, "verifying"), &cancel);
    drop(bar);
    let report = report?;
    output.report(&report, || {
        let mut lines: Vec<String> = report
            .problems
            .iter()
            .map(|problem| format!("{} at byte {}: {}", problem.file.display(), problem.offset, problem.what))
            .collect();
        lines.push(format!(
            "generation {}: {} files, {} read, {} problems",
            report.generation,
            grouped(report.files),
            size(report.bytes),
            report.problems.len()
        ));
        lines
    })?;
    if report.is_sound() {
        Ok(())
    } else {
        Err(Failure::failed(format!(
            "{} is damaged: restore the named files from a copy, or ingest their data into a new store",
            path.display()
        )))
    }
}
