//! Further events of webhooks and streams: balances that pass an amount, events that were lost, and what a plan
//! leaves out.

use std::sync::Arc;
use std::time::Duration;

use headwater_server::events::EventSettings;
use headwater_state::Home;
use serde_json::{Value, json};

use crate::support::live::{LiveServer, LiveStore, PAYEE, PAYER, Receiver, Socket, call, local, webhook};
use crate::support::{Process, run_json, within};

const OK: &str = "200 OK";

fn open(server: &LiveServer, key: &str) -> Socket {
    let mut socket = Socket::open(server.address, "", &[("X-API-Key", key)]).unwrap();
    assert_eq!(socket.hear().unwrap()["type"], "welcome");
    socket
}

/// The payee is paid 1, 2, 3, ... wei: it has 10 after the fourth payment.
#[test]
fn balance_threshold_event_reaches_webhook_and_stream() {
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), local(20));
    let (_, key) = server.key();
    let receiver = Receiver::start(|_| OK.to_owned());
    let threshold = json!({"symbol": "eth", "amount": "0.00000000000000001"});
    let filters = json!({"blockchain": "ethereum", "addresses": [PAYEE], "threshold": threshold});
    let wanted = json!({"target_url": receiver.url("in"), "event_type": "balance_threshold", "filters": filters});
    let made = server.call("POST", "/v1/webhooks", &key, &wanted.to_string());
    assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
    assert_eq!(made.json()["data"]["filters"]["threshold"]["crossing"], "both");
    let mut socket = open(&server, &key);
    socket.say(&json!({"action": "subscribe", "id": "s", "event_type": "balance_threshold", "filters": filters}));
    assert_eq!(socket.hear().unwrap()["type"], "subscribed");
    for _ in 0..5 {
        live.block(1);
    }
    // Back below with 3 left, above with 33, and below with 8.
    live.pay((PAYEE, PAYER), &[12]);
    live.pay((PAYER, PAYEE), &[30]);
    live.pay((PAYEE, PAYER), &[25]);
    let messages: Vec<Value> = (0..4).map(|_| socket.hear().unwrap()).collect();
    let shown: Vec<(&str, &str, &str)> = messages
        .iter()
        .map(|message| {
            let data = &message["event"]["data"];
            assert_eq!(message["event"]["type"], "balance_threshold");
            assert_eq!((&data["address"], &data["blockchain"]), (&json!(PAYEE), &json!("ethereum")));
            assert_eq!((&data["removed"], &data["symbol"]), (&json!(false), &json!("eth")));
            let text = |name: &str| data[name].as_str().unwrap();
            (text("crossed"), text("previous_balance"), text("balance_raw"))
        })
        .collect();
    let wei = |count: u32| format!("0.{count:018}").trim_end_matches('0').to_owned();
    let before = [wei(6), wei(15), wei(3), wei(33)];
    assert_eq!(
        shown,
        [
            ("above", before[0].as_str(), "10"),
            ("below", before[1].as_str(), "3"),
            ("above", before[2].as_str(), "33"),
            ("below", before[3].as_str(), "8")
        ]
    );
    // The webhook receives the same, under the same ids.
    let mut delivered = receiver.wait_for(Duration::from_secs(30), 4);
    let place = |id: &str| messages.iter().position(|message| message["event"]["id"] == id).unwrap();
    delivered.sort_by_key(|one| place(&one.id));
    for (one, message) in delivered.iter().zip(&messages) {
        let body: Value = serde_json::from_str(&one.body).unwrap();
        assert_eq!(body["data"]["webhook_id"], made.json()["data"]["id"]);
        let without = |data: &Value| {
            let mut data = data.clone();
            data.as_object_mut().unwrap().remove("webhook_id");
            data
        };
        assert_eq!(without(&body["data"]), without(&message["event"]["data"]));
    }
}

/// The gateway is away while more blocks come than the feed keeps.
#[test]
fn lost_events_are_reported_to_webhooks_and_streams() {
    let mut live = LiveStore::new();
    let receiver = Receiver::start(|_| OK.to_owned());
    let server = LiveServer::start(&live.store(), local(20));
    let (_, key) = server.key();
    let (id, _) = server.webhook(&key, &receiver.url("in"));
    let mut socket = open(&server, &key);
    socket.subscribe(None).unwrap();
    live.block(1);
    let (_, first) = socket.event().unwrap();
    assert_eq!(receiver.wait_for(Duration::from_secs(30), 1)[0].id, first);
    drop((server, socket));
    live.forget_all_but(2);
    for _ in 0..10 {
        live.block(1);
    }
    let server = LiveServer::start(&live.store(), local(20));
    // The two blocks that are kept are sent, and that others were before them.
    let received = receiver.wait_for(Duration::from_secs(30), 4);
    let bodies: Vec<Value> = received[1..].iter().map(|one| serde_json::from_str(&one.body).unwrap()).collect();
    let lost: Vec<&Value> = bodies.iter().filter(|body| body["type"] == "events_lost").collect();
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0]["data"]["webhook_id"], id);
    assert!(lost[0]["data"]["last_event_at"].is_string() && lost[0]["data"]["message"].is_string());
    let list = server.call("GET", &format!("/v1/webhooks/{id}/deliveries"), &key, "").json();
    let types: Vec<&str> =
        list["data"].as_array().unwrap().iter().map(|one| one["event_type"].as_str().unwrap()).collect();
    assert_eq!(types.iter().filter(|kind| **kind == "events_lost").count(), 1, "{types:?}");
    // A stream must not resume as if nothing had happened.
    let mut socket = open(&server, &key);
    assert!(matches!(socket.subscribe(Some(&first)).and_then(|_| socket.event()), Err(4010)));
    let mut socket = open(&server, &key);
    socket.subscribe(None).unwrap();
    live.block(1);
    assert!(socket.event().is_ok());
    // Said once.
    receiver.wait_for(Duration::from_secs(30), 5);
    let said = receiver.received().iter().filter(|one| one.body.contains("events_lost")).count();
    assert_eq!(said, 1);
}

#[test]
fn stream_does_not_resume_in_a_recreated_store() {
    let mut live = LiveStore::new();
    let receiver = Receiver::start(|_| OK.to_owned());
    let server = LiveServer::start(&live.store(), local(20));
    let (_, key) = server.key();
    server.webhook(&key, &receiver.url("in"));
    let mut socket = open(&server, &key);
    socket.subscribe(None).unwrap();
    let messages: Vec<String> = (0..3)
        .map(|_| {
            live.block(1);
            socket.event().unwrap().1
        })
        .collect();
    drop((server, socket));
    live = live.anew();
    live.block(1);
    let server = LiveServer::start(&live.store(), local(20));
    within(Duration::from_secs(30), "the loss is reported", || {
        receiver.received().iter().any(|one| one.body.contains("events_lost"))
    });
    for known in [&messages[0], &messages[2]] {
        let mut socket = open(&server, &key);
        assert_eq!(socket.subscribe(Some(known)).and_then(|_| socket.event().map(drop)), Err(4010));
    }
    let mut socket = open(&server, &key);
    socket.subscribe(None).unwrap();
    live.block(1);
    assert!(socket.event().is_ok());
}

#[test]
fn plan_limits_the_chains_of_webhooks_and_streams() {
    let live = LiveStore::new();
    let server = LiveServer::start(&live.store(), EventSettings::default());
    let (id, key) = server.key();
    let home = Home::in_folder(&live.store().with_file_name("live.state")).unwrap();
    home.admin("test", |admin| {
        admin.set_plan("narrow", r#"{"chains": ["ethereum"]}"#)?;
        admin.add_credits(&id, 1000)?;
        admin.assign_plan(&id, "narrow")
    })
    .unwrap();
    let url = "https://hooks.example.com/in";
    let make = |filters: Value| {
        let body = json!({"target_url": url, "event_type": "large_transfer", "filters": filters}).to_string();
        server.call("POST", "/v1/webhooks", &key, &body)
    };
    within(Duration::from_secs(5), "the plan is known", || make(json!({"blockchain": "bitcoin"})).status == 403);
    assert_eq!(make(json!({"blockchain": "bitcoin"})).error().0, "forbidden");
    assert_eq!(make(json!({"blockchain": "btc"})).error().0, "forbidden");
    let all = make(json!({}));
    assert_eq!(all.error().0, "forbidden");
    assert!(all.json()["error"]["message"].as_str().unwrap().contains("name one of ethereum"));
    let made = make(json!({"blockchain": "ethereum"}));
    assert_eq!(made.status, 201);
    let path = format!("/v1/webhooks/{}", made.json()["data"]["id"].as_str().unwrap());
    let change = |filters: Value| server.call("PATCH", &path, &key, &json!({"filters": filters}).to_string()).status;
    assert_eq!((change(json!({"blockchain": "tron"})), change(json!({"blockchain": "ethereum"}))), (403, 200));
    let mut socket = open(&server, &key);
    let mut subscribe = |filters: Value| {
        socket.say(&json!({"action": "subscribe", "id": "s", "event_type": "large_transfer", "filters": filters}));
        socket.hear().unwrap()
    };
    for refused in [json!({"blockchain": "bitcoin"}), json!({"blockchain": "BTC"}), json!({})] {
        let answer = subscribe(refused);
        assert_eq!((&answer["type"], &answer["error"]["code"]), (&json!("error"), &json!("forbidden")), "{answer}");
    }
    assert_eq!(subscribe(json!({"blockchain": "ethereum"}))["type"], "subscribed");
    socket.say(&json!({"action": "subscribe", "id": "t", "event_type": "large_transfer",
        "filters": {"blockchain": "ethereum"}, "filter": {"blockchain": "bitcoin"}}));
    let refused = socket.hear().unwrap();
    assert_eq!((&refused["type"], &refused["id"]), (&json!("error"), &json!("t")), "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("did you mean \"filters\""), "{refused}");
    socket.say(&json!({"action": "subscribe", "id": "u", "event_type": "large_transfer",
        "filters": {"blockchain": "ethereum"}, "after": "evt_of_nobody"}));
    assert_eq!(socket.closing(), 4010);
    // A stream that was opened is a call that succeeded, whatever opened it.
    let ticket = server.call("POST", "/v1/stream/ticket", &key, "").json()["data"]["ticket"].clone();
    let mut socket = Socket::open(server.address, &format!("?ticket={}", ticket.as_str().unwrap()), &[]).unwrap();
    assert_eq!(socket.hear().unwrap()["type"], "welcome");
    let usage = || {
        let usage = server.call("GET", "/v1/usage", &key, "").json();
        let of_stream = |row: &&Value| row["endpoint"] == "/v1/stream";
        usage["data"]["by_endpoint"].as_array().unwrap().iter().find(of_stream).cloned().unwrap_or_default()
    };
    within(Duration::from_secs(5), "both are counted", || usage()["calls"] == 2);
    assert_eq!(usage()["failed"], 0);
    // Calls that look on every chain where they name none have to name one.
    let get = |path: &str| server.call("GET", path, &key, "");
    let (hash, address) = ("11".repeat(32), format!("0x{}", "a1".repeat(20)));
    for (path, field) in [
        (format!("/v1/transaction/{hash}"), "?blockchain"),
        // Bitcoin, where nothing else is said.
        (format!("/v2/counterparty/list?address={address}"), "&blockchain"),
        (format!("/v1/addresses/resolve?q={address}"), "&chain"),
        ("/v1/addresses/autocomplete?q=0xa1a1a1".to_owned(), "&chain"),
    ] {
        assert_eq!(get(&path).error().0, "forbidden", "{path}");
        assert_eq!(get(&format!("{path}{field}=bitcoin")).error().0, "forbidden", "{path}");
        assert_ne!(get(&format!("{path}{field}=ethereum")).status, 403, "{path}");
        assert_eq!(get(&format!("{path}{field}=dogecoin")).error().1, "unsupported_chain", "{path}");
    }
    // Endpoints, like those of calls.
    home.admin("test", |admin| admin.set_plan("narrow", r#"{"endpoints": ["/v1/chains"]}"#).map(|_| ())).unwrap();
    within(Duration::from_secs(5), "the plan is known", || make(json!({"blockchain": "ethereum"})).status == 403);
    assert_eq!(call(server.address, "POST", "/v1/stream/ticket", &key, "").error().0, "forbidden");
    assert_eq!(Socket::open(server.address, "", &[("X-API-Key", &key)]).err(), Some(403));
    // A stream that was open has heard the last of it.
    assert_eq!(socket.closing(), 4401);
}

/// A webhook that was made under a wider plan waits, as that of a revoked key does, until the plan has its chain again.
#[test]
fn narrowed_plan_pauses_the_webhooks_it_omits() {
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), local(20));
    let (id, key) = server.key();
    let receiver = Receiver::start(|_| OK.to_owned());
    let (webhook, _) = server.webhook(&key, &receiver.url("in"));
    let home = Home::in_folder(&live.store().with_file_name("live.state")).unwrap();
    let path = format!("/v1/webhooks/{webhook}");
    let change = |body: Value| server.call("PATCH", &path, &key, &body.to_string()).status;
    // An event of another webhook shows that this one was dealt with.
    let witness = Receiver::start(|_| OK.to_owned());
    server.webhook(&server.key().1, &witness.url("in"));
    live.block(1);
    receiver.wait_for(Duration::from_secs(20), 1);
    witness.wait_for(Duration::from_secs(20), 1);
    for (definition, seen) in [(r#"{"chains": ["tron"]}"#, 403), (r#"{"endpoints": ["/v1/chains"]}"#, 403)] {
        let before = receiver.received().len();
        home.admin("test", |admin| {
            admin.set_plan("narrow", definition)?;
            admin.assign_plan(&id, "narrow")
        })
        .unwrap();
        within(Duration::from_secs(5), "the plan is known", || change(json!({"status": "active"})) == seen);
        let messages = witness.received().len();
        live.block(1);
        witness.wait_for(Duration::from_secs(20), messages + 1);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(receiver.received().len(), before, "{definition}");
        home.admin("test", |admin| admin.assign_plan(&id, "default")).unwrap();
        receiver.wait_for(Duration::from_secs(20), before + 1);
    }
    home.admin("test", |admin| {
        admin.set_plan("narrow", r#"{"chains": ["tron"]}"#)?;
        admin.assign_plan(&id, "narrow")
    })
    .unwrap();
    within(Duration::from_secs(5), "the plan is known", || change(json!({"target_url": receiver.url("b")})) == 403);
    let elsewhere = json!({"status": "paused", "filters": {"blockchain": "bitcoin"}});
    assert_eq!(change(elsewhere), 403);
    assert_eq!(change(json!({"status": "paused"})), 200, "what is sent may always be stopped");
}

/// A receiver whose certificate comes from an authority of the operator's own.
#[test]
fn deliveries_accept_authorities_of_the_operator() {
    let mut live = LiveStore::new();
    let store = live.store();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let authority = store.with_file_name("ca.pem");
    std::fs::write(&authority, made.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let receiver = Receiver::secure(|_| OK.to_owned(), Arc::new(certificate));
    let state = run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", "0"]);
    let key = state["key"].as_str().unwrap();
    let trusted = format!("webhooks.authorities={}", authority.display());
    let local = ["--set", "webhooks.allow_private_targets=true", "--set", "webhooks.second_ms=20"];
    let mut server = Process::start(&store, &local);
    let (id, _) = webhook(server.address, key, &receiver.https_url("localhost", "in"));
    live.block(1);
    let attempt = |server: &Process| {
        let list = call(server.address, "GET", &format!("/v1/webhooks/{id}/deliveries"), key, "").json();
        list["data"][0]["attempts"][0]["error"].clone()
    };
    within(Duration::from_secs(30), "it is not trusted by itself", || attempt(&server) == "tls_failed");
    assert_eq!(receiver.received().len(), 0);
    server.terminate();
    server.wait();
    let server = Process::start(&store, &[&local[..], &["--set", &trusted]].concat());
    let received = receiver.wait_for(Duration::from_mins(1), 1);
    assert!(received[0].id.starts_with("evt_"));
    drop(server);
}
