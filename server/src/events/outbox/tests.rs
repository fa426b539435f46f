use headwater_engine::events::EventType;
use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Store};
use headwater_state::{Access, Environment, Home, Options, State};
use headwater_testkit::Chainlet;
use headwater_types::Timestamp;
use serde_json::Value;

use super::*;
use crate::events::stream::MadeEvent;
use crate::events::webhook::endpoints::{Endpoint, EndpointStatus};
use crate::events::{EventSettings, Events};
use crate::gateway::{Gateway, Settings};

fn add_webhook(tx: &mut Tx<'_>, key_id: &str, id: &str) -> Result<(), StateError> {
    let endpoint = Endpoint {
        id: id.to_owned(),
        target_url: "https://hooks.example.com/".to_owned(),
        event_type: "large_transfer".to_owned(),
        filters: Value::Null,
        status: EndpointStatus::Active,
        status_reason: None,
        created_at_ms: 1,
    };
    assert!(endpoints::create(tx, (1, key_id), &endpoint, b"sealed")?);
    Ok(())
}

#[test]
fn events_go_out_however_often_webhooks_change() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let key = home.admin("test", |admin| admin.create_key("k", Environment::Live, 0, None)).unwrap().id;
    let mut db = home.connect(Access::Write).unwrap();
    let written = db.transaction(|tx| {
        let at = |position: u64| FeedPosition::new(position, StoreId::default());
        reached::begin(tx, at(4))?;
        let known = Webhooks::AsRead(endpoints::fingerprint(tx)?);
        let unchanged = write(tx, &[], at(5), &known)?;
        add_webhook(tx, &key, "a")?;
        // Not heard of when the events were made; then read, and changed once more.
        let stale = [write(tx, &[], at(6), &known)?, write(tx, &[], at(6), &Webhooks::Unknown)?];
        add_webhook(tx, &key, "b")?;
        Ok((unchanged, stale, write(tx, &[], at(6), &Webhooks::ReadSince)?, reached::lock(tx)?.position))
    });
    assert_eq!(written.unwrap(), (WriteOutcome::Done, [WriteOutcome::Stale; 2], WriteOutcome::Done, 6));
}

#[test]
fn a_commit_takes_no_more_deliveries_than_it_may_or_one_step() {
    let found = |position: u64, webhooks: usize| {
        let (event_type, timestamp) = (EventType::parse("large_transfer").unwrap(), Timestamp::new(1));
        let event = Event { id: String::new(), event_type, seq: 1, timestamp, data: Value::Null };
        let made = MadeEvent { event, webhooks: vec!["w".into(); webhooks], listeners: Vec::new() };
        let (chain, kind) = (headwater_types::Chain::ETHEREUM, ItemKind::Block);
        let (time, head) = (timestamp, position);
        let item =
            FeedItem { position, chain, number: head, hash: None, time, removed: false, adoption: 0, head, kind };
        StepEvents { position, item, committed: None, made: vec![made], lost: Vec::new() }
    };
    let found = [(1, 1), (2, DELIVERIES - 1), (3, 1), (4, 2 * DELIVERIES), (5, 0), (6, 0)].map(|(at, n)| found(at, n));
    let parts: Vec<Vec<u64>> =
        parts(&found).into_iter().map(|part| part.iter().map(|one| one.position).collect()).collect();
    assert_eq!(parts, [vec![1, 2], vec![3], vec![4], vec![5, 6]]);
}

#[test]
fn recreated_store_is_followed_anew_whatever_its_feed() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(&place.path().join("state")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut positions = Vec::new();
    // The second time the store has the same place and another name.
    for blocks in [2, 4] {
        let folder = place.path().join("store");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).unwrap();
        }
        let mut writer = Writer::open_or_create(&folder).unwrap();
        writer.begin_events();
        for block in 1..=blocks {
            writer.commit(Chainlet::ethereum().at_block(block).transfer(1, 2, 10).batch(), &Cancel::new()).unwrap();
        }
        drop(writer);
        let state = State::start(&home, Options::default(), Box::new(|| {})).unwrap();
        let gateway = Gateway::new(Arc::new(Store::open(&folder).unwrap()), state, Settings::default());
        let events = Events::new(gateway, EventSettings::default());
        runtime.block_on(async {
            let mut outbox = Outbox::new(events.clone());
            let (_stop, mut stop) = watch::channel(false);
            while outbox.turn(&mut stop).await.unwrap() {}
            let read = events.gateway().read_state(|tx| {
                let rows = tx.rows("SELECT name, position FROM outbox_position ORDER BY name", &[])?;
                rows.iter().map(|row| Ok((row.text(0)?[..4].to_owned(), row.int(1)?))).collect()
            });
            let read: Result<Vec<(String, i64)>, StateError> = read.await;
            positions.push(read.unwrap());
        });
    }
    let row = |name: &str, position: i64| (name.to_owned(), position);
    assert_eq!(positions, [vec![row("even", 2)], vec![row("even", 4), row("lost", 2)]]);
}
