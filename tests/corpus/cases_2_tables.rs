//! The plain tables of labels among the inputs of `cases-2/`: each with the answer that is right.

use std::path::PathBuf;

use headwater_ingest::labels::{LabelOptions, Labels, read_labels};
use headwater_ledger::labels::{Code, Level};
use headwater_types::Chain;

fn file(case: &str, file: &str) -> PathBuf {
    headwater_tests::corpus().join("cases-2").join(case).join(file)
}

fn read(path: PathBuf, options: &LabelOptions) -> Labels {
    read_labels(&[path], options).unwrap()
}

fn refused(path: PathBuf, options: &LabelOptions) -> String {
    read_labels(&[path], options).unwrap_err().to_string()
}

fn free() -> LabelOptions {
    LabelOptions::default()
}

fn of(code: Code) -> LabelOptions {
    LabelOptions { code: Some(code), ..free() }
}

fn on_ethereum(options: LabelOptions) -> LabelOptions {
    LabelOptions { chain: Some(Chain::ETHEREUM), ..options }
}

/// Chain, code, name, entity and day of each claim, what is missing left out.
fn rows(labels: &Labels) -> Vec<String> {
    let row = |claim: &headwater_ledger::labels::Claim| {
        let day = claim.asserted_at.map(|time| time.to_string().split_once('T').unwrap().0.to_owned());
        let parts = [
            Some(claim.scope.name().to_owned()),
            claim.code.map(|code| code.name().to_owned()),
            claim.name.as_deref().map(str::to_owned),
            claim.entity.as_deref().map(str::to_owned),
            day,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" | ")
    };
    let mut rows: Vec<_> = labels.claims.iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn corpus_001_list_of_sanctions_with_dates() {
    let labels = read(
        file("001-ofac-dated-csv", "data.csv"),
        &LabelOptions { level: Some(Level::SanctionsList), ..of(Code::Sanction) },
    );
    let expected = [
        "evm | sanction | DOE, Example | 2020-09-10",
        "evm | sanction | EXAMPLE MIXER | 2022-08-08",
        "evm | sanction | SAMPLE TECHNOLOGY INC | 2025-05-29",
    ];
    assert_eq!(rows(&labels), expected);
}

#[test]
fn corpus_002_label_is_a_person() {
    let path = || file("002-ofac-firstseen-label-source", "ofac_sanction_list.csv");
    let expected = [
        "evm | sanction | Example DOE | 2020-09-10",
        "evm | sanction | LAZARUS GROUP | 2022-04-14",
        "evm | sanction | Tornado Cash | 2022-08-08",
    ];
    assert_eq!(rows(&read(path(), &on_ethereum(of(Code::Sanction)))), expected);
    let names = read(path(), &on_ethereum(free()));
    assert_eq!((names.counts.claims, names.claims.len()), (0, 3));
    assert!(names.warnings.iter().any(|warning| warning.contains("no row has a code")), "{:?}", names.warnings);
}

#[test]
fn corpus_005_owners_are_entities() {
    let labels = read(file("005-dune-owner-addresses", "owner_addresses.csv"), &of(Code::Exchange));
    assert_eq!(rows(&labels), ["ethereum | exchange | Example Exchange"]);
}

#[test]
fn corpus_006_chains_and_dates_of_dune() {
    let labels = read(file("006-dune-cex-old", "cex_addresses.csv"), &of(Code::Exchange));
    let expected =
        ["bsc | exchange | Example 3 | 2023-04-06", "ethereum | exchange | Example: Hot Wallet | 2023-04-06"];
    assert_eq!((rows(&labels), labels.counts.unknown_chain), (expected.map(str::to_owned).to_vec(), 1));
}

#[test]
fn corpus_007_chain_id_names_the_chain() {
    let path = || file("007-oli-wide-csv", "example-labels.csv");
    for options in [free(), on_ethereum(free())] {
        let labels = read(path(), &options);
        let expected = ["bsc | dex | Router | example", "ethereum | exchange | Exchange wallet | example-exchange"];
        assert_eq!((rows(&labels), labels.counts.unknown_chain), (expected.map(str::to_owned).to_vec(), 1));
    }
}

#[test]
fn corpus_014_flag_denies_rows() {
    let path = || file("014-kaggle-fraud-flag", "transaction_dataset.csv");
    let error = refused(path(), &on_ethereum(free()));
    assert!(error.contains("--code") && error.contains("no column says what an address is"), "{error}");
    let labels = read(path(), &on_ethereum(of(Code::Scam)));
    let addresses: Vec<_> = labels.claims.iter().map(|claim| claim.address.to_string()).collect();
    assert_eq!(addresses, ["0xd8b008348d1f9c62f0cd6eddf42c11d88fa0a7f1"]);
}

#[test]
fn corpus_018_label_is_a_name() {
    let path = || file("018-nansen-csv", "nansen.csv");
    let names = read(path(), &free());
    assert_eq!((names.counts.claims, names.claims.len()), (0, 3));
    let labels = read(path(), &of(Code::Exchange));
    let expected = [
        "bsc | exchange | Token Millionaire, Fund",
        "ethereum | exchange | 🏦 Binance: Hot Wallet [0x1234]",
        "ethereum | exchange | 🤓 Smart NFT Trader",
    ];
    assert_eq!(rows(&labels), expected);
}

#[test]
fn corpus_030_dates_of_one_meaning_alone() {
    let path = |name: &str| file("030-date-forms", name);
    assert_eq!(rows(&read(path("a.csv"), &on_ethereum(free()))), ["ethereum | phishing | 2024-05-06"; 4]);
    assert_eq!(rows(&read(path("d.csv"), &on_ethereum(free()))), ["ethereum | phishing | 2024-05-06"]);
    for (name, value) in [("b.csv", "06/05/2024"), ("c.csv", "45418")] {
        let error = refused(path(name), &on_ethereum(free()));
        assert!(error.contains("line 2") && error.contains(value) && error.contains("2024-05-06"), "{error}");
    }
}

#[test]
fn corpus_031_words_of_vendors_are_codes() {
    let labels = read(file("031-category-words", "export.csv"), &free());
    let codes: Vec<_> = rows(&labels).iter().map(|row| row.split(" | ").nth(1).unwrap().to_owned()).collect();
    let mut expected = [
        "sanction",
        "sanction",
        "scam",
        "darknet_market",
        "stolen_funds",
        "csam",
        "terrorist_financing",
        "mixer",
        "exchange",
        "ransomware",
        "illicit_goods",
        "high_risk_exchange",
        "gambling",
        "mining_pool",
    ];
    expected.sort_unstable();
    assert_eq!(codes, expected);
}

#[test]
fn corpus_035_reserves_name_coins() {
    let options = LabelOptions { entity: Some("HTX".to_owned()), ..of(Code::Exchange) };
    let labels = read(file("035-huobi-reserves", "huobi.csv"), &options);
    assert_eq!(rows(&labels), ["bitcoin | exchange | HTX", "ethereum | exchange | HTX", "tron | exchange | HTX"]);
}

#[test]
fn corpus_089_lists_of_sanctions_are_never_emptied() {
    let list = |number: &str| file("089-sanctions-table-emptied", &format!("{number}/list.csv"));
    let options = LabelOptions { level: Some(Level::SanctionsList), ..free() };
    assert_eq!(read(list("1"), &options).counts.claims, 4);
    assert!(refused(list("2"), &options).contains("2 texts that are not addresses"));
    assert!(refused(list("3"), &options).contains("it has no row"));
}

#[test]
fn corpus_090_private_name_tags() {
    let labels = read(file("090-private-name-tags", "nametags.csv"), &on_ethereum(of(Code::Scam)));
    assert_eq!(rows(&labels), ["ethereum | scam | Scammer wallet | 2024-05-06"]);
    assert_eq!(labels.warnings, ["columns that were not read: Private Note"]);
}

#[test]
fn corpus_112_freezes_have_dates() {
    let options = LabelOptions { level: Some(Level::IssuerFreeze), ..of(Code::IssuerFrozen) };
    let labels = read(file("112-tether-blacklist-csv", "usdt_blacklist.csv"), &options);
    assert_eq!(rows(&labels), ["ethereum | issuer_frozen | 2024-05-06", "tron | issuer_frozen | 2024-05-07"]);
    assert_eq!(labels.warnings, ["columns that were not read: frozen_balance"]);
}
