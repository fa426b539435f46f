//! `headwater stats`.

use headwater_engine::{BlockRange, held_blocks, lacking};
use headwater_ledger::Store;
use headwater_ledger::store::{ImportVersion, StoreStats};

use super::Settings;
use super::error::Failure;
use super::output::{Output, date, grouped, size, table};

/// Shows what the store holds.
pub(super) fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let path = settings.store()?;
    let stats = Store::open(&path)?.stats()?;
    output.report(&stats, || {
        let head = format!(
            "{}: generation {}, {} files, {}",
            path.display(),
            stats.generation,
            grouped(stats.files),
            size(stats.bytes)
        );
        let written = format!(
            "segments: {} held, {} written by all commits and merges",
            size(stats.segment_bytes),
            size(stats.written_segment_bytes)
        );
        [head, written].into_iter().chain(chains(&stats)).chain(imports(&stats)).collect()
    })
}

fn chains(stats: &StoreStats) -> Vec<String> {
    let head = ["chain", "transactions", "movements", "blocks", "from", "to", "segments", "size"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (chain, held) in &stats.chains {
        let coverage = &held.coverage;
        let time = |time: Option<headwater_types::Timestamp>| time.map(|time| date(time.secs())).unwrap_or_default();
        let blocks = coverage.first_block.zip(coverage.last_block);
        rows.push(vec![
            chain.to_string(),
            grouped(coverage.transactions),
            grouped(coverage.movements),
            blocks.map(|(first, last)| format!("{first}..{last}")).unwrap_or_default(),
            time(coverage.first_time),
            time(coverage.last_time),
            grouped(held.segments),
            size(held.bytes),
        ]);
    }
    if stats.chains.is_empty() {
        return vec!["no chain data yet: `headwater ingest` reads files, `headwater simulate` makes some".to_owned()];
    }
    let mut lines = table(&rows);
    lines.extend(stats.chains.iter().filter(|(_, held)| held.coverage.transactions > 0).filter_map(|(chain, held)| {
        let missing = lacking(*chain, &held.coverage);
        (!missing.is_empty())
            .then(|| format!("{chain}: no source brings {}: answers may lack them", missing.join(", ")))
    }));
    lines.extend(blocks(stats));
    lines
}

/// The blocks that are held, by kind of data.
fn blocks(stats: &StoreStats) -> Vec<String> {
    let mut rows = vec![["chain", "complete", "blocks", "gaps", "not verified"].map(str::to_owned).to_vec()];
    for (chain, held) in &stats.chains {
        for kind in held_blocks(*chain, &held.coverage) {
            rows.push(vec![
                chain.to_string(),
                kind.kind.name().replace('_', " "),
                ranges(&kind.ranges),
                ranges(&kind.gaps),
                ranges(&kind.unverified),
            ]);
        }
    }
    if rows.len() == 1 { Vec::new() } else { table(&rows) }
}

/// The maximum number of ranges of one cell.
const MAX_RANGES: usize = 3;

fn ranges(ranges: &[BlockRange]) -> String {
    let mut shown: Vec<String> =
        ranges.iter().take(MAX_RANGES).map(|range| format!("{}..{}", range.from_block, range.to_block)).collect();
    if ranges.len() > MAX_RANGES {
        shown.push(format!("and {} more", ranges.len() - MAX_RANGES));
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

fn imports(stats: &StoreStats) -> Vec<String> {
    let line = |import: &ImportVersion| {
        let kind = import.kind.name();
        let note = if import.in_force { "" } else { " (rolled back)" };
        let list = import.list.as_ref().map(|list| format!(", list {} of {}", list.name, date(list.ended_at.secs())));
        let (entries, list) = (grouped(import.entries), list.unwrap_or_default());
        format!("import {}: {entries} {kind} from {}{list}{note}", import.version, import.source)
    };
    stats.imports.iter().map(line).collect()
}
