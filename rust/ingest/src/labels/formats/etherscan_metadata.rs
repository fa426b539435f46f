//! Name tags and metadata that Etherscan sells: an export with semicolons, or the answers of its interface.

use headwater_ledger::labels::Level;

use super::name_tag::{GROUP, NameTag, VOCABULARY};
use super::reading::{date, each_table_row};
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawLabels};
use crate::source::{Probe, Row};

/// Source: the metadata CSV of `docs.etherscan.io`, and the answers of `getaddresstag` there. The chain is that of the site,
/// which the file does not name.
pub(super) const FORMAT: Format = Format {
    name: "etherscan_metadata",
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

const COLUMNS: [&str; 4] = ["address", "nametag", "labels_slug", "lastupdatedtimestamp"];

fn reads(probe: &Probe) -> bool {
    // Without the labels a row would be taken by its name alone.
    probe.has(&COLUMNS[..3])
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let columns = [&COLUMNS[..], &["labels"]].concat();
        each_table_row(probe, &columns, &mut labels, |row: &Row<'_>, labels| {
            let address = row.text("address")?.unwrap_or_default();
            let name = row.text("nametag")?;
            let slugs = row.text("labels_slug")?.unwrap_or_default();
            let slugs = if slugs.is_empty() {
                row.text("labels")?.map_or_else(String::new, |labels| slugs_of(&labels))
            } else {
                slugs.into_owned()
            };
            let updated = row.text("lastupdatedtimestamp")?;
            let tag = NameTag {
                place: row.place(),
                address: &address,
                chain: ChainHint::None,
                name: name.as_deref(),
                labels: slugs.split([',', ';', '|']).map(str::trim).collect(),
                asserted_at: date(labels, row.place(), updated.as_deref()),
                is_token: false,
            };
            tag.add(labels);
            Ok(())
        })?;
    }
    Ok(labels)
}

/// Returns the slugs of labels: `Phish / Hack` is `phish-hack`.
fn slugs_of(labels: &str) -> String {
    let slug = |label: &str| {
        let words = label.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
    };
    labels.split(',').map(slug).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn label_decides_and_the_date_is_the_last_update() {
        let export = r#""address";"nametag";"internal_nametag";"url";"shortdescription";"notes_1";"notes_2";"labels";"labels_slug";"reputation";"other_attributes";"lastupdatedtimestamp"
"0x4680cd8c3a96219c6f0d5fe3664299362df4ef37";"Fake_Phishing99";"";"";"";"Reported by Example; see report";"";"Phish / Hack";"phish-hack";"2";"";"1700000000"
"0x9be036aeccc4d1fe8b88a3f22c6869a792004801";"Example Exchange: Hot Wallet 2";"";"";"Centralised ""spot"" exchange";"";"";"Exchange";"exchange";"0";"";"1710000000"
"0x4b5382a3f985db57ce9a91dd087f65b18ac0bebb";"Example &amp; Sons: Deployer";"";"";"";"";"";"";"";"0";"";"1710000000"
"0xbf5f3d1adab65c758b765b9120f760259f9c890d";"Example Person";"";"";"";"";"";"OFAC Sanctions Lists";"ofac-sanctions-lists";"2";"";"1660000000"
"0x5eeca767287f9231dc965c296ac0ad5789588f14";"🐟 Example Drainer";"";"";"";"";"";"Phish / Hack";"phish-hack";"2";"";"0"
"#;
        let labels = read(&FORMAT, &[("export.csv", export)]);
        assert_eq!(
            all_shown(&labels),
            [
                "0x4680cd8c3a96219c6f0d5fe3664299362df4ef37 | phish-hack | named Fake_Phishing99 | since 2023-11-14T22:13:20Z",
                "0x9be036aeccc4d1fe8b88a3f22c6869a792004801 | hot-wallet | named Example Exchange: Hot Wallet 2 | of Example Exchange | since 2024-03-09T16:00:00Z",
                "0x4b5382a3f985db57ce9a91dd087f65b18ac0bebb | named Example &amp; Sons: Deployer | of Example &amp; Sons | since 2024-03-09T16:00:00Z",
                "0xbf5f3d1adab65c758b765b9120f760259f9c890d | ofac-sanctions-lists | named Example Person | of Example Person | since 2022-08-08T23:06:40Z",
                "0x5eeca767287f9231dc965c296ac0ad5789588f14 | phish-hack | named 🐟 Example Drainer",
            ]
        );
        assert!(labels.warnings.is_empty());
    }

    #[test]
    fn answers_have_lists_of_labels() {
        let rows = r#"[
            {"address": "0x4680cd8c3a96219c6f0d5fe3664299362df4ef37", "nametag": "Fake_Phishing99", "labels": ["Phish / Hack"], "labels_slug": ["phish-hack"], "reputation": 2, "other_attributes": [], "lastupdatedtimestamp": 1700000000},
            {"address": "0x9be036aeccc4d1fe8b88a3f22c6869a792004801", "nametag": "Example Exchange: Hot Wallet 2", "labels": ["Example", "Exchange"], "labels_slug": ["example", "exchange"], "lastupdatedtimestamp": 1710000000},
            {"address": "0x5eeca767287f9231dc965c296ac0ad5789588f14", "nametag": "", "labels": ["Phish / Hack", "Token Contract"], "labels_slug": [], "lastupdatedtimestamp": 0}
        ]"#;
        for text in [rows.to_owned(), format!(r#"{{"status": "1", "message": "OK", "result": {rows}}}"#)] {
            assert_eq!(
                all_shown(&read(&FORMAT, &[("answer.json", &text)])),
                [
                    "0x4680cd8c3a96219c6f0d5fe3664299362df4ef37 | phish-hack | named Fake_Phishing99 | since 2023-11-14T22:13:20Z",
                    "0x9be036aeccc4d1fe8b88a3f22c6869a792004801 | example+hot-wallet | named Example Exchange: Hot Wallet 2 | of Example Exchange | since 2024-03-09T16:00:00Z",
                    "0x5eeca767287f9231dc965c296ac0ad5789588f14 | phish-hack+token-contract",
                ]
            );
        }
    }
}
