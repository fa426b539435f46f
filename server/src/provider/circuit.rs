//! When a provider is not asked for a while: what fails again and again would only make every call slower.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row after which it is not asked.
const FAILURES: u32 = 5;
/// For how long; then one caller tries it.
const PAUSE: Duration = Duration::from_secs(30);

/// Counts failures.
#[derive(Debug, Default)]
pub(super) struct Circuit(Mutex<CircuitState>);

#[derive(Debug, Default)]
struct CircuitState {
    /// In a row.
    failures: u32,
    /// Nobody asks before this.
    until: Option<Instant>,
}

impl Circuit {
    /// Returns whether to ask now; otherwise how long not.
    pub fn enter(&self, now: Instant) -> Result<(), Duration> {
        let mut seen = self.seen();
        match seen.until {
            Some(until) if now < until => Err(until - now),
            // Whoever comes first tries it, and the others wait for what comes of it.
            Some(_) => {
                seen.until = Some(now + PAUSE);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// It answered.
    pub fn succeeded(&self) {
        *self.seen() = CircuitState::default();
    }

    /// It did not.
    pub fn failed(&self, now: Instant) {
        let mut seen = self.seen();
        seen.failures = seen.failures.saturating_add(1);
        if seen.failures >= FAILURES {
            seen.until = Some(now + PAUSE);
        }
    }

    fn seen(&self) -> MutexGuard<'_, CircuitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_that_keeps_failing_is_paused_then_tried_once() {
        let (circuit, start) = (Circuit::default(), Instant::now());
        for _ in 0..4 {
            assert_eq!(circuit.enter(start), Ok(()));
            circuit.failed(start);
        }
        circuit.succeeded();
        for _ in 0..5 {
            assert_eq!(circuit.enter(start), Ok(()));
            circuit.failed(start);
        }
        assert_eq!(circuit.enter(start), Err(PAUSE));
        let later = start + PAUSE;
        assert_eq!((circuit.enter(later), circuit.enter(later)), (Ok(()), Err(PAUSE)));
        // The try failed: it is left alone again.
        circuit.failed(later);
        assert_eq!(circuit.enter(later + PAUSE / 2), Err(PAUSE / 2));
        assert_eq!(circuit.enter(later + PAUSE), Ok(()));
        circuit.succeeded();
        assert_eq!([circuit.enter(later), circuit.enter(later)], [Ok(()), Ok(())]);
    }
}
