//! Disputed claims in answers, and how disputes are recorded: worked by hand.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::{
    ClaimDisputeRequest, Error, ErrorKind, QueryEngine, Reason, endpoint, list_disputes, record_dispute,
};
use headwater_ledger::facts::{Batch, Claim as Covered, TransactionFacts};
use headwater_ledger::labels::{Claim, ClaimSelection, Code, Dispute, DisputeAction, DisputeRequest, Level};
use headwater_ledger::read::{CoverageTable, Generations};
use headwater_ledger::store::{MemoryStore, Segmentation, Split, Writer, WriterOptions, in_memory};
use headwater_ledger::{Cancel, LedgerError, Store};
use headwater_testkit::{Chainlet, address, label_import};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};

use crate::town::{ALICE, BOB, ETHER, Town, USDT, about, batch, data, listing, person, price, send};

const DAVE: u8 = 0x44;
const WHY: &str = "the page that it cites is gone";

fn claim(who: u8, code: Code, level: Level, group: &str) -> Claim {
    headwater_testkit::claim(Chain::ETHEREUM, person(who), code, level, group)
}

/// The dispute of every claim about an address, or of those of one source.
fn dispute(address: Address, source: Option<&str>) -> DisputeRequest {
    let claims = ClaimSelection { address, chain: None, source: source.map(str::to_owned), code: None };
    let dispute = Dispute { by: "cli:ada".into(), at: Timestamp::new(2000), reason: WHY.into() };
    DisputeRequest { action: DisputeAction::Dispute, claims, dispute }
}

fn doubt() -> Value {
    json!({"by": "cli:ada", "at": 2000, "reason": WHY})
}

/// A town with one list for each group of claims, of which some are disputed.
fn town(transactions: Vec<TransactionFacts>, claims: Vec<Claim>, disputes: &[DisputeRequest]) -> Town {
    let prices = vec![price("eth", 2.0), price("usdt", 1.0)];
    let mut whole = in_memory(vec![batch(transactions)], vec![listing(USDT, "USDT")], prices).unwrap();
    let store = Arc::get_mut(&mut whole).unwrap();
    for (place, claim) in claims.into_iter().enumerate() {
        store.import_labels(label_import(&format!("list {place}"), vec![claim], 1100)).unwrap();
    }
    for dispute in disputes {
        store.dispute(dispute).unwrap();
    }
    let segmented =
        |segments| whole.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    let built = segmented(3).with_sidecars(&Cancel::new()).unwrap();
    Town([segmented(1), built].into_iter().map(|store| QueryEngine::new(Arc::new(store))).collect())
}

/// Alice pays Bob 5 ether and Dave 2.
fn payments() -> Vec<TransactionFacts> {
    vec![send(1, 1, 0, ALICE, BOB, 5 * ETHER), send(2, 2, 0, ALICE, DAVE, 2 * ETHER)]
}

#[test]
fn disputed_claim_is_shown_in_labels_and_counts_half() {
    let claims = vec![
        claim(BOB, Code::Phishing, Level::Forensic, "report"),
        claim(BOB, Code::Phishing, Level::WebCrawl, "crawl"),
        claim(BOB, Code::Sanction, Level::SanctionsList, "ofac"),
    ];
    let disputes = [dispute(person(BOB), Some("report")), dispute(person(BOB), Some("ofac"))];
    let town = town(payments(), claims, &disputes);
    let bob = data(&town, "labels", &about(BOB, json!({})));
    let shown: Vec<_> = bob["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| (source["source"].clone(), source["confidence"].clone(), source["disputed"].clone()))
        .collect();
    let expected = [
        (json!("ofac"), json!(1.0), doubt()),
        (json!("report"), json!(0.25), doubt()),
        (json!("crawl"), json!(0.2), Value::Null),
    ];
    assert_eq!(shown, expected);
    // What was asked of a time is answered with the doubts of today.
    let then = data(&town, "labels", &about(BOB, json!({"as_of": 1500})));
    assert_eq!(then["sources"][1]["disputed"], doubt());
}

#[test]
fn disputed_claim_is_shown_in_risk() {
    let claims = vec![
        claim(ALICE, Code::Phishing, Level::Forensic, "report"),
        claim(BOB, Code::Mixer, Level::Ownership, "list"),
        claim(DAVE, Code::Mixer, Level::Forensic, "list"),
    ];
    let of_alice = dispute(person(ALICE), None);
    let town = town(payments(), claims, &[of_alice, dispute(person(BOB), None)]);
    let risk = data(&town, "address-risk", &about(ALICE, json!({})));
    let code = &risk["dimensions"]["intel"]["codes"][0];
    assert_eq!(
        (&code["code"], &code["confidence"], &code["reliability"]),
        (&json!("phishing"), &json!(0.25), &json!(0.25))
    );
    assert_eq!(code["disputed"], doubt());
    assert_eq!((&risk["decision"]["gated"], &risk["dimensions"]["intel"]["score"]), (&json!(false), &json!(23.71)));
    // Bob's claim of 1 counts 0.5, which is as risky as Dave's.
    let neighbours = risk["dimensions"]["graph"]["edge"]["risky_neighbors"].as_array().unwrap();
    let shown: Vec<_> = neighbours.iter().map(|one| (one["address"].clone(), one["disputed"].clone())).collect();
    assert_eq!(shown, [(json!(person(BOB).to_string()), doubt()), (json!(person(DAVE).to_string()), Value::Null)]);
    assert_eq!(risk["dimensions"]["graph"]["edge"]["categories"][0]["confidence"], 0.5);
    for factor in risk["factors"].as_array().unwrap() {
        let is_doubted =
            factor["code"] == "phishing" || factor["code"] == "reported_once" || factor["code"] == "mixing";
        let expected = if is_doubted { doubt() } else { Value::Null };
        assert_eq!(factor["disputed"], expected, "{factor}");
        let words = factor["detail"].as_str().unwrap().ends_with("; a claim behind it is disputed");
        assert_eq!(words, is_doubted, "{factor}");
    }
    let batch = json!({"queries": [about(ALICE, json!({}))]});
    let batch = data(&town, "address-risk/batch", &batch);
    assert_eq!(batch["results"][0]["composite_score"], risk["composite_score"]);
}

#[test]
fn ends_of_a_trace_say_that_their_name_is_disputed() {
    let named = |who, entity: &str, group| Claim {
        entity: Some(Arc::from(entity)),
        ..claim(who, Code::Exchange, Level::Ownership, group)
    };
    let claims = vec![
        named(BOB, "Bank of Bob", "list"),
        claim(BOB, Code::Phishing, Level::Forensic, "report"),
        named(DAVE, "Bank of Dave", "list"),
    ];
    let disputes = [dispute(person(BOB), Some("report")), dispute(person(DAVE), None)];
    let town = town(payments(), claims, &disputes);
    let trace = data(&town, "trace", &about(ALICE, json!({})));
    let of = |rows: &str, who: u8| {
        let rows = trace[rows].as_array().unwrap();
        rows.iter().find(|row| row["address"] == person(who).to_string()).unwrap()["disputed"].clone()
    };
    // What is doubted of Bob is not his name.
    assert_eq!([of("ends", BOB), of("nodes", BOB)], [Value::Null, Value::Null]);
    assert_eq!([of("ends", DAVE), of("nodes", DAVE)], [doubt(), doubt()]);
    let exposure = data(&town, "exposure", &about(ALICE, json!({"direction": "out"})));
    let top = exposure["direct"][0]["top"].as_array().unwrap();
    let shown: Vec<_> = top.iter().map(|one| (one["entity_name"].clone(), one["disputed"].clone())).collect();
    assert_eq!(shown, [(json!("Bank of Bob"), Value::Null), (json!("Bank of Dave"), doubt())]);
}

#[test]
fn half_weight_names_nobody_where_a_name_needs_more() {
    // A claim of 0.5 names Bob in an exposure and ends a trace; disputed it does neither.
    let report = || vec![claim(BOB, Code::Exchange, Level::Forensic, "list")];
    let [full, half] = [vec![], vec![dispute(person(BOB), None)]].map(|disputes| town(payments(), report(), &disputes));
    let direct = |town: &Town| data(town, "exposure", &about(ALICE, json!({})))["direct"].as_array().unwrap().len();
    assert_eq!((direct(&full), direct(&half)), (1, 0));
    let stop = |town: &Town| {
        let trace = data(town, "trace", &about(ALICE, json!({})));
        let end = trace["ends"].as_array().unwrap().iter().find(|end| end["address"] == person(BOB).to_string());
        let end = end.unwrap();
        (end["stop_reason"].clone(), end["label"].clone(), end["disputed"].clone())
    };
    assert_eq!(stop(&full), (json!("label"), json!("exchange"), Value::Null));
    assert_eq!(stop(&half), (json!("no_outflow"), json!("exchange"), doubt()));
}

#[test]
fn claim_through_a_cluster_has_the_dispute_of_its_origin() {
    let owner = |number: u64| address(Chain::BITCOIN, number);
    let chain = Chainlet::bitcoin()
        .mine(1, 300_000)
        .mine(2, 200_000)
        .spend(&[(1, 0, 0), (2, 0, 0)], &[(9, 490_000)])
        .mine(8, 5);
    let mut batch: Batch = chain.batch();
    let last = batch.blocks.last().unwrap().number;
    batch.claims.push(Covered::Blocks { first: 1, last, table: CoverageTable::Transactions });
    let mut store = MemoryStore::default();
    store.commit(batch, &Cancel::new()).unwrap();
    let mixer = headwater_testkit::claim(Chain::BITCOIN, owner(1), Code::Mixer, Level::ServiceApi, "list");
    store.import_labels(label_import("list", vec![mixer], 1100)).unwrap();
    store.dispute(&dispute(owner(1), None)).unwrap();
    let town = Town(vec![QueryEngine::new(Arc::new(store.with_sidecars(&Cancel::new()).unwrap()))]);
    let heir = data(&town, "labels", &json!({"blockchain": "bitcoin", "address": owner(2).to_string()}));
    let source = &heir["sources"][0];
    // 0.7 · 0.5 · 0.9.
    assert_eq!((&source["inherited_from"], &source["confidence"]), (&json!("cluster"), &json!(0.315)));
    assert_eq!(source["disputed"], doubt());
}

fn wanted(address: &str) -> ClaimDisputeRequest {
    let (address, reason) = (address.to_owned(), WHY.to_owned());
    ClaimDisputeRequest { address, reason, blockchain: None, source: None, code: None }
}

fn record(store: &Path, action: DisputeAction, request: &ClaimDisputeRequest) -> Result<usize, Error> {
    let author = ("admin:1", Timestamp::new(3000));
    let options = WriterOptions::default().wait_at_most(Duration::ZERO);
    record_dispute(store, action, request, author, options).map(|recorded| recorded.len())
}

#[test]
fn disputes_of_a_store_are_recorded_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let missing = record(path, DisputeAction::Dispute, &wanted(&person(BOB).to_string())).unwrap_err();
    assert!(matches!(missing.source, Some(LedgerError::NoStore { .. })), "a store is not made by a dispute");
    let mut writer = Writer::open_or_create(path).unwrap();
    let claims = vec![claim(BOB, Code::Phishing, Level::Forensic, "a"), claim(BOB, Code::Mixer, Level::Forensic, "b")];
    writer.import_labels(label_import("list", claims, 1100)).unwrap();
    let bob = person(BOB).to_string();
    let meanwhile = |_: &mut Writer| Ok::<_, LedgerError>(record(path, DisputeAction::Dispute, &wanted(&bob)));
    let locked = writer.exclusively(&Cancel::new(), meanwhile).unwrap().unwrap_err();
    assert!(matches!(locked.source, Some(LedgerError::Locked { .. })));

    let of_mixer = ClaimDisputeRequest { code: Some("mixer".to_owned()), ..wanted(&bob) };
    assert_eq!(record(path, DisputeAction::Dispute, &of_mixer).unwrap(), 1);
    assert_eq!(record(path, DisputeAction::Dispute, &wanted(&bob)).unwrap(), 1, "the one that was not yet");
    assert_eq!(record(path, DisputeAction::Confirm, &of_mixer).unwrap(), 1);
    let ledger = Store::open(path).unwrap().current().unwrap();
    let listed = list_disputes(&*ledger, Some(&bob)).unwrap();
    let shown: Vec<_> =
        listed.iter().map(|record| (record.action, record.code.as_deref().unwrap(), record.in_force)).collect();
    assert_eq!(shown, [("confirm", "mixer", false), ("dispute", "phishing", true), ("dispute", "mixer", false)]);
    let newest = json!({
        "action": "confirm", "address": bob, "blockchain": "ethereum", "code": "mixer", "source": "b", "group": "b",
        "by": "admin:1", "at": 3000, "reason": WHY, "in_force": false
    });
    assert_eq!(json!(listed[0]), newest);
    assert!(list_disputes(&*ledger, Some(&person(ALICE).to_string())).unwrap().is_empty());
    let answer = QueryEngine::new(Arc::new(Store::open(path).unwrap()));
    let labels = answer.answer(endpoint("labels").unwrap(), about(BOB, json!({})), &Cancel::new()).unwrap().value();
    let disputed = |source: &Value| (source["source"].clone(), source["disputed"]["by"].clone());
    let shown: Vec<_> = labels["sources"].as_array().unwrap().iter().map(disputed).collect();
    assert_eq!(shown, [(json!("b"), Value::Null), (json!("a"), json!("admin:1"))]);

    let refused = |action, request: ClaimDisputeRequest| {
        let error = record(path, action, &request).unwrap_err();
        (error.kind, error.field)
    };
    let invalid = |reason, field: &str| (ErrorKind::InvalidInput(reason), Some(field.to_owned()));
    let none = (ErrorKind::NotFound, Some("address".to_owned()));
    assert_eq!(refused(DisputeAction::Dispute, wanted(&person(DAVE).to_string())), none);
    let phishing = || ClaimDisputeRequest { code: Some("phishing".to_owned()), ..wanted(&bob) };
    assert_eq!(refused(DisputeAction::Dispute, phishing()), invalid(Reason::AlreadyDisputed, "address"));
    assert_eq!(refused(DisputeAction::Confirm, of_mixer), invalid(Reason::NotDisputed, "address"));
    let other =
        |change: fn(ClaimDisputeRequest) -> ClaimDisputeRequest| refused(DisputeAction::Dispute, change(wanted(&bob)));
    assert_eq!(
        other(|of| ClaimDisputeRequest { reason: " ".to_owned(), ..of }),
        invalid(Reason::InvalidValue, "reason")
    );
    assert_eq!(
        other(|of| ClaimDisputeRequest { code: Some("bad".to_owned()), ..of }),
        invalid(Reason::InvalidValue, "code")
    );
    assert_eq!(
        other(|of| ClaimDisputeRequest { blockchain: Some("solana".to_owned()), ..of }),
        invalid(Reason::UnsupportedChain, "blockchain")
    );
    assert_eq!(
        other(|of| ClaimDisputeRequest { address: "nobody".to_owned(), ..of }),
        invalid(Reason::InvalidAddress, "address")
    );
}
