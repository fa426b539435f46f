//! `headwater verify`.

use headwater_ledger::store::{LogicalDigest, VerifyReport};
use headwater_ledger::{Cancel, Store};
use serde::Serialize;

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size};
use super::progress::{Bar, Unit};

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Also print the digest of the content: equal content has equal digests, for any order, files and commits.
    #[arg(long)]
    digest: bool,
}

/// The result of a check, with the digest of an undamaged store on request.
#[derive(Serialize)]
struct Verification<'a> {
    #[serde(flatten)]
    report: &'a VerifyReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<LogicalDigest>,
}

/// Reads every file and compares it with its checksums; fails when one does not fit.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let path = settings.store()?;
    let store = Store::open(&path)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Bytes);
    let report = store.verify(&|done, total| bar.update(done, total, "verifying"), &cancel);
    drop(bar);
    let report = report?;
    let digest = (arguments.digest && report.is_sound()).then(|| store.digest(&cancel)).transpose()?;
    output.report(&Verification { report: &report, digest }, || {
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
        lines.extend(digest.map(|digest| format!("digest {digest}")));
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
