//! One event, its name and its form.

use headwater_ledger::feed::{FeedItem, ItemKind, StoreId};
use headwater_ledger::read::{MovementKind, Ordinal};
use headwater_types::{Address, Timestamp, TxHash};
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::EventType;

/// How many bits of a sequence number count the events of one item of the feed.
const NUMBER_BITS: u32 = 20;

/// More events than this are not told of one item of the feed: they are in memory all at once, some 5 KB each.
pub(super) const MOST_OF_ITEM: usize = 1 << 17;
const _: () = assert!(MOST_OF_ITEM <= 1 << NUMBER_BITS);

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

/// An event as it is sent.
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
    /// The body that is sent: JSON of fewer than 20,000 bytes, with `webhook_id` in its data.
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

/// The position of the item of the feed that made an event happen, from the event's sequence number: a watcher that
/// begins there makes what followed that item.
#[must_use]
pub const fn position_of(seq: i64) -> u64 {
    seq.cast_unsigned() >> NUMBER_BITS
}

/// The sequence number of an event of an item.
pub(super) fn seq(position: u64, number: usize) -> i64 {
    (position << NUMBER_BITS | number as u64).cast_signed()
}

/// Which movement an event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cause {
    pub hash: TxHash,
    pub kind: MovementKind,
    pub place: CausePlace,
}

/// What tells movements of one kind and transaction apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CausePlace {
    Ordinal(Ordinal),
    /// The fee of a transaction whose movement was told before.
    Fee,
    /// On UTXO chains places shift when more is known of what a transaction spends; owners do not.
    Owner(Address),
}

/// What an event says, before it is known when it is told.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    /// The movement that made it happen; `None` for what an import of labels changed.
    pub cause: Option<Cause>,
    pub matched: Option<Address>,
    pub data: Map<String, Value>,
    /// Whether its data tells how deep the block lies.
    pub tells_depth: bool,
}

/// Whether something happened, or is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Happened,
    TakenBack,
}

/// The id of an event: a digest of what makes it what it is, and of nothing else.
pub(super) fn id(item: &FeedItem, store: StoreId, event_type: EventType, draft: &Draft, told: Told) -> String {
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
    put(&[u8::from(told == Told::TakenBack)]);
    put(&item.adoption.to_be_bytes());
    let digest = digest.finalize();
    digest[..16].iter().fold("evt_".to_owned(), |id, byte| format!("{id}{byte:02x}"))
}
