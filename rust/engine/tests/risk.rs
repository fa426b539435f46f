//! Risk in answers and events, worked by hand.

use std::sync::Arc;

use headwater_engine::{Classifier, Classifiers, Intelligence, QueryEngine, Reason};
use headwater_ledger::labels::{Claim, Code, Level, Scope};
use headwater_ledger::store::{LabelImport, MemoryStore, MissingClaims, Segmentation, ShrinkPolicy, Split, in_memory};
use headwater_testkit::{Chainlet, followed, label_import};
use headwater_types::{Address, Chain};
use serde_json::{Value, json};

use crate::feeds;
use crate::feeds::{all_events, store, watch};
use crate::town::{
    ALICE, BOB, CAROL, Town, USDT, about, ask, batch, data, listing, person, price, reason, town_with_a_label_on,
    transactions,
};

fn claim(address: Address, code: Code, level: Level, group: &str) -> Claim {
    headwater_testkit::claim(Chain::ETHEREUM, address, code, level, group)
}

/// Without classifiers, so that scores are those of labels, behaviours and counterparties alone.
fn labelled(imports: Vec<LabelImport>) -> Town {
    classified(imports, Classifiers::default())
}

fn classified(imports: Vec<LabelImport>, classifiers: Classifiers) -> Town {
    let intelligence = Intelligence { classifiers: Arc::new(classifiers), ..Intelligence::default() };
    let prices = vec![price("eth", 2.0), price("usdt", 1.0)];
    let mut whole = in_memory(vec![batch(transactions())], vec![listing(USDT, "USDT")], prices).unwrap();
    let store = Arc::get_mut(&mut whole).unwrap();
    for import in imports {
        store.import_labels(import).unwrap();
    }
    let segmented =
        |segments| whole.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    let engine = |segments| QueryEngine::new(Arc::new(segmented(segments))).with_intelligence(intelligence.clone());
    Town([1, 3].map(engine).into())
}

fn points(risk: &Value) -> f64 {
    risk["factors"].as_array().unwrap().iter().map(|factor| factor["points"].as_f64().unwrap()).sum()
}

#[test]
fn risk_names_the_lists_of_its_claims() {
    let licensed = |list: &str, claim: Claim, licence: Option<&str>| LabelImport {
        licence: licence.map(str::to_owned),
        ..label_import(list, vec![claim], 1100)
    };
    let town = labelled(vec![
        licensed("tags", claim(person(BOB), Code::Mixer, Level::ServiceApi, "tags"), Some("MIT")),
        licensed("own", claim(person(ALICE), Code::Scam, Level::WebCrawl, "own"), None),
        licensed("else", claim(person(CAROL), Code::Exchange, Level::WebCrawl, "else"), Some("GPL-3.0")),
    ]);
    let risk = data(&town, "address-risk", &about(ALICE, json!({})));
    let expected = json!([
        {"source": "own", "list": "own", "licence": null}, {"source": "tags", "list": "tags", "licence": "MIT"}
    ]);
    assert_eq!(risk["meta"]["sources"], expected, "Bob is a risky counterparty of Alice, Carol is not");
}

#[test]
fn whoever_deals_with_a_mixer_has_its_share_of_the_volume() {
    // Alice sent Bob 1.5 ether and 100 USDT and got 0.25 ether back, 103.5 dollars; of Carol she got 2 ether, 4 dollars. Her
    // transfer to herself, the failed one, the counterfeit token and the mint are no dealings with anybody.
    let mixer = label_import("tags", vec![claim(person(BOB), Code::Mixer, Level::ServiceApi, "tags")], 1100);
    let risk = data(&labelled(vec![mixer]), "address-risk", &about(ALICE, json!({})));
    let edge = &risk["dimensions"]["graph"]["edge"];
    assert_eq!(
        (&edge["neighbors_total"], &edge["neighbors_screened"], &edge["neighbors_hit"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert_eq!(edge["volume_usd"], 107.5);
    assert_eq!(edge["risky_exposure_ratio"], json!(0.962_791), "103.5 / 107.5");
    let bob = &edge["risky_neighbors"][0];
    assert_eq!((&bob["direction"], &bob["amount_usd"], &bob["tx_count"]), (&json!("both"), &json!(103.5), &json!(3)));
    // e = 0.962791, e / (e + 0.10) = 0.905908; A = log10(1.1035) / 3 = 0.014258;
    // f = 1 - 0.094092 · (1 - 0.007129) = 0.906579; 100 · 0.70 · 0.70 · f = 44.42.
    assert_eq!(risk["dimensions"]["graph"]["score"], 44.42);
    // Behaviours: mixer_interaction of full intensity, 3 times, fresh: 55 · 1 · (1 + 0.1 · log2 3) · 1 = 63.72; the first
    // coins of Alice came from Bob, gas_funded_by_mixer: 50. Of one family: 1 - (1 - 0.6372) · (1 - 0.5 · 0.50) = 0.7279.
    let behavior = &risk["dimensions"]["behavior"];
    let codes: Vec<_> =
        behavior["behaviors"].as_array().unwrap().iter().map(|hit| (&hit["code"], &hit["score"])).collect();
    let expected = [(json!("mixer_interaction"), json!(63.72)), (json!("gas_funded_by_mixer"), json!(50.0))];
    assert_eq!(codes, expected.iter().map(|(code, score)| (code, score)).collect::<Vec<_>>());
    assert_eq!(behavior["score"], 72.79);
    // 1 - (1 - 0.6 · 0.7279) · (1 - 0.85 · 0.4442) = 0.6494.
    assert_eq!((&risk["composite_score"], &risk["risk_level"]), (&json!(64.94), &json!("medium")));
    assert!((points(&risk) - 64.94).abs() < 0.02);
    assert_eq!(
        risk["decision"],
        json!({
            "gated": false, "context_confidence": 0.0, "context": null, "gate_reason": null, "base_score": 64.94
        })
    );
    assert_eq!((&risk["meta"]["analysis_depth"], &risk["meta"]["graph_reason"]), (&json!("edge"), &json!("undecided")));
}

#[test]
fn a_class_is_the_context_where_no_label_gives_one() {
    let model = || {
        let classifier = Classifier::parse(headwater_testkit::model(Chain::ETHEREUM).as_bytes()).unwrap();
        Classifiers::default().with(classifier)
    };
    let mixer = || label_import("tags", vec![claim(person(BOB), Code::Mixer, Level::ServiceApi, "tags")], 1100);
    let town = classified(vec![mixer()], model());
    let asked = json!({"blockchain": "ethereum", "addresses": [person(ALICE).to_string()]});
    let class = data(&town, "address-classify", &asked)["results"][0].clone();
    let risk = data(&town, "address-risk", &about(ALICE, json!({})));
    // Deposit: its column of the weights, and 0.8 of its probability as confidence.
    assert_eq!((&class["predicted_class"], &risk["decision"]["context"]), (&json!("Deposit"), &json!("deposit")));
    let expected = 0.8 * class["confidence"].as_f64().unwrap();
    assert!((risk["decision"]["context_confidence"].as_f64().unwrap() - expected).abs() < 1e-3, "three decimals");
    assert!(
        risk["dimensions"]["behavior"]["score"].as_f64().unwrap() < 72.79,
        "money passes through deposit addresses"
    );

    let own = label_import("own", vec![claim(person(ALICE), Code::Exchange, Level::ServiceApi, "own")], 1100);
    let risk = data(&classified(vec![mixer(), own], model()), "address-risk", &about(ALICE, json!({})));
    assert_eq!(risk["decision"]["context"], "exchange");
}

#[test]
fn money_to_somebody_under_sanctions_opens_the_third_gate() {
    let listed = label_import("ofac", vec![claim(person(BOB), Code::Sanction, Level::SanctionsList, "ofac")], 1100);
    let town = labelled(vec![listed]);
    let risk = data(&town, "address-risk", &about(ALICE, json!({})));
    assert_eq!(risk["decision"]["gate_reason"], "direct_sanctioned_edge");
    assert!(risk["composite_score"].as_f64().unwrap() >= 70.0);
    let own = data(&town, "address-risk", &about(BOB, json!({})));
    assert_eq!((&own["composite_score"], &own["decision"]["gate_reason"]), (&json!(100.0), &json!("ofac_sanctioned")));
    assert_eq!(own["dimensions"]["graph"]["reason"], "intel_gate");
    // Carol dealt with Alice alone.
    let carol = data(&town, "address-risk", &about(CAROL, json!({})));
    assert_eq!((&carol["composite_score"], &carol["risk_level"]), (&json!(0.0), &json!("low")));
}

#[test]
fn an_address_that_was_never_seen_has_no_window_and_no_score() {
    let risk = data(&labelled(Vec::new()), "address-risk", &about(0x77, json!({})));
    assert_eq!(risk["composite_score"], 0.0);
    let window = json!({"from": 0, "to": 0, "tx_count": 0, "truncated": false});
    assert_eq!(risk["dimensions"]["behavior"]["data_window"], window);
    assert_eq!(risk["meta"]["graph_reason"], "no_activity");
    assert_eq!((&risk["meta"]["behavior_available"], &risk["meta"]["graph_available"]), (&json!(true), &json!(false)));
    assert_eq!(risk["factors"], json!([]));
    assert_eq!(risk["dimensions"]["intel"]["confidence"], 0.0);
    assert_eq!(risk["dimensions"]["graph"]["paths"], json!([]));
}

#[test]
fn where_behaviours_are_not_judged_labels_are_all_there_is() {
    let everywhere = Claim { scope: Scope::Evm, ..claim(person(BOB), Code::Phishing, Level::TrustedProvider, "tags") };
    let town = labelled(vec![label_import("tags", vec![everywhere], 1100)]);
    for chain in ["evm", "bsc", "EVM"] {
        let request = json!({"blockchain": chain, "address": person(BOB).to_string()});
        let risk = data(&town, "address-risk", &request);
        assert_eq!(risk["blockchain"], chain.to_lowercase());
        assert_eq!(
            (&risk["composite_score"], &risk["decision"]["gate_reason"]),
            (&json!(90.0), &json!("confirmed_illicit"))
        );
        assert_eq!(risk["dimensions"]["behavior"], Value::Null);
        assert_eq!(
            (&risk["meta"]["analysis_depth"], &risk["meta"]["graph_reason"]),
            (&json!("intel_only"), &json!("unsupported_chain"))
        );
    }
    // Of tron one label is held, and no rows.
    let town = town_with_a_label_on(Chain::TRON);
    let tron =
        data(&town, "address-risk", &json!({"blockchain": "tron", "address": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"}));
    assert_eq!(
        (&tron["dimensions"]["behavior"], &tron["meta"]["graph_reason"]),
        (&Value::Null, &json!("data_unavailable"))
    );
}

#[test]
fn what_the_score_has_no_choice_of_is_refused() {
    let town = labelled(Vec::new());
    for field in ["symbols", "contracts", "filter_criterias"] {
        assert_eq!(
            reason(&town, "address-risk", &about(ALICE, json!({field: ["usdt"]}))),
            (Reason::UnknownField, Some(field.to_owned()))
        );
    }
    let other = json!({"blockchain": "solana", "address": person(ALICE).to_string()});
    assert_eq!(reason(&town, "address-risk", &other), (Reason::UnsupportedChain, Some("blockchain".to_owned())));
    let forced = ask(&town, "address-risk", &about(ALICE, json!({"third_party": "force"}))).unwrap();
    assert!(forced.warnings.iter().any(|warning| warning.code == "no_provider"));
    assert_eq!(forced.value()["meta"]["third_party_used"], false);
}

fn number(of: u64) -> String {
    headwater_testkit::address(Chain::ETHEREUM, of).to_string()
}

/// Account 1 pays account 2, which is put on a list of sanctions afterwards and taken off it again.
fn paid_then_listed() -> MemoryStore {
    let mut store = store();
    let listed = headwater_testkit::address(Chain::ETHEREUM, 2);
    // 10^17 wei are 200 dollars.
    let block = Chainlet::ethereum().at_block(5).transfer(1, 2, 100_000_000_000_000_000);
    store.append_tail_block(followed(block.batch(), 1, 1)).unwrap();
    let import = label_import("ofac", vec![claim(listed, Code::Sanction, Level::SanctionsList, "ofac")], 2_000_000_000);
    let version = store.import_labels(import).unwrap();
    let block = Chainlet::ethereum().at_block(6).transfer(3, 2, 100_000_000_000_000_000);
    store.append_tail_block(followed(block.batch(), 2, 1)).unwrap();
    store.roll_back_import(version).unwrap();
    store
}

#[test]
fn alerts_tell_of_levels_and_gates_that_change() {
    let watched = json!({"addresses": [number(1), number(2), number(3), number(4)]});
    let events = all_events(paid_then_listed(), &watch("risk_alert", watched));
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let data = &event.data;
            (
                data["address"].clone(),
                data["previous_score"].clone(),
                data["composite_score"].clone(),
                data["gate_reason"].clone(),
            )
        })
        .collect();
    let by_import = |of: u64| told.iter().filter(|(address, ..)| *address == number(of)).cloned().collect::<Vec<_>>();
    // The listing: the address itself, and who paid it.
    let listed = &by_import(2)[0];
    assert_eq!((&listed.2, &listed.3), (&json!(100.0), &json!("ofac_sanctioned")));
    let paid = by_import(1);
    assert_eq!(paid[0].3, json!("direct_sanctioned_edge"));
    // Of so few transfers the class says next to nothing, and nothing else is known before.
    let is_near_zero = |score: &Value| score.as_f64().is_some_and(|score| (0.0..5.0).contains(&score));
    assert!(is_near_zero(&listed.1) && is_near_zero(&paid[0].1), "{told:?}");
    // Account 3 pays an address that is listed by then.
    assert_eq!(by_import(3)[0].3, json!("direct_sanctioned_edge"));
    // The rollback takes all of it back.
    for of in [1, 2, 3] {
        let last = by_import(of);
        assert_eq!(last.len(), 2, "{of}: {last:?}");
        assert!(is_near_zero(&last[1].2) && last[1].3.is_null(), "{last:?}");
    }
    assert!(by_import(4).is_empty());
    let data = events[0].data.as_object().unwrap();
    let fields =
        ["blockchain", "address", "assessment", "composite_score", "previous_score", "risk_level", "gate_reason"];
    assert_eq!(data.keys().map(String::as_str).collect::<Vec<_>>(), fields);
}

#[test]
fn alert_is_taken_back_with_a_freeze_that_its_list_forgets() {
    let mut store = store();
    let frozen = headwater_testkit::address(Chain::ETHEREUM, 2);
    let block = Chainlet::ethereum().at_block(5).transfer(1, 2, 100_000_000_000_000_000);
    store.append_tail_block(followed(block.batch(), 1, 1)).unwrap();
    let freeze = claim(frozen, Code::IssuerFrozen, Level::IssuerFreeze, "tether");
    // The block of the freeze is taken back, and comes again.
    for claims in [vec![freeze.clone()], vec![], vec![freeze]] {
        let import = label_import("freezes", claims, 2_000_000_000);
        let (vanished, shrinking) = (MissingClaims::Forgotten, ShrinkPolicy::Accepted);
        store.import_labels(LabelImport { vanished, shrinking, ..import }).unwrap();
    }
    let store = feeds::shared(store);
    let subscription = watch("risk_alert", json!({"addresses": [number(2)]}));
    let events = feeds::events_from(&store, &subscription, 0);
    let levels = feeds::fields(&events, "risk_level");
    assert_eq!(levels.len(), 3, "{levels:?}");
    assert!(levels[0] == levels[2] && levels[0] != levels[1], "{levels:?}");
}

#[test]
fn alerts_are_the_same_from_every_earlier_position() {
    let store = feeds::shared(paid_then_listed());
    let subscription = watch("risk_alert", json!({"addresses": [number(1), number(2), number(3)]}));
    let all = feeds::events_from(&store, &subscription, 0);
    for from in 1..=3 {
        let later = feeds::events_from(&store, &subscription, from);
        let expected: Vec<_> =
            all.iter().filter(|event| headwater_engine::events::position_of(event.seq) > from).cloned().collect();
        assert_eq!(later, expected, "from {from}");
    }
}
