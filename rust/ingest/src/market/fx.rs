//! Exchange rates.

use std::collections::BTreeMap;

use headwater_ledger::market::{FxPoint, USD};
use headwater_types::Timestamp;

use super::clock::{CellTime, INSTANT, cell_time, end_of_day};
use super::{Listed, number};
use crate::IngestError;
use crate::error::FieldError;
use crate::source::{Content, Probe, Row, each_row};

/// The base of a wide table with a column of the dollar and none of the euro.
const EUR: &str = "EUR";

/// The columns of a table of rates, under the names it gives them.
struct Layout {
    time: String,
    is_daily: bool,
    rates: Rates,
}

enum Rates {
    /// One rate per row.
    Long { currency: String, rate: String, base: Option<String> },
    /// A column per currency: its code, and its name.
    Wide(Vec<(String, String)>),
}

/// Rates of one time: what they are per (`None` where the table does not say), and units by currency.
type Quotes = BTreeMap<(i64, Option<String>), BTreeMap<String, f64>>;

pub(super) fn list(probe: &Probe) -> Result<Listed<FxPoint>, IngestError> {
    let layout = layout(probe).ok_or_else(|| IngestError::Unrecognised {
        path: probe.path().to_owned(),
        seen: probe.seen(),
        hint: "What is read: CSV or Parquet with date, currency and units_per_usd, or with Date and a column per currency code".to_owned(),
    })?;
    let mut listed = Listed::new(match layout.rates {
        Rates::Long { .. } => "exchange-rates",
        Rates::Wide(_) => "wide-exchange-rates",
    });
    let mut quotes = Quotes::new();
    let handle = |row: &Row<'_>, listed: &mut Listed<FxPoint>| {
        if layout.read(row, &mut quotes)? == 0 {
            listed.skip(|| format!("{}: no rate", row.place()));
        }
        Ok(())
    };
    each_row(probe.input(), probe.content(), &layout.columns(), &mut listed, handle)?;
    if let Rates::Wide(columns) = &layout.rates {
        quotes = with_base(quotes, columns);
    }
    for ((secs, base), units) in quotes {
        per_dollar(Timestamp::new(secs), base.as_deref(), units, &mut listed);
    }
    Ok(listed)
}

fn layout(probe: &Probe) -> Option<Layout> {
    if !matches!(probe.content(), Content::Csv | Content::Tsv | Content::Parquet) {
        return None;
    }
    let plain = |name: &str| name.trim().to_lowercase().replace([' ', '-'], "_");
    let columns: Vec<String> = probe.columns().iter().map(|column| column.trim().to_owned()).collect();
    let find =
        |names: &[&str]| names.iter().find_map(|name| columns.iter().find(|column| plain(column) == *name)).cloned();
    let day = find(&["date", "day", "time_period"]);
    let is_daily = day.is_some();
    let time = day.or_else(|| find(&["ts", "timestamp", "unix"]))?;
    if let Some(currency) = find(&["currency", "currency_code", "code", "ccy", "quote"]) {
        let base = find(&["base", "base_currency", "currency_denom"]);
        let known = ["units_per_usd", "per_usd", "rate", "exchange_rate", "units", "obs_value", "value"];
        let only_other = || {
            let used = [Some(&time), Some(&currency), base.as_ref()];
            let mut left = columns.iter().filter(|column| !used.contains(&Some(column)));
            // US dollars per unit would be the inverse.
            left.next().filter(|name| left.next().is_none() && !plain(name).starts_with("usd")).cloned()
        };
        let rate = find(&known).or_else(only_other)?;
        return Some(Layout { time, is_daily, rates: Rates::Long { currency, rate, base } });
    }
    let is_code = |name: &str| name.len() == 3 && name.bytes().all(|letter| letter.is_ascii_uppercase());
    let named = columns.iter().map(|column| (column.trim().to_owned(), column.clone()));
    let codes: Vec<_> = named.filter(|(code, _)| is_code(code)).collect();
    (!codes.is_empty()).then_some(Layout { time, is_daily, rates: Rates::Wide(codes) })
}

impl Layout {
    fn columns(&self) -> Vec<&str> {
        let mut columns = vec![self.time.as_str()];
        match &self.rates {
            Rates::Long { currency, rate, base } => {
                columns.extend([currency, rate].into_iter().chain(base).map(String::as_str));
            }
            Rates::Wide(codes) => columns.extend(codes.iter().map(|(_, column)| &**column)),
        }
        columns
    }

    /// Takes the rates of a row, and returns their count.
    fn read(&self, row: &Row<'_>, quotes: &mut Quotes) -> Result<usize, FieldError> {
        let text = row.text(&self.time)?;
        let (expected, secs) = match (self.is_daily, text.as_deref()) {
            (true, text) => ("a date YYYY-MM-DD", text.and_then(end_of_day)),
            (false, text) => (INSTANT, text.and_then(|text| cell_time(text).map(CellTime::end))),
        };
        let secs = secs.ok_or_else(|| FieldError::new(&self.time, text.as_deref(), expected))?;
        match &self.rates {
            Rates::Long { currency, rate, base } => {
                let Some(units) = units(row, rate)? else { return Ok(0) };
                let name = code(row, currency)?.ok_or_else(|| FieldError::new(currency, None, CODE))?;
                let base = match base {
                    Some(base) => code(row, base)?,
                    None => None,
                };
                let base = base.unwrap_or_else(|| USD.to_owned());
                quotes.entry((secs, Some(base))).or_default().insert(name, units);
                Ok(1)
            }
            Rates::Wide(codes) => {
                let mut count = 0;
                for (code, column) in codes {
                    if let Some(units) = units(row, column)? {
                        quotes.entry((secs, None)).or_default().insert(code.clone(), units);
                        count += 1;
                    }
                }
                Ok(count)
            }
        }
    }
}

const CODE: &str = "a currency code of three letters";

fn code(row: &Row<'_>, column: &str) -> Result<Option<String>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    let code = text.trim().to_uppercase();
    if code.len() == 3 && code.bytes().all(|letter| letter.is_ascii_uppercase()) {
        return Ok(Some(code));
    }
    Err(FieldError::new(column, Some(&text), CODE))
}

fn units(row: &Row<'_>, column: &str) -> Result<Option<f64>, FieldError> {
    number(row, column, "a rate above zero", |units| units > 0.0)
}

/// Says what the units of a wide table are per: the dollar where it has no column, or is one throughout; else the euro
/// where that has no column.
#[expect(clippy::float_cmp, reason = "a dollar is exactly one dollar")]
fn with_base(quotes: Quotes, columns: &[(String, String)]) -> Quotes {
    let has = |code: &str| columns.iter().any(|(column, _)| column == code);
    let is_per_dollar = !has(USD) || quotes.values().filter_map(|units| units.get(USD)).all(|units| *units == 1.0);
    let base = if is_per_dollar { Some(USD) } else { Some(EUR).filter(|code| !has(code)) };
    quotes.into_iter().map(|((secs, _), units)| ((secs, base.map(str::to_owned)), units)).collect()
}

/// Brings rates of one time to units per dollar.
fn per_dollar(time: Timestamp, base: Option<&str>, mut units: BTreeMap<String, f64>, listed: &mut Listed<FxPoint>) {
    let dollar = match base {
        Some(USD) => 1.0,
        _ => match units.remove(USD) {
            Some(dollar) => dollar,
            None => return listed.skip(|| format!("{time}: no rate of the US dollar to divide by")),
        },
    };
    units.remove(USD);
    if let Some(base) = base.filter(|base| *base != USD) {
        units.insert(base.to_owned(), 1.0);
    }
    for (currency, units) in units {
        let per_usd = units / dollar;
        if per_usd.is_normal() {
            listed.entries.push(FxPoint { currency, time, per_usd });
        } else {
            listed.skip(|| format!("{time}: {units} {currency} to {dollar} US dollars is no rate"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::list_exchange_rates;
    use super::*;

    fn list(content: &str) -> Result<Listed<FxPoint>, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rates.csv");
        std::fs::write(&path, content).unwrap();
        list_exchange_rates(&path)
    }

    fn rates(content: &str) -> Vec<(String, i64, f64)> {
        let listed = list(content).unwrap_or_else(|error| panic!("{content}: {error}"));
        listed.entries.into_iter().map(|point| (point.currency, point.time.secs(), point.per_usd)).collect()
    }

    /// 2022-02-14T23:59:59Z.
    const END: i64 = 1_644_883_199;

    #[test]
    fn daily_rate_counts_from_the_end_of_its_day() {
        let expected = vec![("EUR".to_owned(), END, 0.88)];
        for head in ["date,currency,units_per_usd", "Date,Currency,Units per USD", "day,code,rate", "date,ccy,anything"]
        {
            assert_eq!(rates(&format!("{head}\n2022-02-14,eur,0.88\n2022-02-14,USD,1\n")), expected, "{head}");
        }
        assert_eq!(rates("ts,currency,per_usd\n1000,JPY,115.5\n"), [("JPY".to_owned(), 1000, 115.5)]);
        for time in ["1643932800", "1643932800000", "2022-02-04 00:00:00+00:00"] {
            let read = rates(&format!("# rates\nts,currency,per_usd\n{time},JPY,115.5\n"));
            assert_eq!(read, [("JPY".to_owned(), 1_643_932_800, 115.5)], "{time}");
        }
        assert!(list("date,currency,usd_per_unit\n2022-02-14,eur,1.13\n").is_err(), "the inverse is no rate");
    }

    #[test]
    fn what_is_per_euro_is_divided_by_the_rate_of_the_dollar() {
        let eur_and_jpy = vec![("EUR".to_owned(), END, 1.0 / 1.25), ("JPY".to_owned(), END, 130.0 / 1.25)];
        // The form of the European Central Bank: a comma ends each row.
        let listed = list("Date,USD,JPY,RUB,\n2022-02-14,1.25,130,N/A,\n2022-02-11,N/A,131,N/A,\n").unwrap();
        assert_eq!((listed.format, listed.entries.len(), listed.skipped), ("wide-exchange-rates", 2, 1));
        assert_eq!(rates("Date,USD,JPY,RUB,\n2022-02-14,1.25,130,N/A,\n"), eur_and_jpy);
        let long = "TIME_PERIOD,CURRENCY,CURRENCY_DENOM,OBS_VALUE\n2022-02-14,USD,EUR,1.25\n2022-02-14,JPY,EUR,130\n";
        assert_eq!(rates(long), eur_and_jpy);
    }

    #[test]
    fn a_wide_table_without_the_dollar_is_per_dollar() {
        let expected = vec![("EUR".to_owned(), END, 0.88), ("GBP".to_owned(), END, 0.74)];
        assert_eq!(rates("Date,EUR,GBP\n2022-02-14,0.88,0.74\n"), expected);
        assert_eq!(rates("Date,USD,EUR,GBP\n2022-02-14,1,0.88,0.74\n"), expected);
        // Per something that has no column: the euro is one currency of many.
        let per_other = [("EUR".to_owned(), END, 0.88), ("GBP".to_owned(), END, 0.74)];
        assert_eq!(rates("Date,USD,EUR,GBP\n2022-02-14,2,1.76,1.48\n"), per_other);
    }

    #[test]
    fn what_is_no_rate_is_an_error_of_its_row() {
        for row in
            ["2022-02-14,EUR,0", "2022-02-14,EUR,-1", "2022-02-14,EURO,1", "14.02.2022,EUR,1", "2022-02-14,EUR,x"]
        {
            let error = list(&format!("date,currency,rate\n2022-02-13,EUR,1\n{row}\n")).unwrap_err().to_string();
            assert!(error.contains("line 3"), "{error}");
        }
        for none in ["", "null", "NaN", "N/A", "ND", "-"] {
            assert_eq!(
                list(&format!("date,currency,rate\n2022-02-13,EUR,1\n2022-02-14,EUR,{none}\n")).unwrap().skipped,
                1,
                "{none}"
            );
        }
        assert!(list("a,b\n1,2\n").is_err());
    }
}
