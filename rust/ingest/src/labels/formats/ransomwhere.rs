//! Addresses of ransom payments from Ransomwhere.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::reading::{date, filled, listed, placed, with_json};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::source::json::Value;

/// Source: `https://api.ransomwhe.re/export`.
pub(super) const FORMAT: Format = Format {
    name: "ransomwhere",
    source: "ransomwhe.re",
    group: "ransomwhe.re",
    level: Level::Forensic,
    vocabulary: Vocabulary::OWN,
    chain: Some(Chain::ETHEREUM),
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

const LISTS: [&str; 1] = ["result"];

fn reads(probe: &Probe) -> bool {
    let Some(document) = probe.document() else { return false };
    let is_entry = |entry: &Value<'_>| {
        ["address", "family", "blockchain", "createdAt"]
            .iter()
            .all(|name| entry.members().iter().any(|(is, _)| is == name))
    };
    listed(&document, &LISTS).first().is_some_and(is_entry)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        with_json(probe.input(), |document| {
            for (place, entry) in placed(listed(document, &LISTS)) {
                let text = |name: &str| filled(entry.get(name).and_then(Value::text));
                let asserted_at = date(&mut labels, place, text("createdAt"));
                labels.claims.push(RawClaim {
                    place: Some(place),
                    address: text("address").unwrap_or_default().to_owned(),
                    chain: text("blockchain").map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned())),
                    concepts: vec!["ransomware".to_owned()],
                    entity: text("family").map(str::to_owned),
                    asserted_at,
                    ..RawClaim::default()
                });
            }
            Ok(())
        })?;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn families_are_entities_and_ambiguous_dates_are_left_out() {
        let export = r#"{"result": [
            {"address": "1AJFYvDMc9q7yH366p11Z6PtEMZGKvNisw", "family": "ExampleLock (Sample)", "blockchain": "bitcoin", "balance": 100, "createdAt": "2021-07-21T06:43:08.000Z"},
            {"address": "336U6zF7KyQaqteb2E14jRLoThFEmier2Z", "family": "ExampleLock (Sample)", "blockchain": "bitcoin", "balance": 0, "createdAt": "07/21/2021 06:43:08"},
            {"address": "1EYxwNgWodo9yVKE5PWKztxxzxLjgSHVn6", "family": null, "blockchain": "bitcoin", "balance": 5, "createdAt": "07/08/2021 06:43:08"}
        ]}"#;
        let labels = read(&FORMAT, &[("export.json", export)]);
        let rest = "on bitcoin | ransomware | of ExampleLock (Sample) | since 2021-07-21T06:43:08Z";
        assert_eq!(
            all_shown(&labels),
            [
                format!("1AJFYvDMc9q7yH366p11Z6PtEMZGKvNisw | {rest}"),
                format!("336U6zF7KyQaqteb2E14jRLoThFEmier2Z | {rest}"),
                "1EYxwNgWodo9yVKE5PWKztxxzxLjgSHVn6 | on bitcoin | ransomware".to_owned(),
            ]
        );
        assert_eq!(labels.warnings.len(), 1);
        assert!(labels.warnings[0].starts_with("row 3: the date \"07/08/2021"), "{:?}", labels.warnings);
    }
}
