//! Events of blocks of live nodes: each exactly once, taken back with its block, and made anew when the block returns, across a
//! killed server.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use headwater_ingest::labels::refresh_freezes;
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, LogFacts};
use headwater_ledger::market::PricePoint;
use headwater_ledger::store::{TailAdvance, Writer};
use headwater_testkit::{Chainlet, address, followed};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::live::{Receiver, Socket, call};
use crate::support::{Process, made_key, within};

const ETH: Chain = Chain::ETHEREUM;
const TETHER: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const ADDED_BLACK_LIST: &str = "42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc";
const ETHER: u64 = 1_000_000_000_000_000_000;
const LOCAL: [&str; 4] = ["--set", "webhooks.allow_private_targets=true", "--set", "webhooks.second_ms=5"];
const TYPES: [&str; 5] = ["large_transfer", "address_activity", "balance_threshold", "risk_alert", "label_change"];

/// The account that is watched.
fn watched() -> Address {
    address(ETH, 2)
}

fn filters(event_type: &str) -> Value {
    let addresses = json!([watched().to_string()]);
    match event_type {
        "large_transfer" => json!({"blockchain": "ethereum"}),
        "balance_threshold" => {
            json!({"addresses": addresses, "threshold": {"contract": "native", "amount": "5", "crossing": "both"}})
        }
        _ => json!({"addresses": addresses}),
    }
}

/// Account 1 pays the watched one 10 ether of 200,000 dollars.
fn five() -> Batch {
    followed(Chainlet::ethereum().at_block(5).transfer(1, 2, 10 * ETHER).batch(), 1, 1)
}

/// It pays 9 of them on, and Tether freezes it.
fn six() -> Batch {
    let topic =
        std::array::from_fn(|place| u8::from_str_radix(&ADDED_BLACK_LIST[2 * place..2 * place + 2], 16).unwrap());
    let mut data = vec![0; 12];
    let Address::Evm(bytes) = watched() else { unreachable!("it is an address of Ethereum") };
    data.extend_from_slice(&bytes);
    let contract = Address::parse(ETH, TETHER).unwrap();
    let block = Chainlet::ethereum().at_block(6).transfer(2, 3, 9 * ETHER);
    let frozen = block.with(|facts| {
        facts.logs.push(LogFacts { index: 0, address: contract, topics: vec![topic], data: data.clone() });
    });
    followed(frozen.batch(), 1, 1)
}

/// The block in its place: it gets a wei, and nothing is frozen.
fn other_six() -> Batch {
    followed(Chainlet::ethereum().at_block(6).transfer(3, 2, 1).batch(), 2, 1)
}

/// A store that is followed as a follower does it: blocks, then the freezes that issuers made in them.
struct FollowedStore {
    place: TempDir,
    writer: Writer,
}

impl FollowedStore {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(place.path().join("demo")).unwrap();
        let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(1_600_000_000), usd: 20_000.0 };
        writer.import_prices("town", vec![price]).unwrap();
        let four = Chainlet::ethereum().at_block(4).transfer(8, 9, 1).batch();
        writer.append_tail_block(followed(four, 1, 1)).unwrap();
        Self { place, writer }
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("demo")
    }

    fn advance(&mut self, keep_to: Option<u64>, block: Batch) {
        let advance = TailAdvance { keep_to, blocks: vec![block], seal_to: None };
        self.writer.advance_tail(ETH, advance).unwrap();
        refresh_freezes(&mut self.writer, Timestamp::new(1_600_000_100), &Cancel::new()).unwrap();
    }
}

/// A client of the stream that continues where it was.
struct Listener {
    socket: Socket,
    events: Vec<Value>,
}

impl Listener {
    fn open(server: SocketAddr, key: &str) -> Self {
        let mut socket = Socket::open(server, "", &[("X-API-Key", key)]).unwrap();
        for event_type in TYPES {
            socket.say(&subscription(event_type, None));
        }
        for _ in TYPES {
            while socket.hear().unwrap()["type"] != "subscribed" {}
        }
        Self { socket, events: Vec::new() }
    }

    /// Opens the stream again, each subscription behind its last event.
    fn reopen(&mut self, server: SocketAddr, key: &str) {
        self.socket = Socket::open(server, "", &[("X-API-Key", key)]).unwrap();
        for event_type in TYPES {
            let last = self.events.iter().rev().find(|event| event["type"] == event_type);
            let after = last.map(|event| event["id"].as_str().unwrap().to_owned());
            self.socket.say(&subscription(event_type, after.as_deref()));
        }
    }

    fn hear(&mut self, count: usize) {
        // Shorter than the pause between two pings.
        self.socket.stream().set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        while self.events.len() < count {
            let message = self.socket.hear().unwrap_or_else(|code| {
                let data = |event: &Value| format!("{} {}", event["type"], event["data"]);
                let heard: Vec<String> = self.events.iter().map(data).collect();
                panic!("{code}: {} of {count} events came:\n{}", heard.len(), heard.join("\n"))
            });
            assert_ne!(message["type"], "error", "{message}");
            if message["type"] == "event" {
                self.events.push(message["event"].clone());
            }
        }
    }

    /// Fields of the data of the events of a type, in order.
    fn fields_of(&self, event_type: &str, fields: [&str; 2]) -> Vec<[Value; 2]> {
        let of_type = self.events.iter().filter(|event| event["type"] == event_type);
        of_type.map(|event| fields.map(|field| event["data"][field].clone())).collect()
    }
}

fn subscription(event_type: &str, after: Option<&str>) -> Value {
    let mut message =
        json!({"action": "subscribe", "id": event_type, "event_type": event_type, "filters": filters(event_type)});
    if let Some(after) = after {
        message["after"] = json!(after);
    }
    message
}

#[test]
fn live_events_are_sent_once_and_retracted_across_a_kill() {
    let mut store = FollowedStore::new();
    let key = made_key(&store.path(), 0);
    let mut server = Process::start(&store.path(), &LOCAL);
    let receiver = Receiver::start(|_| "200 OK".to_owned());
    for event_type in TYPES {
        let body = json!({
            "target_url": receiver.url(event_type), "event_type": event_type, "filters": filters(event_type)
        });
        let made = call(server.address, "POST", "/v1/webhooks", &key, &body.to_string());
        assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
    }
    let mut listener = Listener::open(server.address, &key);
    store.advance(None, five());
    store.advance(None, six());
    // Two blocks of three events each, the freeze and the alert about it.
    listener.hear(8);
    server.kill();
    // The block is replaced, and comes back, while nobody makes events.
    store.advance(Some(5), other_six());
    store.advance(Some(5), six());
    server = Process::start(&store.path(), &LOCAL);
    listener.reopen(server.address, &key);
    listener.hear(8 + 3 + 1 + 1 + 3 + 4);
    // And once more while the server runs.
    store.advance(Some(5), other_six());
    listener.hear(20 + 3 + 1 + 2);

    let added = |block: u64| [json!(block), json!(false)];
    let removed = |block: u64| [json!(block), json!(true)];
    let seen = listener.fields_of("address_activity", ["block_number", "removed"]);
    let back_and_forth = [removed(6), added(6), removed(6), added(6), removed(6), added(6)];
    assert_eq!(seen, [[added(5), added(6)].as_slice(), &back_and_forth].concat());
    let amounts: Vec<_> =
        listener.fields_of("address_activity", ["amount_raw", "action"]).into_iter().map(|[raw, _]| raw).collect();
    let (nine, wei) = (json!((9 * ETHER).to_string()), json!("1"));
    assert_eq!(amounts[1..], [&nine, &nine, &wei, &wei, &nine, &nine, &wei].map(Clone::clone));
    let seen = listener.fields_of("large_transfer", ["block_number", "removed"]);
    assert_eq!(seen, [added(5), added(6), removed(6), added(6), removed(6)]);
    let seen = listener.fields_of("balance_threshold", ["crossed", "removed"]);
    let [above, below, back] =
        [("above", false), ("below", false), ("below", true)].map(|(way, gone)| [json!(way), json!(gone)]);
    assert_eq!(seen, [above, below.clone(), back.clone(), below, back]);
    let seen = listener.fields_of("label_change", ["added", "removed"]);
    let (frozen, released) = ([json!(["issuer_frozen"]), json!([])], [json!([]), json!(["issuer_frozen"])]);
    assert_eq!(seen, [frozen.clone(), released.clone(), frozen, released]);
    let levels: Vec<_> = listener.fields_of("risk_alert", ["risk_level", "gate_reason"]);
    assert_eq!(levels.len(), 4, "{levels:?}");
    assert_ne!(levels[0], levels[1]);
    assert_eq!([&levels[0], &levels[1]], [&levels[2], &levels[3]]);

    // Each id is there once; a retraction names the last event of its row, which has not been retracted before.
    let ids: BTreeSet<&str> = listener.events.iter().map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), listener.events.len());
    let mut standing: BTreeMap<String, &str> = BTreeMap::new();
    for event in &listener.events {
        let (data, id) = (&event["data"], event["id"].as_str().unwrap());
        let row = format!("{}:{}:{}", event["type"], data["id"], data["block_number"]);
        if data["removed"] == true {
            assert_eq!(Some(data["replaces"].as_str().unwrap()), standing.remove(&row), "{event}");
        } else if data["removed"] == false {
            assert_eq!(data["replaces"], Value::Null);
            assert_eq!(standing.insert(row, id), None, "{event}");
        }
    }
    // Webhooks receive the same, though some deliveries may come twice.
    let delivered = || -> BTreeSet<(String, String)> {
        receiver.received().into_iter().map(|delivery| (delivery.path, delivery.id)).collect()
    };
    within(Duration::from_secs(30), "all events are delivered", || delivered().len() >= listener.events.len());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let sent = listener.events.iter().map(|event| (text(&event["type"]), text(&event["id"])));
    assert_eq!(delivered(), sent.collect());
}
