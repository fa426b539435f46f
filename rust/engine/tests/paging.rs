//! Pages under a writer: whatever is committed between two of them, a cursor gives every row once.

use std::sync::Arc;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::store::{Store, Writer};
use headwater_testkit::is_full;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::town::{FAKE, USDT, batch, listing, person, price, send, token};

/// A movement of somebody among six to somebody: kind, from, to, amount.
type Deed = (u8, u8, u8, u64);

fn deeds(least: usize) -> impl Strategy<Value = Vec<Deed>> {
    prop::collection::vec((0..4_u8, 1..7_u8, 1..7_u8, 0..4_u64), least..56)
}

/// Transactions of deeds, numbered and in blocks of three from a number on. Numbers are bytes: 55 deeds from 200 on are
/// as many as there may be.
fn facts(deeds: &[Deed], from: u8) -> Batch {
    let transactions = deeds.iter().zip(from..).map(|(&(kind, sender, receiver, amount), number)| {
        let block = u64::from(number / 3) + 1;
        let index = u32::from(number % 3);
        let mut transaction =
            send(number, block, index, sender, receiver, if kind == 0 { u128::from(amount) } else { 0 });
        let contract = if kind == 3 { FAKE } else { USDT };
        if kind > 0 {
            transaction.movements = vec![token(0, contract, sender, receiver, amount)];
            transaction.movements.push(token(1, USDT, receiver, sender, amount / 2));
        }
        transaction
    });
    batch(transactions.collect())
}

fn ask(engine: &QueryEngine, name: &str, request: &Value) -> Value {
    engine.answer(endpoint(name).unwrap(), request, &Cancel::new()).unwrap().value()
}

/// A list and its filters.
fn question() -> impl Strategy<Value = (&'static str, Value)> {
    let ranking = prop::sample::select(vec![
        "total_amount",
        "received_amount",
        "sent_amount",
        "total_amount_usd",
        "received_amount_usd",
        "sent_amount_usd",
        "total_count",
        "received_count",
        "sent_count",
        "total_transfers",
        "first_activity",
        "last_activity",
    ]);
    let direction = prop::sample::select(vec!["all", "in", "out"]);
    let order = prop::sample::select(vec!["asc", "desc"]);
    let name = prop::sample::select(vec![
        "transactions",
        "counterparty/transfer-between",
        "counterparty",
        "counterparty/list",
    ]);
    let rows = prop::sample::select(vec!["timestamp", "amount_usd"]);
    (name, ranking, rows, direction, order, any::<[bool; 3]>(), 0..3_u8).prop_map(
        |(name, ranking, rows, direction, order, [everything, usdt, split], least)| {
            let mut request = json!({"blockchain": "ethereum", "direction": direction, "order": order});
            let who = person(1).to_string();
            match name {
                "counterparty/transfer-between" => {
                    request["target"] = json!(who);
                    request["counterparty"] = json!(person(2).to_string());
                    request["sort"] = json!(rows);
                }
                "transactions" => {
                    request["address"] = json!(who);
                    request["sort"] = json!(rows);
                }
                _ => {
                    request["address"] = json!(who);
                    request["sort"] = json!(ranking);
                    request["min_interactions"] = json!(least);
                }
            }
            if name != "counterparty/list" {
                if everything {
                    request["include_unverified"] = json!(true);
                    request["include_zero_value"] = json!(true);
                }
                if usdt {
                    request["symbols"] = json!(["usdt"]);
                }
                if split && name == "counterparty" {
                    request["output_asset"] = json!("per_symbol");
                }
            }
            (name, request)
        },
    )
}

fn next(name: &str, answer: &Value) -> Value {
    if name == "counterparty/list" {
        answer["next_cursor"].clone()
    } else {
        answer["pagination"]["next_cursor"].clone()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 48 } else { 32 }))]

    #[test]
    fn pages_lose_and_double_nothing_while_a_writer_commits(
        first in deeds(20),
        later in prop::collection::vec(deeds(1), 1..4),
        (name, request) in question(),
        limit in 1..7_u32,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(folder.path()).unwrap();
        writer.import_tokens("registry", vec![listing(USDT, "USDT")]).unwrap();
        writer.import_prices("prices", vec![price("eth", 2.0), price("usdt", 1.0)]).unwrap();
        writer.commit(facts(&first, 1), &Cancel::new()).unwrap();
        let engine = QueryEngine::new(Arc::new(Store::open(folder.path()).unwrap()));
        let mut whole = request.clone();
        whole["limit"] = json!(1000);
        let whole = ask(&engine, name, &whole);
        let expected = whole["datas"].as_array().unwrap();

        let mut pending = later.iter().zip([80_u8, 140, 200]);
        let (mut rows, mut cursor) = (Vec::new(), Value::Null);
        loop {
            let mut page = request.clone();
            page["limit"] = json!(limit);
            page["cursor"] = cursor;
            let answer = ask(&engine, name, &page);
            prop_assert_eq!(&answer["as_of_block"], &whole["as_of_block"]);
            rows.extend(answer["datas"].as_array().unwrap().iter().cloned());
            // The writer goes on between any two pages.
            if let Some((deeds, from)) = pending.next() {
                writer.commit(facts(deeds, from), &Cancel::new()).unwrap();
            }
            cursor = next(name, &answer);
            if cursor.is_null() {
                break;
            }
        }
        prop_assert_eq!(&rows, expected, "{} {}", name, request);
    }

    #[test]
    fn every_sort_is_total_so_that_the_order_of_segments_cannot_show(
        deeds in deeds(20),
        (name, request) in question(),
        cut in 1..19_usize,
    ) {
        // One store gets the rows in one commit, the other in two, the later ones first.
        let both = [vec![facts(&deeds, 1)], vec![facts(&deeds[cut..], 1 + u8::try_from(cut).unwrap()), facts(&deeds[..cut], 1)]];
        let answers = both.map(|batches| {
            let folder = tempfile::tempdir().unwrap();
            let mut writer = Writer::open_or_create(folder.path()).unwrap();
            writer.import_tokens("registry", vec![listing(USDT, "USDT")]).unwrap();
            writer.import_prices("prices", vec![price("eth", 2.0), price("usdt", 1.0)]).unwrap();
            for batch in batches {
                writer.commit(batch, &Cancel::new()).unwrap();
            }
            let engine = QueryEngine::new(Arc::new(Store::open(folder.path()).unwrap()));
            let mut request = request.clone();
            request["limit"] = json!(1000);
            ask(&engine, name, &request)["datas"].clone()
        });
        prop_assert_eq!(&answers[0], &answers[1], "{} {}", name, request);
    }
}
