//! Where each event stood in the feed, so that a stream can go on behind it.

use crate::state::{Insert, StateError, Tx, Value};

/// Events that can be gone on behind.
const MOST: i64 = 100_000;
/// For how long.
const KEPT_MS: i64 = 24 * 3600 * 1000;

/// Remembers events with where they stood.
pub(super) fn add(tx: &mut Tx<'_>, events: &[(&str, u64)], now_ms: i64) -> Result<(), StateError> {
    const CURSOR: Insert = Insert { head: "INSERT INTO stream_event (id, position, at_ms)", columns: 3 };
    let mut events = events.to_vec();
    // In order of their ids, so that servers that remember the same ones never wait for one another in a circle.
    events.sort_unstable();
    events.dedup();
    let place = |position: u64| i64::try_from(position).unwrap_or(i64::MAX);
    let rows: Vec<Vec<Value<'_>>> =
        events.iter().map(|(event, position)| vec![(*event).into(), place(*position).into(), now_ms.into()]).collect();
    tx.insert(&CURSOR, &rows)?;
    Ok(())
}

/// Where an event stood; `None` for one that is unknown or too old.
pub(super) fn find(tx: &mut Tx<'_>, event: &str, now_ms: i64) -> Result<Option<u64>, StateError> {
    let row = tx.row(
        "SELECT position FROM stream_event WHERE id = ?1 AND at_ms >= ?2",
        &[event.into(), (now_ms - KEPT_MS).into()],
    )?;
    row.map(|row| Ok(u64::try_from(row.int(0)?).unwrap_or(0))).transpose()
}

/// Forgets what is too old, or too many.
pub(super) fn prune(tx: &mut Tx<'_>, now_ms: i64) -> Result<(), StateError> {
    tx.execute("DELETE FROM stream_event WHERE at_ms < ?1", &[(now_ms - KEPT_MS).into()])?;
    // By position, so that what is left has no gap; a handful more than the limit is no harm.
    let row = tx.row("SELECT position FROM stream_event ORDER BY position DESC LIMIT 1 OFFSET ?1", &[MOST.into()])?;
    if let Some(row) = row {
        tx.execute("DELETE FROM stream_event WHERE position < ?1", &[row.int(0)?.into()])?;
    }
    Ok(())
}
