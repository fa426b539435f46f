//! Kinds of events, and their names in requests.

use std::fmt;

use serde_json::json;

use super::balance_threshold::LaterChanges;
use super::event::Draft;
use super::subscription::{Filter, Subscription};
use super::{FeedStep, KINDS};
use crate::request::refused;
use crate::{Error, Reason};

/// A kind of event: its name, its filters, and the function that finds it.
pub(super) struct EventKind {
    /// The name in requests and events.
    pub name: &'static str,
    /// Whether it fires for watched addresses only.
    pub needs_addresses: bool,
    /// Whether `filters.threshold` is required.
    pub needs_threshold: bool,
    /// The default of `filters.min_amount_usd`.
    pub default_min_usd: Option<f64>,
    /// The filters without effect.
    pub ignored: &'static [Filter],
    /// Returns the drafts of an item of the feed, in the order of their events.
    pub drafts: fn(&Subscription, &FeedStep, &mut LaterChanges) -> Result<Vec<Draft>, Error>,
}

/// The type of an event.
#[derive(Clone, Copy)]
pub struct EventType(pub(super) &'static EventKind);

impl EventType {
    /// Returns every type, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(Self)
    }

    /// Returns the name in requests and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
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
}

impl PartialEq for EventType {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for EventType {}

impl fmt::Debug for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl utoipa::PartialSchema for EventType {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let names: Vec<_> = Self::all().map(Self::name).collect();
        crate::fields::schema(&json!({"type": "string", "description": "What an event tells of.", "enum": names}))
    }
}

impl utoipa::ToSchema for EventType {}
