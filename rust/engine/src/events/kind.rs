//! What events there are.

use std::fmt;

use crate::request::refused;
use crate::{Error, Reason};

/// What an event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum EventType {
    /// A movement of much value.
    LargeTransfer,
    /// A movement from or to an address.
    AddressActivity,
    /// A balance passed an amount.
    BalanceThreshold,
    /// Level or gate of the risk of an address changed.
    RiskAlert,
    /// An import changed the labels of an address.
    LabelChange,
}

impl EventType {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::LargeTransfer, Self::AddressActivity, Self::BalanceThreshold, Self::RiskAlert, Self::LabelChange];

    /// The name in requests and events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LargeTransfer => "large_transfer",
            Self::AddressActivity => "address_activity",
            Self::BalanceThreshold => "balance_threshold",
            Self::RiskAlert => "risk_alert",
            Self::LabelChange => "label_change",
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// `invalid_value` in `event_type` when there is no such event.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            refused(Reason::InvalidValue, "event_type", text, &format!("expected one of {names}, got {text:?}"))
        })
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
