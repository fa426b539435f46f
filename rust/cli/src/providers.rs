//! `headwater providers`.

use headwater_ledger::Store;
use headwater_node::{KnownProvider, ProviderSummary, ScoreCard, known_providers};

use super::Settings;
use super::error::Failure;
use super::output::{Output, date, grouped, table};

/// Shows what loads saw of the nodes and services that they asked.
pub(super) fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let path = settings.store()?;
    Store::open(&path)?;
    let providers = known_providers(&path).map_err(|error| Failure::from_error(&error))?;
    output.report(&providers, || lines(&providers))
}

fn lines(providers: &[KnownProvider]) -> Vec<String> {
    if providers.is_empty() {
        return vec!["no load from nodes yet: `headwater ingest --rpc URL` makes one".to_owned()];
    }
    let head = ["chain", "provider", "last used", "answers", "p50", "p99", "failed", "limited", "gaps", "wrong"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for KnownProvider { chain, last_used, summary } in providers {
        let ProviderSummary { provider, card, p50_ms, p99_ms } = summary;
        let millis = |millis: Option<f64>| millis.map(|millis| format!("{millis:.1} ms")).unwrap_or_default();
        rows.push(vec![
            chain.clone(),
            provider.clone(),
            date(*last_used),
            grouped(card.answered),
            millis(*p50_ms),
            millis(*p99_ms),
            grouped(card.failed),
            grouped(card.rate_limited),
            grouped(card.gaps),
            grouped(card.lies.values().sum()),
        ]);
    }
    let mut lines = table(&rows);
    lines.extend(providers.iter().flat_map(|known| notes(&known.summary)));
    lines
}

/// Returns what a user should know of a provider, in sentences.
pub(super) fn notes(summary: &ProviderSummary) -> Vec<String> {
    let ProviderSummary { provider, card, .. } = summary;
    let ScoreCard { first_lie, aside, lacks, .. } = card;
    let wrong = first_lie.iter().map(|text| format!("{provider}: first wrong answer: {text}"));
    let aside = aside.iter().map(|reason| format!("{provider}: no longer asked in the last load: {reason}"));
    let lacks = (!lacks.is_empty()).then(|| format!("{provider}: does not have {}", lacks.join(", ")));
    wrong.chain(aside).chain(lacks).collect()
}
