//! A doubt about a claim.

use std::sync::Arc;

use headwater_types::Timestamp;

/// A doubt about a claim: its author, time and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dispute<T = Arc<str>> {
    /// The person who marked the claim, such as `cli:ada` or `admin:ID`.
    pub by: T,
    /// When.
    pub at: Timestamp,
    /// The reason.
    pub reason: T,
}

impl Dispute {
    /// The same dispute with borrowed texts.
    #[must_use]
    pub fn borrowed(&self) -> Dispute<&str> {
        Dispute { by: &self.by, at: self.at, reason: &self.reason }
    }
}

impl Dispute<&str> {
    /// The dispute with texts of its own.
    #[must_use]
    pub fn to_owned(&self) -> Dispute {
        Dispute { by: Arc::from(self.by), at: self.at, reason: Arc::from(self.reason) }
    }
}
