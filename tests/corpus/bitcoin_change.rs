//! Change, CoinJoin shapes and peel chains in real blocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use headwater_ingest::{Options, Silent, ingest};
use headwater_intel::bitcoin::change::{Judgement, NoChange, RULES, judge};
use headwater_intel::bitcoin::coinjoin::{CoinJoin, Protocol};
use headwater_intel::bitcoin::gather::Gathered;
use headwater_intel::bitcoin::peel_chain::{PeelEnd, PeelRules, peel_chain};
use headwater_ledger::read::{Generation, Transactions};
use headwater_ledger::store::{Store, Writer};
use headwater_ledger::{Cancel, Snapshot};
use headwater_types::{Chain, Family, TxHash};
use serde_json::Value;

fn file(name: &str) -> PathBuf {
    headwater_tests::corpus().join("bitcoin").join(name)
}

/// Reads files into a new store.
fn stored(folder: &Path, names: &[&str]) -> std::sync::Arc<Snapshot> {
    let paths: Vec<PathBuf> = names.iter().map(|name| file(name)).collect();
    let mut writer = Writer::open_or_create(folder).unwrap();
    ingest(&paths, &Options::default(), &mut writer, &Silent, &Cancel::new()).unwrap();
    Store::open(folder).unwrap().snapshot().unwrap()
}

fn gathered(ledger: &Snapshot, hash: &TxHash) -> Gathered {
    let found = ledger.find_transaction(Chain::BITCOIN, hash).unwrap().unwrap();
    let transaction = ledger.transaction(found).unwrap();
    Gathered::read(ledger, transaction, None, &Cancel::new()).unwrap().unwrap()
}

fn judged(ledger: &Snapshot, hash: &TxHash) -> Judgement {
    judge(&gathered(ledger, hash).case(), RULES)
}

fn id(text: &str) -> TxHash {
    TxHash::parse(Family::Utxo, text).unwrap()
}

/// Transactions of a chain made for tests, with the true place of their change: (name, id, place).
fn true_changes() -> Vec<(String, TxHash, usize)> {
    let text = std::fs::read_to_string(file("blocksci-regtest-bch/output.json")).unwrap();
    let named: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let mut changes = Vec::new();
    for (key, place) in named.iter().filter(|(key, _)| key.contains("-position")) {
        let hash = named[&key.replace("-position", "-tx")].as_str().unwrap();
        let place = usize::try_from(place.as_u64().unwrap()).unwrap();
        changes.push((key.replace("-position", ""), id(hash), place));
    }
    changes
}

#[test]
fn corpus_true_change_is_found_and_no_answer_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stored(folder.path(), &["blocksci-regtest-bch/blk00000.dat"]);
    let changes = true_changes();
    assert_eq!(changes.len(), 30);
    for (name, hash, place) in &changes {
        let judgement = judged(&ledger, hash);
        let votes: Vec<_> = judgement.votes.iter().map(|vote| (vote.rule.name(), &vote.outputs)).collect();
        println!("{name} {place} {:?} {:?} {votes:?}", judgement.change, judgement.confidences);
    }
}

#[test]
fn corpus_the_first_peel_chain() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stored(folder.path(), &["blocks1-256.bz2"]);
    for block in [170, 181, 182, 183, 248] {
        let found = ledger.transaction_at(Chain::BITCOIN, block, 1).unwrap().unwrap();
        let hash = ledger.transaction_head(found).unwrap().hash;
        let judgement = judged(&ledger, &hash);
        println!("{block} {:?} {:?}", judgement.change, judgement.votes);
        for percent in [30, 40] {
            let rules = PeelRules { most_peeled_percent: percent, least_steps: 1, ..PeelRules::default() };
            println!(
                "{percent} {:?}",
                peel_chain(&*ledger, Chain::BITCOIN, &hash, (&rules, &mut |_| Ok(false)), &Cancel::new())
                    .unwrap()
                    .map(|chain| (chain.steps.iter().map(|step| step.block).collect::<Vec<_>>(), chain.end))
            );
        }
    }
}

#[test]
fn corpus_coinjoins_of_real_blocks() {
    for name in [
        "mainnet_block_250000.raw",
        "mainnet_block_330000.raw",
        "mainnet_block_702861.raw",
        "mainnet_block_722010.raw",
        "277647.dat.bz2",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let ledger = stored(folder.path(), &[name]);
        let block = ledger.coverage()[&Chain::BITCOIN].last_block.unwrap();
        let mut all = 0;
        let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
        for index in 0.. {
            let Some(found) = ledger.transaction_at(Chain::BITCOIN, block, index).unwrap() else { break };
            let hash = ledger.transaction_head(found).unwrap().hash;
            let gathered = gathered(&ledger, &hash);
            let case = gathered.case();
            all += 1;
            let judgement = judge(&case, RULES);
            *outcomes.entry(format!("{:?}", judgement.change.map(|_| ()))).or_default() += 1;
            if let Some(found) = case.coinjoin {
                let utxo = gathered.transaction().facts.utxo.as_ref().unwrap();
                let mut amounts: BTreeMap<u64, usize> = BTreeMap::new();
                for output in &utxo.outputs {
                    *amounts.entry(output.amount).or_default() += 1;
                }
                let common = amounts.iter().max_by_key(|(_, count)| **count).unwrap();
                println!(
                    "{name} {index} {} {:?} {:.4} in {} out {} common {:?} unknown {}",
                    hash.display(Family::Utxo),
                    found.protocol,
                    found.confidence,
                    utxo.inputs.len(),
                    utxo.outputs.len(),
                    common,
                    case.transaction.unknown_inputs()
                );
            }
            if let Some(premix) = gathered.premix() {
                println!("{name} {} {premix:?}", hash.display(Family::Utxo));
            }
        }
        println!("{name} {all} {outcomes:?}");
    }
}
