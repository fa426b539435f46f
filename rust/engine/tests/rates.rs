//! Prices worked by hand: of the day, in other currencies, and those that cannot be meant.

use std::sync::Arc;

use headwater_engine::{QueryEngine, Reason};
use headwater_ledger::market::{FxPoint, PricePoint};
use headwater_ledger::store::MemoryStore;
use headwater_types::Timestamp;
use serde_json::{Value, json};

use crate::town::{Town, ask, data, reason};

const DAY: i64 = 86_400;
/// 2022-02-14 00:00:00 UTC, a Monday.
const MONDAY: i64 = 1_644_796_800;

fn price(symbol: &str, secs: i64, usd: f64) -> PricePoint {
    PricePoint { symbol: symbol.to_owned(), time: Timestamp::new(secs), usd }
}

/// The price of a day as an import stamps it: at its last second.
fn of_day(symbol: &str, day: i64, usd: f64) -> PricePoint {
    price(symbol, MONDAY + day * DAY + DAY - 1, usd)
}

/// Litecoin of 40 days before the Monday up to the day before it, 1 dollar more each day, 100 on the last; monero by the
/// hour on the Monday. Euros of the Friday before at 0.8 per dollar, yen of eight days before.
fn engine() -> Town {
    let mut store = MemoryStore::default();
    let days = (1..=40).map(|back: i32| of_day("LTC", -i64::from(back), 101.0 - f64::from(back))).collect();
    store.import_prices("days.csv", days).unwrap();
    let hours = (0..6).map(|hour| price("xmr", MONDAY + hour * 3_600 + 3_599, 40_000.0)).collect();
    store.import_prices("hours.csv", hours).unwrap();
    let rate = |currency: &str, day: i64, per_usd| FxPoint {
        currency: currency.to_owned(),
        time: Timestamp::new(MONDAY + day * DAY + DAY - 1),
        per_usd,
    };
    store.import_exchange_rates("fx.csv", vec![rate("eur", -3, 0.8), rate("JPY", -9, 115.0)]).unwrap();
    Town(vec![QueryEngine::new(Arc::new(store))])
}

fn of(points: Vec<PricePoint>) -> Town {
    let mut store = MemoryStore::default();
    store.import_prices("points.csv", points).unwrap();
    Town(vec![QueryEngine::new(Arc::new(store))])
}

#[test]
fn a_price_in_another_currency_is_converted_by_the_last_rate_before_it() {
    let request = json!({"symbols": "ltc,xmr", "at": MONDAY + 7_200, "quote": "eur"});
    let expected = json!({
        "at": MONDAY + 7_200,
        "quote": "EUR",
        "rates": [
            {"symbol": "ltc", "price_usd": 100.0, "ts": MONDAY - 1, "source": "import", "price": 80.0},
            {"symbol": "xmr", "price_usd": 40_000.0, "ts": MONDAY + 7_199, "source": "import", "price": 32_000.0},
        ],
        "missing": [],
    });
    assert_eq!(data(&engine(), "rates", &request), expected);
    let dollars = data(&engine(), "rates", &json!({"symbols": "ltc", "at": MONDAY, "quote": "usd"}));
    assert_eq!(dollars["quote"], "USD");
    assert_eq!(dollars["rates"], json!([{"symbol": "ltc", "price_usd": 100.0, "ts": MONDAY - 1, "source": "import"}]));
}

#[test]
fn a_currency_without_a_rate_of_the_last_week_gives_no_price_and_an_unknown_one_is_refused() {
    // The yen of the Saturday before the last counts through the Saturday after it.
    let in_yen = |at: i64| data(&engine(), "rates", &json!({"symbols": "ltc", "at": at, "quote": "JPY"}));
    assert_eq!(in_yen(MONDAY - DAY - 1)["rates"][0]["price"], 99.0 * 115.0);
    let answer = ask(&engine(), "rates", &json!({"symbols": "ltc", "at": MONDAY, "quote": "JPY"})).unwrap();
    assert_eq!((&answer.value()["rates"], &answer.value()["missing"]), (&json!([]), &json!(["ltc"])));
    assert_eq!(answer.warnings[0].code, "no_exchange_rate");

    let error = ask(&engine(), "rates", &json!({"symbols": "ltc", "quote": "CHF"})).unwrap_err();
    assert!(error.message.contains("available are USD, EUR, JPY"), "{}", error.message);
    assert_eq!(reason(&engine(), "rates", &json!({"symbols": "ltc", "quote": "CHF"})).0, Reason::InvalidValue);
}

#[test]
fn symbols_with_prices_are_listed_with_where_these_come_from() {
    let listed = data(&engine(), "rates/symbols", &json!({}));
    // The pegged stablecoins and the coins of the chains have a price without an import.
    let symbols = [
        "bnb", "btc", "dai", "eth", "fdusd", "gusd", "ltc", "pyusd", "rlusd", "trx", "usd1", "usdc", "usdg", "usdp",
        "usds", "usdt", "xmr",
    ];
    assert_eq!(listed, json!({"symbols": symbols, "fiat": ["USD", "EUR", "JPY"]}));
    let coverage = data(&engine(), "rates/symbols", &json!({"detail": "true"}))["coverage"].clone();
    let of = |name: &str| -> Vec<&Value> {
        coverage.as_array().unwrap().iter().filter(|source| source["source"] == name).collect()
    };
    assert_eq!(of("peg").len(), 11);
    let dai = json!({"symbol": "dai", "first_ts": null, "last_ts": null, "source": "peg", "points": 0});
    assert_eq!(*of("peg")[0], dai);
    let core = of("core").into_iter().map(|source| (source["symbol"].as_str().unwrap(), source["points"].clone()));
    let expected = [("bnb", 3_353), ("btc", 5_918), ("eth", 4_071), ("trx", 3_303)];
    assert_eq!(core.collect::<Vec<_>>(), expected.map(|(symbol, points)| (symbol, json!(points))));
    let mut imported = of("days.csv");
    imported.extend(of("hours.csv"));
    let expected = json!([
        {"symbol": "ltc", "first_ts": MONDAY - 39 * DAY - 1, "last_ts": MONDAY - 1, "source": "days.csv", "points": 40},
        {
            "symbol": "xmr", "first_ts": MONDAY + 3_599, "last_ts": MONDAY + 6 * 3_600 - 1, "source": "hours.csv",
            "points": 6,
        },
    ]);
    assert_eq!(json!(imported), expected);
}

fn points(answer: &Value) -> Vec<(i64, f64)> {
    let points = answer["points"].as_array().unwrap().iter();
    points.map(|point| (point["ts"].as_i64().unwrap(), point["price_usd"].as_f64().unwrap())).collect()
}

#[test]
fn a_history_has_a_point_at_each_midnight_and_ends_with_the_newest_price() {
    let history = data(&engine(), "rates/history", &json!({"symbol": "LTC"}));
    assert_eq!((&history["symbol"], &history["granularity"]), (&json!("ltc"), &json!("1d")));
    let points = points(&history);
    assert_eq!(points.len(), 30);
    assert_eq!((points[0], points[29]), ((MONDAY - 29 * DAY, 71.0), (MONDAY, 100.0)));
    // The last hour of the Monday that is known belongs to the Tuesday's midnight.
    let hours = data(&engine(), "rates/history", &json!({"symbol": "xmr"}));
    assert_eq!(self::points(&hours), [(MONDAY + DAY, 40_000.0)]);
}

#[test]
fn a_history_keeps_to_its_range_and_leaves_out_days_without_a_price() {
    let ask = |start: i64, end: i64| {
        points(&data(&engine(), "rates/history", &json!({"symbol": "ltc", "start": start, "end": end})))
    };
    assert_eq!(ask(MONDAY - DAY, MONDAY), [(MONDAY - DAY, 99.0), (MONDAY, 100.0)]);
    assert_eq!(ask(MONDAY - DAY + 1, MONDAY - 1), []);
    // The Tuesday's midnight is more than a day after the newest price.
    assert_eq!(ask(MONDAY, MONDAY + 5 * DAY), [(MONDAY, 100.0)]);
    assert_eq!(ask(MONDAY - 60 * DAY, MONDAY - 38 * DAY), [(MONDAY - 39 * DAY, 61.0), (MONDAY - 38 * DAY, 62.0)]);
    let to_the_end = data(&engine(), "rates/history", &json!({"symbol": "ltc", "start": MONDAY - 35 * DAY}));
    assert_eq!(points(&to_the_end).len(), 36);
    let up_to = data(&engine(), "rates/history", &json!({"symbol": "ltc", "end": MONDAY - DAY}));
    assert_eq!(points(&up_to)[..1], [(MONDAY - 30 * DAY, 70.0)]);
}

#[test]
fn a_history_that_cannot_be_told_names_the_reason() {
    let refused = |request: Value| reason(&engine(), "rates/history", &request);
    let of = |field: &str| Some(field.to_owned());
    assert_eq!(refused(json!({"symbol": "nope"})), (Reason::UnknownSymbol, of("symbol")));
    assert_eq!(refused(json!({})), (Reason::MissingField, of("symbol")));
    assert_eq!(refused(json!({"symbol": "ltc", "start": 5, "end": 4})), (Reason::TimeRange, of("start")));
    assert_eq!(refused(json!({"symbol": "ltc", "end": MONDAY * 1_000})), (Reason::Milliseconds, of("end")));
    assert_eq!(refused(json!({"symbol": "ltc", "start": 0})), (Reason::TimeRange, of("start")));
    // 3,660 midnights are told, one more is not.
    let range = |days: i64| json!({"symbol": "ltc", "start": MONDAY - (days - 1) * DAY, "end": MONDAY});
    assert_eq!(points(&data(&engine(), "rates/history", &range(3_660))).len(), 40);
    let error = ask(&engine(), "rates/history", &range(3_661)).unwrap_err();
    assert_eq!(error.limit, Some(3_660));
    assert_eq!(refused(range(3_661)), (Reason::TimeRange, of("start")));
}

#[test]
fn a_spike_and_a_zero_are_missing_from_the_price_of_their_day_and_said() {
    let mut days: Vec<_> = (0..8).map(|day| of_day("ltc", day, 100.0)).collect();
    days[3].usd = 100_000.0;
    days[7].usd = 0.0;
    let town = of(days);
    let noon = |day: i64| ask(&town, "rates", &json!({"symbols": "ltc", "at": MONDAY + day * DAY + DAY / 2})).unwrap();
    assert_eq!(noon(3).value()["rates"][0]["price_usd"], 100.0, "the price of the day before the spike");
    let after = noon(4);
    assert_eq!(after.value()["missing"], json!(["ltc"]));
    assert_eq!(after.warnings[0].code, "implausible_price");
    assert!(after.warnings[0].message.contains("100000 US dollars at 2022-02-17T23:59:59Z"), "{:?}", after.warnings);
    assert_eq!(noon(5).value()["missing"], json!([]));
    assert!(noon(5).warnings.is_empty());
    assert_eq!(noon(8).value()["missing"], json!(["ltc"]));
    // Omitting the time gives the newest price that can be meant.
    let latest = ask(&town, "rates", &json!({"symbols": "ltc"})).unwrap();
    assert_eq!(latest.value()["rates"][0]["ts"], MONDAY + 7 * DAY - 1);
    assert_eq!(latest.warnings.len(), 1);

    let history = data(&town, "rates/history", &json!({"symbol": "ltc"}));
    let days: Vec<i64> = points(&history).iter().map(|(ts, _)| (ts - MONDAY) / DAY).collect();
    assert_eq!(days, [1, 2, 3, 5, 6, 7], "the day after the spike has no price");
}

#[test]
fn pegged_symbol_is_one_dollar_until_a_price_is_imported() {
    let rate = |town: &Town, request: Value| data(town, "rates", &request)["rates"].clone();
    let at = json!({"symbols": "usdt,USDC", "at": 5});
    let peg = |symbol: &str, ts: i64| json!({"symbol": symbol, "price_usd": 1.0, "ts": ts, "source": "peg"});
    assert_eq!(rate(&engine(), at.clone()), json!([peg("usdt", 5), peg("usdc", 5)]));
    // Without a time it is that of the newest data held, here the last price of monero.
    let newest = MONDAY + 6 * 3_600 - 1;
    assert_eq!(rate(&engine(), json!({"symbols": "usdt"})), json!([peg("usdt", newest)]));
    let in_euros = rate(&engine(), json!({"symbols": "usdt", "at": MONDAY, "quote": "EUR"}));
    assert_eq!(in_euros[0]["price"], 0.8);
    // A store without anything has no time to answer for.
    assert_eq!(data(&of(vec![]), "rates", &json!({"symbols": "usdt"}))["missing"], json!(["usdt"]));
    assert_eq!(rate(&of(vec![]), json!({"symbols": "usdt", "at": 5})), json!([peg("usdt", 5)]));
    // Other dollar tokens have a price only where one is imported.
    assert_eq!(data(&engine(), "rates", &json!({"symbols": "busd,tusd,usdd", "at": 5}))["rates"], json!([]));

    let town = of(vec![of_day("usdt", 0, 0.99)]);
    let imported = json!({"symbol": "usdt", "price_usd": 0.99, "ts": MONDAY + DAY - 1, "source": "import"});
    assert_eq!(rate(&town, json!({"symbols": "usdt", "at": MONDAY + DAY})), json!([imported]));
    assert_eq!(data(&town, "rates", &at)["missing"], json!(["usdt"]), "before the first price it is unknown");
    assert_eq!(data(&town, "rates", &at)["rates"], json!([peg("usdc", 5)]));
}

#[test]
fn history_of_a_pegged_symbol_is_one_dollar_every_day() {
    let history = data(&engine(), "rates/history", &json!({"symbol": "USDT"}));
    assert_eq!((&history["symbol"], &history["source"]), (&json!("usdt"), &json!("peg")));
    let points = points(&history);
    // Up to the midnight after the newest data, the Monday's monero.
    assert_eq!((points.len(), points[0], points[29]), (30, (MONDAY - 28 * DAY, 1.0), (MONDAY + DAY, 1.0)));
    let range = json!({"symbol": "usdt", "start": MONDAY, "end": MONDAY + DAY});
    assert_eq!(self::points(&data(&engine(), "rates/history", &range)), [(MONDAY, 1.0), (MONDAY + DAY, 1.0)]);
    assert_eq!(data(&engine(), "rates/history", &json!({"symbol": "ltc"}))["source"], "import");

    let town = of(vec![of_day("usdt", 0, 0.99)]);
    let history = data(&town, "rates/history", &json!({"symbol": "usdt"}));
    assert_eq!(self::points(&history), [(MONDAY + DAY, 0.99)], "days without a price are absent");
    let nothing = reason(&of(vec![]), "rates/history", &json!({"symbol": "usdt"}));
    assert_eq!(nothing, (Reason::UnknownSymbol, Some("symbol".to_owned())));
}
