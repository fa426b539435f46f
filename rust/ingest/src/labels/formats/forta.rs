//! Labelled data sets of Forta: phishing accounts, malicious labels of Etherscan, malicious contracts.

use headwater_ledger::labels::Level;

use super::name_tag::{GROUP, NameTag, VOCABULARY, chain_of_link};
use super::reading::each_table_row;
use super::{Files, Format, Given};
use crate::IngestError;
use crate::labels::raw::{ChainHint, RawLabels};
use crate::networks::of_lone_evm_id;
use crate::source::{Probe, Row};

/// Source: `labels/<chain>/*.csv` of `forta-network/labelled-datasets`; what they say was read from Etherscan and its sister
/// sites. The folder is the number of the chain.
pub(super) const FORMAT: Format = Format {
    name: "forta",
    source: "forta",
    group: GROUP,
    level: Level::TrustedProvider,
    vocabulary: VOCABULARY,
    chain: None,
    refuses_empty: false,
    files: Files::Apart,
    reads,
    read,
};

/// The concept of contracts that the data set lists without a label of Etherscan.
const MALICIOUS_CONTRACT: &str = "malicious-contract";

/// The columns of one of the data sets.
struct Columns {
    address: &'static str,
    name: &'static str,
    label: &'static str,
}

const PHISHING: Columns = Columns { address: "address", name: "etherscan_tag", label: "etherscan_labels" };
const MALICIOUS: Columns = Columns { address: "banned_address", name: "wallet_tag", label: "data_source" };
const CONTRACTS: Columns =
    Columns { address: "contract_address", name: "contract_tag", label: "contract_creator_etherscan_label" };
const CREATORS: Columns =
    Columns { address: "contract_creator", name: "contract_creator_tag", label: "contract_creator_etherscan_label" };

impl Columns {
    fn of(probe: &Probe) -> Option<&'static Self> {
        let has = |set: &&Self| probe.has(&[set.address, set.name, set.label]);
        // The data set of Optimism has no label of the creator.
        let lists_contracts =
            || probe.has(&[CONTRACTS.address, CONTRACTS.name, CREATORS.address, CREATORS.name, SOURCE]);
        [&PHISHING, &MALICIOUS].into_iter().find(has).or_else(|| lists_contracts().then_some(&CONTRACTS))
    }

    fn add(&self, row: &Row<'_>, other: &str, chain: &ChainHint, labels: &mut RawLabels) -> Result<(), crate::Fault> {
        let address = row.text(self.address)?.unwrap_or_default();
        let name = row.text(self.name)?;
        let label = row.text(self.label)?.unwrap_or_default();
        let of = |label: &'_ str| -> String {
            // `etherscan-phish-hack-list` is the list of the label `phish-hack`.
            let list = label.trim().strip_prefix("etherscan-").and_then(|rest| rest.strip_suffix("-list"));
            list.unwrap_or(label).to_owned()
        };
        let mut concepts: Vec<String> = label.split(',').map(of).filter(|label| !label.is_empty()).collect();
        if concepts.is_empty() {
            concepts.extend((!other.is_empty()).then(|| other.to_owned()));
        }
        let tag = NameTag {
            place: row.place(),
            address: &address,
            chain: chain.clone(),
            name: name.as_deref(),
            labels: concepts.iter().map(String::as_str).collect(),
            asserted_at: None,
            is_token: false,
        };
        if !concepts.is_empty() {
            tag.add(labels);
        }
        Ok(())
    }
}

/// The position of a row.
const SOURCE: &str = "source";

/// The number of Ethereum.
const ETHEREUM: &str = "1";
/// The folder of the folders of chains.
const LABELS: &str = "labels";

/// The chain of a file: the number of its folder, else Ethereum.
fn chain_of(probe: &Probe) -> ChainHint {
    let mut folders = probe.path().iter().rev().skip(1).map(|name| name.to_string_lossy());
    let (folder, above) = (folders.next().unwrap_or_default(), folders.next().unwrap_or_default());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Folders of a year contain those of months and days.
    let is_chain = is_number(&folder) && (above == LABELS || of_lone_evm_id(&folder).is_some() && !is_number(&above));
    ChainHint::Chain(if is_chain { folder.into_owned() } else { ETHEREUM.to_owned() })
}

fn reads(probe: &Probe) -> bool {
    Columns::of(probe).is_some()
}

fn read(probes: &[Probe], _given: &Given) -> Result<RawLabels, IngestError> {
    let mut labels = RawLabels::default();
    for probe in probes {
        let Some(columns) = Columns::of(probe) else {
            return Err(probe.input().damaged(None, "it has the columns of no data set of Forta"));
        };
        let of_file = chain_of(probe);
        let names = [columns.address, columns.name, columns.label, CREATORS.address, CREATORS.name, SOURCE];
        each_table_row(probe, &names, &mut labels, |row: &Row<'_>, labels| {
            // The page of an explorer says more than a folder, which is lost in a copy.
            let source = row.text(SOURCE)?;
            let site = source.as_deref().and_then(chain_of_link);
            let chain = site.map_or_else(|| of_file.clone(), |chain| ChainHint::Chain(chain.to_owned()));
            if columns.address != CONTRACTS.address {
                return columns.add(row, "", &chain, labels);
            }
            columns.add(row, MALICIOUS_CONTRACT, &chain, labels)?;
            // The label is that of the creator; without one nothing is said of it.
            CREATORS.add(row, "", &chain, labels)
        })?;
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::super::reading::testing::{all_shown, read};
    use super::*;
    use crate::source::{Bounds, Input};

    #[test]
    fn phishing_scams_carry_their_labels() {
        let table = "address,etherscan_tag,etherscan_labels,is_contract\n\
            0x000000000532b45f47779fce440748893b257865,Fake_Phishing3901,phish-hack,False\n\
            0x00000a9F233D0b3EBBF136276165429d071D1aBf,Wrapped Ether (Gas Optimized) (WETH),phish-hack,True\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("phishing_scams.csv", table)])),
            [
                "0x000000000532b45f47779fce440748893b257865 | on 1 | phish-hack | named Fake_Phishing3901",
                "0x00000a9F233D0b3EBBF136276165429d071D1aBf | on 1 | phish-hack+token-contract | named Wrapped Ether (Gas Optimized) (WETH)",
            ]
        );
    }

    #[test]
    fn list_names_are_labels() {
        let table = "banned_address,wallet_tag,data_source\n\
            0x80d7bb18521acbef32d7906502ebe94928690e93,Fake_Phishing1772,etherscan-phish-hack-list\n\
            0x80e02ae8c5d5e482558caf32004e7d6281445f28,KyberSwap Attacker 2,etherscan-heist-list\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("etherscan_malicious_labels.csv", table)])),
            [
                "0x80d7bb18521acbef32d7906502ebe94928690e93 | on 1 | phish-hack | named Fake_Phishing1772",
                "0x80e02ae8c5d5e482558caf32004e7d6281445f28 | on 1 | heist | named KyberSwap Attacker 2 | of KyberSwap Attacker 2",
            ]
        );
    }

    #[test]
    fn contracts_are_as_malicious_as_their_creator() {
        let table = "contract_address,contract_tag,contract_creator,contract_creation_tx,contract_creator_tag,source,notes,contract_creator_etherscan_label\n\
            0xc5ac25cfc2b8284e84ca47dad21cf1319f732c11,,0x07e02088d68229300ae503395c6536f09179dc3e,0xae,xToken Exploiter,Luabase ethereum.tags table,,heist\n\
            0xc0ee9db1a9e07ca63e4ff0d5fb6f86bf68d47b89,,0x969837498944ae1dc0dcac2d0c65634c88729b2d,0x89,,https://github.com/x,2016 TheDao Hack,\n";
        assert_eq!(
            all_shown(&read(&FORMAT, &[("malicious_smart_contracts.csv", table)])),
            [
                "0xc5ac25cfc2b8284e84ca47dad21cf1319f732c11 | on 1 | heist",
                "0x07e02088d68229300ae503395c6536f09179dc3e | on 1 | heist | named xToken Exploiter | of xToken Exploiter",
                "0xc0ee9db1a9e07ca63e4ff0d5fb6f86bf68d47b89 | on 1 | malicious-contract",
            ]
        );
    }

    #[test]
    fn folder_and_explorer_name_the_chain() {
        let header = "contract_address,contract_tag,contract_creator,contract_creator_tag,source,notes\n";
        let row = |source: &str| {
            format!(
                "{header}0xc5ac25cfc2b8284e84ca47dad21cf1319f732c11,Example,0x07e02088d68229300ae503395c6536f09179dc3e,x,{source},\n"
            )
        };
        let read_at = |place: &str, table: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, table).unwrap();
            let probes = [Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap()];
            assert!(reads(&probes[0]), "{place}");
            all_shown(&(FORMAT.read)(&probes, &Given::default()).unwrap())
        };
        let on = |chain: &str| {
            [format!(
                "0xc5ac25cfc2b8284e84ca47dad21cf1319f732c11 | on {chain} | malicious-contract | named Example | of Example"
            )]
        };
        assert_eq!(read_at("labels/10/contracts.csv", &row("Example report")), on("10"));
        assert_eq!(read_at("copy/contracts.csv", &row("https://optimistic.etherscan.io/")), on("optimism"));
        for (folder, chain) in [("25", "25"), ("81457", "81457"), ("424242", "1"), ("2020", "1"), ("2024/05/10", "1")] {
            assert_eq!(read_at(&format!("copy/{folder}/contracts.csv"), &row("")), on(chain), "{folder}");
        }
        assert_eq!(read_at("labels/1/contracts.csv", &row("https://github.com/x")), on("1"));
        assert_eq!(read_at("contracts.csv", &row("https://etherscan.io/x")), on("ethereum"));
    }
}
