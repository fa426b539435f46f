//! Labels of Etherscan and its sister sites in one document: `{address: {name, labels}}`.

use headwater_ledger::labels::Level;

use super::name_tag::{GROUP, NameTag, VOCABULARY, site_of};
use super::reading::{is_hex, placed, with_json};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::RawLabels;
use crate::source::Probe;
use crate::source::json::Value;

/// Source: `combinedAccountLabels.json` and `combinedTokenLabels.json` of `brianleect/etherscan-labels`.
pub(super) const FORMAT: Format = Format {
    name: "etherscan_labels",
    source: "etherscan",
    group: GROUP,
    level: Level::TrustedProvider,
    vocabulary: VOCABULARY,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

fn reads(probe: &Probe) -> bool {
    let Some(document) = probe.document() else { return false };
    let is_entry = |value: &Value<'_>| matches!(value.get("labels"), Some(Value::List(_)));
    document.members().first().is_some_and(|(address, entry)| is_hex(address) && is_entry(entry))
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let chain = site_of(probe);
        let is_token = probe.input().name().to_ascii_lowercase().contains("token");
        with_json(probe.input(), |document| {
            for (place, (address, entry)) in placed(document.members()) {
                let of = entry.get("labels").map_or(&[][..], Value::items).iter().filter_map(Value::text).collect();
                let name = entry.get("name").and_then(Value::text);
                let chain = chain.clone();
                NameTag { place, address, chain, name, labels: of, asserted_at: None, is_token }.add(&mut labels);
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
    fn chain_is_that_of_the_site_in_the_file_name() {
        let document = r#"{
            "0xb8d48757be6fadfed6f01ed166cb76953d55e905": {"name": "Binance 14", "labels": ["binance", "cold-wallet"]},
            "0x9f8f72aa9304c8b593d555f12ef6589cc3a579a2": {"name": "", "labels": []}
        }"#;
        let labels = read(&FORMAT, &[("bscscan_combinedAccountLabels.json", document)]);
        assert_eq!(
            all_shown(&labels),
            [
                "0xb8d48757be6fadfed6f01ed166cb76953d55e905 | on bsc | binance+cold-wallet | named Binance 14 | of Binance 14",
                "0x9f8f72aa9304c8b593d555f12ef6589cc3a579a2 | on bsc",
            ]
        );
        let tokens = read(&FORMAT, &[("etherscan_combinedTokenLabels.json", document)]);
        assert_eq!(
            all_shown(&tokens)[0],
            "0xb8d48757be6fadfed6f01ed166cb76953d55e905 | on ethereum | token-contract | named Binance 14"
        );
    }
}
