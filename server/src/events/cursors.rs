//! Positions of events in the feed, so that a stream can continue behind each.

use std::collections::BTreeMap;

use headwater_state::{Insert, StateError, Tx, Value, checksum, checksums};

/// Events that can be gone on behind.
const MOST: i64 = 100_000;
/// For how long.
const KEPT_MS: i64 = 24 * 3600 * 1000;

/// Events whose places are looked up together.
const TOGETHER: usize = 8;

/// Remembers events with their first position: one that waits for confirmations is sent to some later than to others,
/// and who continues behind it must miss nothing of what the others received in between.
pub(super) fn add(tx: &mut Tx<'_>, events: &[(&str, u64)], now_ms: i64) -> Result<(), StateError> {
    const CURSOR: Insert = Insert { head: "INSERT INTO stream_event (id, position, at_ms, checksum)", columns: 4 };
    let mut events = events.to_vec();
    // In order of their ids, so that servers that remember the same ones never wait for one another in a circle.
    events.sort_unstable();
    // The lowest place comes first.
    events.dedup_by_key(|(event, _)| *event);
    let mut rows: Vec<Vec<Value<'_>>> = Vec::with_capacity(events.len());
    for (event, position) in &events {
        let position = i64::try_from(*position).unwrap_or(i64::MAX);
        let mut values: Vec<Value<'_>> = vec![(*event).into(), position.into(), now_ms.into()];
        values.push(checksum(&values).into());
        rows.push(values);
    }
    if tx.insert(&CURSOR, &rows)? < rows.len() as u64 {
        rows.chunks(TOGETHER).try_for_each(|rows| lower(tx, rows))?;
    }
    Ok(())
}

/// Records that some events were further ahead than was known.
fn lower(tx: &mut Tx<'_>, rows: &[Vec<Value<'_>>]) -> Result<(), StateError> {
    let Some(last) = rows.last() else { return Ok(()) };
    // As many parameters as the query has: the last one may be in it more than once.
    let ids: Vec<Value<'_>> = (0..TOGETHER).map(|place| rows.get(place).unwrap_or(last)[0]).collect();
    let known = tx.rows("SELECT id, position FROM stream_event WHERE id IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", &ids)?;
    let mut places: BTreeMap<&str, i64> = BTreeMap::new();
    for row in &known {
        places.insert(row.text(0)?, row.int(1)?);
    }
    for row in rows {
        let (Value::Text(event), Value::Int(position)) = (row[0], row[1]) else { continue };
        if places.get(event).is_some_and(|known| *known > position) {
            tx.execute(
                "UPDATE stream_event SET position = ?2, at_ms = ?3, checksum = ?4 WHERE id = ?1 AND position > ?2",
                row,
            )?;
        }
    }
    Ok(())
}

/// Returns where an event was; `None` for one that is unknown or too old.
pub(super) fn find(tx: &mut Tx<'_>, event: &str, now_ms: i64) -> Result<Option<u64>, StateError> {
    let row = tx.row(
        "SELECT id, position, at_ms, checksum FROM stream_event WHERE id = ?1 AND at_ms >= ?2",
        &[event.into(), (now_ms - KEPT_MS).into()],
    )?;
    let Some(row) = row else { return Ok(None) };
    if checksums::fits(&row) {
        Ok(Some(u64::try_from(row.int(1)?).unwrap_or(0)))
    } else {
        Err(StateError::CorruptRow { table: "stream_event", id: event.to_owned() })
    }
}

/// Forgets all: the feed is another one, or has a gap that nobody continues across in silence.
pub(super) fn clear(tx: &mut Tx<'_>) -> Result<(), StateError> {
    tx.execute("DELETE FROM stream_event", &[]).map(drop)
}

/// Forgets what is too old, or too many.
pub(super) fn prune(tx: &mut Tx<'_>, now_ms: i64) -> Result<(), StateError> {
    tx.execute("DELETE FROM stream_event WHERE at_ms < ?1", &[(now_ms - KEPT_MS).into()])?;
    // By position, so that what is left has no gap; a handful more than the limit does not matter.
    let row = tx.row("SELECT position FROM stream_event ORDER BY position DESC LIMIT 1 OFFSET ?1", &[MOST.into()])?;
    if let Some(row) = row {
        tx.execute("DELETE FROM stream_event WHERE position < ?1", &[row.int(0)?.into()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_state::{Access, Home};

    #[test]
    fn event_cursor_is_its_first_position_whoever_notes_it() {
        let place = tempfile::tempdir().unwrap();
        let mut db = Home::in_folder(place.path()).unwrap().connect(Access::Write).unwrap();
        let names: Vec<String> = (0..20).map(|number| format!("evt_{number:02}")).collect();
        let places = |first: u64| -> Vec<(&str, u64)> { names.iter().map(String::as_str).zip(first..).collect() };
        let found = db.transaction(|tx| {
            // Sent to one that waits, then to one that does not, and at last to one that waits longer.
            for first in [300, 200, 400] {
                add(tx, &places(first), 1 << 41)?;
            }
            add(tx, &[("evt_twice", 7), ("evt_twice", 5), ("evt_twice", 9)], 1 << 41)?;
            let known = |tx: &mut Tx<'_>, name: &str| find(tx, name, 1 << 41);
            let mut found = names.iter().map(|name| known(tx, name)).collect::<Result<Vec<_>, _>>()?;
            found.push(known(tx, "evt_twice")?);
            Ok(found)
        });
        let expected: Vec<Option<u64>> = (200..220).chain([5]).map(Some).collect();
        assert_eq!(found.unwrap(), expected);
    }
}
