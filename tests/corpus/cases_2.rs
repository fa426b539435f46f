//! The inputs of `cases-2/` about bitcoin and about risk, made after public reports: each with the answer that is right.

use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_ingest::{IngestReport, Options, Silent, ingest};
use headwater_ledger::Cancel;
use headwater_ledger::labels::Level;
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy, Store, Writer};
use headwater_types::Timestamp;
use serde_json::{Value, json};

struct Case {
    _folder: tempfile::TempDir,
    engine: QueryEngine,
    report: IngestReport,
}

/// Reads the blocks of a case, and its labels as a list of sanctions where it has some.
fn case(name: &str) -> Case {
    case_of(name, &["blocks.json"])
}

/// The same of files of these names.
fn case_of(name: &str, files: &[&str]) -> Case {
    let path = headwater_tests::corpus().join("cases-2").join(name);
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let files: Vec<_> = files.iter().map(|file| path.join(file)).collect();
    let report = ingest(&files, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    let labels = path.join("labels.csv");
    if labels.exists() {
        sanctions(&mut writer, &labels);
    }
    drop(writer);
    let store = Arc::new(Store::open(folder.path()).unwrap());
    Case { _folder: folder, engine: QueryEngine::new(store as _), report }
}

fn sanctions(writer: &mut Writer, path: &std::path::Path) {
    let options =
        LabelOptions { source: Some("ofac".to_owned()), level: Some(Level::SanctionsList), ..LabelOptions::default() };
    let labels = read_labels(&[path.to_owned()], &options).unwrap();
    let import = LabelImport {
        source: labels.source,
        list: labels.list,
        licence: labels.licence,
        imported_at: Timestamp::new(1_764_000_000),
        ended_at: Timestamp::new(1_764_000_000),
        claims: labels.claims,
        shrinking: ShrinkPolicy::Refused,
        vanished: MissingClaims::End,
        sanctions_of: Vec::new(),
    };
    writer.import_labels(import).unwrap();
}

impl Case {
    fn ask(&self, name: &str, request: &Value) -> Value {
        let answer = self.engine.answer(endpoint(name).unwrap(), request, &Cancel::new());
        answer.unwrap_or_else(|error| panic!("{name} {request}: {error}")).value()
    }

    fn cluster(&self, address: &str) -> Value {
        self.ask("btc/cluster", &json!({"address": address}))
    }

    fn size(&self, address: &str) -> u64 {
        self.cluster(address)["size"].as_u64().unwrap()
    }

    fn change(&self, txid: &str) -> Value {
        self.ask("btc/change-address", &json!({"txid": txid}))
    }
}

const NO_COINJOIN: &str = r#"{"detected":false,"type":null,"possible_coinjoin":false,"confidence":0.0}"#;

fn no_coinjoin() -> Value {
    serde_json::from_str(NO_COINJOIN).unwrap()
}

#[test]
fn corpus_068_marks_of_runes_are_not_a_coinjoin() {
    let case = case("068-runes-dust-coinjoin");
    let transaction = "a38b40751b555beb372392cecc793d0bfa1cb6b63aa3b6a3406d3abbec2540d4";
    assert_eq!(case.change(transaction)["coinjoin"], no_coinjoin());
    assert_eq!(case.size("bc1p6xnarasv5k4zytxr043s5jakns9kdw7rj4uq8qer22sfpa6xmgashuvjn9"), 3);
}

#[test]
fn corpus_069_consolidation_that_pays_is_not_a_coinjoin() {
    let case = case("069-consolidation-three-equal");
    let transaction = "04c6b334e7a8ab1bf7a2ffc4822d2a97495fb6db96d4014596486899588ed6ad";
    assert_eq!(case.change(transaction)["coinjoin"], no_coinjoin());
    let cluster = case.cluster("bc1qnvdte0kylegrygarpf6hv8wxuzp7j5xzgpft63");
    assert_eq!(cluster["size"], 40);
    assert_eq!(cluster["weakest_link"]["txid"], transaction);
    // Without it every address is alone.
    assert_eq!(
        (&cluster["weakest_link"]["parts"], &cluster["weakest_link"]["addresses"]),
        (&json!([1, 1]), &json!(39))
    );
}

#[test]
fn corpus_071_rounds_of_later_pools_are_whirlpool() {
    let case = case("071-whirlpool-ashigaru-pools");
    let rounds = [
        (
            "eb9223a54f049506c75a89fbd93d327d05183133cb49124797b56756550a278b",
            "bc1qwpghyl9hszf6f6e5h29cmethwz5zt60kagen8y",
        ),
        (
            "0278b9e6bf591fffdcb4f0e93aab56e4f47551d7be1a6f8635078230379c5647",
            "bc1qn3dpz95jk2qqmhfatsjpsayyt4qumww0nxv2p0",
        ),
        (
            "1952c16f882f61213fe771b03dd8b5a93b412e0e7a34384559140e50261c868a",
            "bc1qttv5vrgj775cu54c43yv0t5hq3ye6lucauksgk",
        ),
    ];
    for (transaction, payer) in rounds {
        let coinjoin = &case.change(transaction)["coinjoin"];
        assert_eq!((&coinjoin["detected"], &coinjoin["type"]), (&json!(true), &json!("whirlpool")), "{transaction}");
        assert_eq!(case.size(payer), 1);
    }
}

#[test]
fn corpus_072_an_anchor_joins_nobody() {
    let case = case("072-p2a-anchor-cluster");
    for address in ["bc1q50dy9u8de57gvrn5z95ws6rsgqnet5edgxrjlw", "bc1pfeessrawgf"] {
        assert_eq!(case.size(address), 1, "{address}");
    }
    let change = case.change("c298bf34e257e67596fbb7d3c8b9b34fe92e37467af9b766961a8a00e2123c49");
    assert_eq!((&change["change"], &change["reason"]), (&Value::Null, &json!("single_output")));
}

#[test]
fn corpus_073_sale_of_an_inscription_joins_nobody() {
    let case = case("073-ordinals-psbt-sale");
    let (seller, buyer) = (
        "bc1ptlxfulwafkf5v3x7g73e2huv0u0nsfrasdf9mefyd2sf8hfdkh3smnev95",
        "bc1qk38m0rrvywgmk7kddneccfyf7cczmyn4kpf4ad",
    );
    assert_eq!((case.size(seller), case.size(buyer)), (1, 1));
    let change = case.change("c01cfd5e5bf55c71041502e313fb8c2d4613a389ea24b6bb2f328b7e4adff5f5");
    assert_eq!(change["change"]["address"], buyer);
}

#[test]
fn corpus_076_one_coin_is_spent_once() {
    let case = case("076-rbf-double-spend");
    let [double] = &case.report.double_spends[..] else { panic!("{:?}", case.report.double_spends) };
    assert_eq!(double.left_out, "4c4d28133ad683c5f85711a3fa051b1a451bbc2ca9cbdc23e82e3dd0f630df77");
    assert_eq!(double.kept, "41118c17f14c6f6d11036a9ebe2eff036c6f4e2fb165f4e82b532face26071b6");
    let wallet = |address: &str| case.ask("wallet-overview", &json!({"blockchain": "bitcoin", "address": address}));
    assert_eq!(wallet("bc1qs88jkurluus54ncglc92e79qp3cdqm8unaxmkm")["tx_count"], 1);
    assert_eq!(wallet("bc1q02mjhhv9s9e0rv77g9e97kzky20hynaschz9k9")["balances"][0]["balance"], "0.009");
}

#[test]
fn corpus_086_a_sanction_does_not_spread_over_an_anchor() {
    let case = case("086-p2a-sanction-spreads");
    let innocent = "bc1q50dy9u8de57gvrn5z95ws6rsgqnet5edgxrjlw";
    let request = json!({"blockchain": "bitcoin", "address": innocent});
    assert_eq!(case.ask("labels", &request)["sources"], json!([]));
    let risk = case.ask("address-risk", &request);
    assert_eq!((&risk["composite_score"], &risk["factors"]), (&json!(0.0), &json!([])));
}

#[test]
fn corpus_105_payroll_to_three_forms_is_not_a_coinjoin() {
    let case = case("105-payroll-batch");
    let change = case.change("61180154275f545619951f0f37a80e4ee9118d200f4e84aeb28ec91a77833a39");
    assert_eq!(change["coinjoin"], no_coinjoin());
    // The rules are too few to name the change, and prefer the right output.
    let confidences: Vec<f64> =
        change["outputs"].as_array().unwrap().iter().map(|output| output["confidence"].as_f64().unwrap()).collect();
    assert_eq!(change["change"], Value::Null);
    assert!(confidences[..4].iter().all(|other| *other < confidences[4] / 2.0), "{confidences:?}");
    assert_eq!(case.size("bc1q5crlwn0nwsqskv5fcretxlueugg8cq890f478w"), 3);
}

#[test]
fn corpus_131_victim_of_a_drain_paid_nobody() {
    let case = case_of("131-drain-victim-risk", &["blocks.csv", "logs.csv", "transactions.csv"]);
    let risk = |address: &str| case.ask("address-risk", &json!({"blockchain": "ethereum", "address": address}));
    let drainer = risk("0x9921f5f8e83e5410fdc75d37d2f8977682be51dc");
    assert_eq!((&drainer["composite_score"], &drainer["risk_level"]), (&json!(100.0), &json!("high")));
    let victim = risk("0x07d7abac818cd08876a41f309587a88b0ffbeb68");
    assert_eq!((&victim["decision"]["gated"], &victim["decision"]["gate_reason"]), (&json!(false), &Value::Null));
    assert!(victim["composite_score"].as_f64().unwrap() < 100.0);
    let of_graph = victim["factors"].as_array().unwrap().iter().find(|factor| factor["dimension"] == "graph").unwrap();
    let detail = of_graph["detail"].as_str().unwrap();
    assert!(detail.ends_with("in transactions that others sent"), "{detail}");
}
