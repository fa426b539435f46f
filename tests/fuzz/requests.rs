//! Requests of every data endpoint, and the cursors that lists give.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use headwater_engine::{
    AnyRow, ENDPOINTS, Endpoint, ErrorKind, QueryEngine, SinkClosed, TableHead, TableSink, endpoint,
};
use headwater_ledger::Cancel;
use headwater_ledger::market::{FxPoint, PricePoint, TokenListing};
use headwater_ledger::store::MemoryStore;
use headwater_testkit::fuzz::FuzzOutcome;
use headwater_testkit::{Chainlet, address, hash, token};
use headwater_types::{Asset, Chain, Family, Timestamp};
use serde_json::{Value, json};

use crate::fuzz::{reader, text};

/// Three chains with a few accounts, a token, prices and rates.
fn engine() -> QueryEngine {
    let ethereum = (0..40).fold(Chainlet::ethereum(), |chain, number| {
        chain.transfer(1 + number % 5, 1 + number % 7, number).fee(3).token_movement(9, 1, 2 + number % 3, 5 * number)
    });
    let tron = (0..9).fold(Chainlet::tron(), |chain, number| chain.transfer(1, 2 + number % 2, number));
    let bitcoin = Chainlet::bitcoin().mine(1, 5000).mine(2, 70).spend(&[(1, 0, 0)], &[(3, 4000), (1, 900)]);
    let mut store = MemoryStore::default();
    for batch in [ethereum.batch(), tron.batch(), bitcoin.batch()] {
        store.commit(batch, &Cancel::new()).unwrap();
    }
    let Asset::Token(contract) = token(Chain::ETHEREUM, 9) else { unreachable!("a token has a contract") };
    let listing = TokenListing {
        chain: Chain::ETHEREUM,
        contract,
        symbol: "usdt".to_owned(),
        name: "Tether USD".to_owned(),
        decimals: 2,
        verified: true,
        coingecko_id: None,
    };
    let time = Timestamp::new(1_600_000_000);
    let price = |symbol: &str, usd| PricePoint { symbol: symbol.to_owned(), time, usd };
    store.import_tokens("list", vec![listing]).unwrap();
    store.import_prices("prices", vec![price("eth", 2000.0), price("usdt", 1.0), price("btc", 10_000.0)]).unwrap();
    store.import_exchange_rates("rates", vec![FxPoint { currency: "EUR".to_owned(), time, per_usd: 0.9 }]).unwrap();
    QueryEngine::new(Arc::new(store))
}

/// A request of each endpoint that is answered.
fn asked(endpoint: &Endpoint) -> Value {
    let [one, two] = [1, 2].map(|number| address(Chain::ETHEREUM, number).to_string());
    let Asset::Token(contract) = token(Chain::ETHEREUM, 9) else { unreachable!("a token has a contract") };
    let contract = contract.to_string();
    match endpoint.name {
        "chains" => json!({"include": "none"}),
        "registry" | "rates/symbols" => json!({}),
        "assets" => json!({"chain": "ethereum"}),
        "resolve" => json!({"blockchain": "ethereum", "symbols": ["usdt", "eth"], "contracts": [contract]}),
        "rates" => json!({"symbols": "eth,usdt", "at": 1_600_000_100, "quote": "EUR"}),
        "rates/history" => json!({"symbol": "eth"}),
        "address-classify" => json!({"blockchain": "ethereum", "addresses": [one, two], "explain": true}),
        "btc/change-address" => json!({"txid": hash(3, 0).display(Family::Utxo)}),
        "cross-chain" => json!({"txhash": hash(3, 0).display(Family::Evm), "label": "mine", "chain": "ethereum"}),
        "cross-chain/batch" => json!({"queries": [{"txhash": hash(3, 0).display(Family::Evm), "label": "mine"}]}),
        "btc/cluster" => json!({"address": address(Chain::BITCOIN, 1).to_string(), "include_change": true, "limit": 3}),
        "trace" => json!({
            "blockchain": "ethereum", "address": one,
            "track_setting": {"outward_depth": 3, "limit": 4, "method": "haircut", "start_time": 0, "accumulate_amount": false},
            "filter_criterias": [{"symbol": "usdt", "min_value": "1", "max_value": "1000"}],
            "stop_track_condition": {"labels": ["exchange"], "max_counterparties": 100, "stop_at_contract": true}
        }),
        "path" => json!({
            "blockchain": "ethereum", "source": one, "targets": [two], "max_hops": 3, "k": 2, "time_ordered": false,
            "min_amount_usd": "1", "symbols": ["usdt"], "start_time": 0, "end_time": 2_000_000_000
        }),
        "exposure" => json!({
            "blockchain": "ethereum", "address": one, "direction": "in", "max_hops": 2, "contracts": [contract], "start_time": 0
        }),
        "transactions" => json!({
            "blockchain": "ethereum", "address": one, "direction": "out", "symbols": ["usdt"], "start_time": 0, "limit": 3,
            "sort": "time", "order": "asc", "include_unverified": true
        }),
        "transaction" => json!({"hash": hash(3, 0).display(Family::Evm), "blockchain": "ethereum"}),
        "counterparty" => json!({
            "blockchain": "ethereum", "address": one, "sort": "total_amount", "limit": 2, "output_asset": "per_symbol",
            "min_interactions": 1
        }),
        "counterparty/transfer-between" | "counterparty/overview" => {
            json!({"blockchain": "ethereum", "target": one, "counterparty": two})
        }
        "balance-history" => json!({
            "blockchain": "ethereum", "address": one, "start_time": 1_599_000_000, "end_time": 1_600_100_000, "unit": "daily",
            "tz": "Asia/Kolkata"
        }),
        "token/holders" | "token/concentration" => json!({"blockchain": "ethereum", "contract": contract}),
        "token/addresses_flow" => {
            json!({"blockchain": "ethereum", "contract": contract, "addresses": format!("{one},{two}")})
        }
        "counterparty/list" | "wallet-overview" => {
            json!({"blockchain": "bitcoin", "address": address(Chain::BITCOIN, 1).to_string()})
        }
        "addresses/resolve" => json!({"q": format!(" {one}")}),
        "addresses/autocomplete" => json!({"q": &one[..7]}),
        _ => (endpoint.example.request)(),
    }
}

/// Takes the rows of a table as long as each is a record, and counts them.
#[derive(Default)]
struct CountingSink(usize);

impl TableSink for CountingSink {
    fn begin(&mut self, _: TableHead) -> Result<(), SinkClosed> {
        Ok(())
    }

    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed> {
        assert!(serde_json::to_value(row).unwrap().is_object());
        self.0 += 1;
        Ok(())
    }
}

#[test]
fn requests_are_answered_or_refused_as_client_errors() {
    let engine = engine();
    let samples = ENDPOINTS.iter().map(|endpoint| format!("{}\n{}", endpoint.name, asked(endpoint)));
    let words = [
        "\"limit\":",
        "\"page\":",
        "\"offset\":",
        "\"cursor\":\"x\"",
        "\"start_time\":",
        "\"blockchain\":\"tron\"",
        "null",
        "[]",
        "{}",
        "\"tz\":\"Europe/Berlin\"",
        "\"unit\":\"daily\"",
        "1600000000000",
        "\"filter_criterias\":[{}]",
        "true",
        "\"symbols\":[\"all\"]",
        "\"at_time\":",
        "\"amount_range\":",
        "9007199254740993",
    ];
    reader("requests").samples(samples).words(words).check(|input| {
        let Some((name, body)) = text(input).and_then(|text| text.split_once('\n')) else {
            return FuzzOutcome::Refused;
        };
        let Some(endpoint) = endpoint(name) else { return FuzzOutcome::Refused };
        let Ok(request) = serde_json::from_str::<Value>(body) else { return FuzzOutcome::Refused };
        let answer = engine.answer(endpoint, &request, &Cancel::new());
        let again = engine.answer(endpoint, &request, &Cancel::new());
        let table = engine.table(&endpoint.query(request), &Cancel::new(), &mut CountingSink::default());
        for error in answer.as_ref().err().into_iter().chain(table.as_ref().err()) {
            assert!(matches!(error.kind, ErrorKind::InvalidInput(_) | ErrorKind::NotFound), "{error:?}");
            assert!(error.message.len() < 4_000, "a message stays short: {} bytes", error.message.len());
        }
        match (&answer, &again) {
            (Ok(answer), Ok(again)) => assert_eq!(answer.value(), again.value(), "the same question, the same answer"),
            (Err(one), Err(other)) => assert_eq!(one.message, other.message),
            (one, other) => panic!("{one:?} and then {other:?}"),
        }
        FuzzOutcome::from(&answer)
    });
}

/// The rows of a list, and the cursor behind them.
fn rows(answer: &Value) -> (Vec<Value>, Option<String>) {
    let rows = answer["datas"].as_array().expect("a list has rows").clone();
    (rows, answer["pagination"]["next_cursor"].as_str().map(str::to_owned))
}

#[test]
fn cursor_resumes_behind_its_row_and_a_forged_one_is_safe() {
    let engine = engine();
    let one = address(Chain::ETHEREUM, 1).to_string();
    let lists = [
        ("transactions", json!({"blockchain": "ethereum", "address": one, "include_unverified": true})),
        ("counterparty", json!({"blockchain": "ethereum", "address": one})),
        ("counterparty", json!({"blockchain": "ethereum", "address": one, "output_asset": "per_symbol"})),
    ];
    let ask = |list: &(&str, Value), limit: u64, cursor: Option<&str>| {
        let mut request = list.1.clone();
        request["limit"] = json!(limit);
        request["cursor"] = json!(cursor);
        engine.answer(endpoint(list.0).unwrap(), &request, &Cancel::new())
    };
    let whole = lists.each_ref().map(|list| rows(&ask(list, 1000, None).unwrap().value()).0);
    let mut cursors = Vec::new();
    for (list, whole) in lists.iter().zip(&whole) {
        let (mut given, mut cursor) = (Vec::new(), None);
        loop {
            let (page, next) = rows(&ask(list, 3, cursor.as_deref()).unwrap().value());
            given.extend(page);
            let Some(next) = next else { break };
            cursors.push(next.clone());
            cursor = Some(next);
        }
        assert_eq!(given, *whole);
    }
    // What a cursor holds, so that a part of it can be forged.
    let plain = cursors.iter().map(|cursor| URL_SAFE_NO_PAD.decode(cursor).unwrap());
    let samples: Vec<Vec<u8>> = cursors
        .iter()
        .map(|cursor| cursor.clone().into_bytes())
        .chain(plain.map(|json| [b"=", &json[..]].concat()))
        .collect();
    let words = ["\"P\":[0,null,", "\"C\":[\"\",null]", "\"p\":4294967295", "\"g\":0", "null", "="];
    reader("cursors").samples(samples).words(words).check(|input| {
        let cursor = match input.strip_prefix(b"=") {
            Some(json) => URL_SAFE_NO_PAD.encode(json),
            None => String::from_utf8_lossy(input).into_owned(),
        };
        let mut met = FuzzOutcome::Refused;
        for (list, whole) in lists.iter().zip(&whole) {
            match ask(list, 5, Some(&cursor)) {
                Ok(answer) => {
                    met = FuzzOutcome::Taken;
                    let (page, _) = rows(&answer.value());
                    let follows =
                        page.is_empty() || cursor.is_empty() || whole.windows(page.len()).any(|some| some == page);
                    assert!(follows, "rows of a page are together in the list: {cursor}");
                }
                Err(error) => assert!(matches!(error.kind, ErrorKind::InvalidInput(_)), "{error:?}"),
            }
        }
        met
    });
}
