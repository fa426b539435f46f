//! Addresses by name, worked by hand.

use std::sync::Arc;

use headwater_engine::{QueryEngine, Reason};
use headwater_ledger::labels::{
    Action, Claim, ClaimSelection, Code, Dispute, DisputeAction, DisputeRequest, Level, Scope,
};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, in_memory};
use headwater_testkit::{address, label_import};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};

use crate::town;
use crate::town::{Town, USDT, ask, batch, data, listing, person, price, reason, transactions};

/// A claim about an account on Ethereum with an entity and a name, which may be empty.
fn named(who: u8, entity: &str, name: &str, level: Level) -> Claim {
    let text = |text: &str| (!text.is_empty()).then(|| Arc::from(text));
    let claim = headwater_testkit::claim(Chain::ETHEREUM, person(who), Code::Exchange, level, "list");
    Claim { entity: text(entity), name: text(name), ..claim }
}

fn store(claims: Vec<Claim>) -> Arc<MemoryStore> {
    let mut whole =
        in_memory(vec![batch(transactions())], vec![listing(USDT, "USDT")], vec![price("eth", 2.0)]).unwrap();
    Arc::get_mut(&mut whole).unwrap().import_labels(label_import("list", claims, 1100)).unwrap();
    whole
}

fn town_of(store: &MemoryStore) -> Town {
    let segmented =
        |segments| store.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    Town([1, 3].map(|segments| QueryEngine::new(Arc::new(segmented(segments)))).into())
}

fn listed(claims: Vec<Claim>) -> Town {
    town_of(&store(claims))
}

fn rows(town: &Town, request: &Value) -> Vec<Value> {
    data(town, "labels/search", request)["results"].as_array().unwrap().clone()
}

/// The addresses that a query finds, as `chain:first byte`.
fn found(town: &Town, request: &Value) -> Vec<String> {
    let short = |row: &Value| {
        let address = row["address"].as_str().unwrap();
        format!("{}:{}", row["blockchain"].as_str().unwrap(), &address[..4.min(address.len())])
    };
    rows(town, request).iter().map(short).collect()
}

fn of_query(town: &Town, query: &str) -> Vec<String> {
    found(town, &json!({ "q": query }))
}

#[test]
fn every_word_of_a_query_begins_a_word_of_a_name() {
    let town = listed(vec![
        named(0x21, "Binance", "Binance 14", Level::Forensic),
        named(0x22, "Finance House", "", Level::Forensic),
        named(0x23, "", "Tornado.Cash: Router", Level::Forensic),
    ]);
    let binance = ["ethereum:0x21"];
    for query in ["bin", "BINANCE", " binance ", "14 bin", "binance 1"] {
        assert_eq!(of_query(&town, query), binance, "{query}");
    }
    for query in ["nance", "binance 15", "tornadocash", "binance house", "exchange"] {
        assert_eq!(of_query(&town, query), [""; 0], "{query}");
    }
    for query in ["tornado cash", "tornado.cash", "cash router", "torn rout"] {
        assert_eq!(of_query(&town, query), ["ethereum:0x23"], "{query}");
    }
}

#[test]
fn row_has_the_fields_of_labels() {
    let town = listed(vec![named(0x21, "Bobs Bank 7", "Cellar", Level::Forensic)]);
    let row = |name: Value| {
        json!({
            "blockchain": "ethereum", "address": person(0x21).to_string(), "entity_name": "Bobs Bank",
            "labels": ["exchange"], "name": name, "sanctioned": false, "disputed": false, "confidence": 0.5
        })
    };
    assert_eq!(
        data(&town, "labels/search", &json!({"q": "bobs"})),
        json!({"query": "bobs", "results": [row(Value::Null)]})
    );
    assert_eq!(rows(&town, &json!({"q": "cellar"})), [row(json!("Cellar"))]);
    assert_eq!(rows(&town, &json!({"q": "bank 7"})), [row(json!("Bobs Bank 7"))], "the entity has no 7");
    let labels = data(&town, "labels", &town::about(0x21, json!({})));
    for field in ["blockchain", "address", "entity_name", "labels", "confidence"] {
        assert_eq!(labels[field], row(Value::Null)[field], "{field}");
    }
}

#[test]
fn whole_names_come_first_then_words_then_beginnings() {
    let town = listed(vec![
        named(0x21, "Acmeist", "", Level::Ownership),
        named(0x22, "Acme Bank", "", Level::Forensic),
        named(0x23, "acme", "", Level::WebCrawl),
        named(0x25, "ACME", "", Level::Forensic),
        // The entity without what says which of its addresses it is.
        named(0x24, "Acme: Hot Wallet 7", "", Level::Forensic),
    ]);
    let expected = ["0x24", "0x25", "0x23", "0x22", "0x21"].map(|who| format!("ethereum:{who}"));
    assert_eq!(of_query(&town, "acme"), expected);
    let names: Vec<_> = rows(&town, &json!({"q": "acme"})).iter().map(|row| row["name"].clone()).collect();
    // 0.2 is not enough to name an entity, so the claim's own text is given.
    assert_eq!(names, [Value::Null, Value::Null, json!("acme"), Value::Null, Value::Null]);
}

#[test]
fn ended_and_removed_claims_are_not_found() {
    let until = |secs| Some(Timestamp::new(secs));
    let removal = Claim { action: Action::Remove, ..named(0x22, "", "", Level::Override) };
    let sanction = Claim { code: Some(Code::Sanction), ..named(0x24, "Acme Four", "", Level::SanctionsList) };
    let town = listed(vec![
        Claim { valid_until: until(1050), ..named(0x21, "Acme One", "", Level::Forensic) },
        named(0x22, "Acme Two", "", Level::Forensic),
        removal,
        // A name that is not tied to the removed code still counts.
        Claim { code: None, ..named(0x22, "", "Beta", Level::Forensic) },
        Claim { valid_until: until(9000), ..named(0x23, "Acme Three", "", Level::Forensic) },
        Claim { valid_until: until(1050), ..sanction.clone() },
        Claim { address: person(0x25), ..sanction },
    ]);
    assert_eq!(of_query(&town, "acme"), ["0x24", "0x25", "0x23"].map(|who| format!("ethereum:{who}")));
    assert_eq!(of_query(&town, "beta"), ["ethereum:0x22"]);
    let four = rows(&town, &json!({"q": "acme four"}));
    let codes: Vec<_> = four.iter().map(|row| (row["labels"].clone(), row["sanctioned"].clone())).collect();
    assert_eq!(codes, [(json!(["sanction_delisted"]), json!(false)), (json!(["sanction"]), json!(true))]);
}

#[test]
fn disputed_claim_is_found_marked_and_counts_half() {
    let mut store = store(vec![named(0x21, "Acme", "", Level::Forensic)]);
    let claims = ClaimSelection { address: person(0x21), chain: None, source: None, code: None };
    let dispute = Dispute { by: "cli:ada".into(), at: Timestamp::new(2000), reason: "the page is gone".into() };
    let request = DisputeRequest { action: DisputeAction::Dispute, claims, dispute };
    Arc::get_mut(&mut store).unwrap().dispute(&request).unwrap();
    let row = &rows(&town_of(&store), &json!({"q": "acme"}))[0];
    assert_eq!((&row["disputed"], &row["confidence"], &row["name"]), (&json!(true), &json!(0.25), &json!("Acme")));
}

#[test]
fn chain_filters_and_evm_claims_follow_the_rows_of_the_store() {
    let on = |chain, who: Address| Claim {
        scope: Scope::Chain(chain),
        address: who,
        ..named(0, "Acme", "", Level::Forensic)
    };
    let tron = address(Chain::TRON, 1);
    let claims = vec![
        Claim { scope: Scope::Evm, ..named(0x21, "Acme", "", Level::Forensic) },
        on(Chain::BSC, person(0x22)),
        on(Chain::TRON, tron),
    ];
    let town = listed(claims.clone());
    let short = format!("tron:{}", &tron.to_string()[..4]);
    assert_eq!(of_query(&town, "acme"), ["bsc:0x22", "ethereum:0x21", &short]);
    assert_eq!(found(&town, &json!({"q": "acme", "chain": "bsc"})), ["bsc:0x21", "bsc:0x22"]);
    assert_eq!(found(&town, &json!({"q": "acme", "chain": "eth"})), ["ethereum:0x21"]);
    assert_eq!(found(&town, &json!({"q": "acme", "chain": "tron"})), [short.as_str()]);
    // Without rows of any EVM chain the claim is about each of them.
    let mut labels_alone = MemoryStore::default();
    labels_alone.import_labels(label_import("list", claims, 1100)).unwrap();
    let labels_alone = Town(vec![QueryEngine::new(Arc::new(labels_alone))]);
    assert_eq!(of_query(&labels_alone, "acme"), ["bsc:0x21", "bsc:0x22", "ethereum:0x21", &short]);
    let refused = |chain: &str| reason(&town, "labels/search", &json!({"q": "acme", "chain": chain}));
    assert_eq!(refused("bitcoin"), (Reason::ChainNotHeld, Some("chain".to_owned())));
    assert_eq!(refused("evm"), (Reason::UnsupportedChain, Some("chain".to_owned())), "as labels");
}

#[test]
fn pages_follow_each_other_and_bounds_are_named() {
    let town = listed((0x21..=0x25).map(|who| named(who, "Acme", "", Level::Forensic)).collect());
    let page = |limit: Value, offset: u32| {
        let answer = ask(&town, "labels/search", &json!({"q": "acme", "limit": limit, "offset": offset})).unwrap();
        let pagination = answer.pagination.unwrap();
        let rows = answer.value()["results"].as_array().unwrap().len();
        (rows, pagination.limit, pagination.offset, pagination.total)
    };
    assert_eq!(page(json!(2), 0), (2, 2, 0, Some(5)));
    assert_eq!(page(json!(2), 4), (1, 2, 4, Some(5)));
    assert_eq!(page(json!(2), 5), (0, 2, 5, Some(5)));
    assert_eq!(page(json!(0), 0), (5, 20, 0, Some(5)));
    assert_eq!(page(json!(200), 1), (4, 200, 1, Some(5)));
    let second = found(&town, &json!({"q": "acme", "limit": 2, "offset": 2}));
    assert_eq!(second, ["ethereum:0x23", "ethereum:0x24"]);
    let refused = |request: Value| reason(&town, "labels/search", &request);
    let at = |reason, field: &str| (reason, Some(field.to_owned()));
    assert_eq!(refused(json!({"q": "acme", "limit": 201})), at(Reason::LimitOutOfRange, "limit"));
    assert_eq!(refused(json!({"q": "acme", "offset": -1})), at(Reason::InvalidValue, "offset"));
    assert_eq!(refused(json!({})), at(Reason::MissingField, "q"));
    for query in [" a ", "?!", "", &"a".repeat(129)] {
        assert_eq!(refused(json!({ "q": query })), at(Reason::InvalidValue, "q"), "{query}");
    }
    assert_eq!(of_query(&town, &format!(" {} ", "a".repeat(128))), [""; 0]);
}

#[test]
fn hostile_names_are_given_as_data() {
    let text = "Acme\u{1b}[2J\u{202e}\n<script>alert(1)</script>";
    let town = listed(vec![named(0x21, "", text, Level::Forensic)]);
    for query in ["acme", "script alert", "acme\u{1b}[2j"] {
        assert_eq!(rows(&town, &json!({ "q": query }))[0]["name"], text, "{query:?}");
    }
    let long = listed(vec![named(0x21, "", &"word ".repeat(20_000), Level::Forensic)]);
    assert_eq!(of_query(&long, "word"), ["ethereum:0x21"]);
}

#[test]
fn store_without_lists_finds_bridges_and_says_so() {
    let answer = ask(&town::town(), "labels/search", &json!({"q": "nobody by this name"})).unwrap();
    assert_eq!((answer.value()["results"].clone(), &*answer.warnings[0].code), (json!([]), "no_labels"));
    let bridges = rows(&town::town(), &json!({"q": "across", "limit": 200}));
    assert!(!bridges.is_empty());
    for row in &bridges {
        assert_eq!((&row["blockchain"], &row["labels"]), (&json!("ethereum"), &json!(["bridge"])), "{row}");
    }
    let listed = ask(&listed(vec![named(0x21, "Acme", "", Level::Forensic)]), "labels/search", &json!({"q": "nobody"}));
    assert_eq!(listed.unwrap().warnings, []);
}

#[test]
fn names_of_very_many_addresses_keep_the_trusted_ones() {
    const LISTED: u64 = 5_001;
    let claim = |number| {
        let who = address(Chain::ETHEREUM, number);
        Claim { address: who, ..named(0, "Acme", &format!("Acme deposit {number}"), Level::WebCrawl) }
    };
    let mut claims: Vec<Claim> = (1..=LISTED).map(claim).collect();
    let trusted = person(0xff);
    claims.push(Claim { address: trusted, ..named(0, "Acme Exchange", "", Level::Forensic) });
    claims.push(Claim { address: person(0xfe), ..named(0, "Acmeist", "", Level::Ownership) });
    let town = listed(claims);
    let answer = ask(&town, "labels/search", &json!({"q": "acme", "limit": 1})).unwrap();
    assert_eq!(answer.pagination.unwrap().total, Some(5_000));
    assert_eq!(answer.warnings[0].code, "names_left_out");
    // Another word leaves few, and all of them are found.
    let answer = ask(&town, "labels/search", &json!({"q": "acme exchange"})).unwrap();
    assert_eq!((answer.pagination.unwrap().total, answer.warnings.len()), (Some(1), 0));
    assert_eq!(answer.value()["results"][0]["address"], trusted.to_string());
    assert_eq!(of_query(&town, "deposit 4999").len(), 1);
}
