//! The clock of a follower, which runs for weeks: a time that is given at its start would not do.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_types::Timestamp;

#[expect(clippy::disallowed_methods, reason = "a follower runs for weeks and dates what it does")]
fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the time of now.
pub(super) fn now() -> Timestamp {
    Timestamp::new(i64::try_from(since_epoch().as_secs()).unwrap_or(i64::MAX))
}

/// Returns the milliseconds since the epoch.
pub(super) fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}
