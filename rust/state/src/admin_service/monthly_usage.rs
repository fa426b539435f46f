//! The usage of a month: calls and credits of every key by endpoint.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, NaiveDate};
use headwater_types::text::{SHOWN, shortened};
use serde::Serialize;

use super::AdminService;
use super::keys::possible;
use super::records::month;
use crate::{StateError, checksums, now_ms};

/// Seconds of a day.
const DAY_SECS: i64 = 86_400;
/// The longest time of a call, which counts for the day on which it began: `limits.*_secs` allow no longer one.
const MAX_CALL_SECS: i64 = 3_600;

/// A month of UTC, as `2026-11`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    year: i32,
    number: u32,
    /// First and last day, counted from 1970-01-01.
    days: (i64, i64),
}

impl FromStr for Month {
    type Err = StateError;

    fn from_str(text: &str) -> Result<Self, StateError> {
        let bad = || StateError::BadMonth { month: shortened(text, SHOWN) };
        let (year, number) = text.split_once('-').ok_or_else(bad)?;
        let is_number = |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(year, 4) || !is_number(number, 2) {
            return Err(bad());
        }
        let first = NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d").map_err(|_| bad())?;
        let day = first.signed_duration_since(NaiveDate::default()).num_days();
        if day < 0 {
            return Err(bad());
        }
        Ok(Self { year: first.year(), number: first.month(), days: month(day) })
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.number)
    }
}

impl Month {
    const fn first_secs(self) -> i64 {
        self.days.0 * DAY_SECS
    }

    const fn end_secs(self) -> i64 {
        (self.days.1 + 1) * DAY_SECS
    }
}

/// Calls and credits of every key in a month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MonthlyUsage {
    /// The month, as `2026-11`.
    pub month: String,
    /// First second of the month of UTC.
    pub period_start: i64,
    /// Last second of the month.
    pub period_end: i64,
    /// False while calls that count for the month may still end.
    pub complete: bool,
    /// Calls of all keys.
    pub calls: i64,
    /// Those of them that failed.
    pub failed: i64,
    /// Credits deducted of all keys.
    pub credits: i64,
    /// By name and id of the key and by endpoint.
    pub usage: Vec<KeyUsage>,
}

/// Calls and credits of a key at one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyUsage {
    /// Id of the key.
    pub key_id: String,
    /// Its name.
    pub name: String,
    /// Path of the endpoint.
    pub endpoint: String,
    /// Calls, whatever became of them.
    pub calls: i64,
    /// Those of them that failed, which cost nothing.
    pub failed: i64,
    /// Credits deducted. Refunds are not subtracted.
    pub credits: i64,
}

impl AdminService<'_, '_> {
    /// Usage of every key in a month of UTC, or of one key. A call counts for the day on which it began.
    ///
    /// # Errors
    /// When the month has yet to begin, the key is unknown, a count fails its checksum, or the database fails.
    pub fn monthly_usage(&mut self, month: Month, key_id: Option<&str>) -> Result<MonthlyUsage, StateError> {
        let now_secs = now_ms() / 1000;
        if now_secs < month.first_secs() {
            return Err(StateError::BadMonth { month: month.to_string() });
        }
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        match key_id {
            Some(id) => {
                possible(id)?;
                names.insert(id.to_owned(), self.key(id)?.name);
            }
            None => names.extend(self.list_keys()?.into_iter().map(|key| (key.id, key.name))),
        }
        let mut counts: BTreeMap<(String, String, String), [i64; 3]> = BTreeMap::new();
        // A day at a time, so that a month of many keys needs little memory.
        for day in month.days.0..=month.days.1 {
            let rows = self.tx.rows(
                "SELECT account_id, day, endpoint, key_id, calls, failed, credits, checksum FROM usage_day
                 WHERE day = ?1 AND (CAST(?2 AS TEXT) IS NULL OR key_id = ?2)",
                &[day.into(), key_id.into()],
            )?;
            for row in &rows {
                checksums::check_usage(row)?;
                let key = row.text(3)?;
                let name = names.get(key).cloned().unwrap_or_default();
                let count = counts.entry((name, key.to_owned(), row.text(2)?.to_owned())).or_default();
                for (sum, column) in count.iter_mut().zip(4..) {
                    *sum += row.int(column)?;
                }
            }
        }
        let sum = |of: usize| counts.values().map(|count| count[of]).sum();
        let (calls, failed, credits) = (sum(0), sum(1), sum(2));
        let usage = counts.into_iter().map(|((name, key_id, endpoint), [calls, failed, credits])| KeyUsage {
            key_id,
            name,
            endpoint,
            calls,
            failed,
            credits,
        });
        Ok(MonthlyUsage {
            month: month.to_string(),
            period_start: month.first_secs(),
            period_end: month.end_secs() - 1,
            complete: now_secs >= month.end_secs() + MAX_CALL_SECS,
            calls,
            failed,
            credits,
            usage: usage.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_is_of_utc_to_the_second() {
        // `date -u -d 2026-11-01 +%s` is 1793491200, and 1796083200 of 2026-12-01.
        let month: Month = "2026-11".parse().unwrap();
        assert_eq!((month.first_secs(), month.end_secs()), (1_793_491_200, 1_796_083_200));
        let leap: Month = "2024-02".parse().unwrap();
        assert_eq!((leap.end_secs() - leap.first_secs(), leap.to_string()), (29 * DAY_SECS, "2024-02".to_owned()));
    }

    #[test]
    fn text_that_is_not_a_month_is_refused() {
        for text in ["", "2026", "2026-13", "2026-00", "2026-1", "26-11", "2026-11-01", "1969-12", "+026-11", "2026-+1"]
        {
            let refused = text.parse::<Month>().unwrap_err().to_string();
            assert!(refused.contains(&format!("{text:?}")) && refused.contains("2026-11"), "{refused}");
        }
    }
}
