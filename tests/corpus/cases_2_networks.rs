//! The inputs of `cases-2/` about networks: words of lists, and exports of chains that are not held.

use std::path::PathBuf;

use headwater_ingest::labels::{LabelOptions, Labels, read_labels};
use headwater_ingest::{Gathered, Options, Silent, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::labels::Code;
use headwater_types::{Chain, Network};

fn path(case: &str, file: &str) -> PathBuf {
    headwater_tests::corpus().join("cases-2").join(case).join(file)
}

/// Address, chains and code of every claim.
fn claims(labels: &Labels) -> Vec<(String, &str, Option<Code>)> {
    labels.claims.iter().map(|claim| (claim.address.to_string(), claim.scope.name(), claim.code)).collect()
}

/// The error of reading files of a case; nothing of them may be gathered.
fn refusal_by(case: &str, files: &[&str], options: &Options) -> String {
    let paths: Vec<_> = files.iter().map(|file| path(case, file)).collect();
    let mut target = Gathered::default();
    let error = ingest_into(&paths, options, &mut target, &Silent, &Cancel::new()).unwrap_err().to_string();
    assert!(target.batches.is_empty(), "{files:?}: {error}");
    error
}

fn refusal(case: &str, file: &str) -> String {
    refusal_by(case, &[file], &Options::default())
}

#[test]
fn corpus_027_networks_are_read_in_the_words_of_exchanges() {
    let labels = read_labels(&[path("027-network-names-brackets", "list.csv")], &LabelOptions::default()).unwrap();
    let expected = [
        ("0x0fdf2ec898d634927b1dcb1033cce70683b8b9ba", "ethereum"),
        ("0x2b64d92f64aa7cef76c68b9d772a9e9f08c55b0b", "bsc"),
        ("0x3b3575d74f698cc57958290825f2e504a1b33207", "ethereum"),
        ("0xbe76b69725cbaafaf44ac3201d7a113dfd88d80d", "bsc"),
        ("0xd97737012b0429aad66c18e2ea9088f12e9bd3ac", "ethereum"),
        ("1NA9neBEd3FeHphs2jNR9EEXzPdj7A2Dbz", "bitcoin"),
        ("TBdcg2h3BBrJ1mWNaG6XhuuC1GkZmMLh23", "tron"),
        ("TNrBL14ez912CUCdmUdegHtFZvowc8u3gX", "tron"),
    ];
    let mut found = claims(&labels);
    found.sort();
    let expected = expected.map(|(address, chain)| (address.to_owned(), chain, Some(Code::Exchange)));
    assert_eq!(found, expected, "{:?}", labels.warnings);
    assert_eq!((labels.foreign.len(), labels.counts.unknown_chain), (0, 0));
}

#[test]
fn corpus_007_rows_hold_on_the_chain_of_their_caip_2_identifier() {
    let columns = [("chain", "chain_id"), ("code", "usage_category"), ("entity", "owner_project")];
    let columns = columns.map(|(own, other)| (own.to_owned(), other.to_owned())).to_vec();
    let options = LabelOptions { columns, chain: Some(Chain::ETHEREUM), ..LabelOptions::default() };
    let labels = read_labels(&[path("007-oli-wide-csv", "example-labels.csv")], &options).unwrap();
    let chains: Vec<_> = claims(&labels).into_iter().map(|(address, chain, _)| (address, chain)).collect();
    let (bsc, ethereum) = ("0x98ac0ae8b3175bb5eb45a72462dddaa910bf70db", "0xd03ff9186d12e5914807aab0a2426044487999e9");
    assert!(
        chains.contains(&(bsc.to_owned(), "bsc")) && chains.contains(&(ethereum.to_owned(), "ethereum")),
        "{chains:?}"
    );
    assert!(!chains.iter().any(|(address, _)| address == "0xd350ce8727876ce86d3948aeece2b800c53aee47"), "{chains:?}");
    let optimism = "addresses of chains that are not held, left out: optimism 1";
    assert!(labels.warnings.iter().any(|warning| warning == optimism), "{:?}", labels.warnings);
}

#[test]
fn corpus_040_tron_tables_named_as_ethereum_are_refused() {
    let files = ["blocks.csv", "transactions.csv", "token_transfers.csv"];
    for chain in [None, Some(Chain::TRON), Some(Chain::ETHEREUM)] {
        let options = Options { chain, ..Options::default() };
        for files in [&files[..], &files[..1], &files[1..2], &files[2..]] {
            let error = refusal_by("040-tronetl-csv", files, &options);
            assert!(error.contains("of tron") && error.contains("transaction infos of a TRON node"), "{error}");
        }
    }
}

#[test]
fn corpus_055_exports_of_sister_chains_are_refused_by_name() {
    for (file, network) in [
        ("export-0xa.csv", "polygon"),
        ("matic/export-0xb.csv", "polygon"),
        ("basescan-export-0xc.csv", "its name says base"),
        ("arbiscan/export-0xd.csv", "its name says arbitrum"),
        ("optimistic.etherscan/export-0xe.csv", "its name says optimism"),
        ("snowtrace/export-0xf.csv", "avalanche"),
    ] {
        let error = refusal("055-polygonscan-web-export", file);
        assert!(error.contains(network), "{file}: {error}");
    }
}

#[test]
fn corpus_083_dumps_of_other_coins_are_refused_by_name() {
    const CASE: &str = "083-blockchair-other-coins";
    for (file, coin) in [
        ("blockchair_litecoin_outputs_20240101.tsv", "litecoin"),
        ("blockchair_bitcoin-cash_outputs_20240101.tsv", "bitcoin-cash"),
        ("blockchair_bitcoin-cash_transactions_20240101.tsv", "bitcoin-cash"),
        ("blockchair_dogecoin_transactions_20240101.tsv", "dogecoin"),
    ] {
        let error = refusal(CASE, file);
        assert!(error.contains("cannot be taken as bitcoin") && error.contains(coin), "{file}: {error}");
    }
    // Addresses decide even where the caller says otherwise, and where the name says nothing.
    let bitcoin = Options { chain: Some(Chain::BITCOIN), ..Options::default() };
    let error = refusal_by(CASE, &["blockchair_litecoin_outputs_20240101.tsv"], &bitcoin);
    assert!(error.contains("it prints the address") && error.contains("litecoin"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let renamed = folder.path().join("outputs.tsv");
    std::fs::copy(path(CASE, "blockchair_litecoin_outputs_20240101.tsv"), &renamed).unwrap();
    let mut target = Gathered::default();
    let error = ingest_into(&[renamed], &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap_err();
    assert!(error.to_string().contains("litecoin"), "{error}");
}

#[test]
fn corpus_084_blocks_of_other_coins_are_refused_by_address() {
    const CASE: &str = "084-core-json-other-coins";
    for (file, network) in [
        ("ltc.json", "of litecoin"),
        ("doge.json", "of dogecoin"),
        ("bch.json", "of bitcoin-cash"),
        ("testnet.json", "of bitcoin-testnet"),
    ] {
        let error = refusal(CASE, file);
        assert!(error.contains("it prints the address") && error.contains(network), "{file}: {error}");
    }
    let options = Options { network: Some(Network::Testnet), ..Options::default() };
    let mut target = Gathered::default();
    ingest_into(&[path(CASE, "testnet.json")], &options, &mut target, &Silent, &Cancel::new()).unwrap();
    assert_eq!(target.batches[0].network, Some(Network::Testnet));
    assert!(refusal_by(CASE, &["ltc.json"], &options).contains("of litecoin"));
}
