//! The inputs of `cases-2/` about exports of chain data: read rightly, or refused by what they are.

use std::path::PathBuf;

use headwater_ingest::{Gathered, Options, Silent, ingest_into};
use headwater_ledger::Cancel;

/// The message with which a file of a case is refused; nothing of it is kept.
fn refusal(case: &str, file: &str) -> String {
    let path: PathBuf = headwater_tests::corpus().join("cases-2").join(case).join(file);
    let mut target = Gathered::default();
    let read = ingest_into(&[path], &Options::default(), &mut target, &Silent, &Cancel::new());
    let message = read.map(|report| panic!("{case}/{file} is read: {report:?}")).unwrap_err().to_string();
    assert!(target.batches.is_empty(), "nothing is half read");
    assert!(message.lines().count() <= 12 && message.contains(file) && !message.contains("bytes"), "{message}");
    assert!(message.lines().skip(1).all(|line| line.len() <= 100), "{message}");
    message
}

/// Asserts that a file is refused with all of these words.
fn refused(case: &str, file: &str, words: &[&str]) {
    let message = refusal(case, file).replace('\n', " ");
    assert!(words.iter().all(|word| message.contains(word)), "{message}");
}

#[test]
fn corpus_036_answers_of_tronscan_are_refused_by_name() {
    refused("036-tronscan-trc20-json", "transfers.json", &["TronScan's API", "CSV export", "TronGrid"]);
}

#[test]
fn corpus_038_transactions_of_trongrid_are_refused_by_name() {
    refused("038-trongrid-v1-transactions", "transactions.json", &["TronGrid", "wallet/getblockbynum"]);
}

#[test]
fn corpus_039_trongrid_rows_without_answer_are_refused_by_name() {
    for file in ["rows.json", "rows.jsonl", "pages.json"] {
        refused("039-trongrid-trc20-pages", file, &["TronGrid's token transfers", "in a file of its own"]);
    }
}

#[test]
fn corpus_041_answers_of_esplora_are_refused_by_name() {
    for file in ["txs.json", "tx.json"] {
        refused("041-esplora-address-txs", file, &["Esplora", "getblock"]);
    }
}

#[test]
fn corpus_043_answers_of_blockchair_are_refused_by_name() {
    refused("043-blockchair-api", "dash.json", &["Blockchair's API", "dumps"]);
}

#[test]
fn corpus_044_histories_of_wallets_are_refused_with_the_reason() {
    for (file, wallet) in
        [("electrum-history.csv", "Electrum"), ("sparrow.csv", "Sparrow"), ("core.csv", "Bitcoin Core")]
    {
        refused("044-wallet-history-csv", file, &[wallet, "names no counterparties"]);
    }
}

#[test]
fn corpus_045_single_transaction_is_refused_with_a_block_call() {
    refused("045-core-getrawtransaction", "tx.json", &["getrawtransaction", "getblock HASH 3"]);
}

#[test]
fn corpus_046_answers_of_alchemy_are_refused_by_name() {
    refused("046-alchemy-asset-transfers", "transfers.json", &["Alchemy", "eth_getBlockReceipts"]);
}

#[test]
fn corpus_048_answers_of_goldrush_are_refused_by_name() {
    refused("048-covalent-goldrush", "goldrush.json", &["GoldRush", "ethereum-etl"]);
}

#[test]
fn corpus_049_hypersync_tables_are_refused_with_the_columns() {
    refused("049-hypersync-parquet", "transactions.parquet", &["HyperSync", "from_address", "to_address"]);
    refused("049-hypersync-parquet", "logs.parquet", &["has no known time", "ingest the blocks"]);
}

#[test]
fn corpus_051_results_of_dune_are_refused_by_name() {
    refused("051-dune-csv", "transactions.csv", &["Dune", "transactions"]);
    refused("051-dune-csv", "transfers.csv", &["Dune", "transfers"]);
}

#[test]
fn corpus_054_exports_of_blockscout_are_refused_by_name() {
    refused("054-blockscout-csv", "transactions.csv", &["Blockscout", "Etherscan"]);
}
