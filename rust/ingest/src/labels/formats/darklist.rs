//! The list of scam addresses of `MyEtherWallet`.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::reading::{date, filled, placed, with_json};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{RawClaim, RawLabels, Vocabulary};
use crate::source::json::Value;
use crate::source::{Content, Probe};

/// Source: `src/addresses/addresses-darklist.json` of `MyEtherWallet/ethereum-lists`.
pub(super) const FORMAT: Format = Format {
    name: "darklist",
    source: "myetherwallet",
    group: "myetherwallet",
    level: Level::WebCrawl,
    vocabulary: Vocabulary::OWN,
    chain: Some(Chain::ETHEREUM),
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

fn reads(probe: &Probe) -> bool {
    let members = ["address", "comment", "date"];
    let is_known = |column: &String| members.contains(&column.as_str());
    *probe.content() == Content::Json && probe.has(&members[..2]) && probe.columns().iter().all(is_known)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        with_json(probe.input(), |document| {
            for (place, entry) in placed(document.items()) {
                let text = |name: &str| filled(entry.get(name).and_then(Value::text));
                let is_phishing = text("comment").is_some_and(|comment| comment.to_ascii_lowercase().contains("phish"));
                let asserted_at = date(&mut labels, place, text("date"));
                labels.claims.push(RawClaim {
                    place: Some(place),
                    address: text("address").unwrap_or_default().to_owned(),
                    concepts: vec![if is_phishing { "phishing" } else { "scam" }.to_owned()],
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
    fn comment_tells_phishing_from_other_scams() {
        let list = r#"[
            {"address": "0xCD825BA308d3bDC57d29882c0CA6C5aC8703617C", "comment": "Fake copy of EXAMPLE token", "date": "2018-11-06"},
            {"address": "0x71DFF8D948F1C1727E7CFDBBF934E707B84765C5", "comment": "scambot phishers. did not 404.", "date": "2018-03-12"},
            {"address": "0x1234", "comment": "", "date": ""}
        ]"#;
        assert_eq!(
            all_shown(&read(&FORMAT, &[("addresses-darklist.json", list)])),
            [
                "0xCD825BA308d3bDC57d29882c0CA6C5aC8703617C | scam | since 2018-11-06T00:00:00Z",
                "0x71DFF8D948F1C1727E7CFDBBF934E707B84765C5 | phishing | since 2018-03-12T00:00:00Z",
                "0x1234 | scam",
            ]
        );
    }
}
