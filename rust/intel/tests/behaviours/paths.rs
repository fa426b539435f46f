//! Ways of money over others.

use headwater_intel::behaviour::Behaviour::{LayeringHop, PeelChain, RoundTrip, ScatterGather};
use headwater_ledger::labels::Code;

use crate::behaviours::case::{Case, DAY, DEFERRED, HOUR, NOTHING, Row, SUBJECT, number, paid, row};

const SINK: i64 = 99;

/// So many intermediaries get 300 USDT each at seconds 0, 1, ... and each pays an amount to the sink so many seconds later.
fn gathered(count: i64, amount: &str, later: i64) -> Vec<Row> {
    let out = (0..count).map(|n| row(n, "out", 10 + n, "usdt", 300));
    out.chain((0..count).map(|n| paid(n + later, 10 + n, SINK, "usdt", amount))).collect()
}

#[test]
fn scatter_gather_comes_together_at_one_address() {
    let found = Case::sorted(gathered(5, "210", 3 * DAY)).look(ScatterGather);
    let via = "via #10+#11+#12+#13+#14, sink #99, ratio 0.7, usd 1500";
    assert_eq!(found, format!("1 x1 0..259204 in 259200: intermediaries 5, {via} by 1 2 3 4 5 6 7 8 9 10"));
}

#[test]
fn scatter_gather_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::sorted(rows).look(ScatterGather);
    assert_eq!(look(gathered(4, "300", DAY)), NOTHING, "four intermediaries");
    assert_eq!(look(gathered(5, "209.99", DAY)), NOTHING, "a cent less than 70 %");
    assert_eq!(look(gathered(5, "300", 3 * DAY + 1)), NOTHING, "three days and a second");
    let small = (0..5).flat_map(|n| [row(n, "out", 10 + n, "usdt", "199.99"), paid(n + 9, 10 + n, SINK, "usdt", 199)]);
    assert_eq!(look(small.collect()), NOTHING, "999.95 USD");
    let apart = |gap: i64| {
        (0..5)
            .flat_map(move |n| [row(n * gap, "out", 10 + n, "usdt", 300), paid(n * gap + 9, 10 + n, SINK, "usdt", 300)])
    };
    assert_eq!(look(apart(64_801).collect()), NOTHING, "paid out over more than three days");
    assert_ne!(look(apart(64_800).collect()), NOTHING, "paid out over three days");
    let other = (0..5).flat_map(|n| [row(n, "out", 10 + n, "usdt", 300), paid(n + 9, 10 + n, SINK, "usdc", 300)]);
    assert_eq!(look(other.collect()), NOTHING, "another asset");
    let back = (0..5).flat_map(|n| [row(n, "out", 10 + n, "usdt", 300), paid(n + 9, 10 + n, SUBJECT, "usdt", 300)]);
    assert_eq!(look(back.collect()), NOTHING, "back to the address itself");
    let before = (0..5).flat_map(|n| [paid(n, 10 + n, SINK, "usdt", 300), row(9, "out", 10 + n, "usdt", 300)]);
    assert_eq!(look(before.collect()), NOTHING, "paid before");
    let apart = (0..5).flat_map(|n| [row(n, "out", 10 + n, "usdt", 300), paid(n + 9, 10 + n, 90 + n, "usdt", 300)]);
    assert_eq!(look(apart.collect()), NOTHING, "five sinks");
    let exchange = Case::sorted(gathered(5, "210", DAY)).known(SINK, Code::Exchange, Some("Kraken"));
    assert_eq!(exchange.look(ScatterGather), NOTHING, "an exchange");
}

#[test]
fn scatter_gather_is_deferred_beyond_the_limits() {
    let case = || Case::sorted(gathered(5, "210", DAY));
    assert_eq!(case().reading(|limits| limits.most_addresses = 4).look(ScatterGather), DEFERRED, "four may be read");
    assert_ne!(case().reading(|limits| limits.most_addresses = 5).look(ScatterGather), DEFERRED, "five may be read");
    // Each has two movements, the sink five.
    assert_eq!(case().reading(|limits| limits.most_transfers = 4).look(ScatterGather), DEFERRED, "a hub as sink");
    assert_eq!(case().reading(|limits| limits.most_transfers = 1).look(ScatterGather), DEFERRED, "hubs in between");
    assert_eq!(case().reading(|limits| limits.most_movements = 9).look(ScatterGather), DEFERRED, "nine movements");
    assert_ne!(case().reading(|limits| limits.most_movements = 10).look(ScatterGather), DEFERRED, "ten movements");
    // Four intermediaries decide it without reading anybody.
    let four = Case::sorted(gathered(4, "300", DAY)).reading(|limits| limits.most_addresses = 0);
    assert_eq!(four.look(ScatterGather), NOTHING);
}

/// Accounts in a row, of which the first gets 1,000 USDT at second 0. Each peels off a part and passes on the rest,
/// `gap` seconds after it got it.
fn peeled(row: &[i64], peel: f64, gap: i64) -> Vec<Row> {
    let mut rows = vec![paid(0, 2, row[0], "usdt", 1_000)];
    let mut held = 1_000.0;
    for (place, pair) in row.windows(2).enumerate() {
        let when = number(place + 1) * gap;
        rows.push(paid(when - 1, pair[0], 50 + number(place), "usdt", format!("{:.6}", held * peel)));
        held *= 1.0 - peel;
        rows.push(paid(when, pair[0], pair[1], "usdt", format!("{held:.6}")));
    }
    rows
}

const CHAIN: [i64; 6] = [20, 21, SUBJECT, 22, 23, 24];

#[test]
fn peel_chain_is_seen_from_each_hop() {
    // 200 + 160 + 128 + 102.4 + 81.92 are peeled off.
    let found = Case::of(peeled(&CHAIN, 0.2, DAY)).look(PeelChain);
    let chain = "chain #20>#21>#1>#22>#23, hops 5, peeled_usd 672.32";
    assert_eq!(found, format!("0 x1 0..432000 in 259200: {chain} by 3 5 7 9 11"));
    let first = Case::of(peeled(&[SUBJECT, 21, 20, 22, 23, 24], 0.2, DAY)).look(PeelChain);
    assert!(first.contains("chain #1>#21>#20>#22>#23, hops 5"), "{first}");
    let last = Case::of(peeled(&[20, 21, 22, 23, SUBJECT, 24], 0.2, DAY)).look(PeelChain);
    assert!(last.contains("chain #20>#21>#22>#23>#1, hops 5"), "{last}");
    // (8 - 5) / 15.
    let longer = Case::of(peeled(&[20, 21, SUBJECT, 22, 23, 24, 25, 26, 27], 0.02, 3 * DAY)).look(PeelChain);
    assert!(longer.starts_with("0.2 x1 0.."), "{longer}");
}

#[test]
fn peel_chain_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::sorted(rows).look(PeelChain);
    assert_eq!(look(peeled(&[20, SUBJECT, 22, 23, 24], 0.2, DAY)), NOTHING, "four hops");
    assert_eq!(look(peeled(&CHAIN, 0.2, 3 * DAY + 1)), NOTHING, "three days and a second");
    assert_ne!(look(peeled(&CHAIN, 0.2, 3 * DAY)), NOTHING, "three days");
    assert_eq!(look(peeled(&CHAIN, 0.301, DAY)), NOTHING, "69.9 % passed on");
    assert_ne!(look(peeled(&CHAIN, 0.3, DAY)), NOTHING, "70 % passed on");
    assert_eq!(look(peeled(&CHAIN, 0.009, DAY)), NOTHING, "99.1 % passed on");
    let used = peeled(&CHAIN, 0.2, DAY).into_iter().chain([paid(5, 3, 22, "usdt", 1)]);
    assert_eq!(look(used.collect()), NOTHING, "a recipient that was used before");
    let ends = peeled(&[20, 21, 22, 23, 24, SUBJECT], 0.2, DAY);
    assert_eq!(look(ends), NOTHING, "the end of a chain passes nothing on");
}

#[test]
fn peel_chain_is_deferred_beyond_the_limits() {
    let case = || Case::of(peeled(&CHAIN, 0.2, DAY));
    assert_eq!(case().reading(|limits| limits.most_addresses = 2).look(PeelChain), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_lookups = 2).look(PeelChain), DEFERRED);
    let person = Case::of([row(0, "in", 2, "usdt", 500), row(9 * DAY, "out", 3, "usdt", 400)]);
    assert_eq!(person.reading(|limits| limits.most_addresses = 0).look(PeelChain), NOTHING, "no hop by itself");
}

/// Accounts in a row, of which the first gets 1,000 USDT at second 0, and each passes on nine tenths after `gap` seconds.
fn passed(row: &[i64], share: f64, gap: i64) -> Vec<Row> {
    let mut rows = vec![paid(0, 2, row[0], "usdt", 1_000)];
    let mut held = 1_000.0;
    for (place, pair) in row.windows(2).enumerate() {
        held *= share;
        rows.push(paid(number(place + 1) * gap, pair[0], pair[1], "usdt", format!("{held:.6}")));
    }
    rows
}

#[test]
fn layering_hop_stands_on_a_path_of_young_addresses() {
    let found = Case::of(passed(&[20, SUBJECT, 21, 30], 0.9, DAY)).look(LayeringHop);
    let path = "path #20>#1>#21, length 3, ratios 0.9+0.9+0.9, gaps_s 86400+86400+86400";
    assert_eq!(found, format!("0 x1 0..259200 in 86400: {path} by 2 3 4"));
    let first = Case::of(passed(&[SUBJECT, 20, 21, 30], 0.9, DAY)).look(LayeringHop);
    assert!(first.contains("path #1>#20>#21, length 3"), "{first}");
    let last = Case::of(passed(&[20, 21, SUBJECT, 30], 0.9, DAY)).look(LayeringHop);
    assert!(last.contains("path #20>#21>#1, length 3"), "{last}");
    // (4 - 3) / 5.
    let longer = Case::of(passed(&[20, SUBJECT, 21, 22, 30], 1.0, HOUR)).look(LayeringHop);
    assert!(longer.starts_with("0.2 x1 0..14400"), "{longer}");
}

#[test]
fn layering_hop_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::sorted(rows).look(LayeringHop);
    let way = [20, SUBJECT, 21, 30];
    assert_eq!(look(passed(&[20, SUBJECT, 30], 0.9, DAY)), NOTHING, "two addresses");
    assert_eq!(look(passed(&way, 0.9, DAY + 1)), NOTHING, "a day and a second");
    assert_eq!(look(passed(&way, 0.899, DAY)), NOTHING, "89.9 %");
    let late = |rows: Vec<Row>| rows.into_iter().map(|row| row.later(8 * DAY)).collect::<Vec<_>>();
    // Account 21 passes on at day 11.
    let old = late(passed(&way, 0.9, DAY)).into_iter().chain([paid(4 * DAY - 1, 3, 21, "eth", "0.0001")]);
    assert_eq!(look(old.collect()), NOTHING, "an address that is a week and a second old");
    let young = late(passed(&way, 0.9, DAY)).into_iter().chain([paid(4 * DAY, 3, 21, "eth", "0.0001")]);
    assert_ne!(look(young.collect()), NOTHING, "an address that is a week old");
    let ends = passed(&[20, 21, 22, SUBJECT], 0.9, DAY);
    assert_eq!(look(ends), NOTHING, "the end of a path passes nothing on");
    let mut other = passed(&way, 0.9, DAY);
    other[3] = paid(3 * DAY, 21, 30, "usdc", 729);
    assert_eq!(look(other), NOTHING, "another asset");
}

#[test]
fn layering_hop_is_deferred_beyond_the_limits() {
    let case = || Case::of(passed(&[20, SUBJECT, 21, 30], 0.9, DAY));
    assert_eq!(case().reading(|limits| limits.most_addresses = 1).look(LayeringHop), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_transfers = 1).look(LayeringHop), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_lookups = 0).look(LayeringHop), DEFERRED);
}

/// 1,000 USDT leave at second 0, and `back` comes over others at a second.
fn circle(others: &[i64], back: &str, last: i64) -> Vec<Row> {
    let mut rows = vec![row(0, "out", others[0], "usdt", 1_000)];
    for (place, pair) in others.windows(2).enumerate() {
        rows.push(paid(number(place + 1) * 10, pair[0], pair[1], "usdt", 900));
    }
    rows.push(row(last, "in", others[others.len() - 1], "usdt", back));
    rows
}

#[test]
fn round_trip_comes_back() {
    let found = Case::of(circle(&[20, 21], "800", 7 * DAY)).look(RoundTrip);
    let cycle = "cycle #20>#21>#1, amounts_usd 1000+900+800, hours 168, cycles 1";
    assert_eq!(found, format!("0 x1 0..604800 in 604800: {cycle} by 1 2 3"));
    assert_ne!(Case::of(circle(&[20], "800", DAY)).look(RoundTrip), NOTHING, "two hops");
    let found = Case::of(circle(&[20, 21, 22], "900", DAY)).look(RoundTrip);
    assert!(found.contains("cycle #20>#21>#22>#1, amounts_usd 1000+900+900+900"), "{found}");
    // (2 - 1) / 4.
    let twice = circle(&[20, 21], "900", DAY)
        .into_iter()
        .chain(circle(&[22], "900", DAY).into_iter().map(|row| row.later(DAY)));
    assert!(Case::sorted(twice).look(RoundTrip).starts_with("0.25 x2 0..172800"));
}

#[test]
fn round_trip_twins_are_innocent() {
    let look = |rows: Vec<Row>| Case::sorted(rows).look(RoundTrip);
    assert_eq!(look(circle(&[20, 21], "800", 7 * DAY + 1)), NOTHING, "a week and a second");
    assert_eq!(look(circle(&[20, 21], "799.99", DAY)), NOTHING, "a cent less than 80 %");
    assert_eq!(look(circle(&[20, 21, 22, 23], "900", DAY)), NOTHING, "five hops");
    let small = [row(0, "out", 20, "usdt", "999.99"), row(9, "in", 20, "usdt", 999)];
    assert_eq!(look(small.into()), NOTHING, "999.99 USD");
    let other = [row(0, "out", 20, "usdt", 1_000), row(9, "in", 20, "usdc", 1_000)];
    assert_eq!(look(other.into()), NOTHING, "another asset");
    let mut between = circle(&[20, 21], "900", DAY);
    between[1] = paid(10, 20, 21, "usdt", "799.99");
    assert_eq!(look(between), NOTHING, "less in between");
    let mut early = circle(&[20, 21], "900", 5);
    early[1] = paid(10, 20, 21, "usdt", 900);
    assert_eq!(look(early), NOTHING, "back before it was passed on");
    let swaps = [
        row(0, "out", 20, "usdt", 1_000),
        row(0, "+in", 20, "weth", 1),
        row(9, "out", 20, "weth", 1),
        row(9, "+in", 20, "usdt", 1_000),
    ];
    assert_eq!(look(swaps.into()), NOTHING, "swaps");
    let exchange = Case::of(circle(&[20, 21], "900", DAY)).known(21, Code::ExchangeHotWallet, Some("Kraken"));
    assert_eq!(exchange.look(RoundTrip), NOTHING, "out of an exchange");
}

#[test]
fn round_trip_is_deferred_beyond_the_limits() {
    let case = || Case::of(circle(&[20, 21], "900", DAY));
    assert_eq!(case().reading(|limits| limits.most_addresses = 0).look(RoundTrip), DEFERRED);
    assert_eq!(case().reading(|limits| limits.most_transfers = 1).look(RoundTrip), DEFERRED, "hubs");
    let never = Case::of([row(0, "out", 20, "usdt", 5_000), row(8 * DAY, "in", 21, "usdt", 5_000)]);
    assert_eq!(never.reading(|limits| limits.most_addresses = 0).look(RoundTrip), NOTHING, "nothing comes in time");
}
