//! Follows the feed from a position.

use std::sync::Arc;

use headwater_ledger::feed::StoreId;
use headwater_ledger::read::Generations;

use super::FeedStep;
use super::step::{RecentItems, View};
use crate::{Error, Intelligence, Reason};

/// Reads the feed item by item. Share one among all watchers.
pub struct Follower {
    ledgers: Arc<dyn Generations>,
    position: u64,
    /// The default before the store has an id.
    store: StoreId,
    recent: Arc<RecentItems>,
    intelligence: Intelligence,
}

impl Follower {
    /// Follows the feed behind a position.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>, position: u64) -> Self {
        let (store, recent, intelligence) = (StoreId::default(), Arc::new(RecentItems::new()), Intelligence::default());
        Self { ledgers, position, store, recent, intelligence }
    }

    /// Sets the parameters of risk; events never ask providers of claims.
    #[must_use]
    pub fn with_intelligence(self, intelligence: Intelligence) -> Self {
        Self { intelligence, ..self }
    }

    /// Sets the id of the store, whose feed alone is followed.
    #[must_use]
    pub fn of_store(self, store: StoreId) -> Self {
        Self { store, ..self }
    }

    /// Returns the id of the store whose feed it follows; the default before it is known.
    #[must_use]
    pub const fn store(&self) -> StoreId {
        self.store
    }

    /// Moves back to an earlier position, to read the items behind it again.
    pub fn go_back_to(&mut self, position: u64) {
        self.position = self.position.min(position);
    }

    /// Returns the position of the last item that was read.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the positions of the oldest and the newest item of the feed. A follower may start at any position from
    /// `oldest - 1` to `newest`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn kept(&self) -> Result<(u64, u64), Error> {
        let feed = self.ledgers.feed()?;
        Ok((feed.oldest(), feed.newest()))
    }

    /// Reads the next items, at most `max`; none at the end of the feed.
    ///
    /// # Errors
    /// `cursor_expired` when the next item is no longer kept; `invalid_value` when the position lies ahead of the
    /// feed, or the store is a different one than before; or when the store cannot be read. An error leaves the position
    /// unchanged.
    pub fn next_steps(&mut self, max: usize) -> Result<Vec<Arc<FeedStep>>, Error> {
        let feed = self.ledgers.feed()?;
        let (oldest, newest, next) = (feed.oldest(), feed.newest(), self.position.saturating_add(1));
        let store = feed.store();
        if store != self.store && ![store, self.store].contains(&StoreId::default()) {
            let message =
                format!("position {} is of the change feed of store {}, not of {store}", self.position, self.store);
            return Err(Error::invalid(Reason::InvalidValue, "position", message));
        }
        if self.position > newest {
            let message = format!("position {} lies ahead of the change feed, which ends at {newest}", self.position);
            return Err(Error::invalid(Reason::InvalidValue, "position", message));
        }
        if next < oldest {
            let message = format!("item {next} of the change feed is no longer kept: the oldest one is {oldest}");
            return Err(Error::invalid(Reason::CursorExpired, "position", message));
        }
        self.store = store;
        if self.position == newest {
            return Ok(Vec::new());
        }
        let items = feed.after(self.position, max)?;
        let view = View::new(feed, &self.recent, self.intelligence.clone());
        let steps: Vec<_> = items.into_iter().map(|item| view.step(item).map(Arc::new)).collect::<Result<_, _>>()?;
        self.position = steps.last().map_or(self.position, |step| step.position());
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::{Cancel, Store, store::Writer};
    use headwater_testkit::Chainlet;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn follower_refuses_the_feed_of_another_store() {
        let place = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| -> Arc<dyn Generations> {
            let mut writer = Writer::open_or_create(place.path().join(name)).unwrap();
            writer.begin_events();
            for block in 5..8 {
                writer.commit(Chainlet::ethereum().at_block(block).transfer(1, 2, 10).batch(), &Cancel::new()).unwrap();
            }
            drop(writer);
            Arc::new(Store::open(place.path().join(name)).unwrap())
        });
        let mut follower = Follower::new(one, 0);
        assert_eq!(follower.next_steps(2).unwrap().len(), 2);
        let mut astray = Follower::new(Arc::clone(&other), 2).of_store(follower.store());
        let refused = astray.next_steps(2).err().map(|error| error.kind);
        assert_eq!(refused, Some(ErrorKind::InvalidInput(Reason::InvalidValue)));
        assert_eq!(astray.position(), 2);
        // Without an id, any store is accepted.
        assert_eq!(Follower::new(other, 2).next_steps(2).unwrap().len(), 1);
        follower.go_back_to(1);
        assert_eq!(follower.next_steps(9).unwrap().len(), 2);
    }
}
