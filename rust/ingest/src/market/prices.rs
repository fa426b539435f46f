//! Prices in US dollars.

use std::collections::{BTreeMap, HashSet};

use headwater_ledger::market::PricePoint;
use headwater_types::Timestamp;

use super::clock::{INSTANT, cell_time, end_of_day, has_time_of_day};
use super::{Listed, number};
use crate::error::FieldError;
use crate::source::{Content, Probe, Row, each_row};
use crate::{IngestError, Place};

const HOUR_SECS: i64 = 3_600;
const DAY_SECS: i64 = 24 * HOUR_SECS;

/// The columns of a price file, under the names it gives them.
struct Layout {
    symbol: Option<String>,
    time: String,
    price: String,
    /// The traded volume, in any unit.
    volumes: Vec<String>,
    period: Period,
}

/// The subject of the price of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Period {
    /// A day, by its date.
    Day,
    /// A candle, by the time at which it opened. One that stands alone is so long.
    Candle { alone_secs: i64 },
    /// A time.
    Instant,
}

pub(super) fn list(probe: &Probe, symbol: Option<&str>) -> Result<Listed<PricePoint>, IngestError> {
    let layout = layout(probe).ok_or_else(|| IngestError::Unrecognised {
        path: probe.path().to_owned(),
        seen: probe.seen(),
        hint: "What is read: CSV or Parquet with Date and Close, with Unix and Close, or with symbol, ts and price_usd"
            .to_owned(),
    })?;
    let name = probe.input().name();
    let from_name = symbol_in(&name);
    let mut listed = Listed::new(match layout.period {
        Period::Day => "daily-prices",
        Period::Candle { .. } => "candles",
        Period::Instant => "price-table",
    });
    let columns: Vec<&str> = layout.columns().map(String::as_str).collect();
    let mut trade = Trade::default();
    let mut openings = Openings::default();
    let handle = |row: &Row<'_>, listed: &mut Listed<PricePoint>| {
        let symbol = match (symbol, &layout.symbol) {
            (Some(symbol), _) => Some(symbol.to_lowercase()),
            (None, Some(column)) => row.text(column)?.map(|text| base_symbol(column, &text)).transpose()?,
            (None, None) => from_name.clone(),
        };
        if let Period::Candle { .. } = layout.period {
            openings.note(row, &layout, symbol.as_deref())?;
        }
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
    if let Period::Candle { alone_secs } = layout.period {
        let length = openings.candle_secs(&name).unwrap_or(alone_secs);
        listed.format = match length {
            DAY_SECS => "daily-prices",
            HOUR_SECS => "hourly-prices",
            _ => "candles",
        };
        for price in &mut listed.entries {
            price.time = Timestamp::new(price.time.secs() + length - 1);
        }
    }
    trade.leave_out_thin(&mut listed);
    Ok(listed)
}

/// When the candles of a file open.
#[derive(Default)]
struct Openings(BTreeMap<String, Vec<i64>>);

impl Openings {
    fn note(&mut self, row: &Row<'_>, layout: &Layout, symbol: Option<&str>) -> Result<(), FieldError> {
        if let Some(time) = row.text(&layout.time)?.and_then(|text| cell_time(&text)) {
            self.0.entry(symbol.unwrap_or_default().to_owned()).or_default().push(time.start());
        }
        Ok(())
    }

    /// Returns the length of a candle of the file: that of its name (`_1h`, `_d`, `_minute`), else the least time between two of
    /// one symbol. Taken too long, a price is used late; taken too short, it would be used before it was known.
    fn candle_secs(self, name: &str) -> Option<i64> {
        const MINUTE: i64 = 60;
        const LENGTHS: [i64; 10] = [
            7 * DAY_SECS,
            DAY_SECS,
            12 * HOUR_SECS,
            6 * HOUR_SECS,
            4 * HOUR_SECS,
            HOUR_SECS,
            30 * MINUTE,
            15 * MINUTE,
            5 * MINUTE,
            MINUTE,
        ];
        let words: Vec<String> =
            name.split(|letter: char| !letter.is_ascii_alphanumeric()).map(str::to_lowercase).collect();
        // The first word is a coin, or the exchange.
        let named = words.iter().skip(1).rev().find_map(|word| match word.as_str() {
            "d" | "1d" | "day" | "daily" => Some(DAY_SECS),
            "h" | "1h" | "1hr" | "hour" | "hourly" => Some(HOUR_SECS),
            "1m" | "1min" | "min" | "minute" => Some(MINUTE),
            _ => None,
        });
        let least = || {
            let gaps = self.0.into_values().filter_map(|mut times| {
                times.sort_unstable();
                times.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0).min()
            });
            let gap = gaps.min()?;
            // Months differ.
            let month = Some(31 * DAY_SECS).filter(|_| gap >= 28 * DAY_SECS);
            month.or_else(|| LENGTHS.into_iter().find(|length| *length <= gap))
        };
        named.or_else(least)
    }
}

/// The trading that a file states: a price at which nothing changed hands is the last one carried on.
#[derive(Default)]
struct Trade {
    /// Symbols that were traded in some row. A file that says zero throughout does not know the volume.
    traded: HashSet<String>,
    /// Entries without a trade, by their place in the list.
    idle: Vec<(usize, Place)>,
}

impl Trade {
    fn note(&mut self, row: &Row<'_>, layout: &Layout, price: &PricePoint, place: usize) -> Result<(), FieldError> {
        let (mut is_stated, mut is_traded) = (false, false);
        for column in &layout.volumes {
            if let Some(volume) = row.text(column)?.and_then(|text| text.parse::<f64>().ok()) {
                is_stated = true;
                is_traded |= volume != 0.0;
            }
        }
        if is_traded && !self.traded.contains(&price.symbol) {
            self.traded.insert(price.symbol.clone());
        } else if is_stated && !is_traded {
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
    if !matches!(probe.content(), Content::Csv | Content::Tsv | Content::Parquet) {
        return None;
    }
    let columns: Vec<&str> = probe.columns().iter().map(|column| column.trim()).collect();
    let find = |names: &[&str]| {
        let named = |name: &&str| columns.iter().find(|column| column.eq_ignore_ascii_case(name));
        names.iter().find_map(named).map(|column| (*column).to_owned())
    };
    // One well-known publisher of hourly files wrote the name of this column wrong.
    let symbol = find(&["symbol", "Oymbol"]);
    let is_volume = |name: &str| name.starts_with("volume") || name == "total_volume";
    let volumes = columns.iter().filter(|column| is_volume(&column.to_lowercase())).map(|&name| name.into()).collect();
    if let (Some(time), Some(price)) = (find(&["ts", "timestamp"]), find(&["price_usd"])) {
        return Some(Layout { symbol, time, price, volumes, period: Period::Instant });
    }
    let price = find(&["close"])?;
    if let Some(time) = find(&["unix", "unix timestamp", "unix_timestamp", "unixtimestamp"]) {
        let period = Period::Candle { alone_secs: HOUR_SECS };
        return Some(Layout { symbol, time, price, volumes, period });
    }
    let time = find(&["date"])?;
    let has_time_of_day = probe.first(&time).is_some_and(has_time_of_day);
    let period = if has_time_of_day { Period::Candle { alone_secs: DAY_SECS } } else { Period::Day };
    Some(Layout { symbol, time, price, volumes, period })
}

impl Layout {
    /// All columns that are read.
    fn columns(&self) -> impl Iterator<Item = &String> {
        self.symbol.iter().chain([&self.time, &self.price]).chain(&self.volumes)
    }
}

/// The symbols that count as a dollar: itself, and coins that are meant to be worth one.
const DOLLARS: [&str; 5] = ["usd", "usdt", "usdc", "busd", "fdusd"];
/// The symbols that end pairs written as one word.
const ENDINGS: [&str; 3] = ["usdt", "usdc", "usd"];

/// `ETH/USD`, `ETH-USD`, `ETHUSD`, `ETH/USDT` and `ETHUSDT` price ETH in dollars. `ETH/EUR` prices it in something else.
fn base_symbol(column: &str, text: &str) -> Result<String, FieldError> {
    let pair = text.trim().to_lowercase();
    match pair.split_once(['/', '-']) {
        Some((base, quote)) if DOLLARS.contains(&quote) || !is_currency(quote) => Ok(base.to_owned()),
        Some(_) => Err(FieldError::new(column, Some(text), "a price in US dollars, such as ETH/USD or ETHUSDT")),
        None => Ok(joined_base(&pair).map_or_else(|| pair.clone(), str::to_owned)),
    }
}

/// The first part of a pair that is written as one word.
fn joined_base(pair: &str) -> Option<&str> {
    // A word of four letters is a coin: USDT is none of "USD" in "T".
    let is_pair = pair.chars().count() > 4;
    let base = ENDINGS.iter().find_map(|quote| pair.strip_suffix(quote));
    base.filter(|base| is_pair && !base.is_empty() && !DOLLARS.contains(&pair))
}

/// Returns true if the second part of a pair is what it is priced in, rather than another word: `ETH-USD-1d`.
fn is_currency(quote: &str) -> bool {
    const OTHERS: [&str; 17] = [
        "eur", "gbp", "jpy", "cny", "krw", "inr", "aud", "cad", "chf", "brl", "rub", "try", "btc", "eth", "bnb", "xbt",
        "trx",
    ];
    let word = quote.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    OTHERS.contains(&word)
}

/// Returns the symbol that the name of a file states: a pair (`Binance_ETHUSDT_1h.csv`), else its first word (`ETH-USD-1d.csv`)
/// unless that is priced in another currency (`ETH-EUR.csv`).
fn symbol_in(name: &str) -> Option<String> {
    let words: Vec<String> = name.split(['-', '_', '.', ' ']).map(str::to_lowercase).collect();
    if let Some(base) = words.iter().find_map(|word| joined_base(word)) {
        return Some(base.to_owned());
    }
    let is_priced_otherwise = words.get(1).is_some_and(|word| is_currency(word));
    words.into_iter().next().filter(|word| !word.is_empty() && !is_priced_otherwise)
}

fn point(row: &Row<'_>, layout: &Layout, symbol: Option<String>) -> Result<Option<PricePoint>, FieldError> {
    let Some(usd) = number(row, &layout.price, "a price of zero or more", |usd| usd >= 0.0)? else { return Ok(None) };
    let symbol = symbol.filter(|symbol| !symbol.is_empty());
    let symbol = symbol.ok_or_else(|| FieldError::new("symbol", None, "a symbol (name it with --symbol)"))?;
    let text = row.text(&layout.time)?;
    let wrong = |expected: &str| FieldError::new(&layout.time, text.as_deref(), expected);
    let time = text.as_deref().ok_or_else(|| wrong("a time"))?;
    let secs = match layout.period {
        Period::Day => end_of_day(time).ok_or_else(|| wrong("a date YYYY-MM-DD"))?,
        Period::Candle { .. } => cell_time(time).ok_or_else(|| wrong(INSTANT))?.start(),
        Period::Instant => cell_time(time).ok_or_else(|| wrong(INSTANT))?.end(),
    };
    Ok(Some(PricePoint { symbol, time: Timestamp::new(secs), usd }))
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
