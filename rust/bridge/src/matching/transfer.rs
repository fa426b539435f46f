//! Legs that were joined.

use crate::half::{Half, MatchClass};
use headwater_types::Amount;

/// A transfer between chains, as far as its legs are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer<'a> {
    /// The source.
    pub source: Option<&'a Half>,
    /// The destinations, in order of time: several where a transfer is paid in parts.
    pub destinations: Vec<&'a Half>,
    /// Deliveries that failed.
    pub failures: Vec<&'a Half>,
    /// The legs by which the source chain paid back.
    pub refunds: Vec<&'a Half>,
    /// True if other legs of the group fit as well, where content or heuristics join.
    pub(crate) ambiguous: bool,
}

/// The outcome of a transfer, as far as the legs show.
///
/// Whether a transfer without a destination is still on its way, or its destination chain is not held, only the caller
/// can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Only the source is known.
    Sent,
    /// Money came out, perhaps in part.
    Completed,
    /// The destination could not deliver.
    Failed,
    /// It was paid back.
    Refunded,
    /// Only the destination is known.
    Received,
}

impl<'a> Transfer<'a> {
    /// Returns what became of it. A refund counts where nothing came out: a transfer can be paid in part and returned
    /// in part.
    #[must_use]
    pub fn status(&self) -> Status {
        match (self.source.is_some(), self.destinations.is_empty()) {
            (true, false) => Status::Completed,
            (false, false) => Status::Received,
            (_, true) if !self.refunds.is_empty() => Status::Refunded,
            (_, true) if !self.failures.is_empty() => Status::Failed,
            (_, true) => Status::Sent,
        }
    }

    /// All its legs: source, destinations, failures, refunds.
    pub fn legs(&self) -> impl Iterator<Item = &'a Half> {
        let rest = self.destinations.iter().chain(&self.failures).chain(&self.refunds).copied();
        self.source.into_iter().chain(rest)
    }

    /// Its first leg.
    pub(crate) fn first(&self) -> &'a Half {
        self.legs().next().expect("a transfer has a leg")
    }

    /// Returns how its legs were joined: by the weakest of their classes.
    #[must_use]
    pub fn class(&self) -> MatchClass {
        self.legs().map(|half| half.class).max().unwrap_or(MatchClass::Heuristic)
    }

    /// Returns how sure it is that its legs belong together, from 0 to 1; of a single leg, that it is one.
    ///
    /// A rank by match class, not a measured frequency: 0.99 for an id or tuple in both logs, 0.98 for the hash of the
    /// source, 0.97 for a computed id, 0.95 for equal content (0.80 where several transfers have it), 0.60 for receiver,
    /// amount and time (0.30 where other legs fit too). `src/tests/nomad.rs` measures content on real withdrawals.
    #[must_use]
    pub fn confidence(&self) -> f64 {
        match (self.class(), self.ambiguous) {
            (MatchClass::UniqueId | MatchClass::UniqueTuple, _) => 0.99,
            (MatchClass::SourceHash, _) => 0.98,
            (MatchClass::DerivedId, _) => 0.97,
            (MatchClass::Content, false) => 0.95,
            (MatchClass::Content, true) => 0.80,
            (MatchClass::Heuristic, false) => 0.60,
            (MatchClass::Heuristic, true) => 0.30,
        }
    }

    /// Returns what came out, in the smallest unit of the token of the first destination; `None` where an amount is not
    /// known or the sum exceeds 256 bits.
    #[must_use]
    pub fn received_amount(&self) -> Option<Amount> {
        let mut sum = Amount::ZERO;
        for destination in &self.destinations {
            sum = sum.checked_add(destination.amount?)?;
        }
        (!self.destinations.is_empty()).then_some(sum)
    }
}
