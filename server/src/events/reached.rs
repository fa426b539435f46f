//! The position up to which the feed of a store was followed.

use headwater_ledger::feed::StoreId;
use headwater_state::{StateError, Tx, checksums};

/// The name of the position.
const NAME: &str = "events";

/// A position in the feed of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FeedPosition {
    pub position: u64,
    /// The store; `None` where it has no name yet, or a server wrote the position that did not look at it.
    pub store: Option<StoreNumber>,
}

impl FeedPosition {
    /// A position in the feed of a store.
    pub fn new(position: u64, store: StoreId) -> Self {
        Self { position, store: StoreNumber::of(store) }
    }

    /// Returns whether it is known to be of another store.
    pub fn is_elsewhere(self, other: Self) -> bool {
        matches!((self.store, other.store), (Some(one), Some(other)) if one != other)
    }
}

/// A store's name, as much of it as a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreNumber(i64);

impl StoreNumber {
    fn of(store: StoreId) -> Option<Self> {
        let bytes = store.as_bytes().first_chunk().copied().unwrap_or_default();
        Self::read(i64::from_be_bytes(bytes))
    }

    /// The column has a zero where no store is known.
    const fn read(number: i64) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }
}

/// Returns what was reached, and sets it to the present where nothing was.
pub(super) fn begin(tx: &mut Tx<'_>, now: FeedPosition) -> Result<FeedPosition, StateError> {
    let [position, store] = columns(now);
    let begun = tx.execute(
        "INSERT INTO outbox_position (name, position, generation) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO NOTHING",
        &[NAME.into(), position.into(), store.into()],
    )?;
    if begun > 0 {
        checksums::renew(tx, &checksums::POSITIONS, &[NAME.into()])?;
    }
    let row = tx.row("SELECT position, generation FROM outbox_position WHERE name = ?1", &[NAME.into()])?;
    row.map_or(Ok(now), |row| Ok(read(row.int(0)?, row.int(1)?)))
}

/// Returns how far the feed was followed; one server after the other from here on.
pub(super) fn lock(tx: &mut Tx<'_>) -> Result<FeedPosition, StateError> {
    let row = tx.row("SELECT position, generation FROM outbox_position WHERE name = ?1 /*lock*/", &[NAME.into()])?;
    row.map_or(Ok(read(0, 0)), |row| Ok(read(row.int(0)?, row.int(1)?)))
}

/// Writes down how far the feed was followed.
pub(super) fn set(tx: &mut Tx<'_>, reached: FeedPosition) -> Result<(), StateError> {
    let [position, store] = columns(reached);
    tx.execute(
        "UPDATE outbox_position SET position = ?2, generation = ?3 WHERE name = ?1",
        &[NAME.into(), position.into(), store.into()],
    )?;
    checksums::renew(tx, &checksums::POSITIONS, &[NAME.into()])
}

fn read(position: i64, store: i64) -> FeedPosition {
    FeedPosition { position: u64::try_from(position).unwrap_or(0), store: StoreNumber::read(store) }
}

fn columns(reached: FeedPosition) -> [i64; 2] {
    [i64::try_from(reached.position).unwrap_or(i64::MAX), reached.store.map_or(0, |store| store.0)]
}
