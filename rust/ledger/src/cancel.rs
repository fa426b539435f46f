//! A token that long work looks at once per batch, so that deadlines and Ctrl-C really stop it. It also carries the
//! budget of memory that the work takes from, where there is one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::memory::{Memory, Purpose, Reservation, Share};

/// Shared between whoever starts long work and whoever may stop it.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Token>);

#[derive(Debug, Default)]
struct Token {
    is_set: AtomicBool,
    /// The share of the memory that the work may take; without one it takes what it needs.
    share: Option<Arc<Share>>,
}

/// The work was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work was cancelled")]
pub struct Cancelled;

impl Cancel {
    /// A token that nobody has set yet. Memory is not limited.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The token of a query that takes its memory there.
    #[must_use]
    pub fn within(memory: &Memory) -> Self {
        Self(Arc::new(Token { is_set: AtomicBool::new(false), share: Some(Arc::new(Share::of(memory))) }))
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.is_set.store(true, Ordering::Relaxed);
    }

    /// Called by the work, once per batch.
    ///
    /// # Errors
    /// When the token was set.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.0.is_set.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }

    /// An account of memory for one purpose, which has taken nothing yet.
    #[must_use]
    pub fn holding(&self, purpose: Purpose) -> Reservation {
        Reservation::new(self.0.share.clone(), purpose)
    }

    /// Bytes that the work holds now; 0 where memory is not limited.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.0.share.as_deref().map_or(0, Share::taken)
    }
}

impl Memory {
    /// The token of a query that takes its memory here.
    #[must_use]
    pub fn token(&self) -> Cancel {
        Cancel::within(self)
    }
}
