//! Small ledgers in memory, and an engine over them.
#![allow(dead_code, reason = "each test file uses its part of the town")]

use std::sync::{Arc, LazyLock};

use headwater_engine::{
    Answer, Classifier, Classifiers, Error, ErrorKind, Intelligence, QueryEngine, Reason, endpoint,
};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{
    Batch, BlockFacts, Body, InputFacts, Movement, MovementFact, OutPoint, OutputFacts, TokenFacts, TransactionFacts,
    UtxoFacts,
};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::{Ordinal, ScriptType, Status};
use headwater_ledger::store::{Segmentation, Split, in_memory};
use headwater_testkit::{claim, label_import};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp, TxHash};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::{Value, json};

/// The account whose address repeats one byte.
pub fn person(byte: u8) -> Address {
    Address::Evm([byte; 20])
}

pub const ALICE: u8 = 0x11;
pub const BOB: u8 = 0x22;
pub const CAROL: u8 = 0x33;
/// A verified token, 6 decimals.
pub const USDT: u8 = 0xdd;
/// Calls itself USDT; no registry knows it.
pub const FAKE: u8 = 0xef;

pub fn hash(number: u8) -> TxHash {
    TxHash::new([number; 32])
}

/// Block `n` was made at second `1000 + 10 n`.
pub fn time(block: u64) -> Timestamp {
    Timestamp::new(1000 + 10 * i64::try_from(block).unwrap())
}

/// A transaction of wei in a block.
pub fn send(number: u8, block: u64, index: u32, from: u8, to: u8, wei: u128) -> TransactionFacts {
    TransactionFacts {
        time: Some(time(block)),
        index: Some(index),
        body: Some(Body { from: Some(person(from)), to: Some(person(to)), value: Amount::from_u128(wei) }),
        status: Some(Status::Success),
        ..TransactionFacts::new(hash(number), block)
    }
}

pub fn token(log: u64, contract: u8, from: u8, to: u8, raw: u64) -> Movement {
    Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Indexed(log),
        from: Some(person(from)),
        to: Some(person(to)),
        asset: Asset::Token(person(contract)),
        amount: Amount::from(raw),
    }
}

pub fn listing(contract: u8, symbol: &str) -> TokenListing {
    TokenListing {
        chain: Chain::ETHEREUM,
        contract: person(contract),
        symbol: symbol.to_owned(),
        name: format!("{symbol} coin"),
        decimals: 6,
        verified: true,
        coingecko_id: None,
    }
}

pub fn price(symbol: &str, usd: f64) -> PricePoint {
    PricePoint { symbol: symbol.to_owned(), time: Timestamp::new(1000), usd }
}

pub const ETHER: u128 = 1_000_000_000_000_000_000;

/// What Alice, Bob and Carol did in six blocks of Ethereum. An ether is worth two dollars, a USDT one.
pub fn transactions() -> Vec<TransactionFacts> {
    let mut gift = send(1, 1, 0, ALICE, BOB, 3 * ETHER / 2);
    gift.gas_used = Some(21_000);
    gift.gas_limit = Some(30_000);
    gift.gas_price = Some(Amount::from(1_000_000_000));
    let mut payment = send(2, 2, 0, ALICE, USDT, 0);
    payment.movements = vec![token(0, USDT, ALICE, BOB, 100_000_000), token(1, FAKE, BOB, ALICE, 5_000_000)];
    payment.input = Some(vec![0xa9, 0x05, 0x9c, 0xbb, 0x01]);
    let mut failed = send(3, 3, 0, BOB, ALICE, ETHER / 2);
    failed.status = Some(Status::Failed);
    let change = send(4, 4, 1, BOB, ALICE, ETHER / 4);
    let own = send(5, 4, 0, ALICE, ALICE, ETHER);
    let mut unknown = send(6, 5, 0, CAROL, ALICE, 2 * ETHER);
    unknown.status = None;
    let mut mint = send(7, 6, 0, CAROL, USDT, 0);
    mint.movements = vec![token(0, USDT, 0, ALICE, 7_000_000)];
    vec![gift, payment, failed, change, own, unknown, mint]
}

pub fn batch(transactions: Vec<TransactionFacts>) -> Batch {
    let mut batch = Batch::new(Chain::ETHEREUM);
    let mut blocks: Vec<u64> = transactions.iter().map(|transaction| transaction.block).collect();
    blocks.dedup();
    batch.blocks =
        blocks.into_iter().map(|number| BlockFacts { number, hash: None, parent: None, time: time(number) }).collect();
    batch.transactions = transactions;
    batch.tokens = vec![TokenFacts {
        contract: person(FAKE),
        symbol: Some("USD\u{422}".to_owned()),
        name: None,
        decimals: Some(6),
        is_non_fungible: false,
    }];
    batch
}

/// The same content in 1, 3 and 17 segments, packed and raw, and in 3 with edges and holder tables built: every question
/// is put to all of them, on one thread and on two, and all must agree to the byte.
pub struct Town(pub Vec<QueryEngine>);

/// The pools that questions are asked in.
static POOLS: LazyLock<[ThreadPool; 2]> =
    LazyLock::new(|| [1, 2].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()));

pub fn engine(batches: Vec<Batch>) -> Town {
    let prices = vec![price("eth", 2.0), price("usdt", 1.0), price("btc", 10.0)];
    over(batches, vec![listing(USDT, "USDT")], prices)
}

/// The same with a registry and prices of its own.
pub fn over(batches: Vec<Batch>, listings: Vec<TokenListing>, prices: Vec<PricePoint>) -> Town {
    let whole = in_memory(batches, listings, prices).unwrap();
    let segmented =
        |segments| whole.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    let built = segmented(3).with_sidecars(&Cancel::new()).unwrap();
    let stores = [segmented(1), segmented(3), segmented(17), built].into_iter();
    Town(stores.map(|store| QueryEngine::new(Arc::new(store))).collect())
}

/// Transactions of Ethereum with these labels, each of full confidence, in one segment, in three, and in three with edges.
pub fn labelled(transactions: Vec<TransactionFacts>, labels: &[(u8, Code)]) -> Town {
    let prices = vec![price("eth", 2.0), price("usdt", 1.0)];
    let whole = in_memory(vec![batch(transactions)], vec![listing(USDT, "USDT")], prices).unwrap();
    let claims: Vec<_> =
        labels.iter().map(|(who, code)| claim(Chain::ETHEREUM, person(*who), *code, Level::Forensic, "list")).collect();
    let segmented =
        |segments| whole.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    let built = segmented(3).with_sidecars(&Cancel::new()).unwrap();
    let labelled = [segmented(1), segmented(3), built].into_iter().map(|mut store| {
        store.import_labels(label_import("list", claims.clone(), 0)).unwrap();
        QueryEngine::new(Arc::new(store))
    });
    Town(labelled.collect())
}

pub fn town() -> Town {
    engine(vec![batch(transactions())])
}

/// The town, and one label on a chain without rows.
pub fn town_with_a_label_on(chain: Chain) -> Town {
    let whole = in_memory(vec![batch(transactions())], vec![listing(USDT, "USDT")], vec![price("eth", 2.0)]).unwrap();
    let named = claim(chain, headwater_testkit::address(chain, 1), Code::Exchange, Level::Forensic, "list");
    let stores = [1, 3].map(|segments| {
        let segmentation = Segmentation { segments, split: Split::Scattered, tail_blocks: 0 };
        let mut store = whole.in_segments(segmentation).unwrap();
        store.import_labels(label_import("list", vec![named.clone()], 0)).unwrap();
        QueryEngine::new(Arc::new(store))
    });
    Town(stores.into())
}

/// Two trees about the movements in and out, and where each leaf leads:
///
/// ```text
/// Exchange  in_count <= 10: out_count <= 2.5 gives 0.5, else 1.5; in_count > 10 gives 2.5      in logits 2 · raw + 1
/// Scam      1, and out_count <= 3 subtracts 1, else adds 1                                     in logits 2 · raw
/// ```
pub fn classifier(chain: Chain) -> Classifier {
    let model = json!({
        "format": "headwater-classifier/1",
        "chain": chain.name(),
        "version": "by hand",
        "features_version": headwater_metrics::features::VERSION,
        "features": ["in_count", "out_count", "in_gap_median_secs"],
        "classes": ["Exchange", "Scam"],
        "priors": [0.25, 0.75],
        "calibration": {"temperature": 0.5, "offsets": [1, 0]},
        "initial": [0, 1],
        "trees": {
            "class": [0, 1],
            "nodes": [2, 1],
            "feature": [0, 1, 1],
            "threshold": [10, 2.5, 3],
            "left": [1, -1, -1],
            "right": [-3, -2, -2],
            "missing_left": [0, 0, 1],
            "node_cover": [8, 6, 8],
            "leaf": [0.5, 1.5, 2.5, -1, 1],
            "leaf_cover": [4, 2, 2, 4, 4],
        },
        "card": {"simulated_classes": ["Exchange"]},
    });
    Classifier::parse(model.to_string().as_bytes()).unwrap()
}

/// The same with the classifier of a chain.
pub fn with_classifier(town: Town, chain: Chain) -> Town {
    let classifiers = Arc::new(Classifiers::default().with(classifier(chain)));
    let intelligence = Intelligence { classifiers, ..Intelligence::default() };
    Town(town.0.into_iter().map(|engine| engine.with_intelligence(intelligence.clone())).collect())
}

/// The town, whose accounts can be classified.
pub fn classifying() -> Town {
    with_classifier(town(), Chain::ETHEREUM)
}

pub fn ask(engine: &Town, name: &str, request: &Value) -> Result<Answer, Error> {
    let ask = |engine: &QueryEngine, pool: &ThreadPool| {
        pool.install(|| engine.answer(endpoint(name).unwrap(), request, &Cancel::new()))
    };
    let mut answers = engine.0.iter().flat_map(|engine| POOLS.iter().map(move |pool| ask(engine, pool)));
    let first = answers.next().expect("a town has desks");
    let told = first.as_ref().map(sourceless).unwrap_or_default();
    for other in answers {
        match (&first, other) {
            (Ok(_), Ok(other)) => assert_eq!(told, sourceless(&other), "{name} {request}"),
            (first, other) => {
                assert_eq!(first.as_ref().err().map(|e| e.kind), other.err().map(|e| e.kind), "{name} {request}");
            }
        }
    }
    first
}

/// An answer without what it was read from, which is all that may differ.
fn sourceless(answer: &Answer) -> String {
    format!("{answer:?}").replace(r#"\"source\":\"edges\""#, r#"\"source\":\"postings\""#)
}

pub fn data(engine: &Town, name: &str, request: &Value) -> Value {
    ask(engine, name, request).unwrap_or_else(|error| panic!("{name} {request}: {error:?}")).value()
}

pub fn reason(engine: &Town, name: &str, request: &Value) -> (Reason, Option<String>) {
    match ask(engine, name, request) {
        Err(Error { kind: ErrorKind::InvalidInput(reason), field, .. }) => (reason, field),
        other => panic!("{name} {request}: {other:?}"),
    }
}

/// A request about an Ethereum account with further fields.
pub fn about(who: u8, more: Value) -> Value {
    let mut request = json!({"blockchain": "ethereum", "address": person(who).to_string()});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// A request about two Ethereum accounts with further fields.
pub fn between(target: u8, counterparty: u8, more: Value) -> Value {
    let mut request = json!({
        "blockchain": "ethereum",
        "target": person(target).to_string(),
        "counterparty": person(counterparty).to_string(),
    });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// One field of every row.
pub fn column<'a>(data: &'a Value, field: &str) -> Vec<&'a Value> {
    data["datas"].as_array().unwrap().iter().map(|row| &row[field]).collect()
}

/// Four Bitcoin addresses: two that pay together, two that are paid.
pub const PAYERS: [&str; 2] = ["1FDCgJ8m2xDyVmYuankk13XReVC2Zvs5cz", "1HxbaBMF2jXBVnagoHvaA6rLxmaYL8gb8T"];
pub const PAID: [&str; 2] = ["1231PgW8KbpwKkvACPhp13fcL6fM5sKGvy", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"];

fn output(owner: &str, amount: u64) -> OutputFacts {
    let owner = Some(Address::parse(Chain::BITCOIN, owner).unwrap());
    OutputFacts { owner, amount, script: ScriptType::P2pkh, data: None }
}

/// Two coinbases, and one transaction that spends both: 1,480,000 and 2,500,000 satoshis become 1,325,000 and
/// 2,350,000, of which each payer's share is published (`methods.md` 6.1).
pub fn bitcoin() -> Town {
    let transaction = |number: u8, block: u64, utxo: UtxoFacts| TransactionFacts {
        time: Some(time(block)),
        index: Some(0),
        utxo: Some(utxo),
        ..TransactionFacts::new(hash(number), block)
    };
    let coinbase = |owner: &str, amount: u64| UtxoFacts::new(true, vec![], vec![output(owner, amount)]);
    let spend = |number: u8| InputFacts::new(OutPoint { hash: hash(number), index: 0 }, None);
    let joint =
        UtxoFacts::new(false, vec![spend(1), spend(2)], vec![output(PAID[0], 1_325_000), output(PAID[1], 2_350_000)]);
    let mut batch = Batch::new(Chain::BITCOIN);
    batch.transactions = vec![
        transaction(1, 1, coinbase(PAYERS[0], 1_480_000)),
        transaction(2, 2, coinbase(PAYERS[1], 2_500_000)),
        transaction(3, 3, joint),
    ];
    batch.blocks = (1..=3).map(|number| BlockFacts { number, hash: None, parent: None, time: time(number) }).collect();
    engine(vec![batch])
}

/// A coinbase, and a transaction that spends it together with an output that is not held; another coinbase, and a
/// transaction that spends it.
pub fn half_known() -> Town {
    let transaction = |number: u8, block: u64, utxo: UtxoFacts| TransactionFacts {
        time: Some(time(block)),
        index: Some(0),
        utxo: Some(utxo),
        ..TransactionFacts::new(hash(number), block)
    };
    let spend = |number: u8| InputFacts::new(OutPoint { hash: hash(number), index: 0 }, None);
    let coinbase = UtxoFacts::new(true, vec![], vec![output(PAYERS[0], 1_000)]);
    let joint = UtxoFacts::new(false, vec![spend(1), spend(9)], vec![output(PAID[0], 5_000)]);
    let reward = UtxoFacts::new(true, vec![], vec![output(PAYERS[1], 2_000)]);
    let later = UtxoFacts::new(false, vec![spend(3)], vec![output(PAID[0], 2_000)]);
    let mut batch = Batch::new(Chain::BITCOIN);
    batch.transactions = vec![
        transaction(1, 1, coinbase),
        transaction(2, 2, joint),
        transaction(3, 3, reward),
        transaction(4, 4, later),
    ];
    batch.blocks = (1..=4).map(|number| BlockFacts { number, hash: None, parent: None, time: time(number) }).collect();
    engine(vec![batch])
}
