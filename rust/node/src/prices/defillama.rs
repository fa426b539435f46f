//! The coins of DefiLlama: prices at one time of several coins, and at regular times of one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::answer::{Answer, RawPoint, TimeUnit, checked};
use super::client::Client;
use super::step::{Run, Step};
use crate::error::CallError;

/// The maximum number of prices in a request for one coin.
pub(super) const MAX_POINTS: i64 = 400;
/// The maximum number of coins in a request for one time.
pub(super) const MAX_COINS: usize = 50;

/// The prices of one coin.
#[derive(Debug, Deserialize)]
struct Series {
    #[serde(default)]
    symbol: Option<String>,
    #[serde(default)]
    confidence: Option<f64>,
    #[serde(default)]
    prices: Vec<Point>,
    #[serde(default)]
    price: Option<Value>,
    #[serde(default)]
    timestamp: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Point {
    timestamp: Value,
    #[serde(default)]
    price: Value,
}

#[derive(Debug, Deserialize)]
struct Coins {
    coins: BTreeMap<String, Series>,
}

/// The prices of one coin, with its symbol at the service; `None` where the service does not have it.
pub(super) type CoinAnswer = Option<(Option<String>, Answer)>;

/// Asks for the prices of some periods: of several periods for one coin, of one period for several coins. The answers come in
/// the order of the ids.
///
/// # Errors
/// When the service refuses or fails, or its answer has another form.
pub(super) fn prices(client: &Client<'_>, ids: &[&str], run: Run, step: Step) -> Result<Vec<CoinAnswer>, CallError> {
    let width = match step {
        Step::Day => "6h",
        Step::Hour => "30m",
    };
    let (coins, count, first) = (ids.join(","), run.count(step), run.first);
    let path = if count == 1 {
        format!("/prices/historical/{first}/{coins}?searchWidth={width}")
    } else {
        format!("/chart/{coins}?start={first}&span={count}&period={}&searchWidth={width}", step.name())
    };
    answers(client, &path, ids, run.window(step))
}

/// Asks for the current prices of several coins. The answers come in the order of the ids.
///
/// # Errors
/// When the service refuses or fails, or its answer has another form.
pub(super) fn current(client: &Client<'_>, ids: &[&str], window: (i64, i64)) -> Result<Vec<CoinAnswer>, CallError> {
    answers(client, &format!("/prices/current/{}?searchWidth=4h", ids.join(",")), ids, window)
}

fn answers(client: &Client<'_>, path: &str, ids: &[&str], window: (i64, i64)) -> Result<Vec<CoinAnswer>, CallError> {
    let Coins { coins } = serde_json::from_value(client.get(path)?)
        .map_err(|error| CallError::Malformed(format!("it is not a list of coins: {error}")))?;
    ids.iter().map(|id| coin_answer(&coins, id, window)).collect()
}

fn coin_answer(coins: &BTreeMap<String, Series>, id: &str, window: (i64, i64)) -> Result<CoinAnswer, CallError> {
    // Addresses may come back with the capital letters of a checksum.
    let found = coins.get(id).or_else(|| {
        let is_evm = id.contains(":0x");
        coins.iter().find(|(name, _)| is_evm && name.eq_ignore_ascii_case(id)).map(|(_, series)| series)
    });
    let Some(series) = found else { return Ok(None) };
    let confidence = series.confidence;
    let mut raw: Vec<RawPoint<'_>> =
        series.prices.iter().map(|point| RawPoint { time: &point.timestamp, usd: &point.price, confidence }).collect();
    if let Some(time) = &series.timestamp {
        raw.push(RawPoint { time, usd: series.price.as_ref().unwrap_or(&Value::Null), confidence });
    }
    let answer = checked(&raw, TimeUnit::Seconds, window).map_err(CallError::Malformed)?;
    Ok(Some((series.symbol.clone(), answer)))
}
