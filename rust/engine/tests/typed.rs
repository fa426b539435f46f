//! Requests as people type them: names of chains, addresses that need a repair, dates, placeholders.

use headwater_engine::{ErrorKind, Reason, endpoint};
use headwater_types::{Chain, TxHash};
use serde_json::{Value, json};

use crate::town;
use crate::town::{
    ALICE, ETHER, USDT, about, ask, batch, bitcoin, column, data, hash, listing, over, person, price, reason, send,
    token, town,
};

const PLACEHOLDER: &str = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

fn message(name: &str, request: &Value) -> String {
    ask(&town(), name, request).unwrap_err().message
}

fn codes(engine: &town::Town, name: &str, request: &Value) -> Vec<String> {
    ask(engine, name, request).unwrap().warnings.into_iter().map(|warning| warning.code).collect()
}

#[test]
fn chain_alias_is_answered_under_the_canonical_name() {
    let engine = town();
    for (name, request) in [
        ("transactions", about(ALICE, json!({}))),
        ("counterparty", about(ALICE, json!({}))),
        ("counterparty/list", about(ALICE, json!({}))),
        ("wallet-overview", about(ALICE, json!({}))),
        ("resolve", json!({"blockchain": "ethereum", "symbols": ["eth"]})),
        ("assets", json!({"chain": "ethereum"})),
        ("addresses/resolve", json!({"q": person(ALICE).to_string(), "chain": "ethereum"})),
        ("transaction", json!({"hash": hash(1).display(Chain::ETHEREUM.family()), "blockchain": "ethereum"})),
    ] {
        let field = if request.get("chain").is_some() { "chain" } else { "blockchain" };
        let expected = data(&engine, name, &request);
        for alias in ["ETH", "Ethereum", "mainnet", "1", "eip155:1"] {
            let mut typed = request.clone();
            typed[field] = json!(alias);
            assert_eq!(data(&engine, name, &typed), expected, "{name} {alias}");
            let same = [&typed, &request].map(|request| endpoint(name).unwrap().query(request).text().to_string());
            assert_eq!(same[0], same[1], "{name} {alias}");
        }
    }
    let error = ask(&engine, "transactions", &about(ALICE, json!({"blockchain": "solana"}))).unwrap_err();
    let expected = "blockchain: unknown chain \"solana\": use bitcoin (btc), bsc (bnb, binance-smart-chain), \
                    ethereum (eth, mainnet), tron (trx)";
    assert_eq!((error.message.as_str(), error.value.as_deref()), (expected, Some("solana")));
}

#[test]
fn cursor_with_a_chain_alias_goes_on() {
    let engine = town();
    let first = data(&engine, "transactions", &about(ALICE, json!({"limit": 2})));
    let cursor = first["pagination"]["next_cursor"].clone();
    let next = |chain: &str| about(ALICE, json!({"limit": 2, "cursor": cursor, "blockchain": chain}));
    assert_eq!(data(&engine, "transactions", &next("ETH")), data(&engine, "transactions", &next("ethereum")));
    assert_eq!(reason(&engine, "transactions", &next("bsc")).0, Reason::CursorExpired);
}

#[test]
fn address_error_names_chain_and_repair() {
    let address = person(ALICE).to_string();
    let of = |chain: &str, text: &str| message("transactions", &json!({"blockchain": chain, "address": text}));
    let evm = "does not have the form of one; expected 0x and 40 hex digits";
    let repaired = |chain: &str| format!("GET /v1/addresses/resolve?chain={chain}&q=... repairs it: {address}");
    for text in [
        &address[2..],
        &format!(" {address}"),
        &address.replace("0x", "0X"),
        &format!("ethereum:{address}@1"),
        &format!("https://etherscan.io/address/{address}"),
    ] {
        let expected = format!("address: {text:?} is not a valid Ethereum address: it {evm}; {}", repaired("ethereum"));
        assert_eq!(of("ethereum", text), expected);
    }
    assert!(of("bnb", &address[2..]).contains("not a valid BNB Smart Chain address"));
    let tron = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
    let hex = of("tron", "0xa614f803b6fd780986a42c78ec9c7f77e6ded13c");
    assert!(hex.contains("not a valid TRON address") && hex.ends_with(&format!("repairs it: {tron}")), "{hex}");
    assert!(of("ethereum", tron).ends_with("; it is an address of TRON"));
    assert!(of("bitcoin", &address).ends_with("; it is an address of Ethereum or BNB Smart Chain"));
    assert!(of("ethereum", &format!("0x{}", "ab".repeat(32))).ends_with("; it is the hash of a transaction"));
    for name in ["vitalik.eth", "sub.name.bnb", "größe.eth"] {
        assert!(of("ethereum", name).ends_with("; names (ENS and others) are not resolved here: give the 0x address"));
    }
    for hopeless in ["0x12", "nonsense", "1.5", "a..b", ""] {
        let text = of("ethereum", hopeless);
        assert!(text.ends_with("expected 0x and 40 hex digits"), "{text}");
    }
    let contract = json!({"blockchain": "ethereum", "contract": format!("{} ", person(USDT))});
    assert!(ask(&town(), "token/holders", &contract).is_ok(), "blanks around a contract never mattered there");
    let named = message("transactions", &about(ALICE, json!({"contracts": [null, "usdt.eth"]})));
    assert!(named.starts_with("contracts[1]: \"usdt.eth\" is not a valid Ethereum address"), "{named}");
}

#[test]
fn date_where_seconds_are_wanted_is_explained() {
    let text = message("transactions", &about(ALICE, json!({"start_time": "2025-01-01"})));
    assert_eq!(
        text,
        "start_time: expected epoch seconds, got \"2025-01-01\": give 1735689600 for 2025-01-01T00:00:00Z"
    );
    let text = message("rates", &json!({"symbols": "eth", "at": "2025-01-01T00:00:00Z"}));
    assert!(text.starts_with("at: expected epoch seconds, got"), "{text}");
    let text = message("transactions", &about(ALICE, json!({"limit": "2025-01-01"})));
    assert_eq!(text, "limit: expected an integer, got \"2025-01-01\"");
}

#[test]
fn decimal_bounds_are_numbers_or_text() {
    let engine = town();
    let amounts = |bound: Value| {
        let criteria = json!({"filter_criterias": [{"symbol": "eth", "min_value": bound}], "symbols": ["eth"]});
        column(&data(&engine, "transactions", &about(ALICE, criteria)), "amount").len()
    };
    assert_eq!((amounts(json!(1.5)), amounts(json!("1.5")), amounts(json!("1.500000000000000001"))), (2, 2, 1));
}

#[test]
fn signed_filter_never_passes_a_self_transfer() {
    let engine = town();
    let rows = |criterion: Value| {
        let request = about(ALICE, json!({"symbols": ["eth"], "filter_criterias": [criterion]}));
        let list = data(&engine, "transactions", &request);
        column(&list, "action").into_iter().map(|action| action.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rows(json!({"symbol": "eth"})), ["receive", "receive", "self", "send"]);
    for (sign, expected) in [("+", vec!["receive"; 2]), ("in", vec!["receive"; 2]), ("-", vec!["send"])] {
        assert_eq!(rows(json!({"symbol": "eth", "sign": sign})), expected, "{sign}");
    }
}

#[test]
fn placeholder_contract_means_the_native_coin() {
    let engine = town();
    let native = data(&engine, "transactions", &about(ALICE, json!({"contracts": ["native"]})));
    for placeholder in [PLACEHOLDER.to_owned(), PLACEHOLDER.to_lowercase(), PLACEHOLDER.to_uppercase()] {
        let request = about(ALICE, json!({"contracts": [placeholder]}));
        assert_eq!(data(&engine, "transactions", &request)["datas"], native["datas"]);
        let warnings = ask(&engine, "transactions", &request).unwrap().warnings;
        let told = warnings.iter().find(|warning| warning.code == "native_placeholder").unwrap();
        assert_eq!(told.field.as_deref(), Some("contracts[0]"));
        assert!(!warnings.iter().any(|warning| warning.code == "checksum"));
    }
    let request = |contract: &str| json!({"blockchain": "ethereum", "contract": contract});
    for name in ["token/holders", "token/concentration"] {
        let of = |contract: &str| {
            let mut data = data(&engine, name, &request(contract));
            data["meta"] = Value::Null;
            data
        };
        assert_eq!(of(PLACEHOLDER), of("native"));
        assert!(codes(&engine, name, &request(PLACEHOLDER)).contains(&"native_placeholder".to_owned()));
    }
    let resolved = data(&engine, "resolve", &json!({"blockchain": "ethereum", "contracts": [PLACEHOLDER]}));
    assert_eq!((&resolved["assets"][0]["symbol"], &resolved["assets"][0]["contract"]), (&json!("eth"), &Value::Null));
    let flow = json!({"blockchain": "ethereum", "contract": PLACEHOLDER, "addresses": [person(ALICE).to_string()]});
    assert_eq!(data(&engine, "token/addresses_flow", &flow)["symbol"], "eth");
    let tron = json!({"blockchain": "tron", "contract": PLACEHOLDER});
    assert_eq!(reason(&engine, "token/holders", &tron).0, Reason::InvalidContract);
}

#[test]
fn hash_in_the_other_form_is_found() {
    let evm = hash(1).display(Chain::ETHEREUM.family());
    for typed in [&evm[2..], &evm.to_uppercase(), &evm.replace("0x", "0X"), &format!(" {evm} ")] {
        assert_eq!(data(&town(), "transaction", &json!({"hash": typed}))["tx_hash"], evm, "{typed}");
        let named = json!({"hash": typed, "blockchain": "eth"});
        assert_eq!(data(&town(), "transaction", &named)["tx_hash"], evm, "{typed}");
    }
    let plain = hash(3).display(Chain::BITCOIN.family());
    for typed in [plain.clone(), format!("0x{plain}"), format!("0X{plain}")] {
        assert_eq!(data(&bitcoin(), "transaction", &json!({"hash": typed}))["tx_hash"], plain, "{typed}");
    }
    let missing = TxHash::new([0xfe; 32]).display(Chain::BITCOIN.family());
    let text = message("transaction", &json!({"hash": missing}));
    assert_eq!(text, format!("no transaction {missing} is held of bitcoin or tron or bsc or ethereum"));
}

#[test]
fn ranking_without_prices_is_ordered_by_count() {
    // Alice deals once with 0x01, three times with 0x02 and twice with 0x03 and 0x04, in ether and in a token.
    let mut deeds = vec![send(1, 1, 0, ALICE, 1, ETHER)];
    deeds.extend((2..5).map(|number| send(number, 1, u32::from(number), ALICE, 2, ETHER)));
    deeds.extend((5..7).map(|number| send(number, 2, u32::from(number), 4, ALICE, ETHER)));
    for number in 7..9 {
        let mut payment = send(number, 2, u32::from(number), ALICE, USDT, 0);
        payment.movements = vec![token(0, USDT, ALICE, 3, 5)];
        deeds.push(payment);
    }
    let unpriced = || over(vec![batch(deeds.clone())], vec![listing(USDT, "USDT")], vec![price("btc", 1.0)]);
    let engine = unpriced();
    let ranked = |more: Value| {
        let ranking = data(&engine, "counterparty", &about(ALICE, more));
        column(&ranking, "address").into_iter().map(|one| one.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let text = |numbers: &[u8]| numbers.iter().map(|number| person(*number).to_string()).collect::<Vec<_>>();
    let by_count = text(&[2, 3, 4, 1]);
    assert_eq!(ranked(json!({})), by_count);
    assert_eq!(ranked(json!({"sort": "total_amount", "output_asset": "usd"})), by_count);
    assert_eq!(ranked(json!({"order": "asc"})), text(&[1, 3, 4, 2]));
    // The same from movements: a time keeps edges out of it.
    assert_eq!(ranked(json!({"start_time": 0})), by_count);
    assert_eq!(ranked(json!({"output_asset": "per_symbol"})), by_count);
    assert_eq!(ranked(json!({"sort": "sent_amount_usd"})), text(&[1, 2, 3, 4]), "what was asked for stays");
    assert_eq!(ranked(json!({"contracts": ["native"]})).len(), 3);
    let warned = |engine: &town::Town, more: Value| {
        codes(engine, "counterparty", &about(ALICE, more)).contains(&"no_prices".to_owned())
    };
    for more in [json!({}), json!({"start_time": 0}), json!({"sort": "sent_amount"}), json!({"output_asset": "usd"})] {
        assert!(warned(&engine, more.clone()), "{more}");
    }
    for more in [json!({"contracts": ["native"]}), json!({"sort": "last_activity"}), json!({"end_time": 1})] {
        assert!(!warned(&engine, more.clone()), "{more}");
    }
    assert!(!warned(&town(), json!({})));
    let list = about(ALICE, json!({}));
    let listed = data(&engine, "counterparty/list", &list);
    assert_eq!(column(&listed, "address").into_iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>(), by_count);
    assert!(codes(&engine, "counterparty/list", &list).contains(&"no_prices".to_owned()));
    // One page after the other by cursor, in the same order.
    let mut seen = Vec::new();
    let mut more = json!({"limit": 1});
    loop {
        let page = data(&engine, "counterparty", &about(ALICE, more));
        seen.push(page["datas"][0]["address"].as_str().unwrap().to_owned());
        let cursor = page["pagination"]["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
        more = json!({"limit": 1, "cursor": cursor});
    }
    assert_eq!(seen, by_count);
}

#[test]
fn warnings_of_an_answer_have_one_entry_per_code() {
    let condition = json!({"stop_track_condition": {"later": true, "more": 1}});
    let answer = ask(&town(), "trace", &about(ALICE, condition)).unwrap();
    let mut codes: Vec<&str> = answer.warnings.iter().map(|warning| warning.code.as_str()).collect();
    codes.sort_unstable();
    let count = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), count);
    let of = |code: &str| answer.warnings.iter().find(|warning| warning.code == code).unwrap();
    let unknown = of("unknown_field");
    assert_eq!((unknown.count, unknown.field.as_deref()), (Some(2), Some("stop_track_condition.later")));
}

#[test]
fn unknown_settings_of_a_trace_are_refused() {
    let refused = |more: Value| {
        let error = ask(&town(), "trace", &about(ALICE, more)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::UnknownField));
        (error.field.unwrap(), error.candidates)
    };
    let near = |field: &str, candidate: &str| (field.to_owned(), vec![candidate.to_owned()]);
    let misspelt = json!({"track_setting": {"max_node": 5}});
    assert_eq!(refused(misspelt), near("track_setting.max_node", "max_nodes"));
    assert_eq!(refused(json!({"max_nodes": 5})), near("max_nodes", "track_setting.max_nodes"));
    let criteria = json!({"filter_criterias": [{"symbol": "eth", "minvalue": 1}]});
    assert_eq!(refused(criteria).0, "filter_criterias[0].minvalue");
}
