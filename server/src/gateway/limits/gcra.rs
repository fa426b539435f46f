//! The generic cell rate algorithm: a token bucket kept as one number.
//!
//! The number is the theoretical arrival time, the moment at which the bucket would be full again. A call moves it on by
//! one interval and is admitted while it is no further ahead than the burst allows (ATM Forum, Traffic Management 4.1,
//! 4.4.2; ITU-T I.371). Time is whole nanoseconds of a clock that is passed in, so nothing here knows what time it is.

use crate::state::Rate;

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

/// What becomes of a call, and how the bucket is after it.
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
    use proptest::prelude::*;

    use super::*;

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
    fn a_clock_that_goes_back_an_hour_empties_the_bucket_and_locks_nobody_out() {
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
        let steps = if std::env::var_os("HEADWATER_FULL").is_some() { 10_000_000 } else { 1_000_000_u64 };
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
