//! kill -9 at random moments: what was answered is in the ledger, and the ledger is what was deducted.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use headwater_server::state::Home;

use crate::support::{Process, QUIET, check_ledger, reader, run_json, small_store};

#[test]
fn no_answer_without_its_row_after_kill_9() {
    const KILLS: i64 = 5;
    const CONNECTIONS: usize = 32;
    const CREDITS: i64 = 10_000_000;
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let made =
        run_json(&["keys", "create", "--json", "--store", store.to_str().unwrap(), "--credits", &CREDITS.to_string()]);
    let key = made["key"].as_str().unwrap();
    let received = Mutex::new(BTreeSet::new());
    // Moments from a fixed seed, so that a failure can be had again.
    let mut seed = 20_260_101_u64;
    for kill in 0..KILLS {
        let mut server = Process::start(&store, &[]);
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(100 + (seed >> 33) % 400);
        eprintln!("kill {kill} after {moment:?}");
        thread::scope(|scope| {
            for _ in 0..CONNECTIONS {
                scope.spawn(|| {
                    let Ok(mut client) = server.client() else { return };
                    while let Ok(reply) = client.post("/v1/transactions", key, QUIET) {
                        assert_eq!(reply.status, 200);
                        received.lock().unwrap().insert(reply.header("x-request-id").to_owned());
                    }
                });
            }
            thread::sleep(moment);
            let pid = server.id().to_string();
            assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
        });
        server.kill();
    }
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let database = reader(&home);
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let received = received.into_inner().unwrap();
    assert!(!received.is_empty());
    let without_row = received
        .iter()
        .filter(|id| {
            let sql = "SELECT count(*) FROM credit_ledger JOIN audit USING (request_id) WHERE request_id = ?1";
            database.query_row(sql, [id], |row| row.get::<_, i64>(0)).unwrap() != 1
        })
        .count();
    assert_eq!(without_row, 0);
    let charged = number("SELECT -sum(amount) FROM credit_ledger WHERE kind = 'charge'");
    assert_eq!(CREDITS - number("SELECT balance FROM account"), charged);
    assert_eq!(number("SELECT sum(cost) FROM audit WHERE status = 200"), charged);
    let undelivered = charged / 5 - i64::try_from(received.len()).unwrap();
    eprintln!("{} answers received, {undelivered} paid for and not received", received.len());
    assert!((0..=i64::try_from(CONNECTIONS).unwrap() * KILLS).contains(&undelivered));
    check_ledger(&home).unwrap();
    assert_eq!(database.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    // After the last kill nothing is held, and the balance is the one on disk.
    let server = Process::start(&store, &[]);
    let reply = server.client().unwrap().post("/v1/transactions", key, QUIET).unwrap();
    assert_eq!(reply.header("x-credit-remaining"), (CREDITS - charged - 5).to_string());
}
