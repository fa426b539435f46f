//! A price service that answers in the forms of CoinGecko and DefiLlama, and goes wrong as services do.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Map, Value, json};

pub const DAY: i64 = 86_400;

/// The way in which the service goes wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    /// Every second request is refused for a moment.
    RateLimit,
    /// The first request is refused for a second.
    RetryAfter,
    /// Every third connection is cut within the answer.
    Cut,
    /// Prices of ether are those of another coin, and carry its symbol.
    WrongSymbol,
    /// Ether on this day costs this many times as much.
    Outlier(i64, f64),
    /// Times are in the other unit.
    TimeUnit,
    /// It has no prices.
    Empty,
    /// It has no prices of the first days.
    EmptyUntil(i64),
    /// The price of this day is null.
    Null(i64),
    /// The price of this day is zero.
    Zero(i64),
    /// The price of this day is negative.
    Negative(i64),
    /// Two prices of this day differ.
    Contradiction(i64),
    /// A point of another year is in the answer.
    OutOfRange,
    /// It has little confidence in its prices.
    Confidence,
    /// It refuses the caller from this request on, and repeats the key.
    RefusedFrom(usize),
    /// The request is refused with the key in the text.
    KeyInText,
    /// It answers at most ten points.
    TenPoints,
    /// The answer is not JSON.
    NotJson,
    /// A current price is a week old.
    Stale,
}

/// The coins: id, symbol, contract on ethereum, price on the first day.
const COINS: [(&str, &str, Option<&str>, f64); 4] = [
    ("ethereum", "eth", None, 2_000.0),
    ("bitcoin", "btc", None, 60_000.0),
    ("chainlink", "link", Some("0x514910771af9ca656af840dff83e8264ecf986ca"), 15.0),
    ("tether", "usdt", Some("0xdac17f958d2ee523a2206206994597c13d831ec7"), 1.0),
];

/// Returns the price of a coin at a time.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
pub fn price(id: &str, time: i64) -> Option<f64> {
    let (_, _, _, usd) = COINS.iter().find(|(coin, ..)| *coin == id)?;
    Some(usd * (1.0 + (time.div_euclid(3_600) % 24) as f64 / 1_000.0))
}

/// A running service.
pub struct Service {
    pub url: String,
    pub requests: Arc<Mutex<Vec<String>>>,
    pub headers: Arc<Mutex<Vec<String>>>,
}

impl Service {
    pub fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, headers) = (Arc::default(), Arc::default());
        let answering = Arc::new(Answering {
            fault,
            count: AtomicUsize::new(0),
            requests: Arc::clone(&requests),
            headers: Arc::clone(&headers),
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answering = Arc::clone(&answering);
                thread::spawn(move || answering.serve(&stream));
            }
        });
        Self { url, requests, headers }
    }

    /// Returns the requests so far, without those before.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

struct Answering {
    fault: Fault,
    count: AtomicUsize,
    requests: Arc<Mutex<Vec<String>>>,
    headers: Arc<Mutex<Vec<String>>>,
}

impl Answering {
    fn serve(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream);
        loop {
            let mut path = String::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                if let Some(rest) = line.strip_prefix("GET ") {
                    rest.split(' ').next()?.clone_into(&mut path);
                } else if line.trim().is_empty() {
                    break;
                } else {
                    self.headers.lock().unwrap().push(line.trim().to_owned());
                }
            }
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            if self.fault == Fault::RateLimit && count % 2 == 1 {
                write(stream, "429 Too Many Requests", "Retry-After: 0\r\n", "{}")?;
                continue;
            }
            if self.fault == Fault::RetryAfter && count == 0 {
                write(stream, "429 Too Many Requests", "Retry-After: 1\r\n", "{}")?;
                continue;
            }
            self.requests.lock().unwrap().push(path.clone());
            let (status, text) = self.answer(&path, count);
            if self.fault == Fault::Cut && count % 3 == 1 {
                let mut stream = stream;
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n{").ok()?;
                return None;
            }
            write(stream, status, "", &text)?;
        }
    }

    fn answer(&self, path: &str, count: usize) -> (&'static str, String) {
        let found = match self.fault {
            Fault::RefusedFrom(first) if count >= first => {
                return ("401 Unauthorized", "{\"error\":\"KEY-123\"}".into());
            }
            Fault::KeyInText => return ("400 Bad Request", format!("{{\"error\":\"{path} KEY-123\"}}")),
            Fault::NotJson => return ("200 OK", "<html>".into()),
            _ => self.found(path),
        };
        match found {
            Some(value) => ("200 OK", value.to_string()),
            None if self.fault == Fault::TenPoints && path.starts_with("/chart") => {
                ("400 Bad Request", "{\"message\":\"at most 10 points\"}".into())
            }
            None => ("404 Not Found", "{\"error\":\"coin not found\"}".into()),
        }
    }

    fn found(&self, path: &str) -> Option<Value> {
        let (path, query) = path.split_once('?')?;
        let number = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.parse::<i64>().ok());
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match parts[..] {
            ["coins", "list"] => Some(self.list()),
            ["coins", id, "market_chart", "range"] => {
                let (from, to) = (number("from=")?, number("to=")?);
                let step = if to - from > 90 * DAY { DAY } else { 3_600 };
                let times = (from.div_euclid(step) + 1..=to.div_euclid(step)).map(|place| place * step);
                let unit = if self.fault == Fault::TimeUnit { 1 } else { 1_000 };
                let points = self.points(id, times)?;
                let pairs: Vec<Value> = points.into_iter().map(|(time, usd)| json!([time * unit, usd])).collect();
                Some(json!({"prices": pairs, "market_caps": [], "total_volumes": []}))
            }
            ["simple", "price"] => {
                let ids = query.split('&').find_map(|pair| pair.strip_prefix("ids="))?;
                let now = crate::prices::NOW - if self.fault == Fault::Stale { 7 * DAY } else { 60 };
                let coin = |id: &str| Some((id.to_owned(), json!({"usd": price(id, now)?, "last_updated_at": now})));
                Some(Value::Object(ids.split(',').filter_map(coin).collect()))
            }
            ["chart", coins] => {
                let (start, span) = (number("start=")?, number("span=")?);
                let step = if query.contains("period=1h") { 3_600 } else { DAY };
                if self.fault == Fault::TenPoints && span > 10 {
                    return None;
                }
                Some(self.series(coins, &(0..span).map(|place| start + place * step + 7)))
            }
            ["prices", "historical", time, coins] => {
                let time: i64 = time.parse().ok()?;
                Some(self.single(coins, time - 90))
            }
            ["prices", "current", coins] => Some(self.single(coins, crate::prices::NOW - 60)),
            _ => None,
        }
    }

    fn list(&self) -> Value {
        let coin = |(id, symbol, contract, _): &(&str, &str, Option<&str>, f64)| {
            let symbol = if self.fault == Fault::WrongSymbol && *id == "ethereum" { "meth" } else { symbol };
            let platforms = contract.map_or(json!({}), |contract| json!({"ethereum": contract}));
            json!({"id": id, "symbol": symbol, "name": id, "platforms": platforms})
        };
        COINS.iter().map(coin).collect()
    }

    /// The points of a coin; `None` where it is unknown.
    fn points(&self, id: &str, times: impl Iterator<Item = i64>) -> Option<Vec<(i64, Value)>> {
        price(id, 0)?;
        let mut points = Vec::new();
        for time in times {
            let day = (time - 3_600).div_euclid(DAY);
            let usd = price(id, time)?;
            let value = match self.fault {
                Fault::Empty => continue,
                Fault::EmptyUntil(until) if day < until => continue,
                Fault::Outlier(of, times) if day == of && id == "ethereum" => json!(usd * times),
                Fault::Null(of) if day == of => Value::Null,
                Fault::Zero(of) if day == of => json!(0),
                Fault::Negative(of) if day == of => json!(-usd),
                Fault::Contradiction(of) if day == of => {
                    points.push((time, json!(usd * 1.01)));
                    json!(usd)
                }
                _ => json!(usd),
            };
            points.push((time, value));
        }
        if self.fault == Fault::OutOfRange {
            points.push((1_000_000_000, json!(1.0)));
        }
        Some(points)
    }

    /// The id at CoinGecko of an id at DefiLlama.
    fn coin(id: &str) -> Option<(&'static str, &'static str)> {
        let (kind, rest) = id.split_once(':')?;
        let is_it = |coin: &&(&str, &str, Option<&str>, f64)| match kind {
            "coingecko" => coin.0 == rest,
            "ethereum" => coin.2 == Some(rest),
            _ => false,
        };
        COINS.iter().find(is_it).map(|(id, symbol, ..)| (*id, *symbol))
    }

    fn heading(&self, id: &str) -> Option<(&'static str, Value)> {
        let (coin, symbol) = Self::coin(id)?;
        let symbol = if self.fault == Fault::WrongSymbol && coin == "ethereum" { "METH" } else { symbol };
        let confidence = if self.fault == Fault::Confidence { 0.5 } else { 0.99 };
        Some((coin, json!({"symbol": symbol.to_uppercase(), "confidence": confidence})))
    }

    fn series(&self, coins: &str, times: &(impl Iterator<Item = i64> + Clone)) -> Value {
        let unit = if self.fault == Fault::TimeUnit { 1_000 } else { 1 };
        let mut found = Map::new();
        for id in coins.split(',') {
            let Some((coin, mut heading)) = self.heading(id) else { continue };
            let points = self.points(coin, times.clone()).unwrap_or_default();
            let point = |(time, usd): (i64, Value)| json!({"timestamp": time * unit, "price": usd});
            heading["prices"] = points.into_iter().map(point).collect();
            found.insert(id.to_owned(), heading);
        }
        json!({"coins": found})
    }

    fn single(&self, coins: &str, time: i64) -> Value {
        let mut found = Map::new();
        for id in coins.split(',') {
            let Some((coin, mut heading)) = self.heading(id) else { continue };
            for (time, usd) in self.points(coin, [time].into_iter()).unwrap_or_default() {
                heading["timestamp"] = json!(time);
                heading["price"] = usd;
                found.insert(id.to_owned(), heading.clone());
            }
        }
        json!({"coins": found})
    }
}

fn write(mut stream: &TcpStream, status: &str, headers: &str, text: &str) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        text.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(text.as_bytes()).ok()
}
