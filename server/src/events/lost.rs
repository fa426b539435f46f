//! The event that reports missing events: silence would let their receivers believe that nothing happened.

use headwater_state::{StateError, Tx, checksums, now_ms};
use headwater_types::Timestamp;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::webhook::deliveries::{self, AddressedEvent, LOST};
use super::webhook::endpoints;

/// Writes down behind which position of the feed events are missing, and leaves every webhook an event that says so.
pub(super) fn record(tx: &mut Tx<'_>, position: u64) -> Result<(), StateError> {
    let now = now_ms();
    let name = format!("lost:{now}");
    tx.execute(
        "INSERT INTO outbox_position (name, position, generation) VALUES (?1, ?2, 0) ON CONFLICT (name) DO NOTHING",
        &[name.as_str().into(), i64::try_from(position).unwrap_or(i64::MAX).into()],
    )?;
    checksums::renew(tx, &checksums::POSITIONS, &[name.as_str().into()])?;
    let last = tx.row("SELECT max(created_at_ms) FROM outbox_event", &[])?;
    let last = last.map_or(Ok(None), |row| row.maybe_int(0))?;
    let message = "events were not made: the service was away longer than it keeps changes, or its store was made anew; \
                   ask for the transactions of that time";
    let (id, body) = event(position, now, last, message);
    let webhooks = endpoints::ids(tx)?;
    let webhooks = webhooks.iter().map(String::as_str).collect();
    deliveries::add(tx, &[AddressedEvent { id: &id, kind: LOST, body: &body, webhooks }], now)
}

/// The event, its id first, for webhooks whose own events of a step cannot be made.
pub(super) fn of_subscription(position: u64, now_ms: i64) -> (String, String) {
    let message = "events of this webhook were not made: too many at once, or longer ago than changes are kept; ask for \
                   the transactions of that time, and narrow its filters";
    event(position, now_ms, None, message)
}

fn event(position: u64, now_ms: i64, last_event_ms: Option<i64>, message: &str) -> (String, String) {
    let shown = |time_ms: i64| Timestamp::new(time_ms.div_euclid(1000)).to_string();
    let digest = Sha256::new_with_prefix(LOST).chain_update(position.to_be_bytes()).chain_update(now_ms.to_be_bytes());
    let id = digest.finalize()[..16].iter().fold("evt_".to_owned(), |id, byte| format!("{id}{byte:02x}"));
    let body = json!({
        "id": id,
        "type": LOST,
        "timestamp": shown(now_ms),
        "data": {"last_event_at": last_event_ms.map(shown), "message": message},
    });
    (id, body.to_string())
}
