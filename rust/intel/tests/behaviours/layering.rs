//! Ways that hide where money comes from, and trades.

use headwater_intel::behaviour::Behaviour::{AssetHopping, BridgeHopping, MevBot};
use headwater_ledger::labels::Code;

use crate::behaviours::case::{Case, DAY, HOUR, NOTHING, Row, number, row};

const FIRST: i64 = 31;
const SECOND: i64 = 32;
const ROUTER: i64 = 5;

/// 1,000 USDT come, and go into bridges at second 0 and later; the last of them at `last`.
fn bridged(into: &[i64], each: &str, last: i64) -> Case {
    let came = [row(0, "in", 2, "usdt", 1_000)];
    let secs = |place: usize| if place + 1 == into.len() { last } else { number(place) };
    let sent = into.iter().enumerate().map(|(place, bridge)| row(secs(place), "out", *bridge, "usdt", each));
    let case = Case::of(came.into_iter().chain(sent));
    case.known(FIRST, Code::Bridge, Some("Hop")).known(SECOND, Code::Bridge, Some("Across"))
}

#[test]
fn bridge_hopping_uses_several_bridges() {
    // 750 of 1,000 USD in three deposits, within exactly a day.
    let found = bridged(&[FIRST, SECOND, FIRST], "250", DAY).find(BridgeHopping);
    assert_eq!(found, "0 x1 0..86400 in 86400: bridges #31+#32, deposits 3, usd 750 by 2 3 4");
    // (5 - 3) / 5.
    let found = bridged(&[FIRST, SECOND, FIRST, FIRST, FIRST], "140", 100).find(BridgeHopping);
    assert_eq!(found, "0.4 x1 0..100 in 86400: bridges #31+#32, deposits 5, usd 700 by 2 3 4 5 6");
}

#[test]
fn bridge_hopping_twins_are_innocent() {
    assert_eq!(bridged(&[FIRST, SECOND], "500", 100).find(BridgeHopping), NOTHING, "two deposits");
    assert_eq!(bridged(&[FIRST, SECOND, FIRST], "250", DAY + 1).find(BridgeHopping), NOTHING, "a day and a second");
    assert_eq!(bridged(&[FIRST; 3], "250", DAY).find(BridgeHopping), NOTHING, "one bridge");
    assert_eq!(bridged(&[FIRST, SECOND, FIRST], "233.33", DAY).find(BridgeHopping), NOTHING, "699.99 USD");
    assert_ne!(bridged(&[FIRST, SECOND, FIRST], "233.34", DAY).find(BridgeHopping), NOTHING, "700.02 USD");
    let two_doors = bridged(&[FIRST, 33, FIRST], "250", DAY).known(33, Code::Bridge, Some("Hop"));
    assert_eq!(two_doors.find(BridgeHopping), NOTHING, "two addresses of one bridge");
    let nameless = bridged(&[FIRST, 33, FIRST], "250", DAY).known(33, Code::Bridge, None);
    assert_ne!(nameless.find(BridgeHopping), NOTHING, "an address of a bridge without a name");
    assert_eq!(bridged(&[40, 41, 42], "250", DAY).find(BridgeHopping), NOTHING, "no bridges");
}

/// One asset given for another in one transaction.
fn swap(secs: i64, gave: (&'static str, &str), got: (&'static str, &str)) -> [Row; 2] {
    [row(secs, "out", ROUTER, gave.0, gave.1), row(secs, "+in", ROUTER, got.0, got.1)]
}

/// USDT into WETH, into WBTC, into DAI: the last swap at a second.
fn three_swaps(last: i64) -> Vec<Row> {
    let swaps = [
        swap(0, ("usdt", "4000"), ("weth", "2")),
        swap(HOUR, ("weth", "2"), ("wbtc", "0.4")),
        swap(last, ("wbtc", "0.4"), ("dai", "3900")),
    ];
    swaps.into_iter().flatten().collect()
}

#[test]
fn asset_hopping_swaps_and_leaves() {
    // 3,120 of 3,900 DAI, which is 0.8, leave within exactly a day.
    let leaves = |secs: i64, amount: &str| {
        Case::of(three_swaps(DAY).into_iter().chain([row(DAY + secs, "out", 3, "dai", amount)])).find(AssetHopping)
    };
    assert_eq!(leaves(DAY, "3120"), "1 x1 0..172800 in 86400: swaps 3, assets 4, forwarded_ratio 0.8 by 1 2 3 4");

    assert_eq!(leaves(DAY + 1, "3120"), NOTHING, "on after a day and a second");
    assert_eq!(leaves(DAY, "3119.99"), NOTHING, "a cent less than 80 %");
    let late = three_swaps(DAY + 1).into_iter().chain([row(DAY + 2, "out", 3, "dai", 3_900)]);
    assert_eq!(Case::of(late).find(AssetHopping), NOTHING, "swaps over a day and a second");
    let two = three_swaps(DAY).into_iter().take(4).chain([row(DAY, "out", 3, "wbtc", "0.4")]);
    assert_eq!(Case::of(two).find(AssetHopping), NOTHING, "two swaps");
    let other = three_swaps(DAY).into_iter().chain([row(DAY + 1, "out", 3, "usdc", 3_900)]);
    assert_eq!(Case::of(other).find(AssetHopping), NOTHING, "another asset leaves");
}

#[test]
fn asset_hopping_counts_all_swaps_of_the_day() {
    let fourth = swap(DAY, ("dai", "3900"), ("usdc", "3890"));
    let rows = three_swaps(2 * HOUR).into_iter().chain(fourth).chain([row(DAY + 60, "out", 3, "usdc", 3_890)]);
    let found = Case::of(rows).find(AssetHopping);
    assert_eq!(found, "1 x1 0..86460 in 86400: swaps 4, assets 5, forwarded_ratio 1 by 1 2 3 4 5");
}

#[test]
fn asset_hopping_is_not_trading() {
    // Who swaps on and on keeps the money.
    let round = |n: i64| three_swaps(2 * HOUR).into_iter().map(move |row| row.later(n * 4 * HOUR));
    let back = |n: i64| swap((n * 4 + 3) * HOUR, ("dai", "3900"), ("usdt", "3900"));
    let rows = (0..5).flat_map(|n| round(n).chain(back(n)));
    assert_eq!(Case::of(rows).find(AssetHopping), NOTHING);
    // What left in the block of the last swap, before it, is not what the swap brought.
    let [last_out, last_in] = swap(2 * HOUR, ("wbtc", "0.4"), ("dai", "3900"));
    let before = [row(2 * HOUR, "out", 3, "dai", 3_900), last_out, last_in];
    let rows = three_swaps(2 * HOUR).into_iter().take(4).chain(before);
    assert_eq!(Case::of(rows).find(AssetHopping), NOTHING);
}

#[test]
fn asset_hopping_is_not_forged_with_counterfeit_tokens() {
    // Anybody can write movements of a token of their own into the history of the address.
    let swaps = (0..5).flat_map(|n| swap(n * HOUR, ("usdt", "0"), ("fake", "100")));
    let forged = (0..5).flat_map(|n| swap(n * HOUR, ("fake", "100"), ("usdt", "0.01")));
    let gone = [row(5 * HOUR, "out", 3, "fake", 100), row(5 * HOUR, "out", 3, "usdt", 100)];
    for rows in [swaps.collect::<Vec<_>>(), forged.collect()] {
        assert_eq!(Case::of(rows.into_iter().chain(gone.clone())).find(AssetHopping), NOTHING);
    }
}

/// `count` transactions by which 1 WETH leaves and `back` comes, an hour apart, the last at a second.
fn arbitrage(count: i64, back: &str, last: i64) -> Case {
    let secs = |n: i64| if n + 1 == count { last } else { n * HOUR };
    Case::of((0..count).flat_map(|n| swap(secs(n), ("weth", "1"), ("weth", back))))
}

#[test]
fn mev_bot_gains_within_transactions() {
    let found = arbitrage(50, "1.01", 7 * DAY).find(MevBot);
    assert_eq!(found, "1 x50 0..604800: count 50 by 1 2 3 4 5 6 7 8 9 10");

    assert_eq!(arbitrage(49, "1.01", 7 * DAY).find(MevBot), NOTHING, "49 of them");
    assert_eq!(arbitrage(50, "1.01", 7 * DAY - 1).find(MevBot), NOTHING, "a second less than a week");
    assert_eq!(arbitrage(50, "1", 7 * DAY).find(MevBot), NOTHING, "no gain");
    let trades = (0..60).flat_map(|n| swap(n * 4 * HOUR, ("usdt", "2000"), ("weth", "1")));
    assert_eq!(Case::of(trades).find(MevBot), NOTHING, "another asset comes back");
    let apart =
        (0..60).flat_map(|n| [row(n * 4 * HOUR, "out", ROUTER, "weth", 1), row(n * 4 * HOUR, "in", ROUTER, "weth", 2)]);
    assert_eq!(Case::of(apart).find(MevBot), NOTHING, "two transactions of one block");
    let counterfeit = (0..60).flat_map(|n| swap(n * 4 * HOUR, ("fake", "1"), ("fake", "2")));
    assert_eq!(Case::of(counterfeit).find(MevBot), NOTHING, "counterfeit tokens");
}
