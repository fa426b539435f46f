//! Bitcoin in an economy that no model was trained on: classes of addresses, and labels of peel chains.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use headwater_engine::score::ScoreColumns;
use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::store::MemoryStore;
use headwater_simulate::Economy;
use headwater_simulate::truth::{Behaviour, Role, Verdict};
use headwater_types::Chain;
use serde_json::{Value, json};

/// Seeds 1 to 44 are of the training and its evaluation.
static UNSEEN: LazyLock<(Economy, Arc<MemoryStore>)> = LazyLock::new(|| crate::risk::of_seed(77));

fn engine() -> QueryEngine {
    QueryEngine::new(Arc::<MemoryStore>::clone(&UNSEEN.1))
}

fn class_of(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::Person | Role::Merchant | Role::Miner => "Unknown",
        Role::ExchangeHot => "Exchange",
        Role::ExchangeCold => "ColdWallet",
        Role::ExchangeDeposit => "Deposit",
        Role::BridgeVault => "Defi",
        Role::MiningPool => "MiningPool",
        Role::ScamCollector => "Scam",
        _ => return None,
    })
}

#[test]
fn bitcoin_addresses_of_an_unseen_economy_have_their_class() {
    let (economy, engine) = (&UNSEEN.0, engine());
    let columns = ScoreColumns { risk: false, class: true, features: true };
    let scorer = engine.scorer(Chain::BITCOIN, columns).unwrap();
    let of_chain = economy.truth.addresses.iter().filter(|row| row.chain == Chain::BITCOIN);
    let known: Vec<_> = of_chain.filter_map(|row| Some((row.address, class_of(row.role)?))).collect();
    let addresses: Vec<_> = known.iter().map(|(address, _)| *address).collect();
    let rows = scorer.score(&addresses, &Cancel::new()).unwrap();
    let transfers = scorer.features().iter().map(|feature| feature.name);
    let transfers: Vec<usize> = transfers
        .enumerate()
        .filter(|(_, name)| ["in_count", "out_count", "own_count"].contains(name))
        .map(|(place, _)| place)
        .collect();

    let mut right: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut one_of_each: BTreeMap<&str, String> = BTreeMap::new();
    for ((address, expected), row) in known.iter().zip(&rows) {
        let Some((class, features)) = row.class.as_ref().zip(row.features.as_ref()) else { continue };
        if transfers.iter().map(|place| features[*place]).sum::<f64>() < 5.0 {
            assert_eq!(class.class, "Unknown", "{address}: too few transfers");
            continue;
        }
        let (hits, all) = right.entry(expected).or_default();
        *hits += usize::from(class.class == *expected);
        *all += 1;
        if class.class == *expected {
            one_of_each.entry(expected).or_insert_with(|| address.to_string());
        }
    }
    let classes = ["ColdWallet", "Defi", "Deposit", "Exchange", "MiningPool", "Scam", "Unknown"];
    assert_eq!(right.keys().copied().collect::<Vec<_>>(), classes, "the economy has an address of each class");
    for (class, (hits, all)) in &right {
        assert!(10 * hits >= 9 * all, "{class}: {hits} of {all}");
    }

    // Single answers say the same, and that the classes were learnt from simulated addresses.
    let asked: Vec<&String> = one_of_each.values().collect();
    let request = json!({"blockchain": "bitcoin", "addresses": asked, "explain": true});
    let answer = engine.answer(endpoint("address-classify").unwrap(), &request, &Cancel::new()).unwrap();
    let simulated = answer.warnings.iter().find(|warning| warning.code == "simulated_class").unwrap();
    assert_eq!(simulated.count, Some(7));
    let report = answer.value();
    let names = |value: &Value| {
        let mut names: Vec<String> =
            value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&report["model"]["simulated_classes"]), classes);
    let results = report["results"].as_array().unwrap();
    let reported: Vec<&str> = results.iter().map(|result| result["predicted_class"].as_str().unwrap()).collect();
    assert_eq!(reported, classes);
    let pool = &results[4]["contributions"];
    let reads_transactions = |one: &Value| one["feature"].as_str().unwrap().starts_with("utxo_");
    assert!(pool.as_array().unwrap().iter().any(reads_transactions), "{pool}");
}

#[test]
fn peel_chain_labels_are_those_of_its_first_address() {
    let (economy, engine) = (&UNSEEN.0, engine());
    let planted = economy.truth.behaviours.iter().filter(|row| {
        row.chain == Chain::BITCOIN && row.behaviour == Behaviour::PeelChain && row.verdict == Verdict::Planted
    });
    let mut found = 0;
    for row in planted {
        let request = json!({"blockchain": "bitcoin", "address": row.address.to_string()});
        let labels = engine.answer(endpoint("labels").unwrap(), &request, &Cancel::new()).unwrap().value();
        let of_detector = |label: &&Value| label["label"] == "peel_chain" && label["source"] == "behaviour_detector";
        let label = labels["sources"].as_array().unwrap().iter().find(of_detector);
        assert!(label.is_some(), "{}: {labels:#}", row.address);
        found += 1;
    }
    assert!(found > 1, "{found} chains are planted");
}
