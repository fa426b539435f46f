//! Clusters in small transactions, worked by hand.

use std::sync::Arc;

use headwater_engine::QueryEngine;
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim as Covered};
use headwater_ledger::labels::{Claim, Code, Level};
use headwater_ledger::read::CoverageTable;
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{ANCHOR, Chainlet, address, claim, hash, label_import};
use headwater_types::{Chain, Family, Timestamp};
use serde_json::{Value, json};

use crate::town::{Town, data, engine};

const NAME: &str = "btc/cluster";

fn number(number: u64) -> String {
    address(Chain::BITCOIN, number).to_string()
}

fn tx(block: u64) -> String {
    hash(block, 0).display(Family::Utxo)
}

fn complete(chainlet: Chainlet) -> Batch {
    let mut batch = chainlet.batch();
    let last = batch.blocks.last().unwrap().number;
    batch.claims.push(Covered::Blocks { first: 1, last, table: CoverageTable::Transactions });
    batch
}

/// 1 and 2 pay together in block 4; 3 pays 8 in block 6, and the rest goes to 4.
fn three() -> Chainlet {
    Chainlet::bitcoin()
        .mine(3, 500_000)
        .mine(1, 300_000)
        .mine(2, 200_000)
        .spend(&[(2, 0, 0), (3, 0, 0)], &[(9, 490_000)])
        .mine(8, 1_000)
        .spend(&[(1, 0, 0)], &[(8, 100_000), (4, 399_123)])
        .mine(3, 7_000)
}

fn ask(engine: &Town, of: u64, further: Value) -> Value {
    let mut request = json!({"address": number(of)});
    request.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    data(engine, NAME, &request)
}

#[test]
fn a_cluster_has_its_addresses_and_what_links_them() {
    let engine = engine(vec![complete(three())]);
    let found = ask(&engine, 2, json!({}));
    assert_eq!((&found["cluster_id"], &found["size"]), (&json!(number(1)), &json!(2)));
    assert_eq!(found["addresses"], json!([number(1), number(2)]));
    assert_eq!((&found["method"], &found["evidence_tx"]), (&json!("multi_input"), &json!([tx(4)])));
    let member = |of: u64, block: u64, joined: Value, into: Value| json!({"address": number(of), "first_block": block, "joined_tx": joined, "joined_cluster": into});
    let named = member(1, 2, Value::Null, Value::Null);
    assert_eq!(found["members"], json!([named, member(2, 3, json!(tx(4)), json!(number(1)))]));
    assert_eq!((&found["with_change"], &found["as_of_block"]), (&Value::Null, &json!(7)));
    // Page by page.
    let first = ask(&engine, 2, json!({"limit": 1}));
    assert_eq!((&first["addresses"], &first["evidence_tx"]), (&json!([number(1)]), &json!([])));
    let second = ask(&engine, 2, json!({"limit": 1, "cursor": first["next_cursor"]}));
    assert_eq!((&second["addresses"], &second["next_cursor"]), (&json!([number(2)]), &Value::Null));
    assert_eq!(ask(&engine, 2, json!({"limit": 1, "offset": 1}))["addresses"], second["addresses"]);
}

#[test]
fn an_address_that_nothing_links_is_a_cluster_by_itself() {
    let engine = engine(vec![complete(three())]);
    let alone = ask(&engine, 8, json!({}));
    assert_eq!((&alone["cluster_id"], &alone["size"]), (&json!(number(8)), &json!(1)));
    assert_eq!((&alone["addresses"], &alone["evidence_tx"]), (&json!([number(8)]), &json!([])));
    let unseen = ask(&engine, 77, json!({"include_change": true}));
    assert_eq!((&unseen["cluster_id"], &unseen["size"]), (&Value::Null, &json!(0)));
    assert_eq!((&unseen["addresses"], &unseen["with_change"]), (&json!([]), &Value::Null));
}

/// The change of block 6 is fresh, of an odd amount, and is spent with a coin of the payer: nothing is left to guess. Then 4
/// is in the cluster of 3 by common inputs, and no link of change.
fn linked() -> Chainlet {
    three().spend(&[(6, 0, 1), (7, 0, 0)], &[(10, 405_000)])
}

#[test]
fn common_inputs_stand_before_change() {
    let engine = engine(vec![complete(linked())]);
    let found = ask(&engine, 4, json!({"include_change": true}));
    assert_eq!((&found["cluster_id"], &found["size"]), (&json!(number(3)), &json!(2)));
    assert_eq!(found["with_change"]["links"], json!([]));
    assert_eq!(found["with_change"]["clusters"], json!([{"cluster_id": number(3), "size": 2}]));
}

/// Account 1 pays a round amount to 2, and the rest goes to the new address 3, whose spender has the lock time and version of
/// this one: 0.6 · (fresh 3.17 + 10^6 3.75 + ...) is high. 3 then pays 6 with change to 5.
fn by_change() -> Chainlet {
    let typed = |facts: &mut headwater_ledger::facts::TransactionFacts| {
        let utxo = facts.utxo.as_mut().unwrap();
        (utxo.version, utxo.lock_time) = (Some(2), Some(700_000));
    };
    let other = |facts: &mut headwater_ledger::facts::TransactionFacts| {
        let utxo = facts.utxo.as_mut().unwrap();
        (utxo.version, utxo.lock_time) = (Some(1), Some(0));
    };
    Chainlet::bitcoin()
        .mine(1, 9_000_001)
        .mine(2, 70_000)
        .spend(&[(1, 0, 0)], &[(2, 5_000_000), (3, 3_999_001)])
        .with(typed)
        .spend(&[(3, 0, 1)], &[(6, 2_000_000), (5, 1_998_001)])
        .with(typed)
        .spend(&[(3, 0, 0)], &[(7, 4_999_001)])
        .with(other)
        .spend(&[(4, 0, 1)], &[(8, 1_997_001)])
        .with(typed)
        .spend(&[(4, 0, 0)], &[(9, 1_999_001)])
        .with(other)
}

fn with_labels(chainlet: Chainlet, claims: Vec<Claim>) -> Town {
    let mut store = MemoryStore::default();
    store.commit(complete(chainlet), &Cancel::new()).unwrap();
    store.import_labels(label_import("list", claims, 1_000)).unwrap();
    Town(vec![QueryEngine::new(Arc::new(store))])
}

#[test]
fn change_links_clusters_in_a_layer_of_its_own() {
    let engine = engine(vec![complete(by_change())]);
    for of in [1, 3, 5] {
        let found = ask(&engine, of, json!({"include_change": true}));
        assert_eq!((&found["cluster_id"], &found["size"]), (&json!(number(of)), &json!(1)), "the first layer stays");
        let with = &found["with_change"];
        assert_eq!((&with["cluster_id"], &with["size"]), (&json!(number(1)), &json!(3)));
        let named = |of: u64| json!({"cluster_id": number(of), "size": 1});
        assert_eq!(with["clusters"], json!([named(1), named(3), named(5)]));
        let links: Vec<_> =
            with["links"].as_array().unwrap().iter().map(|link| (&link["txid"], &link["index"])).collect();
        assert_eq!(links, [(&json!(tx(3)), &json!(1)), (&json!(tx(4)), &json!(1))]);
        assert_eq!(with["refused"], json!([]));
    }
}

#[test]
fn change_joins_no_different_entities() {
    let entity = |of: u64, name: &str| {
        let claim = claim(Chain::BITCOIN, address(Chain::BITCOIN, of), Code::Exchange, Level::TrustedProvider, "list");
        Claim { entity: Some(name.into()), ..claim }
    };
    let engine = with_labels(by_change(), vec![entity(1, "One"), entity(5, "Five")]);
    let of = |of: u64| ask(&engine, of, json!({"include_change": true}))["with_change"].clone();
    let ids = |with: &Value| {
        with["clusters"].as_array().unwrap().iter().map(|cluster| cluster["cluster_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&of(3)), [json!(number(1)), json!(number(3))]);
    assert_eq!(ids(&of(5)), [json!(number(5))]);
    let refused = &of(1)["refused"];
    assert_eq!((&refused[0]["txid"], &refused[0]["reason"]), (&json!(tx(4)), &json!("different_entities")));
}

#[test]
fn labels_of_a_cluster_reach_its_other_addresses() {
    let listed = claim(Chain::BITCOIN, address(Chain::BITCOIN, 1), Code::Exchange, Level::TrustedProvider, "list");
    let engine = with_labels(three(), vec![Claim { entity: Some("Bank".into()), ..listed }]);
    let labels = |of: u64| data(&engine, "labels", &json!({"blockchain": "bitcoin", "address": number(of)}));
    // 0.5 of a trusted provider, of which a cluster passes on nine tenths.
    let inherited = labels(2);
    assert_eq!((&inherited["labels"], &inherited["confidence"]), (&json!(["exchange"]), &json!(0.45)));
    assert_eq!(
        (&inherited["entity_name"], &inherited["sources"][0]["inherited_from"]),
        (&json!("Bank"), &json!("cluster"))
    );
    assert_eq!(labels(1)["sources"][0]["inherited_from"], Value::Null);
    assert_eq!(labels(8)["sources"], json!([]));
    let wallet = data(&engine, "wallet-overview", &json!({"blockchain": "bitcoin", "address": number(2)}));
    assert_eq!(wallet["cluster"], json!({"cluster_id": number(1), "size": 2}));
    assert_eq!(wallet["label"]["entity_name"], "Bank");
}

#[test]
fn search_finds_named_addresses_alone_with_their_labels() {
    let on = |of, code, level| claim(Chain::BITCOIN, address(Chain::BITCOIN, of), code, level, "list");
    let bank = Claim { entity: Some("Bank".into()), ..on(1, Code::Exchange, Level::TrustedProvider) };
    let thief = Claim { name: Some("Thief".into()), ..on(2, Code::Sanction, Level::SanctionsList) };
    let engine = with_labels(three(), vec![bank, thief]);
    let search = |query: &str| {
        let found = data(&engine, "labels/search", &json!({ "q": query }));
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{query}");
        found["results"][0].clone()
    };
    for (query, of, sanctioned) in [("bank", 1, false), ("thief", 2, true)] {
        let row = search(query);
        // What it has from its cluster is among its labels, but does not list it.
        assert_eq!((&row["address"], &row["sanctioned"]), (&json!(number(of)), &json!(sanctioned)));
        let labels = data(&engine, "labels", &json!({"blockchain": "bitcoin", "address": number(of)}));
        for field in ["entity_name", "labels", "confidence"] {
            assert_eq!(row[field], labels[field], "{field}");
        }
        assert!(row["labels"].as_array().unwrap().contains(&json!("sanction")), "{row}");
    }
}

#[test]
fn oldest_sanction_and_newest_name_of_a_cluster_are_inherited() {
    let dated = |of: u64, code, level, secs| Claim {
        asserted_at: Some(Timestamp::new(secs)),
        ..claim(Chain::BITCOIN, address(Chain::BITCOIN, of), code, level, "list")
    };
    let both = |code, level| vec![dated(1, code, level, 1000), dated(2, code, level, 2000)];
    let mut claims = both(Code::Sanction, Level::SanctionsList);
    claims.extend(both(Code::Exchange, Level::TrustedProvider));
    let engine = with_labels(chain_of_four(), claims);
    let report = data(&engine, "labels", &json!({"blockchain": "bitcoin", "address": number(3)}));
    let seen = |label: &str| {
        let mut of_label = report["sources"].as_array().unwrap().iter().filter(|source| source["label"] == label);
        of_label.next().unwrap()["first_seen"].clone()
    };
    assert_eq!((seen("sanction"), seen("exchange")), (json!(1000), json!(2000)));
}

/// 1 and 2 pay together in blocks 6 and 7, 3 and 4 in block 8, and 2 and 3 in block 9.
fn chain_of_four() -> Chainlet {
    let mut chain = Chainlet::bitcoin();
    for number in [1, 2, 3, 4, 1] {
        chain = chain.mine(number, 100_000);
    }
    chain
        .spend(&[(1, 0, 0), (2, 0, 0)], &[(2, 50_000), (20, 149_000)])
        .spend(&[(5, 0, 0), (6, 0, 0)], &[(21, 149_000)])
        .spend(&[(3, 0, 0), (4, 0, 0)], &[(3, 50_000), (22, 149_000)])
        .mine(2, 70_000)
        .spend(&[(8, 0, 0), (9, 0, 0)], &[(23, 119_000)])
}

#[test]
fn weakest_link_is_the_transaction_between_the_two_largest_parts() {
    let engine = engine(vec![complete(chain_of_four())]);
    let found = ask(&engine, 4, json!({}));
    assert_eq!(found["size"], 4);
    let weakest = json!({"txid": tx(10), "block_number": 10, "parts": [2, 2], "addresses": 2});
    assert_eq!(found["weakest_link"], weakest);
    // Of two addresses that two transactions link, either can be spared.
    let twice = Chainlet::bitcoin()
        .mine(1, 100_000)
        .mine(2, 100_000)
        .spend(&[(1, 0, 0), (2, 0, 0)], &[(1, 50_000), (2, 149_000)])
        .spend(&[(3, 0, 0), (3, 0, 1)], &[(9, 198_000)]);
    let engine = engine_of(twice);
    assert_eq!(ask(&engine, 1, json!({}))["weakest_link"], Value::Null);
    assert_eq!(ask(&engine, 9, json!({}))["weakest_link"], Value::Null);
}

fn engine_of(chainlet: Chainlet) -> Town {
    engine(vec![complete(chainlet)])
}

fn sanctioned(of: u64) -> Claim {
    claim(Chain::BITCOIN, address(Chain::BITCOIN, of), Code::Sanction, Level::SanctionsList, "list")
}

fn risk(engine: &Town, of: u64) -> Value {
    data(engine, "address-risk", &json!({"blockchain": "bitcoin", "address": number(of)}))
}

#[test]
fn inherited_sanction_opens_no_gate_and_names_its_links() {
    let engine = with_labels(chain_of_four(), vec![sanctioned(1)]);
    let listed = risk(&engine, 1);
    assert_eq!((&listed["composite_score"], &listed["decision"]["gated"]), (&json!(100.0), &json!(true)));
    // 4 is linked to 3 by block 8, 3 to 2 by block 10, 2 to 1 by block 6.
    let beside = risk(&engine, 4);
    assert_eq!((&beside["composite_score"], &beside["risk_level"]), (&json!(90.0), &json!("high")));
    assert_eq!((&beside["decision"]["gated"], &beside["decision"]["gate_reason"]), (&json!(false), &Value::Null));
    let through = json!({
        "address": number(1), "cluster_id": number(1), "confidence": 0.9, "transactions": [tx(8), tx(10), tx(6)],
    });
    let factor = &beside["factors"][0];
    assert_eq!((&factor["code"], &factor["inherited_through"]), (&json!("sanction"), &json!([through])));
    let detail = factor["detail"].as_str().unwrap();
    assert!(detail.contains(&number(1)) && detail.contains(&tx(10)), "{detail}");
    let labels = data(&engine, "labels", &json!({"blockchain": "bitcoin", "address": number(4)}));
    assert_eq!(labels["sources"][0]["inherited_through"], through);
    // Whoever deals with 4 deals with an address that no list names.
    let of_listed = data(&engine, "labels", &json!({"blockchain": "bitcoin", "address": number(1)}));
    assert_eq!(of_listed["sources"][0]["inherited_through"], Value::Null);
}

#[test]
fn inherited_labels_change_no_gate_of_another() {
    let codes = [Code::Sanction, Code::Ransomware, Code::Exchange, Code::Theft];
    let of = |number: u64, code: Code| {
        claim(Chain::BITCOIN, address(Chain::BITCOIN, number), code, Level::SanctionsList, code.name())
    };
    for own in codes {
        for other in codes {
            let gate = |claims: Vec<Claim>| risk(&with_labels(chain_of_four(), claims), 2)["decision"].clone();
            let (with, without) = (gate(vec![of(2, own), of(3, other)]), gate(vec![of(2, own)]));
            assert_eq!(
                (&with["gated"], &with["gate_reason"]),
                (&without["gated"], &without["gate_reason"]),
                "{own} with {other} beside it"
            );
            assert_eq!(gate(vec![of(3, other)])["gated"], false, "{other} beside it alone");
        }
    }
}

#[test]
fn claim_of_an_address_only_is_not_inherited() {
    let only = Claim { link: headwater_ledger::labels::Link::ExactOnly, ..sanctioned(1) };
    let engine = with_labels(chain_of_four(), vec![only]);
    assert_eq!(risk(&engine, 1)["decision"]["gate_reason"], "ofac_sanctioned");
    assert_eq!((&risk(&engine, 2)["composite_score"], &risk(&engine, 2)["factors"]), (&json!(0.0), &json!([])));
}

#[test]
fn trace_ends_where_anybody_can_spend() {
    let chain = Chainlet::bitcoin()
        .mine(1, 100_000)
        .spend(&[(1, 0, 0)], &[(ANCHOR, 60_000), (2, 39_000)])
        .spend(&[(2, 0, 0)], &[(3, 59_000)]);
    let request = json!({"blockchain": "bitcoin", "address": number(1), "track_setting": {"outward_depth": 4, "inward_depth": 0}});
    let found = data(&engine(vec![complete(chain)]), "trace", &request);
    let end = found["ends"].as_array().unwrap().iter().find(|end| end["address"] == number(ANCHOR)).unwrap();
    assert_eq!(end["stop_reason"], "no_owner");
    assert!(found["nodes"].as_array().unwrap().iter().all(|node| node["address"] != number(3)));
}

/// 1 pays 300,000 and 2 pays 200,000 of the 490,000 that 9 receives.
#[test]
fn counterparties_by_cluster_are_summed_under_its_name() {
    let engine = engine(vec![complete(three())]);
    let rows = |further: Value| {
        let mut request = json!({"address": number(9)});
        request.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        let found = data(&engine, "counterparty/list", &request);
        let row = |row: &Value| (row["address"].clone(), row["received_amount"].clone(), row["total_count"].clone());
        found["datas"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
    };
    let of = |who: u64, amount: &str| (json!(number(who)), json!(amount), json!(1));
    assert_eq!(rows(json!({})), [of(1, "0.00294"), of(2, "0.00196")]);
    assert_eq!(rows(json!({"group_by": "cluster"})), [of(1, "0.0049")]);
    assert_eq!(rows(json!({"group_by": "cluster", "direction": "out"})), []);
}
