//! What a subscriber wants to hear of.

use headwater_ledger::Ledger;
use serde_json::Value;

use super::EventType;
use crate::{Error, Warning};

/// An event type with its checked filters.
#[derive(Debug, Clone)]
pub struct Subscription {
    event_type: EventType,
}

impl Subscription {
    /// Checks what a client asks for: the only validation there is. Without filters (null) the defaults hold: large
    /// transfers of verified assets of all chains from 100,000 US dollars on.
    ///
    /// # Errors
    /// Of a client's making, naming the field (`filters.addresses[3]`): unknown event type, chain, symbol; an address
    /// that is none; a list too long (10,000 addresses, 100 symbols or contracts); a threshold that is missing.
    pub fn parse(
        event_type: &str,
        filters: &Value,
        ledger: &dyn Ledger,
    ) -> Result<(Self, Vec<Warning>), Error> {
        let _ = (filters, ledger);
        Ok((Self { event_type: EventType::parse(event_type)? }, Vec::new()))
    }

    /// Reads what [`Subscription::to_json`] gave when it was kept: a symbol that the registry has lost since is no
    /// error.
    ///
    /// # Errors
    /// When it was not given by this type.
    pub fn restore(event_type: &str, filters: &Value, ledger: &dyn Ledger) -> Result<Self, Error> {
        Self::parse(event_type, filters, ledger).map(|(subscription, _)| subscription)
    }

    /// What it tells of.
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        self.event_type
    }

    /// How many addresses it names.
    #[must_use]
    pub fn address_count(&self) -> usize {
        unimplemented!()
    }

    /// Its filters as they hold, defaults included: what views show and what is kept.
    #[must_use]
    pub fn to_json(&self) -> Value {
        unimplemented!()
    }
}
