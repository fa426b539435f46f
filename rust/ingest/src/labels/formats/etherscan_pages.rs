//! Pages of one label of Etherscan, each a table: the name of the file is the label.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::name_tag::{GROUP, NameTag, VOCABULARY, site_of};
use super::reading::each_table_row;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::RawLabels;
use crate::source::{Probe, Row};

/// Source: the folders `accounts` of `brianleect/etherscan-labels`, `data/etherscan/accounts/<label>.csv`.
pub(super) const FORMAT: Format = Format {
    name: "etherscan_pages",
    source: "etherscan",
    group: GROUP,
    level: Level::TrustedProvider,
    vocabulary: VOCABULARY,
    chain: Some(Chain::ETHEREUM),
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

const COLUMNS: [&str; 4] = ["Address", "Name Tag", "Balance", "Txn Count"];

fn reads(probe: &Probe) -> bool {
    probe.has(&COLUMNS)
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let chain = site_of(probe);
        let name = probe.input().name().to_ascii_lowercase();
        let label = name.strip_suffix(".csv").unwrap_or(&name);
        each_table_row(probe, &COLUMNS, &mut labels, |row: &Row<'_>, labels| {
            let address = row.text("Address")?.unwrap_or_default();
            let name = row.text("Name Tag")?;
            let tag = NameTag {
                place: row.place(),
                address: &address,
                chain: chain.clone(),
                name: name.as_deref(),
                labels: vec![label],
                asserted_at: None,
                is_token: false,
            };
            tag.add(labels);
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
    fn file_name_is_the_label() {
        let page = ",Address,Name Tag,Balance,Txn Count\n\
            0,0xbe0eb53f46cd790cd13851d5eff43d12404d33e8,Binance 7,\"1,996,008.35576895 ETH\",1165\n\
            6,0xfd8610d20aa15b7b2e3be39b396a1bc3516c7144,\"Tornado.Cash: 1,000 DAI\",0 ETH,419\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("cold-wallet.csv", page)])),
            [
                "0xbe0eb53f46cd790cd13851d5eff43d12404d33e8 | cold-wallet | named Binance 7 | of Binance 7",
                "0xfd8610d20aa15b7b2e3be39b396a1bc3516c7144 | cold-wallet | named Tornado.Cash: 1,000 DAI | of Tornado.Cash",
            ]
        );
    }
}
