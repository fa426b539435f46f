//! US dollars: every family of answers values the same movements alike, with imported prices and by the peg.

use std::sync::Arc;

use headwater_engine::QueryEngine;
use headwater_engine::score::ScoreColumns;
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Movement, MovementFact};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_ledger::read::Ordinal;
use headwater_ledger::store::{Segmentation, Split, in_memory};
use headwater_testkit::{Chainlet, address, claim, label_import};
use headwater_types::{Address, Amount, Asset, Chain, Timestamp};
use serde_json::{Value, json};

use crate::town::{
    ALICE, BOB, CAROL, ETHER, Town, USDT, about, ask, batch, between, column, data, listing, over, person, price, send,
    token, transactions,
};

/// Tether on TRON, 6 decimals.
const TETHER: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
/// Accounts of TRON.
const ANN: u64 = 1;
const BEN: u64 = 2;
const CAT: u64 = 3;

fn account(number: u64) -> String {
    address(Chain::TRON, number).to_string()
}

/// Cat pays Ann 100 and 10.5 USDT, Ann pays Ben 40 and 25, and nothing else moves. A list calls Ben a mixer. The same in one
/// segment, in three, and in three with edges.
fn tron(rate: Option<f64>) -> Town {
    let paid = |chain: Chainlet, from: u64, to: u64, raw: u64| {
        chain.transfer(from, 1_000_000, 0).with(|facts| {
            facts.movements.push(Movement {
                kind: MovementFact::Token,
                ordinal: Ordinal::Indexed(0),
                from: Some(address(Chain::TRON, from)),
                to: Some(address(Chain::TRON, to)),
                asset: Asset::Token(Address::parse(Chain::TRON, TETHER).unwrap()),
                amount: Amount::from(raw),
            });
        })
    };
    let chain = paid(Chainlet::tron(), CAT, ANN, 100_000_000);
    let chain = paid(paid(chain, ANN, BEN, 40_000_000), ANN, BEN, 25_000_000);
    let chain = paid(chain, CAT, ANN, 10_500_000);
    let time = Timestamp::new(1_600_000_000);
    let prices = rate.map(|usd| PricePoint { symbol: "usdt".to_owned(), time, usd }).into_iter().collect();
    let whole = in_memory(vec![chain.batch()], vec![], prices).unwrap();
    let mixer = claim(Chain::TRON, address(Chain::TRON, BEN), Code::Mixer, Level::Forensic, "list");
    let segmented =
        |segments| whole.in_segments(Segmentation { segments, split: Split::Scattered, tail_blocks: 0 }).unwrap();
    let built = segmented(3).with_sidecars(&Cancel::new()).unwrap();
    let stores = [segmented(1), segmented(3), built].into_iter().map(|mut store| {
        store.import_labels(label_import("list", vec![mixer.clone()], 0)).unwrap();
        QueryEngine::new(Arc::new(store))
    });
    Town(stores.collect())
}

fn with(mut request: Value, more: &Value) -> Value {
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

fn of_ann(more: Value) -> Value {
    with(json!({"blockchain": "tron", "address": account(ANN)}), &more)
}

fn sum(values: &[&Value]) -> f64 {
    values.iter().map(|value| value.as_f64().unwrap()).sum()
}

/// Whole cents: the sums of some answers are rounded to them.
#[track_caller]
fn assert_usd(found: &Value, expected: f64, what: &str) {
    let found = found.as_f64().or_else(|| found.as_str()?.parse().ok());
    let found = found.unwrap_or_else(|| panic!("{what}: no dollars, expected {expected}"));
    assert!((found - expected).abs() < 0.005, "{what}: {found}, expected {expected}");
}

/// Ann received 110.5 USDT and sent 65, at so many dollars each.
fn assert_all_answers_agree(town: &Town, rate: f64) {
    let (received, sent) = (110.5 * rate, 65.0 * rate);
    let rows = data(town, "transactions", &of_ann(json!({})));
    let of_action = |action: &str| {
        let rows = rows["datas"].as_array().unwrap().iter().filter(|row| row["action"] == action);
        sum(&rows.map(|row| &row["amount_usd"]).collect::<Vec<_>>())
    };
    assert_usd(&json!(of_action("receive")), received, "transactions");
    assert_usd(&json!(of_action("send")), sent, "transactions");

    // From edges where they are built; with a start, from movements.
    for (name, more) in [
        ("counterparty", json!({})),
        ("counterparty", json!({"start_time": 0})),
        ("counterparty", json!({"output_asset": "per_symbol"})),
        ("counterparty/list", json!({})),
    ] {
        let ranking = data(town, name, &of_ann(more));
        assert_eq!(column(&ranking, "address"), [&json!(account(CAT)), &json!(account(BEN))], "{name}");
        assert_usd(&ranking["datas"][0]["received_amount_usd"], received, name);
        assert_usd(&ranking["datas"][1]["sent_amount_usd"], sent, name);
        assert_eq!(column(&ranking, "unpriced_count"), [0, 0], "{name}");
    }
    let both = json!({"blockchain": "tron", "target": account(ANN), "counterparty": account(BEN)});
    let overview = data(town, "counterparty/overview", &both);
    assert_usd(&overview["total_amount_usd"], sent, "counterparty/overview");
    let between = data(town, "counterparty/transfer-between", &both);
    assert_usd(&json!(sum(&column(&between, "amount_usd"))), sent, "counterparty/transfer-between");

    let wallet = data(town, "wallet-overview", &of_ann(json!({})));
    assert_usd(&wallet["total_received_usd"], received, "wallet-overview");
    assert_usd(&wallet["total_sent_usd"], sent, "wallet-overview");
    assert_usd(&wallet["total_balance_usd"], received - sent, "wallet-overview");
    let history = data(town, "balance-history", &of_ann(json!({})));
    assert_usd(&history["final_balance"]["total_usd"], received - sent, "balance-history");

    let exposure = data(town, "exposure", &of_ann(json!({})));
    assert_usd(&exposure["total_usd"], received + sent, "exposure");
    assert_usd(&exposure["direct"][0]["amount_usd"], sent, "exposure to the mixer");
    let trace = data(town, "trace", &of_ann(json!({"track_setting": {"outward_depth": 1, "inward_depth": 1}})));
    let edges = trace["edges"].as_array().unwrap();
    let of_edges = |direction: &str| {
        let edges = edges.iter().filter(|edge| edge["direction"] == direction);
        json!(sum(&edges.map(|edge| &edge["amount_usd"]).collect::<Vec<_>>()))
    };
    assert_usd(&of_edges("in"), received, "trace");
    assert_usd(&of_edges("out"), sent, "trace");
    let path = json!({"blockchain": "tron", "source": account(ANN), "targets": [account(BEN)]});
    assert_usd(&data(town, "path", &path)["paths"][0]["bottleneck_usd"], sent, "path");

    let risk = data(town, "address-risk", &of_ann(json!({})));
    let graph = &risk["dimensions"]["graph"];
    assert_usd(&graph["edge"]["volume_usd"], received + sent, "volume of the risk graph");
    assert_usd(&graph["edge"]["risky_neighbors"][0]["amount_usd"], sent, "risk graph");
    let behaviors = risk["dimensions"]["behavior"]["behaviors"].as_array().unwrap();
    let mixed = behaviors.iter().find(|found| found["code"] == "mixer_interaction").unwrap();
    assert_usd(&mixed["evidence"]["usd"], sent, "behaviour");
    for engine in &town.0 {
        let scorer = engine.scorer(Chain::TRON, "risk,features".parse::<ScoreColumns>().unwrap()).unwrap();
        let rows = scorer.score(&[address(Chain::TRON, ANN)], &Cancel::new()).unwrap();
        let score = rows[0].risk.as_ref().unwrap();
        assert_eq!((json!(score.score), json!(score.graph)), (risk["composite_score"].clone(), graph["score"].clone()));
        // Features are in units of the stablecoin, whatever it is worth: models were trained on them.
        let place = scorer.features().iter().position(|feature| feature.name == "stable_in_sum").unwrap();
        assert_usd(&json!(rows[0].features.as_ref().unwrap()[place]), 110.5, "features");
    }

    // These are one to one by the specification, whatever a price says.
    let holders = data(town, "token/holders", &json!({"blockchain": "tron", "contract": TETHER}));
    let ann = holders["holders"].as_array().unwrap().iter().find(|holder| holder["address"] == account(ANN));
    assert_usd(&ann.unwrap()["balance_usd"], 45.5, "token/holders");
}

#[test]
fn dollars_of_a_pegged_token_agree_everywhere_without_prices() {
    assert_all_answers_agree(&tron(None), 1.0);
}

#[test]
fn dollars_agree_everywhere_with_an_imported_price() {
    assert_all_answers_agree(&tron(Some(0.5)), 0.5);
}

#[test]
fn pegged_symbols_are_named_where_dollars_are_shown() {
    let (pegged, priced) = (tron(None), tron(Some(0.5)));
    for (name, request) in [
        ("transactions", of_ann(json!({}))),
        ("counterparty", of_ann(json!({}))),
        ("counterparty/list", of_ann(json!({}))),
        ("wallet-overview", of_ann(json!({}))),
        ("balance-history", of_ann(json!({}))),
        ("exposure", of_ann(json!({}))),
        ("trace", of_ann(json!({}))),
        ("address-risk", of_ann(json!({}))),
        ("address-risk/batch", json!({"queries": [of_ann(json!({}))]})),
    ] {
        assert_eq!(ask(&pegged, name, &request).unwrap().pegged, ["usd1", "usdc", "usdt"], "{name}");
        assert_eq!(ask(&priced, name, &request).unwrap().pegged, ["usd1", "usdc"], "{name}");
    }
    let holders = json!({"blockchain": "tron", "contract": TETHER});
    let addresses = json!({"blockchain": "tron", "contract": TETHER, "addresses": [account(ANN)]});
    let labels = json!({"blockchain": "tron", "address": account(BEN)});
    for (name, request) in [("token/holders", holders), ("token/addresses_flow", addresses), ("labels", labels)] {
        assert_eq!(ask(&pegged, name, &request).unwrap().pegged, Vec::<String>::new(), "{name}");
    }
    let bitcoin = ask(&crate::town::bitcoin(), "counterparty/list", &json!({"address": crate::town::PAID[0]}));
    assert_eq!(bitcoin.unwrap().pegged, Vec::<String>::new(), "no token is pegged on bitcoin");
}

/// The unpegged USDT of the town and ether, with these prices.
fn unpegged(prices: Vec<PricePoint>) -> Town {
    over(vec![batch(transactions())], vec![listing(USDT, "USDT")], prices)
}

fn asset(symbol: &str, contract: Option<u8>, [received, sent, total]: [&str; 3]) -> Value {
    let contract = contract.map(|byte| person(byte).to_string());
    json!({
        "symbol": symbol, "contract": contract, "received_amount": received, "sent_amount": sent, "total_amount": total,
    })
}

/// Alice sent Bob 1.5 ether and 100 USDT and got 0.25 ether back; of Carol she got 2 ether.
#[test]
fn ranking_lists_assets_so_that_no_money_disappears() {
    let ether = asset("eth", None, ["0.25", "1.5", "1.75"]);
    let dollars = asset("usdt", Some(USDT), ["0", "100", "100"]);
    for (prices, expected) in [
        (vec![], [&ether, &dollars]),
        (vec![price("eth", 2.0)], [&ether, &dollars]),
        (vec![price("usdt", 1.0)], [&dollars, &ether]),
        (vec![price("eth", 2.0), price("usdt", 1.0)], [&dollars, &ether]),
        (vec![price("eth", 2_000.0), price("usdt", 1.0)], [&ether, &dollars]),
    ] {
        let town = unpegged(prices);
        // From edges, and from movements.
        for more in [json!({}), json!({"start_time": 0})] {
            let rows = data(&town, "counterparty", &about(ALICE, more))["datas"].clone();
            let bob = rows.as_array().unwrap().iter().find(|row| row["address"] == person(BOB).to_string()).unwrap();
            assert_eq!((&bob["assets"], &bob["assets_total"]), (&json!(expected), &json!(2)));
        }
    }
}

#[test]
fn ranking_names_its_zeros_for_want_of_a_price() {
    let fields = |town: &Town, who: u8, more: Value| {
        let rows = data(town, "counterparty", &about(ALICE, more))["datas"].clone();
        let row = rows.as_array().unwrap().iter().find(|row| row["address"] == person(who).to_string()).cloned();
        let row = row.unwrap();
        for name in row["unpriced_fields"].as_array().unwrap() {
            let shown = &row[name.as_str().unwrap()];
            assert!(*shown == json!("0") || *shown == json!(0.0), "{name} is {shown}");
        }
        row["unpriced_fields"].clone()
    };
    let town = unpegged(vec![]);
    let all = json!([
        "received_amount",
        "received_amount_usd",
        "sent_amount",
        "sent_amount_usd",
        "total_amount",
        "total_amount_usd",
        "net_amount"
    ]);
    // Carol was sent nothing, which is zero and known.
    let of_carol = json!(["received_amount", "received_amount_usd", "total_amount", "total_amount_usd", "net_amount"]);
    for more in [json!({}), json!({"start_time": 0})] {
        assert_eq!(fields(&town, BOB, more.clone()), all);
        assert_eq!(fields(&town, CAROL, more), of_carol);
    }
    // Amounts of one asset are its own units, and known.
    let of_usd = json!(["received_amount_usd", "total_amount_usd"]);
    assert_eq!(fields(&town, CAROL, json!({"symbols": ["eth"]})), of_usd);

    // Of the 1.5 ether and 100 USDT that went to Bob the USDT is priced, of the 0.25 ether that came nothing.
    let town = unpegged(vec![price("usdt", 1.0)]);
    assert_eq!(fields(&town, BOB, json!({})), json!(["received_amount", "received_amount_usd"]));
    // Dollars are known, and not what they are in ether.
    assert_eq!(
        fields(&town, BOB, json!({"output_asset": "eth"})),
        json!(["received_amount_usd"]),
        "ether itself needs no price"
    );
    let town = unpegged(vec![price("eth", 2.0), price("usdt", 1.0)]);
    assert_eq!(fields(&town, BOB, json!({})), json!([]));
    assert_eq!(fields(&town, CAROL, json!({"output_asset": "usdt"})), json!([]));
    let town = unpegged(vec![price("eth", 2.0)]);
    let unconverted = json!(["received_amount", "total_amount", "net_amount"]);
    assert_eq!(fields(&town, CAROL, json!({"output_asset": "usdt"})), unconverted, "dollars without a rate of usdt");
}

#[test]
fn overview_names_its_zeros_for_want_of_a_price() {
    let overview = data(&unpegged(vec![price("usdt", 1.0)]), "counterparty/overview", &between(ALICE, BOB, json!({})));
    assert_eq!(overview["unpriced_fields"], json!([]), "part of it is priced");
    let [sent, received] = &overview["transfer_betweens"].as_array().unwrap()[..] else { panic!("{overview}") };
    assert_eq!(
        (&sent["unpriced_fields"], &received["unpriced_fields"]),
        (&json!([]), &json!(["amount", "amount_usd"]))
    );
    let of_symbols = |side: &Value| {
        let symbols = side["symbols"].as_array().unwrap().iter();
        symbols.map(|one| (one["symbol"].clone(), one["unpriced_fields"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(of_symbols(sent), [(json!("eth"), json!(["amount_usd"])), (json!("usdt"), json!([]))]);
    let none = data(&unpegged(vec![]), "counterparty/overview", &between(ALICE, BOB, json!({})));
    assert_eq!(none["unpriced_fields"], json!(["total_amount", "total_amount_usd"]));
    assert_eq!((&none["total_amount"], &none["total_amount_usd"]), (&json!("0"), &json!("0")));
    let strangers = data(&unpegged(vec![]), "counterparty/overview", &between(BOB, CAROL, json!({})));
    assert_eq!(strangers["unpriced_fields"], json!([]), "nothing moved, which is zero and known");
}

/// Bob sends Alice 25 tokens, of which the last two have a price.
#[test]
fn ranking_lists_the_twenty_largest_assets_and_counts_all() {
    let tokens: Vec<u8> = (0xa0..0xb9).collect();
    let listings: Vec<TokenListing> = tokens.iter().map(|byte| listing(*byte, &format!("t{byte:x}"))).collect();
    let mut paid = send(1, 1, 0, BOB, ALICE, ETHER);
    paid.movements = (0..).zip(&tokens).map(|(log, byte)| token(log, *byte, BOB, ALICE, 1_000_000)).collect();
    let town = over(vec![batch(vec![paid])], listings, vec![price("tb7", 3.0), price("tb8", 5.0)]);
    for more in [json!({}), json!({"start_time": 0})] {
        let row = data(&town, "counterparty", &about(ALICE, more))["datas"][0].clone();
        let symbols: Vec<&str> =
            row["assets"].as_array().unwrap().iter().map(|asset| asset["symbol"].as_str().unwrap()).collect();
        assert_eq!((symbols.len(), &row["assets_total"]), (20, &json!(26)), "25 tokens and ether");
        assert_eq!(symbols[..4], ["tb8", "tb7", "eth", "ta0"]);
        assert_eq!(symbols[19], "tb0");
    }
}
