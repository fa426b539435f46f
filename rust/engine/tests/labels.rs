//! Labels in answers and events, worked by hand.

use std::sync::Arc;

use headwater_ledger::labels::{Claim, Code, DateBasis, Level};
use headwater_ledger::store::{LabelImport, MemoryStore, Segmentation, ShrinkPolicy, Split, in_memory};
use headwater_testkit::{Chainlet, followed, label_import};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};

use crate::feeds::{all_events, store, watch};
use crate::town;
use crate::town::{
    ALICE, BOB, CAROL, Town, USDT, about, ask, batch, between, column, data, listing, person, price, transactions,
};

/// What `group` says of an address on Ethereum.
fn claim(address: Address, code: Code, level: Level, group: &str) -> Claim {
    headwater_testkit::claim(Chain::ETHEREUM, address, code, level, group)
}

/// Bob is an exchange by two lists that agree on its name; Carol was sanctioned until second 1040.
fn bob_and_carol() -> Vec<LabelImport> {
    let named = |entity: &str, claim: Claim| Claim { entity: Some(Arc::from(entity)), ..claim };
    let bob = person(BOB);
    vec![
        label_import(
            "tags",
            vec![named("Bobs Bank 7", claim(bob, Code::Exchange, Level::TrustedProvider, "tags"))],
            1100,
        ),
        label_import("web", vec![named("bobs bank", claim(bob, Code::Exchange, Level::WebCrawl, "web"))], 1100),
        label_import(
            "ofac",
            vec![Claim {
                valid_until: Some(Timestamp::new(1040)),
                ..claim(person(CAROL), Code::Sanction, Level::SanctionsList, "ofac")
            }],
            1100,
        ),
    ]
}

fn labelled(imports: Vec<LabelImport>) -> Town {
    let prices = vec![price("eth", 2.0), price("usdt", 1.0)];
    let mut whole = in_memory(vec![batch(transactions())], vec![listing(USDT, "USDT")], prices).unwrap();
    let store = Arc::get_mut(&mut whole).unwrap();
    for import in imports {
        store.import_labels(import).unwrap();
    }
    let segmented =
        |segments| whole.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    Town([1, 3].map(|segments| headwater_engine::QueryEngine::new(Arc::new(segmented(segments)))).into())
}

#[test]
fn labels_of_an_address_name_every_source() {
    let town = labelled(bob_and_carol());
    let bob = data(&town, "labels", &about(BOB, json!({})));
    assert_eq!(bob["address"], person(BOB).to_string());
    assert_eq!((&bob["entity_name"], &bob["labels"]), (&json!("Bobs Bank"), &json!(["exchange"])));
    assert_eq!(bob["confidence"], 0.6, "1 - (1 - 0.5) (1 - 0.2)");
    let source = json!({
        "source": "tags", "source_url": null, "label": "exchange", "confidence": 0.5, "first_seen": null, "date_basis": null,
        "last_seen": null, "public": true, "inherited_from": null, "inherited_through": null, "name": null, "entity": "Bobs Bank 7", "level": "trusted_provider",
        "group": "tags", "list": "tags", "licence": null, "valid_until": null, "status": "active", "disputed": null
    });
    assert_eq!(bob["sources"][0], source);
    assert_eq!(bob["sources"].as_array().unwrap().len(), 2);
}

#[test]
fn label_sources_name_the_licence_of_their_list() {
    let mut imports = bob_and_carol();
    imports[0].licence = Some("CC BY-NC 4.0".to_owned());
    let bob = data(&labelled(imports), "labels", &about(BOB, json!({})));
    let terms = |place: usize| (&bob["sources"][place]["list"], &bob["sources"][place]["licence"]);
    assert_eq!(terms(0), (&json!("tags"), &json!("CC BY-NC 4.0")));
    assert_eq!(terms(1), (&json!("web"), &Value::Null));
}

#[test]
fn unknown_address_has_no_labels_and_confidence_zero() {
    let alice = data(&labelled(bob_and_carol()), "labels", &about(ALICE, json!({})));
    let expected = json!({
        "address": person(ALICE).to_string(), "blockchain": "ethereum", "entity_name": null, "labels": [], "confidence": 0.0,
        "sources": []
    });
    assert_eq!(alice, expected);
}

#[test]
fn labels_as_of_a_time_are_those_of_then() {
    let town = labelled(bob_and_carol());
    let at = |as_of: Value| data(&town, "labels", &about(CAROL, json!({"as_of": as_of})));
    assert_eq!(at(json!(1039))["labels"], json!(["sanction"]));
    assert_eq!(at(json!(1040))["labels"], json!(["sanction_delisted"]));
    assert_eq!(at(Value::Null)["labels"], json!(["sanction_delisted"]));
    let answer = ask(&town, "labels", &about(CAROL, json!({"as_of": 1039}))).unwrap();
    assert_eq!(answer.warnings[0].code, "undated_claims");
    let milliseconds = town::reason(&town, "labels", &about(CAROL, json!({"as_of": 1_600_000_000_000_i64})));
    assert_eq!(milliseconds.0, headwater_engine::Reason::Milliseconds);
}

#[test]
fn label_sources_say_what_their_dates_belong_to() {
    let dated = |group, date_basis| Claim {
        asserted_at: Some(Timestamp::new(1000)),
        date_basis,
        ..claim(person(BOB), Code::Sanction, Level::SanctionsList, group)
    };
    let imports = [("a", Some(DateBasis::Entity)), ("b", Some(DateBasis::Address)), ("c", None)];
    let town = labelled(imports.map(|(group, basis)| label_import(group, vec![dated(group, basis)], 1100)).into());
    let sources = data(&town, "labels", &about(BOB, json!({})))["sources"].clone();
    let basis = |group: &str| {
        let mut of_group = sources.as_array().unwrap().iter().filter(|source| source["group"] == group);
        of_group.next().unwrap()["date_basis"].clone()
    };
    assert_eq!(["a", "b", "c"].map(basis), [json!("entity"), json!("address"), Value::Null]);
}

#[test]
fn batch_of_labels_keeps_the_order_of_the_request() {
    let town = labelled(bob_and_carol());
    let addresses = [CAROL, ALICE, BOB, CAROL].map(|who| person(who).to_string());
    let batch = data(&town, "labels", &json!({"blockchain": "ethereum", "addresses": addresses}));
    let found: Vec<&Value> = batch["results"].as_array().unwrap().iter().map(|one| &one["address"]).collect();
    assert_eq!(found, addresses.iter().map(|address| json!(address)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    let both = json!({"blockchain": "ethereum", "addresses": addresses, "address": addresses[0]});
    assert_eq!(town::reason(&town, "labels", &both).1.as_deref(), Some("addresses"));
    let none = town::reason(&town, "labels", &json!({"blockchain": "ethereum"}));
    assert_eq!(none, (headwater_engine::Reason::MissingField, Some("address".to_owned())));
}

#[test]
fn store_without_labels_says_so() {
    let answer = ask(&town::town(), "labels", &about(BOB, json!({}))).unwrap();
    assert_eq!(answer.warnings[0].code, "no_labels");
}

#[test]
fn other_answers_carry_labels() {
    let town = labelled(bob_and_carol());
    let ranking = data(&town, "counterparty", &about(ALICE, json!({})));
    assert_eq!(
        column(&ranking, "address"),
        [json!(person(BOB).to_string()), json!(person(CAROL).to_string())].each_ref()
    );
    assert_eq!(column(&ranking, "labels"), [json!(["exchange"]), json!(["sanction_delisted"])].each_ref());
    assert_eq!(column(&ranking, "entity_name"), [json!("Bobs Bank"), Value::Null].each_ref());
    let list = data(&town, "transactions", &about(ALICE, json!({"contracts": ["native"]})));
    assert_eq!(
        column(&list, "counterparty_label"),
        [Value::Null, json!("Bobs Bank"), Value::Null, json!("Bobs Bank")].each_ref(),
        "Carol, Bob, herself, Bob"
    );
    let between = data(&town, "counterparty/transfer-between", &between(ALICE, BOB, json!({"limit": 1})));
    assert_eq!(column(&between, "counterparty_label"), ["Bobs Bank"]);
    let wallet = data(&town, "wallet-overview", &about(BOB, json!({})));
    assert_eq!(wallet["label"]["entity_name"], "Bobs Bank");
    assert_eq!(data(&town, "wallet-overview", &about(ALICE, json!({})))["label"], Value::Null);
    let hash = town::hash(1).display(headwater_types::Family::Evm);
    let detail = data(&town, "transaction", &json!({"hash": hash, "include": ["labels"]}));
    let labels = detail["labels"].as_object().unwrap();
    assert_eq!(labels.keys().collect::<Vec<_>>(), [&person(BOB).to_string()]);
}

/// A store in which account 2 is labelled a mixer by an import before account 1 pays it, and unlabelled afterwards.
fn labelled_then_not() -> MemoryStore {
    let mut store = store();
    let mixer = headwater_testkit::address(Chain::ETHEREUM, 2);
    let number =
        store.import_labels(label_import("a", vec![claim(mixer, Code::Mixer, Level::Forensic, "a")], 5000)).unwrap();
    let block = Chainlet::ethereum().at_block(5).transfer(1, 2, 7).same_block().transfer(1, 3, 9);
    store.append_tail_block(followed(block.batch(), 1, 1)).unwrap();
    store.roll_back_import(number).unwrap();
    store
}

#[test]
fn label_changes_are_told_of_watched_addresses() {
    let account = |number| headwater_testkit::address(Chain::ETHEREUM, number).to_string();
    let watched = json!({"addresses": [account(2), account(3)]});
    let events = all_events(labelled_then_not(), &watch("label_change", watched));
    let told: Vec<_> = events.iter().map(|event| event.data.clone()).collect();
    let change = |added: Value, removed: Value| {
        json!({
            "blockchain": "ethereum", "address": account(2), "added": added, "removed": removed, "entity_name": null
        })
    };
    assert_eq!(told, [change(json!(["mixer"]), json!([])), change(json!([]), json!(["mixer"]))]);
    assert_ne!(events[0].id, events[1].id);
}

#[test]
fn rollback_of_an_earlier_edition_tells_what_it_changed() {
    let address = |number| headwater_testkit::address(Chain::ETHEREUM, number);
    let sanction = |number| claim(address(number), Code::Sanction, Level::SanctionsList, "list");
    let mut store = store();
    let first = store.import_labels(label_import("list", vec![sanction(2), sanction(3)], 5000)).unwrap();
    let shorter = label_import("list", vec![sanction(3)], 6000);
    store.import_labels(LabelImport { shrinking: ShrinkPolicy::Accepted, ..shorter }).unwrap();
    store.roll_back_import(first).unwrap();
    let watched = json!({"addresses": [address(2).to_string(), address(3).to_string()]});
    let events = all_events(store, &watch("label_change", watched));
    let told: Vec<_> = events
        .iter()
        .map(|event| (event.data["address"].clone(), event.data["added"].clone(), event.data["removed"].clone()))
        .collect();
    let change = |number, added: Value, removed: Value| (json!(address(number).to_string()), added, removed);
    let expected = [
        change(2, json!(["sanction"]), json!([])),
        change(3, json!(["sanction"]), json!([])),
        change(2, json!(["sanction_delisted"]), json!(["sanction"])),
        change(2, json!([]), json!(["sanction_delisted"])),
    ];
    let sorted = |mut changes: Vec<(Value, Value, Value)>| {
        changes.sort_by_key(|change| format!("{change:?}"));
        changes
    };
    assert_eq!(sorted(told), sorted(expected.into()), "and nothing of account 3, which the second edition lists");
}

#[test]
fn two_imports_that_are_seen_together_tell_the_first() {
    let mixer = headwater_testkit::address(Chain::ETHEREUM, 2);
    let mut store = store();
    for list in ["a", "b"] {
        store.import_labels(label_import(list, vec![claim(mixer, Code::Mixer, Level::Forensic, list)], 5000)).unwrap();
    }
    let events = all_events(store, &watch("label_change", json!({"addresses": [mixer.to_string()]})));
    let added: Vec<_> = events.iter().map(|event| event.data["added"].clone()).collect();
    assert_eq!(added, [json!(["mixer"])]);
}

#[test]
fn label_filter_passes_movements_of_labelled_parties() {
    let mut store = store();
    let mixer = headwater_testkit::address(Chain::ETHEREUM, 2);
    store.import_labels(label_import("a", vec![claim(mixer, Code::Mixer, Level::Forensic, "a")], 5000)).unwrap();
    let block = Chainlet::ethereum().at_block(5).transfer(1, 2, 7).same_block().transfer(1, 3, 9);
    store.append_tail_block(followed(block.batch(), 1, 1)).unwrap();
    let account = |number| headwater_testkit::address(Chain::ETHEREUM, number).to_string();
    let filters = json!({"addresses": [account(1)], "labels": ["mixer"]});
    let events = all_events(store, &watch("address_activity", filters));
    let to: Vec<_> = events.iter().map(|event| event.data["to_address"].clone()).collect();
    assert_eq!(to, [json!(account(2))]);
}

/// A coin of account 100 from which a tenth is paid six times, to accounts from 201 on; the rest goes to 101 and so on.
/// Years later somebody else mines.
fn peeled() -> Chainlet {
    let mut held = 10_000_000;
    let chain = (1..=6).fold(Chainlet::bitcoin().mine(100, held), |chain, step| {
        let paid = held / 10;
        held -= paid;
        chain.spend(&[(step, 0, 0)], &[(100 + step, held), (200 + step, paid)])
    });
    chain.at_block(3_000_000).mine(300, 5)
}

fn coin_owner(number: u64) -> Address {
    headwater_testkit::address(Chain::BITCOIN, number)
}

#[test]
fn peel_chain_and_dormant_are_labels_on_bitcoin() {
    let store = |imports: Vec<LabelImport>| {
        let mut store = in_memory(vec![peeled().batch()], vec![], vec![]).unwrap();
        for import in imports {
            Arc::get_mut(&mut store).unwrap().import_labels(import).unwrap();
        }
        Town(vec![headwater_engine::QueryEngine::new(store)])
    };
    let asked = |number: u64| json!({"blockchain": "bitcoin", "address": coin_owner(number).to_string()});
    let codes = |town: &Town, request: Value| data(town, "labels", &request)["labels"].clone();
    let town = store(vec![]);
    let report = data(&town, "labels", &asked(102));
    assert_eq!(report["labels"], json!(["peel_chain", "dormant"]));
    // Blocks are 12 seconds apart, the first one at 1,600,000,012. The six steps are blocks 2 to 7.
    let source = &report["sources"][0];
    let told = ["source", "label", "name", "confidence", "first_seen", "last_seen"].map(|field| source[field].clone());
    let expected = [
        json!("behaviour_detector"),
        json!("peel_chain"),
        json!("Peel chain"),
        json!(0.3),
        json!(1_600_000_024),
        json!(1_600_000_084),
    ];
    assert_eq!(told, expected);
    // Who is paid, and whoever holds the rest, pass nothing on.
    assert_eq!([201, 106].map(|number| codes(&town, asked(number))), [json!(["dormant"]), json!(["dormant"])]);
    assert_eq!(codes(&town, asked(300)), json!([]));
    let at = |number: u64, secs: i64| {
        let mut request = asked(number);
        request["as_of"] = json!(secs);
        codes(&town, request)
    };
    assert_eq!(
        (at(102, 1_600_000_072), at(102, 1_600_000_071)),
        (json!(["peel_chain"]), json!([])),
        "five steps, four"
    );
    // The chain ends at an exchange.
    let claim = headwater_testkit::claim(Chain::BITCOIN, coin_owner(103), Code::Exchange, Level::Forensic, "list");
    let known = store(vec![label_import("list", vec![claim], 0)]);
    assert_eq!(codes(&known, asked(100)), json!(["dormant"]), "three steps before, three after");
}
