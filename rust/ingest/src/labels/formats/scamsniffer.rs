//! Phishing addresses of `ScamSniffer`: one list, the addresses of each site, or both.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::reading::{add_addresses, is_hex, with_json};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{RawClaim, RawLabels, Vocabulary};
use crate::source::Probe;
use crate::source::json::Value;

/// Source: `blacklist/{address,combined,all}.json` of `scamsniffer/scam-database`.
pub(super) const FORMAT: Format = Format {
    name: "scamsniffer",
    source: "scamsniffer",
    group: "scamsniffer",
    level: Level::TrustedProvider,
    vocabulary: Vocabulary::OWN,
    chain: Some(Chain::ETHEREUM),
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The files of the list, by what they hold.
enum Shape {
    /// `[address, ...]`
    Addresses,
    /// `{site: [address, ...]}`
    Sites,
    /// `{address: [...], domains: [...], combined: {...}}`
    All,
}

impl Shape {
    fn of(document: &Value<'_>, file: &str) -> Option<Self> {
        let is_address = |item: &Value<'_>| item.text().is_some_and(is_hex);
        let is_list = |value: &Value<'_>| matches!(value, Value::List(_));
        match document {
            // Any list of addresses looks like this.
            Value::List(items) => {
                let name = file.to_ascii_lowercase();
                let is_named = name == "address.json" || name.contains("scamsniffer") || name.contains("scam-sniffer");
                (is_named && items.iter().take(16).any(is_address)).then_some(Self::Addresses)
            }
            Value::Object(_)
                if document.get("address").is_some_and(is_list)
                    && (document.get("domains").is_some() || document.get("combined").is_some()) =>
            {
                Some(Self::All)
            }
            Value::Object(members) => {
                let is_site =
                    |(name, value): &(std::borrow::Cow<'_, str>, Value<'_>)| name.contains('.') && is_list(value);
                let first = members.iter().take(64);
                let names_address = first.clone().any(|(_, value)| value.items().iter().any(is_address));
                (!members.is_empty() && first.clone().all(is_site) && names_address).then_some(Self::Sites)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
        }
    }
}

fn reads(probe: &Probe) -> bool {
    probe.document().is_some_and(|document| Shape::of(&document, &probe.input().name()).is_some())
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    let claim = RawClaim { concepts: vec!["phishing".to_owned()], ..RawClaim::default() };
    for probe in probes {
        with_json(probe.input(), |document| {
            // A list that the caller names may have any name.
            match Shape::of(document, "address.json") {
                None => return Err(probe.input().damaged(None, "it lists no addresses as ScamSniffer does")),
                Some(Shape::Addresses) => add_addresses(&mut labels, document.items(), &claim),
                Some(Shape::Sites) => add_sites(&mut labels, document, &claim),
                Some(Shape::All) => {
                    let list = document.get("address").map_or(&[][..], Value::items);
                    add_addresses(&mut labels, list, &claim);
                    if let Some(sites) = document.get("combined") {
                        add_sites(&mut labels, sites, &claim);
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(labels)
}

fn add_sites(labels: &mut RawLabels, sites: &Value<'_>, claim: &RawClaim) {
    for (site, addresses) in sites.members() {
        add_addresses(labels, addresses.items(), &RawClaim { name: Some(site.clone().into_owned()), ..claim.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, probes, read};
    use super::*;

    #[test]
    fn all_holds_the_list_and_the_sites() {
        let all = r#"{"address": ["0xccbaca6a8934aea4544408cf1ccdd4a7428d808b", "null", "00x72504c590ee83f5f0cb2d16237a622712a6af373", null],
            "domains": ["drain.example"],
            "combined": {"drain.example": ["0x10c1632176b00f5f437ccc4f628680542839ad51"], "claim-airdrop.example": []}}"#;
        assert_eq!(
            all_shown(&read(&FORMAT, &[("all.json", all)])),
            [
                "0xccbaca6a8934aea4544408cf1ccdd4a7428d808b | phishing",
                "null | phishing",
                "00x72504c590ee83f5f0cb2d16237a622712a6af373 | phishing",
                "phishing",
                "0x10c1632176b00f5f437ccc4f628680542839ad51 | phishing | named drain.example",
            ]
        );
    }

    #[test]
    fn list_and_sites_are_files_of_their_own_too() {
        let list = r#"[null, "0xccbaca6a8934aea4544408cf1ccdd4a7428d808b"]"#;
        let sites = r#"{"none.example": [], "drain.example": ["0x10c1632176b00f5f437ccc4f628680542839ad51"]}"#;
        let labels = read(&FORMAT, &[("address.json", list), ("combined.json", sites)]);
        assert_eq!(labels.claims.len(), 3);
        // OFAC's addresses come as such a list too: only its name states it.
        let folder = tempfile::tempdir().unwrap();
        let other = &probes(folder.path(), &[("sanctioned_addresses_ETH.json", list)])[0];
        assert!(!reads(other));
    }
}
