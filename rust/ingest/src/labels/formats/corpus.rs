//! Real label files, where `HEADWATER_CORPUS` points.

use std::path::PathBuf;

use super::{FORMATS, Given};
use crate::source::{Bounds, Input, Probe};

/// Files, the format that takes each, and how many statements it makes.
const FILES: &[(&str, &str, usize)] = &[
    ("etherscan-labels/bridge.csv", "etherscan_pages", 124),
    ("etherscan-labels/cold-wallet.csv", "etherscan_pages", 10),
    ("etherscan-labels/hot-wallet.csv", "etherscan_pages", 6),
    ("etherscan-labels/mining.csv", "etherscan_pages", 105),
    ("etherscan-labels/tornado-cash.csv", "etherscan_pages", 51),
    ("etherscan-labels/bscscan_combinedAccountLabels.json.gz", "etherscan_labels", 2_149),
    ("etherscan-labels/bscscan_combinedTokenLabels.json.gz", "etherscan_labels", 3_042),
    ("etherscan-labels/etherscan_combinedAccountLabels.json.gz", "etherscan_labels", 17_552),
    ("etherscan-labels/etherscan_combinedTokenLabels.json.gz", "etherscan_labels", 5_466),
    // Labels of 541 creators are beside those of 556 contracts; 35 creators have none.
    ("forta/malicious_smart_contracts.csv.gz", "forta", 1_077),
    ("forta/etherscan_malicious_labels.csv.gz", "forta", 5_879),
    ("forta/phishing_scams.csv.gz", "forta", 5_106),
    ("graphsense-tagpacks/chaininfo.yaml", "tagpack", 122),
    ("graphsense-tagpacks/defi-protocols-csh.yaml", "tagpack", 1_073),
    ("graphsense-tagpacks/demo.yaml", "tagpack", 5),
    ("graphsense-tagpacks/etherscamdb_tagpack.yaml.gz", "tagpack", 2_437),
    ("graphsense-tagpacks/etherscan-wordcloud-exchange.yaml", "tagpack", 489),
    ("graphsense-tagpacks/etherscan-wordcloud-gambling.yaml", "tagpack", 111),
    ("graphsense-tagpacks/etherscan-wordcloud-miner.yaml", "tagpack", 157),
    ("graphsense-tagpacks/etherscan-wordcloud-mixing_service.yaml", "tagpack", 51),
    ("graphsense-tagpacks/exchange-wallets-binance.yaml", "tagpack", 70),
    ("graphsense-tagpacks/exchange-wallets-bitfinexcom.yaml", "tagpack", 134),
    ("graphsense-tagpacks/exchange-wallets-huobi.yaml", "tagpack", 53),
    ("graphsense-tagpacks/exchange-wallets-kucoin.yaml", "tagpack", 44),
    ("graphsense-tagpacks/exchange-wallets-okx.yaml", "tagpack", 35),
    ("graphsense-tagpacks/graphsense.actorpack.yaml.gz", "tagpack", 0),
    ("graphsense-tagpacks/hacks.yaml", "tagpack", 608),
    ("graphsense-tagpacks/lazarus.yaml", "tagpack", 20),
    ("graphsense-tagpacks/miners.yaml.gz", "tagpack", 37_439),
    ("graphsense-tagpacks/miners_additional.yaml", "tagpack", 234),
    ("graphsense-tagpacks/mixing_fc2021.yaml", "tagpack", 66),
    ("graphsense-tagpacks/ponzi_scheme.yaml", "tagpack", 52),
    ("graphsense-tagpacks/ransomwhere.yaml.gz", "tagpack", 7_457),
    ("graphsense-tagpacks/richest_addresses.yaml", "tagpack", 36),
    ("graphsense-tagpacks/ronin_bridge.yaml", "tagpack", 2),
    ("graphsense-tagpacks/tornado_cash.yaml", "tagpack", 31),
    ("graphsense-tagpacks/usdt_blacklist.yaml", "tagpack", 589),
    ("graphsense-tagpacks/walletexplorer.yaml", "tagpack", 386),
    ("hop/exchange_deposit_addresses.txt.gz", "hop", 19_975),
    ("mining-pools/pools-v2.json", "mining_pools", 217),
];

/// A file that no format reads, and one that does not say what its addresses are.
const UNREAD: &str = "hop/sybil_groups.json.gz";
const NAMELESS: &str = "hop/eliminatedSybilAttackers.csv.gz";

#[expect(clippy::disallowed_methods, reason = "the folder of real files is named by the environment")]
fn probe(file: &str) -> Probe {
    let folder: PathBuf = std::env::var_os("HEADWATER_CORPUS").expect("corpus tests need HEADWATER_CORPUS").into();
    Probe::new(Input::new(&folder.join("labels").join(file), &Bounds::default()).unwrap()).unwrap().unwrapped()
}

#[test]
fn corpus_label_files_are_read_whole() {
    for (file, name, claims) in FILES {
        let probes = [probe(file)];
        let format = FORMATS.iter().find(|format| (format.reads)(&probes[0]));
        let format = format.unwrap_or_else(|| panic!("no format reads {file}"));
        assert_eq!(format.name, *name, "{file}");
        let labels = (format.read)(&probes, &Given::default()).unwrap();
        assert_eq!(labels.claims.len(), *claims, "{file}");
    }
    let unread = probe(UNREAD);
    assert!(FORMATS.iter().all(|format| !(format.reads)(&unread)), "{UNREAD}");
    let nameless = [probe(NAMELESS)];
    let format = FORMATS.iter().find(|format| (format.reads)(&nameless[0])).unwrap();
    let error = (format.read)(&nameless, &Given::default()).unwrap_err().to_string();
    assert!(error.contains("needs --code"), "{error}");
}
