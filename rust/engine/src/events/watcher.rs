//! Holds a subscription against the feed.

use super::{Event, FeedStep, Subscription};
use crate::Error;

/// Makes the events of one subscription from a position of the feed on. What it makes depends on the feed only, so a
/// watcher of the same subscription that begins at an earlier position makes the same events, ids and numbers included.
pub struct Watcher {
    subscription: Subscription,
    position: u64,
}

impl Watcher {
    /// Tells of what comes behind a position.
    #[must_use]
    pub const fn new(subscription: Subscription, from_position: u64) -> Self {
        Self { subscription, position: from_position }
    }

    /// What it is asked for.
    #[must_use]
    pub const fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// The events of the next item, in order of `seq`. Steps at or before the watcher's position make none; the others
    /// must come one after the other.
    ///
    /// # Errors
    /// When the store cannot be read: the watcher stays where it was, and the step may be tried again.
    pub fn advance(&mut self, step: &FeedStep) -> Result<Vec<Event>, Error> {
        let _ = (step, self.position);
        unimplemented!()
    }
}
