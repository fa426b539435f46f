//! Holders, concentration and flows worked by hand.

use headwater_engine::{ErrorKind, Reason};
use headwater_ledger::facts::TransactionFacts;
use headwater_types::{Address, Amount, Chain};
use serde_json::{Value, json};

use crate::town;
use crate::town::{
    ALICE, BOB, CAROL, USDT, ask, batch, bitcoin, data, engine, hash, listing, over, person, reason, send, token,
};

/// The burn address.
const DEAD: &str = "0x000000000000000000000000000000000000dead";

fn text(byte: u8) -> String {
    person(byte).to_string()
}

/// 3, 2 and 1 million of USDT for Alice, Bob and Carol, 4 million for the burn address, one for the contract itself,
/// one burnt: 12 minted, 11 exist, 6 circulate.
fn minted() -> Vec<TransactionFacts> {
    let million = 1_000_000_000_000;
    let mut first = send(1, 1, 0, ALICE, USDT, 0);
    first.movements = vec![
        token(0, USDT, 0, ALICE, 4 * million),
        token(1, USDT, 0, BOB, 2 * million),
        token(2, USDT, 0, CAROL, million),
        token(3, USDT, 0, USDT, million),
        token(4, USDT, 0, ALICE, 4 * million),
    ];
    let mut second = send(2, 2, 0, ALICE, USDT, 0);
    second.movements = vec![token(0, USDT, ALICE, 0, million), token(1, USDT, ALICE, BOB, million)];
    second.movements.push(token(2, USDT, BOB, ALICE, million));
    let mut third = send(3, 3, 0, ALICE, USDT, 0);
    third.movements = vec![token(0, USDT, ALICE, 0, 0)];
    let mut burnt = token(1, USDT, ALICE, 0, 4 * million);
    burnt.to = Some(Address::parse(Chain::ETHEREUM, DEAD).unwrap());
    third.movements.push(burnt);
    vec![first, second, third]
}

fn about(contract: u8, more: Value) -> Value {
    let mut request = json!({"blockchain": "ethereum", "contract": text(contract)});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

#[test]
fn holders_are_ranked_and_what_cannot_be_spent_is_left_out() {
    let town = engine(vec![batch(minted())]);
    let holders = data(&town, "token/holders", &about(USDT, json!({})));
    let third = 100.0 * (1.0 / 3.0);
    let entry = |rank, who, millions: u32, percent: f64| {
        json!({
            "rank": rank,
            "address": text(who),
            "balance": f64::from(millions) * 1e6,
            "balance_raw": (u64::from(millions) * 1_000_000_000_000).to_string(),
            "balance_usd": f64::from(millions) * 1e6,
            "pct_of_supply": percent,
        })
    };
    let rows = [entry(1, ALICE, 3, 50.0), entry(2, BOB, 2, third), entry(3, CAROL, 1, 100.0 * (1.0 / 6.0))];
    assert_eq!(holders["holders"], json!(rows));
    assert_eq!((&holders["holder_count"], &holders["total_supply_raw"]), (&json!(3), &json!("11000000000000")));
    assert_eq!(
        (&holders["symbol"], &holders["decimals"], &holders["total_supply"]),
        (&json!("usdt"), &json!(6), &json!(11e6))
    );
    let excluded = json!([
        {"address": DEAD, "balance_raw": "4000000000000", "reason": "burn_address"},
        {"address": text(USDT), "balance_raw": "1000000000000", "reason": "token_contract"},
    ]);
    assert_eq!(holders["excluded"], excluded);
    let meta = json!({"query_duration_ms": 0, "cost_class": "heavy", "cached": false, "limit": 10, "offset": 0});
    assert_eq!(holders["meta"], meta);

    let page = data(&town, "token/holders", &about(USDT, json!({"limit": 1, "offset": 1})));
    assert_eq!(page["holders"], json!([rows[1]]));
    assert_eq!(data(&town, "token/holders", &about(USDT, json!({"offset": 3})))["holders"], json!([]));
}

#[test]
fn concentration_of_three_two_one_is_that_of_the_books() {
    let town = engine(vec![batch(minted())]);
    let found = data(&town, "token/concentration", &about(USDT, json!({})));
    let measures = &found["concentration"];
    assert_eq!((&measures["gini"], &measures["hhi"]), (&json!(2.0 / 9.0), &json!(7.0 / 18.0)));
    assert_eq!((&measures["nakamoto"], &measures["top10_pct"]), (&json!(2), &json!(100.0)));
    assert!((measures["theil"].as_f64().unwrap() - 0.087_208).abs() < 1e-6);
    assert!((measures["entropy_bits"].as_f64().unwrap() - 1.459_148).abs() < 1e-6);
    assert_eq!((&measures["effective_holders_1usd"], &measures["effective_holders_100usd"]), (&json!(3), &json!(3)));
    assert!(measures.get("effective_holders_0_1_btc").is_none());
    assert_eq!(found["excluded"].as_array().unwrap().len(), 2);
}

/// 700 holders of 1 to 37 units, many the same, among whom the burn address and the contract stand in the middle.
#[test]
#[expect(clippy::cast_precision_loss, reason = "sums of few balances, which doubles hold exactly")]
fn a_page_of_holders_begins_anywhere_and_thresholds_count_them() {
    let holder = |number: u64| match number {
        100 => Address::parse(Chain::ETHEREUM, DEAD).unwrap(),
        333 => person(USDT),
        _ => {
            let mut bytes = [7; 20];
            bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            Address::Evm(bytes)
        }
    };
    let raw = |number: u64| (1 + number % 37) * 1_000_000 - number % 2;
    let mut mint = send(1, 1, 0, ALICE, USDT, 0);
    mint.movements = (0..700)
        .map(|number| {
            let mut minted = token(number, USDT, 0, ALICE, raw(number));
            minted.to = Some(holder(number));
            minted
        })
        .collect();
    let mut kept: Vec<_> =
        (0..700).filter(|number| ![100, 333].contains(number)).map(|number| (raw(number), holder(number))).collect();
    kept.sort_by_key(|(raw, address)| (std::cmp::Reverse(*raw), *address));
    let town = engine(vec![batch(vec![mint])]);
    for offset in [0, 1, 93, 255, 256, 257, 354, 511, 512, 600, 690, 697, 698] {
        let page = data(&town, "token/holders", &about(USDT, json!({"limit": 9, "offset": offset})));
        let rows: Vec<_> = page["holders"].as_array().unwrap().iter().map(|row| row["address"].clone()).collect();
        let wanted: Vec<_> = kept.iter().skip(offset).take(9).map(|(_, address)| json!(address.to_string())).collect();
        assert_eq!(rows, wanted, "{offset}");
        assert_eq!(
            page["holders"].get(0).map_or(offset as u64 + 1, |row| row["rank"].as_u64().unwrap()),
            offset as u64 + 1
        );
    }
    let found = data(&town, "token/concentration", &about(USDT, json!({})));
    let measures = &found["concentration"];
    let total: u64 = kept.iter().map(|(raw, _)| raw).sum();
    let share = |top: usize| 100.0 * (kept.iter().take(top).map(|(raw, _)| raw).sum::<u64>() as f64 / total as f64);
    assert_eq!((&measures["top10_pct"], &measures["top100_pct"]), (&json!(share(10)), &json!(share(100))));
    let least = kept.iter().filter(|(raw, _)| *raw >= 1_000_000).count();
    assert_eq!(
        (&measures["effective_holders_1usd"], &measures["effective_holders_100usd"]),
        (&json!(least), &json!(0))
    );
    let mut sum = 0;
    let half = kept.iter().position(|(raw, _)| {
        sum += raw;
        2 * sum > total
    });
    assert_eq!(measures["nakamoto"], json!(half.unwrap() + 1));
}

#[test]
fn bitcoin_has_holders_without_a_contract() {
    let town = bitcoin();
    let holders = data(&town, "token/holders", &json!({"blockchain": "bitcoin"}));
    assert_eq!(holders["holders"][0]["balance_raw"], "2350000");
    assert_eq!(
        (&holders["contract"], &holders["symbol"], &holders["holder_count"]),
        (&Value::Null, &json!("btc"), &json!(2))
    );
    assert!(holders["holders"][0].get("balance_usd").is_none());
    let found = data(&town, "token/concentration", &json!({"blockchain": "bitcoin"}));
    // 1,325,000 and 2,350,000 satoshis are more than 0.001 bitcoin, and less than 0.1.
    let measures = &found["concentration"];
    assert_eq!(
        (&measures["effective_holders_0_001_btc"], &measures["effective_holders_0_1_btc"]),
        (&json!(2), &json!(0))
    );
    let request = json!({"blockchain": "bitcoin", "contract": text(USDT)});
    assert_eq!(reason(&town, "token/holders", &request).0, Reason::InvalidContract);
}

#[test]
fn a_token_nobody_holds_has_no_shares() {
    let listed = vec![listing(0x99, "GOLD")];
    let found = data(&over(vec![batch(minted())], listed, vec![]), "token/concentration", &about(0x99, json!({})));
    assert_eq!((&found["holder_count"], &found["total_supply_raw"]), (&json!(0), &json!("0")));
    assert_eq!((&found["concentration"]["gini"], &found["concentration"]["top10_pct"]), (&json!(0.0), &json!(0.0)));
    assert_eq!((&found["symbol"], &found["total_supply"]), (&json!("gold"), &json!(0.0)));
}

#[test]
fn contract_that_nothing_names_is_refused() {
    let town = engine(vec![batch(minted())]);
    let unknown = about(0x99, json!({}));
    let mut flow = unknown.clone();
    flow["addresses"] = json!([text(ALICE)]);
    for (name, request) in
        [("token/holders", &unknown), ("token/concentration", &unknown), ("token/addresses_flow", &flow)]
    {
        let error = ask(&town, name, request).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::UnknownContract), "{name}");
        let why = format!("no row and no registry names {} on ethereum; blocks 1 to 3 are held", text(0x99));
        assert_eq!((error.message, error.field.as_deref()), (format!("contract: {why}"), Some("contract")));
    }
    // A token of the source without a movement is named by the source.
    let holders = data(&town, "token/holders", &about(town::FAKE, json!({})));
    assert_eq!(holders["holder_count"], 0);
}

#[test]
fn requests_about_tokens_are_refused_with_their_place() {
    let town = engine(vec![batch(minted())]);
    let refused = |request| reason(&town, "token/holders", &request);
    assert_eq!(refused(json!({"blockchain": "ethereum"})), (Reason::MissingField, Some("contract".into())));
    assert_eq!(refused(json!({"blockchain": "ethereum", "contract": "0x12"})).0, Reason::InvalidContract);
    assert_eq!(refused(about(USDT, json!({"limit": 101}))), (Reason::LimitOutOfRange, Some("limit".into())));
    assert_eq!(refused(about(USDT, json!({"offset": -1}))), (Reason::InvalidValue, Some("offset".into())));
    assert_eq!(refused(json!({"blockchain": "solana", "contract": "x"})).0, Reason::UnsupportedChain);
}

#[test]
fn flows_of_a_set_are_the_sums_of_its_rows() {
    let town = engine(vec![batch(minted())]);
    let addresses = [text(ALICE), text(BOB), text(ALICE)].join(",");
    let flow = data(&town, "token/addresses_flow", &about(USDT, json!({"addresses": addresses})));
    let expected = json!([
        {
            "address": text(ALICE), "received": 9e6, "sent": 6e6, "net_flow": 3e6, "net_flow_usd": 3e6,
            "received_count": 2, "sent_count": 2, "tx_count": 3, "first_activity_ts": 1010, "last_activity_ts": 1030,
        },
        {
            "address": text(BOB), "received": 3e6, "sent": 1e6, "net_flow": 2e6, "net_flow_usd": 2e6,
            "received_count": 2, "sent_count": 1, "tx_count": 2, "first_activity_ts": 1010, "last_activity_ts": 1020,
        },
    ]);
    assert_eq!(flow["addresses"], expected);
    let aggregate = json!({
        "received_total": 12e6, "sent_total": 7e6, "net_flow_total": 5e6, "net_flow_total_usd": 5e6,
        "tx_count_total": 5, "internal_total": 2e6, "external_received_total": 10e6, "external_sent_total": 5e6,
    });
    assert_eq!(flow["aggregate"], aggregate);
    let later = about(USDT, json!({"addresses": text(BOB), "start_time": 1020, "end_time": 1020}));
    let later = data(&town, "token/addresses_flow", &later);
    assert_eq!((&later["addresses"][0]["received"], &later["addresses"][0]["sent"]), (&json!(1e6), &json!(1e6)));
    assert_eq!((&later["start_time"], &later["end_time"]), (&json!(1020), &json!(1020)));
}

#[test]
fn flows_of_the_coin_leave_out_fees_failures_and_transfers_to_oneself() {
    let request = json!({"blockchain": "ethereum", "addresses": [text(ALICE), text(CAROL)]});
    let flow = data(&town::town(), "token/addresses_flow", &request);
    assert_eq!((&flow["contract"], &flow["symbol"]), (&Value::Null, &json!("eth")));
    let alice = &flow["addresses"][0];
    assert_eq!((&alice["received"], &alice["sent"], &alice["tx_count"]), (&json!(2.25), &json!(1.5), &json!(3)));
    assert_eq!(flow["aggregate"]["internal_total"], 2.0);
    assert!(alice.get("net_flow_usd").is_none());
}

#[test]
fn flows_on_bitcoin_follow_the_attribution() {
    let addresses = [town::PAYERS[0], town::PAID[0]];
    let request = json!({"blockchain": "bitcoin", "addresses": addresses});
    let flow = data(&bitcoin(), "token/addresses_flow", &request);
    assert_eq!(flow["addresses"][0]["sent"], 0.0148);
    assert_eq!(flow["addresses"][1]["received"], 0.01325);
    // Published: the first payer paid 492,714 of the 1,325,000 satoshis.
    assert_eq!(flow["aggregate"]["internal_total"], 0.004_927_14);
}

#[test]
fn a_list_of_counterparties_is_the_ranking_with_offsets() {
    // The smaller output is change by its amount.
    let town = bitcoin();
    let list =
        data(&town, "counterparty/list", &json!({"address": town::PAYERS[0], "limit": "1", "include_change": "true"}));
    assert_eq!(
        (&list["datas"][0]["address"], &list["datas"][0]["sent_amount"]),
        (&json!(town::PAID[1]), &json!("0.00873869"))
    );
    assert_eq!((&list["attribution"], &list["sent_address_count"]), (&json!("proportional"), &json!(2)));
    assert_eq!((&list["datas"][0]["symbol"], &list["datas"][0]["symbols"]), (&json!("btc"), &json!(["btc"])));
    let answer = town::ask(
        &town,
        "counterparty/list",
        &json!({"address": town::PAYERS[0], "limit": "1", "include_change": "true", "offset": "1"}),
    )
    .unwrap();
    let pagination = answer.pagination.unwrap();
    assert_eq!((pagination.limit, pagination.offset, pagination.total), (1, 1, Some(2)));
    let by_offset = answer.value();
    assert_eq!(
        (&by_offset["datas"][0]["sent_amount"], &by_offset["next_cursor"]),
        (&json!("0.00492714"), &Value::Null)
    );
    let cursor = list["next_cursor"].as_str().unwrap();
    let by_cursor = data(
        &town,
        "counterparty/list",
        &json!({"address": town::PAYERS[0], "limit": "1", "include_change": "true", "cursor": cursor}),
    );
    assert_eq!(by_cursor["datas"], by_offset["datas"]);
    let ranking = json!({"blockchain": "bitcoin", "address": town::PAYERS[0], "limit": 1});
    assert_eq!(data(&town, "counterparty", &ranking)["datas"], list["datas"]);
    let far = json!({"address": town::PAYERS[0], "offset": "100000"});
    assert_eq!(reason(&town, "counterparty/list", &far), (Reason::PageWindow, Some("offset".into())));
}

#[test]
fn the_first_coins_of_bitcoin_are_left_out_of_their_owners_balance() {
    use headwater_ledger::facts::{Batch, OutputFacts, UtxoFacts};
    use headwater_ledger::read::ScriptType;
    use headwater_types::TxHash;
    let coinbase = |amounts: &[(&str, u64)]| {
        let output = |(owner, amount): &(&str, u64)| OutputFacts {
            owner: Some(Address::parse(Chain::BITCOIN, owner).unwrap()),
            amount: *amount,
            script: ScriptType::P2pk,
            data: None,
        };
        UtxoFacts::new(true, vec![], amounts.iter().map(output).collect())
    };
    let genesis = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";
    let owner = town::PAID[1];
    let coins = 5_000_000_000;
    let transaction = |hash, block, utxo| TransactionFacts {
        time: Some(town::time(block)),
        index: Some(0),
        utxo: Some(utxo),
        ..TransactionFacts::new(hash, block)
    };
    let mut batch = Batch::new(Chain::BITCOIN);
    batch.transactions = vec![
        transaction(TxHash::parse(Chain::BITCOIN.family(), genesis).unwrap(), 0, coinbase(&[(owner, coins)])),
        transaction(hash(2), 1, coinbase(&[(town::PAYERS[0], 40), (owner, 30), (town::PAYERS[1], 20)])),
    ];
    let town = engine(vec![batch]);
    let holders = data(&town, "token/holders", &json!({"blockchain": "bitcoin", "limit": "2"}));
    let ranked: Vec<_> = holders["holders"].as_array().unwrap().iter().map(|row| &row["balance_raw"]).collect();
    assert_eq!(ranked, ["40", "30"]);
    for (offset, wanted) in [(1, &["30", "20"][..]), (2, &["20"]), (3, &[])] {
        let request = json!({"blockchain": "bitcoin", "limit": "2", "offset": offset});
        let page = data(&town, "token/holders", &request);
        let ranked: Vec<_> = page["holders"].as_array().unwrap().iter().map(|row| &row["balance_raw"]).collect();
        assert_eq!(ranked, wanted, "{offset}");
    }
    let measures = &data(&town, "token/concentration", &json!({"blockchain": "bitcoin"}))["concentration"];
    // Of 40, 30 and 20: Herfindahl 29 / 81, Gini (2 (20 + 60 + 120) - 4 · 90) / 270.
    assert_eq!((&measures["hhi"], &measures["gini"]), (&json!(29.0 / 81.0), &json!(4.0 / 27.0)));
    assert_eq!(measures["nakamoto"], 2);
    assert_eq!(holders["holders"][1]["address"], owner);
    assert_eq!((&holders["holder_count"], &holders["total_supply_raw"]), (&json!(3), &json!((coins + 90).to_string())));
    assert_eq!(
        holders["excluded"],
        json!([{"address": owner, "balance_raw": coins.to_string(), "reason": "genesis_coinbase"}])
    );
    assert_eq!(holders["holders"][0]["pct_of_supply"], 100.0 * (40.0 / 90.0));
    assert_eq!(Amount::from(coins).to_decimal(8), "50");
}
