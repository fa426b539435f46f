//! Events of small chains, worked by hand.

use std::collections::BTreeSet;

use headwater_engine::events::{EventType, Follower, Subscription, Watcher, position_of};
use headwater_engine::{ErrorKind, Reason};
use headwater_ledger::Cancel;
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{Chainlet, address, block_hash, followed, hash, token};
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::feeds;
use crate::feeds::{all_events, fields, follower, shared, store, watch};

const ETH: Chain = Chain::ETHEREUM;

fn account(number: u64) -> String {
    address(ETH, number).to_string()
}

/// The block of a chainlet as the tail takes it, on a block of the same fork.
fn append(store: &mut MemoryStore, chain: Chainlet, fork: u8, parent_fork: u8) {
    store.append_tail_block(followed(chain.batch(), fork, parent_fork)).unwrap();
}

/// Block 5: account 1 sends 2 ether to 2 and 300 of the verified token to 3; 6: 3 sends 100 of it on to 1, and 2 fails
/// to send anything.
fn two_blocks() -> MemoryStore {
    let mut store = store();
    let ether = 2_000_000_000_000_000_000;
    let first = Chainlet::ethereum().at_block(5).transfer(1, 2, ether).fee(7).same_block().token_transfer(1, 1, 3, 300);
    append(&mut store, first, 1, 1);
    let second = Chainlet::ethereum().at_block(6).token_transfer(1, 3, 1, 100).same_block().transfer(2, 1, 5).failed();
    append(&mut store, second, 1, 1);
    store
}

#[test]
fn activity_is_told_as_the_watched_address_sees_it() {
    let events = all_events(two_blocks(), &watch("address_activity", json!({"addresses": [account(1)]})));
    assert_eq!(fields(&events, "action"), ["send", "send", "receive"]);
    assert_eq!(fields(&events, "transfer_type"), ["native", "token", "token"]);
    let counterparties = [account(2), account(3), account(3)].map(Value::from);
    assert_eq!(fields(&events, "counterparty"), counterparties);
    assert_eq!(fields(&events, "amount"), ["2", "3", "1"]);
    assert_eq!(fields(&events, "amount_usd"), [4000.0, 3.0, 1.0]);
    let positions: Vec<u64> = events.iter().map(|event| position_of(event.seq)).collect();
    assert_eq!(positions, [1, 1, 2]);
    assert!(events.array_windows().all(|[one, next]| one.seq < next.seq));
    let first = &events[0];
    assert_eq!(first.data["matched_address"], account(1));
    assert_eq!((&first.data["confirmations"], &first.data["finalized"]), (&json!(1), &json!(false)));
    assert_eq!((&first.data["removed"], &first.data["replaces"]), (&json!(false), &Value::Null));
    assert_eq!(first.timestamp.to_string(), "2020-09-13T12:27:40Z", "of block 5");
    let body: Value = serde_json::from_str(&first.body(Some("hook"))).unwrap();
    assert_eq!(body["data"]["webhook_id"], "hook");
    assert_eq!((&body["id"], &body["type"]), (&json!(first.id), &json!("address_activity")));
    assert_eq!(body["timestamp"], "2020-09-13T12:27:40Z");
    assert_eq!(body["data"]["id"], format!("ethereum:{}:native:0", hash(5, 0).display(headwater_types::Family::Evm)));
    assert_eq!(serde_json::from_str::<Value>(&first.body(None)).unwrap()["data"]["webhook_id"], Value::Null);
    assert!(
        first
            .id
            .strip_prefix("evt_")
            .is_some_and(|hex| hex.len() == 32 && !hex.contains(|c: char| !c.is_ascii_hexdigit()))
    );
}

#[test]
fn a_movement_between_two_watched_addresses_is_told_for_both() {
    let filters = json!({"addresses": [account(1), account(2)], "symbols": ["ETH"]});
    let events = all_events(two_blocks(), &watch("address_activity", filters));
    assert_eq!(fields(&events, "matched_address"), [account(1), account(2)].map(Value::from));
    assert_eq!(fields(&events, "direction"), ["To", "From"]);
    assert_ne!(events[0].id, events[1].id);
    let filters = json!({"addresses": [account(1), account(2)], "direction": "in"});
    let events = all_events(two_blocks(), &watch("address_activity", filters));
    assert_eq!(fields(&events, "matched_address"), [account(2), account(1)].map(Value::from));
}

#[test]
fn filters_of_assets_hold_as_in_lists() {
    let told = |filters: Value| {
        let mut filters = filters;
        filters["addresses"] = json!([account(1), account(4)]);
        let mut store = two_blocks();
        // A token that nobody vouches for.
        append(&mut store, Chainlet::ethereum().at_block(7).token_transfer(2, 4, 5, 9), 1, 1);
        fields(&all_events(store, &watch("address_activity", filters)), "amount_raw").len()
    };
    assert_eq!(told(json!({})), 3, "unverified tokens are hidden");
    assert_eq!(told(json!({"symbols": ["usdt"]})), 2);
    assert_eq!(told(json!({"contracts": [null]})), 1);
    let unverified = token(ETH, 2).contract().unwrap().to_string();
    assert_eq!(told(json!({"contracts": [unverified, "native"]})), 2, "unless they are named");
    assert_eq!(told(json!({"min_amount_usd": 3})), 2);
    assert_eq!(told(json!({"min_amount_usd": 3.01})), 1);
    assert_eq!(told(json!({"blockchain": "bsc"})), 0);
    assert_eq!(told(json!({"labels": ["exchange"]})), 0, "no address has one");
}

#[test]
fn large_transfers_are_of_verified_assets_of_all_chains_and_match_nobody() {
    let mut store = two_blocks();
    let rich = 100_000 * 100;
    append(&mut store, Chainlet::ethereum().at_block(7).token_transfer(1, 4, 5, rich), 1, 1);
    append(&mut store, Chainlet::ethereum().at_block(8).token_transfer(1, 4, 5, rich - 1), 1, 1);
    append(&mut store, Chainlet::ethereum().at_block(9).token_transfer(2, 4, 5, u64::MAX), 1, 1);
    append(&mut store, Chainlet::bitcoin().at_block(3).mine(1, 50_000_000_000), 1, 1);
    let events = all_events(store, &watch("large_transfer", Value::Null));
    assert_eq!(fields(&events, "amount_usd"), [100_000.0, 5_000_000.0]);
    assert_eq!(fields(&events, "matched_address"), [Value::Null, Value::Null]);
    assert_eq!(fields(&events, "blockchain"), ["ethereum", "bitcoin"]);
    assert_eq!(fields(&events, "direction"), [Value::Null, Value::Null]);
    assert_eq!(events[0].data["from_address"], account(4));
    assert_eq!(events[1].data["transfer_type"], "coinbase");
}

#[test]
fn a_block_that_is_taken_back_is_told_once_more_under_another_id() {
    let watched = watch("address_activity", json!({"addresses": [account(1)], "blockchain": "ethereum"}));
    let mut store = two_blocks();
    store.roll_back_tail(ETH, 5).unwrap();
    append(&mut store, Chainlet::ethereum().at_block(6).transfer(4, 1, 60), 2, 1);
    store.roll_back_tail(ETH, 5).unwrap();
    // The first block 6 is back.
    append(&mut store, Chainlet::ethereum().at_block(6).token_transfer(1, 3, 1, 100), 1, 1);
    let events = all_events(store, &watched);
    let told: Vec<_> =
        events.iter().map(|event| (position_of(event.seq), event.data["removed"].as_bool().unwrap())).collect();
    assert_eq!(told, [(1, false), (1, false), (2, false), (3, true), (4, false), (5, true), (6, false)]);
    assert_eq!(events[3].data["replaces"], events[2].id);
    assert_eq!(events[5].data["replaces"], events[4].id);
    assert_eq!(events[3].data["id"], events[2].data["id"], "the same row");
    assert_eq!((&events[3].data["confirmations"], &events[3].data["finalized"]), (&json!(0), &json!(false)));
    assert_eq!(events[6].data["tx_hash"], events[2].data["tx_hash"]);
    let mut ids: Vec<_> = events.iter().map(|event| &event.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), events.len(), "adopted a second time, the block has other ids");
}

#[test]
fn confirmations_are_waited_for() {
    let chain = |number| Chainlet::ethereum().at_block(number).transfer(1, 2, number);
    let watched = watch("address_activity", json!({"addresses": [account(1)], "min_confirmations": 3}));
    let mut store = store();
    for number in 5..=8 {
        append(&mut store, chain(number), 1, 1);
    }
    // 5 and 6 have 4 and 3 confirmations. 7 and 8 go before they have; so does 6, which was told.
    store.roll_back_tail(ETH, 5).unwrap();
    for number in 6..=9 {
        append(&mut store, chain(number).with(|facts| facts.nonce = Some(2)), 2, if number == 6 { 1 } else { 2 });
    }
    let store = shared(store);
    let events = feeds::events_from(&store, &watched, 0);
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            (position_of(event.seq), event.data["block_number"].as_u64().unwrap(), event.data["removed"] == true)
        })
        .collect();
    assert_eq!(told, [(3, 5, false), (4, 6, false), (7, 6, true), (10, 6, false), (11, 7, false)]);
    assert!(events.iter().filter(|event| event.data["removed"] == false).all(|event| event.data["confirmations"] == 3));
    assert_eq!(events[2].data["replaces"], events[1].id);
    assert_eq!(events[3].timestamp.secs(), 1_600_000_000 + 12 * 8, "when it was deep enough");
    // One who comes later hears the same from there on.
    for from in 0..=11 {
        let later: Vec<_> = events.iter().filter(|event| position_of(event.seq) > from).cloned().collect();
        assert_eq!(feeds::events_from(&store, &watched, from), later, "from {from}");
    }
}

#[test]
fn history_knows_how_deep_it_lies() {
    let mut store = store();
    store.begin_events();
    let chain = (1..=70).fold(Chainlet::ethereum(), |chain, number| chain.transfer(1, 2, number));
    store.commit(chain.batch(), &Cancel::new()).unwrap();
    let events =
        all_events(store, &watch("address_activity", json!({"addresses": [account(2)], "min_confirmations": 60})));
    assert_eq!(fields(&events, "confirmations"), (60..=70).rev().map(Value::from).collect::<Vec<_>>());
    let finalized: Vec<_> = events.iter().filter(|event| event.data["finalized"] == true).collect();
    assert_eq!(finalized.len(), 6, "blocks 1 to 6 have 64 blocks above them");
}

#[test]
fn a_balance_is_told_when_it_passes_the_threshold_fees_included() {
    // Account 1 gets 1,000 wei and spends it: 400 with a fee of 50, then 100, of which the fee of 40 passes 500.
    let mut store = store();
    let wei = |number| Chainlet::ethereum().at_block(number);
    append(&mut store, wei(5).transfer(9, 1, 1000), 1, 1);
    append(&mut store, wei(6).transfer(1, 2, 400).fee(10), 1, 1);
    append(&mut store, wei(7).transfer(1, 2, 60).failed().fee(91).same_block().transfer(9, 1, 2), 1, 1);
    append(&mut store, wei(8).transfer(9, 1, 1), 1, 1);
    let amount = "0.0000000000000005";
    let filters = |crossing: &str| json!({"addresses": [account(1)], "threshold": {"contract": "native", "amount": amount, "crossing": crossing}});
    let store = shared(store);
    let events = feeds::events_from(&store, &watch("balance_threshold", filters("both")), 0);
    // 0 -> 1000; 590; 499 by the fee of what failed, and with 2 more 501; 502.
    let raw: Vec<_> = fields(&events, "balance_raw");
    assert_eq!(raw, ["1000", "499", "501"]);
    assert_eq!(fields(&events, "crossed"), ["above", "below", "above"]);
    assert_eq!(events[1].data["previous_balance"], "0.00000000000000059");
    assert_eq!(events[1].data["balance"], "0.000000000000000499");
    assert_eq!(fields(&events, "block_number"), [5, 7, 7]);
    let only = |crossing| {
        fields(&feeds::events_from(&store, &watch("balance_threshold", filters(crossing)), 0), "balance_raw")
    };
    assert_eq!(only("above"), ["1000", "501"]);
    assert_eq!(only("below"), ["499"]);
    // From every later position the same, whatever was held by then.
    for from in 0..=4 {
        let later: Vec<_> = events.iter().filter(|event| position_of(event.seq) > from).cloned().collect();
        assert_eq!(
            feeds::events_from(&store, &watch("balance_threshold", filters("both")), from),
            later,
            "from {from}"
        );
    }
    let first = &events[0].data;
    let mut names: Vec<&String> = first.as_object().unwrap().keys().collect();
    names.sort_unstable();
    let expected = [
        "address",
        "balance",
        "balance_raw",
        "block_number",
        "blockchain",
        "contract",
        "crossed",
        "previous_balance",
        "removed",
        "replaces",
        "symbol",
        "timestamp",
    ];
    assert_eq!(names, expected, "with webhook_id in the body");
}

#[test]
fn a_balance_that_passed_with_a_block_passes_back_when_it_goes() {
    let mut store = store();
    append(&mut store, Chainlet::ethereum().at_block(5).token_transfer(1, 9, 1, 150), 1, 1);
    append(
        &mut store,
        Chainlet::ethereum().at_block(6).token_transfer(1, 9, 1, 100).same_block().token_transfer(1, 1, 9, 70),
        1,
        1,
    );
    store.roll_back_tail(ETH, 5).unwrap();
    append(&mut store, Chainlet::ethereum().at_block(6).token_transfer(1, 9, 1, 50), 2, 1);
    let filters = json!({"addresses": [account(1)], "threshold": {"symbol": "USDT", "amount": 2, "crossing": "both"}});
    let store = shared(store);
    let watched = watch("balance_threshold", filters);
    let events = feeds::events_from(&store, &watched, 0);
    // 150; 250, 180; taken back; 200.
    assert_eq!(fields(&events, "balance"), ["2.5", "1.8", "2.5", "1.8", "2"]);
    assert_eq!(fields(&events, "removed"), [false, false, true, true, false]);
    assert_eq!(events[2].data["replaces"], events[0].id);
    assert_eq!(events[3].data["replaces"], events[1].id);
    for from in 0..=4 {
        let later: Vec<_> = events.iter().filter(|event| position_of(event.seq) > from).cloned().collect();
        assert_eq!(feeds::events_from(&store, &watched, from), later, "from {from}");
    }
}

#[test]
fn bitcoin_rows_are_net_changes_of_the_watched_address() {
    let mut store = store();
    append(&mut store, Chainlet::bitcoin().at_block(1).mine(1, 5_000), 1, 1);
    append(&mut store, Chainlet::bitcoin().at_block(2).spend(&[(1, 0, 0)], &[(2, 3_000), (1, 1_500)]), 1, 1);
    let named = |number| address(Chain::BITCOIN, number).to_string();
    let events = all_events(store, &watch("address_activity", json!({"addresses": [named(1)]})));
    assert_eq!(fields(&events, "amount_raw"), ["5000", "3500"], "what came back moved nothing");
    assert_eq!(fields(&events, "transfer_type"), ["coinbase", "utxo"]);
    assert_eq!(fields(&events, "action"), ["receive", "send"]);
    let spent = &events[1].data;
    assert_eq!((&spent["counterparties"], &spent["counterparty"]), (&json!([named(2)]), &json!(named(2))));
    assert_eq!((&spent["inputs_count"], &spent["outputs_count"]), (&json!(1), &json!(2)));
    assert_eq!(spent["from_address"], named(1));
}

#[test]
fn tron_addresses_are_watched_in_either_form() {
    let mut store = store();
    append(&mut store, Chainlet::tron().at_block(1).transfer(1, 2, 3_000_000), 1, 1);
    let hex = match address(Chain::TRON, 2) {
        headwater_types::Address::Tron(bytes) => {
            bytes.iter().fold("41".to_owned(), |text, byte| format!("{text}{byte:02x}"))
        }
        other => panic!("{other}"),
    };
    let events = all_events(store, &watch("address_activity", json!({"addresses": [hex], "direction": "in"})));
    assert_eq!(fields(&events, "matched_address"), [address(Chain::TRON, 2).to_string()].map(Value::from));
    assert_eq!(fields(&events, "amount"), ["3"]);
}

#[test]
fn what_a_later_source_adds_to_a_transaction_is_told_and_nothing_else_of_it() {
    let mut store = store();
    store.begin_events();
    store.commit(Chainlet::ethereum().transfer(1, 2, 10).batch(), &Cancel::new()).unwrap();
    store.commit(Chainlet::ethereum().transfer(1, 2, 10).internal(2, 1, 4).batch(), &Cancel::new()).unwrap();
    let spend = Chainlet::bitcoin().at_block(9).spend(&[(3, 0, 0)], &[(5, 40)]);
    store.commit(spend.batch(), &Cancel::new()).unwrap();
    store.commit(Chainlet::bitcoin().at_block(3).mine(4, 50).batch(), &Cancel::new()).unwrap();
    let store = shared(store);
    let events = feeds::events_from(&store, &watch("address_activity", json!({"addresses": [account(1)]})), 0);
    assert_eq!(fields(&events, "transfer_type"), ["native", "internal"]);
    let named = |number| address(Chain::BITCOIN, number).to_string();
    let events = feeds::events_from(&store, &watch("address_activity", json!({"addresses": [named(4), named(5)]})), 0);
    // 5 was paid 40; 4 was paid 50; then it is known that 4 paid the 40.
    assert_eq!(fields(&events, "matched_address"), [named(5), named(4), named(4)].map(Value::from));
    assert_eq!(fields(&events, "amount_raw"), ["40", "50", "50"]);
    assert_eq!(fields(&events, "action"), ["receive", "receive", "send"]);
}

#[test]
fn a_fee_told_with_later_movements_is_another_event_than_its_transaction() {
    let mut store = store();
    store.begin_events();
    let mut commit = |chain: Chainlet| store.commit(chain.batch(), &Cancel::new()).unwrap();
    let wei = |number| Chainlet::ethereum().at_block(number);
    commit(wei(5).transfer(9, 1, 100));
    commit(wei(6).transfer(1, 2, 50));
    commit(wei(7).transfer(9, 1, 20));
    commit(wei(6).transfer(1, 2, 50).internal(2, 3, 4).fee(15));
    let threshold = json!({"contract": "native", "amount": "0.00000000000000006"});
    let watched = watch("balance_threshold", json!({"addresses": [account(1)], "threshold": threshold}));
    let events = all_events(store, &watched);
    assert_eq!(fields(&events, "balance_raw"), ["100", "50", "70", "55"]);
    assert_eq!(fields(&events, "block_number"), [5, 6, 7, 6]);
    assert_ne!(events[1].id, events[3].id);
}

#[test]
fn subscriptions_are_checked_and_say_what_they_mean() {
    let store = shared(store());
    let ledger = headwater_ledger::read::Generations::current(&*store).unwrap();
    let refused = |event: &str, filters: Value| match Subscription::parse(event, &filters, &*ledger) {
        Err(error) => match error.kind {
            ErrorKind::InvalidInput(reason) => (reason, error.field.unwrap()),
            kind => panic!("{kind:?}"),
        },
        Ok(_) => panic!("{event} {filters}"),
    };
    let activity = |filters| refused("address_activity", filters);
    assert_eq!(refused("earthquake", Value::Null), (Reason::InvalidValue, "event_type".to_owned()));
    assert_eq!(activity(json!([])), (Reason::InvalidType, "filters".to_owned()));
    assert_eq!(activity(json!({"blockchain": "solana"})), (Reason::UnsupportedChain, "filters.blockchain".to_owned()));
    assert_eq!(
        activity(json!({"addresses": [account(1), "x"]})),
        (Reason::InvalidAddress, "filters.addresses[1]".to_owned())
    );
    let tron = address(Chain::TRON, 1).to_string();
    assert_eq!(activity(json!({"blockchain": "ethereum", "addresses": [tron]})).0, Reason::InvalidAddress);
    let many = vec![account(1); 10_001];
    assert_eq!(activity(json!({"addresses": many})), (Reason::TooManyItems, "filters.addresses".to_owned()));
    assert_eq!(
        activity(json!({"symbols": ["usdt", "gold"]})),
        (Reason::UnknownSymbol, "filters.symbols[1]".to_owned())
    );
    assert_eq!(activity(json!({"contracts": ["0x12"]})), (Reason::InvalidContract, "filters.contracts[0]".to_owned()));
    assert_eq!(activity(json!({"min_amount_usd": -1})), (Reason::InvalidValue, "filters.min_amount_usd".to_owned()));
    assert_eq!(
        activity(json!({"min_confirmations": 1001})),
        (Reason::InvalidValue, "filters.min_confirmations".to_owned())
    );
    assert_eq!(activity(json!({"direction": "up"})).1, "filters.direction");
    let threshold =
        |threshold: Value| refused("balance_threshold", json!({"addresses": [account(1)], "threshold": threshold}));
    assert_eq!(threshold(Value::Null), (Reason::MissingField, "filters.threshold".to_owned()));
    assert_eq!(threshold(json!({"amount": 1})), (Reason::MissingField, "filters.threshold.symbol".to_owned()));
    assert_eq!(threshold(json!({"symbol": "eth"})), (Reason::MissingField, "filters.threshold.amount".to_owned()));
    assert_eq!(threshold(json!({"symbol": "eth", "contract": "native", "amount": 1})).1, "filters.threshold.contract");
    assert_eq!(threshold(json!({"symbol": "eth", "amount": "-1"})).1, "filters.threshold.amount");

    let parsed = |event: &str, filters: Value| {
        let (subscription, warnings) = Subscription::parse(event, &filters, &*ledger).unwrap();
        let told: Vec<_> =
            warnings.into_iter().map(|warning| (warning.code, warning.field.unwrap_or_default())).collect();
        let kept = subscription.to_json();
        assert_eq!(Subscription::restore(event, &kept, &*ledger).unwrap().to_json(), kept);
        (kept, told)
    };
    let (large, told) = parsed("large_transfer", Value::Null);
    assert!(told.is_empty());
    assert_eq!((&large["min_amount_usd"], &large["blockchain"]), (&json!(100_000.0), &Value::Null));
    let warned = |code: &str, field: &str| vec![(code.to_owned(), field.to_owned())];
    assert_eq!(parsed("address_activity", Value::Null).1, warned("no_addresses", "filters.addresses"));
    assert_eq!(parsed("risk_alert", json!({})).1, warned("no_addresses", "filters.addresses"));
    let unknown = Subscription::parse("large_transfer", &json!({"symbol": []}), &*ledger).unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::InvalidInput(Reason::UnknownField));
    assert_eq!(
        (unknown.field.as_deref(), &unknown.candidates[..]),
        (Some("filters.symbol"), &["symbols".to_owned()][..])
    );
    assert_eq!(parsed("large_transfer", json!({"labels": ["x"]})).1, warned("unknown_label", "filters.labels"));
    assert!(parsed("large_transfer", json!({"labels": ["mixer"]})).1.is_empty());
    let (kept, _) = parsed(
        "address_activity",
        json!({"addresses": [account(2).to_uppercase().replace("0X", "0x"), account(1), account(1)]}),
    );
    assert_eq!(kept["addresses"], json!([account(1), account(2)]));
    let (kept, _) =
        parsed("balance_threshold", json!({"addresses": [account(1)], "threshold": {"symbol": "ETH", "amount": 1.50}}));
    assert_eq!(kept["threshold"], json!({"symbol": "eth", "amount": "1.5", "crossing": "both"}));
    // A symbol that is in no registry any longer is still read.
    let lost = json!({"symbols": ["gold"], "addresses": [account(1)]});
    assert_eq!(
        Subscription::restore("address_activity", &lost, &*ledger).unwrap().to_json()["symbols"],
        json!(["gold"])
    );
    let names: BTreeSet<_> = EventType::all().map(EventType::name).collect();
    assert_eq!(names.len(), EventType::all().count(), "a name is unique");
}

#[test]
fn filters_as_people_type_them_are_kept_in_canonical_form() {
    let store = shared(store());
    let ledger = headwater_ledger::read::Generations::current(&*store).unwrap();
    let placeholder = format!("0x{}", "Ee".repeat(20));
    let filters = json!({"blockchain": "ETH", "contracts": [placeholder], "min_amount_usd": "250000.50"});
    let (subscription, warnings) = Subscription::parse("large_transfer", &filters, &*ledger).unwrap();
    let kept = subscription.to_json();
    assert_eq!((&kept["blockchain"], &kept["contracts"]), (&json!("ethereum"), &json!([null])));
    assert_eq!(kept["min_amount_usd"], json!(250_000.5));
    let told: Vec<_> = warnings.iter().map(|warning| (warning.code.as_str(), warning.field.as_deref())).collect();
    assert_eq!(told, [("native_placeholder", Some("filters.contracts[0]"))]);
    let threshold = json!({"contract": placeholder, "amount": "1"});
    let filters = json!({"addresses": [account(1)], "threshold": threshold});
    let (subscription, _) = Subscription::parse("balance_threshold", &filters, &*ledger).unwrap();
    assert_eq!(subscription.to_json()["threshold"]["contract"], "native");
    for (address, end) in [
        (account(1).replacen("0x", "", 1), format!("; GET /v1/addresses/resolve?q=... repairs it: {}", account(1))),
        ("vitalik.eth".to_owned(), "; names (ENS and others) are not resolved here: give the 0x address".to_owned()),
    ] {
        let refused = Subscription::parse("address_activity", &json!({"addresses": [address]}), &*ledger).unwrap_err();
        let expected = format!("filters.addresses[0]: {address:?} is not a valid address of a supported chain{end}");
        assert_eq!(refused.message, expected);
    }
}

#[test]
fn a_position_that_is_not_kept_or_not_reached_is_said_to_be_so() {
    let store = shared(two_blocks());
    let mut ahead = Follower::new(store.clone(), 3);
    let error = ahead.next_steps(10).map(|steps| steps.len()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::InvalidValue));
    let mut there = follower(&store, 2);
    assert!(there.next_steps(10).unwrap().is_empty());
    let mut from_one = follower(&store, 1);
    assert_eq!(from_one.next_steps(10).unwrap().len(), 1);
    assert_eq!((from_one.position(), from_one.kept().unwrap()), (2, (1, 2)));
    // A watcher is shown every item, in order.
    let mut steps = follower(&store, 0);
    let steps = steps.next_steps(10).unwrap();
    let mut watcher = Watcher::new(watch("large_transfer", Value::Null), 0);
    assert!(watcher.advance(&steps[1]).is_err());
    watcher.advance(&steps[0]).unwrap();
    watcher.advance(&steps[0]).unwrap();
    watcher.advance(&steps[1]).unwrap();
    assert_eq!(watcher.position(), 2);
    assert_eq!(steps[0].item().hash, Some(block_hash(5, 1)));
}
