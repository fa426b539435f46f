//! Events: what a subscription reports of the change feed.
//!
//! A [`Follower`] reads the feed item by item; the rows of a [`FeedStep`] are read and priced once. A [`Watcher`] applies
//! one [`Subscription`] to them and makes [`Event`]s. This module sends nothing, stores nothing and reads no clock: the same
//! feed gives the same events, with the same ids and numbers, from any earlier position.
//!
//! # Add an event
//!
//! 1. Write its file here, with an `EventKind`: its name, its filters, and its function from an item to drafts.
//! 2. Add the file and the kind below, in `KINDS`.
//! 3. Add its row to `docs/webhooks.md`.
//!
//! Requests, webhooks, streams and the `OpenAPI` description follow from the table.

mod address_activity;
mod balance_threshold;
mod changes;
mod event;
mod follower;
mod kind;
mod label_change;
mod large_transfer;
mod pending;
mod risk;
mod rows;
mod selector;
mod step;
mod subscription;
mod threshold;
mod watcher;

pub use event::{Event, position_of};
pub use follower::Follower;
pub use kind::EventType;
pub use step::{FeedStep, StepContents};
pub use subscription::{EventFilters, Subscription};
pub use threshold::BalanceThreshold;
pub use watcher::Watcher;

use self::balance_threshold::LaterChanges;
use self::event::Draft;
use self::kind::EventKind;
use crate::request::refused;
use crate::{Error, Reason};

/// Returns the drafts of an item of the feed for a subscription, in the order of their events.
type FindDrafts = fn(&Subscription, &FeedStep, &mut LaterChanges) -> Result<Vec<Draft>, Error>;

/// Every kind of event, with the function that finds it.
const KINDS: &[(EventKind, FindDrafts)] = &[
    (large_transfer::KIND, |subscription, step, _| Ok(large_transfer::drafts(subscription, step))),
    (address_activity::KIND, |subscription, step, _| Ok(address_activity::drafts(subscription, step))),
    (balance_threshold::KIND, balance_threshold::drafts),
    (risk::KIND, |subscription, step, _| risk::drafts(subscription, step)),
    (label_change::KIND, |subscription, step, _| label_change::drafts(subscription, step)),
];

impl EventType {
    /// Returns every type, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|(kind, _)| Self(kind))
    }

    /// Parses a name.
    ///
    /// # Errors
    /// `invalid_value` in `event_type` for an unknown name.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::all().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
            refused(Reason::InvalidValue, "event_type", text, &format!("expected one of {names}, got {text:?}"))
        })
    }

    /// Returns the function that finds events of the type.
    fn find_drafts(self) -> FindDrafts {
        let row = KINDS.iter().find(|(kind, _)| kind.name == self.name());
        row.expect("an event type is a row of the table").1
    }
}
