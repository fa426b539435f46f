//! Balance histories worked by hand.

use headwater_engine::Reason;
use headwater_ledger::facts::TransactionFacts;
use headwater_types::Timestamp;
use serde_json::{Value, json};

use crate::town;
use crate::town::{ALICE, BOB, ETHER, FAKE, USDT, about, batch, bitcoin, data, engine, over, reason, send, token};

const DAY: i64 = 86_400;

/// A transaction of wei on a day of 1970, from 0, some seconds after its midnight.
fn on(number: u8, day: i64, secs: i64, from: u8, to: u8, wei: u128) -> TransactionFacts {
    let mut transaction = send(number, u64::from(number), 0, from, to, wei);
    transaction.time = Some(Timestamp::new(day * DAY + secs));
    transaction
}

/// Alice gets 10 ether at noon of day 1, pays 4 to Bob with a fee of 0.1 at 23:30 of day 3, fails to pay with a fee of
/// 0.2 on day 4, and gives the rest of 5.7 away at noon of day 5. Bob mints 7 USDT on day 3.
fn ledger() -> Vec<TransactionFacts> {
    let fee = |transaction: TransactionFacts, tenths: u128| TransactionFacts {
        fee: Some(headwater_types::Amount::from_u128(tenths * ETHER / 10)),
        ..transaction
    };
    let first = on(1, 1, DAY / 2, 0x77, ALICE, 10 * ETHER);
    let mut second = fee(on(2, 3, DAY - 1800, ALICE, BOB, 4 * ETHER), 1);
    second.movements = vec![token(0, USDT, 0, BOB, 7_000_000)];
    let mut third = fee(on(3, 4, 60, ALICE, BOB, ETHER), 2);
    third.status = Some(headwater_ledger::read::Status::Failed);
    let fourth = on(4, 5, DAY / 2, ALICE, 0x77, 57 * ETHER / 10);
    vec![first, second, third, fourth]
}

fn town() -> town::Town {
    let mut batch = batch(ledger());
    batch.blocks.clear();
    let price = |day: i64, usd| headwater_ledger::market::PricePoint {
        symbol: "eth".to_owned(),
        time: Timestamp::new(day * DAY + DAY - 1),
        usd,
    };
    let prices = vec![price(0, 2.0), price(1, 3.0), price(2, 4.0), price(3, 5.0), price(4, 6.0), price(5, 7.0)];
    over(vec![batch], vec![town::listing(USDT, "USDT")], prices)
}

fn series<'a>(history: &'a Value, field: &str) -> Vec<&'a Value> {
    history["data_points"].as_array().unwrap().iter().map(|point| &point[field]).collect()
}

fn balances(history: &Value) -> Vec<Option<&str>> {
    let points = history["data_points"].as_array().unwrap();
    points.iter().map(|point| point["balances"][0]["balance"].as_str()).collect()
}

#[test]
fn every_day_is_there_and_carries_on_what_was_held() {
    let request = about(ALICE, json!({"start_time": 0, "end_time": 6 * DAY + 5}));
    let history = data(&town(), "balance-history", &request);
    let days = ["1970-01-01", "1970-01-02", "1970-01-03", "1970-01-04", "1970-01-05", "1970-01-06", "1970-01-07"];
    assert_eq!(series(&history, "date"), days);
    assert_eq!(balances(&history), [None, Some("10"), Some("10"), Some("5.9"), Some("5.7"), Some("0"), None]);
    assert_eq!(series(&history, "timestamp")[6], 6 * DAY + 5);
    assert_eq!(series(&history, "timestamp")[1], 2 * DAY - 1);
    // At the price of the day's end; what moved, at the price of its time.
    assert_eq!(series(&history, "total_usd")[1..4], [30.0, 40.0, 29.5]);
    assert_eq!(series(&history, "received_usd"), [0.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(series(&history, "sent_usd"), [0.0, 0.0, 0.0, 16.0, 0.0, 34.2, 0.0]);
    assert_eq!(series(&history, "tx_count"), [0, 1, 0, 1, 0, 1, 0]);
    let end = json!({"timestamp": 6 * DAY + 5, "block_number": 4, "total_usd": 0.0, "balances": []});
    assert_eq!(history["final_balance"], end);
    assert_eq!((&history["basis"], &history["warnings"]), (&json!({"native": "transfers"}), &json!([])));
}

#[test]
fn days_begin_where_the_caller_says() {
    let at = |more: Value| {
        let mut request = about(ALICE, json!({"start_time": 3 * DAY, "end_time": 4 * DAY + 10}));
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let history = data(&town(), "balance-history", &request);
        let days: Vec<String> =
            series(&history, "date").iter().map(|day| day.as_str().unwrap()[5..].to_owned()).collect();
        let held: Vec<String> = balances(&history).iter().map(|held| held.unwrap_or("-").to_owned()).collect();
        (days, held, history["timezone"].as_i64().unwrap())
    };
    let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(at(json!({})), (owned(&["01-04", "01-05"]), owned(&["5.9", "5.9"]), 0));
    // One hour further east the payment of 23:30 falls on the next day.
    assert_eq!(at(json!({"timezone": 1})), (owned(&["01-04", "01-05"]), owned(&["10", "5.9"]), 1));
    let india = at(json!({"tz": "Asia/Kolkata", "timezone": 9}));
    assert_eq!(india, (owned(&["01-04", "01-05"]), owned(&["10", "5.9"]), 5));
    assert_eq!(at(json!({"timezone": -12})), (owned(&["01-03", "01-04"]), owned(&["10", "5.9"]), -12));
}

#[test]
fn the_last_30_days_are_given_where_none_are_asked_for() {
    let history = data(&town(), "balance-history", &about(ALICE, json!({})));
    let points = history["data_points"].as_array().unwrap();
    assert_eq!((points.len(), &points[29]["date"]), (30, &json!("1970-01-06")));
    assert_eq!(history["final_balance"]["timestamp"], 5 * DAY + DAY / 2);
    assert_eq!(points[29]["balances"][0]["balance"], "0");
}

#[test]
fn the_end_of_a_history_may_lie_in_the_past() {
    let history = data(&town(), "balance-history", &about(ALICE, json!({"start_time": 2 * DAY, "end_time": 3 * DAY})));
    assert_eq!(balances(&history), [Some("10"), Some("10")]);
    assert_eq!(history["final_balance"]["block_number"], Value::Null);
}

#[test]
fn more_out_than_in_is_shown_as_nothing_and_said() {
    // 0x77 paid ten ether that nobody saw it receive, and got 5.7 back.
    let history = data(&town(), "balance-history", &about(0x77, json!({"start_time": DAY, "end_time": 5 * DAY})));
    assert_eq!(history["warnings"], json!(["history_incomplete:native"]));
    assert_eq!(balances(&history), [None, None, None, None, None]);
}

#[test]
fn tokens_are_shown_as_asked_and_converted_at_the_price_of_the_day() {
    let all = json!({"start_time": 3 * DAY, "end_time": 3 * DAY + DAY - 1, "output_asset": "eth"});
    let history = data(&town(), "balance-history", &about(BOB, all));
    let point = &history["data_points"][0];
    let shown: Vec<_> =
        point["balances"].as_array().unwrap().iter().map(|item| (&item["symbol"], &item["amount_out"])).collect();
    assert_eq!(shown, [(&json!("eth"), &json!("4")), (&json!("usdt"), &Value::Null)], "usdt has no price here");
    assert_eq!((&point["total_usd"], &point["total_out"]), (&json!(20.0), &json!(4.0)));
    let only = json!({"symbols": ["usdt"], "start_time": 3 * DAY, "end_time": 3 * DAY + DAY - 1});
    let only = data(&town(), "balance-history", &about(BOB, only));
    assert_eq!(only["data_points"][0]["balances"][0]["balance_raw"], "7000000");
    assert_eq!((&only["data_points"][0]["total_usd"], &only["amount_unit"]), (&Value::Null, &json!("usdt")));
}

#[test]
fn unverified_tokens_are_left_out_unless_asked_for() {
    let town = town::town();
    let count = |more| {
        data(&town, "balance-history", &about(ALICE, more))["final_balance"]["balances"].as_array().unwrap().len()
    };
    assert_eq!((count(json!({})), count(json!({"include_unverified": true}))), (1, 2));
    assert_eq!(count(json!({"contracts": [town::person(FAKE).to_string()]})), 1);
}

#[test]
fn bitcoin_balances_come_from_net_changes() {
    let history = data(&bitcoin(), "balance-history", &json!({"blockchain": "bitcoin", "address": town::PAID[0]}));
    assert_eq!(history["final_balance"]["balances"][0]["balance_raw"], "1325000");
    let spent = data(&bitcoin(), "balance-history", &json!({"blockchain": "bitcoin", "address": town::PAYERS[0]}));
    assert_eq!(spent["final_balance"]["balances"], json!([]), "it came and went on one day");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let town = town();
    let refused = |more| reason(&town, "balance-history", &about(ALICE, more));
    assert_eq!(refused(json!({"timezone": 15})), (Reason::InvalidValue, Some("timezone".into())));
    assert_eq!(refused(json!({"tz": "Mars/Olympus"})), (Reason::InvalidValue, Some("tz".into())));
    assert_eq!(refused(json!({"unit": "hourly"})).0, Reason::InvalidValue);
    let long = json!({"start_time": 0, "end_time": 3660 * DAY});
    assert_eq!(refused(long), (Reason::TimeRange, Some("start_time".into())));
    assert_eq!(refused(json!({"start_time": 5, "end_time": 4})).0, Reason::TimeRange);
    assert_eq!(refused(json!({"end_time": 1_700_000_000_000_i64})).0, Reason::Milliseconds);
}

#[test]
fn an_address_without_history_held_nothing() {
    let history = data(&engine(vec![batch(town::transactions())]), "balance-history", &about(0x55, json!({})));
    assert_eq!(history["data_points"].as_array().unwrap().len(), 30);
    assert!(history["final_balance"]["balances"].as_array().unwrap().is_empty());
    assert_eq!(history["final_balance"]["total_usd"], 0.0);
}
