//! Token buckets in this process: many of them, a bounded number, those that are full removed.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;
use headwater_state::Rate;

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

/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;

/// A rate as the algorithm takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Nanoseconds per call, rounded up: a rate that does not divide a second is never exceeded.
    pub interval: u64,
    /// Nanoseconds that a full bucket is worth.
    pub burst: u64,
}

impl Quota {
    pub const fn new(rate: Rate) -> Self {
        let interval = SECOND.div_ceil(rate.per_second as u64);
        Self { interval, burst: interval * rate.burst as u64 }
    }

    /// The same among `replicas` that each keep count for themselves.
    pub const fn shared_by(self, replicas: u32) -> Self {
        let interval = self.interval * replicas as u64;
        let calls = (self.burst / self.interval) / replicas as u64;
        // A replica that could never admit anything would not limit but refuse.
        Self { interval, burst: interval * if calls == 0 { 1 } else { calls } }
    }
}

/// The decision about a call, and the state of the bucket after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    /// The theoretical arrival time to keep.
    pub arrival: u64,
    /// Calls that would be admitted now.
    pub remaining: u64,
    /// Nanoseconds until the bucket is full.
    pub full_in: u64,
    /// Nanoseconds until a call is admitted; 0 when this one is.
    pub retry_in: u64,
}

impl Decision {
    pub const fn is_admitted(&self) -> bool {
        self.retry_in == 0
    }
}

/// Decides on `calls` (one, or none to look at the bucket only) at `now`, given the theoretical arrival time so far; 0
/// is a full bucket.
pub(crate) fn decide(arrival: u64, now: u64, quota: Quota, calls: u64) -> Decision {
    // A clock that went back would lock callers out for as long as it went: the bucket is empty then, and no more.
    let arrival = arrival.clamp(now, now.saturating_add(quota.burst));
    let wanted = arrival.saturating_add(quota.interval * calls);
    let ahead = wanted - now;
    let (kept, retry_in) = if ahead <= quota.burst { (wanted, 0) } else { (arrival, ahead - quota.burst) };
    let full_in = kept - now;
    Decision { arrival: kept, remaining: (quota.burst - full_in) / quota.interval, full_in, retry_in }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_state::Rate;
    use proptest::prelude::*;

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
    fn calls_out_of_order_are_not_admitted_more_often() {
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

    const MILLI: u64 = 1_000_000;

    #[test]
    fn a_burst_is_admitted_at_once_and_then_one_call_per_interval() {
        // 20 a second, 40 at once: 40 calls at the moment 7 s, then one every 50 ms.
        let quota = Quota::new(Rate::new(20, 40));
        let now = 7 * SECOND;
        let mut arrival = 0;
        for turn in 0..40 {
            let decision = decide(arrival, now, quota, 1);
            assert!(decision.is_admitted());
            assert_eq!((decision.remaining, decision.full_in), (39 - turn, (turn + 1) * 50 * MILLI));
            arrival = decision.arrival;
        }
        let refused = decide(arrival, now, quota, 1);
        assert_eq!((refused.retry_in, refused.remaining, refused.full_in), (50 * MILLI, 0, 2 * SECOND));
        assert_eq!(refused.arrival, arrival, "what is refused costs nothing");
        assert_eq!(decide(arrival, now + 49 * MILLI, quota, 1).retry_in, MILLI);
        assert!(decide(arrival, now + 50 * MILLI, quota, 1).is_admitted());
        assert_eq!(decide(arrival, now + 2 * SECOND, quota, 0).remaining, 40);
    }

    #[test]
    fn a_rate_that_does_not_divide_a_second_is_never_exceeded() {
        let quota = Quota::new(Rate::new(3, 1));
        let (mut arrival, mut admitted) = (0, 0);
        for step in 0..60_000 {
            let decision = decide(arrival, step * MILLI, quota, 1);
            arrival = decision.arrival;
            admitted += u32::from(decision.is_admitted());
        }
        assert!((179..=181).contains(&admitted), "{admitted} of at most 1 + 3 * 60");
    }

    #[test]
    fn replicas_together_admit_no_more_than_one_alone() {
        let whole = Quota::new(Rate::new(100, 200));
        assert_eq!(whole.shared_by(1), whole);
        let third = whole.shared_by(3);
        assert_eq!((third.interval, third.burst), (30 * MILLI, 66 * 30 * MILLI));
        assert_eq!(Quota::new(Rate::new(5, 1)).shared_by(4).burst, 800 * MILLI);
    }

    #[test]
    fn clock_set_back_an_hour_locks_nobody_out() {
        let quota = Quota::new(Rate::new(5, 10));
        let late = 7200 * SECOND;
        let first = decide(0, late, quota, 1);
        let back = decide(first.arrival, late - 3600 * SECOND, quota, 1);
        assert_eq!((back.retry_in, back.remaining), (200 * MILLI, 0));
    }

    /// A token bucket as textbooks have it: a level that rises with time up to the burst, in whole units of 1 / interval.
    struct Bucket {
        level: u128,
        seen: u64,
    }

    impl Bucket {
        fn call(&mut self, now: u64, interval: u64, burst: u64) -> bool {
            let risen = self.level + u128::from(now - self.seen);
            self.level = risen.min(u128::from(interval) * u128::from(burst));
            self.seen = now;
            let admitted = self.level >= u128::from(interval);
            if admitted {
                self.level -= u128::from(interval);
            }
            admitted
        }
    }

    #[test]
    fn a_million_steps_agree_with_a_token_bucket() {
        let steps = if headwater_testkit::is_full() { 10_000_000 } else { 1_000_000_u64 };
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move || {
            // xorshift64: any sequence does, this one is the same every time.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random
        };
        let (mut differences, mut admitted) = (0, 0);
        let mut done = 0;
        while done < steps {
            let rate = Rate::new(u32::try_from(1 + next() % 1000).unwrap(), u32::try_from(1 + next() % 50).unwrap());
            let quota = Quota::new(rate);
            let mut now = next() % SECOND;
            let mut bucket = Bucket { level: u128::from(quota.interval) * u128::from(rate.burst), seen: now };
            let mut arrival = 0;
            for _ in 0..1000 {
                // Pauses somewhat shorter than an interval, now and then as long as the whole bucket.
                let most = if next() % 50 == 0 { quota.burst } else { quota.interval };
                now += next() % (most + most / 5);
                let decision = decide(arrival, now, quota, 1);
                arrival = decision.arrival;
                let expected = bucket.call(now, quota.interval, rate.burst.into());
                differences += u32::from(expected != decision.is_admitted());
                differences += u32::from(bucket.level / u128::from(quota.interval) != u128::from(decision.remaining));
                admitted += u64::from(decision.is_admitted());
                done += 1;
            }
        }
        println!("limiter against a token bucket: {done} steps, {admitted} admitted, {differences} differences");
        assert_eq!(differences, 0);
        assert!(admitted > done / 4 && admitted < done);
    }

    proptest! {
        #[test]
        fn no_window_of_time_admits_more_than_burst_and_rate(
            per_second in 1_u32..2000,
            burst in 1_u32..100,
            pauses in prop::collection::vec(0_u64..50 * MILLI, 1..400),
        ) {
            let quota = Quota::new(Rate::new(per_second, burst));
            let (mut now, mut arrival, mut times) = (0, 0, Vec::new());
            for pause in pauses {
                now += pause;
                let decision = decide(arrival, now, quota, 1);
                arrival = decision.arrival;
                if decision.is_admitted() {
                    times.push(now);
                }
            }
            for (place, start) in times.iter().enumerate() {
                for (count, end) in times[place..].iter().enumerate() {
                    let most = u128::from(burst) + u128::from(end - start) * u128::from(per_second) / u128::from(SECOND);
                    prop_assert!(count as u128 <= most, "{} calls in {} ns", count + 1, end - start);
                }
            }
        }
    }
}
