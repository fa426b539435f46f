//! Every request leaves one row, and the rows of what was paid for agree with the ledger.

use std::time::Duration;

use headwater_server::gateway::Settings;
use headwater_state::{AuditFilter, Home};
use serde_json::json;

use crate::support::live::Socket;
use crate::support::{Mood, Process, QUIET, Server, check_ledger, reader, small_store, within};

#[test]
fn every_request_has_one_row_whatever_became_of_it() {
    let server = Server::start();
    let (id, key) = server.key(10);
    server.flush();
    let before = server.count("SELECT count(*) FROM audit");
    let mut ids = Vec::new();
    let mut note = |reply: crate::support::Reply| ids.push((reply.header("x-request-id").to_owned(), reply.status));
    note(server.client().post("/v1/transactions", &key, QUIET).unwrap());
    note(server.client().post("/v1/transactions", &key, "{").unwrap());
    note(server.client().post("/v1/transactions", "wrong", QUIET).unwrap());
    note(server.send("POST", "/v1/transactions", &[("X-API-Key", &key)], QUIET));
    note(server.send("GET", "/v1/chains", &[("X-API-Key", &key)], ""));
    note(server.send("GET", "/nothing", &[], ""));
    note(server.send("PUT", "/healthz", &[], ""));
    note(server.send("GET", "/healthz", &[], ""));
    note(server.send("GET", "/docs", &[], ""));
    server.moody.set(Mood::Panics);
    note(server.client().post("/v1/transactions", &key, QUIET).unwrap());
    server.flush();
    let database = server.database();
    for (request_id, status) in &ids {
        let found: u16 = database
            .query_row("SELECT status FROM audit WHERE request_id = ?1", [request_id], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{request_id} with {status}: {error}"));
        assert_eq!(found, *status);
    }
    assert_eq!(server.count("SELECT count(*) FROM audit") - before, i64::try_from(ids.len()).unwrap());
    let (key_id, endpoint, cost, hash): (String, String, i64, Vec<u8>) = database
        .query_row(
            "SELECT key_id, endpoint, cost, parameter_hash FROM audit WHERE request_id = ?1",
            [&ids[0].0],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!((key_id, endpoint.as_str(), cost, hash.len()), (id, "/v1/transactions", 5, 32));
}

#[test]
fn stream_is_audited_under_the_key_of_its_first_message() {
    let server = Server::start();
    let ((id, key), (other, excluded)) = (server.key(0), server.key(0));
    let rows = || {
        server.flush();
        let database = server.database();
        let mut found = database
            .prepare("SELECT status, key_id FROM audit WHERE endpoint = '/v1/stream' ORDER BY status, key_id")
            .unwrap();
        let rows = found.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<Vec<(u16, Option<String>)>, _>>().unwrap()
    };
    let mut expected = Vec::new();
    let mut with = |status: u16, key_id: Option<&String>| {
        expected.push((status, key_id.cloned()));
        expected.sort_unstable();
        expected.clone()
    };
    let open = |headers: &[(&str, &str)]| Socket::open(server.address, "", headers).unwrap();
    let says = |socket: &mut Socket, key: &str| {
        socket.say(&json!({"action": "auth", "api_key": key}));
        socket.hear().map(|message| message["type"].clone())
    };
    let mut socket = open(&[]);
    assert_eq!(rows(), [], "nobody has said yet who it is");
    assert_eq!(says(&mut socket, &key), Ok(json!("welcome")));
    assert_eq!(rows(), with(101, Some(&id)));
    assert_eq!(open(&[("X-API-Key", &key)]).hear().unwrap()["type"], "welcome");
    assert_eq!(rows(), with(101, Some(&id)));
    assert_eq!(says(&mut open(&[]), "wrong"), Err(4401));
    assert_eq!(rows(), with(401, None));
    server.admin(|admin| {
        admin.set_plan("calls", r#"{"endpoints": ["/v1/chains"]}"#)?;
        admin.assign_plan(&other, "calls")
    });
    within(Duration::from_secs(5), "the plan is known", || {
        server.send("GET", "/v1/usage", &[("X-API-Key", &excluded)], "").status == 403
    });
    assert_eq!(says(&mut open(&[]), &excluded), Err(4401));
    assert_eq!(rows(), with(401, Some(&other)));
    drop(open(&[]));
    let expected = with(499, None);
    within(Duration::from_secs(5), "who went away has a row", || rows() == expected);
}

#[test]
fn keyless_stream_at_shutdown_is_closed_and_has_a_row() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let mut server = Process::start(&store, &[]);
    let mut socket = Socket::open(server.address, "", &[]).unwrap();
    server.terminate();
    assert_eq!(socket.closing(), 1001);
    drop(socket);
    assert_eq!(server.wait(), Some(0));
    let database = reader(&Home::in_folder(&Home::beside(&store)).unwrap());
    let sql = "SELECT count(*), max(status) FROM audit WHERE endpoint = '/v1/stream'";
    let found: (i64, u16) = database.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found, (1, 503));
}

#[test]
fn the_row_of_a_paid_answer_counts_the_bytes_of_its_body() {
    let server = Server::start();
    // The digits of the balance are part of the body: 105, 100, 95.
    let (_, key) = server.key(110);
    for _ in 0..3 {
        let reply = server.client().post("/v1/transactions", &key, QUIET).unwrap();
        let sql = format!("SELECT bytes FROM audit WHERE request_id = '{}'", reply.header("x-request-id"));
        assert_eq!(server.count(&sql), i64::try_from(reply.body.len()).unwrap());
    }
    let free = server.send("GET", "/v1/chains", &[("X-API-Key", &key)], "");
    let sql = format!("SELECT bytes FROM audit WHERE request_id = '{}'", free.header("x-request-id"));
    assert_eq!(server.count(&sql), i64::try_from(free.body.len()).unwrap());
}

#[test]
fn parameters_are_kept_as_a_digest_only() {
    let server = Server::start();
    let (_, key) = server.key(100);
    for _ in 0..2 {
        server.client().post("/v1/transactions", &key, QUIET).unwrap();
    }
    for alias in ["ETH", "mainnet", "eip155:1"] {
        server.client().post("/v1/transactions", &key, &QUIET.replace("ethereum", alias)).unwrap();
    }
    server.client().post("/v1/transactions", &key, &QUIET.replace("aa\"", "ab\"")).unwrap();
    assert_eq!(server.count("SELECT count(DISTINCT parameter_hash) FROM audit WHERE endpoint = '/v1/transactions'"), 2);
    server.flush();
    let rows = std::fs::read(server.database().path().unwrap()).unwrap();
    assert!(!String::from_utf8_lossy(&rows).contains("00000000aa"));
}

#[test]
fn parameters_of_data_calls_are_kept_if_configured() {
    let server = Server::with(Settings { audit_parameters: true, ..Settings::default() });
    let (id, key) = server.key(100);
    server.client().post("/v1/transactions", &key, QUIET).unwrap();
    server.send("GET", "/v1/rates?symbols=btc%00,eth", &[("X-API-Key", &key)], "");
    let long = format!("/v1/rates?symbols={}", "a".repeat(5000));
    server.send("GET", &long, &[("X-API-Key", &key)], "");
    // A receiver's address may hold a secret of its own.
    let webhook = r#"{"event_type": "large_transfer", "target_url": "https://hooks.example.com/canary"}"#;
    server.send("POST", "/v1/webhooks", &[("X-API-Key", &key), ("Content-Type", "application/json")], webhook);
    server.flush();
    let filter = AuditFilter { key_id: Some(id), limit: 9, ..AuditFilter::default() };
    let listed = server.home().consult(|admin| admin.audit(&filter)).unwrap();
    // Of one millisecond any may be first.
    let kept = |endpoint: &str| {
        let asked = listed.iter().filter(|listing| listing.endpoint.as_deref() == Some(endpoint));
        let mut kept: Vec<Option<&str>> = asked.map(|listing| listing.parameters.as_deref()).collect();
        kept.sort_by_key(|text| text.map(str::len));
        kept
    };
    assert_eq!((kept("/v1/transactions"), kept("/v1/webhooks")), (vec![Some(QUIET)], vec![None]));
    let rates = kept("/v1/rates");
    assert_eq!((rates.len(), rates[0]), (2, Some("/v1/rates?symbols=btc%00,eth")));
    assert_eq!(rates[1].map(|text| text.chars().count()), Some(1024 + 3));
    assert_eq!(server.count("SELECT count(*) FROM audit WHERE length(parameters) > 1000"), 1);
}

#[test]
fn the_ledger_refuses_to_be_edited_and_a_forged_entry_is_found() {
    let server = Server::start();
    let (_, key) = server.key(100);
    for _ in 0..5 {
        assert_eq!(server.client().post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    }
    server.flush();
    assert_eq!(check_ledger(&server.home()).unwrap(), 6);
    let writer = rusqlite::Connection::open(server.database().path().unwrap()).unwrap();
    writer.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    for sql in ["UPDATE credit_ledger SET amount = 0", "DELETE FROM credit_ledger"] {
        assert!(writer.execute(sql, []).unwrap_err().to_string().contains("append only"));
    }
    assert!(writer.execute("UPDATE account SET balance = -1", []).is_err());
    writer
        .execute_batch("DROP TRIGGER credit_ledger_no_update; UPDATE credit_ledger SET endpoint = '/x' WHERE entry = 3")
        .unwrap();
    let error = check_ledger(&server.home()).unwrap_err().to_string();
    assert!(error.contains("entry 3"), "{error}");
}
