//! Laws that hold on any ledger: pages, cursors and segments change nothing; sums over rankings are sums over rows.

use std::collections::BTreeMap;

use headwater_engine::Reason;
use headwater_ledger::facts::TransactionFacts;
use headwater_ledger::read::Status;
use headwater_testkit::is_full;
use headwater_types::{Amount, TxHash};
use serde_json::{Value, json};

use crate::town;
use crate::town::{about, batch, between, data, engine, reason, send, token};

/// A town of six accounts and 240 transactions, from a fixed sequence of numbers.
fn crowd() -> Vec<TransactionFacts> {
    let mut state: u64 = 7;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut transactions = Vec::new();
    for number in 0..240_u64 {
        let mut account = || u8::try_from(1 + draw(6)).unwrap();
        let (from, to, second) = (account(), account(), account());
        let wei = if draw(5) == 0 { 0 } else { u128::from(draw(1_000_000)) * 1_000_000_000_000 };
        let block = 1 + number / 3;
        let index = u32::try_from(number % 3).unwrap();
        let mut transaction = send(0, block, index, from, to, wei);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&draw(u64::MAX >> 34).to_be_bytes());
        bytes[24..].copy_from_slice(&number.to_be_bytes());
        transaction.hash = TxHash::new(bytes);
        transaction.status =
            [Some(Status::Success), Some(Status::Failed), None][usize::try_from(draw(8).min(2)).unwrap()];
        if draw(2) == 0 {
            transaction.status = Some(Status::Success);
            let contract = if draw(4) == 0 { town::FAKE } else { town::USDT };
            transaction.movements = vec![
                token(0, contract, from, second, draw(5_000_000)),
                token(1, town::USDT, second, to, draw(9_000_000)),
            ];
        }
        transactions.push(transaction);
    }
    transactions
}

fn segmented(parts: usize) -> town::Town {
    segments_of(crowd(), parts)
}

fn segments_of(transactions: Vec<TransactionFacts>, parts: usize) -> town::Town {
    let mut batches: Vec<Vec<TransactionFacts>> = vec![Vec::new(); parts];
    // Neighbours go to different segments, so that every account and block is spread over them.
    for (number, transaction) in transactions.into_iter().enumerate() {
        batches[number % parts].push(transaction);
    }
    engine(batches.into_iter().map(batch).collect())
}

fn with(request: &Value, more: Value) -> Value {
    let mut request = request.clone();
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

fn rows(answer: &Value) -> Vec<Value> {
    answer["datas"].as_array().unwrap().clone()
}

fn lists() -> Vec<(&'static str, Value)> {
    let all = json!({"include_unverified": true, "include_zero_value": true, "include_failed": true});
    vec![
        ("transactions", about(1, json!({}))),
        ("transactions", about(1, all.clone())),
        ("transactions", about(2, json!({"order": "asc"}))),
        ("transactions", about(2, with(&all, json!({"sort": "amount_usd"})))),
        ("counterparty/transfer-between", between(1, 2, all.clone())),
        ("counterparty/transfer-between", between(3, 4, json!({"sort": "amount", "order": "asc"}))),
        ("counterparty/transfer-between", between(2, 2, json!({}))),
        ("counterparty", about(1, json!({}))),
        ("counterparty", about(2, with(&all, json!({"output_asset": "per_symbol", "sort": "total_count"})))),
        ("counterparty", about(3, json!({"symbols": ["usdt"], "order": "asc", "min_interactions": 2}))),
        ("counterparty", about(3, json!({"output_asset": "eth", "sort": "last_activity"}))),
    ]
}

#[test]
fn pages_of_any_size_and_the_cursor_give_the_same_rows() {
    // There are as many pages as rows, and each of them goes over all rows.
    let crowd = crowd().into_iter().take(if is_full() { usize::MAX } else { 80 });
    let engine = segments_of(crowd.collect(), 3);
    for (name, request) in lists() {
        let whole = rows(&data(&engine, name, &with(&request, json!({"limit": 1000}))));
        assert!(!whole.is_empty(), "{name} {request}");
        for limit in [1, 2, 7] {
            let mut by_page = Vec::new();
            for page in 1.. {
                let answer = data(&engine, name, &with(&request, json!({"limit": limit, "page": page})));
                by_page.extend(rows(&answer));
                assert_eq!(answer["pagination"]["page"], page);
                let pages = whole.len().div_ceil(limit);
                assert_eq!(answer["pagination"]["total_pages"], pages);
                assert_eq!(answer["pagination"]["has_more"], page < pages);
                if page >= pages {
                    break;
                }
            }
            assert_eq!(by_page, whole, "{name} {request} by pages of {limit}");

            let mut by_cursor = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let answer = data(&engine, name, &with(&request, json!({"limit": limit, "cursor": cursor})));
                by_cursor.extend(rows(&answer));
                cursor = answer["pagination"]["next_cursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(by_cursor, whole, "{name} {request} by cursor, {limit} at a time");
        }
    }
}

#[test]
fn a_cursor_serves_only_the_filters_it_was_made_for() {
    let engine = segmented(1);
    let request = about(1, json!({"limit": 2}));
    let cursor = data(&engine, "transactions", &request)["pagination"]["next_cursor"].clone();
    let other = with(&request, json!({"cursor": cursor, "direction": "in"}));
    assert_eq!(reason(&engine, "transactions", &other), (Reason::CursorExpired, Some("cursor".to_owned())));
    assert_eq!(reason(&engine, "counterparty", &with(&request, json!({"cursor": cursor}))).0, Reason::CursorExpired);
    // Another store has other generations.
    assert_eq!(
        reason(&segmented(17), "transactions", &with(&request, json!({"cursor": cursor}))).0,
        Reason::CursorExpired
    );
}

/// Everything but the cursors, which name a generation.
fn without_cursors(mut answer: Value) -> String {
    if let Some(pagination) = answer.get_mut("pagination") {
        pagination["next_cursor"] = Value::Null;
    }
    answer.to_string()
}

#[test]
fn segments_change_no_byte() {
    let desks = [segmented(1), segmented(3), segmented(17)];
    let mut calls = lists();
    for account in 1..=6 {
        calls.push(("wallet-overview", about(account, json!({}))));
        calls.push(("counterparty/overview", between(account, 1, json!({"include_unverified": true}))));
    }
    calls.extend(crowd().iter().take(40).map(|transaction| {
        let hash = transaction.hash.display(headwater_types::Family::Evm);
        ("transaction", json!({"hash": hash}))
    }));
    calls.push(("chains", json!({})));
    for (name, request) in calls {
        let [one, three, seventeen] = desks.each_ref().map(|engine| without_cursors(data(engine, name, &request)));
        assert_eq!(one, three, "{name} {request}");
        assert_eq!(one, seventeen, "{name} {request}");
    }
}

#[test]
fn the_sums_of_a_ranking_are_the_sums_of_its_rows() {
    let engine = segmented(3);
    let amount =
        |row: &Value, field: &str, decimals: u8| Amount::parse_decimal(row[field].as_str().unwrap(), decimals).unwrap();
    for account in 1..=6 {
        let mut sums: BTreeMap<(String, String), [Amount; 2]> = BTreeMap::new();
        for row in rows(&data(&engine, "transactions", &about(account, json!({"limit": 1000})))) {
            let side = match row["action"].as_str().unwrap() {
                "receive" => 0,
                "send" => 1,
                _ => continue,
            };
            let key = (row["counterparty"].as_str().unwrap().to_owned(), row["symbol"].as_str().unwrap().to_owned());
            let sum = &mut sums.entry(key).or_default()[side];
            *sum = sum.checked_add(Amount::parse_raw(row["amount_raw"].as_str().unwrap()).unwrap()).unwrap();
        }
        let request = about(account, json!({"limit": 1000, "output_asset": "per_symbol"}));
        let ranked: BTreeMap<_, _> = rows(&data(&engine, "counterparty", &request))
            .iter()
            .map(|row| {
                let symbol = row["symbol"].as_str().unwrap().to_owned();
                let decimals = if symbol == "eth" { 18 } else { 6 };
                let key = (row["address"].as_str().unwrap().to_owned(), symbol);
                (key, [amount(row, "received_amount", decimals), amount(row, "sent_amount", decimals)])
            })
            .collect();
        assert_eq!(ranked, sums);
    }
}

/// Edges know no times, so a window makes the answer come from the movements, even one that lets everything through.
#[test]
fn a_ranking_from_edges_is_that_of_the_movements() {
    let everything = json!({"start_time": 0, "limit": 1000});
    let desks = [segmented(1), segmented(17)];
    let mut requests = Vec::new();
    for account in 1..=7 {
        for scope in [
            json!({}),
            json!({"symbols": ["usdt"]}),
            json!({"symbols": ["eth"], "output_asset": "usd"}),
            json!({"contracts": [town::person(town::FAKE).to_string()]}),
            json!({"symbols": ["usdt", "eth"], "output_asset": "per_symbol"}),
        ] {
            for sort in
                ["total_amount", "sent_amount_usd", "total_count", "received_count", "total_transfers", "last_activity"]
            {
                for more in
                    [json!({}), json!({"order": "asc", "min_interactions": 3}), json!({"output_asset": "per_symbol"})]
                {
                    let sorted = about(account, json!({"sort": sort, "limit": 1000}));
                    requests.push(with(&with(&sorted, scope.clone()), more));
                }
            }
        }
    }
    // Seven is in no number of choices: all choices meet, those of each account others.
    for request in requests.iter().step_by(if is_full() { 1 } else { 7 }) {
        let of_movements = without_cursors(data(&desks[0], "counterparty", &with(request, everything.clone())));
        for engine in &desks {
            let of_edges = without_cursors(data(engine, "counterparty", request));
            assert_eq!(of_edges, of_movements, "{request}");
        }
    }
}

#[test]
fn paths_from_edges_are_those_of_the_movements() {
    let desks = [segmented(1), segmented(3), segmented(17)];
    let person = |account: u8| town::person(account).to_string();
    let mut found = 0;
    for (source, target) in (1..=7).flat_map(|source| (1..=7).map(move |target| (source, target))) {
        let lengths = if is_full() { 1..=4 } else { 1 + (source + target) % 4..=1 + (source + target) % 4 };
        for max_hops in lengths {
            if source == target {
                continue;
            }
            let request = json!({
                "blockchain": "ethereum", "source": person(source), "targets": [person(target)], "max_hops": max_hops, "k": 5,
            });
            let of_movements = data(&desks[0], "path", &with(&request, json!({"start_time": 0})));
            found += of_movements["paths"].as_array().unwrap().len();
            for engine in &desks {
                assert_eq!(data(engine, "path", &request), of_movements, "{request}");
            }
        }
    }
    assert!(found > 100, "{found} paths");
}
