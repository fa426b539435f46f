//! Times are whole seconds since 1970-01-01 UTC; windows include both ends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Seconds since 1970-01-01T00:00:00Z.
///
/// `Display` is ISO 8601 with `Z`:
/// ```
/// assert_eq!(headwater_types::Timestamp::new(1_231_006_505).to_string(), "2009-01-03T18:15:05Z");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A time from epoch seconds.
    #[must_use]
    pub const fn new(secs: i64) -> Self {
        Self(secs)
    }

    /// Epoch seconds.
    #[must_use]
    pub const fn secs(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match chrono::DateTime::from_timestamp(self.0, 0) {
            Some(time) => write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%SZ")),
            None => write!(f, "{}s", self.0),
        }
    }
}

/// A window was given that holds no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The start lies after the end.
    #[error("start {start} lies after end {end}")]
    StartAfterEnd {
        /// The given start, epoch seconds.
        start: i64,
        /// The given end, epoch seconds.
        end: i64,
    },
    /// The number has thirteen or more digits: it was meant as milliseconds.
    #[error("{0} looks like milliseconds: give epoch seconds")]
    Milliseconds(i64),
}

/// A time window with both ends included; a missing end is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeWindow {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

impl TimeWindow {
    /// All of time.
    pub const ALL: Self = Self { start: None, end: None };

    /// A checked window.
    ///
    /// # Errors
    /// When the start lies after the end, or a bound looks like milliseconds (thirteen digits or more).
    pub fn new(start: Option<i64>, end: Option<i64>) -> Result<Self, TimeError> {
        for secs in [start, end].into_iter().flatten() {
            if secs.unsigned_abs() >= 1_000_000_000_000 {
                return Err(TimeError::Milliseconds(secs));
            }
        }
        match (start, end) {
            (Some(start), Some(end)) if start > end => Err(TimeError::StartAfterEnd { start, end }),
            _ => Ok(Self { start: start.map(Timestamp), end: end.map(Timestamp) }),
        }
    }

    /// First time inside, `None` when open.
    #[must_use]
    pub const fn start(&self) -> Option<Timestamp> {
        self.start
    }

    /// Last time inside, `None` when open.
    #[must_use]
    pub const fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// Whether a time lies inside.
    #[must_use]
    pub fn contains(&self, time: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= time) && self.end.is_none_or(|end| time <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_inside() {
        let window = TimeWindow::new(Some(10), Some(20)).unwrap();
        assert!(window.contains(Timestamp(10)) && window.contains(Timestamp(20)));
        assert!(!window.contains(Timestamp(9)) && !window.contains(Timestamp(21)));
        assert!(TimeWindow::ALL.contains(Timestamp(-5)));
    }

    #[test]
    fn an_empty_window_and_milliseconds_are_refused() {
        assert_eq!(TimeWindow::new(Some(2), Some(1)), Err(TimeError::StartAfterEnd { start: 2, end: 1 }));
        assert_eq!(TimeWindow::new(Some(1_600_000_000_000), None), Err(TimeError::Milliseconds(1_600_000_000_000)));
    }
}
