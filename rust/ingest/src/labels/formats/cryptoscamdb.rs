//! Scam sites of `CryptoScamDB` with the addresses that they ask payments to.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::reading::filled;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::{Probe, Yaml};

/// Source: `data/urls.yaml` of `CryptoScamDB/blacklist`.
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

fn reads(probe: &Probe) -> bool {
    let head = String::from_utf8_lossy(probe.head());
    let mut lines = head.lines().map(|line| line.trim_start_matches('\u{feff}'));
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("---"));
    first.is_some_and(|line| line.starts_with('-'))
        && ["name:", "url:", "category:"].iter().all(|key| head.contains(key))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        for document in Yaml::documents(probe.input())? {
            for site in document.items() {
                add_site(site, &mut labels);
            }
        }
    }
    Ok(labels)
}

fn add_site(site: &Yaml, labels: &mut RawLabels) {
    let text = |key: &str| filled(site.get(key).and_then(Yaml::text));
    let claim = RawClaim {
        concepts: text("category").into_iter().map(str::to_owned).collect(),
        // The name of a site says whom it imitates, not who is behind it.
        name: text("name").map(str::to_owned),
        ..RawClaim::default()
    };
    for (ticker, addresses) in site.get("addresses").map_or(&[][..], Yaml::members) {
        let is_known = !ticker.eq_ignore_ascii_case(UNKNOWN);
        let chain = if is_known { ChainHint::Chain(ticker.clone()) } else { ChainHint::None };
        for address in addresses.items() {
            labels.claims.push(RawClaim {
                place: Some(address.place()),
                address: address.text().unwrap_or_default().to_owned(),
                chain: chain.clone(),
                ..claim.clone()
            });
        }
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
}
