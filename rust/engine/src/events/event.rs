//! One event.

use headwater_types::Timestamp;
use serde_json::Value;

use super::EventType;

/// How many bits of a sequence number count the events of one item of the feed.
const NUMBER_BITS: u32 = 20;

/// Something that happened, as one subscription is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `evt_` and 32 hex digits: the same for the same thing told again, another for its retraction.
    pub id: String,
    /// What it tells of.
    pub event_type: EventType,
    /// Grows strictly from event to event of one subscription. See [`position_of`].
    pub seq: i64,
    /// Time of the block that made it happen.
    pub timestamp: Timestamp,
    /// What happened, `webhook_id` left out.
    pub data: Value,
}

impl Event {
    /// The body that is sent: JSON of fewer than 20,000 bytes, with `webhook_id` in its data.
    #[must_use]
    pub fn body(&self, webhook_id: Option<&str>) -> String {
        let _ = webhook_id;
        unimplemented!()
    }
}

/// The position of the item of the feed that made an event happen, from the event's sequence number: a watcher that
/// begins there makes what followed that item.
#[must_use]
pub const fn position_of(seq: i64) -> u64 {
    seq.cast_unsigned() >> NUMBER_BITS
}
