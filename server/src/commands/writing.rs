//! Writers of this process: their name for others, and a line on standard error when they wait for others.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_cli::output::say;
use headwater_ledger::store::{LockWait, WriterOptions};

use super::log;

/// The time between two lines, as a process that alternates with a long writer waits at every commit.
const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// Describes the writers of this process.
pub(super) fn describe(name: String, max_wait_secs: Option<u32>) {
    let printed: Mutex<Option<Instant>> = Mutex::new(None);
    let print = move |wait: &LockWait| {
        let mut printed = printed.lock().unwrap_or_else(PoisonError::into_inner);
        if printed.is_none_or(|printed| printed.elapsed() >= BETWEEN_LINES) {
            *printed = Some(Instant::now());
            if log::is_started() {
                tracing::info!("{wait}");
            } else {
                say(&wait.to_string());
            }
        }
    };
    let options = WriterOptions::default().named(name).on_wait(print);
    let max_wait = max_wait_secs.map(|secs| Duration::from_secs(u64::from(secs)));
    max_wait.into_iter().fold(options, WriterOptions::wait_at_most).make_default();
}
