//! Errors of what is tried again and again: each is said once a minute, not each time it is met.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::causes;

/// Interval at which a persistent error is logged.
const EVERY: Duration = Duration::from_mins(1);
/// Different errors that are told apart.
const SAID: usize = 16;

/// Throttled logging of the errors of one operation that is tried again and again.
#[derive(Debug, Default)]
pub struct ErrorThrottle(Mutex<Vec<LoggedError>>);

#[derive(Debug)]
struct LoggedError {
    text: String,
    at: Instant,
    /// The number of times it was met since.
    times: u64,
}

impl ErrorThrottle {
    /// It did not work.
    pub fn met(&self, what: &'static str, error: &dyn Error) {
        let causes = causes(error);
        if let Some(times) = self.news(&format!("{what}: {causes}"), Instant::now()) {
            tracing::error!(error = causes, times, "{what}");
        }
    }

    /// Returns how often an error was met since it was logged last, where it is to be logged again.
    fn news(&self, text: &str, now: Instant) -> Option<u64> {
        // No code panics while it holds the lock with half a change done.
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = said.iter_mut().find(|one| one.text == text) else {
            if said.len() == SAID {
                said.remove(0);
            }
            said.push(LoggedError { text: text.to_owned(), at: now, times: 0 });
            return Some(1);
        };
        known.times += 1;
        if now.duration_since(known.at) < EVERY {
            return None;
        }
        known.at = now;
        Some(std::mem::take(&mut known.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_news_once_a_minute_and_another_one_at_once() {
        let (recurring, begun) = (ErrorThrottle::default(), Instant::now());
        let news = |text: &str, seconds| recurring.news(text, begun + Duration::from_secs(seconds));
        assert_eq!([news("a", 0), news("a", 1), news("b", 2), news("a", 59)], [Some(1), None, Some(1), None]);
        assert_eq!([news("a", 60), news("a", 61), news("b", 62)], [Some(3), None, Some(1)]);
        for number in 0..SAID {
            assert_eq!(news(&number.to_string(), 63), Some(1));
        }
        assert_eq!(news("a", 64), Some(1), "it was forgotten");
    }
}
