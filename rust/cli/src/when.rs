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

/// Parses the end of something that is valid from now on: a duration such as 90d, 12h or 30m, or a time; a day means its end
/// in UTC, so that it is the last day.
pub(super) fn expiry(text: &str, now_secs: i64) -> Result<i64, String> {
    const UNITS: [(char, i64); 4] = [('w', 7 * DAY_SECS), ('d', DAY_SECS), ('h', 3600), ('m', 60)];
    let duration = UNITS.iter().find_map(|(unit, secs)| {
        let count: u32 = text.strip_suffix(*unit)?.parse().ok()?;
        Some(i64::from(count) * secs)
    });
    if let Some(secs) = duration {
        return Ok(now_secs + secs);
    }
    parse(text, DAY_SECS).map_err(|_| {
        "expected a duration such as 90d (w, d, h or m), a day such as 2027-01-31, a time such as 2027-01-31T12:00:00Z, \
         epoch seconds, or never"
            .to_owned()
    })
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
    fn end_is_a_duration_from_now_or_a_time() {
        let now = 1_742_169_600;
        assert_eq!(expiry("90d", now), Ok(now + 7_776_000));
        assert_eq!(expiry("2w", now), expiry("14d", now));
        assert_eq!((expiry("12h", now), expiry("30m", now)), (Ok(now + 43_200), Ok(now + 1_800)));
        // The 17th is its last day, so it ends with the 18th: `date -u -d 2025-03-18 +%s` is 1742256000.
        assert_eq!(expiry("2025-03-17", now), Ok(1_742_256_000));
        assert_eq!(expiry("2025-03-17T12:00:00Z", now), Ok(now + 43_200));
        for text in ["", "d", "-5d", "1.5d", "90 d", "90y", "2025-02-30", "soon", "99999999999d"] {
            assert!(expiry(text, now).unwrap_err().contains("90d"), "{text}");
        }
    }

    #[test]
    fn days_moments_and_seconds_are_read() {
        // 2025-03-17T00:00:00Z, as `date -u -d @1742169600` prints it.
        assert_eq!((from("2025-03-17"), until("2025-03-17")), (Ok(1_742_169_600), Ok(1_742_255_999)));
        assert_eq!(from("2025-03-17T01:00:00+01:00"), Ok(1_742_169_600));
        assert_eq!(from("1742169600"), Ok(1_742_169_600));
        assert_eq!(expiry("1742169600", 7), Ok(1_742_169_600));
        assert!(from("yesterday").unwrap_err().contains("2025-03-17"));
    }
}
