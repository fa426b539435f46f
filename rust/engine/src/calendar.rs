//! Days as people at one place count them.

use chrono::{DateTime, Days, FixedOffset, NaiveDate, NaiveTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use headwater_types::Timestamp;

use crate::limits::HOURS;
use crate::request::refused;
use crate::{Error, Reason};

/// Where days begin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Calendar {
    /// So many hours ahead of UTC.
    Hours(i32),
    /// A zone of the IANA database, summer time and all.
    Zone(Tz),
}

impl Calendar {
    /// Checks `timezone` and `tz`; the zone wins.
    pub fn new(hours: Option<i64>, zone: Option<&str>) -> Result<Self, Error> {
        let hours = hours.unwrap_or(0);
        if !HOURS.contains(&hours) {
            let why = "expected -12 to 14 hours from UTC; zones of half hours go into `tz`";
            return Err(refused(Reason::InvalidValue, "timezone", &hours.to_string(), &why));
        }
        match zone.map(str::trim).filter(|zone| !zone.is_empty()) {
            None => Ok(Self::Hours(i32::try_from(hours).expect("it lies between -12 and 14"))),
            Some(zone) => zone.parse().map(Self::Zone).map_err(|_| {
                let why = format!("{zone:?} is no zone of the IANA database, such as Asia/Kolkata or Europe/Berlin");
                refused(Reason::InvalidValue, "tz", zone, &why)
            }),
        }
    }

    /// Hours from UTC: of a zone those in force at a time, rounded towards UTC where they are not whole.
    pub fn hours(self, time: Timestamp) -> i32 {
        use chrono::Offset;
        match self {
            Self::Hours(hours) => hours,
            Self::Zone(zone) => zone.offset_from_utc_datetime(&utc(time).naive_utc()).fix().local_minus_utc() / 3600,
        }
    }

    /// The name of the zone.
    pub fn zone(self) -> Option<&'static str> {
        match self {
            Self::Hours(_) => None,
            Self::Zone(zone) => Some(zone.name()),
        }
    }

    /// The day that a time falls on.
    pub fn day(self, time: Timestamp) -> NaiveDate {
        match self {
            Self::Hours(hours) => (utc(time) + TimeDelta::hours(hours.into())).date_naive(),
            Self::Zone(zone) => utc(time).with_timezone(&zone).date_naive(),
        }
    }

    /// The first second of a day.
    pub fn start(self, day: NaiveDate) -> Timestamp {
        match self {
            Self::Hours(hours) => {
                let offset = FixedOffset::east_opt(hours * 3600).expect("offsets of less than a day exist");
                first(&offset, day)
            }
            Self::Zone(zone) => first(&zone, day),
        }
    }

    /// The last second of a day.
    pub fn end(self, day: NaiveDate) -> Timestamp {
        Timestamp::new(self.start(day + Days::new(1)).secs() - 1)
    }

    /// The days from one to another, both included. A day that a zone left out (it moved over the date line) is not
    /// among them.
    pub fn days(self, first: NaiveDate, last: NaiveDate) -> impl Iterator<Item = NaiveDate> {
        first.iter_days().take_while(move |day| *day <= last).filter(move |day| self.start(*day) <= self.end(*day))
    }
}

fn utc(time: Timestamp) -> DateTime<chrono::Utc> {
    DateTime::from_timestamp(time.secs(), 0).unwrap_or(DateTime::UNIX_EPOCH)
}

/// The first instant of a local day: midnight, or what the clocks show after a gap there; of two midnights the first.
fn first<Z: TimeZone>(zone: &Z, day: NaiveDate) -> Timestamp {
    /// Zones change by quarters of an hour, and by a day at most.
    const QUARTERS: i64 = 4 * 25;
    let midnight = day.and_time(NaiveTime::MIN);
    let at = |quarter| zone.from_local_datetime(&(midnight + TimeDelta::minutes(15 * quarter))).earliest();
    let time = (0..=QUARTERS).find_map(at).map_or_else(|| midnight.and_utc().timestamp(), |time| time.timestamp());
    Timestamp::new(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_ZONE;

    #[test]
    fn every_zone_fits_what_the_description_says_of_names() {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "+_/-".contains(letter);
        for zone in chrono_tz::TZ_VARIANTS {
            assert!(zone.name().len() <= MAX_ZONE && zone.name().chars().all(fits), "{zone}");
        }
    }

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn zone(name: &str) -> Calendar {
        Calendar::new(None, Some(name)).unwrap()
    }

    #[test]
    fn offsets_shift_days() {
        let east = Calendar::new(Some(14), None).unwrap();
        let time = Timestamp::new(1_700_000_000); // 2023-11-14 22:13:20
        assert_eq!((east.day(time), east.start(day("2023-11-15")).secs()), (day("2023-11-15"), 1_699_956_000));
        assert_eq!(Calendar::new(Some(-12), None).unwrap().day(time), day("2023-11-14"));
        assert_eq!(east.end(day("2023-11-15")).secs() - east.start(day("2023-11-15")).secs(), 86_399);
        assert!(Calendar::new(Some(15), None).is_err() && Calendar::new(None, Some("Mars/Olympus")).is_err());
    }

    #[test]
    fn zones_have_half_hours_and_days_of_23_and_25_hours() {
        let kolkata = zone("Asia/Kolkata");
        assert_eq!(kolkata.start(day("2023-11-15")).secs(), 1_700_006_400 - 19_800);
        let hours = |name: &str, date: &str| {
            let zone = zone(name);
            (zone.end(day(date)).secs() + 1 - zone.start(day(date)).secs()) / 3600
        };
        assert_eq!((hours("Europe/Berlin", "2023-03-26"), hours("Europe/Berlin", "2023-10-29")), (23, 25));
        // Here the clocks go forward at midnight, so that the day begins at one.
        assert_eq!(hours("America/Santiago", "2023-09-03"), 23);
    }

    #[test]
    fn a_day_that_a_zone_left_out_is_not_there() {
        let days: Vec<_> = zone("Pacific/Apia").days(day("2011-12-29"), day("2011-12-31")).collect();
        assert_eq!(days, [day("2011-12-29"), day("2011-12-31")]);
    }
}
