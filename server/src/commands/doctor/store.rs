//! The chain data.

use std::collections::BTreeMap;
use std::path::Path;

use headwater_cli::output::{grouped, size};
use headwater_engine::{lacking, old_sanctions};
use headwater_ledger::read::Coverage;
use headwater_ledger::store::ChainStats;
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_state::causes;
use headwater_state::clock::now_secs;
use headwater_types::Chain;

use super::{Findings, market, unreadable};

const AREA: &str = "store";

/// Returns whether the store can be read, what it lacks, and what of it is stale.
pub(super) fn examine(path: &Path, deep: bool, findings: &mut Findings) {
    let store = match Store::open(path) {
        Ok(store) => store,
        Err(error) if unreadable::report(AREA, &error, findings) => return,
        Err(error) => {
            let remedy = "name the folder that `headwater ingest` wrote, or make one with `headwater simulate`";
            return findings.broken(AREA, causes(&error), remedy);
        }
    };
    let (snapshot, stats) = match (store.snapshot(), store.stats()) {
        (Ok(snapshot), Ok(stats)) => (snapshot, stats),
        (Err(error), _) | (_, Err(error)) => {
            // A server continues with the generation before.
            let numbers = store.generations().unwrap_or_default();
            if let [.., served, unreadable] = numbers[..] {
                findings.warn(
                    AREA,
                    format!("generation {unreadable} cannot be read: a server that runs answers from {served}, stale"),
                    "see that its account may read the files: the newest generation is tried again every 5 seconds",
                );
            }
            // A file that cannot be read may look as if it had another length.
            let file = if let LedgerError::Corrupt { file, .. } = &error { Some(file) } else { None };
            if unreadable::report(AREA, &error, findings)
                || file.is_some_and(|file| unreadable::report_file(AREA, file, findings))
            {
                return;
            }
            let remedy =
                "`headwater verify` names the damaged file: restore it from a copy, or ingest into a new store";
            return findings.broken(AREA, causes(&error), remedy);
        }
    };
    findings.good(
        AREA,
        format!(
            "{} opens: generation {}, {} files, {}",
            path.display(),
            stats.generation,
            grouped(stats.files),
            size(stats.bytes)
        ),
    );
    if deep {
        verify(&store, findings);
    }
    if stats.chains.is_empty() {
        findings.warn(
            AREA,
            "it holds no chain data",
            "`headwater ingest` reads files, `headwater simulate` makes some",
        );
    }
    chains(&stats.chains, findings);
    for old in old_sanctions(snapshot.as_ref(), now_secs()) {
        findings.warn(AREA, old, "scores rest on the lists that are held: newer listings are unknown until then");
    }
    let held: Vec<Chain> = stats.chains.keys().copied().collect();
    market::examine(&held, snapshot.as_ref(), findings);
}

fn verify(store: &Store, findings: &mut Findings) {
    match store.verify(&|_, _| {}, &Cancel::new()) {
        Ok(report) if report.is_sound() => {
            findings.good(AREA, format!("{} files fit their checksums", grouped(report.files)));
        }
        Ok(report) => {
            for problem in report.problems {
                if unreadable::report_file(AREA, &problem.file, findings) {
                    continue;
                }
                findings.broken(
                    AREA,
                    format!("{} at byte {}: {}", problem.file.display(), problem.offset, problem.what),
                    "restore the file from a copy, or ingest its data into a new store",
                );
            }
        }
        Err(error) if unreadable::report(AREA, &error, findings) => {}
        Err(error) => findings.broken(AREA, causes(&error), "see that the folder can be read, and try again"),
    }
}

fn chains(chains: &BTreeMap<Chain, ChainStats>, findings: &mut Findings) {
    for (chain, held) in chains {
        let kinds = Coverage::tables(*chain).iter();
        let holes: Vec<_> =
            kinds.flat_map(|kind| held.coverage.gaps(*chain, *kind).into_iter().map(|gap| (*kind, gap))).collect();
        if holes.is_empty() {
            findings.good(AREA, format!("{chain}: {} transactions, no hole", grouped(held.coverage.transactions)));
        }
        for (table, (from, to)) in holes {
            findings.warn(
                AREA,
                format!("{chain}: {} lack the blocks {from} to {to}", table.words()),
                "`headwater ingest` of those blocks fills the gap: answers that need them say that they are not complete",
            );
        }
        let missing = if held.coverage.transactions > 0 { lacking(*chain, &held.coverage) } else { Vec::new() };
        if !missing.is_empty() {
            findings.warn(
                AREA,
                format!("{chain}: no source brings {}", missing.join(", ")),
                "ingest files that have them: answers may lack them until then",
            );
        }
        if held.underived > 0 {
            findings.warn(
                AREA,
                format!("{chain}: {} sidecars are missing or stale", held.underived),
                "`headwater compact` or the next ingest builds them: answers are right, but slower until then",
            );
        }
    }
}
