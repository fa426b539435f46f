//! Pages of one label of Etherscan, each a table: the name of the file is the label.

use headwater_ledger::labels::Level;
use headwater_types::Chain;

use super::name_tag::{GROUP, NameTag, VOCABULARY, site_of_folders};
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
        let chain = site_of_folders(probe);
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
    use crate::labels::raw::ChainHint;
    use crate::source::{Bounds, Input};

    #[test]
    fn chain_is_that_of_the_site_in_a_folder() {
        let page = ",Address,Name Tag,Balance,Txn Count\n\
            0,0xbe0eb53f46cd790cd13851d5eff43d12404d33e8,Example,0 ETH,1\n";
        let folder = tempfile::tempdir().unwrap();
        for (place, label, chain) in [
            ("data/etherscan/accounts", "optimism", Some("ethereum")),
            ("data/etherscan/accounts", "ronin-bridge", Some("ethereum")),
            ("data/etherscan/accounts", "gnosis-safe-multisig", Some("ethereum")),
            ("data/etherscan/accounts", "polygon", Some("ethereum")),
            ("data/etherscan/accounts", "arbiscan", Some("ethereum")),
            ("data/bscscan/accounts", "bnb-chain", Some("bsc")),
            ("data/optimistic.etherscan/accounts", "exchange", Some("optimism")),
            ("data/arbiscan", "exchange", Some("arbitrum")),
            ("home/ron/rose", "polygon", None),
        ] {
            let path = folder.path().join(place).join(format!("{label}.csv"));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, page).unwrap();
            let probe = Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap();
            let labels = (FORMAT.read)(&[probe], &Given::default()).unwrap();
            let hint = chain.map_or(ChainHint::None, |chain| ChainHint::Chain(chain.to_owned()));
            assert_eq!((&labels.claims[0].chain, &labels.claims[0].concepts[0]), (&hint, &label.to_owned()), "{place}");
        }
    }

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
