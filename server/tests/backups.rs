//! Copies that are taken while the state is written.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use headwater_state::{Home, StateLocation};
use rusqlite::Connection;

use crate::support::live::{LiveServer, LiveStore, Receiver, local};
use crate::support::{QUIET, StopOnDrop, is_full, reader};

/// Number, balance, entries and last hash of every account.
fn heads(copy: &Connection) -> Vec<(i64, i64, i64, Vec<u8>)> {
    let mut heads = copy.prepare("SELECT id, balance, entries, head FROM account ORDER BY id").unwrap();
    let heads = heads.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
    heads.map(Result::unwrap).collect()
}

/// Returns how far the feed was followed, and the events up to there: for webhooks and for streams.
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
    let mut live = LiveStore::new();
    let server = LiveServer::start(&live.store(), local(1000));
    let state = Home::in_folder(&live.store().with_file_name("live.state")).unwrap();
    let keys: Vec<(String, String)> = (0..3).map(|_| server.key()).collect();
    for (id, _) in &keys {
        state.admin("test", |admin| admin.add_credits(id, 1_000_000_000)).unwrap();
    }
    server.webhook(&keys[0].1, &receiver.url("in"));
    live.block(1);
    receiver.wait_for(Duration::from_secs(30), 1);
    let place = tempfile::tempdir().unwrap();
    let rounds = if is_full() { 100 } else { 6 };
    let done = AtomicBool::new(false);
    let mut restored = Vec::new();
    thread::scope(|scope| {
        let _end = StopOnDrop(&done);
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
            Home::restore(&backup, &StateLocation::Folder(to.clone()), None).unwrap();
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
