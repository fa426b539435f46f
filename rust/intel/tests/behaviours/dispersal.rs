//! From few to many, and from many to few.

use headwater_intel::behaviour::Behaviour::{
    EqualAmountSplit, FanIn, FanOut, GatherScatter, RoundAmounts, Structuring,
};

use crate::behaviours::case::{Case, DAY, NOTHING, Row, number, row};

/// `senders` pay in 3,000 USDT together, one a second until second 10; then `recipients` get `each`, the first at second
/// 100 and the last at `last`.
fn fan_out(senders: i64, recipients: i64, each: &str, last: i64) -> Case {
    let came = (0..senders).map(|n| row(10, "in", 2 + n, "usdt", 3_000 / senders));
    let paid = (0..recipients).map(|n| {
        let secs = if n + 1 == recipients { last } else { 100 + n };
        row(secs, "out", 100 + n, "usdt", each)
    });
    Case::of(came.chain(paid))
}

#[test]
fn fan_out_pays_many_within_a_day() {
    // 20 x 50 within exactly a day, of one source: the threshold.
    let found = fan_out(1, 20, "50", 100 + DAY).find(FanOut);
    let shown = "by 2 3 4 5 6 7 8 9 10 11";
    assert_eq!(found, format!("0 x1 100..86500 in 86400: recipients 20, sources 1, total_usd 1000 {shown}"));
    // (60 - 20) / 80.
    let found = fan_out(1, 60, "50", 200).find(FanOut);
    assert_eq!(found, format!("0.5 x1 100..200 in 86400: recipients 60, sources 1, total_usd 3000 {shown}"));
    // Three sources, for 20 / 3 is more than five.
    assert!(fan_out(3, 20, "50", 200).find(FanOut).contains("recipients 20, sources 3"));
    // Nobody is known to have paid in.
    assert!(fan_out(0, 20, "50", 200).find(FanOut).contains("recipients 20, sources 0"));
}

#[test]
fn fan_out_twins_are_innocent() {
    assert_eq!(fan_out(1, 20, "50", 101 + DAY).find(FanOut), NOTHING, "a day and a second");
    assert_eq!(fan_out(1, 19, "100", 200).find(FanOut), NOTHING, "19 recipients");
    assert_eq!(fan_out(4, 20, "50", 200).find(FanOut), NOTHING, "four sources");
    assert_eq!(fan_out(1, 20, "49.99", 200).find(FanOut), NOTHING, "999.80 USD");
    let fewer = |case: Case| case.with(|rules| rules.fan_out.limits.least_recipients = 14).find(FanOut);
    assert_eq!(fewer(fan_out(3, 14, "100", 200)), NOTHING, "14 recipients are less than five times three sources");
    assert_ne!(fewer(fan_out(3, 15, "100", 200)), NOTHING);
}

#[test]
fn fan_out_again_after_the_first_counts_twice() {
    let first = (0..20).map(|n| row(n, "out", 100 + n, "usdt", 50));
    let second = (0..40).map(|n| row(2 * DAY + n, "out", 200 + n, "usdt", 50));
    let found = Case::of(first.chain(second)).find(FanOut);
    // The second one is the more marked: (40 - 20) / 80; it is what is shown.
    assert!(found.starts_with("0.25 x2 0..172839 in 86400: recipients 40, sources 0, total_usd 2000"), "{found}");
    assert!(found.ends_with("by 21 22 23 24 25 26 27 28 29 30"), "{found}");
}

/// 20 senders pay 100 each, the last of them at `last`; then rows of payments.
fn fan_in(senders: i64, last: i64, paid: impl IntoIterator<Item = Row>) -> Case {
    let came = (0..senders).map(|n| {
        let secs = if n + 1 == senders { last } else { n };
        row(secs, "in", 100 + n, "usdt", 100)
    });
    Case::of(came.chain(paid))
}

#[test]
fn fan_in_collects_for_one_or_two() {
    // 20 within a day; 1,600 of 2,000 go to two, the last a day after the last of the 20.
    let paid = [row(DAY, "out", 2, "usdt", 600), row(2 * DAY, "out", 3, "usdt", 1_000)];
    let found = fan_in(20, DAY, paid).find(FanIn);
    let facts = "senders 20, targets #2+#3, forwarded_ratio 0.8 by 1 2 3 4 5 6 7 8 9 10";
    assert_eq!(found, format!("0 x1 0..86400 in 86400: {facts}"));
    // (60 - 20) / 80.
    let found = fan_in(60, 100, [row(200, "out", 2, "usdt", 6_000)]).find(FanIn);
    let facts = "senders 60, targets #2, forwarded_ratio 1 by 1 2 3 4 5 6 7 8 9 10";
    assert_eq!(found, format!("0.5 x1 0..100 in 86400: {facts}"));
}

#[test]
fn fan_in_twins_are_innocent() {
    let all = |secs| [row(secs, "out", 2, "usdt", 1_600)];
    assert_ne!(fan_in(20, DAY, all(2 * DAY)).find(FanIn), NOTHING);
    assert_eq!(fan_in(19, DAY, all(2 * DAY)).find(FanIn), NOTHING, "19 senders");
    assert_eq!(fan_in(20, DAY + 1, all(2 * DAY)).find(FanIn), NOTHING, "senders over a day and a second");
    assert_eq!(fan_in(20, DAY, all(2 * DAY + 1)).find(FanIn), NOTHING, "on after a day and a second");
    let less = [row(2 * DAY, "out", 2, "usdt", "1599.99")];
    assert_eq!(fan_in(20, DAY, less).find(FanIn), NOTHING, "a cent less than 80 %");
    let three = [2, 3, 4].map(|to| row(2 * DAY, "out", to, "usdt", 600));
    assert_eq!(fan_in(20, DAY, three).find(FanIn), NOTHING, "two of three get 60 %");
    let before = (0..20).map(|n| row(1_000 + n, "in", 100 + n, "usdt", 100));
    let spent = [row(0, "in", 2, "usdt", 2_000), row(10, "out", 3, "usdt", 2_000)];
    assert_eq!(Case::of(spent.into_iter().chain(before)).find(FanIn), NOTHING, "what left before");
}

/// `senders` pay 100 each; `recipients` get `each`, the last of them at `last`.
fn gather_scatter(senders: i64, recipients: i64, each: &str, last: i64) -> String {
    let came = (0..senders).map(|n| row(n, "in", 100 + n, "usdt", 100));
    let paid = (0..recipients).map(|n| {
        let secs = if n + 1 == recipients { last } else { 1_000 };
        row(secs, "out", 200 + n, "usdt", each)
    });
    Case::of(came.chain(paid)).find(GatherScatter)
}

#[test]
fn gather_scatter_takes_from_many_for_many() {
    // 800 of 1,000 go to ten, the last of them two days after the last sender, who came at second 9.
    let last = 9 + 2 * DAY;
    let facts = "senders 10, recipients 10, ratio 0.8 by 1 2 3 4 5 11 12 13 14 15";
    assert_eq!(gather_scatter(10, 10, "80", last), format!("1 x1 0..{last} in 86400: {facts}"));

    assert_eq!(gather_scatter(9, 10, "80", last), NOTHING, "nine senders");
    assert_eq!(gather_scatter(10, 9, "100", last), NOTHING, "nine recipients");
    assert_eq!(gather_scatter(10, 10, "79.99", last), NOTHING, "ten cents less than 80 %");
    assert_eq!(gather_scatter(10, 10, "80", last + 1), NOTHING, "two days and a second");
}

#[test]
fn gather_scatter_gathers_within_a_day() {
    let of = |last: i64| {
        let came = (0..10).map(|n| row(if n == 9 { last } else { 0 }, "in", 100 + n, "usdt", 100));
        let paid = (0..10).map(|n| row(last + 1, "out", 200 + n, "usdt", 80));
        Case::of(came.chain(paid)).find(GatherScatter)
    };
    assert_ne!(of(DAY), NOTHING);
    assert_eq!(of(DAY + 1), NOTHING);
}

/// Movements of these amounts in one direction, the last of them at a second.
fn amounts(way: &'static str, amounts: &[&'static str], last: i64) -> Vec<Row> {
    let secs = |place: usize| if place + 1 == amounts.len() { last } else { number(place) };
    amounts.iter().enumerate().map(|(place, amount)| row(secs(place), way, 2, "usdt", amount)).collect()
}

#[test]
fn structuring_stays_just_below_a_limit() {
    // From 800 to just below 1,000; 4,400 is more than three times 1,000. Five is the threshold.
    let near = ["800", "999.99", "850.01", "850", "900"];
    let found = Case::of(amounts("out", &near, DAY)).find(Structuring);
    assert_eq!(found, "0 x1 0..86400 in 86400: limit_usd 1000, count 5, sum_usd 4400 by 1 2 3 4 5");
    // Eight below 10,000: (8 - 5) / 15.
    let found = Case::of(amounts("in", &["9500"; 8], 100)).find(Structuring);
    assert_eq!(found, "0.2 x1 0..100 in 86400: limit_usd 10000, count 8, sum_usd 76000 by 1 2 3 4 5 6 7 8");
    let found = Case::of(amounts("in", &["2400", "2999.99", "2600", "2600", "2600"], 100)).find(Structuring);
    assert_eq!(found, "0 x1 0..100 in 86400: limit_usd 3000, count 5, sum_usd 13199.99 by 1 2 3 4 5");
}

#[test]
fn structuring_twins_are_innocent() {
    let near = ["900"; 5];
    assert_eq!(Case::of(amounts("out", &near[1..], DAY)).find(Structuring), NOTHING, "four");
    assert_eq!(Case::of(amounts("out", &near, DAY + 1)).find(Structuring), NOTHING, "a day and a second");
    let one_else = |amount| Case::of(amounts("out", &["900", "900", "900", "900", amount], DAY)).find(Structuring);
    assert_eq!(one_else("799.99"), NOTHING, "a cent below the range");
    assert_eq!(one_else("1000"), NOTHING, "the limit itself");
    let both = amounts("in", &near[..3], 2).into_iter().chain(amounts("out", &near[..2], 10).into_iter().skip(1));
    let both = both.chain([row(20, "out", 2, "usdt", 900)]);
    assert_eq!(Case::of(both).find(Structuring), NOTHING, "three in and two out");
    let three = |limits: f64| {
        let case = Case::of(amounts("out", &near[..3], 10));
        let small = case.with(|rules| {
            rules.structuring.limits.least_count = 3;
            rules.structuring.limits.least_limits = limits;
        });
        small.find(Structuring)
    };
    assert_eq!(three(3.0), NOTHING, "2,700 USD are less than three limits");
    assert_ne!(three(2.7), NOTHING);
}

/// So many get an amount of their own, the last at a second.
fn split(paid: &[&'static str], last: i64) -> Vec<Row> {
    let secs = |place: usize| if place + 1 == paid.len() { last } else { number(place) };
    paid.iter().enumerate().map(|(n, amount)| row(secs(n), "out", 10 + number(n), "usdt", amount)).collect()
}

#[test]
fn equal_amount_split_pays_the_same_to_many() {
    // Nine times 100 and 100.10, which is 0.1 % more.
    let mut equal = ["100"; 10];
    equal[4] = "100.1";
    let found = Case::of(split(&equal, DAY)).find(EqualAmountSplit);
    assert_eq!(found, "0 x1 0..86400 in 86400: count 10, recipients 10, amount 100 by 1 2 3 4 5 6 7 8 9 10");
    // (30 - 10) / 40.
    let found = Case::of(split(&["0.5"; 30], 50)).find(EqualAmountSplit);
    assert_eq!(found, "0.5 x1 0..50 in 86400: count 30, recipients 30, amount 0.5 by 1 2 3 4 5 6 7 8 9 10");
}

#[test]
fn equal_amount_split_twins_are_innocent() {
    assert_eq!(Case::of(split(&["100"; 9], DAY)).find(EqualAmountSplit), NOTHING, "nine");
    assert_eq!(Case::of(split(&["100"; 10], DAY + 1)).find(EqualAmountSplit), NOTHING, "a day and a second");
    let mut unequal = ["100"; 10];
    unequal[4] = "100.11";
    assert_eq!(Case::of(split(&unequal, DAY)).find(EqualAmountSplit), NOTHING, "0.11 %");
    let to_nine = split(&["100"; 9], 8).into_iter().chain([row(9, "out", 10, "usdt", 100)]);
    assert_eq!(Case::of(to_nine).find(EqualAmountSplit), NOTHING, "ten to nine");
    let two_assets = (0..10).map(|n| row(n, "out", 10 + n, if n < 5 { "usdt" } else { "usdc" }, 100));
    assert_eq!(Case::of(two_assets).find(EqualAmountSplit), NOTHING, "five of one asset, five of another");
    let came = (0..10).map(|n| row(n, "in", 10 + n, "usdt", 100));
    assert_eq!(Case::of(came).find(EqualAmountSplit), NOTHING, "what came in");
}

#[test]
fn equal_amount_split_counts_each_payment_once() {
    // The lowest ten and the highest ten overlap in nine; still it is one splitting.
    let mut drift = ["100"; 11];
    (drift[0], drift[10]) = ("99.95", "100.06");
    let found = Case::of(split(&drift, 20)).find(EqualAmountSplit);
    assert!(found.contains(" x1 "), "{found}");
    // Two amounts at one time are two.
    let two = split(&["100"; 10], 9).into_iter();
    let two = two.chain((0..10).map(|n| row(10 + n, "out", 30 + n, "usdt", 200)));
    let found = Case::of(two).find(EqualAmountSplit);
    assert!(found.contains(" x2 "), "{found}");
}

#[test]
fn round_amounts_are_most_of_all() {
    let of = |paid: &[&'static str]| Case::of(amounts("out", paid, 100)).find(RoundAmounts);
    // Two significant digits, from 100 on: 6 of 10 is the threshold, 8 is halfway to all.
    let six = ["100", "2500", "99000", "110", "7000", "300", "123", "100.5", "90", "1.5"];
    assert_eq!(of(&six), "0 x1 0..5: share 0.6, count 6 by 1 2 3 4 5 6");
    let eight = ["100", "2500", "99000", "110", "7000", "300", "200", "4000", "90", "123"];
    assert_eq!(of(&eight), "0.5 x1 0..7: share 0.8, count 8 by 1 2 3 4 5 6 7 8");

    let mut fewer = six;
    fewer[5] = "301";
    assert_eq!(of(&fewer), NOTHING, "three digits");
    fewer[5] = "99";
    assert_eq!(of(&fewer), NOTHING, "99 units");
    assert_eq!(of(&["100"; 9]), NOTHING, "nine");
}
