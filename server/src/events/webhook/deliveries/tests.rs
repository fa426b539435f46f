use std::time::Duration;

use headwater_state::{Access, Db, Environment, Home};
use serde_json::Value as Json;

use super::*;
use crate::events::webhook::endpoints::{self, Endpoint, EndpointStatus};

const TERM_MS: i64 = 60_000;

/// Two webhooks of one account with five deliveries each.
fn waiting(home: &Home) -> Db {
    let key = home.admin("test", |admin| admin.create_key("k", Environment::Live, 0, None)).unwrap().id;
    let mut db = home.connect(Access::Write).unwrap();
    db.transaction(|tx| {
        let webhooks = vec!["busy", "well"];
        for id in &webhooks {
            let endpoint = Endpoint {
                id: (*id).to_owned(),
                target_url: "https://hooks.example.com/".to_owned(),
                event_type: "large_transfer".to_owned(),
                filters: Json::Null,
                status: EndpointStatus::Active,
                status_reason: None,
                created_at_ms: 1,
            };
            assert!(endpoints::create(tx, (1, &key), &endpoint, b"sealed")?);
        }
        for id in ["e1", "e2", "e3", "e4", "e5"] {
            add(tx, &[AddressedEvent { id, kind: "large_transfer", body: "{}", webhooks: webhooks.clone() }], 1)?;
        }
        Ok(())
    })
    .unwrap();
    db
}

fn all_due(db: &mut Db) -> Vec<String> {
    let due = db.transaction(due).unwrap();
    due.into_iter().map(|one| one.endpoint_id).collect()
}

fn claimed(db: &mut Db, endpoint_id: &str, owner: &str) -> Vec<Claim> {
    let due = DueWebhook { endpoint_id: endpoint_id.to_owned(), account: 1 };
    db.transaction(|tx| claim(tx, &due, owner, TERM_MS)).unwrap()
}

/// Each was answered 502.
fn settle_throttled(db: &mut Db, owner: &str, claims: &[Claim]) {
    let outcome = Outcome { status: Some(502), retry_after_secs: None };
    let done = |claim: &Claim| DeliveryOutcome {
        event_id: claim.event_id.clone(),
        endpoint_id: claim.endpoint_id.clone(),
        attempts: claim.attempts + 1,
        at_ms: 1,
        ended_ms: 2,
        attempt: Some(Attempt { outcome, trouble: None, duration: Duration::ZERO }),
        next: NextStep::Retry { after_ms: 5000 },
        throttled_for_ms: Some(TERM_MS),
    };
    let ended: Vec<DeliveryOutcome> = claims.iter().map(done).collect();
    db.transaction(|tx| settle_all(tx, owner, &ended)).unwrap();
}

#[test]
fn throttled_webhook_has_one_delivery_and_keeps_its_schedule() {
    let place = tempfile::tempdir().unwrap();
    let mut db = waiting(&Home::in_folder(place.path()).unwrap());
    let first = claimed(&mut db, "busy", "a");
    assert_eq!(first.len(), 4);
    settle_throttled(&mut db, "a", &first[..1]);
    // Three are under way still, and another webhook has its four meanwhile.
    assert_eq!(all_due(&mut db), ["well"]);
    assert_eq!((claimed(&mut db, "busy", "a").len(), claimed(&mut db, "well", "a").len()), (0, 4));
    settle_throttled(&mut db, "a", &first[1..]);
    db.transaction(|tx| {
        let latest = Timestamp::new((tx.clock_ms()? + 5000).div_euclid(1000)).to_string();
        let (list, _) = list(tx, "busy", 10, 0)?;
        assert_eq!(list.iter().filter(|one| one.attempts.len() == 1).count(), 4);
        assert!(list.iter().all(|one| one.next_attempt_at.as_ref() <= Some(&latest)), "{list:?} {latest}");
        tx.execute("UPDATE webhook_delivery SET next_at_ms = 0", &[])
    })
    .unwrap();
    assert_eq!(all_due(&mut db), ["busy", "well"]);
    for turn in 0..3 {
        let alone = claimed(&mut db, "busy", "a");
        assert_eq!((alone.len(), claimed(&mut db, "busy", "b").len()), (1, 0), "turn {turn}");
        assert_eq!(all_due(&mut db), ["well"]);
        settle_throttled(&mut db, "a", &alone);
    }
}

#[test]
fn throttled_webhook_continues_after_a_lease_has_run_out() {
    let place = tempfile::tempdir().unwrap();
    let mut db = waiting(&Home::in_folder(place.path()).unwrap());
    db.transaction(|tx| {
        let until_ms = tx.clock_ms()? + TERM_MS;
        tx.execute("UPDATE webhook_endpoint SET throttled_until_ms = ?1 WHERE id = 'busy'", &[until_ms.into()])
    })
    .unwrap();
    assert_eq!(claimed(&mut db, "busy", "killed").len(), 1);
    assert_eq!((claimed(&mut db, "busy", "b").len(), all_due(&mut db)), (0, vec!["well".to_owned()]));
    db.transaction(|tx| {
        let over_ms = tx.clock_ms()? - 1;
        tx.execute("UPDATE webhook_delivery SET lease_until_ms = ?1 WHERE lease_owner = 'killed'", &[over_ms.into()])
    })
    .unwrap();
    assert_eq!(all_due(&mut db), ["busy", "well"]);
    assert_eq!((claimed(&mut db, "busy", "b").len(), claimed(&mut db, "busy", "c").len()), (1, 0));
    db.transaction(|tx| {
        let over_ms = tx.clock_ms()?;
        tx.execute("UPDATE webhook_endpoint SET throttled_until_ms = ?1", &[over_ms.into()])
    })
    .unwrap();
    assert_eq!(all_due(&mut db), ["busy", "well"]);
    assert_eq!(claimed(&mut db, "busy", "b").len(), 3, "one is under way");
}

#[test]
fn deliveries_under_way_are_counted_without_those_that_wait() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    drop(home.connect(Access::Write).unwrap());
    let db = rusqlite::Connection::open(home.database().unwrap()).unwrap();
    let plan: String = db.query_row(&format!("EXPLAIN QUERY PLAN {UNDER_WAY}"), ("w", 0), |row| row.get(3)).unwrap();
    assert!(plan.contains("webhook_delivery_leased (endpoint_id=? AND lease_until_ms>?)"), "{plan}");
}

/// A webhook for which each of so many events was made at one time, every other one delivered.
fn half_delivered(home: &Home, events: usize) -> Db {
    let mut db = waiting(home);
    let ids: Vec<String> = (0..events).map(|number| format!("made{number:05}")).collect();
    db.transaction(|tx| {
        let event = |id| AddressedEvent { id, kind: "large_transfer", body: "{}", webhooks: vec!["busy"] };
        let events: Vec<AddressedEvent<'_>> = ids.iter().map(|id| event(id)).collect();
        add(tx, &events, 7)?;
        for id in ids.iter().step_by(2) {
            let delivered = "UPDATE webhook_delivery SET status = 'delivered' WHERE event_id = ?1";
            tx.execute(delivered, &[id.into()])?;
        }
        Ok(())
    })
    .unwrap();
    db
}

#[test]
fn past_deliveries_are_replayed_in_batches_and_once() {
    let place = tempfile::tempdir().unwrap();
    let mut db = half_delivered(&Home::in_folder(place.path()).unwrap(), 2500);
    let (mut settled, mut behind, mut looks) = (Vec::new(), Some((2, String::new())), 0);
    while let Some(place) = behind {
        let found = db.transaction(|tx| made(tx, "busy", &place, 7)).unwrap();
        settled.extend(found.settled);
        behind = found.last;
        looks += 1;
    }
    assert_eq!((looks, settled.len()), (3, 1250));
    assert!(settled.is_sorted() && settled[0] == "made00000" && settled[1249] == "made02498");
    let again = |db: &mut Db| db.transaction(|tx| replay(tx, "busy", &settled)).unwrap();
    assert_eq!((again(&mut db), again(&mut db)), (1250, 0));
    let earlier = db.transaction(|tx| made(tx, "busy", &(8, String::new()), 9)).unwrap();
    assert_eq!(earlier, DeliveryBatch::default());
}

#[test]
fn a_look_at_what_was_made_reads_its_own_rows_only() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    drop(home.connect(Access::Write).unwrap());
    let db = rusqlite::Connection::open(home.database().unwrap()).unwrap();
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {MADE}")).unwrap();
    let plan: Vec<String> =
        plan.query_map(("w", 0, "", 9, SOME), |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(plan.len(), 1, "{plan:?}");
    assert!(plan[0].contains("webhook_delivery_by_endpoint (endpoint_id=? AND (created_at_ms,event_id)>"), "{plan:?}");
}

#[test]
fn old_rows_are_deleted_in_batches() {
    let place = tempfile::tempdir().unwrap();
    let mut db = waiting(&Home::in_folder(place.path()).unwrap());
    let ids: Vec<String> = (0..1500).map(|number| format!("w{number}")).collect();
    let counts = |db: &mut Db| {
        db.transaction(|tx| {
            let count = |tx: &mut Tx<'_>, sql| tx.row(sql, &[]).map(|row| row.unwrap().int(0).unwrap());
            Ok((
                count(tx, "SELECT count(*) FROM outbox_event")?,
                count(tx, "SELECT count(*) FROM webhook_delivery")?,
                count(tx, "SELECT count(*) FROM webhook_attempt")?,
            ))
        })
        .unwrap()
    };
    db.transaction(|tx| {
        for id in &ids {
            tx.execute(
                "INSERT INTO webhook_endpoint
                     (id, account_id, key_id, target_url, event_type, filters, status, created_at_ms, updated_at_ms)
                 VALUES (?1, 1, 'k', 'u', 't', '{}', 'active', 1, 1)",
                &[id.into()],
            )?;
        }
        let webhooks = ids.iter().map(String::as_str).collect();
        add(tx, &[AddressedEvent { id: "old", kind: "t", body: "{}", webhooks }], 1)?;
        add(tx, &[AddressedEvent { id: "new", kind: "t", body: "{}", webhooks: vec!["w0"] }], KEPT_MS + 3)?;
        tx.execute(
            "INSERT INTO webhook_attempt (event_id, endpoint_id, number, at_ms, duration_ms, checksum)
             SELECT event_id, endpoint_id, 1, 1, 1, 0 FROM webhook_delivery WHERE event_id = 'old'",
            &[],
        )
    })
    .unwrap();
    assert_eq!(counts(&mut db), (7, 1511, 1500));
    let pruned = |db: &mut Db| db.transaction(|tx| prune(tx, KEPT_MS + 2)).unwrap();
    assert!(pruned(&mut db));
    assert_eq!(counts(&mut db), (7, 1511, 500));
    assert!(pruned(&mut db));
    assert_eq!(counts(&mut db), (7, 511, 0));
    assert!(!pruned(&mut db));
    assert_eq!(counts(&mut db), (1, 1, 0));
}

#[test]
fn a_delivery_is_kept_by_its_own_age_and_its_event_as_long() {
    let place = tempfile::tempdir().unwrap();
    // Five old events with two deliveries each.
    let mut db = waiting(&Home::in_folder(place.path()).unwrap());
    let left = |db: &mut Db| {
        db.transaction(|tx| {
            assert!(!prune(tx, KEPT_MS + 10)?);
            let rows = tx.rows("SELECT event_id, endpoint_id FROM webhook_delivery", &[])?;
            let events = tx.row("SELECT count(*) FROM outbox_event", &[])?.unwrap().int(0)?;
            let left = rows.iter().map(|row| Ok((row.text(0)?.to_owned(), row.text(1)?.to_owned())));
            Ok((left.collect::<Result<Vec<_>, StateError>>()?, events))
        })
        .unwrap()
    };
    db.transaction(|tx| {
        // The second of them is found again much later, for one that waited.
        tx.execute("DELETE FROM webhook_delivery WHERE event_id = 'e2' AND endpoint_id = 'well'", &[])?;
        add(tx, &[AddressedEvent { id: "e2", kind: "large_transfer", body: "{}", webhooks: vec!["well"] }], 20)
    })
    .unwrap();
    assert_eq!(left(&mut db), (vec![("e2".to_owned(), "well".to_owned())], 1));
    db.transaction(|tx| tx.execute("DELETE FROM webhook_delivery", &[])).unwrap();
    assert_eq!(left(&mut db), (Vec::new(), 0));
}

#[test]
fn webhooks_look_other_only_when_what_they_watch_for_is_other() {
    let place = tempfile::tempdir().unwrap();
    let mut db = waiting(&Home::in_folder(place.path()).unwrap());
    let mut seen = db.transaction(endpoints::fingerprint).unwrap();
    let mut looks_other = |change: endpoints::Change| {
        let now = db.transaction(|tx| {
            assert!(endpoints::change(tx, 1, "busy", &change, 5)?.is_some());
            endpoints::fingerprint(tx)
        });
        let before = std::mem::replace(&mut seen, now.unwrap());
        seen != before
    };
    let change = endpoints::Change::default;
    assert!(!looks_other(change()));
    assert!(!looks_other(endpoints::Change { status: Some(EndpointStatus::Paused), ..change() }));
    assert!(!looks_other(endpoints::Change { target_url: Some("https://b.example.com/".to_owned()), ..change() }));
    let filters = Some(serde_json::json!({"blockchain": "ethereum"}));
    assert!(looks_other(endpoints::Change { filters: filters.clone(), ..change() }));
    assert!(!looks_other(endpoints::Change { filters, ..change() }));
}
