//! Address utilities at the engine, over a small ledger in memory.

use headwater_engine::{ErrorKind, QueryEngine, Reason, endpoint};
use headwater_ledger::facts::{Batch, Body, OutputFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_ledger::{Cancel, store};
use headwater_types::{Address, Amount, Chain, Network, Timestamp, TxHash};
use serde_json::{Value, json};

// The first two differ in their last digit only.
const BUSY: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const QUIET: &str = "0xdac17f958d2ee523a2206206994597c13d831ec8";
const BOTH_CHAINS: &str = "0xdac0000000000000000000000000000000000001";
const ONLY_BSC: &str = "0xb8c77482e45f1f44de1745f52c74426c631bdd52";
const TRON: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const TRON_EVM: &str = "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c";
const SEGWIT: &str = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
const LEGACY: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
const TESTNET: &str = "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7";
const UNSEEN: &str = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

fn address(chain: Chain, text: &str) -> Address {
    Address::parse(chain, text).unwrap()
}

fn transaction(block: u64) -> TransactionFacts {
    let mut hash = [7; 32];
    hash[24..].copy_from_slice(&block.to_be_bytes());
    let mut transaction = TransactionFacts::new(TxHash::new(hash), block);
    transaction.time = Timestamp::new(1_600_000_000 + i64::try_from(block).unwrap()).into();
    transaction.index = Some(0);
    transaction
}

fn transfers(chain: Chain, pairs: &[(&str, &str)]) -> Batch {
    let mut batch = Batch::new(chain);
    for (block, (from, to)) in (1..).zip(pairs) {
        let mut transaction = transaction(block);
        let (from, to) = (Some(address(chain, from)), Some(address(chain, to)));
        transaction.body = Some(Body { from, to, value: Amount::from(1) });
        batch.transactions.push(transaction);
    }
    batch
}

fn outputs(network: Network, owners: &[Address]) -> Batch {
    let mut batch = Batch::new(Chain::BITCOIN);
    batch.network = Some(network);
    let mut transaction = transaction(1);
    let output =
        |owner: &Address| OutputFacts { owner: Some(*owner), amount: 50, script: ScriptType::P2wpkh, data: None };
    let outputs = owners.iter().map(output).collect();
    transaction.utxo = Some(UtxoFacts::new(true, Vec::new(), outputs));
    batch.transactions.push(transaction);
    batch
}

fn engine() -> QueryEngine {
    let ethereum =
        transfers(Chain::ETHEREUM, &[(BUSY, QUIET), (BUSY, BOTH_CHAINS), (BUSY, BOTH_CHAINS), (BUSY, TRON_EVM)]);
    let bsc = transfers(Chain::BSC, &[(ONLY_BSC, BOTH_CHAINS)]);
    let tron = transfers(Chain::TRON, &[(TRON, "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb")]);
    let owners = [SEGWIT, LEGACY].map(|text| address(Chain::BITCOIN, text));
    let bitcoin = outputs(Network::Mainnet, &owners);
    QueryEngine::new(store::in_memory(vec![ethereum, bsc, tron, bitcoin], Vec::new(), Vec::new()).unwrap())
}

fn answer(engine: &QueryEngine, name: &str, request: &Value) -> (Value, Vec<String>) {
    let answer = engine.answer(endpoint(name).unwrap(), request, &Cancel::new()).unwrap();
    (answer.value(), answer.warnings.into_iter().map(|warning| warning.code).collect())
}

fn resolve(query: &str) -> Value {
    answer(&engine(), "addresses/resolve", &json!({ "q": query })).0
}

fn complete(request: &Value) -> Value {
    answer(&engine(), "addresses/autocomplete", request).0
}

fn refusal(name: &str, request: &Value) -> Reason {
    match engine().answer(endpoint(name).unwrap(), request, &Cancel::new()).unwrap_err().kind {
        ErrorKind::InvalidInput(reason) => reason,
        kind => panic!("{request}: {kind:?}"),
    }
}

#[test]
fn an_address_is_answered_with_all_its_fields() {
    let mixed = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
    let expected = json!({
        "query": mixed, "valid": true, "chain": "ethereum", "address": BUSY, "corrected": true,
        "corrections": ["case_fixed"], "format": "eip55", "checksum": "ok", "kind": "address",
        "chains": ["ethereum", "bsc"], "candidates": [], "active": true, "reason": null
    });
    assert_eq!(answer(&engine(), "addresses/resolve", &json!({ "q": mixed })), (expected, vec![]));
}

#[test]
fn the_best_chain_is_one_where_the_address_was_seen() {
    assert_eq!(resolve(ONLY_BSC)["chain"], "bsc");
    assert_eq!(resolve(BOTH_CHAINS)["chain"], "ethereum");
    assert_eq!(resolve(UNSEEN)["chain"], "ethereum");
    assert_eq!(resolve(&format!("ethereum:{ONLY_BSC}"))["chain"], "ethereum", "the text names it");
    let asked = answer(&engine(), "addresses/resolve", &json!({"q": ONLY_BSC, "chain": "ethereum"})).0;
    assert_eq!((&asked["chain"], &asked["active"]), (&json!("ethereum"), &json!(false)));
}

#[test]
fn activity_is_null_where_nothing_is_held() {
    let empty = QueryEngine::new(store::in_memory(Vec::new(), Vec::new(), Vec::new()).unwrap());
    let seen = answer(&empty, "addresses/resolve", &json!({ "q": BUSY })).0;
    assert_eq!((&seen["valid"], &seen["active"]), (&json!(true), &Value::Null));
    assert_eq!(resolve("hello")["active"], Value::Null);
    assert_eq!(resolve(UNSEEN)["active"], false);
}

#[test]
fn a_failed_eip_55_checksum_is_a_warning() {
    let wrong = "0xDAC17F958D2ee523a2206206994597C13D831ec7";
    let (seen, warnings) = answer(&engine(), "addresses/resolve", &json!({ "q": wrong }));
    assert_eq!((&seen["valid"], &seen["checksum"], &seen["address"]), (&json!(true), &json!("failed"), &json!(BUSY)));
    assert_eq!(warnings, ["checksum"]);
}

#[test]
fn a_known_active_address_at_distance_one_is_guessed_and_not_applied() {
    let mistyped = BUSY.replace("0xdac1", "0xdac2");
    let seen = resolve(&mistyped);
    assert_eq!((&seen["address"], &seen["active"]), (&json!(mistyped), &json!(false)));
    let expected = json!([{"chain": "ethereum", "address": BUSY, "edits": 1, "reason": "active"}]);
    assert_eq!(seen["candidates"], expected);

    // A digit that is none: sixteen addresses are possible, one is known; of two known ones the busier is named.
    let seen = resolve(&BUSY.replace("0xdac1", "0xdacg"));
    assert_eq!((&seen["valid"], &seen["reason"], &seen["address"]), (&json!(false), &json!("alphabet"), &Value::Null));
    assert_eq!(seen["candidates"], expected);
    assert_eq!(resolve(&format!("{}9", &BUSY[..41]))["candidates"], expected);

    assert_eq!(resolve(QUIET)["candidates"], json!([]), "what was seen needs no guess");
}

#[test]
fn a_guess_that_was_seen_comes_first() {
    let seen = resolve("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5");
    assert_eq!(
        (&seen["valid"], &seen["reason"], &seen["checksum"]),
        (&json!(false), &json!("checksum"), &json!("failed"))
    );
    let first = &seen["candidates"][0];
    assert_eq!(first, &json!({"chain": "bitcoin", "address": SEGWIT, "edits": 1, "reason": "active"}));
    let seen = resolve("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T");
    assert_eq!((&seen["candidates"][0]["address"], &seen["candidates"][0]["reason"]), (&json!(TRON), &json!("active")));
    assert!(seen["candidates"].as_array().unwrap().len() <= 5);
}

#[test]
fn hex_becomes_a_tron_address_only_where_tron_is_asked() {
    assert_eq!(resolve(TRON_EVM)["chains"], json!(["ethereum", "bsc"]));
    let seen = answer(&engine(), "addresses/resolve", &json!({"q": TRON_EVM, "chain": "tron"})).0;
    assert_eq!(
        (&seen["address"], &seen["corrections"], &seen["active"]),
        (&json!(TRON), &json!(["hex_to_base58"]), &json!(true))
    );
}

#[test]
fn an_address_of_another_network_than_the_store_is_not_valid() {
    let seen = resolve(TESTNET);
    assert_eq!((&seen["valid"], &seen["reason"]), (&json!(false), &json!("network_mismatch")));

    let owner = Address::parse_on(Chain::BITCOIN, Network::Testnet, TESTNET).unwrap();
    let batch = outputs(Network::Testnet, &[owner]);
    let engine = QueryEngine::new(store::in_memory(vec![batch], Vec::new(), Vec::new()).unwrap());
    let seen = answer(&engine, "addresses/resolve", &json!({ "q": TESTNET })).0;
    assert_eq!((&seen["valid"], &seen["active"]), (&json!(true), &json!(true)));
    let seen = answer(&engine, "addresses/resolve", &json!({ "q": SEGWIT })).0;
    assert_eq!((&seen["valid"], &seen["reason"]), (&json!(false), &json!("network_mismatch")));
    let seen = answer(&engine, "addresses/autocomplete", &json!({ "q": &TESTNET[..8] })).0;
    assert_eq!((&seen["candidates"], &seen["chain"]), (&json!([TESTNET]), &json!("bitcoin")));
}

#[test]
fn a_transaction_hash_is_told_and_looked_up() {
    let hash = transaction(4).hash;
    let seen = resolve(&format!("0x{hash:?}"));
    assert_eq!(
        (&seen["valid"], &seen["kind"], &seen["chain"], &seen["active"]),
        (&json!(false), &json!("tx_hash"), &json!("ethereum"), &json!(true))
    );
    let request = json!({"q": format!("{hash:?}"), "chain": "bsc"});
    let elsewhere = answer(&engine(), "addresses/resolve", &request).0;
    assert_eq!((&elsewhere["chain"], &elsewhere["active"]), (&Value::Null, &json!(false)));
    let request = json!({"q": format!("{hash:?}"), "chain": "ethereum"});
    assert_eq!(answer(&engine(), "addresses/resolve", &request).0["chain"], "ethereum");
    let unseen = resolve(&"ab".repeat(32));
    assert_eq!((&unseen["chains"], &unseen["active"]), (&json!(["bitcoin", "tron"]), &json!(false)));
}

#[test]
fn requests_outside_the_limits_are_refused() {
    assert_eq!(refusal("addresses/resolve", &json!({})), Reason::MissingField);
    assert_eq!(refusal("addresses/resolve", &json!({"q": "a".repeat(129)})), Reason::InvalidValue);
    assert_eq!(refusal("addresses/resolve", &json!({"q": BUSY, "chain": "solana"})), Reason::UnsupportedChain);
    assert_eq!(resolve(&"é".repeat(128))["valid"], false);
    assert_eq!(refusal("addresses/autocomplete", &json!({"q": "0xda"})), Reason::PrefixTooShort);
    assert_eq!(refusal("addresses/autocomplete", &json!({"q": " 0xda "})), Reason::PrefixTooShort);
    assert_eq!(refusal("addresses/autocomplete", &json!({"q": "0xdac", "limit": "51"})), Reason::LimitOutOfRange);
    assert_eq!(refusal("addresses/autocomplete", &json!({"q": "0xdac", "limit": -1})), Reason::LimitOutOfRange);
}

#[test]
fn matches_come_most_active_first_and_then_by_text() {
    // Postings: BUSY 4, BOTH_CHAINS 2 on Ethereum and 1 on BSC, QUIET 1.
    let expected = json!({ "candidates": [BUSY, BOTH_CHAINS, QUIET], "chain": "", "query": "0xdac", "total": 3 });
    assert_eq!(complete(&json!({ "q": "0xdac" })), expected);
    assert_eq!(complete(&json!({ "q": "0xdac", "limit": "0" })), expected);
    let seen = complete(&json!({ "q": "0xdac", "limit": "1" }));
    assert_eq!((&seen["candidates"], &seen["total"]), (&json!([BUSY]), &json!(3)));
    let seen = complete(&json!({ "q": "0xdac", "chain": "bsc" }));
    assert_eq!((&seen["candidates"], &seen["chain"]), (&json!([BOTH_CHAINS]), &json!("bsc")));
}

#[test]
fn the_chain_is_inferred_from_the_form_and_from_what_is_held() {
    for (query, chain, candidates) in [
        ("0XDAC17", "ethereum", json!([BUSY, QUIET])),
        ("0xb8C77", "bsc", json!([ONLY_BSC])),
        ("TR7NH", "tron", json!([TRON])),
        ("bc1qw", "bitcoin", json!([SEGWIT])),
        ("BC1QW5", "bitcoin", json!([SEGWIT])),
        ("1A1zP", "bitcoin", json!([LEGACY])),
        (&TRON_EVM[..8], "ethereum", json!([TRON_EVM])),
        ("1zzzz", "bitcoin", json!([])),
        ("0xfffff", "", json!([])),
        ("hello", "", json!([])),
        ("bc1Qw", "", json!([])),
    ] {
        let seen = complete(&json!({ "q": query }));
        assert_eq!((&seen["chain"], &seen["candidates"]), (&json!(chain), &candidates), "{query}");
        assert_eq!(seen["total"], candidates.as_array().unwrap().len(), "{query}");
    }
    // A whole address in another notation stands for itself.
    let hex = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
    assert_eq!(complete(&json!({ "q": hex }))["candidates"], json!([TRON]));
    let seen = complete(&json!({ "q": "dac17f", "chain": "ethereum" }));
    assert_eq!(seen["candidates"], json!([BUSY, QUIET]));
}

#[test]
fn the_total_is_counted_up_to_a_thousand() {
    let mut batch = Batch::new(Chain::ETHEREUM);
    for number in 0..1_200_u64 {
        let mut transaction = transaction(number);
        let to = Some(address(Chain::ETHEREUM, &format!("0xabcde{number:035x}")));
        transaction.body = Some(Body { from: None, to, value: Amount::from(1) });
        batch.transactions.push(transaction);
    }
    let engine = QueryEngine::new(store::in_memory(vec![batch], Vec::new(), Vec::new()).unwrap());
    for request in [json!({"q": "0xabcde", "limit": 50}), json!({"q": "0xabcde", "limit": 50, "chain": "ethereum"})] {
        let seen = answer(&engine, "addresses/autocomplete", &request).0;
        assert_eq!((seen["candidates"].as_array().unwrap().len(), &seen["total"]), (50, &json!(1_000)));
        assert_eq!(seen["candidates"][0], format!("0xabcde{:035x}", 0), "equal activity: by text");
    }
}
