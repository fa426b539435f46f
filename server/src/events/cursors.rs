//! Where each event stood in the feed, so that a stream can go on behind it.

use crate::state::{Insert, StateError, Tx, Value, sum, sums};

/// Events that can be gone on behind.
const MOST: i64 = 100_000;
/// For how long.
const KEPT_MS: i64 = 24 * 3600 * 1000;

/// Remembers events with where they stood.
pub(super) fn add(tx: &mut Tx<'_>, events: &[(&str, u64)], now_ms: i64) -> Result<(), StateError> {
    const CURSOR: Insert = Insert { head: "INSERT INTO stream_event (id, position, at_ms, sum)", columns: 4 };
    let mut events = events.to_vec();
    // In order of their ids, so that servers that remember the same ones never wait for one another in a circle.
    events.sort_unstable();
    events.dedup();
    let mut rows: Vec<Vec<Value<'_>>> = Vec::with_capacity(events.len());
    for (event, position) in events {
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let mut values: Vec<Value<'_>> = vec![event.into(), position.into(), now_ms.into()];
        values.push(sum(&values).into());
        rows.push(values);
    }
    tx.insert(&CURSOR, &rows)?;
    Ok(())
}

/// Where an event stood; `None` for one that is unknown or too old.
pub(super) fn find(tx: &mut Tx<'_>, event: &str, now_ms: i64) -> Result<Option<u64>, StateError> {
    let row = tx.row(
        "SELECT id, position, at_ms, sum FROM stream_event WHERE id = ?1 AND at_ms >= ?2",
        &[event.into(), (now_ms - KEPT_MS).into()],
    )?;
    let Some(row) = row else { return Ok(None) };
    if sums::fits(&row) {
        Ok(Some(u64::try_from(row.int(1)?).unwrap_or(0)))
    } else {
        Err(StateError::BrokenSeal { table: "stream_event", id: event.to_owned() })
    }
}

/// Forgets all: the feed is another one, or has a gap that nobody goes on across in silence.
pub(super) fn clear(tx: &mut Tx<'_>) -> Result<(), StateError> {
    tx.execute("DELETE FROM stream_event", &[]).map(drop)
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
