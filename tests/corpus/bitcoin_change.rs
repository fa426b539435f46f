//! Change, CoinJoin shapes and peel chains in real blocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::score::{ScoreColumns, ScoreRow};
use headwater_engine::{QueryEngine, endpoint};
use headwater_ingest::{Options, Silent, ingest};
use headwater_intel::bitcoin::change::{Judgement, NoChange, RULES, judge};
use headwater_intel::bitcoin::coinjoin::{CoinJoin, Protocol};
use headwater_intel::bitcoin::gather::Gathered;
use headwater_intel::bitcoin::peel_chain::{PeelEnd, PeelRules, peel_chain, peel_chain_of};
use headwater_ledger::read::{Accounts, Generation, Scan, Transactions};
use headwater_ledger::store::{Store, Writer};
use headwater_ledger::{Cancel, Snapshot};
use headwater_types::{Address, Chain, Family, TxHash};
use serde_json::{Value, json};

fn file(name: &str) -> PathBuf {
    headwater_tests::corpus().join("bitcoin").join(name)
}

/// Reads files into a new store.
fn stored(folder: &Path, names: &[&str]) -> std::sync::Arc<Snapshot> {
    let paths: Vec<PathBuf> = names.iter().map(|name| file(name)).collect();
    let mut writer = Writer::open_or_create(folder).unwrap();
    let options = Options { chain: Some(Chain::BITCOIN), ..Options::default() };
    ingest(&paths, &options, &mut writer, &Silent, &Cancel::new()).unwrap();
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
    let mut unanswered = Vec::new();
    for (name, hash, place) in &changes {
        match judged(&ledger, hash).change {
            Ok(change) => assert_eq!(change.output, *place, "{name}"),
            Err(reason) => {
                assert_eq!(reason, NoChange::NoConsensus, "{name}");
                unanswered.push(name.as_str());
            }
        }
    }
    // One sign for one of three outputs: 0.6311 for the form of the script and 0.7701 for a new address are below 0.80.
    let one_sign = ["address-type-0", "address-type-1", "address-type-2"];
    let another = ["client-behavior-0", "client-behavior-1", "client-behavior-2"];
    let expected: Vec<String> = one_sign.iter().chain(&another).map(|name| format!("change-{name}")).collect();
    assert_eq!(unanswered, expected);
}

fn ask(engine: &QueryEngine, name: &str, request: &Value) -> Value {
    let answer = engine.answer(endpoint(name).unwrap(), request, &Cancel::new());
    answer.unwrap_or_else(|error| panic!("{name} {request}: {error}")).value()
}

/// Traces and lists of counterparties take for change what is: by the place that whoever made the transactions names.
#[test]
fn corpus_true_change_is_neither_hop_nor_counterparty() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stored(folder.path(), &["blocksci-regtest-bch/blk00000.dat"]);
    let engine = QueryEngine::new(Arc::new(Store::open(folder.path()).unwrap()) as _);
    let (mut followed, mut left_out) = (0, 0);
    for (name, hash, place) in true_changes() {
        let gathered = gathered(&ledger, &hash);
        let case = gathered.case();
        let payers = case.transaction.input_addresses();
        let owner = case.transaction.outputs()[place].owner.unwrap();
        let is_sure = judge(&case, RULES).change.is_ok_and(|change| change.confidence >= 0.9);
        let is_change = is_sure && !payers.contains(&owner);
        let id = hash.display(Family::Utxo);
        for payer in &payers {
            let track = json!({"outward_depth": 1, "inward_depth": 0, "limit": 100, "accumulate_amount": false});
            let request = json!({"blockchain": "bitcoin", "address": payer.to_string(), "track_setting": track});
            let trace = ask(&engine, "trace", &request);
            let of_transaction =
                |edge: &&Value| edge["from_address"] == payer.to_string() && edge["tx_hashes"] == json!([id]);
            for edge in trace["edges"].as_array().unwrap().iter().filter(of_transaction) {
                let expected = is_change && edge["to_address"] == owner.to_string();
                assert_eq!(edge["is_change"], expected, "{name}: {edge}");
                assert_eq!(edge["depth"], i32::from(!expected), "{name}: {edge}");
                followed += usize::from(expected);
            }
        }
        if is_change {
            let senders = |include: &str| -> Vec<String> {
                let request = json!({"address": owner.to_string(), "direction": "in", "include_change": include});
                let list = ask(&engine, "counterparty/list", &request);
                let rows = list["datas"].as_array().unwrap().iter();
                rows.map(|row| row["address"].as_str().unwrap().to_owned()).collect()
            };
            let mut expected: Vec<String> = payers.iter().map(ToString::to_string).collect();
            expected.sort();
            let mut all = senders("true");
            all.sort();
            assert_eq!((all, senders("false")), (expected, vec![]), "{name}");
            left_out += 1;
        }
    }
    assert_eq!((followed, left_out), (18, 16));
}

#[test]
fn corpus_the_first_peel_chain_returns_its_change_to_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stored(folder.path(), &["blocks1-256.bz2"]);
    for block in [170, 181, 182, 183, 248] {
        let found = ledger.transaction_at(Chain::BITCOIN, block, 1).unwrap().unwrap();
        let hash = ledger.transaction_head(found).unwrap().hash;
        let judgement = judged(&ledger, &hash);
        let change = judgement.change.unwrap();
        assert_eq!(change.output, 1, "block {block}");
        assert!(change.confidence > 0.999, "block {block}: the key is that of the input");
        let voters = |output: usize| -> Vec<&str> {
            let votes = judgement.votes.iter().filter(|vote| vote.outputs.contains(&output));
            votes.map(|vote| vote.rule.name()).collect()
        };
        assert!(voters(1).contains(&"address_reuse") && voters(1).contains(&"peeling_chain"), "block {block}");
        assert_eq!(voters(0), ["fresh_output", "legacy"], "block {block}: who is paid is new");

        let chain = |percent: u64| {
            let rules = PeelRules { most_peeled_percent: percent, least_steps: 1, ..PeelRules::default() };
            let found = peel_chain(&*ledger, Chain::BITCOIN, &hash, (&rules, &mut |_| Ok(false)), &Cancel::new());
            found.unwrap().map(|chain| (chain.steps.iter().map(|step| step.block).collect::<Vec<_>>(), chain.end))
        };
        // 10 of 50, 10 of 40, 1 of 30 and 1 of 29 are at most 30 hundredths; 10 of 28 are 36.
        let four = (block != 248).then(|| (vec![170, 181, 182, 183], PeelEnd::OtherForm));
        assert_eq!(chain(30), four, "block {block}");
        assert_eq!(chain(36), Some((vec![170, 181, 182, 183, 248], PeelEnd::Unspent)), "block {block}");
    }
}

#[test]
fn corpus_the_first_peel_chain_is_too_short_for_a_label() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stored(folder.path(), &["blocks1-256.bz2"]);
    // The key of the coinbase of block 9, from which all of it was paid.
    let address = Address::parse(Chain::BITCOIN, "12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S").unwrap();
    let account = ledger.account(Chain::BITCOIN, &address).unwrap().unwrap();
    let chain = |most_peeled_percent: u64| {
        let rules = PeelRules { most_peeled_percent, ..PeelRules::default() };
        let (scan, cancel) = (Scan::default(), Cancel::new());
        let found = peel_chain_of(&*ledger, &account, &scan, (&rules, &mut |_| Ok(false)), &cancel).unwrap();
        found.map(|chain| chain.steps.iter().map(|step| step.block).collect::<Vec<_>>())
    };
    assert_eq!(chain(30), None, "four steps at 30 hundredths");
    assert_eq!(chain(36), Some(vec![170, 181, 182, 183, 248]));
}

/// A miner of the first blocks was paid once: too little for a class. One key has more transfers, by the payments
/// of the reward of block 9: it mined, and paid out.
#[test]
fn corpus_rewards_of_the_first_blocks_are_unknown_or_a_pool() {
    let folder = tempfile::tempdir().unwrap();
    stored(folder.path(), &["blocks1-256.bz2"]);
    let engine = QueryEngine::new(Arc::new(Store::open(folder.path()).unwrap()));
    let columns = ScoreColumns { risk: false, class: true, features: true };
    let scorer = engine.scorer(Chain::BITCOIN, columns).unwrap();
    let addresses = scorer.addresses(None, 1_000).unwrap();
    let rows = scorer.score(&addresses, &Cancel::new()).unwrap();
    let place = |name: &str| scorer.features().iter().position(|feature| feature.name == name).unwrap();
    let (minted, ins, outs) = (place("utxo_coinbase_ratio"), place("in_count"), place("out_count"));
    let features = |row: &ScoreRow| row.features.clone().unwrap();
    assert!(rows.iter().filter(|row| features(row)[minted] > 0.0).count() > 200);
    let class = |row: &ScoreRow| row.class.as_ref().unwrap().class.clone();
    let (many, few): (Vec<_>, Vec<_>) = rows.iter().partition(|row| features(row)[ins] + features(row)[outs] >= 5.0);
    assert!(few.len() > 200 && few.iter().all(|row| class(row) == "Unknown"));
    let [one] = many[..] else { panic!("{many:?}") };
    assert_eq!(one.address.as_deref(), Some("12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S"));
    assert!(["MiningPool", "Unknown"].contains(&class(one).as_str()), "{}", class(one));

    // The answer says why, and that no real address was behind it.
    let request = json!({"blockchain": "bitcoin", "addresses": [one.address], "explain": true});
    let answer = engine.answer(endpoint("address-classify").unwrap(), &request, &Cancel::new()).unwrap();
    assert!(answer.warnings.iter().any(|warning| warning.code == "simulated_class"));
    let contributions = answer.value()["results"][0]["contributions"].clone();
    let named = |one: &Value| one["feature"].as_str().unwrap().starts_with("utxo_");
    assert!(contributions.as_array().unwrap().iter().any(named), "{contributions}");
}

/// Returns what the transactions of a block look like, by id, where they look like several people's.
fn coinjoins(name: &str) -> BTreeMap<String, CoinJoin> {
    let folder = tempfile::tempdir().unwrap();
    let ledger = stored(folder.path(), &[name]);
    let block = ledger.coverage()[&Chain::BITCOIN].last_block.unwrap();
    let mut found = BTreeMap::new();
    for index in 0.. {
        let Some(transaction) = ledger.transaction_at(Chain::BITCOIN, block, index).unwrap() else { break };
        let hash = ledger.transaction_head(transaction).unwrap().hash;
        let gathered = gathered(&ledger, &hash);
        assert_eq!(gathered.premix(), None);
        if let Some(coinjoin) = gathered.case().coinjoin {
            assert_eq!(judge(&gathered.case(), RULES).change, Err(NoChange::CoinJoin));
            found.insert(hash.display(Family::Utxo), coinjoin);
        }
    }
    found
}

#[test]
fn corpus_joint_transactions_of_real_blocks_are_named() {
    // Raw blocks do not state what inputs spend: shapes count half.
    let found = coinjoins("mainnet_block_702861.raw");
    assert!(
        found.values().all(|coinjoin| (coinjoin.confidence - 0.3).abs() < 1e-9 && coinjoin.inputs_unknown),
        "{found:?}"
    );
    let of = |protocol: Protocol| -> Vec<&str> {
        found.iter().filter(|(_, coinjoin)| coinjoin.protocol == protocol).map(|(id, _)| &id[..8]).collect()
    };
    // Five coins of 0.001 and 0.01 BTC in, five out.
    let whirlpool = ["11897079", "c31d23f5", "c57e3e49", "cba457a1", "d6b212a6", "e2e92bcd", "f35a8cdd"];
    assert_eq!(of(Protocol::Whirlpool), whirlpool);
    // 100 inputs, and 60 of 122 outputs of 0.10944832 BTC. In 2021 it can only be of version 1, whose amount had grown by
    // more than the twentieth that the rule allows; by its repeated amounts it looks like version 2.
    assert_eq!(of(Protocol::WasabiTwo), ["5c2f55fc"]);
    assert_eq!(found.len(), 8);
    for name in ["mainnet_block_250000.raw", "277647.dat.bz2", "mainnet_block_330000.raw", "mainnet_block_722010.raw"] {
        assert_eq!(coinjoins(name), BTreeMap::new(), "{name}");
    }
}
