//! Times as tables of prices write them.

use crate::source::plain_number;

const DAY_SECS: i64 = 86_400;
/// Days from 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_162;

/// The last second of a day: from then on what a table says of that day may be used.
pub(super) fn end_of_day(text: &str) -> Option<i64> {
    Some(day(text)? * DAY_SECS + DAY_SECS - 1)
}

/// Epoch seconds; where milliseconds are known to occur they are divided.
pub(super) fn seconds(text: &str, per_second: i64) -> Option<i64> {
    let whole = text.strip_suffix(".0").unwrap_or(text);
    let number: i64 = plain_number(whole)?;
    match number {
        0..1_000_000_000_000 => Some(number),
        1_000_000_000_000..1_000_000_000_000_000 if per_second > 1 => Some(number / per_second),
        _ => None,
    }
}

/// Days since 1970-01-01 of a date in the Gregorian calendar, or of a number of seconds that a day begins at.
fn day(text: &str) -> Option<i64> {
    if let Some(secs) = seconds(text, 1).filter(|secs| *secs >= 100_000_000) {
        return Some(secs / DAY_SECS);
    }
    let mut parts = text.get(..10)?.splitn(3, '-').map(plain_number::<i64>);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = lengths.get(usize::try_from(month - 1).ok()?)?;
    if !(1..=*length).contains(&day) || year < 1 {
        return None;
    }
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400;
    let months: i64 = lengths[..usize::try_from(month - 1).ok()?].iter().sum();
    Some(years + months + day - 1 - EPOCH_DAYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_does() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("2022-02-14", Some(19_037)),
            ("2022-02-14 00:00:00", Some(19_037)),
            ("1900-02-29", None),
            ("2022-13-01", None),
            ("2022-04-31", None),
            ("nonsense!!", None),
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
    }
}
