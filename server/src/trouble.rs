//! Trouble that lasts: it is said when it begins, when it changes and when it is over, not each time it is met.

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::gateway::causes;

/// What one thing that is tried again and again meets with.
#[derive(Debug, Default)]
pub(crate) struct Trouble(Mutex<Met>);

#[derive(Debug, Default)]
struct Met {
    /// What was said of it.
    said: Vec<String>,
    times: u64,
}

impl Trouble {
    /// It did not work.
    pub fn met(&self, what: &'static str, error: &dyn Error) {
        /// Different errors that are told apart.
        const SAID: usize = 16;
        let mut met = self.state();
        met.times += 1;
        let text = format!("{what}: {}", causes(error));
        if !met.said.contains(&text) && met.said.len() < SAID {
            tracing::error!(error = causes(error), "{what}");
            met.said.push(text);
        }
    }

    /// It worked.
    pub fn over(&self) {
        let met = std::mem::take(&mut *self.state());
        if let Some(first) = met.said.first() {
            tracing::info!(times = met.times, error = first, "an error is over");
        }
    }

    fn state(&self) -> MutexGuard<'_, Met> {
        // No code panics while it holds the lock with half a change done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_news_once_until_it_is_over() {
        let (one, other) = (std::io::Error::other("gone"), std::io::Error::other("refused"));
        let trouble = Trouble::default();
        let said = || {
            let met = trouble.state();
            (met.said.clone(), met.times)
        };
        for error in [&one, &other, &one, &other, &one] {
            trouble.met("it cannot be read", error);
        }
        trouble.met("it cannot be written", &one);
        let all = ["it cannot be read: gone", "it cannot be read: refused", "it cannot be written: gone"];
        assert_eq!(said(), (all.map(str::to_owned).to_vec(), 6));
        trouble.over();
        assert_eq!(said(), (Vec::new(), 0));
    }
}
