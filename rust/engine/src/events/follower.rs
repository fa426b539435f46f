//! Reads the feed from a position on.

use std::sync::Arc;

use headwater_ledger::feed::StoreId;
use headwater_ledger::read::Generations;

use super::FeedStep;
use super::step::{Recent, View};
use crate::{Error, Intelligence, Reason};

/// Reads the feed item by item. Share one among all watchers.
pub struct Follower {
    ledgers: Arc<dyn Generations>,
    position: u64,
    /// No name before the store has one.
    store: StoreId,
    recent: Arc<Recent>,
    intelligence: Intelligence,
}

impl Follower {
    /// Reads what comes behind a position.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>, position: u64) -> Self {
        let (store, recent, intelligence) = (StoreId::default(), Arc::new(Recent::new()), Intelligence::default());
        Self { ledgers, position, store, recent, intelligence }
    }

    /// The same with other parameters of risk; providers of claims are never asked for events.
    #[must_use]
    pub fn with_intelligence(self, intelligence: Intelligence) -> Self {
        Self { intelligence, ..self }
    }

    /// The same, of the store of this name and no other.
    #[must_use]
    pub fn of_store(self, store: StoreId) -> Self {
        Self { store, ..self }
    }

    /// The name of the store whose feed it reads; the default one before it is known.
    #[must_use]
    pub const fn store(&self) -> StoreId {
        self.store
    }

    /// Goes back to an earlier position, behind which it reads once more.
    pub fn go_back_to(&mut self, position: u64) {
        self.position = self.position.min(position);
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
    /// feed, or the store is another one than before, as one that was made anew; or when the store cannot be read. The
    /// position stays where it was.
    pub fn next_steps(&mut self, most: usize) -> Result<Vec<Arc<FeedStep>>, Error> {
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
        let items = feed.after(self.position, most)?;
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
    fn the_feed_of_another_store_is_not_gone_on_with_however_long_it_is() {
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
        // One that knows no store takes the one it finds.
        assert_eq!(Follower::new(other, 2).next_steps(2).unwrap().len(), 1);
        follower.go_back_to(1);
        assert_eq!(follower.next_steps(9).unwrap().len(), 2);
    }
}
