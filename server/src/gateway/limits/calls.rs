//! How many calls a caller has under way.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::quality::RandomState;

use super::Who;
use crate::state::Caller;

const SHARDS: usize = 16;
/// Callers of a shard below which nothing is looked through for those without a call.
const FEW: usize = 64;

/// How many calls each caller has under way, of those that do not count them themselves.
#[derive(Debug, Default)]
pub(super) struct Calls {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    /// Each caller with something that is held once here and once by each of its calls.
    callers: HashMap<Who, Arc<()>, RandomState>,
    /// Number of callers at which those without a call are looked for again.
    sweep_at: usize,
}

/// One call under way, counted as long as it is held.
#[derive(Debug)]
pub(super) enum Call {
    /// By the key that it is made with.
    Key(Arc<Caller>),
    /// Among those of its caller.
    Other(#[expect(dead_code, reason = "it is counted as long as it is held")] Arc<()>),
}

impl Call {
    /// One more call of a key, unless there are `most` of them.
    pub fn of_key(caller: &Arc<Caller>, most: u32) -> Option<Self> {
        caller.begin_call(most).then(|| Self::Key(Arc::clone(caller)))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Self::Key(caller) = self {
            caller.end_call();
        }
    }
}

impl Calls {
    /// One more call, unless there are `most` of them.
    pub fn begin(&self, who: Who, most: u32) -> Option<Call> {
        let mut shard = self.shard(who).lock().unwrap_or_else(PoisonError::into_inner);
        let call = match shard.callers.get(&who) {
            Some(held) => held,
            None => shard.add(who),
        };
        // More are only begun under the lock; those that end meanwhile may still count.
        (Arc::strong_count(call) - 1 < most as usize).then(|| Call::Other(Arc::clone(call)))
    }

    fn shard(&self, who: Who) -> &Mutex<Shard> {
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below 16")]
        let place = (self.hasher.hash_one(who) % SHARDS as u64) as usize;
        &self.shards[place]
    }
}

impl Shard {
    /// A caller who is not here. Those without a call are forgotten when there are many, so that each new one pays for a
    /// constant share of it.
    fn add(&mut self, who: Who) -> &Arc<()> {
        if self.callers.len() >= self.sweep_at.max(FEW) {
            self.callers.retain(|_, held| Arc::strong_count(held) > 1);
            self.sweep_at = 2 * self.callers.len();
        }
        self.callers.entry(who).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Environment, Home, KeyId, Options, State};

    fn who(name: &str) -> Who {
        Who::Key(KeyId::from(name).unwrap())
    }

    #[test]
    fn calls_are_counted_by_caller_until_they_end() {
        let calls = Calls::default();
        let first = calls.begin(who("a"), 2).unwrap();
        let second = calls.begin(who("a"), 2).unwrap();
        assert!(calls.begin(who("a"), 2).is_none());
        assert!(calls.begin(who("b"), 2).is_some());
        assert!(calls.begin(who("c"), 0).is_none());
        drop(first);
        assert!(calls.begin(who("a"), 2).is_some());
        drop(second);
    }

    #[test]
    fn calls_of_a_key_are_counted_however_often_keys_are_read_anew() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let made = home.office("t", |office| office.create_key("t", Environment::Live, 5, None)).unwrap();
        let state = State::start(&home, Options::default(), Box::new(|| ())).unwrap();
        let caller = || Arc::new(state.book().identify(made.key.expose(), 0).unwrap());
        let first = Call::of_key(&caller(), 2).unwrap();
        let edition = state.book().edition();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime
            .block_on(state.office("t", |office| office.create_key("other", Environment::Live, 5, None).map(drop)))
            .unwrap();
        assert!(state.book().edition() > edition);
        let second = Call::of_key(&caller(), 2).unwrap();
        assert!(Call::of_key(&caller(), 2).is_none());
        drop(first);
        let third = Call::of_key(&caller(), 2).unwrap();
        assert!(Call::of_key(&caller(), 2).is_none());
        drop((second, third));
        assert!(Call::of_key(&caller(), 1).is_some());
    }

    #[test]
    fn callers_without_a_call_are_forgotten_when_there_are_many_and_no_others() {
        let calls = Calls::default();
        let stays = calls.begin(who("stays"), 1);
        for number in 0..100_000 {
            assert!(calls.begin(who(&number.to_string()), 1).is_some());
        }
        let kept: usize = calls.shards.iter().map(|shard| shard.lock().unwrap().callers.len()).sum();
        assert!(kept <= SHARDS * 2 * FEW, "{kept}");
        assert!(calls.begin(who("stays"), 1).is_none());
        drop(stays);
        assert!(calls.begin(who("stays"), 1).is_some());
    }
}
