//! Dates as people, spreadsheets and databases write them: a date that can mean two days is refused.

use headwater_types::Timestamp;

use crate::source::whole_number;

/// Texts that mean "no date".
const MISSING: [&str; 9] = ["0", "-", "--", "null", "none", "nan", "nat", "n/a", "unknown"];

/// The first second of 2009 and of 2100. Numbers between them are epoch times.
const FIRST_SECS: u64 = 1_230_768_000;
const LAST_SECS: u64 = 4_102_444_800;

/// Units of epoch times: a second and its fractions.
const PER_SECOND: [u64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

/// Day numbers of spreadsheets, from 1927 to 2173.
const SPREADSHEET_DAYS: std::ops::Range<u64> = 10_000..100_000;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The part of an error that lists the accepted forms.
pub(super) const EXPECTED: &str = "a date such as 2024-05-06, 2024-05-06 07:08:09 or epoch seconds";

/// Reads a date or a time, in UTC where it names no zone; a date is its first second. Blank texts and words for "no date"
/// are `None`.
///
/// # Errors
/// The reason, where the text is not a date, or can mean two days.
pub(super) fn read_date(text: &str) -> Result<Option<Timestamp>, String> {
    let text = text.trim();
    if text.is_empty() || MISSING.iter().any(|missing| text.eq_ignore_ascii_case(missing)) {
        return Ok(None);
    }
    if let Some(number) = whole_number::<u64>(text) {
        return of_number(number, text.len()).map(Some);
    }
    let time = match text.parse::<Timestamp>() {
        Ok(time) => time,
        Err(_) => {
            let (date, time) = split_time(text);
            let iso = match numeric_parts(date) {
                Some(parts) => of_parts(parts)?,
                None => of_month_name(date).ok_or(EXPECTED)?,
            };
            format!("{iso} {time}").parse().map_err(|_| EXPECTED)?
        }
    };
    if time.secs() <= 0 { Err("a date after 1970".to_owned()) } else { Ok(Some(time)) }
}

fn of_number(number: u64, length: usize) -> Result<Timestamp, String> {
    let secs = PER_SECOND.iter().map(|unit| number / unit).find(|secs| (FIRST_SECS..LAST_SECS).contains(secs));
    if let Some(secs) = secs.and_then(|secs| i64::try_from(secs).ok()) {
        return Ok(Timestamp::new(secs));
    }
    if SPREADSHEET_DAYS.contains(&number) {
        return Err("a date: the number may be a day of a spreadsheet, whose first day depends on its settings; \
                    write it as 2024-05-06"
            .to_owned());
    }
    let digits = number.to_string();
    let day = || {
        let (year, rest) = digits.split_at_checked(4)?;
        let (month, day) = rest.split_at_checked(2)?;
        (length == 8 && ("2009".."2100").contains(&year)).then(|| format!("{year}-{month}-{day}"))
    };
    let read = day().and_then(|day| day.parse().ok());
    read.ok_or_else(|| "epoch seconds, milliseconds, microseconds or nanoseconds from 2009 on".to_owned())
}

/// The date and the time of a text; the time is midnight where there is none.
fn split_time(text: &str) -> (&str, String) {
    let text = ["UTC", "GMT"].iter().find_map(|zone| text.strip_suffix(zone)).unwrap_or(text).trim_end();
    let Some(colon) = text.find(':') else { return (text, "00:00:00".to_owned()) };
    let before = text.get(..colon).unwrap_or_default();
    let start = before.rfind([' ', 'T', ',']).map_or(0, |place| place + 1);
    let (date, time) = text.split_at(start);
    let seconds = if time.matches(':').count() == 1 { ":00" } else { "" };
    (date.trim_end_matches([' ', 'T', ',']), format!("{time}{seconds}"))
}

/// The three numbers of a date, divided by slashes, dots or dashes.
fn numeric_parts(date: &str) -> Option<[&str; 3]> {
    let mut parts = date.split(['/', '.', '-']).map(str::trim);
    let three = [parts.next()?, parts.next()?, parts.next()?];
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (parts.next().is_none() && three.iter().all(is_number)).then_some(three)
}

/// Year first, or a year at the end behind day and month where only one order of these is possible.
fn of_parts([first, second, third]: [&str; 3]) -> Result<String, String> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| EXPECTED);
    if first.len() == 4 {
        return Ok(format!("{first}-{:02}-{:02}", number(second)?, number(third)?));
    }
    if third.len() != 4 {
        return Err(EXPECTED.to_owned());
    }
    let (month, day) = match (number(first)?, number(second)?) {
        (one, other) if one == other => (one, other),
        (month @ ..=12, day @ 13..) | (day @ 13.., month @ ..=12) => (month, day),
        (..=12, ..=12) => {
            return Err("a date in one order alone: this may be day or month first; write it as 2024-05-06".to_owned());
        }
        _ => return Err(EXPECTED.to_owned()),
    };
    Ok(format!("{third}-{month:02}-{day:02}"))
}

/// A date with the name of its month, such as `May 6, 2024` and `6-May-2024`.
fn of_month_name(date: &str) -> Option<String> {
    let parts: Vec<&str> = date.split([' ', ',', '-', '/', '.']).filter(|part| !part.is_empty()).collect();
    let [one, two, year] = parts[..] else { return None };
    let (month, day) = match (month_of(one), month_of(two)) {
        (Some(month), None) => (month, two),
        (None, Some(month)) => (month, one),
        _ => return None,
    };
    let day = ["st", "nd", "rd", "th"].iter().find_map(|end| day.strip_suffix(end)).unwrap_or(day);
    let day: u32 = day.parse().ok()?;
    (year.len() == 4).then(|| format!("{year}-{month:02}-{day:02}"))
}

fn month_of(text: &str) -> Option<usize> {
    let name = text.to_lowercase();
    let is_it = |month: &str| name.len() >= 3 && (month.starts_with(&name) || name == "sept" && month == "september");
    MONTHS.iter().position(|month| is_it(month)).map(|place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match read_date(text) {
            Ok(Some(time)) => time.to_string(),
            Ok(None) => "none".to_owned(),
            Err(error) => error,
        }
    }

    #[test]
    fn dates_of_one_meaning_are_read() {
        for text in [
            "2024-05-06",
            "2024-05-06T00:00:00.000Z",
            "2024-05-06 00:00:00.000 UTC",
            "2024-05-06 00:00",
            "2024/05/06",
            "2024/5/6",
            "2024.05.06",
            "20240506",
            "1714953600",
            "1714953600000",
            "1714953600000000",
            "1.7149536e9",
            "May 6, 2024",
            "6 May 2024",
            "6-May-2024",
            "06-MAY-2024 00:00:00",
            "May 6th, 2024",
        ] {
            assert_eq!(read(text), "2024-05-06T00:00:00Z", "{text}");
        }
        assert_eq!(read("07/21/2021 06:43:08"), "2021-07-21T06:43:08Z");
        assert_eq!(read("21.07.2021"), "2021-07-21T00:00:00Z");
        assert_eq!(read("07/07/2021"), "2021-07-07T00:00:00Z");
        assert_eq!(read("Sept 3, 2021"), "2021-09-03T00:00:00Z");
        for text in ["", " ", "0", "NaT", "null", "-"] {
            assert_eq!(read(text), "none", "{text:?}");
        }
    }

    #[test]
    fn dates_of_two_meanings_and_other_texts_are_refused() {
        for text in ["06/05/2024", "06.05.2024", "6-5-2024 07:08:09"] {
            assert!(read(text).contains("day or month first"), "{text}: {}", read(text));
        }
        for text in ["45418", "45418.0", "39000"] {
            assert!(read(text).contains("spreadsheet"), "{text}: {}", read(text));
        }
        for text in
            ["5", "2024", "202405", "13/13/2021", "07/21/21", "0000-00-00 00:00:00", "soon", "2024-13-01", "May 2024"]
        {
            assert!(read_date(text).is_err(), "{text}: {}", read(text));
        }
    }
}
