//! The inputs of `cases-2/` that are lists of labels, made after public reports: each with the claims that are right.

use headwater_ingest::labels::{LabelOptions, Labels, read_labels};
use headwater_ledger::labels::{Code, Level};
use headwater_types::Chain;

/// Reads files of a case as one import.
fn read(case: &str, files: &[&str], options: &LabelOptions) -> Result<Labels, String> {
    let folder = headwater_tests::corpus().join("cases-2").join(case);
    let files: Vec<_> = files.iter().map(|file| folder.join(file)).collect();
    read_labels(&files, options).map_err(|error| error.to_string())
}

/// The claims of one file, in their order: chains, address, code, entity or else name, and day.
fn claims(case: &str, file: &str, options: &LabelOptions) -> Vec<String> {
    let labels = read(case, &[file], options).unwrap_or_else(|error| panic!("{case} {file}: {error}"));
    shown(&labels)
}

fn shown(labels: &Labels) -> Vec<String> {
    let claims = labels.claims.iter();
    claims
        .map(|claim| {
            let day = claim.asserted_at.map(|time| time.to_string().chars().take(10).collect::<String>());
            let parts = [
                Some(claim.scope.name().to_owned()),
                Some(claim.address.to_string()),
                claim.code.map(|code| code.name().to_owned()),
                claim.entity.as_deref().or(claim.name.as_deref()).map(str::to_owned),
                day,
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn none() -> LabelOptions {
    LabelOptions::default()
}

fn on_ethereum() -> LabelOptions {
    LabelOptions { chain: Some(Chain::ETHEREUM), ..none() }
}

fn coded(code: Code) -> LabelOptions {
    LabelOptions { code: Some(code), ..on_ethereum() }
}

#[test]
fn corpus_012_known_pools_are_mining_pools() {
    assert_eq!(
        claims("012-known-pools-json", "pools.json", &none()),
        [
            "bitcoin 1LiwuaBAjHEt9fmuXJ2GJer4WSs68yhgJ7 mining_pool ExamplePool",
            "bitcoin bc1qelaykpggf73qxe6xkc2wh838ru0xeugw0zwnqf mining_pool OtherPool",
        ]
    );
}

#[test]
fn corpus_017_arkham_names_entity_and_kind() {
    assert_eq!(
        claims("017-arkham-entity-json", "entity.json", &none()),
        ["ethereum 0x1a632594f9f6f4cf859a9054afd03db85ffe5fee exchange_hot_wallet Example Exchange"]
    );
}

#[test]
fn corpus_020_opensanctions_files_are_read() {
    // The statements have no topic: what the wallet is, they do not say.
    let error = read("020-opensanctions-statements", &["statements.csv"], &none()).unwrap_err();
    assert!(error.contains("targets.simple.csv") && error.contains("entities.ftm.json"), "{error}");
    assert_eq!(
        claims("020-opensanctions-statements", "targets.nested.json", &none()),
        ["bitcoin 1FuJi2mPnzKpcCBtrMnX9szP5V5o5BJkXj sanction Example Person"]
    );
}

#[test]
fn corpus_033_answers_of_cryptoscamdb_are_read() {
    assert_eq!(
        claims("033-cryptoscamdb-api", "addresses.json", &none()),
        ["ethereum 0x80144b7f52746ab4cda82550f125f0b6777f4c45 phishing phish.example"]
    );
}

#[test]
fn corpus_034_transactions_are_not_addresses() {
    let error = read("034-walletexplorer-transactions", &["tx.csv"], &coded(Code::Exchange)).unwrap_err();
    assert!(error.contains("is a page of transactions of WalletExplorer"), "{error}");
}

#[test]
fn corpus_035_reserves_belong_to_the_exchange() {
    let options = LabelOptions { entity: Some("HTX".to_owned()), ..none() };
    let mut found = claims("035-huobi-reserves", "huobi.csv", &options);
    found.sort();
    assert_eq!(
        found,
        [
            "bitcoin 1NoneuBr6HaM5vqZRwYB6kxYfoEhv6n5FS exchange HTX",
            "ethereum 0xd34e8e288b779a052d3dbc68c4be2be9c9ae628f exchange HTX",
            "tron TAMNjQvmNS45pN5wzzHYw7owVUYaAx2uxV exchange HTX",
        ]
    );
}

#[test]
fn corpus_091_json_of_eth_labels_is_the_table() {
    let phishing = "ethereum 0x7a7745fbf23e01030d47740a3bbc105d87bc98a1 phishing Fake_Phishing12";
    for file in ["accounts.json", "compact.json", "lines.jsonl"] {
        let labels = read("091-eth-labels-json", &[file], &none()).unwrap();
        let exchange = labels.claims.iter().find(|claim| claim.scope.name() == "bsc").unwrap();
        assert_eq!((exchange.code, labels.format), (Some(Code::Exchange), "eth_labels"), "{file}");
        assert!(exchange.entity.as_deref().unwrap().starts_with("Binance"), "{file}");
        assert!(shown(&labels).contains(&phishing.to_owned()), "{file}: {:?}", shown(&labels));
        // Base is not held.
        assert_eq!(labels.counts.unknown_chain, u64::from(file == "accounts.json"), "{file}");
    }
}

#[test]
fn corpus_092_results_of_dune_are_read() {
    for file in ["result.json", "rows.json"] {
        assert_eq!(
            claims("092-dune-json", file, &none()),
            ["tron TReXcT1uzvsXAZNZKZf19Ri7jeBLW3XS6N exchange Example 2026-01-01"],
            "{file}"
        );
    }
}

#[test]
fn corpus_095_answers_of_etherscan_keep_their_labels() {
    for file in ["answer.json", "rows.json"] {
        let mut found = claims("095-etherscan-getaddresstag-json", file, &on_ethereum());
        found.sort();
        assert_eq!(
            found,
            [
                "ethereum 0x1f914a52ab2107e2c4159989b28346d0164044ec phishing Fake_Phishing1 2024-07-25",
                "ethereum 0xf1c338c84994815a34a9ed3c83aafe251cfdd60a exchange_hot_wallet Example Exchange 2024-07-25",
            ],
            "{file}"
        );
    }
}

#[test]
fn corpus_097_addresses_alone_need_a_code_and_maps_give_names() {
    let mut names = claims("097-json-map-address-name", "map.json", &on_ethereum());
    names.sort();
    assert_eq!(
        names,
        [
            "ethereum 0x50e7f26d467b24808fab3e1d7298e44f882ac0b1 Kraken 4",
            "ethereum 0x736b651d2bbca5ed2a0cfba9b69c02e206e7a370 Binance 14",
        ]
    );
    for file in ["blocked.json", "blocked.txt"] {
        let options = LabelOptions { level: Some(Level::SanctionsList), ..coded(Code::Sanction) };
        let mut found = claims("097-json-map-address-name", file, &options);
        found.sort();
        assert_eq!(
            found,
            [
                "evm 0x9bb454e11e59445a277573bc5c54b7767e6a0781 sanction",
                "evm 0xfef3700f535c30aca8e1c9553d75c39ebebde11c sanction",
            ],
            "{file}"
        );
        let error = read("097-json-map-address-name", &[file], &on_ethereum()).unwrap_err();
        assert!(error.contains("needs --code"), "{error}");
    }
}

#[test]
fn corpus_109_etherscamdb_is_read_in_all_forms() {
    for file in ["scams.json", "scams.yaml"] {
        let mut found = claims("109-etherscamdb-json", file, &none());
        found.sort();
        assert_eq!(
            found,
            [
                "ethereum 0x849c4acc6435962c1d5b92adab2c2240f8ee22dd phishing phish.example",
                "ethereum 0xbcae654376c220603e231553a964153d32e28774 phishing phish.example",
            ],
            "{file}"
        );
    }
}

#[test]
fn corpus_114_folder_and_source_name_the_chain_of_forta() {
    for file in ["labels/10/malicious_smart_contracts.csv", "new/labels/10/malicious_smart_contracts.csv"] {
        let error = read("114-forta-optimism", &[file], &none()).unwrap_err();
        assert!(error.contains("read as forta") && error.contains("not held, left out: optimism"), "{file}: {error}");
    }
}

#[test]
fn corpus_119_markdown_lists_and_tables_are_read() {
    let exploiter = "ethereum 0x91e8549b08838dc850d09de16341c4dce8c02375 hack Exploiter";
    assert_eq!(
        claims("119-markdown-list", "wazirx.md", &coded(Code::Hack)),
        [exploiter, "ethereum 0xa6b115765839b5e8cb27e979197b5767c04958c1 hack Used during hack"]
    );
    assert_eq!(claims("119-markdown-list", "table.md", &coded(Code::Hack)), [exploiter]);
}
