//! Every request is recorded once, and the rows of what was paid for agree with the ledger.

use std::time::Duration;

use headwater_server::gateway::Settings;
use headwater_state::{AuditFilter, Home};
use serde_json::{Value, json};

use crate::support::live::Socket;
use crate::support::{Mood, Process, QUIET, Server, check_ledger, logged, small_store, within};

/// Successes of keys are rows, everything else is a line of the log and a part of a sum, and probes are neither.
#[test]
fn every_request_is_recorded_whatever_became_of_it() {
    let server = Server::start();
    let (id, key) = server.key(10);
    let (rows, sums) = (server.count("SELECT count(*) FROM audit"), server.summed("true"));
    let lines = server.logged().len();
    let mut ids = Vec::new();
    let mut note = |reply: crate::support::Reply| ids.push((reply.header("x-request-id").to_owned(), reply.status));
    note(server.client().post("/v1/transactions", &key, QUIET).unwrap());
    note(server.send("GET", "/v1/chains", &[("X-API-Key", &key)], ""));
    note(server.client().post("/v1/transactions", &key, "{").unwrap());
    note(server.client().post("/v1/transactions", "wrong", QUIET).unwrap());
    note(server.send("POST", "/v1/transactions", &[("X-API-Key", &key)], QUIET));
    note(server.send("GET", "/nothing", &[], ""));
    note(server.send("PUT", "/healthz", &[], ""));
    note(server.send("GET", "/docs", &[], ""));
    server.moody.set(Mood::Panics);
    note(server.client().post("/v1/transactions", &key, QUIET).unwrap());
    server.moody.set(Mood::Good);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.send("GET", path, &[], "").status, 200);
    }
    let (listed, others) = ids.split_at(2);
    let logged = &server.logged()[lines..];
    let database = server.database();
    for (request_id, status) in listed {
        let found: u16 = database
            .query_row("SELECT status FROM audit WHERE request_id = ?1", [request_id], |row| row.get(0))
            .unwrap_or_else(|error| panic!("{request_id} with {status}: {error}"));
        assert_eq!(found, *status);
    }
    let found: Vec<(String, u16)> = logged
        .iter()
        .map(|line| {
            (line["request_id"].as_str().unwrap().to_owned(), u16::try_from(line["status"].as_u64().unwrap()).unwrap())
        })
        .collect();
    assert_eq!(found, others);
    assert_eq!(server.count("SELECT count(*) FROM audit") - rows, 2);
    assert_eq!(server.summed("true") - sums, 7);
    let summed: Vec<_> =
        [400, 401, 404, 405, 415, 500].map(|status| server.summed(&format!("status = {status}"))).into();
    // 401s came before the key was known, too.
    assert!(summed[1] >= 1 && summed.iter().enumerate().all(|(place, count)| place == 1 || *count == 1), "{summed:?}");
    assert_eq!(
        (&logged[0]["key_id"], &logged[0]["reason"], &logged[0]["address"], &logged[0]["code"]),
        (&json!(id), &json!("invalid_json"), &json!("127.0.0.1"), &json!("bad_request"))
    );
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
        let mut rows = rows.collect::<Result<Vec<(u16, Option<String>)>, _>>().unwrap();
        let lines = server.logged().into_iter().filter(|line| line["endpoint"] == "/v1/stream");
        rows.extend(lines.map(|line| {
            let status = u16::try_from(line["status"].as_u64().unwrap()).unwrap();
            (status, line["key_id"].as_str().map(str::to_owned))
        }));
        rows.sort_unstable();
        rows
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
    let lines = logged(&Home::beside(&store));
    let statuses: Vec<&Value> =
        lines.iter().filter(|line| line["endpoint"] == "/v1/stream").map(|line| &line["status"]).collect();
    assert_eq!(statuses, [&json!(503)]);
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
    let lines = server.logged();
    // Refused ones are in the log.
    let kept = |endpoint: &str| {
        let asked = listed.iter().filter(|listing| listing.endpoint.as_deref() == Some(endpoint));
        let refused = lines.iter().filter(|line| line["endpoint"] == endpoint && line["status"] != 401);
        let mut kept: Vec<Option<&str>> = asked.map(|listing| listing.parameters.as_deref()).collect();
        kept.extend(refused.map(|line| line["parameters"].as_str()));
        kept.sort_by_key(|text| text.map(str::len));
        kept
    };
    assert_eq!((kept("/v1/transactions"), kept("/v1/webhooks")), (vec![Some(QUIET)], vec![None]));
    let rates = kept("/v1/rates");
    assert_eq!((rates.len(), rates[0]), (2, Some("/v1/rates?symbols=btc%00,eth")));
    assert_eq!(rates[1].map(|text| text.chars().count()), Some(1024 + 3));
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
