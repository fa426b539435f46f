//! Steps of the feed that were read lately, shared among those who read it again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_engine::events::{FeedStep, Follower, StepContents};
use headwater_engine::{Error, Intelligence};
use headwater_ledger::read::Generations;

/// Most rows that are kept, of about a kilobyte each, over all steps.
const ROWS: usize = 50_000;
/// The size of a step besides its rows, as so many rows.
const BESIDE_ROWS: usize = 5;

/// The steps, by position.
pub(crate) struct Steps {
    kept: Mutex<StepCache>,
    /// The inputs of events of risk besides the store.
    intelligence: Intelligence,
}

#[derive(Default)]
struct StepCache {
    steps: BTreeMap<u64, StepContents>,
    rows: usize,
    /// The one that was read last: the others are given under its generation, so that no older one is held.
    last: Option<Arc<FeedStep>>,
}

impl Steps {
    /// None yet.
    pub fn new(intelligence: Intelligence) -> Self {
        Self { kept: Mutex::default(), intelligence }
    }

    /// The steps behind a position, at most so many; none when there is nothing new.
    ///
    /// # Errors
    /// As [`Follower::next_steps`].
    pub fn after(
        &self,
        ledgers: &Arc<dyn Generations>,
        position: u64,
        most: usize,
    ) -> Result<Vec<Arc<FeedStep>>, Error> {
        let known = self.known(position, most);
        if !known.is_empty() {
            return Ok(known);
        }
        let mut follower = Follower::new(Arc::clone(ledgers), position).with_intelligence(self.intelligence.clone());
        let read = follower.next_steps(most)?;
        self.keep(&read);
        Ok(read)
    }

    /// Keeps steps for others; those that lie farthest back go first.
    pub fn keep(&self, read: &[Arc<FeedStep>]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for step in read {
            if kept.steps.insert(step.position(), step.contents()).is_none() {
                kept.rows += step.row_count() + BESIDE_ROWS;
            }
        }
        if let Some(last) = read.last() {
            kept.last = Some(Arc::clone(last));
        }
        while kept.rows > ROWS {
            let Some((_, oldest)) = kept.steps.pop_first() else { break };
            kept.rows -= oldest.row_count() + BESIDE_ROWS;
        }
    }

    /// Forgets all: the feed is another one.
    pub fn clear(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = StepCache::default();
    }

    fn known(&self, position: u64, most: usize) -> Vec<Arc<FeedStep>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = &kept.last else { return Vec::new() };
        let numbered = (position + 1..).zip(kept.steps.range(position + 1..));
        let without_gap = numbered.take_while(|(expected, (found, _))| expected == *found);
        without_gap.take(most).map(|(_, (_, step))| Arc::new(step.under(last))).collect()
    }
}
