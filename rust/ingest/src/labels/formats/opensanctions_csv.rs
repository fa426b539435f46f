//! The table of `OpenSanctions`: `targets.simple.csv`.
//!
//! Lists inside of a field are joined with semicolons. The key of a wallet is its name, and among its identifiers.

use super::super::raw::{ChainHint, RawClaim, RawLabels};
use super::official::{Dates, each_list_row, first_date};
use super::opensanctions::{self, DataSet, Order};
use super::{Format, Given};
use crate::IngestError;
use crate::error::Fault;
use crate::source::{Content, Probe, Row};

pub(super) const FORMAT: Format = opensanctions::format("opensanctions_csv", reads, read);

const COLUMNS: &[&str] = &["schema", "name", "identifiers", "sanctions", "dataset", "first_seen", "last_seen"];

const NO_COIN: &str =
    "no coin is named: addresses of Litecoin or Bitcoin Cash may be among these; entities.ftm.json names the coin";

fn reads(probe: &Probe) -> bool {
    matches!(probe.content(), Content::Csv | Content::Parquet) && probe.has(COLUMNS)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        each_list_row(probe, COLUMNS, &mut labels, read_row)?;
    }
    // Litecoin and Bitcoin Cash use these forms too.
    if labels.claims.iter().any(|claim| claim.address.starts_with(['1', '3'])) {
        labels.warnings.push(NO_COIN.to_owned());
    }
    Ok(labels)
}

fn read_row(row: &Row<'_>, labels: &mut RawLabels) -> Result<(), Fault> {
    if row.text("schema")?.as_deref() != Some("CryptoWallet") {
        return Ok(());
    }
    let [names, identifiers, sets, orders] =
        [row.text("name")?, row.text("identifiers")?, row.text("dataset")?, row.text("sanctions")?];
    let [first, last] = [row.text("first_seen")?, row.text("last_seen")?];
    let mut keys: Vec<&str> = Vec::new();
    for key in items(names.as_deref()).chain(items(identifiers.as_deref())) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        keys.push("");
    }
    let order = if orders.is_some() { Order::Stated } else { Order::None };
    let asserted_at = first_date(labels, row.place(), &[("first_seen", first.as_deref())], &[Dates::Iso]);
    let last_seen = first_date(labels, row.place(), &[("last_seen", last.as_deref())], &[Dates::Iso]);
    for set in items(sets.as_deref()) {
        for key in &keys {
            let claim = RawClaim {
                place: Some(row.place()),
                address: (*key).to_owned(),
                chain: ChainHint::AnyEvm,
                asserted_at,
                last_seen,
                ..RawClaim::default()
            };
            labels.claims.push(DataSet::Title(set).attribute(&[], order, claim));
        }
    }
    Ok(())
}

fn items(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(';').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::official::testing::{addresses, read, rows};
    use super::*;

    const HEADER: &str = "id,schema,name,aliases,birth_date,countries,addresses,identifiers,sanctions,phones,emails,program_ids,dataset,first_seen,last_seen,last_change\n";

    #[test]
    fn keys_of_a_wallet_stand_in_name_and_identifiers() {
        let table = [
            HEADER,
            r#""w-9","CryptoWallet","bc1qakj","","","","","bc1qakj;0xB1568703f996b55bBAde20B374b8638D1D3bD5F9","Block; CYBER2","","","US-CYBER2","US OFAC SDN List;Japan List","2024-05-06T00:00:00","2025-01-01T00:00:00","2024-05-06T00:00:00"
"p-9","Person","Erika Beispiel","E. Beispiel","1980-01-01","xx","1 Street","P123","Block","","","US-CYBER2","US OFAC SDN List","2024-05-06","2025-01-01","2024-05-06"
"w-8","CryptoWallet","1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf","","","","","","","","","","ransomwhe.re ransomware addresses","2022-02-16T10:00:00","",""
"#,
        ];
        let labels = read(&FORMAT, &[("targets.simple.csv", &table.concat())]).unwrap();
        let (first, second) = ("bc1qakj", "0xB1568703f996b55bBAde20B374b8638D1D3bD5F9");
        let third = "1eP8N3dwGohePr62mqV5RHHWY3oMuEUqf";
        let of_each = [(first, "evm"), (second, "evm"), (first, "evm"), (second, "evm"), (third, "evm")];
        assert_eq!(addresses(&labels), of_each);
        assert_eq!(labels.warnings, [NO_COIN]);
        let groups: Vec<_> = labels.claims.iter().map(|claim| claim.group.as_deref().unwrap()).collect();
        assert_eq!(groups, ["ofac", "ofac", "japan_list", "japan_list", "ransomwhe.re"]);
        let codes: Vec<_> = labels.claims.iter().map(|claim| claim.concepts.join(",")).collect();
        assert_eq!(codes, ["sanction", "sanction", "sanction", "sanction", "ransomware"]);
        assert_eq!(rows(&labels)[0].3, "2024-05-06");
        assert_eq!(labels.claims[0].last_seen.unwrap().to_string(), "2025-01-01T00:00:00Z");
    }

    #[test]
    fn a_row_of_another_length_is_an_error() {
        let table = [HEADER, "\"w-9\",\"CryptoWallet\",\"bc1qakj\"\n"].concat();
        assert!(read(&FORMAT, &[("targets.simple.csv", &table)]).is_err());
    }
}
