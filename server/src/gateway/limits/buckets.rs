//! Token buckets in this process: many of them, a bounded number, those that are full forgotten.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;

use super::gcra::{Decision, Quota, decide};

const SHARDS: usize = 64;
/// Buckets of a shard below which nothing is looked through for full ones.
const FEW: usize = 64;

/// Buckets by what they are kept for.
#[derive(Debug)]
pub(crate) struct Buckets<K> {
    hasher: RandomState,
    shards: Box<[Mutex<Shard<K>>]>,
    /// Most buckets of a shard.
    most: usize,
}

#[derive(Debug)]
struct Shard<K> {
    /// Theoretical arrival times. A bucket that is not here is full.
    arrivals: HashMap<K, u64, RandomState>,
    /// Number of buckets at which full ones are looked for again.
    sweep_at: usize,
    /// The latest moment of a call. Calls bring the moments at which they began, and come in another order; taken as
    /// they are, an earlier one would fill the bucket by what it is earlier.
    latest: u64,
    /// The one bucket of all who come when there is no more room: never open, never shut.
    crowd: u64,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    /// Room for about `most` buckets.
    pub fn new(most: usize) -> Self {
        let shard = || Mutex::new(Shard { arrivals: HashMap::default(), sweep_at: FEW, latest: 0, crowd: 0 });
        Self {
            hasher: RandomState::default(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            most: most.div_ceil(SHARDS),
        }
    }

    /// Decides on `calls` calls at `now`.
    pub fn call(&self, key: &K, now: u64, quota: Quota, calls: u64) -> Decision {
        let mut shard = self.shard(key);
        let now = shard.moment(now);
        let kept = shard.arrivals.get_mut(key);
        if let Some(arrival) = kept {
            let decision = decide(*arrival, now, quota, calls);
            *arrival = decision.arrival;
            return decision;
        }
        let has_room = shard.make_room(now, self.most);
        let decision = decide(if has_room { 0 } else { shard.crowd }, now, quota, calls);
        match (has_room, decision.full_in) {
            (true, 0) => {}
            (true, _) => drop(shard.arrivals.insert(key.clone(), decision.arrival)),
            (false, _) => shard.crowd = decision.arrival,
        }
        decision
    }

    /// Learns from elsewhere that a bucket is not full before `arrival`.
    pub fn learn(&self, key: &K, now: u64, arrival: u64) {
        let mut shard = self.shard(key);
        if let Some(known) = shard.arrivals.get_mut(key) {
            *known = arrival.max(*known);
        } else if arrival > now && shard.make_room(now, self.most) {
            shard.arrivals.insert(key.clone(), arrival);
        }
    }

    /// Nanoseconds until a bucket is full, as far as is known here.
    pub fn full_in(&self, key: &K, now: u64) -> u64 {
        self.shard(key).arrivals.get(key).map_or(0, |arrival| arrival.saturating_sub(now))
    }

    fn shard(&self, key: &K) -> MutexGuard<'_, Shard<K>> {
        #[expect(clippy::cast_possible_truncation, reason = "the remainder is below 64")]
        let place = (self.hasher.hash_one(key) % SHARDS as u64) as usize;
        // No code panics while it holds the lock with half a change done.
        self.shards[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap().arrivals.len()).sum()
    }
}

impl<K: Hash + Eq> Shard<K> {
    /// The moment of a call as its bucket sees it: none before that of another.
    const fn moment(&mut self, now: u64) -> u64 {
        if now > self.latest {
            self.latest = now;
        }
        self.latest
    }

    /// Forgets full buckets when there are many, so that each call pays for a constant share of it.
    fn make_room(&mut self, now: u64, most: usize) -> bool {
        let count = self.arrivals.len();
        if count >= self.sweep_at.min(most) && (count < most || self.crowd <= now) {
            self.arrivals.retain(|_, arrival| *arrival > now);
            self.sweep_at = FEW.max(2 * self.arrivals.len());
            self.arrivals.shrink_to(self.sweep_at);
        }
        self.arrivals.len() < most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Rate;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn buckets_are_kept_apart_and_full_ones_are_forgotten() {
        let buckets = Buckets::new(1_000_000);
        let quota = Quota::new(Rate::new(1, 2));
        for turn in 0..3 {
            for key in 0..100 {
                assert_eq!(buckets.call(&key, SECOND, quota, 1).is_admitted(), turn < 2);
            }
        }
        assert_eq!(buckets.count(), 100);
        for key in 0..100_000_u64 {
            // One call a millisecond, each by somebody else, whose bucket is full again a second later.
            buckets.call(&(1000 + key), 10 * SECOND + key * 1_000_000, quota, 1);
        }
        println!("buckets of 100000 callers, of which 1000 are not full: {}", buckets.count());
        assert!(buckets.count() < 64 * 2 * FEW, "{}", buckets.count());
    }

    #[test]
    fn callers_beyond_the_room_share_one_bucket() {
        let buckets = Buckets::new(64);
        let quota = Quota::new(Rate::new(1, 1));
        let admitted = (0..100_000).filter(|key| buckets.call(key, SECOND, quota, 1).is_admitted()).count();
        println!("callers admitted at one moment with room for 64: {admitted}, buckets {}", buckets.count());
        assert!((65..=128).contains(&admitted), "one per bucket and one per shard: {admitted}");
        assert!(buckets.count() <= 64);
        assert!(buckets.call(&1_000_000, 3 * SECOND, quota, 1).is_admitted(), "nobody is shut out for ever");
    }

    #[test]
    fn calls_that_come_in_another_order_than_they_began_are_admitted_no_more_often() {
        let buckets = Buckets::new(64);
        let quota = Quota::new(Rate::new(100, 200));
        // 1,000 calls a second for ten seconds, each pair of them the wrong way round.
        let began = (0..10_000_u64).map(|number| SECOND + (number ^ 1) * 1_000_000);
        let admitted = began.filter(|now| buckets.call(&(), *now, quota, 1).is_admitted()).count();
        assert_eq!(admitted, 200 + 999);
    }

    #[test]
    fn looking_at_a_bucket_takes_nothing_from_it() {
        let buckets = Buckets::new(64);
        let quota = Quota::new(Rate::new(1, 2));
        assert_eq!((buckets.call(&"x", SECOND, quota, 0).remaining, buckets.count()), (2, 0));
        buckets.call(&"x", SECOND, quota, 1);
        assert_eq!(buckets.call(&"x", SECOND, quota, 0).remaining, 1);
        assert_eq!(buckets.full_in(&"x", SECOND), SECOND);
    }

    #[test]
    fn many_threads_at_once_are_admitted_as_one_would_be() {
        let buckets = Buckets::new(1000);
        let quota = Quota::new(Rate::new(100, 200));
        let admitted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| (0..1000).filter(|_| buckets.call(&(), SECOND, quota, 1).is_admitted()).count())
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(admitted, 200);
    }
}
