//! Backups of a state in PostgreSQL, and states that move from one kind of database to the other.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use headwater_state::{Access, Environment, Home, StateLocation};

use crate::support::live::{LiveStore, PAYER, Receiver, call, webhook};
use crate::support::postgres::Postgres;
use crate::support::replicas::Replicas;
use crate::support::{QUIET, StopOnDrop, headwater, is_full, run, run_json, small_store, within};

/// Balances with the numbers and hashes of their last entries, which stand for all entries before them.
fn heads(home: &Home) -> Vec<(i64, i64, i64, Vec<u8>)> {
    let mut db = home.connect(Access::Read).unwrap();
    let rows = db.transaction(|tx| tx.rows("SELECT id, balance, entries, head FROM account ORDER BY id", &[])).unwrap();
    rows.iter()
        .map(|row| (row.int(0).unwrap(), row.int(1).unwrap(), row.int(2).unwrap(), row.blob(3).unwrap().to_vec()))
        .collect()
}

/// Returns the number of rows each table has; what belongs to running processes is not asked for.
fn rows(home: &Home) -> Vec<i64> {
    const TABLES: [&str; 13] = [
        "SELECT count(*) FROM api_key",
        "SELECT count(*) FROM credit_ledger",
        "SELECT count(*) FROM audit",
        "SELECT count(*) FROM usage_day",
        "SELECT count(*) FROM request_sum",
        "SELECT count(*) FROM idempotency",
        "SELECT count(*) FROM admin_audit",
        "SELECT count(*) FROM webhook_endpoint",
        "SELECT count(*) FROM webhook_secret",
        "SELECT count(*) FROM outbox_event",
        "SELECT count(*) FROM webhook_delivery",
        "SELECT count(*) FROM webhook_attempt",
        "SELECT count(*) FROM stream_event",
    ];
    let mut db = home.connect(Access::Read).unwrap();
    TABLES.iter().map(|sql| db.transaction(|tx| tx.rows(sql, &[])).unwrap()[0].int(0).unwrap()).collect()
}

/// Returns what the audit says was paid, less what the ledger says.
fn difference(home: &Home) -> i64 {
    let mut db = home.connect(Access::Read).unwrap();
    let rows = db.transaction(|tx| {
        tx.rows(
            "SELECT CAST((SELECT coalesce(sum(cost), 0) FROM audit WHERE status = 200)
                       + (SELECT coalesce(sum(amount), 0) FROM credit_ledger WHERE kind = 'charge') AS BIGINT)",
            &[],
        )
    });
    rows.unwrap()[0].int(0).unwrap()
}

fn restore(backup: &Path, postgres: &Postgres, secrets: &Path) -> Home {
    let place = StateLocation::parse(&postgres.url()).unwrap();
    Home::restore(backup, &place, Some(secrets)).unwrap();
    Home::open(&place, Some(secrets)).unwrap()
}

#[test]
fn postgres_backup_is_of_one_moment_and_restores_to_either() {
    let rounds = if is_full() { 50 } else { 3 };
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let replicas = Replicas::start(2, &store, &[]);
    let keys: Vec<String> = (0..3)
        .map(|_| {
            let made = replicas.home.admin("t", |admin| admin.create_key("k", Environment::Live, 1 << 40, None));
            made.unwrap().key.expose().to_owned()
        })
        .collect();
    within(Duration::from_secs(10), "the keys are known", || {
        replicas.servers.iter().all(|server| {
            let mut client = server.client().unwrap();
            keys.iter().all(|key| client.post("/v1/transactions", key, QUIET).unwrap().status == 200)
        })
    });
    let done = AtomicBool::new(false);
    let mut restored: Vec<Home> = Vec::new();
    thread::scope(|scope| {
        let _end = StopOnDrop(&done);
        for (number, key) in keys.iter().enumerate() {
            let (servers, done) = (&replicas.servers, &done);
            scope.spawn(move || {
                let mut client = servers[number % 2].client().unwrap();
                let mut call = 0;
                while !done.load(Ordering::Relaxed) {
                    call += 1;
                    let idempotency_key = format!("{number}-{call}");
                    let headers = [
                        ("X-API-Key", key.as_str()),
                        ("Content-Type", "application/json"),
                        ("Idempotency-Key", idempotency_key.as_str()),
                    ];
                    let reply = client.send("POST", "/v1/transactions", &headers, QUIET.as_bytes()).unwrap();
                    assert_eq!(reply.status, 200);
                }
            });
        }
        for round in 0..rounds {
            let backup = place.path().join(format!("b{round}"));
            let checked = replicas.home.back_up(&backup).unwrap();
            let to = place.path().join(format!("r{round}"));
            assert_eq!(Home::restore(&backup, &StateLocation::Folder(to.clone()), None).unwrap(), checked);
            restored.push(Home::in_folder(&to).unwrap());
            thread::sleep(Duration::from_millis(50));
        }
    });
    // Round the whole way: from PostgreSQL into a folder, from there into another PostgreSQL and into a folder again.
    let other = Postgres::start();
    let last = place.path().join(format!("b{}", rounds - 1));
    let moved = restore(&last, &other, &place.path().join("other"));
    let back = place.path().join("back");
    moved.back_up(&back).unwrap();
    let end = place.path().join("end");
    Home::restore(&back, &StateLocation::Folder(end.clone()), None).unwrap();
    let last = restored.last().unwrap();
    for home in [&moved, &Home::in_folder(&end).unwrap()] {
        assert_eq!((heads(home), rows(home)), (heads(last), rows(last)));
    }
    restored.push(moved);
    let mut live = replicas.home.connect(Access::Read).unwrap();
    let (mut entries, mut differences) = (0, 0);
    for home in &restored {
        for (account, balance, number, head) in heads(home) {
            let found = live
                .transaction(|tx| {
                    tx.rows(
                        "SELECT balance_after, hash FROM credit_ledger WHERE account_id = ?1 AND entry = ?2",
                        &[account.into(), number.into()],
                    )
                })
                .unwrap();
            differences += usize::from((found[0].int(0).unwrap(), found[0].blob(1).unwrap()) != (balance, &head));
            entries += number;
        }
        assert_eq!(difference(home), 0, "audit and ledger are of one moment");
        home.check().unwrap();
    }
    println!(
        "{rounds} backups of PostgreSQL under three writers, {entries} entries restored: differences {differences}"
    );
    assert_eq!(differences, 0);
}

#[test]
fn postgres_takes_over_a_folder_state_whole() {
    let mut live = LiveStore::new();
    let store = live.store();
    let at = store.to_str().unwrap();
    let made = run_json(&["keys", "create", "--json", "--store", at, "--credits", "100"]);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let local = ["--set", "webhooks.allow_private_targets=true", "--set", "webhooks.second_ms=20"];
    let refusing = Receiver::start(|_| "500 No".to_owned());
    let mut server = crate::support::Process::start(&store, &local);
    let (hook, _) = webhook(server.address, key, &refusing.url("in"));
    let body = serde_json::json!({"blockchain": "ethereum", "address": PAYER}).to_string();
    assert_eq!(call(server.address, "POST", "/v1/transactions", key, &body).status, 200);
    live.block(2);
    refusing.wait_for(Duration::from_secs(30), 2);
    server.terminate();
    server.wait();
    // By the command line, as an operator does it.
    let (backup, secrets) = (store.with_file_name("backup"), store.with_file_name("secrets"));
    let folder = backup.to_str().unwrap();
    run_json(&["state", "backup", folder, "--json", "--store", at]);
    let postgres = Postgres::start();
    let (url, secrets) = (postgres.url(), secrets.to_str().unwrap().to_owned());
    let shared = ["--json", "--store", at, "--state", &url, "--secrets-dir", &secrets];
    let without = run(&["state", "restore", folder, "--store", at, "--state", &url]);
    assert!(!without.status.success() && String::from_utf8_lossy(&without.stderr).contains("--secrets-dir"));
    assert_eq!(run_json(&[&["state", "restore", folder][..], &shared[..]].concat())["entries"], 2);
    let again = run(&[&["state", "restore", folder][..], &shared[..]].concat());
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && said.contains("holds a state already"), "{said}");
    assert_eq!(run_json(&[&["state", "check"][..], &shared[..]].concat())["sound"], true);
    // The same key, its balance, its webhook, and what was not delivered yet.
    let taking = Receiver::start(|_| "200 OK".to_owned());
    let server =
        crate::support::Process::start(&store, &[&local[..], &["--state", &url, "--secrets-dir", &secrets]].concat());
    let change = serde_json::json!({"target_url": taking.url("in"), "status": "active"}).to_string();
    assert_eq!(call(server.address, "PATCH", &format!("/v1/webhooks/{hook}"), key, &change).status, 200);
    taking.wait_for(Duration::from_mins(1), 2);
    let reply = call(server.address, "POST", "/v1/transactions", key, &body);
    assert_eq!((reply.status, reply.header("x-credit-remaining")), (200, "90"));
    let more = run_json(&[&["keys", "create"][..], &shared[..]].concat());
    assert_ne!(more["id"], id, "numbers of the database continue behind what was restored");
    live.block(1);
    taking.wait_for(Duration::from_mins(1), 3);
}

#[test]
fn postgres_state_is_examined_by_doctor() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let postgres = Postgres::start();
    let secrets = place.path().join("secrets");
    let (url, at) = (postgres.url(), store.to_str().unwrap());
    let doctor = |secrets: &Path| {
        let shared = ["--store", at, "--state", &url, "--secrets-dir", secrets.to_str().unwrap()];
        let output = headwater(&[&["doctor", "--json"][..], &shared[..]].concat()).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let state = findings.filter(|one| one["area"] == "state");
        state
            .map(|one| (one["level"].as_str().unwrap().to_owned(), one["what"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    // Nothing is made by looking.
    let before = doctor(&secrets);
    assert!(before.iter().any(|(level, what)| level == "warning" && what.contains("there is no state")), "{before:?}");
    assert_eq!(before, doctor(&secrets));
    let home = postgres.home(&secrets);
    home.admin("t", |admin| admin.create_key("ada", Environment::Live, 7, None)).unwrap();
    let good = doctor(&secrets);
    assert!(good.iter().all(|(level, _)| level == "good"), "{good:?}");
    assert!(good.iter().any(|(_, what)| what.contains("1 entries")), "{good:?}");
    // A balance that was changed behind the ledger's back.
    home.connect(Access::Write).unwrap().transaction(|tx| tx.execute("UPDATE account SET balance = 8", &[])).unwrap();
    let changed = doctor(&secrets);
    assert!(changed.iter().any(|(level, what)| level == "broken" && what.contains("ledger")), "{changed:?}");
    drop(postgres);
    let gone = doctor(&secrets);
    assert!(gone.iter().any(|(level, _)| level == "broken"), "{gone:?}");
}
