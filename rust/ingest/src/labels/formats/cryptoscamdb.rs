//! Scam sites of `CryptoScamDB` and `EtherScamDB` with the addresses that they ask payments to.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::reading::filled;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::json::Value;
use crate::source::{Probe, Yaml};

/// Source: `data/urls.yaml` of `CryptoScamDB/blacklist`; `_data/scams.yaml` and `_data/data.yaml` of its forerunner
/// `MrLuit/EtherScamDB`; answers of the interfaces of both: `/api/scams`, `/api/addresses`, `/api/check`.
pub(super) const FORMAT: Format = Format {
    name: "cryptoscamdb",
    source: "cryptoscamdb",
    group: "cryptoscamdb",
    level: Level::WebCrawl,
    vocabulary: Vocabulary("cryptoscamdb"),
    chain: Some(Chain::ETHEREUM),
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The heading of addresses whose coin the list does not know.
const UNKNOWN: &str = "UNKNOWN";

/// Entries that are looked at to recognise an answer: the first ones may lack a category.
const LOOKED_AT: usize = 20;

fn reads(probe: &Probe) -> bool {
    if let Some(document) = probe.document() {
        return answers(&document);
    }
    let head = String::from_utf8_lossy(probe.head());
    let mut lines = head.lines().map(|line| line.trim_start_matches('\u{feff}'));
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("---"));
    first.is_some_and(|line| line.starts_with('-'))
        && ["name:", "url:", "category:"].iter().all(|key| head.contains(key))
}

/// Returns whether a JSON document is an answer of an interface, or the list that one wraps.
fn answers(document: &Value<'_>) -> bool {
    let has = |entry: &Value<'_>, name: &str| entry.get(name).is_some();
    let is_entry = |entry: &Value<'_>| {
        has(entry, "name")
            && has(entry, "category")
            && (has(entry, "url") || has(entry, "coin"))
            && (has(entry, "addresses") || has(entry, "subcategory"))
    };
    let result = document.get("result").unwrap_or(document);
    let result = result.get("entries").unwrap_or(result);
    let by_address = result.members().iter().take(LOOKED_AT).flat_map(|(_, entries)| entries.items());
    result.items().iter().take(LOOKED_AT).chain(by_address).any(is_entry)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        for document in Yaml::documents(probe.input())? {
            let result = document.get("result").unwrap_or(&document);
            let result = result.get("entries").unwrap_or(result);
            for site in result.items() {
                add_site(site, None, &mut labels);
            }
            for (address, sites) in result.members() {
                for site in sites.items() {
                    add_site(site, Some(address), &mut labels);
                }
            }
        }
    }
    Ok(labels)
}

/// Adds the claims of a site. Its addresses are under their tickers, or a list; `asked` is the address under which an
/// answer has the site.
fn add_site(site: &Yaml, asked: Option<&str>, labels: &mut RawLabels) {
    let text = |key: &str| filled(site.get(key).and_then(Yaml::text));
    let of_ticker = |ticker: &str| match ticker {
        unknown if unknown.eq_ignore_ascii_case(UNKNOWN) => ChainHint::None,
        ticker => ChainHint::Chain(ticker.to_owned()),
    };
    let claim = RawClaim {
        place: Some(site.place()),
        concepts: text("category").into_iter().map(str::to_owned).collect(),
        // The name of a site says whom it imitates, not who is behind it.
        name: text("name").map(str::to_owned),
        chain: text("coin").map_or(ChainHint::None, of_ticker),
        ..RawClaim::default()
    };
    let mut add = |address: &Yaml, chain: ChainHint| {
        let text = address.text().unwrap_or_default().to_owned();
        labels.claims.push(RawClaim { place: Some(address.place()), address: text, chain, ..claim.clone() });
    };
    let addresses = site.get("addresses");
    for (ticker, addresses) in addresses.map_or(&[][..], Yaml::members) {
        // One address may stand without a list around it.
        for address in addresses.text().map(|_| addresses).into_iter().chain(addresses.items()) {
            add(address, of_ticker(ticker));
        }
    }
    for address in addresses.map_or(&[][..], Yaml::items) {
        add(address, claim.chain.clone());
    }
    if let (Some(asked), None) = (asked, addresses) {
        labels.claims.push(RawClaim { address: asked.to_owned(), ..claim });
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn addresses_stand_under_tickers() {
        let list = "\
- name: examp1e-wallet.example
  url: 'https://examp1e-wallet.example/'
  category: Phishing
  description: 'Fake wallet: asks for the key'
  addresses:
    ETH:
      - '0x94E78AE539d5c759Bbc12293c920d2c6255A9289'
    UNKNOWN: ['TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV']
- {name: hacked.example, url: 'http://hacked.example', category: Hacked, addresses: {BTC: [1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV]}}
- {name: nothing.example, url: 'http://nothing.example', category: Phishing, subcategory: Airdrop}
";
        let labels = read(&FORMAT, &[("urls.yaml", list)]);
        assert_eq!(
            all_shown(&labels),
            [
                "0x94E78AE539d5c759Bbc12293c920d2c6255A9289 | on ETH | Phishing | named examp1e-wallet.example",
                "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV | Phishing | named examp1e-wallet.example",
                "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV | on BTC | Hacked | named hacked.example",
            ]
        );
        assert_eq!(labels.claims[0].place, Some(crate::Place::Line(7)));
    }

    #[test]
    fn addresses_may_be_a_list() {
        let list = "\
- id: 1
  name: phish.example
  url: 'http://phish.example'
  category: Phishing
  addresses:
    - '0x94E78AE539d5c759Bbc12293c920d2c6255A9289'
    - TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV
";
        let expected = [
            "0x94E78AE539d5c759Bbc12293c920d2c6255A9289 | Phishing | named phish.example",
            "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV | Phishing | named phish.example",
        ];
        assert_eq!(all_shown(&read(&FORMAT, &[("scams.yaml", list)])), expected);
        let entry = r#"{"id": 1, "name": "phish.example", "url": "http://phish.example", "category": "Phishing", "addresses": ["0x94E78AE539d5c759Bbc12293c920d2c6255A9289", "TH5qganFSHrSMRJWL2wfXfy4uwyWJe8rHV"]}"#;
        for answer in [
            format!(r#"{{"success": true, "result": [{entry}]}}"#),
            format!(
                r#"{{"success": true, "result": {{"status": "blocked", "type": "domain", "entries": [{entry}]}}}}"#
            ),
            format!("[{entry}]"),
        ] {
            assert_eq!(all_shown(&read(&FORMAT, &[("scams.json", &answer)])), expected, "{answer}");
        }
    }

    #[test]
    fn answers_have_sites_under_their_addresses() {
        let answer = r#"{"success": true, "result": {
            "0x94E78AE539d5c759Bbc12293c920d2c6255A9289": [
                {"name": "a.example", "category": "Phishing", "subcategory": "x", "coin": "ETH", "addresses": ["0x94E78AE539d5c759Bbc12293c920d2c6255A9289"]},
                {"name": "b.example", "category": "Scamming", "subcategory": "", "coin": "ETH"}
            ],
            "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV": [
                {"name": "c.example", "category": "Scamming", "subcategory": "", "coin": "BTC", "addresses": {"BTC": ["1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV"]}}
            ]}}"#;
        assert_eq!(
            all_shown(&read(&FORMAT, &[("addresses.json", answer)])),
            [
                "0x94E78AE539d5c759Bbc12293c920d2c6255A9289 | on ETH | Phishing | named a.example",
                "0x94E78AE539d5c759Bbc12293c920d2c6255A9289 | on ETH | Scamming | named b.example",
                "1MYhjiENF7Ph6xrNSiyujQj45GWLPvXQCV | on BTC | Scamming | named c.example",
            ]
        );
    }
}
