//! Copies that are taken while the state is written, and states of earlier versions. Names of what is killed by
//! `faults.c` begin with `shim_`.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use headwater_server::state::{Environment, Home, Place};
use rusqlite::Connection;

use crate::support::faults::{Faults, Happened, Unsynced, after_power_loss, read_log};
use crate::support::live::{Live, LiveServer, Receiver, local};
use crate::support::{AtEnd, QUIET, at_once, headwater, is_full, reader};

/// Number, balance, entries and last hash of every account.
fn heads(copy: &Connection) -> Vec<(i64, i64, i64, Vec<u8>)> {
    let mut heads = copy.prepare("SELECT id, balance, entries, head FROM account ORDER BY id").unwrap();
    let heads = heads.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
    heads.map(Result::unwrap).collect()
}

/// How far the feed was followed, and the events up to there: for webhooks and for streams.
fn followed(db: &Connection, up_to: Option<i64>) -> (i64, Vec<String>, Vec<(String, i64)>) {
    let reached =
        db.query_row("SELECT position FROM outbox_position WHERE name = 'events'", [], |row| row.get(0)).unwrap();
    let last = up_to.unwrap_or(i64::MAX);
    let mut streamed = db.prepare("SELECT id, position FROM stream_event WHERE position <= ?1 ORDER BY id").unwrap();
    let streamed = streamed.query_map([last], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut sent = db
        .prepare(
            "SELECT outbox_event.id FROM outbox_event JOIN webhook_delivery ON event_id = outbox_event.id
             JOIN stream_event ON stream_event.id = outbox_event.id WHERE position <= ?1 ORDER BY outbox_event.id",
        )
        .unwrap();
    let sent = sent.query_map([last], |row| row.get(0)).unwrap();
    (reached, sent.map(Result::unwrap).collect(), streamed.map(Result::unwrap).collect())
}

#[test]
fn a_backup_is_the_state_of_one_moment_while_others_write() {
    let receiver = Receiver::start(|_| "200 OK".to_owned());
    let mut live = Live::new();
    let server = LiveServer::start(&live.store(), local(1000));
    let state = Home::in_folder(&live.store().with_file_name("live.state")).unwrap();
    let keys: Vec<(String, String)> = (0..3).map(|_| server.key()).collect();
    for (id, _) in &keys {
        state.office("test", |office| office.add_credits(id, 1_000_000_000)).unwrap();
    }
    server.webhook(&keys[0].1, &receiver.url("in"));
    live.block(1);
    receiver.wait_for(Duration::from_secs(30), 1);
    let place = tempfile::tempdir().unwrap();
    let rounds = if is_full() { 100 } else { 6 };
    let done = AtomicBool::new(false);
    let mut restored = Vec::new();
    thread::scope(|scope| {
        let _end = AtEnd(&done);
        for (_, key) in &keys {
            let (server, done) = (&server, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let status = server.call("POST", "/v1/transactions", key, QUIET).status;
                    // Until the credits are seen.
                    assert!(matches!(status, 200 | 402), "{status}");
                    // Without a pause a hundred backups are of millions of entries, each looked at.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let (live, done) = (&mut live, &done);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                live.block(1);
                thread::sleep(Duration::from_millis(20));
            }
        });
        for round in 0..rounds {
            let (backup, to) = (place.path().join(format!("b{round}")), place.path().join(format!("r{round}")));
            state.back_up(&backup).unwrap();
            Home::restore(&backup, &Place::Folder(to.clone()), None).unwrap();
            restored.push(Home::in_folder(&to).unwrap());
            thread::sleep(Duration::from_millis(20));
        }
    });
    let now = reader(&state);
    let (mut entries, mut differences, mut positions) = (0, 0, Vec::new());
    for home in &restored {
        let copy = reader(home);
        let heads = heads(&copy);
        assert_eq!(heads.len(), keys.len());
        for (account, balance, number, head) in heads {
            // The hash covers every entry before it: equal heads are equal ledgers.
            let found: (i64, Vec<u8>) = now
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
        // Each block has one event: the copy holds all events up to its position, and none behind it.
        let (position, sent, streamed) = followed(&copy, None);
        assert_eq!(streamed.iter().map(|(_, position)| *position).max(), Some(position), "position and events");
        assert_eq!(sent.len(), streamed.len(), "events and deliveries are of one moment");
        let (_, sent_now, streamed_now) = followed(&now, Some(position));
        differences += usize::from((sent, streamed) != (sent_now, streamed_now));
        positions.push(position);
    }
    let blocks = positions[positions.len() - 1] - positions[0];
    println!(
        "{rounds} backups while three clients write and {blocks} blocks are followed, {entries} entries restored: \
         differences of ledgers, of the position in the feed and of events up to it {differences}"
    );
    assert_eq!(differences, 0);
    assert!(blocks > 0 && positions.is_sorted());
}

/// The steps from nothing to the schema of today.
const STEPS: [&str; 8] = [
    include_str!("../migrations/sqlite/0001_keys.sql"),
    include_str!("../migrations/sqlite/0002_gateway.sql"),
    include_str!("../migrations/sqlite/0003_audit_pages.sql"),
    include_str!("../migrations/sqlite/0004_seals.sql"),
    include_str!("../migrations/sqlite/0005_replicas.sql"),
    include_str!("../migrations/sqlite/0006_scale.sql"),
    include_str!("../migrations/sqlite/0007_pages_and_sums.sql"),
    include_str!("../migrations/sqlite/0008_parameters.sql"),
];

/// Requests of the audit in a state of an earlier schema, of five credits each.
const AUDITED: i64 = 1_000;

/// What tables get that came with the second schema.
const SECOND: &str = "
    INSERT INTO setting SELECT * FROM today.setting WHERE name = 'master';
    INSERT INTO plan SELECT * FROM today.plan;
    UPDATE account SET plan = (SELECT plan FROM today.account AS now WHERE now.id = account.id);
    INSERT INTO admin_key SELECT * FROM today.admin_key;
    INSERT INTO admin_audit SELECT id, ts_ms, actor, action, target, before_json, after_json FROM today.admin_audit;
    INSERT INTO usage_day VALUES (1, 20000, '/v1/transactions', 1000, 0, 5000);
    INSERT INTO idempotency VALUES (1, 'again', zeroblob(32), 'r', 200, x'7b7d', 0, NULL, 1);
    INSERT INTO server_run VALUES ('run', 1, 1, 2, '');
    INSERT INTO lost_answer VALUES ('r', 'run', 1, 2);
    INSERT INTO webhook_endpoint
        SELECT 'hook', account_id, id, 'https://hooks.example.com/', 'large_transfer', '{}', 'active', NULL, 1, 1, NULL
        FROM api_key LIMIT 1;
    INSERT INTO webhook_secret VALUES ('hook', 1, zeroblob(60), 1, NULL);
    INSERT INTO outbox_event VALUES (1, 'event', 'large_transfer', 1, '{}');
    INSERT INTO webhook_delivery VALUES ('event', 'hook', 'pending', 1, 1, NULL, NULL, 1, NULL);
    INSERT INTO webhook_attempt VALUES ('event', 'hook', 1, 1, 500, 1, NULL);
    INSERT INTO stream_event VALUES ('event', 7, 1);
    INSERT INTO outbox_position VALUES ('events', 7, 0);
";

/// A state of today, whose earlier ones are made of its rows, with so many entries.
fn state_of_today(folder: &Path, entries: i64) -> Home {
    let home = Home::in_folder(folder).unwrap();
    home.office("test", |office| {
        let made = office.create_key("old", Environment::Live, 1, None)?;
        office.set_plan("pro", "{}")?;
        office.assign_plan(&made.id, "pro")?;
        office.create_admin("bea")?;
        (1..entries).try_for_each(|_| office.add_credits(&made.id, 1).map(|_| ()))
    })
    .unwrap();
    home
}

/// A state as an earlier schema had it: taken on step by step from the first one, with rows of each table from the step
/// on that made it.
fn earlier_schema(today: &Home, schema: usize, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let from = today.database().unwrap();
    for secret in ["key.pepper", "master.key"].iter().take(schema.min(2)) {
        std::fs::copy(from.with_file_name(secret), folder.join(secret)).unwrap();
    }
    let old = Connection::open(folder.join("gateway.sqlite")).unwrap();
    old.execute("ATTACH ?1 AS today", [from.to_str().unwrap()]).unwrap();
    for (number, step) in (1..=schema).zip(STEPS) {
        old.execute_batch(step).unwrap();
        let rows = match number {
            1 => format!(
                "INSERT INTO setting SELECT * FROM today.setting WHERE name = 'pepper';
                 INSERT INTO account SELECT id, name, balance, entries, head, created_at FROM today.account;
                 INSERT INTO api_key SELECT id, account_id, name, environment, digest, created_at, expires_at, revoked_at
                     FROM today.api_key;
                 INSERT INTO credit_ledger SELECT * FROM today.credit_ledger;
                 WITH RECURSIVE line (number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM line LIMIT {AUDITED})
                 INSERT INTO audit SELECT format('%036d', number), NULL, api_key.id, 'POST', '/v1/transactions', 200, 5, 1, 9,
                     zeroblob(32), 1700000000000 + 100 * number FROM line, api_key;"
            ),
            2 => SECOND.to_owned(),
            4 => "INSERT INTO seal SELECT * FROM today.seal;
                  INSERT INTO setting SELECT * FROM today.setting WHERE name = 'sealed';
                  UPDATE commit_count SET number = (SELECT number FROM today.commit_count);"
                .to_owned(),
            _ => String::new(),
        };
        old.execute_batch(&rows).unwrap_or_else(|error| panic!("schema {number}: {error}"));
    }
    old.pragma_update(None, "user_version", u32::try_from(schema).unwrap()).unwrap();
}

/// Copies a state that nobody has open.
fn copy_state(from: &Path, to: &Path) {
    after_power_loss(from, &[], Unsynced::Kept, to);
}

/// The schema that a killed upgrade left, seen in a copy: the state itself is for the next start to find.
fn schema_of(state: &Path) -> usize {
    let copy = state.with_extension("copy");
    copy_state(state, &copy);
    let found: u32 = Connection::open(copy.join("gateway.sqlite"))
        .and_then(|db| db.query_row("SELECT user_version FROM pragma_user_version", [], |row| row.get(0)))
        .unwrap();
    std::fs::remove_dir_all(&copy).unwrap();
    usize::try_from(found).unwrap()
}

/// Opens a state that came from an earlier schema, as any start does, and looks whether all of it is there.
fn assert_taken_on(state: &Path, schema: usize, entries: i64) {
    let home = Home::in_folder(state).unwrap_or_else(|error| panic!("schema {schema}: {error}"));
    assert_eq!(i64::try_from(home.check().unwrap().entries).unwrap(), entries, "schema {schema}");
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone is not general enough")]
    let keys = home.office("test", |office| office.list_keys()).unwrap();
    let plan = if schema == 1 { "default" } else { "pro" };
    assert_eq!((keys.len(), keys[0].credits, keys[0].plan.as_str()), (1, entries, plan));
    let db = reader(&home);
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT count(*) FROM audit"), AUDITED);
    assert_eq!(number("SELECT sum(cost) FROM audit WHERE status = 200 AND endpoint = '/v1/transactions'"), 5 * AUDITED);
    let later = "plan admin_key usage_day idempotency server_run lost_answer webhook_endpoint webhook_secret outbox_event \
                 webhook_delivery webhook_attempt stream_event outbox_position";
    for table in later.split_whitespace() {
        assert_eq!(number(&format!("SELECT count(*) FROM {table}")), i64::from(schema > 1), "{table} of {schema}");
    }
    assert_eq!(number("SELECT coalesce(max(position), 7) FROM outbox_position"), 7);
}

/// The command that takes a state on, and does nothing else.
fn upgrade(state: &Path) -> std::process::Command {
    let mut command = headwater(&["keys", "list", "--json", "--state", state.to_str().unwrap()]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn an_upgrade_that_is_killed_anywhere_is_taken_on_by_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let (rounds, entries, longest_ms) = if is_full() { (30, 20_000, 400) } else { (2, 4_000, 100) };
    let today = state_of_today(&place.path().join("today"), entries);
    let (mut upgrades, mut killed, mut between) = (0, 0, 0);
    for schema in 1..STEPS.len() {
        let old = place.path().join(format!("old{schema}"));
        earlier_schema(&today, schema, &old);
        for round in 0..rounds {
            let state = place.path().join(format!("s{schema}-{round}"));
            copy_state(&old, &state);
            let mut child = upgrade(&state).spawn().unwrap();
            // Spread over the time that an upgrade takes.
            thread::sleep(Duration::from_millis(round * longest_ms / rounds));
            upgrades += 1;
            killed += u32::from(child.try_wait().unwrap().is_none());
            let _ = child.kill();
            child.wait().unwrap();
            between += u32::from(schema_of(&state) < STEPS.len());
            assert_taken_on(&state, schema, entries);
            std::fs::remove_dir_all(&state).unwrap();
        }
    }
    println!(
        "{upgrades} upgrades from schemas 1 to {}, {killed} killed under way, {between} of them before the last step was \
         done: all open",
        STEPS.len() - 1
    );
}

/// How many operations of some kinds (`w`, `t`, `s`) an upgrade from this state takes.
fn operations(old: &Path, state: &Path, kinds: &str) -> u64 {
    copy_state(old, state);
    let log = state.with_extension("log");
    let faults = Faults::on(state).with("FAULTS_LOG", &log);
    assert!(upgrade(state).envs(faults.environment()).status().unwrap().success());
    let counts = |happened: &Happened| match happened {
        Happened::Written { .. } => kinds.contains('w'),
        Happened::Truncated(_) => kinds.contains('t'),
        Happened::Synced => kinds.contains('s'),
        _ => false,
    };
    read_log(&log).iter().filter(|(_, happened)| counts(happened)).count() as u64
}

/// Kills upgrades of a state at each of their operations of some kinds; gives in which schema that left how many.
fn killed_upgrades(today: &Home, schema: usize, entries: i64, kinds: &'static str) -> Vec<u64> {
    let place = tempfile::tempdir().unwrap();
    let (old, state) = (place.path().join("old"), place.path().join("state"));
    earlier_schema(today, schema, &old);
    let all = operations(&old, &state, kinds);
    assert_taken_on(&state, schema, entries);
    let mut left = vec![0; STEPS.len() + 1];
    for number in 1..=all {
        std::fs::remove_dir_all(&state).unwrap();
        copy_state(&old, &state);
        let what = ["before", "after", "tear=1"][usize::try_from(number % 3).unwrap()];
        let faults = Faults::on(&state).at(kinds, number, what);
        let ended = upgrade(&state).envs(faults.environment()).status().unwrap();
        if ended.success() {
            // Some runs take an operation less.
            assert!(number + 2 > all, "schema {schema}: not killed at operation {number} of {all}");
        } else {
            left[schema_of(&state)] += 1;
        }
        assert_taken_on(&state, schema, entries);
    }
    assert!(left[schema..].iter().all(|kills| *kills > 0), "schema {schema}: no kill in a step: {left:?}");
    left
}

#[test]
fn shim_an_upgrade_from_each_schema_that_is_killed_at_each_step_is_taken_on_by_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let entries = 200;
    let today = state_of_today(&place.path().join("today"), entries);
    // Each step ends with a sync.
    let kinds = if is_full() { "wts" } else { "s" };
    let killed = at_once(STEPS.len() - 1, |number| killed_upgrades(&today, number + 1, entries, kinds));
    let found: Vec<u64> = (1..=STEPS.len()).map(|schema| killed.iter().map(|left| left[schema]).sum()).collect();
    println!(
        "{} upgrades from schemas 1 to {}, each killed at another {}, by which it was in schemas 1 to {}: {found:?}; all open",
        found.iter().sum::<u64>(),
        STEPS.len() - 1,
        if is_full() { "write, truncation or sync" } else { "sync" },
        STEPS.len()
    );
}
