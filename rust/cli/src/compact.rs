//! `headwater compact`.

use std::collections::BTreeMap;

use headwater_ledger::Cancel;
use headwater_ledger::read::Generation;
use headwater_ledger::store::{CompactReport, WriterOptions};
use headwater_types::Chain;

use super::Settings;
use super::derived;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, size};
use super::progress::{Bar, Unit};

/// Merges the segments of each chain into as few as possible. Answers stay equal and become a little faster.
pub(super) fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let path = settings.store()?;
    headwater_ledger::Store::open(&path)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let mut writer = WriterOptions::default().cancelled_by(&cancel).open(&path)?;
    let chains: Vec<Chain> = writer.snapshot().coverage().keys().copied().collect();
    let mut reports: BTreeMap<Chain, CompactReport> = BTreeMap::new();
    for chain in chains {
        let bar = Bar::new(Unit::Steps);
        let what = format!("merging {chain}");
        let report = writer.compact(chain, &|done, total| bar.update(done, total, &what), &cancel);
        drop(bar);
        reports.insert(chain, report?);
    }
    derived::rebuild(&mut writer, &cancel)?;
    output.report(&reports, || {
        let line = |(chain, report): (&Chain, &CompactReport)| {
            format!(
                "{chain}: {} segments, {} before; {} written",
                grouped(report.segments),
                grouped(report.segments_before),
                size(report.written_bytes)
            )
        };
        reports.iter().map(line).collect()
    })
}
