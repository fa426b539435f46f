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
mod watcher;

pub use balance_threshold::BalanceThreshold;
pub use event::{Event, position_of};
pub use follower::Follower;
pub use kind::EventType;
pub use step::{FeedStep, StepContents};
pub use subscription::{EventFilters, Subscription};
pub use watcher::Watcher;

/// Every kind of event.
const KINDS: &[kind::EventKind] =
    &[large_transfer::KIND, address_activity::KIND, balance_threshold::KIND, risk::KIND, label_change::KIND];
