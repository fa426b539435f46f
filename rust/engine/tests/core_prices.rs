//! Core prices: US dollars without an import, their edges, and the warning behind their end.

use headwater_ledger::facts::{Batch, BlockFacts, TransactionFacts};
use headwater_ledger::market::PricePoint;
use headwater_types::{Chain, Timestamp};
use serde_json::{Value, json};

use crate::town::{ALICE, BOB, CAROL, ETHER, Town, about, ask, between, data, over, person, send};

/// The closes of ether on 2020-01-01 and 2026-09-28, as the table of the core has them.
const NEW_YEAR: f64 = 130.802_001_953_125;
const LAST: f64 = 2_666.204_682_31;

fn secs(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().secs()
}

/// One ether from Alice to Bob at each of these times, and at the last one another one from Alice to Carol.
fn payments(times: &[&str]) -> Batch {
    let mut batch = Batch::new(Chain::ETHEREUM);
    for (number, time) in (1_u8..).zip(times) {
        let (block, time) = (u64::from(number), Timestamp::new(secs(time)));
        let of =
            |number, index, to| TransactionFacts { time: Some(time), ..send(number, block, index, ALICE, to, ETHER) };
        batch.transactions.push(of(number, 0, BOB));
        if usize::from(number) == times.len() {
            batch.transactions.push(of(100, 1, CAROL));
        }
        batch.blocks.push(BlockFacts { number: block, hash: None, parent: None, time });
    }
    batch
}

fn town(times: &[&str], prices: Vec<PricePoint>) -> Town {
    over(vec![payments(times)], vec![], prices)
}

/// US dollars of the payments to Bob, oldest first.
fn dollars(town: &Town) -> Vec<Value> {
    let rows = data(town, "counterparty/transfer-between", &between(ALICE, BOB, json!({"order": "asc"})));
    rows["datas"].as_array().unwrap().iter().map(|row| row["amount_usd"].clone()).collect()
}

/// The messages of the warning about the end of the core prices.
fn warned(town: &Town, name: &str, request: &Value) -> Vec<String> {
    let warnings = ask(town, name, request).unwrap_or_else(|error| panic!("{name}: {error:?}")).warnings;
    let end = warnings.into_iter().filter(|warning| warning.code == "core_prices_end");
    end.map(|warning| warning.message).collect()
}

#[test]
fn core_prices_value_from_first_close_to_a_day_after_the_last() {
    let town = town(
        &[
            "2015-08-07T23:59:58Z",
            "2020-01-01T23:59:58Z",
            "2020-01-01T23:59:59Z",
            "2020-01-02T23:59:58Z",
            "2026-09-28T23:59:59Z",
            "2026-09-29T23:59:59Z",
            "2026-09-30T00:00:00Z",
        ],
        vec![],
    );
    // The close of the day before, 2019-12-31.
    let eve = json!(129.610_855_102_539_06);
    let [year, last, none] = [json!(NEW_YEAR), json!(LAST), Value::Null];
    assert_eq!(dollars(&town), [none.clone(), eve, year.clone(), year, last.clone(), last, none]);
}

#[test]
fn core_prices_give_way_between_imported_ones() {
    let point = |text: &str, usd| PricePoint { symbol: "eth".into(), time: Timestamp::new(secs(text)), usd };
    let times = ["2020-01-02T12:00:00Z", "2020-01-03T12:00:00Z", "2020-01-06T12:00:00Z", "2020-01-09T12:00:00Z"];
    let imported = vec![point("2020-01-03T00:00:00Z", 5.0), point("2020-01-08T00:00:00Z", 6.0)];
    let town = town(&times, imported);
    // The close of 2020-01-08.
    assert_eq!(dollars(&town), [json!(NEW_YEAR), json!(5.0), Value::Null, json!(141.258_132_934_570_3)]);
    let symbols = data(&town, "rates/symbols", &json!({"detail": true}))["coverage"].clone();
    let of_ether: Vec<&Value> = symbols.as_array().unwrap().iter().filter(|row| row["symbol"] == "eth").collect();
    // Five closes, of 2020-01-03 to 2020-01-07, are left out.
    let core = json!({
        "symbol": "eth", "first_ts": secs("2015-08-07T23:59:59Z"), "last_ts": secs("2026-09-28T23:59:59Z"),
        "source": "core", "points": 4_066,
    });
    let import = json!({
        "symbol": "eth", "first_ts": secs("2020-01-03T00:00:00Z"), "last_ts": secs("2020-01-08T00:00:00Z"),
        "source": "memory", "points": 2,
    });
    assert_eq!(of_ether, [&core, &import]);
    assert!(warned(&town, "transactions", &about(ALICE, json!({}))).is_empty());
}

#[test]
fn core_prices_end_warns_of_later_movements() {
    let late = town(&["2020-01-01T12:00:00Z", "2026-10-02T12:00:00Z"], vec![]);
    let message = "the core prices of eth end at 2026-09-28T23:59:59Z: US dollars more than a day later are unknown; \
                   `headwater prices import FILE` adds prices";
    let hash = format!("0x{}", "02".repeat(32));
    let address = person(ALICE).to_string();
    for (name, request) in [
        ("transactions", about(ALICE, json!({}))),
        ("counterparty", about(ALICE, json!({}))),
        ("counterparty", about(ALICE, json!({"symbols": ["eth"]}))),
        ("counterparty/list", json!({"blockchain": "ethereum", "address": address})),
        ("counterparty/overview", between(ALICE, BOB, json!({}))),
        ("counterparty/transfer-between", between(ALICE, BOB, json!({}))),
        ("wallet-overview", about(ALICE, json!({}))),
        ("balance-history", about(ALICE, json!({"start_time": secs("2026-10-01T00:00:00Z")}))),
        ("transaction", json!({"hash": hash, "blockchain": "ethereum"})),
        ("trace", about(ALICE, json!({}))),
        ("path", json!({"blockchain": "ethereum", "source": address, "targets": [person(CAROL).to_string()]})),
        ("exposure", about(ALICE, json!({}))),
        ("address-risk", about(ALICE, json!({}))),
        ("rates", json!({"symbols": "eth", "at": secs("2026-10-02T00:00:00Z")})),
        (
            "rates/history",
            json!({"symbol": "eth", "start": secs("2026-09-28T00:00:00Z"), "end": secs("2026-10-02T00:00:00Z")}),
        ),
    ] {
        assert_eq!(warned(&late, name, &request), [message], "{name}");
    }
    // Carol has the late payment, and no other; Bob's is not asked for.
    assert_eq!(warned(&late, "transactions", &about(CAROL, json!({}))).len(), 1);
    let early = json!({"end_time": secs("2020-01-02T00:00:00Z")});
    for (name, window) in
        [("transactions", early.clone()), ("counterparty", early.clone()), ("trace", json!({"track_setting": early}))]
    {
        assert!(warned(&late, name, &about(ALICE, window)).is_empty(), "{name}");
    }
    assert!(warned(&late, "rates", &json!({"symbols": "btc,usdt", "at": secs("2026-09-29T00:00:00Z")})).is_empty());
}

#[test]
fn core_prices_end_is_silent_about_priced_movements() {
    let price = PricePoint { symbol: "eth".into(), time: Timestamp::new(secs("2026-10-02T00:00:00Z")), usd: 7.0 };
    let priced = town(&["2020-01-01T12:00:00Z", "2026-10-02T12:00:00Z"], vec![price]);
    assert_eq!(dollars(&priced)[1], json!(7.0));
    let before = town(&["2015-07-30T16:00:00Z", "2015-08-01T00:00:00Z"], vec![]);
    assert_eq!(dollars(&before), [Value::Null, Value::Null]);
    for name in ["transactions", "counterparty", "wallet-overview", "trace", "exposure", "address-risk"] {
        assert!(warned(&priced, name, &about(ALICE, json!({}))).is_empty(), "{name}");
        assert!(warned(&before, name, &about(ALICE, json!({}))).is_empty(), "{name}");
    }
}

#[test]
fn rates_name_the_core_as_the_source_of_its_prices() {
    let point = |text: &str, usd| PricePoint { symbol: "eth".into(), time: Timestamp::new(secs(text)), usd };
    let town = town(&["2020-01-01T12:00:00Z"], vec![point("2020-01-05T23:59:59Z", 5.0)]);
    let rate = |request: Value| data(&town, "rates", &request)["rates"].clone();
    let core = json!([{"symbol": "eth", "price_usd": NEW_YEAR, "ts": secs("2020-01-01T23:59:59Z"), "source": "core"}]);
    assert_eq!(rate(json!({"symbols": "ETH", "at": secs("2020-01-02T00:00:00Z")})), core);
    assert_eq!(rate(json!({"symbols": "eth", "at": secs("2020-01-06T12:00:00Z")}))[0]["source"], "import");
    assert_eq!(rate(json!({"symbols": "eth"}))[0]["ts"], secs("2026-09-28T23:59:59Z"));
    let source = |start: &str, end: &str| {
        data(&town, "rates/history", &json!({"symbol": "eth", "start": secs(start), "end": secs(end)}))["source"]
            .clone()
    };
    assert_eq!(source("2020-01-02T00:00:00Z", "2020-01-05T00:00:00Z"), "core");
    assert_eq!(source("2020-01-02T00:00:00Z", "2020-01-06T00:00:00Z"), "import");
    let whole = data(&town, "rates/history", &json!({"symbol": "trx"}));
    assert_eq!((whole["source"].clone(), whole["points"].as_array().unwrap().len()), (json!("core"), 30));
}
