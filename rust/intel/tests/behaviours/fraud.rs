//! Deceit.

use headwater_intel::behaviour::Behaviour::{Dusting, PoisoningTarget, PonziPayout};

use crate::behaviours::case::{ALMOST, Case, DAY, LOOKALIKE, NOTHING, Row, row};

/// `count` get `amount`, the last of them at a second.
fn dust(count: i64, amount: &'static str, last: i64) -> Vec<Row> {
    let secs = |n: i64| if n + 1 == count { last } else { n };
    (0..count).map(|n| row(secs(n), "out", 100 + n, "usdt", amount)).collect()
}

#[test]
fn dusting_reaches_a_hundred_a_day() {
    let found = Case::of(dust(100, "0.99", DAY)).find(Dusting);
    let shown = "by 1 2 3 4 5 6 7 8 9 10";
    assert_eq!(found, format!("0 x1 0..86400 in 86400: recipients 100, median_usd 0.99 {shown}"));
    // (345 - 100) / 4,900.
    let found = Case::of(dust(345, "0.01", 400)).find(Dusting);
    assert_eq!(found, format!("0.05 x1 0..400 in 86400: recipients 345, median_usd 0.01 {shown}"));

    assert_eq!(Case::of(dust(99, "0.99", DAY)).find(Dusting), NOTHING, "99");
    assert_eq!(Case::of(dust(100, "0.99", DAY + 1)).find(Dusting), NOTHING, "a day and a second");
    assert_eq!(Case::of(dust(100, "1", DAY)).find(Dusting), NOTHING, "a dollar each");
    let reply = [row(2 * DAY, "in", 110, "usdt", 50)];
    assert_eq!(Case::of(dust(100, "0.99", DAY).into_iter().chain(reply)).find(Dusting), NOTHING, "one replies");
    let again = dust(99, "0.5", 98).into_iter().chain([row(99, "out", 100, "usdt", "0.5")]);
    assert_eq!(Case::of(again).find(Dusting), NOTHING, "100 to 99");
}

/// 500 USDT are paid to account 7, and later something comes to pass.
fn paid_and_then(bait: Row) -> String {
    Case::of([row(0, "out", 7, "usdt", 500), bait]).find(PoisoningTarget)
}

#[test]
fn poisoning_target_sees_a_lookalike() {
    let twin = 7 + LOOKALIKE;
    let found = |secs: i64| format!("1 x1 {secs}..{secs} in 86400: count 1, lookalikes #10007 by 2");
    // What a third party makes the address "send", a little money, and a counterfeit token, either way.
    for bait in [
        row(DAY, "out", twin, "usdt", 0),
        row(DAY, "in", twin, "usdt", "0.99"),
        row(DAY, "in", twin, "fake", 500),
        row(DAY, "out", twin, "fake", 500),
    ] {
        assert_eq!(paid_and_then(bait), found(DAY));
    }
    assert_eq!(paid_and_then(row(DAY + 1, "out", twin, "usdt", 0)), NOTHING, "a day and a second");
    assert_eq!(paid_and_then(row(DAY, "in", twin, "usdt", 1)), NOTHING, "a dollar");
    assert_eq!(paid_and_then(row(DAY, "out", 7 + ALMOST, "usdt", 0)), NOTHING, "three last characters");
    assert_eq!(paid_and_then(row(DAY, "out", 8 + LOOKALIKE, "usdt", 0)), NOTHING, "two first characters");
    assert_eq!(paid_and_then(row(DAY, "out", 7, "usdt", 0)), NOTHING, "the true recipient");
}

#[test]
fn poisoning_target_counts_each_bait() {
    let twin = 7 + LOOKALIKE;
    let rows = [
        row(0, "out", 7, "usdt", 500),
        row(10, "out", twin, "usdt", 0),
        row(20, "in", twin, "fake", 500),
        row(DAY, "out", 7, "usdt", 500),
        row(DAY + 30, "in", twin, "usdt", "0.01"),
    ];
    let found = "1 x3 10..86430 in 86400: count 3, lookalikes #10007 by 2 3 5";
    assert_eq!(Case::of(rows).find(PoisoningTarget), found);
    // Bait before the payment is none, nor after a payment that was itself bait.
    let rows = [row(0, "out", twin, "usdt", 0), row(10, "out", 7, "usdt", 500)];
    assert_eq!(Case::of(rows).find(PoisoningTarget), NOTHING);
    let rows = [row(0, "out", 7, "usdt", 0), row(10, "out", twin, "usdt", 0)];
    assert_eq!(Case::of(rows).find(PoisoningTarget), NOTHING);
}

/// So many pay 100 each, one every 100 s, the first at second 100; after second 10,000 each of these accounts is paid
/// `each`.
fn scheme(payers: i64, each: i64, payouts: impl IntoIterator<Item = i64>) -> String {
    let came = (1..=payers).map(|n| row(n * 100, "in", 100 + n, "usdt", 100));
    let paid = payouts.into_iter().zip(10_000..).map(|(to, secs)| row(secs, "out", to, "usdt", each));
    Case::of(came.chain(paid)).find(PonziPayout)
}

#[test]
fn ponzi_payout_pays_early_payers_with_late_money() {
    // Ten of the first payers get 110 each: all payouts go to earlier payers, and after each of them 4,000 or more came.
    // Concentration of payouts 10 x 0.1^2 = 0.1, of payments 50 x 0.02^2 = 0.02.
    let shown = "by 51 52 53 54 55 56 57 58 59 60";
    let found = format!("1 x1 10000..10009: payers 50, overlap 1, hhi 0.1 {shown}");
    assert_eq!(scheme(50, 110, 101..=110), found);
    assert_eq!(scheme(49, 110, 101..=110), NOTHING, "49 payers");
    assert_eq!(scheme(50, 100, 101..=110), NOTHING, "nobody gets more than they paid");
    // Six of ten go to payers, the other four to strangers; 6 x (1/6)^2 among the payers.
    let found = "1 x1 10000..10005: payers 50, overlap 0.6, hhi 0.166667 by 51 52 53 54 55 56";
    assert_eq!(scheme(50, 110, (101..=106).chain(901..=904)), found);
    assert_eq!(scheme(50, 110, (101..=105).chain(901..=905)), NOTHING, "half go to payers");
}

#[test]
fn ponzi_payout_is_covered_and_concentrated() {
    // Nobody paid after account 150: what it gets, three times of ten, is not covered; two times are a fifth.
    assert_eq!(scheme(50, 110, (101..=107).chain([150; 3])), NOTHING, "seven of ten are covered");
    assert_ne!(scheme(50, 110, (101..=108).chain([150; 2])), NOTHING, "eight of ten are covered");
    // Of n equal payouts 1/n: 1/24 is more than twice 1/50, 1/26 is less.
    assert_ne!(scheme(50, 110, 101..=124), NOTHING);
    assert_eq!(scheme(50, 110, 101..=126), NOTHING);
}
