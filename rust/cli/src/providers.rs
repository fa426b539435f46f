//! `headwater providers`.

use headwater_node::{KnownProvider, known_providers};

use super::Settings;
use super::error::Failure;
use super::output::{Output, date, grouped, table};

/// Shows what loads saw of the nodes and services that they asked.
pub(super) fn run(settings: &Settings, output: Output) -> Result<(), Failure> {
    let providers = known_providers(&settings.store()?).map_err(|error| Failure::from_error(&error))?;
    output.report(&providers, || lines(&providers))
}

fn lines(providers: &[KnownProvider]) -> Vec<String> {
    if providers.is_empty() {
        return vec!["no load from nodes yet: `headwater ingest --rpc URL` makes one".to_owned()];
    }
    let head = ["chain", "provider", "last used", "answers", "p50", "p99", "failed", "limited", "gaps", "wrong"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for KnownProvider { chain, provider, last_used, card } in providers {
        let millis = |share| card.quantile(share).map(|millis| format!("{millis:.1} ms")).unwrap_or_default();
        rows.push(vec![
            chain.clone(),
            provider.clone(),
            date(*last_used),
            grouped(card.answered),
            millis(0.5),
            millis(0.99),
            grouped(card.failed),
            grouped(card.rate_limited),
            grouped(card.gaps),
            grouped(card.lies.values().sum()),
        ]);
    }
    let mut lines = table(&rows);
    for KnownProvider { provider, card, .. } in providers {
        lines.extend(card.first_lie.iter().map(|text| format!("{provider}: first wrong answer: {text}")));
        lines.extend(card.aside.iter().map(|reason| format!("{provider}: put aside in the last load: {reason}")));
        if !card.lacks.is_empty() {
            lines.push(format!("{provider}: does not have {}", card.lacks.join(", ")));
        }
    }
    lines
}
