//! Events: their ids, sequence numbers and bodies.

use headwater_ledger::feed::{FeedItem, ItemKind, StoreId};
use headwater_ledger::read::{MovementKind, Ordinal};
use headwater_types::{Address, Timestamp, TxHash};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::EventType;

/// The bits of a sequence number that count the events of one item of the feed.
const NUMBER_BITS: u32 = 20;

/// The maximum number of events of one item of the feed: all are in memory at once, some 5 KB each.
pub(super) const MAX_PER_ITEM: usize = 1 << 17;
const _: () = assert!(MAX_PER_ITEM <= 1 << NUMBER_BITS);

/// An event of one subscription.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `evt_` and 32 hex digits: equal when the event is made again, different for its retraction.
    pub id: String,
    /// The type.
    pub event_type: EventType,
    /// The sequence number, which grows strictly within one subscription. See [`position_of`].
    pub seq: i64,
    /// The time of the block that caused it.
    pub timestamp: Timestamp,
    /// The data, without `webhook_id`.
    pub data: Value,
}

/// The body of a delivery.
#[derive(Serialize)]
struct Body<'a> {
    id: &'a str,
    r#type: &'static str,
    timestamp: String,
    data: WithWebhook<'a>,
}

#[derive(Serialize)]
struct WithWebhook<'a> {
    webhook_id: Option<&'a str>,
    #[serde(flatten)]
    data: &'a Value,
}

impl Event {
    /// Returns the body of a delivery: JSON of fewer than 20,000 bytes, with `webhook_id` in its data.
    #[must_use]
    pub fn body(&self, webhook_id: Option<&str>) -> String {
        let body = Body {
            id: &self.id,
            r#type: self.event_type.name(),
            timestamp: self.timestamp.to_string(),
            data: WithWebhook { webhook_id, data: &self.data },
        };
        serde_json::to_string(&body).expect("data of events is an object of plain values")
    }
}

/// Returns the position of the item of the feed that caused an event, from its sequence number. A watcher that starts
/// there makes the events of the items behind it.
#[must_use]
pub const fn position_of(seq: i64) -> u64 {
    seq.cast_unsigned() >> NUMBER_BITS
}

/// Returns the sequence number of an event of an item.
pub(super) fn seq(position: u64, number: usize) -> i64 {
    (position << NUMBER_BITS | number as u64).cast_signed()
}

/// The movement that caused an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cause {
    pub hash: TxHash,
    pub kind: MovementKind,
    pub place: CausePlace,
}

/// The position of a movement among those of its kind and transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CausePlace {
    Ordinal(Ordinal),
    /// The fee of a transaction whose movement was ingested before.
    Fee,
    /// On UTXO chains ordinals shift when more spent outputs become known; owners do not.
    Owner(Address),
}

/// An event before it is due: without id, number and confirmations.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The movement that caused it; `None` for an import of labels.
    pub cause: Option<Cause>,
    pub matched: Option<Address>,
    pub data: Map<String, Value>,
    /// Whether its data contains the confirmations of the block.
    pub has_confirmations: bool,
}

/// The sense of an event: its cause happened, or was removed by a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sense {
    Occurrence,
    Retraction,
}

/// Returns the id of an event: a digest of its block or import, its cause, its address and its sense.
pub(super) fn id(item: &FeedItem, store: StoreId, event_type: EventType, draft: &Draft, sense: Sense) -> String {
    let mut digest = Sha256::new();
    let mut put = |bytes: &[u8]| {
        digest.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        digest.update(bytes);
    };
    put(item.chain.name().as_bytes());
    match item.hash {
        Some(hash) => put(hash.as_bytes()),
        None => {
            put(store.as_bytes());
            put(&item.number.to_be_bytes());
        }
    }
    if let Some(cause) = draft.cause {
        put(cause.hash.as_bytes());
        put(cause.kind.name().as_bytes());
        match cause.place {
            CausePlace::Ordinal(ordinal) => put(&ordinal.number().to_be_bytes()),
            CausePlace::Fee => put(b"fee"),
            CausePlace::Owner(owner) => put(owner.to_string().as_bytes()),
        }
    }
    if let ItemKind::Labels { version, is_rolled_back } = item.kind {
        put(&version.to_be_bytes());
        put(&[u8::from(is_rolled_back)]);
    }
    put(event_type.name().as_bytes());
    put(draft.matched.map(|address| address.to_string()).unwrap_or_default().as_bytes());
    put(&[u8::from(sense == Sense::Retraction)]);
    put(&item.adoption.to_be_bytes());
    let digest = digest.finalize();
    digest[..16].iter().fold("evt_".to_owned(), |id, byte| format!("{id}{byte:02x}"))
}
