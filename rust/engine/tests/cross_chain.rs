//! Transfers over a bridge, worked by hand: both legs, one leg, none.

use std::sync::Arc;

use headwater_bridge::Tables;
use headwater_engine::{ErrorKind, QueryEngine, Reason};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, LogFacts, Movement, MovementFact};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::Ordinal;
use headwater_ledger::store::{MemoryStore, Segmentation, Split};
use headwater_testkit::{Chainlet, hash};
use headwater_types::{Address, Amount, Asset, Chain, Family};
use serde_json::{Value, json};

use crate::town::{Town, ask, data, listing, person, price};

/// Pools of Celer's cBridge.
const POOLS: [(Chain, &str); 2] = [
    (Chain::ETHEREUM, "0x5427fefa711eff984124bfbb1ab6fbf5e3da1820"),
    (Chain::BSC, "0xdd90e5e87a2081dcf0391920868ebc2ffb81a1af"),
];
const USDT: u8 = 9;

fn word(number: u64) -> [u8; 32] {
    Amount::from(number).to_be_bytes()
}

fn account(address: Address) -> [u8; 32] {
    let Address::Evm(bytes) = address else { unreachable!("an address of an EVM chain") };
    let mut word = [0; 32];
    word[12..].copy_from_slice(&bytes);
    word
}

/// A log of an event of Celer at the pool of a chain, all fields in its data.
fn log(chain: Chain, index: u64, event: &str, fields: &[[u8; 32]]) -> LogFacts {
    let tables = Tables::builtin();
    let is_event = |found: &&headwater_bridge::Event| {
        found.name() == event && tables.family_of(found).name() == "celer" && found.step().is_some()
    };
    let found = tables.events().iter().find(is_event).expect("an event of the tables");
    let (_, pool) = POOLS.iter().find(|(of, _)| *of == chain).unwrap();
    let address = Address::parse(chain, pool).unwrap();
    LogFacts { index, address, topics: vec![*found.topic0()], data: fields.concat() }
}

fn send(id: u64, receiver: u8, amount: u64, nonce: u64, to_chain: u64, index: u64) -> LogFacts {
    let (sender, receiver, token) = (account(person(1)), account(person(receiver)), account(person(USDT)));
    let fields = [word(id), sender, receiver, token, word(amount), word(to_chain), word(nonce), word(5_000)];
    log(Chain::ETHEREUM, index, "Send", &fields)
}

fn relay(id: u64, receiver: u8, amount: u64, index: u64) -> LogFacts {
    let (sender, receiver, token) = (account(person(1)), account(person(receiver)), account(person(USDT)));
    let fields = [word(1_000 + id), sender, receiver, token, word(amount), word(1), word(id)];
    log(Chain::BSC, index, "Relay", &fields)
}

/// On Ethereum: block 1 sends transfers 1 and 2 to BSC in one transaction, block 2 sends 3 to BSC, block 3 sends 4 to
/// Arbitrum, block 4 is a payment. On BSC: block 1 pays out 1, block 2 pays out 2, block 5 comes later.
fn batches() -> [Batch; 2] {
    let with = |chain: Chainlet, logs: Vec<LogFacts>| chain.transfer(1, 2, 1).with(|facts| facts.logs = logs);
    let ethereum = Chainlet::ethereum();
    let ethereum = with(ethereum, vec![send(1, 2, 5_000_000, 1, 56, 0), send(2, 3, 7_000_000, 2, 56, 1)]);
    let ethereum = with(ethereum, vec![send(3, 2, 9_000_000, 3, 56, 0)]);
    let ethereum = with(ethereum, vec![send(4, 2, 1_000_000, 4, 42_161, 0)]).transfer(1, 2, 5);
    let bsc = with(Chainlet::new(Chain::BSC), vec![relay(1, 2, 4_990_000, 0)]);
    let bsc = with(bsc, vec![relay(2, 3, 6_990_000, 0)]).at_block(9).transfer(1, 2, 1);
    [ethereum.batch(), bsc.batch()]
}

fn engine_of(batches: [Batch; 2]) -> Town {
    let mut store = MemoryStore::default();
    let time = batches.iter().filter_map(|batch| Some(batch.blocks.first()?.time)).min().unwrap();
    for batch in batches {
        store.commit(batch, &Cancel::new()).unwrap();
    }
    let listings = POOLS.map(|(chain, _)| TokenListing { chain, ..listing(USDT, "USDT") });
    store.import_tokens("list", listings.to_vec()).unwrap();
    store.import_prices("list", vec![PricePoint { time, ..price("usdt", 1.0) }]).unwrap();
    let segmented =
        |segments| store.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 1 }).unwrap();
    let built = segmented(3).with_sidecars(&Cancel::new()).unwrap();
    let stores = [segmented(1), segmented(3), built].into_iter();
    Town(stores.map(|store| QueryEngine::new(Arc::new(store))).collect())
}

fn tx(block: u64) -> String {
    hash(block, 0).display(Family::Evm)
}

fn results(engine: &Town, request: Value) -> Vec<Value> {
    data(engine, "cross-chain", &request)["results"].as_array().unwrap().clone()
}

#[test]
fn a_transaction_of_several_transfers_gives_each_with_both_sides() {
    for batches in [batches(), {
        let [one, other] = batches();
        [other, one]
    }] {
        let engine = engine_of(batches);
        let found = results(&engine, json!({"txhash": tx(1), "chain": "ethereum"}));
        assert_eq!(found.len(), 2);
        let first = &found[0]["result"];
        assert_eq!(
            (&found[0]["txhash"], &found[0]["label"], &found[0]["error"]),
            (&json!(tx(1)), &json!("Celer cBridge"), &Value::Null)
        );
        let sides =
            |name: &str| ["chain", "tx_hash", "amount", "symbol"].map(|field| first[format!("{name}_{field}")].clone());
        assert_eq!(sides("source"), [json!("ethereum"), json!(tx(1)), json!("5"), json!("usdt")]);
        assert_eq!(sides("destination")[..2], [json!("bsc"), json!(tx(1))]);
        assert_eq!(first["destination_amount_raw"], "4990000");
        assert_eq!(
            (&first["sender_address"], &first["receiver_address"]),
            (&json!(person(1).to_string()), &json!(person(2).to_string()))
        );
        assert_eq!(
            (&first["status"], &first["match"], &first["confidence"]),
            (&json!("completed"), &json!("message_id"), &json!(0.99))
        );
        assert_eq!(first["amount_usd"], 5.0);
        assert_eq!(
            (&found[1]["result"]["destination_tx_hash"], &found[1]["result"]["status"]),
            (&json!(tx(2)), &json!("completed"))
        );
        // From the other side the same.
        let back = results(&engine, json!({"txhash": tx(2), "chain": "bsc"}));
        assert_eq!(back.iter().map(|item| &item["result"]).collect::<Vec<_>>(), [&found[1]["result"]]);
    }
}

#[test]
fn a_leg_alone_says_whether_the_other_chain_is_held() {
    let engine = engine_of(batches());
    let of = |block: u64| results(&engine, json!({"txhash": tx(block), "chain": "ethereum"}))[0]["result"].clone();
    let unmatched = of(2);
    assert_eq!((&unmatched["status"], &unmatched["match"]), (&json!("unmatched"), &Value::Null));
    assert_eq!((&unmatched["destination_chain"], &unmatched["destination_tx_hash"]), (&json!("bsc"), &json!("")));
    let foreign = of(3);
    assert_eq!((&foreign["status"], &foreign["destination_chain"]), (&json!("initiated"), &json!("arbitrum")));
    assert_eq!(foreign["receiver_address"], person(2).to_string());
    // A payment is no leg.
    assert_eq!(results(&engine, json!({"txhash": tx(4), "chain": "ethereum"})), [] as [Value; 0]);
    let detail = |block: u64| {
        data(&engine, "transaction", &json!({"hash": tx(block), "blockchain": "ethereum"}))["cross_chain"].clone()
    };
    assert_eq!((detail(1), detail(4)), (json!(true), json!(false)));
}

#[test]
fn a_hash_that_is_not_held_is_not_found_and_one_of_two_chains_must_name_it() {
    let engine = engine_of(batches());
    let kind = |request: Value| ask(&engine, "cross-chain", &request).unwrap_err().kind;
    assert_eq!(kind(json!({"txhash": format!("0x{}", "f".repeat(64))})), ErrorKind::NotFound);
    assert_eq!(kind(json!({"txhash": tx(1)})), ErrorKind::InvalidInput(Reason::AmbiguousChain));
    assert_eq!(kind(json!({"txhash": "0x12"})), ErrorKind::InvalidInput(Reason::InvalidHash));
}

#[test]
fn a_batch_keeps_order_and_echoes_and_has_a_result_for_each_query() {
    let engine = engine_of(batches());
    let unknown = format!("0x{}", "f".repeat(64));
    let queries = json!([
        {"txhash": tx(1), "label": "Mine"}, {"txhash": unknown}, {"txhash": "what"}, {"txhash": tx(4)}, {"txhash": tx(3)}
    ]);
    let found = data(&engine, "cross-chain/batch", &json!({"queries": queries, "chain": "ethereum"}));
    let found = found["results"].as_array().unwrap();
    let echoed: Vec<_> =
        found.iter().map(|item| (item["txhash"].as_str().unwrap(), item["label"].as_str().unwrap())).collect();
    let (one, four, three) = (tx(1), tx(4), tx(3));
    assert_eq!(
        echoed,
        [(&*one, "Mine"), (&one, "Mine"), (&unknown, ""), ("what", ""), (&four, ""), (&three, "Celer cBridge")]
    );
    let errors: Vec<bool> = found.iter().map(|item| !item["error"].is_null()).collect();
    assert_eq!(errors, [false, false, true, true, false, false]);
    for empty in [2, 3, 4] {
        let result = &found[empty]["result"];
        assert_eq!(
            (&result["source_chain"], &result["destination_tx_hash"], &result["status"]),
            (&json!(""), &json!(""), &Value::Null)
        );
    }
    let many: Vec<Value> = (0..51).map(|_| json!({"txhash": tx(1)})).collect();
    assert!(ask(&engine, "cross-chain/batch", &json!({"queries": many})).is_err());
    assert!(ask(&engine, "cross-chain/batch", &json!({"queries": []})).is_err());
}

/// Person 1 pays the pool on Ethereum with the transaction that sends transfers 1 and 2; the trace says where they go on.
#[test]
fn a_trace_says_where_money_goes_on_over_a_bridge() {
    let pool = Address::parse(Chain::ETHEREUM, POOLS[0].1).unwrap();
    let [mut ethereum, bsc] = batches();
    let body = ethereum.transactions[0].body.as_mut().unwrap();
    (body.from, body.to) = (Some(person(1)), Some(pool));
    let engine = engine_of([ethereum, bsc]);
    let trace =
        json!({"blockchain": "ethereum", "address": person(1).to_string(), "track_setting": {"inward_depth": 0}});
    let found = data(&engine, "trace", &trace);
    let edges = found["edges"].as_array().unwrap();
    let to = |address: Address| edges.iter().find(|edge| edge["to_address"] == address.to_string()).unwrap();
    let crossing = &to(pool)["cross_chain"];
    assert_eq!((&crossing["source_tx_hash"], &crossing["destination_chain"]), (&json!(tx(1)), &json!("bsc")));
    assert_eq!(
        (&crossing["destination_tx_hash"], &crossing["receiver_address"]),
        (&json!(tx(1)), &json!(person(2).to_string()))
    );
    // The pool is known as a bridge without any list, so the trace ends there.
    let end = found["ends"].as_array().unwrap().iter().find(|end| end["address"] == pool.to_string()).unwrap();
    assert_eq!((&end["stop_reason"], &end["label"]), (&json!("label"), &json!("Celer cBridge")));
}

fn usdt(index: u64, from: u8, to: u8, amount: u64) -> Movement {
    Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Indexed(index),
        from: Some(person(from)),
        to: Some(person(to)),
        asset: Asset::Token(person(USDT)),
        amount: Amount::from(amount),
    }
}

/// Person 1 pays a vault that nobody lists, with the transaction that sends transfers 1 and 2; the vault pays person 6 later. On
/// BSC another vault pays persons 2 and 3, and person 2 pays person 8.
fn over_a_vault() -> [Batch; 2] {
    let [mut ethereum, mut bsc] = batches();
    let paid = [usdt(10, 1, 5, 5_000_000), usdt(11, 1, 5, 7_000_000)];
    ethereum.transactions[0].movements.extend(paid);
    ethereum.transactions[3].movements.push(usdt(10, 5, 6, 12_000_000));
    for (block, movement) in
        [(0, usdt(10, 7, 2, 4_990_000)), (1, usdt(10, 7, 3, 6_990_000)), (2, usdt(10, 2, 8, 4_000_000))]
    {
        bsc.transactions[block].movements.push(movement);
    }
    [ethereum, bsc]
}

/// The edges of a trace, each as chain and first byte of both ends, amount and whether it has `cross_chain`, and its ends.
fn traced(batches: [Batch; 2], (chain, start): (Chain, u8), settings: Value) -> (Vec<String>, Vec<String>) {
    let request = json!({"blockchain": chain.name(), "address": person(start).to_string(), "track_setting": settings});
    let found = data(&engine_of(batches), "trace", &request);
    let place = |row: &Value, end: &str| {
        let [chain, address] = ["blockchain", "address"].map(|field| row[format!("{end}{field}")].as_str().unwrap());
        format!("{chain} {}", &address[40..])
    };
    let edge = |edge: &Value| {
        let over = if edge["cross_chain"].is_null() { "" } else { " over" };
        let (from, to, amount) = (place(edge, "from_"), place(edge, "to_"), edge["amount"].as_str().unwrap());
        format!("{from} > {to} {amount} {}{over}", edge["symbol"].as_str().unwrap())
    };
    let rows =
        |field: &str, show: &dyn Fn(&Value) -> String| found[field].as_array().unwrap().iter().map(show).collect();
    (rows("edges", &edge), rows("ends", &|end| format!("{} {}", place(end, ""), end["stop_reason"].as_str().unwrap())))
}

const ON_ETHEREUM: &str = "ethereum 01 > ethereum 05 12 usdt over";
const THROUGH_THE_VAULT: &str = "ethereum 05 > ethereum 06 12 usdt";

fn from_payer(batches: [Batch; 2], more: Value) -> (Vec<String>, Vec<String>) {
    let mut settings = json!({"inward_depth": 0, "outward_depth": 3});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    traced(batches, (Chain::ETHEREUM, 1), settings)
}

#[test]
fn a_trace_goes_on_over_a_bridge_where_the_money_arrived() {
    let (edges, ends) = from_payer(over_a_vault(), json!({}));
    let beyond =
        ["ethereum 05 > bsc 03 6.99 usdt over", "ethereum 05 > bsc 02 4.99 usdt over", "bsc 02 > bsc 08 4 usdt"];
    assert_eq!(edges, [&[ON_ETHEREUM], &beyond[..]].concat());
    assert_eq!(ends, ["bsc 03 no_outflow", "bsc 08 depth_limit"]);
    // Of the larger, haircut traces what it was of what 1 held: all.
    let (of_haircut, _) = from_payer(over_a_vault(), json!({"method": "haircut"}));
    assert_eq!(of_haircut, edges);
    let (named, _) = from_payer(over_a_vault(), json!({"bridge_chains": ["bsc", "tron"]}));
    assert_eq!(named, edges);
    let (kept, _) = from_payer(over_a_vault(), json!({"bridge_chains": ["tron"]}));
    assert_eq!(kept, [ON_ETHEREUM, THROUGH_THE_VAULT]);
}

#[test]
fn an_event_alone_hides_nothing_from_a_trace() {
    // 2 more than the transfers say.
    let [mut ethereum, bsc] = over_a_vault();
    ethereum.transactions[0].movements.push(usdt(12, 1, 5, 2_000_000));
    let (edges, _) = from_payer([ethereum, bsc], json!({}));
    assert!(edges.contains(&THROUGH_THE_VAULT.to_owned()), "{edges:?}");
    // One leg is missing: what it was about may be what the vault paid.
    let [ethereum, mut bsc] = over_a_vault();
    bsc.transactions[1].logs.clear();
    let (edges, _) = from_payer([ethereum, bsc], json!({}));
    let expected = [ON_ETHEREUM, THROUGH_THE_VAULT, "ethereum 05 > bsc 02 4.99 usdt over", "bsc 02 > bsc 08 4 usdt"];
    assert_eq!(edges, expected);
    // Both events are there, and person 3 got nothing, got it and gave it back, or got something worthless.
    let lies: [fn(&mut Batch); 3] = [
        |bsc| bsc.transactions[1].movements.clear(),
        |bsc| bsc.transactions[1].movements.push(usdt(11, 3, 9, 6_990_000)),
        |bsc| bsc.transactions[1].movements[0].asset = Asset::Token(person(0x77)),
    ];
    for lie in lies {
        let [ethereum, mut bsc] = over_a_vault();
        lie(&mut bsc);
        let (edges, _) = from_payer([ethereum, bsc], json!({}));
        assert_eq!(edges, expected);
    }
    // Another address is paid in the same transaction: no transfer is about that.
    let [mut ethereum, bsc] = over_a_vault();
    ethereum.transactions[0].movements.push(usdt(12, 1, 4, 1_000_000));
    ethereum.transactions[1].movements.push(usdt(12, 4, 9, 1_000_000));
    let (edges, _) = from_payer([ethereum, bsc], json!({}));
    assert!(edges.contains(&"ethereum 04 > ethereum 09 1 usdt".to_owned()), "{edges:?}");
}

#[test]
fn a_trace_goes_back_over_a_bridge_to_who_sent() {
    let inward = json!({"inward_depth": 3, "outward_depth": 0});
    let (edges, ends) = traced(over_a_vault(), (Chain::BSC, 8), inward);
    assert_eq!(edges, ["bsc 02 > bsc 08 4 usdt", "bsc 07 > bsc 02 4.99 usdt over", "ethereum 01 > bsc 07 5 usdt over"]);
    assert_eq!(ends, ["ethereum 01 depth_limit"]);
}

/// The block of BSC that pays out transfer 1 is followed, taken back, and brought again.
#[test]
fn a_block_taken_back_takes_its_leg_along() {
    let [_, bsc] = batches();
    let one = |number: u64| {
        let mut block = bsc.clone();
        block.blocks.retain(|facts| facts.number == number);
        block.transactions.retain(|facts| facts.block == number);
        headwater_testkit::followed(block, 1, 1)
    };
    let status = |store: MemoryStore| {
        let engine = Town(vec![QueryEngine::new(Arc::new(store))]);
        results(&engine, json!({"txhash": tx(1), "chain": "ethereum"}))[0]["result"]["status"].clone()
    };
    let taken_back = |mut store: MemoryStore, times: usize| {
        for _ in 0..times {
            store.append_tail_block(one(1)).unwrap();
            store.roll_back_tail(Chain::BSC, 0).unwrap();
        }
        store
    };
    let fresh = || {
        let mut store = MemoryStore::default();
        store.commit(batches()[0].clone(), &Cancel::new()).unwrap();
        store
    };
    assert_eq!(status(taken_back(fresh(), 1)), "initiated");
    let mut again = taken_back(fresh(), 2);
    again.append_tail_block(one(1)).unwrap();
    assert_eq!(status(again), "completed");
}
