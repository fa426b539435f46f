//! Copies that are taken while the state is written, and states of earlier versions.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use headwater_server::state::{Environment, Home, Place};
use rusqlite::Connection;

use crate::support::{QUIET, Server, headwater, is_full, reader};

#[test]
fn a_backup_is_the_state_of_one_moment_while_others_write() {
    let server = Server::start();
    let keys: Vec<String> = (0..3).map(|_| server.key(1_000_000_000).1).collect();
    let place = tempfile::tempdir().unwrap();
    let rounds = if is_full() { 100 } else { 6 };
    let done = AtomicBool::new(false);
    let mut restored = Vec::new();
    thread::scope(|scope| {
        for key in &keys {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                let mut client = server.client();
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(client.post("/v1/transactions", key, QUIET).unwrap().status, 200);
                    // Without a pause a hundred backups are of millions of entries, each looked at.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        for round in 0..rounds {
            let (backup, to) = (place.path().join(format!("b{round}")), place.path().join(format!("r{round}")));
            server.home().back_up(&backup).unwrap();
            Home::restore(&backup, &Place::Folder(to.clone()), None).unwrap();
            restored.push(Home::in_folder(&to).unwrap());
            thread::sleep(Duration::from_millis(20));
        }
        done.store(true, Ordering::Relaxed);
    });
    server.flush();
    let live = server.database();
    let (mut entries, mut differences) = (0, 0);
    for home in &restored {
        let copy = reader(home);
        let mut heads = copy.prepare("SELECT id, balance, entries, head FROM account ORDER BY id").unwrap();
        let heads: Vec<(i64, i64, i64, Vec<u8>)> = heads
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(heads.len(), keys.len());
        for (account, balance, number, head) in heads {
            // The hash covers every entry before it: equal heads are equal ledgers.
            let found: (i64, Vec<u8>) = live
                .query_row(
                    "SELECT balance_after, hash FROM credit_ledger WHERE account_id = ?1 AND entry = ?2",
                    [account, number],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .unwrap();
            differences += usize::from(found != (balance, head));
            entries += number;
        }
        let unlike: i64 = copy
            .query_row(
                "SELECT (SELECT coalesce(sum(cost), 0) FROM audit WHERE status = 200)
                      + (SELECT coalesce(sum(amount), 0) FROM credit_ledger WHERE kind = 'charge')",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(unlike, 0, "audit and ledger are of one moment");
    }
    println!("{rounds} backups while three clients write, {entries} entries restored: differences {differences}");
    assert_eq!(differences, 0);
}

/// A state as the first schema had it, made of the rows of a state of today.
fn first_schema(home: &Home, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let from = home.database().unwrap();
    std::fs::copy(from.with_file_name("key.pepper"), folder.join("key.pepper")).unwrap();
    let old = Connection::open(folder.join("gateway.sqlite")).unwrap();
    old.execute_batch(include_str!("../migrations/sqlite/0001_keys.sql")).unwrap();
    old.execute("ATTACH ?1 AS today", [from.to_str().unwrap()]).unwrap();
    old.execute_batch(
        "INSERT INTO setting SELECT * FROM today.setting WHERE name = 'pepper';
         INSERT INTO account SELECT id, name, balance, entries, head, created_at FROM today.account;
         INSERT INTO api_key SELECT id, account_id, name, environment, digest, created_at, expires_at, revoked_at
             FROM today.api_key;
         INSERT INTO credit_ledger SELECT * FROM today.credit_ledger;
         PRAGMA user_version = 1",
    )
    .unwrap();
}

#[test]
fn an_upgrade_that_is_killed_anywhere_is_taken_on_by_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let today = Home::in_folder(&place.path().join("today")).unwrap();
    let entries = 20_000;
    today
        .office("test", |office| {
            let made = office.create_key("old", Environment::Live, 1, None)?;
            (1..entries).try_for_each(|_| office.add_credits(&made.id, 1).map(|_| ()))
        })
        .unwrap();
    let old = place.path().join("old");
    first_schema(&today, &old);
    let rounds: u32 = if is_full() { 200 } else { 8 };
    let (mut killed, mut between) = (0, 0);
    for round in 0..rounds {
        let state = place.path().join(format!("s{round}"));
        std::fs::create_dir(&state).unwrap();
        for file in ["gateway.sqlite", "key.pepper"] {
            std::fs::copy(old.join(file), state.join(file)).unwrap();
        }
        let mut child = headwater(&["keys", "list", "--json", "--state", state.to_str().unwrap()])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Spread over the time that an upgrade takes.
        thread::sleep(Duration::from_millis(u64::from(round * 400 / rounds)));
        killed += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        let found: i64 = Connection::open(state.join("gateway.sqlite"))
            .unwrap()
            .query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0))
            .unwrap();
        between += u32::from(found == 1);
        let home = Home::in_folder(&state).unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(home.check().unwrap().entries, entries, "round {round}");
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is not general enough")]
        let keys = home.office("test", |office| office.list_keys()).unwrap();
        assert_eq!((keys.len(), keys[0].credits), (1, i64::try_from(entries).unwrap()));
    }
    println!("{rounds} upgrades, {killed} killed under way, {between} of them before the step was done: all open");
}
