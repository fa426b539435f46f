//! Tables of labels of Dune: centralised exchanges, and labels of contributors.

use headwater_ledger::labels::Level;

use super::name_tag::names_hot_wallet;
use super::reading::{date, each_table_row};
use super::{Files, Format, Given};
use crate::labels::raw::{ChainHint, RawClaim, RawLabels, Vocabulary};
use crate::source::{Probe, Row};
use crate::{Fault, IngestError};

/// Source: the models `cex` and `labels` of `duneanalytics/spellbook`, exported from Dune.
pub(super) const FORMAT: Format = Format {
    name: "dune",
    source: "dune",
    group: "dune",
    level: Level::TrustedProvider,
    vocabulary: Vocabulary("dune"),
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

const EXCHANGES: [&str; 5] = ["blockchain", "address", "cex_name", "distinct_name", "added_date"];
const LABELS: [&str; 6] = ["blockchain", "address", "name", "category", "label_type", "created_at"];

/// The type of labels that say what an address is. Others say what it did: users of a mixer carry its category.
const IDENTIFIER: &str = "identifier";

/// Categories whose names are those of entities.
const NAMES_ENTITIES: [&str; 4] = ["institution", "bridge", "funds", "ofac_sanction"];

fn lists_exchanges(probe: &Probe) -> bool {
    probe.has(&EXCHANGES[..4])
}

fn reads(probe: &Probe) -> bool {
    lists_exchanges(probe) || probe.has(&LABELS[..5])
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let is_exchange = lists_exchanges(probe);
        let columns = if is_exchange { &EXCHANGES[..] } else { &LABELS[..] };
        let mut of_usage = 0_u64;
        each_table_row(probe, columns, &mut labels, |row: &Row<'_>, labels| {
            let claim = if is_exchange { Some(exchange(row, labels)?) } else { label(row, labels)? };
            of_usage += u64::from(claim.is_none());
            labels.claims.extend(claim);
            Ok(())
        })?;
        if of_usage > 0 {
            labels
                .warnings
                .push(format!("rows left out because they say what an address used, not what it is: {of_usage}"));
        }
    }
    Ok(labels)
}

fn common(row: &Row<'_>, labels: &mut RawLabels, dated: &str) -> Result<RawClaim, Fault> {
    let written = row.text(dated)?;
    Ok(RawClaim {
        place: Some(row.place()),
        address: row.text("address")?.unwrap_or_default().into_owned(),
        chain: row.text("blockchain")?.map_or(ChainHint::None, |chain| ChainHint::Chain(chain.into_owned())),
        asserted_at: date(labels, row.place(), written.as_deref()),
        ..RawClaim::default()
    })
}

/// An address of an exchange: its name says whether it is a deposit address or a hot wallet.
fn exchange(row: &Row<'_>, labels: &mut RawLabels) -> Result<RawClaim, Fault> {
    let name = row.text("distinct_name")?.map(String::from);
    let concept = match name.as_deref() {
        Some(name) if name.to_ascii_lowercase().contains("deposit") => "cex_deposit",
        Some(name) if names_hot_wallet(name) => "cex_hot_wallet",
        Some(_) | None => "cex",
    };
    let entity = row.text("cex_name")?.map(String::from);
    Ok(RawClaim { concepts: vec![concept.to_owned()], name, entity, ..common(row, labels, "added_date")? })
}

fn label(row: &Row<'_>, labels: &mut RawLabels) -> Result<Option<RawClaim>, Fault> {
    if row.text("label_type")?.as_deref() != Some(IDENTIFIER) {
        return Ok(None);
    }
    let name = row.text("name")?.map(String::from);
    let category = row.text("category")?.unwrap_or_default().into_owned();
    let entity = name.clone().filter(|_| NAMES_ENTITIES.contains(&category.as_str()));
    Ok(Some(RawClaim { concepts: vec![category], name, entity, ..common(row, labels, "created_at")? }))
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;

    #[test]
    fn exchange_names_tell_deposits_and_hot_wallets() {
        let table = "blockchain,address,cex_name,distinct_name,added_by,added_date\n\
            ethereum,0x28c6c06298d514db089934071355e5743bf21d60,Binance,Binance 14,hildobby,2022-08-28\n\
            bnb,0x8894e0a0c962cb723c1976a4421c95949be2d4e3,Binance,Binance Hot Wallet 6,hildobby,2022-08-28\n\
            ethereum,0x0e747eb2ff0f26fb77c3a1ea67ee07fac2dbb783,Binance,Binance Deposit,hildobby,2023-11-02 00:00:00.000 UTC\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("cex.csv", table)])),
            [
                "0x28c6c06298d514db089934071355e5743bf21d60 | on ethereum | cex | named Binance 14 | of Binance | since 2022-08-28T00:00:00Z",
                "0x8894e0a0c962cb723c1976a4421c95949be2d4e3 | on bnb | cex_hot_wallet | named Binance Hot Wallet 6 | of Binance | since 2022-08-28T00:00:00Z",
                "0x0e747eb2ff0f26fb77c3a1ea67ee07fac2dbb783 | on ethereum | cex_deposit | named Binance Deposit | of Binance | since 2023-11-02T00:00:00Z",
            ]
        );
    }

    #[test]
    fn labels_of_usage_claim_nothing() {
        let table = "blockchain,address,name,category,contributor,source,created_at,updated_at,model_name,label_type\n\
            ethereum,0xb3764761e297d6f121e79c32a65829cd1ddb4d32,Multisig Exploit Hacker,hackers,x,static,2022-08-28,2022-08-28,hackers_ethereum,identifier\n\
            ethereum,0x1342a001544b8b7ae4a5d374e33114c66d78bd5f,Tornado Cash Depositor,tornado_cash,x,query,2022-10-01,2022-10-01,tornado_cash,usage\n\
            ethereum,0x3ee18b2214aff97000d974cf647e7c347e8fa585,Wormhole: Bridge,bridge,x,static,,2022-10-01,bridges,identifier\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("labels.csv", table)])),
            [
                "0xb3764761e297d6f121e79c32a65829cd1ddb4d32 | on ethereum | hackers | named Multisig Exploit Hacker | since 2022-08-28T00:00:00Z",
                "0x3ee18b2214aff97000d974cf647e7c347e8fa585 | on ethereum | bridge | named Wormhole: Bridge | of Wormhole: Bridge",
            ]
        );
    }
}
