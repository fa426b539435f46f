//! Kinds of events, and their names in requests.

use std::fmt;

use serde_json::json;

/// A kind of event: its name and its filters.
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
}

/// A filter that some events ignore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Threshold,
    Symbols,
    Contracts,
    Direction,
    MinAmountUsd,
    Labels,
    MinConfirmations,
}

impl Filter {
    /// Every filter with its field, in the order of warnings.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Threshold, "filters.threshold"),
        (Self::Symbols, "filters.symbols"),
        (Self::Contracts, "filters.contracts"),
        (Self::Direction, "filters.direction"),
        (Self::MinAmountUsd, "filters.min_amount_usd"),
        (Self::Labels, "filters.labels"),
        (Self::MinConfirmations, "filters.min_confirmations"),
    ];
}

/// The type of an event.
#[derive(Clone, Copy)]
pub struct EventType(pub(super) &'static EventKind);

impl EventType {
    /// Returns the name in requests and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
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
