//! Prices in US dollars.

use std::collections::HashSet;

use headwater_ledger::market::PricePoint;
use headwater_types::Timestamp;

use super::Listed;
use super::clock::{end_of_day, seconds};
use crate::error::FieldError;
use crate::source::{Content, Probe, Row, each_row};
use crate::{IngestError, Place};

const HOUR_SECS: i64 = 3_600;

/// The columns of a price file, under the names it gives them.
struct Layout {
    symbol: Option<String>,
    time: String,
    price: String,
    /// How much was traded, in any unit.
    volumes: Vec<String>,
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
    let columns: Vec<&str> = layout.columns().map(String::as_str).collect();
    let mut trade = Trade::default();
    let handle = |row: &Row<'_>, listed: &mut Listed<PricePoint>| {
        let symbol = match (symbol, &layout.symbol) {
            (Some(symbol), _) => Some(symbol.to_lowercase()),
            (None, Some(column)) => row.text(column)?.map(|text| base_symbol(&text)),
            (None, None) => from_name.clone(),
        };
        match point(row, &layout, symbol)? {
            Some(price) => {
                trade.note(row, &layout, &price, listed.entries.len())?;
                listed.entries.push(price);
            }
            None => listed.skip(|| format!("{}: no price", row.place())),
        }
        Ok(())
    };
    each_row(probe.input(), probe.content(), &columns, &mut listed, handle)?;
    trade.leave_out_thin(&mut listed);
    Ok(listed)
}

/// What a file tells of trading: a price at which nothing changed hands is the last one carried on.
#[derive(Default)]
struct Trade {
    /// Symbols that were traded in some row. A file that says zero throughout does not know the volume.
    traded: HashSet<String>,
    /// Entries without a trade, by their place in the list.
    idle: Vec<(usize, Place)>,
}

impl Trade {
    fn note(&mut self, row: &Row<'_>, layout: &Layout, price: &PricePoint, place: usize) -> Result<(), FieldError> {
        let (mut is_told, mut is_traded) = (false, false);
        for column in &layout.volumes {
            if let Some(volume) = row.text(column)?.and_then(|text| text.parse::<f64>().ok()) {
                is_told = true;
                is_traded |= volume != 0.0;
            }
        }
        if is_traded && !self.traded.contains(&price.symbol) {
            self.traded.insert(price.symbol.clone());
        } else if is_told && !is_traded {
            self.idle.push((place, row.place()));
        }
        Ok(())
    }

    fn leave_out_thin(mut self, listed: &mut Listed<PricePoint>) {
        self.idle.retain(|(place, _)| self.traded.contains(&listed.entries[*place].symbol));
        for (_, place) in &self.idle {
            listed.skip(|| format!("{place}: thin, nothing was traded"));
        }
        let mut thin = self.idle.into_iter().map(|(place, _)| place).peekable();
        let mut place = 0..;
        listed.entries.retain(|_| thin.next_if_eq(&place.next().unwrap_or(usize::MAX)).is_none());
    }
}

/// One price of a plain table: `symbol`, `ts` (or `timestamp`) and `price_usd`.
pub(crate) fn price_of(row: &Row<'_>) -> Result<Option<PricePoint>, FieldError> {
    let time = if row.text("ts")?.is_some() { "ts" } else { "timestamp" };
    let (time, price) = (time.to_owned(), "price_usd".to_owned());
    let layout = Layout { symbol: None, time, price, volumes: Vec::new(), period: Period::Instant };
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
    let is_volume = |name: &str| name.starts_with("volume") || name == "total_volume";
    let volumes = probe.columns().iter().filter(|column| is_volume(&column.trim().to_lowercase())).cloned().collect();
    if let (Some(time), Some(price)) = (find(&["ts", "timestamp"]), find(&["price_usd"])) {
        return Some(Layout { symbol, time, price, volumes, period: Period::Instant });
    }
    let price = find(&["close"])?;
    if let Some(time) = find(&["unix"]) {
        return Some(Layout { symbol, time, price, volumes, period: Period::Hour });
    }
    Some(Layout { symbol, time: find(&["date"])?, price, volumes, period: Period::Day })
}

impl Layout {
    /// All columns that are read.
    fn columns(&self) -> impl Iterator<Item = &String> {
        self.symbol.iter().chain([&self.time, &self.price]).chain(&self.volumes)
    }
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
        Period::Day => end_of_day(time).ok_or_else(|| wrong("a date YYYY-MM-DD"))?,
        Period::Hour => seconds(time, 1_000).map(|secs| secs + HOUR_SECS - 1).ok_or_else(|| wrong("epoch seconds"))?,
        Period::Instant => seconds(time, 1).ok_or_else(|| wrong("epoch seconds (at most 12 digits)"))?,
    };
    Ok(Some(PricePoint { symbol, time: Timestamp::new(secs), usd }))
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
    fn a_price_at_which_nothing_was_traded_is_thin_where_the_file_knows_the_volume() {
        let head = "Unix,Symbol,Close,Volume ETH,Volume USD";
        let content = format!("{head}\n0,ETH/USD,10,0,0\n3600,ETH/USD,11,0.5,5.5\n7200,ETH/USD,12,0.0,0\n");
        let listed = list("x.csv", &content, None).unwrap();
        let kept: Vec<_> = listed.entries.iter().map(|price| price.usd).collect();
        assert_eq!((kept, listed.skipped), (vec![11.0], 2));
        assert!(listed.skipped_reasons[0].contains("line 2: thin"), "{:?}", listed.skipped_reasons);

        // A file that never says a volume but zero, or none at all, does not know it.
        let zeros = format!("{head}\n0,ETH/USD,10,0,0\n3600,ETH/USD,11,0,0\n");
        let gaps = format!("{head}\n0,ETH/USD,10,,\n3600,ETH/USD,11,1,1\n");
        for content in [zeros, gaps] {
            assert_eq!(list("x.csv", &content, None).unwrap().entries.len(), 2, "{content}");
        }
    }
}
