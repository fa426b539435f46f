//! A clock that only goes forward.

use std::sync::LazyLock;
use std::time::Instant;

/// Milliseconds since the first call.
pub(crate) fn milliseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}
