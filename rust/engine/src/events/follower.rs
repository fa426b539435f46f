//! Reads the feed from a position on.

use std::sync::Arc;

use headwater_ledger::read::Generations;

use super::FeedStep;
use super::step::{Recent, View};
use crate::{Error, Reason};

/// Reads the feed item by item. Share one among all watchers.
pub struct Follower {
    ledgers: Arc<dyn Generations>,
    position: u64,
    recent: Arc<Recent>,
}

impl Follower {
    /// Reads what comes behind a position.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>, position: u64) -> Self {
        Self { ledgers, position, recent: Arc::new(Recent::new()) }
    }

    /// Position of the last item that was read.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Positions of the oldest item that is kept and of the newest one, as the store is now. A follower may begin at
    /// any position from `oldest - 1` to `newest`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn kept(&self) -> Result<(u64, u64), Error> {
        let feed = self.ledgers.feed()?;
        Ok((feed.oldest(), feed.newest()))
    }

    /// The next items, at most so many; none when there is nothing new.
    ///
    /// # Errors
    /// `cursor_expired` when the next item is no longer kept; `invalid_value` when the position lies ahead of the
    /// feed, as behind a store that was made anew; or when the store cannot be read. The position stays where it was.
    pub fn next_steps(&mut self, most: usize) -> Result<Vec<Arc<FeedStep>>, Error> {
        let feed = self.ledgers.feed()?;
        let (oldest, newest, next) = (feed.oldest(), feed.newest(), self.position.saturating_add(1));
        if self.position > newest {
            let message = format!("position {} lies ahead of the change feed, which ends at {newest}", self.position);
            return Err(Error::invalid(Reason::InvalidValue, "position", message));
        }
        if next < oldest {
            let message = format!("item {next} of the change feed is no longer kept: the oldest one is {oldest}");
            return Err(Error::invalid(Reason::CursorExpired, "position", message));
        }
        if self.position == newest {
            return Ok(Vec::new());
        }
        let items = feed.after(self.position, most)?;
        let view = View::new(feed, &self.recent);
        let steps: Vec<_> = items.into_iter().map(|item| view.step(item).map(Arc::new)).collect::<Result<_, _>>()?;
        self.position = steps.last().map_or(self.position, |step| step.position());
        Ok(steps)
    }
}
