//! Times as people write them: a day, a moment, or epoch seconds.

use chrono::{DateTime, NaiveDate};

/// Seconds of a day.
const DAY_SECS: i64 = 86_400;

/// Parses the first time of a range; a day means its beginning in UTC.
pub(super) fn from(text: &str) -> Result<i64, String> {
    parse(text, 0)
}

/// Parses the last time of a range; a day means its last second in UTC.
pub(super) fn until(text: &str) -> Result<i64, String> {
    parse(text, DAY_SECS - 1)
}

fn parse(text: &str, within_day: i64) -> Result<i64, String> {
    if let Ok(secs) = text.parse() {
        return Ok(secs);
    }
    if let Ok(day) = text.parse::<NaiveDate>() {
        return Ok(day.and_time(chrono::NaiveTime::MIN).and_utc().timestamp() + within_day);
    }
    let moment = DateTime::parse_from_rfc3339(text).map(|moment| moment.timestamp());
    moment.map_err(|_| {
        "expected a day such as 2025-03-17, a time such as 2025-03-17T12:00:00Z, or epoch seconds".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_moments_and_seconds_are_read() {
        // 2025-03-17T00:00:00Z, as `date -u -d @1742169600` prints it.
        assert_eq!((from("2025-03-17"), until("2025-03-17")), (Ok(1_742_169_600), Ok(1_742_255_999)));
        assert_eq!(from("2025-03-17T01:00:00+01:00"), Ok(1_742_169_600));
        assert_eq!(from("1742169600"), Ok(1_742_169_600));
        assert!(from("yesterday").unwrap_err().contains("2025-03-17"));
    }
}
