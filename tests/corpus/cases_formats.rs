//! Small inputs that users meet, after public bug reports: exports of block explorers' pages, TRON, prices.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{Gathered, IngestError, IngestReport, Options, Silent, ingest, ingest_into, list_prices};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Body, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_ledger::store::{Store, Writer};
use headwater_types::{Address, Amount, Chain, TxHash};
use serde_json::{Value, json};

const OWN: &str = "0xfcd6ead947919522be8a36b92968e1a354f31e9f";

fn case(name: &str) -> PathBuf {
    headwater_tests::corpus().join("cases").join(name)
}

/// Reads the files of a case, each transaction once.
fn read(name: &str) -> (IngestReport, Vec<TransactionFacts>) {
    let mut target = Gathered::default();
    let report = ingest_into(&[case(name)], &Options::default(), &mut target, &Silent, &Cancel::new());
    let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut all: BTreeMap<TxHash, TransactionFacts> = BTreeMap::new();
    for batch in target.batches {
        for facts in batch.transactions {
            let facts = match all.remove(&facts.hash) {
                Some(held) => held.join(facts, batch.chain).unwrap(),
                None => facts,
            };
            all.insert(facts.hash, facts);
        }
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_by_key(|facts| (facts.block, facts.index));
    (report, all)
}

/// The native balance of an account after the files of cases, in raw units.
fn balance(names: &[&str], chain: &str, address: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let paths: Vec<_> = names.iter().map(|name| case(name)).collect();
    ingest(&paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    drop(writer);
    let engine = QueryEngine::new(Arc::new(Store::open(folder.path()).unwrap()));
    let request = json!({ "blockchain": chain, "address": address });
    let overview = engine.answer(endpoint("wallet-overview").unwrap(), &request, &Cancel::new()).unwrap().value();
    let items = overview["balances"].as_array().unwrap_or_else(|| panic!("{overview}"));
    let native = items.iter().find(|item| item["contract"].is_null());
    native.unwrap_or_else(|| panic!("{overview}"))["balance_raw"].clone()
}

fn wei(coins: &str) -> Amount {
    Amount::parse_decimal(coins, 18).unwrap()
}

fn evm(text: &str) -> Option<Address> {
    Address::parse(Chain::ETHEREUM, text).ok()
}

#[test]
fn corpus_web_export_transactions_of_all_headers_are_read() {
    for (name, chain) in [
        ("01-etherscan-web-normal", "ethereum"),
        ("01-etherscan-web-normal-old", "ethereum"),
        ("01-bscscan-web-normal", "bsc"),
    ] {
        let (report, facts) = read(name);
        let file = &report.files[0];
        assert_eq!(
            (file.format.as_str(), file.chain.as_str(), file.rows, file.skipped),
            ("etherscan-web", chain, 3, 0)
        );
        let values: Vec<_> = facts.iter().map(|facts| facts.body.unwrap().value).collect();
        assert_eq!(values, [wei("1.5"), wei("1200.25"), wei("0.7")], "{name}");
        assert_eq!(facts[1].body.map(|body| body.from), Some(evm(OWN)));
        let status: Vec<_> = facts.iter().map(|facts| facts.status.unwrap()).collect();
        assert_eq!(status, [Status::Success, Status::Success, Status::Failed]);
        assert_eq!(facts[2].failure_reason.as_deref(), Some("execution reverted"));
        assert_eq!((facts[0].fee, facts[2].fee), (Some(wei("0.00042")), Some(wei("0.00013"))));
        assert_eq!((facts[0].time.unwrap().secs(), facts[0].method.as_deref()), (1_680_911_891, Some("Transfer")));
    }
    // What came in is less than what went out and was paid: history is not whole, and a balance is not negative.
    assert_eq!(balance(&["01-etherscan-web-normal"], "ethereum", OWN), json!("0"));
    assert_eq!(
        balance(&["01-bscscan-web-normal"], "bsc", "0x531dfefd9250f0e95a7900d57420f2364de43670"),
        json!(wei("1200.25").to_string())
    );
}

#[test]
fn corpus_web_export_internal_and_withdrawals_count() {
    let (report, facts) = read("03-etherscan-web-internal");
    assert_eq!(report.files[0].format, "etherscan-web");
    let [moved] = &facts[0].movements[..] else { panic!("one movement: {facts:?}") };
    assert_eq!((moved.amount, moved.to, moved.ordinal), (wei("0.25"), evm(OWN), Ordinal::Unindexed(0)));
    let (_, facts) = read("03-etherscan-web-withdrawals");
    let own = evm(OWN).unwrap();
    assert_eq!(facts[0].hash, TxHash::withdrawal(17_035_000, &own));
    assert_eq!(facts[0].body, Some(Body { from: None, to: Some(own), value: wei("0.017") }));
    let both = ["03-etherscan-web-internal", "03-etherscan-web-withdrawals", "03-etherscan-web-internal"];
    assert_eq!(balance(&both, "ethereum", OWN), json!(wei("0.267").to_string()));
}

#[test]
fn corpus_the_first_block_of_tron_allocates() {
    let receiver = Address::parse(Chain::TRON, "41aff285d6b4d65bf3cda4e6041651ba22572b22d4").unwrap();
    for (name, left_out) in [("08-tron-genesis", 1), ("08-tron-genesis-no-negative", 0)] {
        let (report, facts) = read(name);
        let file = &report.files[0];
        assert_eq!((file.format.as_str(), file.skipped), ("tron-node", 0), "{name}");
        assert_eq!(file.omitted.iter().map(|omitted| omitted.rows).sum::<u64>(), left_out, "{name}");
        let body = facts[0].body.unwrap();
        assert_eq!((body.from, body.value), (None, Amount::from(99_000_000_000_000_000)));
        assert_eq!((facts[0].status, facts[0].fee, facts[0].block), (Some(Status::Success), None, 0));
        assert_eq!(body.to, Some(receiver));
    }
    assert_eq!(balance(&["08-tron-genesis"], "tron", &receiver.to_string()), json!("99000000000000000"));
}

#[test]
fn corpus_a_transfer_of_an_empty_token_is_left_out() {
    let (report, facts) = read("47-trongrid-empty-token");
    let file = &report.files[0];
    assert_eq!((file.rows, file.skipped, file.omitted.len(), file.omitted[0].rows), (2, 0, 1, 1));
    assert_eq!((facts.len(), facts[0].movements[0].amount), (1, Amount::from(1_000_000)));
}

#[test]
fn corpus_the_exchange_of_tron_is_counted_or_warned_of() {
    let (report, facts) = read("57-tron-exchange");
    let trader = Address::parse(Chain::TRON, "410ecd5ccda12a9684327ea1511c4711e1cc4eb5ff").unwrap();
    let moved = |place: usize| {
        let facts: &TransactionFacts = &facts[place];
        let rows = facts.movements.iter().map(|moved| (moved.from, moved.to, moved.amount));
        rows.collect::<Vec<_>>()
    };
    assert_eq!(facts[0].body.unwrap().value, Amount::from(10_000_000));
    assert_eq!(moved(1), [(Some(trader), None, Amount::from(4_000_000))]);
    assert_eq!(moved(2), []);
    assert_eq!(moved(3), [(None, Some(trader), Amount::from(5_000))]);
    let warnings: Vec<_> = report.files.iter().flat_map(|file| &file.warnings).collect();
    assert!(warnings.iter().any(|warning| warning.contains("1 MarketSellAssetContract")), "{warnings:?}");
    assert_eq!(balance(&["57-tron-exchange"], "tron", &trader.to_string()), json!("6005000"));
}

#[test]
fn corpus_prices_null_and_web_address_lines_are_skipped() {
    let yahoo = list_prices(&case("19-price-yahoo/ETH-USD.csv"), None).unwrap();
    let reported: Vec<_> = yahoo.entries.iter().map(|price| (&*price.symbol, price.time.secs(), price.usd)).collect();
    // 2022-02-12T23:59:59Z
    assert_eq!((reported, yahoo.skipped), (vec![("eth", 1_644_710_399, 2928.3)], 1));
    let hourly = list_prices(&case("19-price-cdd-url/Binance_ETHUSDT_1h.csv"), None).unwrap();
    let reported: Vec<_> = hourly.entries.iter().map(|price| (&*price.symbol, price.time.secs(), price.usd)).collect();
    // 2025-01-01T01:59:59Z
    assert_eq!((reported, hourly.skipped), (vec![("eth", 1_735_696_799, 3352.1)], 0));
}

#[test]
fn corpus_web_export_other_chain_or_decimals_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("export-0xfcd6ead947919522be8a36b92968e1a354f31e9f.csv");
    let refused = |content: &str| -> IngestError {
        std::fs::write(&path, content).unwrap();
        let paths = [path.clone()];
        ingest_into(&paths, &Options::default(), &mut Gathered::default(), &Silent, &Cancel::new()).unwrap_err()
    };
    let normal = std::fs::read_to_string(case("01-bscscan-web-normal").join(path.file_name().unwrap())).unwrap();
    let text = refused(&normal.replace("BNB", "POL")).to_string();
    assert!(text.contains("coin is POL (polygon)"), "{text}");
    let token = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    let text = refused(&format!(
        "Txhash,Blockno,UnixTimestamp,DateTime (UTC),From,To,TokenValue,USDValueDayOfTx,ContractAddress,TokenName,TokenSymbol\n0xfacd7f9aa6cf4e35c87bbb3c09578b37ceff597056bd5f42b9e4fa019b573818,5,1680911891,x,{OWN},{OWN},5,1,{token},Tether USD,USDT\n"
    ));
    assert!(text.to_string().contains("needs --decimals"), "{text}");
}
