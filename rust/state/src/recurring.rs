//! Errors of what is tried again and again: each is said once a minute, not each time it is met.

use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::causes;

/// How often an error that goes on is said.
const EVERY: Duration = Duration::from_mins(1);
/// Different errors that are told apart.
const SAID: usize = 16;

/// What one thing that is tried again and again meets with: the last errors that were said.
#[derive(Debug, Default)]
pub struct ErrorThrottle(Mutex<Vec<Said>>);

#[derive(Debug)]
struct Said {
    text: String,
    at: Instant,
    /// How often it was met since.
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

    /// How often an error was met since it was said last, where it is to be said again.
    fn news(&self, text: &str, now: Instant) -> Option<u64> {
        // No code panics while it holds the lock with half a change done.
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = said.iter_mut().find(|one| one.text == text) else {
            if said.len() == SAID {
                said.remove(0);
            }
            said.push(Said { text: text.to_owned(), at: now, times: 0 });
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
