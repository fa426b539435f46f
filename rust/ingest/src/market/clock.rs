//! Times as tables of prices and rates write them.

use crate::source::{plain_decimal, plain_number};

const DAY_SECS: i64 = 86_400;
/// Days from 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_162;
/// Numbers from here on are milliseconds, then micro- and nanoseconds: each unit reaches from September 2001, where the
/// next smaller one begins, far past any price.
const FIRST_MILLIS: u64 = 1_000_000_000_000;
const FIRST_MICROS: u64 = FIRST_MILLIS * 1_000;
const FIRST_NANOS: u64 = FIRST_MICROS * 1_000;
/// The least number that stands for a day: `20220204` is a date without its dashes.
const FIRST_DAY_SECS: i64 = 100_000_000;

/// The expected content of a time column, for errors.
pub(super) const INSTANT: &str = "epoch seconds (or milli-, micro- or nanoseconds), or a date and time of day";

/// A time as a cell states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellTime {
    /// A second.
    Second(i64),
    /// A day, by its first second.
    Day(i64),
}

impl CellTime {
    /// Its first second.
    pub(super) const fn start(self) -> i64 {
        match self {
            Self::Second(secs) | Self::Day(secs) => secs,
        }
    }

    /// Its last second: from then on what a table says of it may be used.
    pub(super) const fn end(self) -> i64 {
        match self {
            Self::Second(secs) => secs,
            Self::Day(secs) => secs + DAY_SECS - 1,
        }
    }
}

/// Reads a time: a number of epoch seconds, milli-, micro- or nanoseconds, distinguished by its size, or a date, alone or
/// with a time of day behind a blank or a `T`. A time of day may have a fraction, which is cut off, and a zone (`Z`, `UTC`,
/// `+01`, `+01:00`); without one it is in UTC. A number may be written as a double (`1643932800.0`, `1.6439328E9`).
pub(super) fn cell_time(text: &str) -> Option<CellTime> {
    let text = text.trim();
    match text.split_once(['T', 't', ' ']) {
        None => epoch(text).map(CellTime::Second).or_else(|| Some(CellTime::Day(day(text)? * DAY_SECS))),
        Some((date, time)) => Some(CellTime::Second(day(date)? * DAY_SECS + time_of_day(time)?)),
    }
}

/// Returns the last second of the day that a cell states: its date, whatever the time of day, or the day that a number lies in.
pub(super) fn end_of_day(text: &str) -> Option<i64> {
    let text = text.trim();
    let first = match cell_time(text)? {
        CellTime::Second(secs) if epoch(text).is_some() && secs < FIRST_DAY_SECS => return None,
        CellTime::Second(secs) if epoch(text).is_some() => secs.div_euclid(DAY_SECS) * DAY_SECS,
        CellTime::Day(first) => first,
        CellTime::Second(_) => day(text.split(['T', 't', ' ']).next()?)? * DAY_SECS,
    };
    Some(CellTime::Day(first).end())
}

/// A number of epoch seconds, or of a smaller unit.
fn epoch(text: &str) -> Option<i64> {
    let plain = plain_decimal(text)?;
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    if whole.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = plain_number(whole)?;
    let per_second = match number {
        0..FIRST_MILLIS => 1,
        FIRST_MILLIS..FIRST_MICROS => 1_000,
        FIRST_MICROS..FIRST_NANOS => 1_000_000,
        FIRST_NANOS.. => 1_000_000_000,
    };
    i64::try_from(number / per_second).ok()
}

/// Days since 1970-01-01 of a date in the Gregorian calendar.
fn day(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let (year, month, day): (i64, usize, i64) = (plain_number(year)?, plain_number(month)?, plain_number(day)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before_month = month.checked_sub(1)?;
    if !(1..=*lengths.get(before_month)?).contains(&day) || year < 1 {
        return None;
    }
    let before = year - 1;
    let years = before * 365 + before / 4 - before / 100 + before / 400;
    let months: i64 = lengths[..before_month].iter().sum();
    Some(years + months + day - 1 - EPOCH_DAYS)
}

/// Reports if a cell states a time of day beside its date.
pub(super) fn has_time_of_day(text: &str) -> bool {
    epoch(text.trim()).is_none() && matches!(cell_time(text), Some(CellTime::Second(_)))
}

/// Seconds since midnight in UTC, which a zone may lead out of the day.
fn time_of_day(text: &str) -> Option<i64> {
    let text = text.trim();
    let half = |word: &str| text.strip_suffix(word).map(|clock| clock.trim_end_matches([' ', '-']));
    if let Some((clock, noon)) = half("AM").map(|clock| (clock, 0)).or_else(|| Some((half("PM")?, 12))) {
        let (hours, rest) = clock.split_once(':').unwrap_or((clock, "00"));
        let hours = plain_number::<i64>(hours).filter(|hours| (1..=12).contains(hours))? % 12 + noon;
        return time_of_day(&format!("{hours}:{rest}"));
    }
    let named = ["UTC", "GMT", "Z", "z"].iter().find_map(|zone| text.strip_suffix(zone));
    let (clock, offset) = match (named, text.split_once(['+', '-'])) {
        (Some(clock), _) => (clock.trim_end(), 0),
        (None, Some((clock, zone))) => {
            let behind = text.contains('-');
            let secs = zone_secs(zone)?;
            (clock.trim_end(), if behind { -secs } else { secs })
        }
        (None, None) => (text, 0),
    };
    let mut parts = clock.split(':');
    let mut part = |last: i64| parts.next().and_then(plain_number::<i64>).filter(|number| *number <= last);
    let (hours, minutes) = (part(23)?, part(59)?);
    let secs = match parts.next() {
        None => 0,
        Some(secs) => {
            let (whole, fraction) = secs.split_once('.').unwrap_or((secs, "0"));
            let is_number = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
            plain_number::<i64>(whole).filter(|secs| is_number && *secs <= 59)?
        }
    };
    parts.next().is_none().then_some(hours * 3_600 + minutes * 60 + secs - offset)
}

/// `01`, `0100` and `01:00` are an hour.
fn zone_secs(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(|character| *character != ':').collect();
    let number: i64 = plain_number(&digits)?;
    match digits.len() {
        1 | 2 => Some(number * 3_600),
        4 => Some(number / 100 * 3_600 + number % 100 * 60),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2022-02-04T00:00:00Z.
    const START: i64 = 1_643_932_800;

    #[test]
    fn cell_numbers_are_read_by_their_size() {
        for text in [
            "1643932800",
            "1643932800.0",
            "1643932800.75",
            "1.6439328E9",
            "1643932800000",
            "1643932800000.0",
            "1.6439328e+12",
            "1643932800000000",
            "1643932800000000000",
            " 1643932800 ",
        ] {
            assert_eq!(cell_time(text), Some(CellTime::Second(START)), "{text}");
        }
        assert_eq!(cell_time("0"), Some(CellTime::Second(0)));
        assert_eq!(cell_time("999999999999"), Some(CellTime::Second(999_999_999_999)));
    }

    #[test]
    fn cell_texts_are_read_as_databases_print_them() {
        for (text, expected) in [
            ("2022-02-04 00:00:00", START),
            ("2022-02-04T00:00:00Z", START),
            ("2022-02-04T00:00:00.000Z", START),
            ("2022-02-04 00:00:00+00:00", START),
            ("2022-02-04 00:00:00+00", START),
            ("2022-02-04 00:00:00.123456 UTC", START),
            ("2022-02-04 01:00:00+01", START),
            ("2022-02-03 19:00:00-0500", START),
            ("2022-02-04 05:30:00+05:30", START),
            ("2022-02-04 00:00", START),
            ("2022-02-04T13:45:07", START + 49_507),
            ("2022-02-04 12-AM", START),
            ("2022-02-04 01-PM", START + 46_800),
            ("2022-02-04 12:30 PM", START + 45_000),
        ] {
            assert_eq!(cell_time(text), Some(CellTime::Second(expected)), "{text}");
        }
        assert_eq!(cell_time("2022-02-04"), Some(CellTime::Day(START)));
        assert_eq!(cell_time("2022-02-04").unwrap().end(), START + DAY_SECS - 1);
    }

    #[test]
    fn cell_with_other_text_has_no_time() {
        for text in [
            "",
            "x",
            "-1",
            "1.5E-3x",
            "2022-02-30",
            "2022-13-01",
            "22-02-04",
            "2022-02-04 25:00:00",
            "2022-02-04 00:60",
            "2022-02-04 00:00:00+x",
            "2022-02-04 é",
            "２０２２-02-04",
            "日本",
            "99999999999999999999999",
            "2022-02-04 1",
            "2022-02-04 00:00:00:00",
            "2022-02-04 13-PM",
            "2022-02-04 PM",
            "04.02.2022",
            "2022/02/04",
        ] {
            assert_eq!(cell_time(text), None, "{text:?}");
        }
    }

    #[test]
    fn end_of_day_is_that_of_the_printed_date() {
        let end = START + DAY_SECS - 1;
        for text in ["2022-02-04", "2022-02-04 00:00:00", "2022-02-04 23:00:00+05:00", "1643932800", "1643990000000"] {
            assert_eq!(end_of_day(text), Some(end), "{text}");
        }
        assert_eq!((end_of_day("20220204"), end_of_day("2022-02-04x"), end_of_day("nonsense!!")), (None, None, None));
    }

    #[test]
    fn day_counts_as_the_calendar_does() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("2000-02-29", Some(11_016)),
            ("2022-02-14", Some(19_037)),
            ("1900-02-29", None),
            ("2022-04-31", None),
            ("0000-01-01", None),
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
    }
}
