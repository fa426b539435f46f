//! One address at one generation has one score, whoever asks: single calls, batches, tables of scores and alerts.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_engine::events::{Follower, Subscription, Watcher};
use headwater_engine::score::ScoreColumns;
use headwater_engine::{Intelligence, QueryEngine, endpoint};
use headwater_intel::risk::{Assessor, DataEnd, GateReason, Judgement, RiskScope};
use headwater_ledger::labels::Scope;
use headwater_ledger::read::Generations;
use headwater_ledger::store::{MemoryStore, in_memory};
use headwater_ledger::{Cancel, Ledger};
use headwater_testkit::is_full;
use headwater_types::{Address, Chain};
use serde_json::{Value, json};

use super::DEMO;

const CHAINS: [Chain; 4] = [Chain::ETHEREUM, Chain::TRON, Chain::BSC, Chain::BITCOIN];

/// Addresses of a chain that are compared where not all are.
const SAMPLE: usize = 400;

/// Addresses of one call of the batch.
const BATCH: usize = 50;

/// The addresses of a chain; every so many of them unless all are wanted.
fn addresses(ledger: &dyn Ledger, chain: Chain) -> Vec<Address> {
    let all = ledger.addresses(chain, None, 1_000_000).unwrap();
    let step = if is_full() { 1 } else { (all.len() / SAMPLE).max(1) };
    all.into_iter().step_by(step).collect()
}

fn engine(store: &Arc<MemoryStore>) -> QueryEngine {
    QueryEngine::new(Arc::clone(store) as Arc<dyn Generations>)
}

/// Returns what has to be the same everywhere.
fn verdict_of(risk: &Value) -> Value {
    json!([risk["meta"]["assessment"], risk["composite_score"], risk["risk_level"], risk["decision"]["gate_reason"]])
}

fn single(engine: &QueryEngine, chain: Chain, address: &Address) -> Value {
    let request = json!({"blockchain": chain.name(), "address": address.to_string()});
    verdict_of(&engine.answer(endpoint("address-risk").unwrap(), &request, &Cancel::new()).unwrap().value())
}

fn of_judgement(of: &Judgement) -> Value {
    let score = (100.0 * of.score).round_ties_even() / 100.0;
    json!([of.sufficiency.level.name(), score, of.level.name(), of.gate().map(GateReason::name)])
}

#[test]
fn batches_tables_and_alerts_score_like_single_calls() {
    let (_, store) = &*DEMO;
    let (engine, ledger, cancel) = (engine(store), store.current().unwrap(), Cancel::new());
    let mut compared = 0;
    for chain in CHAINS {
        let addresses = addresses(&*ledger, chain);
        let columns = ScoreColumns { risk: true, class: false, features: false };
        let rows = engine.scorer(chain, columns).unwrap().score(&addresses, &cancel).unwrap();
        // What an alert about the last block is made of.
        let coverage = &ledger.coverage()[&chain];
        let (last, head) = (coverage.last_block.unwrap(), coverage.last_time.unwrap().secs());
        let intelligence = Intelligence::default();
        let scope = RiskScope::present(&*ledger, &intelligence, Scope::Chain(chain), &cancel);
        let mut alerts = Assessor::new(RiskScope { until: Some(DataEnd { before_block: last + 1, head }), ..scope });
        for (few, rows) in addresses.chunks(BATCH).zip(rows.chunks(BATCH)) {
            let query = |address: &Address| json!({"blockchain": chain.name(), "address": address.to_string()});
            let request = json!({"queries": few.iter().map(query).collect::<Vec<_>>()});
            let batch = engine.answer(endpoint("address-risk/batch").unwrap(), &request, &cancel).unwrap().value();
            for ((address, row), of_batch) in few.iter().zip(rows).zip(batch["results"].as_array().unwrap()) {
                let wanted = single(&engine, chain, address);
                let risk = row.risk.as_ref().unwrap();
                assert_eq!(verdict_of(of_batch), wanted, "batch: {chain} {address}");
                assert_eq!(json!([risk.assessment, risk.score, risk.level, risk.gate]), wanted, "{chain} {address}");
                let alert = of_judgement(&alerts.assess(address).unwrap().judgement);
                assert_eq!(alert, wanted, "alert: {chain} {address}");
                compared += 1;
            }
        }
    }
    assert!(compared > 3 * SAMPLE, "{compared}");
}

#[test]
fn alerts_of_an_import_are_the_scores_before_and_after() {
    let economy = &DEMO.0;
    let bare = in_memory(economy.batches.clone(), economy.tokens.clone(), economy.prices.clone()).unwrap();
    let before = engine(&bare);
    let labelled = &DEMO.1;
    let after = engine(labelled);
    let ledger = labelled.current().unwrap();
    for chain in [Chain::ETHEREUM, Chain::TRON, Chain::BITCOIN] {
        let mut watched: Vec<_> = economy.truth.labels.iter().filter(|row| row.chain == chain).collect();
        watched.sort_by_key(|row| row.address);
        watched.dedup_by_key(|row| row.address);
        let named = watched.iter().map(|row| row.address).step_by(watched.len() / 100 + 1);
        let mut watched: Vec<Address> = addresses(&*ledger, chain).into_iter().chain(named).collect();
        watched.sort_unstable();
        watched.dedup();
        watched.truncate(if is_full() { 10_000 } else { 300 });
        let texts: Vec<_> = watched.iter().map(Address::to_string).collect();
        let filters = json!({"blockchain": chain.name(), "addresses": texts});
        let (subscription, _) = Subscription::parse("risk_alert", &filters, &*ledger).unwrap();
        // The import is the last change of the store.
        let newest = Follower::new(Arc::clone(&bare) as Arc<dyn Generations>, 0).kept().unwrap().1;
        let mut follower = Follower::new(Arc::clone(labelled) as Arc<dyn Generations>, newest);
        let mut watcher = Watcher::new(subscription, newest);
        let mut alerts: BTreeMap<String, Value> = BTreeMap::new();
        loop {
            let steps = follower.next_steps(8).unwrap();
            if steps.is_empty() {
                break;
            }
            for event in steps.iter().flat_map(|step| watcher.advance(step).unwrap()) {
                alerts.insert(event.data["address"].as_str().unwrap().to_owned(), event.data);
            }
        }
        assert!(!alerts.is_empty(), "{chain}");
        for address in &watched {
            let (old, new) = (single(&before, chain, address), single(&after, chain, address));
            let reported = alerts.get(&address.to_string());
            assert_eq!((&old[2], &old[3]) != (&new[2], &new[3]), reported.is_some(), "{chain} {address}: {old} {new}");
            if let Some(reported) = reported {
                let verdict = json!([
                    reported["assessment"],
                    reported["composite_score"],
                    reported["risk_level"],
                    reported["gate_reason"]
                ]);
                assert_eq!((&verdict, &reported["previous_score"]), (&new, &old[1]), "{chain} {address}");
            }
        }
    }
}
