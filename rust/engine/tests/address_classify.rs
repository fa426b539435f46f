//! The classes of addresses: worked by hand, order, errors of items, refusals, tables.

use headwater_engine::{AnyRow, ErrorKind, Pricing, QueryEngine, Reason, SinkClosed, TableHead, TableSink, endpoint};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::store::in_memory;
use headwater_ledger::{Cancel, Memory};
use headwater_testkit::{Chainlet, address, label_import};
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::town::{
    ALICE, BOB, CAROL, PAID, PAYERS, Town, USDT, ask, batch, bitcoin, classifier, classifying, data, listing, person,
    reason, town, town_with_a_label_on, transactions, with_classifier,
};

const NAME: &str = "address-classify";
const NOBODY: u8 = 0x99;
const TRON: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";

fn text(who: u8) -> String {
    person(who).to_string()
}

fn request(who: &[u8]) -> Value {
    json!({"blockchain": "ethereum", "addresses": who.iter().map(|who| text(*who)).collect::<Vec<_>>()})
}

fn with(mut request: Value, more: Value) -> Value {
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// Alice has four movements in (a fake token, the change, two ether, a mint), three out (ether, a plain call, USDT) and one
/// to herself.
#[test]
fn class_is_worked_by_hand() {
    // Raw: 0 + 1.5 and 1 - 1. Logits: 2 · 1.5 + 1 = 4 and 0.
    let exchange = 1.0 / (1.0 + (-4.0_f64).exp());
    let town = classifying();
    let report = data(&town, NAME, &with(request(&[ALICE]), json!({"explain": true})));
    let result = &report["results"][0];
    assert_eq!((&result["predicted_class"], &result["explained_class"]), (&json!("Exchange"), &json!("Exchange")));
    let near = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-12;
    assert!(near(&result["confidence"], exchange) && near(&result["probabilities"]["Exchange"], exchange), "{result}");
    assert!(near(&result["probabilities"]["Scam"], 1.0 - exchange), "{result}");
    // The mean score is 5/4; with the movements in alone it is 5/6, out alone 7/4, with both 3/2. By Shapley in counts
    // ((5/6 - 5/4) + (3/2 - 7/4)) / 2 = -1/3 and out ((7/4 - 5/4) + (3/2 - 5/6)) / 2 = 7/12.
    let strongest = &result["contributions"][0];
    assert_eq!((&strongest["feature"], &strongest["value"]), (&json!("out_count"), &json!(3.0)));
    assert!(near(&strongest["contribution"], 7.0 / 12.0), "{result}");
    assert!(near(&result["contributions"][1]["contribution"], -1.0 / 3.0), "{result}");
    assert_eq!(result["contributions"].as_array().unwrap().len(), 3, "the model has no more features");
    let model = &report["model"];
    assert_eq!(
        *model,
        json!({
            "version": "by hand",
            "digest": classifier(Chain::ETHEREUM).model().digest(),
            "simulated_classes": ["Exchange"],
        })
    );
    assert_eq!(report["as_of_block"], 6);
}

#[test]
fn results_are_in_the_order_of_the_request_with_duplicates_and_errors() {
    let town = classifying();
    let report = data(&town, NAME, &request(&[BOB, NOBODY, ALICE, BOB]));
    let results = report["results"].as_array().unwrap();
    let of = |field: &str| results.iter().map(|result| result[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("address"), [BOB, NOBODY, ALICE, BOB].map(|who| json!(text(who))));
    // Bob has four movements: too few for a class.
    assert_eq!(of("predicted_class"), [json!("Unknown"), Value::Null, json!("Exchange"), json!("Unknown")]);
    assert_eq!(results[0], results[3]);
    let failed = json!({
        "address": text(NOBODY),
        "blockchain": "ethereum",
        "predicted_class": null,
        "confidence": 0.0,
        "probabilities": null,
        "explained_class": null,
        "contributions": null,
        "error": "no activity: no transfers of the address are held on ethereum",
    });
    assert_eq!(results[1], failed);
    let empty = |result: &Value| result["contributions"].is_null() && result["explained_class"].is_null();
    assert!(results.iter().all(empty), "without explain nothing is explained");
    assert!(of("error").iter().enumerate().all(|(place, error)| error.is_null() == (place != 1)));
}

#[test]
fn too_few_transfers_are_unknown_and_explained_by_the_most_probable_class() {
    let report = data(&classifying(), NAME, &with(request(&[CAROL]), json!({"explain": true})));
    let result = &report["results"][0];
    assert_eq!((&result["predicted_class"], &result["explained_class"]), (&json!("Unknown"), &json!("Scam")));
    // Two transfers: raw 0.5 and 0, logits 2 and 0; the model counts 2 / 12, the priors 10 / 12.
    let exchange = 1.0 / (1.0 + (-2.0_f64).exp()) / 6.0 + 0.25 * 5.0 / 6.0;
    assert!((result["probabilities"]["Exchange"].as_f64().unwrap() - exchange).abs() < 1e-12, "{result}");
    assert!((result["confidence"].as_f64().unwrap() - exchange).abs() < 1e-12, "1 less the most probable: {result}");
    // She had no movement in, so there is no gap between them.
    let gap = result["contributions"].as_array().unwrap().iter().find(|one| one["feature"] == "in_gap_median_secs");
    assert_eq!(gap.unwrap()["value"], Value::Null);
}

#[test]
fn address_is_echoed_as_it_was_written() {
    let town = classifying();
    let mixed = text(0xab).to_uppercase().replace("0X", "0x");
    let report = data(&town, NAME, &json!({"blockchain": "ETH", "addresses": [mixed]}));
    assert_eq!(
        (&report["results"][0]["address"], &report["results"][0]["blockchain"]),
        (&json!(mixed), &json!("ethereum"))
    );
    let hex = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
    let town = town_with_a_label_on(Chain::TRON);
    let report = data(&town, NAME, &json!({"addresses": [TRON, hex]}));
    assert_eq!((&report["results"][0]["address"], &report["results"][1]["address"]), (&json!(TRON), &json!(hex)));
}

#[test]
fn chain_without_a_classifier_is_an_error_of_each_item() {
    let of = |chain: Chain, request: Value| {
        let plain = with_classifier(town_with_a_label_on(chain), Chain::ETHEREUM);
        data(&plain, NAME, &request)
    };
    let report = of(Chain::BITCOIN, json!({"blockchain": "bitcoin", "addresses": [PAID[0], PAYERS[0]]}));
    let errors: Vec<_> = report["results"].as_array().unwrap().iter().map(|result| &result["error"]).collect();
    assert_eq!(errors, ["no classifier is available for bitcoin yet"; 2]);
    assert_eq!((&report["model"], &report["results"][0]["confidence"]), (&Value::Null, &json!(0.0)));
    // Without a chain it is TRON.
    let report = of(Chain::TRON, json!({"addresses": [TRON]}));
    assert_eq!(report["results"][0]["error"], "no classifier is available for tron yet");
    let town = with_classifier(bitcoin(), Chain::BITCOIN);
    let report = data(&town, NAME, &json!({"blockchain": "btc", "addresses": [PAYERS[0]]}));
    assert_eq!(report["results"][0]["predicted_class"], "Unknown");
}

#[test]
fn malformed_request_is_refused_whole() {
    let town = classifying();
    let field = |name: &str| Some(name.to_owned());
    for (request, expected) in [
        (json!({}), (Reason::MissingField, field("addresses"))),
        (json!({"addresses": []}), (Reason::EmptyList, field("addresses"))),
        (json!({"addresses": "x"}), (Reason::InvalidType, field("addresses"))),
        (json!({"addresses": [1]}), (Reason::InvalidType, field("addresses[0]"))),
        (request(&[BOB; 101]), (Reason::TooManyItems, field("addresses"))),
        (json!({"addresses": [TRON, text(BOB)]}), (Reason::InvalidAddress, field("addresses[1]"))),
        (json!({"addresses": [TRON]}), (Reason::ChainNotHeld, field("blockchain"))),
        (with(request(&[BOB]), json!({"blockchain": "bsc"})), (Reason::UnsupportedChain, field("blockchain"))),
        (with(request(&[BOB]), json!({"blockchain": "solana"})), (Reason::UnsupportedChain, field("blockchain"))),
        (with(request(&[BOB]), json!({"explain": "yes"})), (Reason::InvalidType, field("explain"))),
    ] {
        assert_eq!(reason(&town, NAME, &request), expected, "{request}");
    }
    let mut four = request(&[BOB; 4]);
    four["addresses"][3] = json!("0x12");
    let error = ask(&town, NAME, &four).unwrap_err();
    assert!(error.message.starts_with("addresses[3]: \"0x12\" is not a valid Ethereum address"), "{}", error.message);
    assert_eq!(error.index, Some(3));
    let message = ask(&town, NAME, &with(request(&[BOB]), json!({"blockchain": "bsc"}))).unwrap_err().message;
    assert_eq!(message, "blockchain: addresses of \"bsc\" cannot be classified: use one of tron, ethereum, bitcoin");
    let report = data(&town, NAME, &request(&[BOB; 100]));
    assert_eq!(report["results"].as_array().unwrap().len(), 100);
}

/// A 20-byte EVM address can be written as one of TRON, which is somebody else's account.
#[test]
fn address_of_another_chain_asks_for_blockchain() {
    for (text, kind, chain) in
        [(text(BOB), "an EVM address", "ethereum"), (PAID[0].to_owned(), "a Bitcoin address", "bitcoin")]
    {
        let error = ask(&classifying(), NAME, &json!({"addresses": [TRON, text]})).unwrap_err();
        let why = format!("{kind}, and blockchain is missing, which means tron; add \"blockchain\": \"{chain}\"");
        assert_eq!(error.message, format!("addresses[1]: {text:?} is {why}"));
        assert_eq!((error.kind, error.index), (ErrorKind::InvalidInput(Reason::InvalidAddress), Some(1)));
    }
}

#[test]
fn chains_say_whose_addresses_can_be_classified() {
    let chains = data(&town(), "chains", &json!({}));
    let support = |entry: &Value| (entry["chain"].clone(), entry["endpoints"][NAME].clone());
    let supported: Vec<_> = chains["chains"].as_array().unwrap().iter().map(support).collect();
    let expected = [("bitcoin", "none"), ("bsc", "none"), ("ethereum", "partial"), ("tron", "none")];
    assert_eq!(supported, expected.map(|(chain, support)| (json!(chain), json!(support))));
    // Of a full BNB Smart Chain no address could be classified either.
    assert!(!endpoint(NAME).unwrap().chains.contains(Chain::BSC));
}

#[test]
fn labels_do_not_change_a_class() {
    let plain = data(&classifying(), NAME, &request(&[ALICE]));
    let mut store = in_memory(vec![batch(transactions())], vec![listing(USDT, "USDT")], vec![]).unwrap();
    let claim = headwater_testkit::claim(Chain::ETHEREUM, person(ALICE), Code::Exchange, Level::Forensic, "list");
    std::sync::Arc::get_mut(&mut store).unwrap().import_labels(label_import("list", vec![claim], 0)).unwrap();
    let labelled = with_classifier(Town(vec![QueryEngine::new(store)]), Chain::ETHEREUM);
    assert_eq!(data(&labelled, NAME, &request(&[ALICE])), plain);
}

#[test]
fn answer_warns_of_classes_learnt_from_simulated_addresses() {
    let warnings = |who: &[u8]| ask(&classifying(), NAME, &request(who)).unwrap().warnings;
    let counted = |who: &[u8]| {
        warnings(who)
            .into_iter()
            .find(|warning| warning.code == "simulated_class")
            .map(|warning| warning.count.unwrap())
    };
    assert_eq!((counted(&[ALICE, BOB, ALICE]), counted(&[BOB])), (Some(2), None));
    let empty = with_classifier(town_with_a_label_on(Chain::TRON), Chain::TRON);
    let told = ask(&empty, NAME, &json!({"addresses": [TRON]})).unwrap().warnings;
    assert_eq!(told.iter().map(|warning| warning.code.as_str()).collect::<Vec<_>>(), ["no_data"]);
}

#[test]
fn call_has_one_price() {
    let classify = endpoint(NAME).unwrap();
    assert_eq!((classify.pricing(), classify.cost), (Pricing::PerCall, 5));
    assert_eq!(classify.query(request(&[BOB; 100])).max_credits(), 5);
}

#[derive(Default)]
struct Gathered(TableHead, Vec<Value>);

impl TableSink for Gathered {
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed> {
        self.0 = head;
        Ok(())
    }

    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed> {
        self.1.push(serde_json::to_value(row).unwrap());
        Ok(())
    }
}

#[test]
fn table_has_a_row_per_address() {
    let (town, classify, mut sink) = (classifying(), endpoint(NAME).unwrap(), Gathered::default());
    let request = with(request(&[ALICE, NOBODY]), json!({"explain": true}));
    town.0[0].table(&classify.query(&request), &Cancel::new(), &mut sink).unwrap();
    let Gathered(head, rows) = sink;
    assert_eq!((Value::Array(rows), head.as_of_block), (data(&town, NAME, &request)["results"].clone(), Some(6)));
    assert!(head.warnings.iter().any(|warning| warning.code == "simulated_class"));
    let columns: Vec<String> = classify.columns().unwrap().into_iter().map(|column| column.name).collect();
    let expected = "address,blockchain,predicted_class,confidence,probabilities,explained_class,contributions,error";
    assert_eq!(columns.join(","), expected);
}

#[test]
fn address_too_large_for_the_memory_is_an_error_of_its_item() {
    let chain = (0..3_000).fold(Chainlet::ethereum(), |chain, number| chain.transfer(2 + number % 300, 1, 1 + number));
    let store = in_memory(vec![chain.batch()], vec![], vec![]).unwrap();
    let engine = with_classifier(Town(vec![QueryEngine::new(store)]), Chain::ETHEREUM).0.remove(0);
    let addresses = [1, 2, 1].map(|number| address(Chain::ETHEREUM, number).to_string());
    let request = json!({"blockchain": "ethereum", "addresses": addresses});
    let memory = Memory::new(1 << 30, 128 << 10);
    let report = engine.answer(endpoint(NAME).unwrap(), &request, &memory.token()).unwrap().value();
    let [hub, small, again] = [0, 1, 2].map(|place| &report["results"][place]);
    let error = hub["error"].as_str().unwrap();
    assert!(error.contains("all movements of the address") && hub["predicted_class"].is_null(), "{error}");
    assert_eq!((&small["error"], &small["predicted_class"], hub), (&Value::Null, &json!("Exchange"), again));
    assert_eq!(memory.usage().taken, 0);
}

#[test]
fn cancelled_call_ends() {
    let (engine, cancel) = (classifying().0.remove(0), Cancel::new());
    cancel.cancel();
    let error = engine.answer(endpoint(NAME).unwrap(), request(&[ALICE]), &cancel).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Cancelled);
}
