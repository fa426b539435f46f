//! How many calls a caller has under way.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::RandomState;

use super::Who;

const SHARDS: usize = 16;

/// How many calls each caller has under way.
type Under = HashMap<Who, u32, RandomState>;

/// Calls under way, by caller. Who has none is not kept.
#[derive(Debug, Default)]
pub(super) struct Calls {
    hasher: RandomState,
    shards: [Mutex<Under>; SHARDS],
}

/// One call under way.
#[derive(Debug)]
pub(super) struct Call {
    calls: Arc<Calls>,
    who: Who,
}

impl Calls {
    /// One more call, unless there are `most` of them.
    pub fn begin(self: &Arc<Self>, who: Who, most: u32) -> Option<Call> {
        let mut shard = self.shard(&who).lock().unwrap_or_else(PoisonError::into_inner);
        let under_way = shard.entry(who.clone()).or_insert(0);
        if *under_way >= most {
            return None;
        }
        *under_way += 1;
        drop(shard);
        Some(Call { calls: Arc::clone(self), who })
    }

    fn shard(&self, who: &Who) -> &Mutex<Under> {
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below 16")]
        let place = (self.hasher.hash_one(who) % SHARDS as u64) as usize;
        &self.shards[place]
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut shard = self.calls.shard(&self.who).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = shard.get_mut(&self.who) {
            *under_way -= 1;
            if *under_way == 0 {
                shard.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_caller_and_forgotten_with_the_last_one() {
        let calls = Arc::new(Calls::default());
        let who = |name: &str| Who::Key(name.into());
        let first = calls.begin(who("a"), 2).unwrap();
        let second = calls.begin(who("a"), 2).unwrap();
        assert!(calls.begin(who("a"), 2).is_none());
        assert!(calls.begin(who("b"), 2).is_some());
        drop(first);
        assert!(calls.begin(who("a"), 2).is_some());
        drop(second);
        assert!(calls.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }
}
