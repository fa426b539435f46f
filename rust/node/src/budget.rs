//! The number of requests that a provider may be asked in a second.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The slowest rate that a provider which limits is asked at, in requests a second.
const SLOWEST: f64 = 0.2;
/// The part of the rate that is left after each refusal.
const SLOWER: f64 = 0.6;
/// The part by which the rate grows with each answer, up to the rate that the user set.
const FASTER: f64 = 1.01;

/// A pace for requests that slows down when a provider asks for it.
#[derive(Debug)]
pub(crate) struct Budget {
    most: f64,
    pace: Mutex<Pace>,
}

#[derive(Debug)]
struct Pace {
    /// Requests a second; infinite as long as nobody limits.
    rate: f64,
    /// The earliest time of the next request.
    next: Instant,
}

impl Budget {
    /// A budget of so many requests a second; without a number as many as the provider answers.
    pub fn new(rate: Option<f64>) -> Self {
        let most = rate.unwrap_or(f64::INFINITY);
        Self { most, pace: Mutex::new(Pace { rate: most, next: Instant::now() }) }
    }

    /// Takes the place of a request, and returns how long to wait for it.
    pub fn take(&self) -> Duration {
        let mut pace = self.pace.lock().expect("no holder of the lock panics");
        let now = Instant::now();
        let at = pace.next.max(now);
        pace.next = if pace.rate.is_finite() { at + Duration::from_secs_f64(1.0 / pace.rate) } else { at };
        at - now
    }

    /// Slows down after a refusal, and makes everybody wait as long as the provider asks.
    pub fn slow_down(&self, wait: Duration, recent: f64) {
        let mut pace = self.pace.lock().expect("no holder of the lock panics");
        let rate = if pace.rate.is_finite() { pace.rate } else { recent };
        pace.rate = (rate * SLOWER).max(SLOWEST).min(self.most);
        pace.next = pace.next.max(Instant::now() + wait);
    }

    /// Speeds up a little after an answer.
    pub fn answered(&self) {
        let mut pace = self.pace.lock().expect("no holder of the lock panics");
        if pace.rate.is_finite() {
            pace.rate = (pace.rate * FASTER).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take_spreads_requests_over_the_second() {
        let budget = Budget::new(Some(10.0));
        let waits: Vec<Duration> = (0..4).map(|_| budget.take()).collect();
        assert!(waits[0] < Duration::from_millis(20));
        assert!(waits[3] > Duration::from_millis(280) && waits[3] <= Duration::from_millis(301), "{waits:?}");
    }

    #[test]
    fn slow_down_limits_an_open_budget() {
        let budget = Budget::new(None);
        assert!(budget.take().is_zero());
        budget.slow_down(Duration::from_millis(500), 50.0);
        let wait = budget.take();
        assert!(wait > Duration::from_millis(450), "{wait:?}");
        let next = budget.take();
        assert!(next >= wait + Duration::from_millis(30), "{next:?}");
    }
}
