//! Scores of many addresses are those of single calls, for every address of an economy.

use std::io;
use std::sync::Arc;

use headwater_engine::score::{ObservationSample, ScoreColumns, ScoreRow, Scorer};
use headwater_engine::{Intelligence, QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generations;
use headwater_ledger::store::MemoryStore;
use headwater_metrics::features::{BaseGather, features_of, values};
use headwater_testkit::model;
use headwater_types::{Address, Chain};
use serde_json::{Value, json};

use crate::risk::DEMO;

const ALL: ScoreColumns = ScoreColumns { risk: true, class: true, features: true };
const CHAINS: [Chain; 3] = [Chain::ETHEREUM, Chain::TRON, Chain::BSC];

fn intelligence() -> Intelligence {
    let files = CHAINS.map(|chain| (chain.name().to_owned(), io::Result::Ok(model(chain).into_bytes())));
    Intelligence::default().with_models(files).unwrap()
}

fn engine() -> QueryEngine {
    QueryEngine::new(Arc::<MemoryStore>::clone(&DEMO.1)).with_intelligence(intelligence())
}

/// The risk of a row beside the answer of a single call.
fn compare(row: &ScoreRow, risk: &Value) {
    let scored = row.risk.as_ref().unwrap_or_else(|| panic!("{row:?} has no risk"));
    let dimensions = &risk["dimensions"];
    let number = |value: Option<f64>| value.map_or(Value::Null, |value| json!(value));
    let mut codes: Vec<_> = dimensions["behavior"]["behaviors"].as_array().into_iter().flatten().collect();
    codes.sort_by_key(|hit| scored.behaviours.iter().position(|code| hit["code"] == *code));
    // A score of 0 is in answers where counterparties were not looked at, and nothing in a row.
    let looked_at = risk["meta"]["graph_available"] == true;
    let graph = if looked_at { dimensions["graph"]["score"].clone() } else { Value::Null };
    let reported = json!({
        "composite_score": scored.score,
        "risk_level": scored.level,
        "gate_reason": scored.gate,
        "context": scored.context,
        "intel": scored.intel,
        "behavior": number(scored.behaviour),
        "graph": number(scored.graph),
        "behaviors": scored.behaviours,
    });
    let single = json!({
        "composite_score": risk["composite_score"],
        "risk_level": risk["risk_level"],
        "gate_reason": risk["decision"]["gate_reason"],
        "context": risk["decision"]["context"],
        "intel": dimensions["intel"]["score"],
        "behavior": dimensions["behavior"]["score"],
        "graph": graph,
        "behaviors": codes.iter().map(|hit| hit["code"].clone()).collect::<Vec<_>>(),
    });
    assert_eq!(reported, single, "{:?}\n{risk:#}", row.address);
}

fn all_addresses(scorer: &Scorer) -> Vec<Address> {
    let mut addresses = Vec::new();
    loop {
        let next = scorer.addresses(addresses.last(), 1000).unwrap();
        if next.is_empty() {
            return addresses;
        }
        addresses.extend(next);
    }
}

#[test]
fn batch_scores_equal_single_answers_for_every_address() {
    let ledger = DEMO.1.current().unwrap();
    let engine = engine();
    let (mut compared, mut in_context) = (0, 0);
    for chain in CHAINS {
        let scorer = engine.scorer(chain, ALL).unwrap();
        let addresses = all_addresses(&scorer);
        let rows = scorer.score(&addresses, &Cancel::new()).unwrap();
        assert_eq!(rows.len(), addresses.len());
        let intelligence = intelligence();
        let classifier = intelligence.classifiers.of(chain).unwrap();
        let mut wanted = Vec::new();
        for (address, row) in addresses.iter().zip(&rows) {
            assert_eq!(row.address.as_deref(), Some(address.to_string().as_str()));
            let request = json!({"blockchain": chain.name(), "address": address.to_string()});
            let risk = engine.answer(endpoint("address-risk").unwrap(), &request, &Cancel::new()).unwrap().value();
            compare(row, &risk);

            // Each with a reader of its own: what a task keeps from one address to the next changes nothing.
            let account = ledger.account(chain, address).unwrap().unwrap();
            let mut gather = BaseGather::new(chain);
            let base = gather.read(&*ledger, &account, &Cancel::new()).unwrap();
            let verdict = classifier.classify(base);
            assert_eq!(row.class.as_ref().map(|class| &class.class), verdict.as_ref().map(|verdict| &verdict.class));
            assert_eq!(
                row.class.as_ref().map(|class| (class.confidence.to_bits(), &class.probabilities)),
                verdict.as_ref().map(|verdict| (verdict.confidence.to_bits(), &verdict.probabilities)),
            );
            assert_eq!(row.class.is_none(), row.error.is_some(), "{row:?}");
            values(base, features_of(chain.family()), &mut wanted);
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(row.features.as_deref().map(bits), Some(bits(&wanted)), "{address}");
            in_context += usize::from(row.risk.as_ref().is_some_and(|risk| risk.context.is_some()));
        }
        compared += rows.len();

        // As few columns as may be give the same numbers.
        let only = |risk, class, features| {
            let columns = ScoreColumns { risk, class, features };
            engine.scorer(chain, columns).unwrap().score(&addresses, &Cancel::new()).unwrap()
        };
        assert!(only(true, false, false).iter().zip(&rows).all(|(one, all)| one.risk == all.risk));
        assert!(only(false, true, false).iter().zip(&rows).all(|(one, all)| one.class == all.class));
        let bits = |row: &ScoreRow| row.features.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert!(only(false, false, true).iter().zip(&rows).all(|(one, all)| bits(one) == bits(all)));
    }
    assert!(compared > 1000 && in_context > 100, "{compared} {in_context}");
}

#[test]
fn observing_a_share_changes_features_alone() {
    let engine = engine();
    let scorer = |observed| engine.scorer(Chain::ETHEREUM, ALL).unwrap().observed(observed);
    for share in [0.0, -1.0, 1.5, f64::NAN] {
        let refused = scorer(Some(ObservationSample { share, seed: 1 })).err().unwrap().message;
        assert!(refused.contains("above 0 and at most 1"), "{refused}");
    }
    let addresses = all_addresses(&scorer(None).unwrap());
    let score = |observed| scorer(observed).unwrap().score(&addresses, &Cancel::new()).unwrap();
    let (whole, half) = (score(None), score(Some(ObservationSample { share: 0.5, seed: 1 })));
    let of = |row: &ScoreRow| (row.address.clone(), row.risk.clone(), row.class.clone());
    assert!(whole.iter().zip(&half).all(|(one, other)| of(one) == of(other)));
    let movements = |rows: &[ScoreRow]| -> f64 {
        // Movements in and out are the first two features.
        rows.iter().filter_map(|row| row.features.as_ref()).map(|features| features[0] + features[1]).sum()
    };
    let ratio = movements(&half) / movements(&whole);
    assert!((0.2..0.8).contains(&ratio), "{ratio}");
}

#[test]
fn what_cannot_be_scored_has_a_row_that_says_why() {
    let engine = engine();
    let scorer = engine.scorer(Chain::ETHEREUM, ALL).unwrap();
    let known = scorer.addresses(None, 1).unwrap()[0].to_string();
    let spelled = format!(" 0x{} ", known[2..].to_uppercase());
    let unseen = "0x00000000000000000000000000000000000000ee";
    let texts = [Some("0x12"), None, Some(&*known), Some(unseen), Some(&*spelled), Some("")];
    let rows = scorer.score_texts(&texts, &Cancel::new()).unwrap();
    let error = |place: usize| rows[place].error.as_deref().unwrap_or_default();
    assert_eq!((rows[0].address.as_deref(), rows[1].address.as_deref()), (Some("0x12"), None));
    assert!(error(0).contains("0x12"), "{}", error(0));
    assert_eq!(error(1), "the address is missing");
    assert_eq!((error(2), rows[2].address.as_deref()), ("", Some(&*known)));
    assert_eq!(error(3), "no activity: no transfers of the address are held on ethereum");
    assert!(rows[3].risk.is_some() && rows[3].class.is_none() && rows[3].features.is_none());
    assert_eq!(rows[4].risk, rows[2].risk);
    assert_eq!(rows[4].address.as_deref(), Some(&*known));
    assert!(!error(5).is_empty());
    assert!(scorer.warnings().iter().all(|warning| warning.code != "labels_only"));

    // Whatever models the program has.
    let none = Intelligence { classifiers: Arc::default(), ..Intelligence::default() };
    let unclassified = engine.clone().with_intelligence(none).scorer(Chain::BITCOIN, ALL).err().unwrap();
    assert!(unclassified.message.contains("bitcoin") && unclassified.field.as_deref() == Some("columns"));
    let risk = ScoreColumns { class: false, features: false, ..ALL };
    let warnings = engine.scorer(Chain::BITCOIN, risk).unwrap().warnings();
    assert!(warnings.iter().any(|warning| warning.code == "labels_only"), "{warnings:?}");
}
