//! Every form of a table holds what the pages of JSON hold.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType};
use arrow::ipc::reader::StreamReader;
use bytes::Bytes;
use headwater_engine::{Column, ColumnKind, QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::PricePoint;
use headwater_ledger::store::in_memory;
use headwater_table::{Format, TableError, frame, table, write};
use headwater_testkit::{Chainlet, address, claim, label_import};
use headwater_types::{Chain, Timestamp};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value, json};

/// More than one batch of rows.
const TRANSFERS: u64 = 10_000;

fn engine() -> QueryEngine {
    let mut chain = Chainlet::ethereum();
    for number in 0..TRANSFERS {
        let (from, to) = if number % 3 == 0 { (1, 2 + number % 7) } else { (2 + number % 7, 1) };
        chain = chain.transfer(from, to, 1 + number * 1_000_000_007);
        if number % 5 == 0 {
            chain = chain.failed();
        }
    }
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(0), usd: 2000.0 };
    let mut store = in_memory(vec![chain.batch()], Vec::new(), vec![price]).unwrap();
    let who = address(Chain::ETHEREUM, 1);
    let exchange = claim(Chain::ETHEREUM, who, Code::Exchange, Level::Forensic, "list");
    Arc::get_mut(&mut store).unwrap().import_labels(label_import("list", vec![exchange], 0)).unwrap();
    QueryEngine::new(store)
}

fn request() -> Value {
    json!({"blockchain": "ethereum", "address": address(Chain::ETHEREUM, 1).to_string(), "output_asset": "usd"})
}

fn written(engine: &QueryEngine, name: &str, request: &Value, format: Format) -> (Vec<u8>, headwater_table::Written) {
    let question = (endpoint(name).unwrap(), request);
    write(engine, question, (format, Vec::new()), &|_, _| {}, &Cancel::new()).unwrap()
}

/// All rows, page after page of JSON.
fn pages(engine: &QueryEngine, name: &str, request: &Value) -> Vec<Map<String, Value>> {
    let mut request = request.clone();
    request["limit"] = json!(1000);
    let mut rows = Vec::new();
    loop {
        let data = engine.answer(endpoint(name).unwrap(), &request, &Cancel::new()).unwrap().value();
        rows.extend(data["datas"].as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()));
        match &data["pagination"]["next_cursor"] {
            Value::Null => return rows,
            cursor => request["cursor"] = cursor.clone(),
        }
    }
}

/// The values of a batch, without those that are null.
fn values(batch: &RecordBatch) -> Vec<BTreeMap<String, Value>> {
    let mut rows = vec![BTreeMap::new(); batch.num_rows()];
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        for (place, row) in rows.iter_mut().enumerate().filter(|(place, _)| !column.is_null(*place)) {
            let value = match field.data_type() {
                DataType::Utf8 => json!(column.as_string::<i32>().value(place)),
                DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(place)),
                DataType::Float64 => json!(column.as_primitive::<Float64Type>().value(place)),
                DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => {
                    assert_eq!(&**zone, "UTC");
                    json!(column.as_primitive::<TimestampMicrosecondType>().value(place) / 1_000_000)
                }
                DataType::Boolean => json!(column.as_boolean().value(place)),
                DataType::List(_) => {
                    let texts = column.as_list::<i32>().value(place);
                    texts.as_string::<i32>().iter().map(|text| json!(text)).collect()
                }
                other => panic!("{other}"),
            };
            row.insert(field.name().clone(), value);
        }
    }
    rows
}

/// What a table holds of rows of JSON: no zeros for want of a price, and records as the text of their JSON.
fn of_pages(rows: &[Map<String, Value>]) -> Vec<BTreeMap<String, Value>> {
    let of_table = |value: &Value| match value.as_array() {
        Some(items) if items.iter().any(Value::is_object) => json!(value.to_string()),
        _ => value.clone(),
    };
    let known = |row: &Map<String, Value>| {
        let unpriced = row.get("unpriced_fields").and_then(Value::as_array).cloned().unwrap_or_default();
        let known = row.iter().filter(|(name, value)| !value.is_null() && !unpriced.contains(&json!(name)));
        known.map(|(name, value)| (name.clone(), of_table(value))).collect()
    };
    rows.iter().map(known).collect()
}

#[test]
fn parquet_and_arrow_hold_what_the_pages_hold() {
    let engine = engine();
    for name in ["transactions", "counterparty"] {
        let expected = of_pages(&pages(&engine, name, &request()));
        let (parquet, counts) = written(&engine, name, &request(), Format::Parquet);
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(parquet)).unwrap().build().unwrap();
        let rows: Vec<_> = reader.flat_map(|batch| values(&batch.unwrap())).collect();
        assert_eq!(rows, expected, "{name}");
        assert_eq!((counts.rows, counts.next_cursor), (expected.len() as u64, None));

        let (arrow, _) = written(&engine, name, &request(), Format::Arrow);
        let reader = StreamReader::try_new(&arrow[..], None).unwrap();
        assert_eq!(reader.schema().metadata()["headwater.amount_unit"], "usd");
        let rows: Vec<_> = reader.flat_map(|batch| values(&batch.unwrap())).collect();
        assert_eq!(rows, expected, "{name}");
    }
}

/// Two pays one, one pays three, and no price is known: JSON has zeros, as the specification says, and tables have null.
#[test]
fn unpriced_dollars_are_null_in_tables_and_zero_in_json() {
    let chain = Chainlet::ethereum().transfer(2, 1, 5).transfer(1, 3, 7);
    // Between two imported prices years apart ether has none.
    let price = |time| PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(time), usd: 2.0 };
    let prices = [1_500_000_000, 1_700_000_000].map(price).to_vec();
    let engine = QueryEngine::new(in_memory(vec![chain.batch()], Vec::new(), prices).unwrap());
    let mut request = request();
    request["sort"] = json!("received_count");
    let rows = pages(&engine, "counterparty", &request);
    let usd = ["received_amount", "received_amount_usd", "total_amount", "total_amount_usd", "net_amount"];
    assert_eq!(rows[0]["unpriced_fields"], json!(usd));
    assert_eq!((&rows[0]["received_amount"], &rows[0]["received_amount_usd"]), (&json!("0"), &json!(0.0)));
    assert_eq!(rows[0]["unpriced_count"], 1);
    let (lines, _) = written(&engine, "counterparty", &request, Format::Ndjson);
    let line: Value = serde_json::from_slice(lines.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(json!(rows[0]), line, "lines are JSON");

    let (parquet, _) = written(&engine, "counterparty", &request, Format::Parquet);
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(parquet)).unwrap().build().unwrap();
    let table: Vec<_> = reader.flat_map(|batch| values(&batch.unwrap())).collect();
    assert_eq!(table, of_pages(&rows));
    for name in usd {
        assert!(!table[0].contains_key(name), "{name}");
    }
    // Two was sent nothing, which is zero and known; so is its amount of wei.
    assert_eq!((&table[0]["sent_amount"], &table[0]["sent_amount_usd"]), (&json!("0"), &json!(0.0)));
    assert!(table[0]["assets"].as_str().unwrap().contains(r#""received_amount":"0.000000000000000005""#));
    let (csv, _) = written(&engine, "counterparty", &request, Format::Csv);
    let text = String::from_utf8(csv).unwrap();
    let (names, first) = (text.lines().next().unwrap(), text.lines().nth(1).unwrap());
    let place = names.split(',').position(|name| name == "received_amount_usd").unwrap();
    assert_eq!((first.split(',').nth(place), first.split(',').nth(place - 1)), (Some(""), Some("")));

    // Frames have null at any depth, whether made of a report or of its JSON.
    let overview = endpoint("counterparty/overview").unwrap();
    let (who, other) = (address(Chain::ETHEREUM, 1).to_string(), address(Chain::ETHEREUM, 2).to_string());
    let asked = json!({"blockchain": "ethereum", "target": who, "counterparty": other, "output_asset": "usd"});
    let report = engine.answer(overview, &asked, &Cancel::new()).unwrap();
    let data: Value = report.value();
    assert_eq!((&data["total_amount_usd"], &data["unpriced_count"]), (&json!("0"), &json!(1)));
    for made in [frame(overview, &*report.report), frame(overview, &data)] {
        let made = made.unwrap().unwrap();
        let sides = made.column_by_name("transfer_betweens").map(Arc::clone);
        match sides {
            // The report is the only row.
            Some(sides) => {
                assert!(made.column_by_name("total_amount_usd").unwrap().is_null(0));
                let sides = sides.as_list::<i32>().value(0);
                let usd = Arc::clone(sides.as_struct().column_by_name("amount_usd").unwrap());
                assert_eq!((usd.is_null(0), usd.is_null(1)), (false, true), "nothing was sent");
            }
            None => assert!(made.column_by_name("amount_usd").unwrap().is_null(1)),
        }
    }
}

#[test]
fn lines_of_json_are_the_rows_of_the_pages() {
    let engine = engine();
    let (lines, _) = written(&engine, "transactions", &request(), Format::Ndjson);
    let lines: Vec<Map<String, Value>> =
        String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, pages(&engine, "transactions", &request()));
}

#[test]
fn csv_has_a_line_of_names_times_twice_and_lists_as_text() {
    let engine = engine();
    let mut request = request();
    request["limit"] = json!(2);
    request["include_failed"] = json!(true);
    let (csv, counts) = written(&engine, "transactions", &request, Format::Csv);
    let text = String::from_utf8(csv).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    let field = |row: usize, name: &str| rows[row][names.iter().position(|known| *known == name).unwrap()];
    assert_eq!(rows.len(), 2);
    let page = engine.answer(endpoint("transactions").unwrap(), &request, &Cancel::new()).unwrap().value();
    for (place, row) in page["datas"].as_array().unwrap().iter().enumerate() {
        assert_eq!(field(place, "amount_raw"), row["amount_raw"].as_str().unwrap());
        assert_eq!(field(place, "timestamp"), row["timestamp"].to_string());
        let iso = Timestamp::new(row["timestamp"].as_i64().unwrap()).to_string();
        assert_eq!(field(place, "timestamp_iso"), iso);
        let flags: Vec<_> = row["flags"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap()).collect();
        assert_eq!(field(place, "flags"), flags.join(";"));
    }
    // A limit ends the table, and the cursor leads on to the rows that follow.
    request["cursor"] = json!(counts.next_cursor.unwrap());
    let (more, _) = written(&engine, "transactions", &request, Format::Ndjson);
    let all = pages(&engine, "transactions", &{
        let mut all = request.clone();
        all.as_object_mut().unwrap().remove("cursor");
        all
    });
    let more: Vec<Map<String, Value>> =
        String::from_utf8(more).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(more, all[2..4]);
}

#[test]
fn price_table_has_a_row_per_symbol_in_request_order() {
    let engine = engine();
    let request = json!({"symbols": ["nope", "ETH", "none"], "at": 60});
    let (csv, counts) = written(&engine, "rates", &request, Format::Csv);
    let expected =
        "symbol,price_usd,ts,ts_iso,source,price\nnope,,,,,\neth,2000.0,0,1970-01-01T00:00:00Z,import,\nnone,,,,,\n";
    assert_eq!((String::from_utf8(csv).unwrap().as_str(), counts.rows), (expected, 3));
    let (lines, _) = written(&engine, "rates", &request, Format::Ndjson);
    let lines: Vec<Value> =
        String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = engine.answer(endpoint("rates").unwrap(), &request, &Cancel::new()).unwrap().value();
    assert_eq!(lines[1], answer["rates"][0]);
    let missing = answer["missing"].as_array().unwrap().iter();
    let row = |symbol| json!({"symbol": symbol, "price_usd": null, "ts": null, "source": null});
    let missing: Vec<Value> = missing.map(row).collect();
    assert_eq!([&lines[0], &lines[2]], [&missing[0], &missing[1]]);
}

#[test]
fn a_list_without_rows_is_a_table_without_rows() {
    let engine = engine();
    let mut request = request();
    request["address"] = json!(address(Chain::ETHEREUM, 999).to_string());
    let (csv, _) = written(&engine, "transactions", &request, Format::Csv);
    assert_eq!(String::from_utf8(csv).unwrap().lines().count(), 1);
    let (parquet, _) = written(&engine, "transactions", &request, Format::Parquet);
    let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(parquet)).unwrap();
    assert!(builder.schema().field_with_name("amount_raw").is_ok());
    assert_eq!(builder.metadata().file_metadata().num_rows(), 0);
}

/// A request of every endpoint that has an answer here.
fn asked(name: &str) -> Option<Value> {
    let (who, other) = (address(Chain::ETHEREUM, 1).to_string(), address(Chain::ETHEREUM, 2).to_string());
    Some(match name {
        "assets" => json!({"chain": "ethereum"}),
        "chains" | "registry" => json!({}),
        "rates" => json!({"symbols": "eth"}),
        "resolve" => json!({"blockchain": "ethereum", "symbols": ["eth", "usdt"]}),
        "token/holders" | "token/concentration" => json!({"blockchain": "ethereum", "contract": "native"}),
        "token/addresses_flow" => json!({"blockchain": "ethereum", "addresses": who}),
        "counterparty/transfer-between" | "counterparty/overview" => {
            json!({"blockchain": "ethereum", "target": who, "counterparty": other})
        }
        "address-classify" => json!({"blockchain": "ethereum", "addresses": [who]}),
        "address-risk/batch" => json!({"queries": [{"blockchain": "ethereum", "address": who}]}),
        "path" => json!({"blockchain": "ethereum", "source": who, "targets": [other]}),
        "addresses/resolve" => json!({"q": who}),
        "addresses/autocomplete" => json!({"q": &who[..7]}),
        "rates/symbols" => json!({"detail": true}),
        "labels/search" => json!({"q": "across"}),
        "transaction" | "btc/change-address" | "btc/cluster" | "cross-chain" | "cross-chain/batch" => return None,
        name if name.starts_with("rates/") => json!({"symbol": "eth", "start": 0, "end": 86_400}),
        _ => json!({"blockchain": "ethereum", "address": who}),
    })
}

#[test]
fn every_list_can_be_written_in_every_form() {
    let engine = engine();
    let lists = headwater_engine::ENDPOINTS.iter().filter(|endpoint| endpoint.columns().is_some());
    let lists: Vec<_> = lists.filter_map(|endpoint| Some((endpoint, asked(endpoint.name)?))).collect();
    for (endpoint, request) in &lists {
        for format in Format::ALL {
            let (bytes, counts) = written(&engine, endpoint.name, request, format);
            assert!(!bytes.is_empty() && counts.rows > 0, "{} as {format:?}", endpoint.name);
        }
    }
    assert!(lists.len() >= 12, "{}", lists.len());
}

#[test]
fn every_report_is_a_frame_equal_to_that_of_its_json() {
    let engine = engine();
    for endpoint in headwater_engine::ENDPOINTS {
        let Some(request) = asked(endpoint.name) else { continue };
        let report = engine.answer(endpoint, &request, &Cancel::new()).unwrap();
        let data: Value = report.value();
        let made = frame(endpoint, &*report.report).unwrap().unwrap();
        assert_eq!(frame(endpoint, &data).unwrap().unwrap(), made, "{}", endpoint.name);
        let rows = endpoint.report_rows();
        let count = rows.field.map_or(1, |field| data[field].as_array().unwrap().len());
        assert_eq!((made.num_rows(), made.num_columns()), (count, rows.columns.len()), "{}", endpoint.name);
        // Every field of a row has a column but how the query went, and every column that is null has no value there, or a 0
        // for want of a price.
        let first = rows.field.map_or(&data, |field| &data[field][0]).as_object().unwrap();
        let unpriced = first.get("unpriced_fields").and_then(Value::as_array).cloned().unwrap_or_default();
        for (name, value) in first.iter().filter(|(name, _)| *name != "meta") {
            let column = made.column_by_name(name).unwrap_or_else(|| panic!("{}: {name}", endpoint.name));
            let is_unknown = value.is_null() || unpriced.contains(&json!(name));
            assert_eq!(column.is_null(0), is_unknown, "{}: {name}", endpoint.name);
        }
    }
}

/// The paths of the lists of records within a record, and their numbers of columns.
fn lists_within(columns: &[Column], above: &str) -> Vec<(String, usize)> {
    let below = |column: &Column| match &column.kind {
        ColumnKind::Records(columns) => vec![(format!("{above}{}", column.name), columns.len())],
        ColumnKind::Record(columns) => lists_within(columns, &format!("{above}{}.", column.name)),
        _ => Vec::new(),
    };
    columns.iter().flat_map(below).collect()
}

#[test]
fn every_list_within_a_report_is_a_table() {
    let engine = engine();
    for endpoint in headwater_engine::ENDPOINTS {
        let Some(request) = asked(endpoint.name) else { continue };
        let answer = engine.answer(endpoint, &request, &Cancel::new()).unwrap();
        let data = answer.value();
        for (path, columns) in lists_within(&endpoint.report_columns(), "") {
            let at = format!("{} {path}", endpoint.name);
            let made = table(endpoint, &*answer.report, &path).unwrap().expect(&at);
            assert_eq!(table(endpoint, &data, &path).unwrap().unwrap(), made, "{at}");
            let items = data.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_array);
            assert_eq!((made.num_rows(), made.num_columns()), (items.map_or(0, Vec::len), columns), "{at}");
        }
        let whole = table(endpoint, &data, "").unwrap().unwrap();
        assert_eq!((whole.num_rows(), whole.num_columns()), (1, endpoint.report_columns().len()), "{}", endpoint.name);
        assert_eq!(table(endpoint, &data, "nothing.here").unwrap(), None);
    }
}

#[test]
fn a_frame_without_rows_has_the_columns_of_one_with_rows() {
    let engine = engine();
    let transactions = endpoint("transactions").unwrap();
    let of = |request: &Value| {
        let report = engine.answer(transactions, request, &Cancel::new()).unwrap();
        frame(transactions, &*report.report).unwrap().unwrap()
    };
    let mut nobody = request();
    nobody["address"] = json!(address(Chain::ETHEREUM, 999).to_string());
    assert_eq!(of(&nobody).num_rows(), 0);
    let names = |request: &Value| -> Vec<String> {
        of(request).schema().fields().iter().map(|field| field.name().clone()).collect()
    };
    assert_eq!(names(&nobody), names(&request()), "amounts that fit no decimal are text");
    assert!(frame(transactions, &json!({"datas": [{"timestamp": "noon"}]})).is_err());
    assert_eq!(frame(transactions, &json!({})).unwrap(), None);
}

#[test]
fn all_holders_go_into_a_table_where_no_limit_is_given() {
    let chain = (2..150).fold(Chainlet::ethereum(), |chain, number| chain.transfer(1, number, 1000 - number));
    let engine = QueryEngine::new(in_memory(vec![chain.batch()], Vec::new(), Vec::new()).unwrap());
    let mut request = json!({"blockchain": "ethereum", "contract": "native"});
    let ranks = |request: &Value| -> Vec<i64> {
        let (lines, counts) = written(&engine, "token/holders", request, Format::Ndjson);
        let lines = String::from_utf8(lines).unwrap();
        assert_eq!(counts.rows, lines.lines().count() as u64);
        let rank = |line| serde_json::from_str::<Value>(line).unwrap()["rank"].as_i64().unwrap();
        lines.lines().map(rank).collect()
    };
    assert_eq!(ranks(&request), (1..=148).collect::<Vec<_>>());
    request["offset"] = json!("140");
    assert_eq!(ranks(&request), (141..=148).collect::<Vec<_>>());
    request["limit"] = json!(3);
    assert_eq!(ranks(&request), [141, 142, 143]);
    request["limit"] = json!(101);
    let page = engine.answer(endpoint("token/holders").unwrap(), &request, &Cancel::new());
    assert!(page.is_err(), "a page of JSON has 100 at most");
}

#[test]
fn what_is_no_list_and_what_is_refused_says_so() {
    let engine = engine();
    let refused = |name: &str, request: Value| {
        let question = (endpoint(name).unwrap(), &request);
        match write(&engine, question, (Format::Csv, Vec::new()), &|_, _| {}, &Cancel::new()) {
            Err(TableError::Engine(error)) => error.to_string(),
            other => panic!("{:?}", other.map(|(_, counts)| counts)),
        }
    };
    assert!(refused("counterparty/overview", json!({})).contains("no list"));
    assert!(refused("transactions", json!({"blockchain": "ethereum"})).contains("address is required"));
    let mut negative = request();
    negative["limit"] = json!(-1);
    assert!(refused("transactions", negative).contains("limit: expected 0 or more"));
}
