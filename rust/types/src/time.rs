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

/// The text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time: expected epoch seconds, or ISO 8601 such as 2009-01-03T18:15:05Z")]
pub struct TimestampError(pub String);

impl std::str::FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads epoch seconds, ISO 8601 with a zone (`2009-01-03T18:15:05Z`, `...+02:00`), the forms of databases (a blank in
    /// place of the `T`; zones `+00`, `+0000`, ` UTC` or none, which is UTC), RFC 2822, or a date, which means its first
    /// second. Fractions of a second are cut off.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
        let error = || TimestampError(text.chars().take(96).collect());
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            && let Ok(secs) = text.parse()
        {
            return Ok(Self(secs));
        }
        if let Ok(time) = DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_rfc2822(text)) {
            return Ok(Self(time.timestamp()));
        }
        let plain = match text.split_once('T') {
            Some((date, time)) if time.starts_with(|digit: char| digit.is_ascii_digit()) => format!("{date} {time}"),
            Some(_) | None => text.to_owned(),
        };
        let plain = [" UTC", "Z"].iter().find_map(|zone| plain.strip_suffix(zone)).unwrap_or(&plain).trim_end();
        if let Ok(time) = NaiveDateTime::parse_from_str(plain, "%Y-%m-%d %H:%M:%S%.f") {
            return Ok(Self(time.and_utc().timestamp()));
        }
        for format in ["%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%d %H:%M:%S%.f %#z"] {
            if let Ok(time) = DateTime::parse_from_str(plain, format) {
                return Ok(Self(time.timestamp()));
            }
        }
        NaiveDate::parse_from_str(plain, "%Y-%m-%d")
            .map(|date| Self(date.and_time(NaiveTime::MIN).and_utc().timestamp()))
            .map_err(|_| error())
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

    /// The last number that counts as epoch seconds: one more, thirteen digits, is taken for milliseconds.
    pub const LAST_SECS: i64 = 999_999_999_999;

    /// A checked window.
    ///
    /// # Errors
    /// When the start lies after the end, or a bound looks like milliseconds (thirteen digits or more).
    pub fn new(start: Option<i64>, end: Option<i64>) -> Result<Self, TimeError> {
        for secs in [start, end].into_iter().flatten() {
            if secs.unsigned_abs() > Self::LAST_SECS.unsigned_abs() {
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

    /// Returns whether a time lies inside.
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
    fn a_time_is_read_in_every_form_that_exports_use() {
        for text in [
            "1231006505",
            "2009-01-03T18:15:05Z",
            "2009-01-03T20:15:05+02:00",
            "2009-01-03 18:15:05",
            "2009-01-03 18:15:05 UTC",
            "2009-01-03T18:15:05.999Z",
            "2009-01-03 18:15:05.123456 UTC",
            "2009-01-03 18:15:05+00",
            "2009-01-03 18:15:05.5+00:00",
            "2009-01-03T20:15:05+0200",
            "2009-01-03 13:45:05.000 -0430",
            "2009-01-03 18:15:05.000 Z",
            "Sat, 03 Jan 2009 18:15:05 +0000",
        ] {
            assert_eq!(text.parse(), Ok(Timestamp(1_231_006_505)), "{text}");
        }
        assert_eq!("2009-01-03".parse(), Ok(Timestamp(1_230_940_800)));
        assert_eq!("-1".parse(), Ok(Timestamp(-1)));
        assert_eq!(Timestamp(1_231_006_505).to_string().parse(), Ok(Timestamp(1_231_006_505)));
        for wrong in ["", "-", "now", "2009-13-01", "2009-01-03T25:00:00Z", "18:15:05", "1e9", "99999999999999999999"] {
            assert_eq!(wrong.parse::<Timestamp>(), Err(TimestampError(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn an_empty_window_and_milliseconds_are_refused() {
        assert_eq!(TimeWindow::new(Some(2), Some(1)), Err(TimeError::StartAfterEnd { start: 2, end: 1 }));
        assert_eq!(TimeWindow::new(Some(1_600_000_000_000), None), Err(TimeError::Milliseconds(1_600_000_000_000)));
    }
}
