//! When a delivery is tried again, and when an endpoint is given up. Nothing here has a clock: times are arguments.

/// Seconds before each attempt, counted from the end of the one before it: 75 h 35 min in all.
pub const DELAYS_SECS: [u32; 10] =
    [0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600];
/// Attempts of one delivery.
pub const ATTEMPTS: u32 = 10;
/// An endpoint that has failed for so long without one success is disabled.
pub const GIVE_UP_AFTER_MS: i64 = 120 * 3600 * 1000;
/// The time for which an endpoint that says it has too much is sent one delivery at a time.
pub const PENALTY_MS: i64 = 60 * 1000;
/// Shortest and longest share of a delay, in thousandths.
const JITTER: std::ops::RangeInclusive<u64> = 800..=1200;

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Status of the answer; `None` where none came.
    pub status: Option<u16>,
    /// The seconds that `Retry-After` asks for.
    pub retry_after_secs: Option<u64>,
}

/// The next step of the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// It arrived.
    Delivered,
    /// It is tried again after a while.
    Retry {
        /// Milliseconds from the end of this attempt.
        after_ms: i64,
    },
    /// All attempts failed.
    Failed,
}

/// The verdict on the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It works; failures before are forgotten.
    Well,
    /// It failed.
    Failing {
        /// Since when, without one success, in Unix milliseconds.
        since_ms: i64,
    },
    /// It is disabled.
    Disabled(DisableReason),
}

/// The reason why the service disables an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DisableReason {
    /// It answered 410.
    Gone,
    /// Nothing but failures for 120 hours.
    OnlyFailures,
}

impl DisableReason {
    /// The `status_reason`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::OnlyFailures => "only_failures",
        }
    }
}

impl Outcome {
    /// Any 2xx. A redirect is not followed and so is a failure like others.
    #[must_use]
    pub const fn is_success(self) -> bool {
        matches!(self.status, Some(200..=299))
    }

    /// Returns whether the endpoint says that it has too much. Then it is sent one delivery at a time for
    /// [`PENALTY_MS`]; when they are tried again is as with any failure.
    #[must_use]
    pub const fn throttles(self) -> bool {
        matches!(self.status, Some(429 | 502 | 504))
    }

    /// Returns what becomes of a delivery after its `attempt`-th attempt, counted from 1. `seed` decides the jitter.
    #[must_use]
    pub fn next(self, attempt: u32, seed: u64) -> NextStep {
        if self.is_success() {
            return NextStep::Delivered;
        }
        match DELAYS_SECS.get(attempt as usize) {
            Some(delay) => NextStep::Retry { after_ms: self.delay_ms(*delay, seed) },
            None => NextStep::Failed,
        }
    }

    /// A delay with its jitter. `Retry-After` can stretch it up to twofold and never shortens it.
    fn delay_ms(self, delay_secs: u32, seed: u64) -> i64 {
        let share = JITTER.start() + scattered(seed) % (JITTER.end() - JITTER.start() + 1);
        let jittered = u64::from(delay_secs) * share;
        let bounds = u64::from(delay_secs) * 1000..=u64::from(delay_secs) * 2000;
        let wanted = self.retry_after_secs.map(|secs| secs.saturating_mul(1000).clamp(*bounds.start(), *bounds.end()));
        i64::try_from(wanted.unwrap_or(jittered).max(jittered)).unwrap_or(i64::MAX)
    }

    /// Returns what becomes of the endpoint, which has been failing since `failing_since_ms`, if it has.
    #[must_use]
    pub const fn verdict(self, failing_since_ms: Option<i64>, now_ms: i64) -> Verdict {
        if self.is_success() {
            return Verdict::Well;
        }
        if matches!(self.status, Some(410)) {
            return Verdict::Disabled(DisableReason::Gone);
        }
        match failing_since_ms {
            Some(since_ms) if now_ms.saturating_sub(since_ms) >= GIVE_UP_AFTER_MS => {
                Verdict::Disabled(DisableReason::OnlyFailures)
            }
            Some(since_ms) => Verdict::Failing { since_ms },
            None => Verdict::Failing { since_ms: now_ms },
        }
    }
}

/// Spreads neighbouring seeds over all numbers (the finaliser of `SplitMix64`, Steele et al. 2014).
const fn scattered(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn answered(status: u16) -> Outcome {
        Outcome { status: Some(status), retry_after_secs: None }
    }

    const SILENT: Outcome = Outcome { status: None, retry_after_secs: None };

    #[test]
    fn ten_attempts_take_75_hours_and_35_minutes() {
        assert_eq!(DELAYS_SECS.len(), ATTEMPTS as usize);
        assert_eq!(DELAYS_SECS.iter().sum::<u32>(), 75 * 3600 + 35 * 60 + 5);
    }

    #[test]
    fn a_2xx_is_a_success_and_nothing_else_is() {
        for status in 100..600 {
            let delivered = answered(status).next(1, 0) == NextStep::Delivered;
            assert_eq!(delivered, (200..300).contains(&status), "{status}");
        }
        assert_ne!(SILENT.next(1, 0), NextStep::Delivered);
    }

    #[test]
    fn a_410_disables_at_once_and_only_a_410() {
        assert_eq!(answered(410).verdict(None, 7), Verdict::Disabled(DisableReason::Gone));
        for status in [200, 301, 400, 404, 429, 500, 502, 503, 504] {
            assert!(!matches!(answered(status).verdict(None, 7), Verdict::Disabled(_)), "{status}");
        }
    }

    #[test]
    fn endpoint_is_disabled_after_120_hours_of_failures() {
        let Verdict::Failing { since_ms } = SILENT.verdict(None, 1000) else { panic!("the first failure") };
        assert_eq!(since_ms, 1000);
        let later = |hours: i64| answered(500).verdict(Some(since_ms), since_ms + hours * HOUR);
        assert_eq!(later(119), Verdict::Failing { since_ms });
        assert_eq!(later(120), Verdict::Disabled(DisableReason::OnlyFailures));
        // One success in between, and the count begins anew.
        assert_eq!(answered(204).verdict(Some(since_ms), since_ms + 119 * HOUR), Verdict::Well);
    }

    #[test]
    fn too_much_is_said_by_429_502_and_504() {
        let all: Vec<u16> = (100..600).filter(|status| answered(*status).throttles()).collect();
        assert_eq!(all, [429, 502, 504]);
    }

    #[test]
    fn retry_after_stretches_a_delay_up_to_twofold() {
        let after = |secs| {
            let outcome = Outcome { status: Some(503), retry_after_secs: Some(secs) };
            // After the second attempt the delay is five minutes.
            match outcome.next(2, 3) {
                NextStep::Retry { after_ms } => after_ms,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(after(u64::MAX), 600_000);
        assert_eq!(after(450), 450_000);
        assert!(after(0) >= 300_000);
    }

    proptest! {
        /// A delivery whose attempts all fail.
        #[test]
        fn attempts_come_at_the_stated_times(seed: u64, status in prop::option::of(400_u16..600)) {
            let outcome = Outcome { status, retry_after_secs: None };
            for attempt in 1..ATTEMPTS {
                let stated = i64::from(DELAYS_SECS[attempt as usize]) * 1000;
                let NextStep::Retry { after_ms: delay } = outcome.next(attempt, seed.wrapping_add(u64::from(attempt))) else {
                    return Err(TestCaseError::fail(format!("no retry after attempt {attempt}")));
                };
                prop_assert!(delay * 10 >= stated * 8 && delay * 10 <= stated * 12, "{delay} of {stated}");
            }
            prop_assert_eq!(outcome.next(ATTEMPTS, seed), NextStep::Failed);
        }

        #[test]
        fn a_delay_never_leaves_its_bounds_whatever_retry_after_says(attempt in 1_u32..10, seed: u64, secs: u64) {
            let outcome = Outcome { status: Some(429), retry_after_secs: Some(secs) };
            let NextStep::Retry { after_ms } = outcome.next(attempt, seed) else {
                return Err(TestCaseError::fail("no retry"));
            };
            let stated = i64::from(DELAYS_SECS[attempt as usize]) * 1000;
            prop_assert!(after_ms >= stated && after_ms <= 2 * stated);
        }
    }

    #[test]
    fn neighbouring_seeds_are_spread_over_the_whole_jitter() {
        let mut tenths = [0_u32; 10];
        for seed in 0..10_000 {
            let NextStep::Retry { after_ms } = SILENT.next(2, seed) else { panic!("a retry") };
            let tenth = (after_ms - 240_000) * 10 / 120_001;
            tenths[usize::try_from(tenth).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|count| (800..1200).contains(count)), "{tenths:?}");
    }
}
