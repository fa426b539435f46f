//! Chain facts of the account chains in `cases-2/`: what contracts move without a `Transfer`, and what looks like a transfer
//! and moves nothing.

use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{IngestReport, Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::store::{Store, Writer};
use serde_json::{Value, json};

/// A store that one ingest made.
struct Case {
    _folder: tempfile::TempDir,
    engine: QueryEngine,
    report: IngestReport,
}

impl Case {
    fn read(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let case = headwater_tests::corpus().join("cases-2").join(name);
        let mut files: Vec<_> = std::fs::read_dir(case).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| !path.ends_with("case.json") && !path.ends_with("tokenlist.json"));
        let mut writer = Writer::open_or_create(folder.path()).unwrap();
        let report = ingest(&files, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
        drop(writer);
        let engine = QueryEngine::new(Arc::new(Store::open(folder.path()).unwrap()) as _);
        Self { _folder: folder, engine, report }
    }

    fn ask(&self, name: &str, request: &Value) -> Value {
        let answer = self.engine.answer(endpoint(name).unwrap(), request, &Cancel::new());
        answer.unwrap_or_else(|error| panic!("{name} {request}: {error}")).value()
    }

    /// Returns what an address has of a contract, null for the native coin: nothing where it is not in the answer.
    fn balance(&self, chain: &str, address: &str, contract: &Value) -> Option<String> {
        let request = json!({"blockchain": chain, "address": address, "include_unverified": true});
        let overview = self.ask("wallet-overview", &request);
        let items = overview["balances"].as_array().unwrap().clone();
        let item = items.into_iter().find(|item| item["contract"] == *contract)?;
        item["balance_raw"].as_str().map(str::to_owned)
    }

    fn transfers(&self, chain: &str, address: &str) -> Vec<Value> {
        let request = json!({"blockchain": chain, "address": address, "include_unverified": true});
        self.ask("transactions", &request)["datas"].as_array().unwrap().clone()
    }
}

#[test]
fn corpus_delegated_energy_is_not_a_transfer() {
    let case = Case::read("057-tron-delegate-internal");
    let receiver = "TNsahphASVZAocwsuxeCLqkdkKPxs5RNVE";
    assert_eq!(case.balance("tron", receiver, &Value::Null), None);
    assert_eq!(case.transfers("tron", receiver), Vec::<Value>::new());
    // 1000 came in, 30 with a call, 3 went to the owner.
    let market = case.balance("tron", "TX9NdtyfikwGqsGR1dUZVEzhCGbGyjinR1", &Value::Null);
    assert_eq!(market.as_deref(), Some("1027000000"));
    let owner = case.balance("tron", "41e250ad10ab198524838999f6aa9de100715b62e2", &Value::Null);
    assert_eq!(owner.as_deref(), Some("3000000"));
    assert!(case.report.files.iter().all(|file| file.warnings.is_empty()), "{:?}", case.report.files);
}

#[test]
fn corpus_wrapped_trx_is_held_by_who_wrapped_it() {
    let case = Case::read("058-tron-wtrx-deposit");
    let wtrx = "TNUC9Qb1rRpS5CbWLmNMxXBjyFoydXjWFR";
    let balance = case.balance("tron", "TL1iNw5G59URRR2f2DRnhPrb6mUGGHZ4Bj", &json!(wtrx));
    assert_eq!(balance.as_deref(), Some("6000000"));
    let holders = case.ask("token/holders", &json!({"blockchain": "tron", "contract": wtrx}));
    assert_eq!((&holders["total_supply_raw"], &holders["holder_count"]), (&json!("10000000"), &json!(2)));
}

#[test]
fn corpus_interest_bearing_tokens_are_flagged_as_rebasing() {
    let case = Case::read("066-aave-v3-rebasing");
    let address = "0x31ec3c41e59e2f6682ac03978cc23563e7514252";
    let transfers = case.transfers("ethereum", address);
    assert_eq!(transfers.len(), 2);
    for transfer in &transfers {
        assert!(transfer["flags"].as_array().unwrap().contains(&json!("rebasing")), "{transfer}");
    }
    let request = json!({"blockchain": "ethereum", "address": address, "include_unverified": true});
    let history = case.ask("balance-history", &request);
    let warnings = history["warnings"].as_array().unwrap();
    for contract in ["0x98c23e9d8f34fefb1b7bd6a91b7ff122f4e16f5c", "0xbcca60bb61934080951369a648fb03df4f96263c"] {
        assert!(warnings.contains(&json!(format!("rebasing_by_transfers:{contract}"))), "{warnings:?}");
    }
}

#[test]
fn corpus_destroyed_funds_are_not_held() {
    let case = Case::read("101-usdt-destroyed-funds");
    let (holder, usdt) = ("0x813604214b30f6a5e836c3160bb779d7960282cd", "0xdac17f958d2ee523a2206206994597c13d831ec7");
    let balance = case.balance("ethereum", holder, &json!(usdt));
    assert!(matches!(balance.as_deref(), None | Some("0")), "{balance:?}");
    let holders = case.ask("token/holders", &json!({"blockchain": "ethereum", "contract": usdt}));
    assert_eq!(holders["holders"], json!([]));
    let burn = &case.transfers("ethereum", holder)[0];
    assert_eq!((&burn["transfer_type"], &burn["amount_raw"]), (&json!("burn"), &json!("5000000000")));
}

#[test]
fn corpus_self_destruction_written_as_call_refunds() {
    let case = Case::read("126-anvil-selfdestruct");
    let sender = "0xe2cf9cf591ad7cae95b653bef23282ff93f76a70";
    let refund = case.transfers("ethereum", sender).into_iter().find(|row| row["transfer_type"] == "internal");
    let refund = refund.unwrap();
    assert_eq!(refund["from_address"], "0x9ca933834f9cd322fde87db5265a8e10c47f0008");
    assert_eq!((&refund["action"], &refund["amount_raw"]), (&json!("receive"), &json!("10000000000000000")));
}
