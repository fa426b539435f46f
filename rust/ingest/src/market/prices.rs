//! Prices in US dollars.

use headwater_ledger::market::PricePoint;
use headwater_types::Timestamp;

use super::Listed;
use crate::IngestError;
use crate::error::FieldError;
use crate::source::{Content, Probe, Row, each_row, plain_number};

const DAY_SECS: i64 = 86_400;
const HOUR_SECS: i64 = 3_600;
/// Days from 0001-01-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_162;

/// The columns of a price file, under the names it gives them.
struct Layout {
    symbol: Option<String>,
    time: String,
    price: String,
    period: Period,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Period {
    Day,
    Hour,
    Instant,
}

pub(super) fn list(probe: &Probe, symbol: Option<&str>) -> Result<Listed<PricePoint>, IngestError> {
    let layout = layout(probe).ok_or_else(|| IngestError::Unrecognised {
        path: probe.path().to_owned(),
        seen: probe.seen(),
        known: "csv with Date and Close, with Unix and Close, or with symbol, ts and price_usd".to_owned(),
    })?;
    let name = probe.input().name();
    let from_name = name.split(['-', '_', '.']).next().filter(|word| !word.is_empty()).map(str::to_lowercase);
    let mut listed = Listed::new(match layout.period {
        Period::Day => "daily-prices",
        Period::Hour => "hourly-prices",
        Period::Instant => "price-table",
    });
    let columns: Vec<&str> = layout.symbol.iter().chain([&layout.time, &layout.price]).map(String::as_str).collect();
    let handle = |row: &Row<'_>, listed: &mut Listed<PricePoint>| {
        let symbol = match (symbol, &layout.symbol) {
            (Some(symbol), _) => Some(symbol.to_lowercase()),
            (None, Some(column)) => row.text(column)?.map(|text| base_symbol(&text)),
            (None, None) => from_name.clone(),
        };
        match point(row, &layout, symbol)? {
            Some(price) => listed.entries.push(price),
            None => listed.skip(|| format!("{}: no price", row.place())),
        }
        Ok(())
    };
    each_row(probe.input(), probe.content(), &columns, &mut listed, handle)?;
    Ok(listed)
}

/// One price of a plain table: `symbol`, `ts` (or `timestamp`) and `price_usd`.
pub(crate) fn price_of(row: &Row<'_>) -> Result<Option<PricePoint>, FieldError> {
    let time = if row.text("ts")?.is_some() { "ts" } else { "timestamp" };
    let layout = Layout { symbol: None, time: time.to_owned(), price: "price_usd".to_owned(), period: Period::Instant };
    let symbol = row.text("symbol")?.map(|text| text.to_lowercase());
    point(row, &layout, symbol)
}

fn layout(probe: &Probe) -> Option<Layout> {
    if !matches!(probe.content(), Content::Csv | Content::Parquet) {
        return None;
    }
    let find = |names: &[&str]| {
        let named = |name: &&str| probe.columns().iter().find(|column| column.trim().eq_ignore_ascii_case(name));
        names.iter().find_map(named).cloned()
    };
    // One well-known publisher of hourly files wrote the name of this column wrong.
    let symbol = find(&["symbol", "Oymbol"]);
    if let (Some(time), Some(price)) = (find(&["ts", "timestamp"]), find(&["price_usd"])) {
        return Some(Layout { symbol, time, price, period: Period::Instant });
    }
    let price = find(&["close"])?;
    if let Some(time) = find(&["unix"]) {
        return Some(Layout { symbol, time, price, period: Period::Hour });
    }
    Some(Layout { symbol, time: find(&["date"])?, price, period: Period::Day })
}

/// `ETH/USD`, `ETH-USD` and `ETHUSD` price ETH.
fn base_symbol(text: &str) -> String {
    let base = text.split(['/', '-']).next().unwrap_or(text).to_lowercase();
    base.strip_suffix("usd").filter(|rest| !rest.is_empty() && base.len() > 4).map(str::to_owned).unwrap_or(base)
}

fn point(row: &Row<'_>, layout: &Layout, symbol: Option<String>) -> Result<Option<PricePoint>, FieldError> {
    let Some(price) = row.text(&layout.price)? else { return Ok(None) };
    let usd: f64 = price
        .parse()
        .ok()
        .filter(|usd: &f64| usd.is_finite() && *usd >= 0.0)
        .ok_or_else(|| FieldError::new(&layout.price, Some(&price), "a price of zero or more"))?;
    let symbol = symbol.filter(|symbol| !symbol.is_empty());
    let symbol = symbol.ok_or_else(|| FieldError::new("symbol", None, "a symbol (name it with --symbol)"))?;
    let text = row.text(&layout.time)?;
    let wrong = |expected: &str| FieldError::new(&layout.time, text.as_deref(), expected);
    let time = text.as_deref().ok_or_else(|| wrong("a time"))?;
    let secs = match layout.period {
        Period::Day => day(time).map(|day| day * DAY_SECS + DAY_SECS - 1).ok_or_else(|| wrong("a date YYYY-MM-DD"))?,
        Period::Hour => seconds(time, 1_000).map(|secs| secs + HOUR_SECS - 1).ok_or_else(|| wrong("epoch seconds"))?,
        Period::Instant => seconds(time, 1).ok_or_else(|| wrong("epoch seconds (at most 12 digits)"))?,
    };
    Ok(Some(PricePoint { symbol, time: Timestamp::new(secs), usd }))
}

/// Epoch seconds; where milliseconds are known to occur they are divided.
fn seconds(text: &str, per_second: i64) -> Option<i64> {
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
    use super::super::list_prices;
    use super::*;

    fn list(name: &str, content: &str, symbol: Option<&str>) -> Result<Listed<PricePoint>, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        list_prices(&path, symbol)
    }

    #[test]
    fn a_daily_price_counts_from_the_end_of_its_day_and_an_empty_one_is_none() {
        let content = "Date,Adj Close,Close,High,Low,Open,Volume\n2014-09-17,,,,,,\n2017-11-09,1.5,320.5,0,0,0,0\n";
        let listed = list("ETH-USD-1d.csv", content, None).unwrap();
        // 2017-11-09T23:59:59Z
        let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(1_510_271_999), usd: 320.5 };
        assert_eq!((listed.entries, listed.skipped), (vec![price], 1));
    }

    #[test]
    fn an_hourly_price_counts_from_the_end_of_its_hour() {
        let content = "Unix,Date,Oymbol,Open,High,Low,Close,Volume ETH,Volume USD\n1643932800,2022-02-04 00:00:00,ETH/USD,1,1,1,2692.92,1,1\n";
        let listed = list("x.csv", content, None).unwrap();
        assert_eq!((listed.entries[0].symbol.as_str(), listed.entries[0].time.secs()), ("eth", 1_643_936_399));
        assert_eq!(list("x.csv", content, Some("WETH")).unwrap().entries[0].symbol, "weth");
    }

    #[test]
    fn a_plain_table_counts_from_its_times() {
        let listed = list("p.csv", "symbol,ts,price_usd,source\nBTC,100,1e-7,x\n", None).unwrap();
        assert_eq!(listed.entries, [PricePoint { symbol: "btc".to_owned(), time: Timestamp::new(100), usd: 1e-7 }]);
    }

    #[test]
    fn what_is_no_price_is_an_error_of_its_row() {
        for row in ["BTC,100,NaN", "BTC,100,-1", "BTC,100,inf", "BTC,1643932800000,1", "BTC,x,1", ",100,1"] {
            let error = list("p.csv", &format!("symbol,ts,price_usd\nA,1,1\n{row}\n"), None).unwrap_err().to_string();
            assert!(error.contains("line 3"), "{error}");
        }
        assert!(list("p.csv", "a,b\n1,2\n", None).is_err());
    }

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
