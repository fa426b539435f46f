//! Reports of `Chainabuse`.

use headwater_ledger::labels::Level;

use super::reading::{date, filled, placed, with_json};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::source::json::Value;

/// Source: answers of the interfaces of `chainabuse.com`. Anybody may report.
pub(super) const FORMAT: Format = Format {
    name: "chainabuse",
    source: "chainabuse",
    group: "chainabuse",
    level: Level::WebCrawl,
    vocabulary: Vocabulary("chainabuse"),
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// Members that lead to the reports, from the outside.
const AROUND: [&str; 4] = ["data", "reports", "edges", "results"];

/// Categories with a row of their own in the table of concepts; what others are called says that they are fraud.
const CATEGORIES: [&str; 20] = [
    "AIRDROP",
    "CONTRACT_EXPLOIT",
    "DONATION_SCAM",
    "FAKE_PROJECT",
    "FAKE_RETURNS",
    "IMPERSONATION",
    "JOB_SCAM",
    "MAN_IN_THE_MIDDLE_ATTACK",
    "NFT_AIRDROP",
    "OTHER_BLACKMAIL",
    "OTHER_HACK",
    "OTHER_INVESTMENT_SCAM",
    "PHISHING",
    "PIGBUTCHERING",
    "RANSOMWARE",
    "ROMANCE",
    "RUG_PULL",
    "SEXTORTION",
    "SIM_SWAP",
    "UPGRADE_SCAM",
];
const OTHER: &str = "OTHER";

fn reports<'v>(document: &'v Value<'v>) -> Vec<&'v Value<'v>> {
    let mut value = document;
    while let Some(inner) = AROUND.iter().find_map(|name| value.get(name)) {
        value = inner;
    }
    let items = value.items().iter();
    items.map(|item| item.get("node").unwrap_or(item)).collect()
}

fn reads(probe: &Probe) -> bool {
    let Some(document) = probe.document() else { return false };
    let is_report = |report: &&Value<'_>| {
        report.get("scamCategory").is_some() && matches!(report.get("addresses"), Some(Value::List(_)))
    };
    reports(&document).first().is_some_and(is_report)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        with_json(probe.input(), |document| {
            for (place, report) in placed(&reports(document)) {
                let text = |name: &str| filled(report.get(name).and_then(Value::text));
                let category = text("scamCategory").unwrap_or(OTHER);
                let known = CATEGORIES.iter().find(|known| known.eq_ignore_ascii_case(category));
                let asserted_at = date(&mut labels, place, text("createdAt"));
                for entry in report.get("addresses").map_or(&[][..], Value::items) {
                    let text = |name: &str| filled(entry.get(name).and_then(Value::text));
                    // A report about a site names its domain only.
                    let Some(address) = text("address") else { continue };
                    labels.claims.push(RawClaim {
                        place: Some(place),
                        address: address.to_owned(),
                        chain: text("chain").map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned())),
                        concepts: vec![known.map_or(OTHER, |known| known).to_owned()],
                        asserted_at,
                        ..RawClaim::default()
                    });
                }
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

    const REPORT: &str = r#"{"id": "1", "scamCategory": "PIGBUTCHERING", "createdAt": "2023-05-06T07:08:09.000Z", "trusted": false, "checked": true,
        "addresses": [{"address": "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV", "chain": "TRON"}, {"address": null, "domain": "x.example"}]}"#;

    #[test]
    fn reports_may_stand_inside_an_answer() {
        let expected = ["TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV | on TRON | PIGBUTCHERING | since 2023-05-06T07:08:09Z"];
        for document in [
            format!("[{REPORT}]"),
            format!("{{\"reports\": [{REPORT}]}}"),
            format!("{{\"data\": {{\"reports\": {{\"edges\": [{{\"node\": {REPORT}}}], \"pageInfo\": {{}}}}}}}}"),
        ] {
            assert_eq!(all_shown(&read(&FORMAT, &[("reports.json", &document)])), expected);
        }
    }

    #[test]
    fn categories_without_a_row_are_fraud() {
        let report = REPORT.replace("PIGBUTCHERING", "SOMETHING_NEW");
        assert_eq!(read(&FORMAT, &[("reports.json", &format!("[{report}]"))]).claims[0].concepts, ["OTHER"]);
    }
}
