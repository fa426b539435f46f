//! Answers worked by hand on a ledger of seven transactions (see `town`).

use headwater_engine::{ENDPOINTS, ErrorKind, Reason};
use headwater_ledger::market::core_tokens;
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::town;
use crate::town::{
    ALICE, BOB, CAROL, FAKE, USDT, about, ask, between, column, data, hash, person, reason, town, town_with_a_label_on,
};

fn text(byte: u8) -> String {
    person(byte).to_string()
}

#[test]
fn every_endpoint_has_an_analysis_and_a_description() {
    for endpoint in ENDPOINTS {
        let described = endpoint.describe();
        assert!(serde_json::to_string(&described.report).unwrap().contains("properties"), "{}", endpoint.name);
    }
}

#[test]
fn a_list_is_newest_first_and_hides_what_is_hidden_by_default() {
    let list = data(&town(), "transactions", &about(ALICE, json!({})));
    assert_eq!(column(&list, "block_number"), [6, 5, 4, 4, 2, 1]);
    assert_eq!(column(&list, "tx_index"), [0, 0, 1, 0, 0, 0]);
    assert_eq!(column(&list, "amount"), ["7", "2", "0.25", "1", "100", "1.5"]);
    assert_eq!(column(&list, "action"), ["receive", "receive", "receive", "self", "send", "send"]);
    assert_eq!(column(&list, "symbol"), ["usdt", "eth", "eth", "eth", "usdt", "eth"]);
    assert_eq!(column(&list, "transfer_type"), ["mint", "native", "native", "native", "token", "native"]);
    assert_eq!(column(&list, "status"), ["success", "unknown", "success", "success", "success", "success"]);
    assert_eq!(column(&list, "amount_usd"), [7.0, 4.0, 0.5, 2.0, 100.0, 3.0]);
    assert_eq!(list["excluded"], json!({"unverified": 1, "zero_value": 1, "failed": 1}));
    assert_eq!(
        list["pagination"],
        json!({"has_more": false, "limit": 20, "page": 1, "total_pages": 1, "total": 6, "next_cursor": null})
    );
    assert_eq!((&list["as_of_block"], &list["amount_unit"]), (&json!(6), &json!("mixed")));
}

#[test]
fn a_row_carries_every_field_of_the_contract() {
    let list = data(&town(), "transactions", &about(ALICE, json!({"contracts": [text(USDT)], "direction": "out"})));
    let transfer = hash(2).display(headwater_types::Family::Evm);
    let expected = json!({
        "id": format!("ethereum:{transfer}:token:0"),
        "blockchain": "ethereum",
        "tx_hash": transfer,
        "block_number": 2,
        "timestamp": 1020,
        "tx_index": 0,
        "log_index": 0,
        "transfer_type": "token",
        "from_address": text(ALICE),
        "to_address": text(BOB),
        "counterparty": text(BOB),
        "action": "send",
        "direction": "To",
        "symbol": "usdt",
        "contract": text(USDT),
        "decimals": 6,
        "amount": "100",
        "amount_raw": "100000000",
        "amount_usd": 100.0,
        "status": "success",
        "verified": true,
        "flags": [],
        "counterparty_label": null,
    });
    assert_eq!(list["datas"], json!([expected]));
    assert_eq!(list["amount_unit"], "usdt");
}

#[test]
fn what_is_hidden_can_be_shown_and_carries_its_flags() {
    let all = json!({"include_unverified": true, "include_zero_value": true, "include_failed": true});
    let list = data(&town(), "transactions", &about(ALICE, all));
    assert_eq!(list["datas"].as_array().unwrap().len(), 9);
    let flags = |block: u64, kind: &str| {
        let rows = list["datas"].as_array().unwrap();
        let row = rows.iter().find(|row| row["block_number"] == block && row["id"].as_str().unwrap().contains(kind));
        row.unwrap()["flags"].clone()
    };
    assert_eq!(flags(2, ":token:1"), json!(["unverified_token", "spoofed_symbol"]));
    assert_eq!(flags(2, ":native:0"), json!(["zero_value"]));
    assert_eq!(flags(5, ":native:0"), json!(["status_unknown"]));
    assert_eq!(flags(3, ":native:0"), json!([]));

    let named = data(&town(), "transactions", &about(ALICE, json!({"contracts": [text(FAKE)]})));
    assert_eq!(column(&named, "amount"), ["5"], "naming a contract shows it though nobody vouches for it");
    assert_eq!(column(&named, "amount_usd"), [&Value::Null], "and it borrows no price");
}

#[test]
fn filters_choose_assets_direction_time_and_amounts() {
    let blocks = |more: Value| {
        let list = data(&town(), "transactions", &about(ALICE, more));
        column(&list, "block_number").into_iter().map(|block| block.as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(blocks(json!({"symbols": ["USDT"]})), [6, 2]);
    assert_eq!(
        blocks(json!({"contracts": [null], "symbols": ["usdt"]})),
        [5, 4, 4, 1],
        "contracts stand before symbols"
    );
    assert_eq!(blocks(json!({"contracts": ["native"]})), [5, 4, 4, 1]);
    assert_eq!(blocks(json!({"symbols": ["usdt", "ALL"]})), [6, 5, 4, 4, 2, 1]);
    assert_eq!(blocks(json!({"direction": "Received"})), [6, 5, 4], "a transfer to itself is in neither direction");
    assert_eq!(blocks(json!({"direction": "out"})), [2, 1]);
    assert_eq!(blocks(json!({"start_time": 1020, "end_time": 1040})), [4, 4, 2], "both ends count");
    assert_eq!(blocks(json!({"order": "asc"})), [1, 2, 4, 4, 5, 6]);
    assert_eq!(blocks(json!({"sort": "amount_usd"})), [2, 6, 5, 1, 4, 4]);
    let criteria = |more: Value| blocks(json!({"filter_criterias": more}));
    assert_eq!(criteria(json!([{"symbol": "ETH", "min_value": 1.5}])), [6, 5, 2, 1], "other symbols are free");
    assert_eq!(
        criteria(json!([{"symbol": "eth", "max_value": 0.25}, {"symbol": "eth", "min_value": 2}])),
        [6, 5, 4, 2]
    );
    assert_eq!(criteria(json!([{"symbol": "eth", "sign": "-"}])), [6, 2, 1]);
    assert_eq!(criteria(json!([{"symbol": "usdt", "sign": "in", "min_value": "7.0"}])), [6, 5, 4, 4, 1]);
}

#[test]
fn invalid_requests_name_reason_and_field() {
    let engine = town();
    for (more, expected, field) in [
        (json!({"address": null}), Reason::MissingField, "address"),
        (json!({"address": "0x12"}), Reason::InvalidAddress, "address"),
        (json!({"blockchain": "solana"}), Reason::UnsupportedChain, "blockchain"),
        (json!({"symbols": ["eth", "nope"]}), Reason::UnknownSymbol, "symbols[1]"),
        (json!({"contracts": ["0xzz"]}), Reason::InvalidContract, "contracts[0]"),
        (json!({"symbols": vec!["eth"; 101]}), Reason::TooManyItems, "symbols"),
        (json!({"limit": 1001}), Reason::LimitOutOfRange, "limit"),
        (json!({"limit": "5"}), Reason::InvalidType, "limit"),
        (json!({"page": 5001}), Reason::PageWindow, "page"),
        (json!({"start_time": 2, "end_time": 1}), Reason::TimeRange, "start_time"),
        (json!({"end_time": 1_600_000_000_000_i64}), Reason::Milliseconds, "end_time"),
        (json!({"direction": "sideways"}), Reason::InvalidValue, "direction"),
        (json!({"output_asset": "nope"}), Reason::UnknownSymbol, "output_asset"),
        (json!({"cursor": "nope"}), Reason::InvalidValue, "cursor"),
        (json!({"filter_criterias": [{"min_value": 1}]}), Reason::MissingField, "filter_criterias[0].symbol"),
        (
            json!({"filter_criterias": [{"symbol": "eth", "min_value": 2, "max_value": 1}]}),
            Reason::InvalidValue,
            "filter_criterias[0].min_value",
        ),
        (
            json!({"filter_criterias": [{"symbol": "eth", "min_value": -2}]}),
            Reason::InvalidValue,
            "filter_criterias[0].min_value",
        ),
        (
            json!({"filter_criterias": [{"symbol": "eth", "sign": "x"}]}),
            Reason::InvalidValue,
            "filter_criterias[0].sign",
        ),
    ] {
        assert_eq!(reason(&engine, "transactions", &about(ALICE, more)), (expected, Some(field.to_owned())));
    }
    assert_eq!(
        reason(&engine, "counterparty/overview", &json!({"blockchain": "ethereum", "target": text(ALICE)})),
        (Reason::MissingField, Some("counterparty".to_owned()))
    );
    for field in ["symbol", "offset", "colour"] {
        let request = about(ALICE, json!({field: 1}));
        assert_eq!(reason(&engine, "transactions", &request), (Reason::UnknownField, Some(field.to_owned())));
    }
    let offset = ask(&engine, "transactions", &about(ALICE, json!({"offset": 20}))).unwrap_err();
    assert_eq!(offset.candidates, ["cursor", "page"]);
    let checksum = json!({"blockchain": "ethereum", "address": "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"});
    let answer = ask(&engine, "transactions", &checksum).unwrap();
    assert!(answer.warnings.iter().any(|warning| warning.code == "checksum"));
    assert_eq!(answer.value()["address"], "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed");
}

#[test]
fn a_ranking_sums_both_directions_in_dollars() {
    let ranking = data(&town(), "counterparty", &about(ALICE, json!({})));
    assert_eq!(column(&ranking, "address"), [&json!(text(BOB)), &json!(text(CAROL))]);
    let bob = &ranking["datas"][0];
    let expected = json!({
        "address": text(BOB),
        "blockchain": "ethereum",
        "first_activity": 1010,
        "last_activity": 1040,
        "received_amount": "0.5",
        "received_amount_usd": 0.5,
        "received_count": 1,
        "sent_amount": "103",
        "sent_amount_usd": 103.0,
        "sent_count": 2,
        "symbol": "all",
        "symbols": ["eth", "usdt"],
        "total_amount": "103.5",
        "total_amount_usd": 103.5,
        "total_count": 3,
        "total_transfers": 3,
        "net_amount": "-102.5",
        "net_amount_usd": -102.5,
        "assets": [
            {
                "symbol": "usdt", "contract": text(USDT),
                "received_amount": "0", "sent_amount": "100", "total_amount": "100",
            },
            {
                "symbol": "eth", "contract": null,
                "received_amount": "0.25", "sent_amount": "1.5", "total_amount": "1.75",
            },
        ],
        "assets_total": 2,
        "labels": [],
        "entity_name": null,
        "unpriced_count": 0,
        "unpriced_fields": [],
    });
    assert_eq!(*bob, expected);
    assert_eq!((&ranking["received_address_count"], &ranking["sent_address_count"]), (&json!(2), &json!(1)));
    assert_eq!((&ranking["amount_unit"], &ranking["below_cutoff"]), (&json!("usd"), &Value::Null));
}

#[test]
fn a_ranking_of_one_symbol_is_in_its_own_units() {
    let ranking = data(&town(), "counterparty", &about(ALICE, json!({"symbols": ["eth"], "sort": "received_amount"})));
    assert_eq!(column(&ranking, "address"), [&json!(text(CAROL)), &json!(text(BOB))]);
    assert_eq!(column(&ranking, "total_amount"), ["2", "1.75"]);
    assert_eq!(column(&ranking, "net_amount"), ["2", "-1.25"]);
    assert_eq!(column(&ranking, "symbol"), ["eth", "eth"]);
    assert_eq!(ranking["amount_unit"], "eth");
}

#[test]
fn output_asset_changes_the_unit() {
    let rows = |more: Value| data(&town(), "counterparty", &about(ALICE, more));
    let ether = rows(json!({"output_asset": "ETH"}));
    assert_eq!(column(&ether, "total_amount"), ["51.75", "2"], "100 USDT were worth 50 ether");
    assert_eq!(ether["amount_unit"], "eth");
    let split = rows(json!({"output_asset": "split"}));
    assert_eq!(column(&split, "symbol"), ["usdt", "eth", "eth"]);
    assert_eq!(column(&split, "total_amount"), ["100", "2", "1.75"]);
    assert_eq!(split["amount_unit"], "mixed");
    let list = data(&town(), "transactions", &about(ALICE, json!({"output_asset": "eth", "symbols": ["usdt"]})));
    assert_eq!(column(&list, "amount_out"), ["3.5", "50"]);
}

#[test]
fn a_ranking_tells_what_lies_below_its_page_and_filters_rows() {
    let first = data(&town(), "counterparty", &about(ALICE, json!({"limit": 1})));
    assert_eq!(first["below_cutoff"], json!({"count": 1, "total_amount_usd": 4.0}));
    assert_eq!(first["pagination"]["total_pages"], 2);
    let frequent = data(&town(), "counterparty", &about(ALICE, json!({"min_interactions": 2})));
    assert_eq!(column(&frequent, "address"), [&json!(text(BOB))]);
    assert_eq!(frequent["received_address_count"], 2, "the cutoff does not touch the counts");
    let sent = data(&town(), "counterparty", &about(ALICE, json!({"direction": "out"})));
    assert_eq!(column(&sent, "received_count"), [0]);
}

#[test]
fn transfers_between_two_are_the_same_from_either_side() {
    let engine = town();
    let of_alice = data(&engine, "counterparty/transfer-between", &between(ALICE, BOB, json!({})));
    let of_bob = data(&engine, "counterparty/transfer-between", &between(BOB, ALICE, json!({})));
    assert_eq!(column(&of_alice, "id"), column(&of_bob, "id"));
    assert_eq!(column(&of_alice, "action"), ["receive", "send", "send"]);
    assert_eq!(column(&of_bob, "action"), ["send", "receive", "receive"]);
    assert_eq!(column(&of_alice, "from_address"), column(&of_bob, "from_address"));
    assert_eq!(column(&of_alice, "counterparty"), vec![&json!(text(BOB)); 3]);

    let aliases = json!({"blockchain": "ethereum", "address_a": text(ALICE), "address_b": text(BOB), "sort": "amount"});
    let by_amount = data(&engine, "counterparty/transfer-between", &aliases);
    assert_eq!(column(&by_amount, "amount"), ["100", "1.5", "0.25"]);

    let own = data(&engine, "counterparty/transfer-between", &between(ALICE, ALICE, json!({})));
    assert_eq!(column(&own, "action"), ["self"]);
}

#[test]
fn an_overview_has_the_shape_of_the_specification() {
    let overview = data(&town(), "counterparty/overview", &between(ALICE, BOB, json!({})));
    let expected = json!({
        "assets_transferred": ["eth", "usdt"],
        "blockchain": "ethereum",
        "counterparty": text(BOB),
        "target": text(ALICE),
        "first_interaction": 1010,
        "last_interaction": 1040,
        "total_amount": "103.5",
        "total_amount_usd": "103.5",
        "total_count": 3,
        "transfer_betweens": [
            {
                "action": "send", "amount": "103", "amount_usd": "103", "count": 2, "direction": "To",
                "symbols": [
                    {"amount": "1.5", "amount_usd": "3", "count": 1, "symbol": "eth", "unpriced_fields": []},
                    {"amount": "100", "amount_usd": "100", "count": 1, "symbol": "usdt", "unpriced_fields": []},
                ],
                "unpriced_fields": [],
            },
            {
                "action": "receive", "amount": "0.5", "amount_usd": "0.5", "count": 1, "direction": "From",
                "symbols": [
                    {"amount": "0.25", "amount_usd": "0.5", "count": 1, "symbol": "eth", "unpriced_fields": []},
                ],
                "unpriced_fields": [],
            },
        ],
        "amount_unit": "usd",
        "unpriced_count": 0,
        "unpriced_fields": [],
    });
    assert_eq!(overview, expected);

    let strangers = data(&town(), "counterparty/overview", &between(BOB, CAROL, json!({})));
    assert_eq!((&strangers["total_amount"], &strangers["first_interaction"]), (&json!("0"), &json!(0)));
    assert_eq!(
        strangers["transfer_betweens"][1],
        json!({
            "action": "receive", "amount": "0", "amount_usd": "0", "count": 0, "direction": "From", "symbols": [],
            "unpriced_fields": [],
        })
    );
}

#[test]
fn a_wallet_counts_what_the_list_shows_and_holds_what_is_left_after_fees() {
    let wallet = data(&town(), "wallet-overview", &about(ALICE, json!({})));
    for (field, expected) in [
        ("address_type", json!("eoa")),
        ("first_activity", json!(1010)),
        ("last_activity", json!(1060)),
        ("tx_count", json!(6)),
        ("transfer_count", json!(6)),
        ("received_count", json!(3)),
        ("sent_count", json!(2)),
        ("received_address_count", json!(2)),
        ("sent_address_count", json!(1)),
        ("total_received_usd", json!(11.5)),
        ("total_sent_usd", json!(103.0)),
        ("unpriced_count", json!(0)),
        ("label", Value::Null),
        ("as_of", json!({"block_number": 6, "timestamp": 1060})),
    ] {
        assert_eq!(wallet[field], expected, "{field}");
    }
    // Received 0.25 + 2, sent 1.5 and 21,000 gas at 1 gwei; the transfer to itself changes nothing.
    let ether = &wallet["balances"][0];
    assert_eq!((&ether["symbol"], &ether["balance"]), (&json!("eth"), &json!("0.749979")));
    assert_eq!((&ether["received_amount"], &ether["sent_amount"]), (&json!("2.25"), &json!("1.5")));
    // 100 USDT went out, 7 came in: the rest of the history is not held.
    let usdt = &wallet["balances"][1];
    assert_eq!((&usdt["symbol"], &usdt["balance"], &usdt["balance_raw"]), (&json!("usdt"), &json!("0"), &json!("0")));
    let answer = ask(&town(), "wallet-overview", &about(ALICE, json!({}))).unwrap();
    assert!(answer.warnings.iter().any(|warning| warning.code == "history_incomplete"));
    let funder = json!({
        "address": text(BOB), "tx_hash": hash(4).display(headwater_types::Family::Evm), "timestamp": 1040,
        "symbol": "eth", "amount": "0.25", "amount_usd": 0.5,
    });
    assert_eq!(wallet["first_funder"], funder);
}

#[test]
fn an_address_never_seen_is_answered_with_zeros() {
    let engine = town();
    let list = data(&engine, "transactions", &about(0x99, json!({})));
    assert_eq!((&list["datas"], &list["pagination"]["total_pages"]), (&json!([]), &json!(0)));
    assert_eq!(data(&engine, "counterparty", &about(0x99, json!({})))["datas"], json!([]));
    let wallet = data(&engine, "wallet-overview", &about(0x99, json!({})));
    assert_eq!(
        (&wallet["tx_count"], &wallet["address_type"], &wallet["balances"]),
        (&json!(0), &json!("unknown"), &json!([]))
    );
    let tron = json!({"blockchain": "tron", "address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"});
    let empty = data(&town_with_a_label_on(Chain::TRON), "transactions", &tron);
    assert_eq!((&empty["datas"], &empty["as_of_block"]), (&json!([]), &Value::Null));
}

#[test]
fn a_transaction_is_found_by_the_form_of_its_hash() {
    let engine = town();
    let of = |number: u8| hash(number).display(headwater_types::Family::Evm);
    let gift = data(&engine, "transaction", &json!({"hash": of(1)}));
    for (field, expected) in [
        ("blockchain", json!("ethereum")),
        ("status", json!("success")),
        ("confirmations", json!(6)),
        ("finalized", json!(false)),
        ("amount", json!("1.5")),
        ("amount_usd", json!(3.0)),
        ("fee", json!("0.000021")),
        ("fee_raw", json!("21000000000000")),
        ("gas", json!({"used": 21000, "limit": 30000, "price_raw": "1000000000"})),
        ("inputs", Value::Null),
        ("labels", Value::Null),
        ("logs", Value::Null),
    ] {
        assert_eq!(gift[field], expected, "{field}");
    }
    let payment =
        data(&engine, "transaction", &json!({"hash": of(2), "blockchain": "ethereum", "include": "input,labels"}));
    assert_eq!((&payment["method_id"], &payment["input"]), (&json!("0xa9059cbb"), &json!("0xa9059cbb01")));
    assert_eq!((&payment["fee"], &payment["labels"]), (&Value::Null, &json!({})));
    let kinds: Vec<_> = payment["transfers"].as_array().unwrap().iter().map(|row| &row["id"]).collect();
    let id = |tail: &str| json!(format!("ethereum:{}:{tail}", of(2)));
    assert_eq!(kinds, [&id("native:0"), &id("token:0"), &id("token:1")]);
    assert_eq!(payment["transfers"][1]["action"], Value::Null);

    assert_eq!(ask(&engine, "transaction", &json!({"hash": of(9)})).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(reason(&engine, "transaction", &json!({"hash": "0x12"})).0, Reason::InvalidHash);
}

#[test]
fn registry_family_answers_symbols_and_contracts() {
    let engine = town();
    let chains = data(&engine, "chains", &json!({"include": "none"}));
    assert_eq!(chains["chains"][2]["indexed_to_block"], 6);
    assert_eq!(chains["chains"][0]["endpoints"]["transactions"], "none");
    assert_eq!(chains["chains"][2]["tokens"], json!([]));
    // Nobody claimed to have brought receipts or traces of this ledger.
    assert_eq!(chains["chains"][2]["endpoints"]["transactions"], "partial");
    let answer = ask(&engine, "transactions", &about(ALICE, json!({}))).unwrap();
    assert!(answer.warnings.iter().any(|warning| warning.message.contains("internal transfers")));
    let assets = data(&engine, "assets", &json!({"chain": "ethereum"}));
    let symbols: Vec<_> = assets["tokens"].as_array().unwrap().iter().map(|token| &token["symbol"]).collect();
    assert_eq!(symbols[0], "eth");
    assert!(symbols.is_sorted_by_key(|symbol| (*symbol != "eth", symbol.as_str())), "{symbols:?}");
    // The core registry, the coins of four chains, and the USDT of the town beside that of the core.
    let tokens = data(&engine, "registry", &json!({}))["tokens"].as_array().unwrap().len();
    assert_eq!(tokens, core_tokens().len() + 5);
    let resolved = data(&engine, "resolve", &json!({"blockchain": "ethereum", "symbols": ["UsdT", "nope"]}));
    assert_eq!(
        (&resolved["assets"][0]["matched_by"], &resolved["assets"][0]["query"]),
        (&json!("symbol"), &json!("UsdT"))
    );
    assert_eq!(
        resolved["unresolved"],
        json!([{"query": "nope", "kind": "symbol", "reason": "not_found", "candidates": []}])
    );
    let native = data(&engine, "resolve", &json!({"blockchain": "ethereum", "contracts": [null, text(FAKE)]}));
    assert_eq!((&native["assets"][0]["symbol"], &native["unresolved"][0]["kind"]), (&json!("eth"), &json!("contract")));
    let rates = data(&engine, "rates", &json!({"symbols": "ETH,nope", "at": "1500"}));
    assert_eq!(
        rates,
        json!({
            "at": 1500, "quote": "USD", "missing": ["nope"],
            "rates": [{"symbol": "eth", "price_usd": 2.0, "ts": 1000, "source": "import"}],
        })
    );
    assert_eq!(data(&engine, "rates", &json!({"symbols": "eth", "at": "999"}))["missing"], json!(["eth"]));
    assert_eq!(reason(&engine, "rates", &json!({"symbols": "eth", "quote": "EUR"})).0, Reason::InvalidValue);
    assert_eq!(reason(&engine, "rates", &json!({})).0, Reason::MissingField);
}

#[test]
fn a_call_that_was_cancelled_is_not_answered() {
    let cancel = headwater_ledger::Cancel::new();
    cancel.cancel();
    for endpoint in ENDPOINTS {
        let error = town().0[0].answer(endpoint, about(ALICE, json!({})), &cancel).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Cancelled, "{}", endpoint.name);
    }
}

#[test]
fn an_amount_in_its_own_unit_stays_exact_whatever_the_output_asset() {
    // More digits than a double holds.
    let wei = 1_234_567_890_123_456_789;
    let engine = town::engine(vec![town::batch(vec![town::send(1, 1, 0, ALICE, BOB, wei)])]);
    let exact = json!("1.234567890123456789");
    let list = data(&engine, "transactions", &about(ALICE, json!({"output_asset": "eth"})));
    assert_eq!(column(&list, "amount_out"), [&exact]);
    for scope in [json!({"output_asset": "eth"}), json!({"output_asset": "eth", "symbols": ["eth"]})] {
        let ranking = data(&engine, "counterparty", &about(ALICE, scope.clone()));
        assert_eq!((column(&ranking, "total_amount"), &ranking["amount_unit"]), (vec![&exact], &json!("eth")));
        let overview = data(&engine, "counterparty/overview", &between(ALICE, BOB, scope));
        assert_eq!((&overview["total_amount"], &overview["amount_unit"]), (&exact, &json!("eth")));
        assert_eq!(overview["transfer_betweens"][0]["symbols"][0]["amount"], exact);
    }
}

#[test]
fn one_symbol_per_row_is_sorted_by_its_own_amount_where_it_is_the_only_one() {
    let small = town::send(1, 1, 0, ALICE, BOB, 1);
    let large = town::send(2, 1, 1, ALICE, CAROL, 2);
    let mut batch = town::batch(vec![small, large]);
    // Before the first price nothing has a value to sort by.
    batch.blocks.iter_mut().for_each(|block| block.time = headwater_types::Timestamp::new(900));
    batch.transactions.iter_mut().for_each(|transaction| transaction.time = Some(headwater_types::Timestamp::new(900)));
    let engine = town::engine(vec![batch]);
    let request = about(ALICE, json!({"output_asset": "per_symbol", "contracts": [null]}));
    let ranking = data(&engine, "counterparty", &request);
    assert_eq!(column(&ranking, "address"), [&json!(text(CAROL)), &json!(text(BOB))]);
    assert_eq!(ranking["amount_unit"], "eth");
}

#[test]
fn two_names_of_one_address_must_agree() {
    let both = |alias: u8| json!({"address_a": text(alias), "address_b": text(BOB)});
    let agreed = data(&town(), "counterparty/transfer-between", &between(ALICE, BOB, both(ALICE)));
    assert_eq!(agreed["target"], text(ALICE));
    for name in ["counterparty/transfer-between", "counterparty/overview"] {
        let refused = reason(&town(), name, &between(ALICE, BOB, both(CAROL)));
        assert_eq!(refused, (Reason::InvalidValue, Some("address_a".to_owned())));
    }
}
