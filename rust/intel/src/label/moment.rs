//! The moment for which labels are asked.

use headwater_ledger::labels::LabelTable;
use headwater_types::Timestamp;

/// The moment for which labels are asked.
///
/// A store of old blocks is asked with the labels of today: without `as_of` every claim that was made counts, and one
/// that ended by the last block or the last import has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Claims asserted later are left out; `None` leaves out none.
    known_at: Option<Timestamp>,
    /// Claims that ended by then have ended.
    valid_at: Timestamp,
    /// Identity claims lose weight until then.
    aged_to: Timestamp,
}

impl Moment {
    /// The moment that a caller names.
    #[must_use]
    pub const fn at(time: Timestamp) -> Self {
        Self { known_at: Some(time), valid_at: time, aged_to: time }
    }

    /// The present as an import of a time found it.
    #[must_use]
    pub const fn of_import(time: Timestamp) -> Self {
        Self { known_at: None, valid_at: time, aged_to: time }
    }

    /// The present of an earlier state of a store, whose last block and last import have these times.
    #[must_use]
    pub fn of_state(head: Timestamp, imported_at: Option<Timestamp>) -> Self {
        Self { known_at: None, valid_at: imported_at.map_or(head, |at| at.max(head)), aged_to: head }
    }

    /// The present of a store: `head` is the time of the last block of the chain.
    #[must_use]
    pub fn present(labels: &LabelTable, head: Option<Timestamp>) -> Self {
        let valid_at = head.max(labels.imported_at()).or_else(|| labels.newest_claim());
        let aged_to = head.or_else(|| labels.newest_claim());
        let least = Timestamp::new(0);
        Self { known_at: None, valid_at: valid_at.unwrap_or(least), aged_to: aged_to.unwrap_or(least) }
    }

    pub(super) const fn known_at(&self) -> Option<Timestamp> {
        self.known_at
    }

    pub(super) const fn valid_at(&self) -> Timestamp {
        self.valid_at
    }

    pub(super) const fn aged_to(&self) -> Timestamp {
        self.aged_to
    }

    /// Whether the caller named the moment.
    #[must_use]
    pub const fn is_named(&self) -> bool {
        self.known_at.is_some()
    }
}
