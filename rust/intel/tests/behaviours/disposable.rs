//! Addresses that are used up, and addresses that wake.

use headwater_intel::behaviour::Behaviour::{BurnerWallet, DormantReactivation};

use crate::behaviours::case::{Case, DAY, LOOKALIKE, NOTHING, row};

const WEEK: i64 = 7 * DAY;

/// 10,000 USDT come, `left` leave after `life`, and the data goes on for `silent`.
fn burner(left: &str, life: i64, silent: i64) -> Case {
    Case::of([row(0, "in", 2, "usdt", 10_000), row(life, "out", 3, "usdt", left)]).until(life + silent)
}

#[test]
fn burner_wallet_lives_a_week() {
    // log10(10,000 / 1,000) = 1 of 2.
    let facts = "life_s 604800, tx_count 2, in_usd 10000, residual_usd 0 by 1 2";
    assert_eq!(burner("10000", WEEK, 30 * DAY).find(BurnerWallet), format!("0.5 x1 0..604800: {facts}"));
    let facts = "life_s 604800, tx_count 2, in_usd 10000, residual_usd 100 by 1 2";
    assert_eq!(burner("9900", WEEK, 30 * DAY).find(BurnerWallet), format!("0.5 x1 0..604800: {facts}"));

    assert_eq!(burner("10000", WEEK + 1, 30 * DAY).find(BurnerWallet), NOTHING, "a week and a second");
    assert_eq!(burner("10000", WEEK, 30 * DAY - 1).find(BurnerWallet), NOTHING, "silent for a second less");
    assert_eq!(burner("9899.99", WEEK, 30 * DAY).find(BurnerWallet), NOTHING, "a cent more than 1 % stays");
}

#[test]
fn burner_wallet_moves_little_often_and_much_at_all() {
    let often = |payments: i64, came: i64| {
        let paid = (1..=payments).map(|n| row(n, "out", 3, "usdt", came / payments));
        Case::of([row(0, "in", 2, "usdt", came)].into_iter().chain(paid)).until(31 * DAY).find(BurnerWallet)
    };
    assert_ne!(often(19, 1_900), NOTHING, "20 movements");
    assert_eq!(often(20, 2_000), NOTHING, "21 movements");
    // 1,000 USD are the threshold: log10(1) = 0.
    assert!(often(1, 1_000).starts_with("0 x1 0..1: life_s 1, tx_count 2, in_usd 1000"));
    assert_eq!(often(1, 999), NOTHING);
    // 100,000 are two powers of ten above it.
    assert!(often(1, 100_000).starts_with("1 x1"));
    assert_eq!(Case::of([row(0, "in", 2, "usdt", 5_000)]).until(60 * DAY).find(BurnerWallet), NOTHING);
}

#[test]
fn burner_wallet_is_not_woken_by_what_anybody_can_send() {
    // Bait and unknown tokens reach every address that ever paid.
    let later = [
        row(20 * DAY, "out", 3 + LOOKALIKE, "usdt", 0),
        row(21 * DAY, "in", 3 + LOOKALIKE, "fake", 500),
        row(22 * DAY, "in", 9, "spam", 1),
    ];
    let lived = [row(0, "in", 2, "usdt", 10_000), row(DAY, "out", 3, "usdt", 10_000)];
    let case = Case::of(lived.into_iter().chain(later)).until(31 * DAY);
    let facts = "life_s 86400, tx_count 2, in_usd 10000, residual_usd 0 by 1 2";
    assert_eq!(case.find(BurnerWallet), format!("0.5 x1 0..86400: {facts}"));
    // A listed token is use of the address, though it has no worth here.
    let used = lived_then("wbtc");
    assert_eq!(used.find(BurnerWallet), NOTHING);
}

fn lived_then(asset: &'static str) -> Case {
    let lived = [row(0, "in", 2, "usdt", 10_000), row(DAY, "out", 3, "usdt", 10_000), row(20 * DAY, "in", 4, asset, 1)];
    Case::of(lived).until(40 * DAY)
}

/// `held` USDT come, and `left` of them leave after `gap`.
fn dormant(held: &str, gap: i64, left: &str) -> String {
    Case::of([row(0, "in", 2, "usdt", held), row(gap, "out", 3, "usdt", left)]).find(DormantReactivation)
}

#[test]
fn dormant_reactivation_after_half_a_year() {
    let gap = 180 * DAY;
    let found = "in 259200: gap_days 180, moved_usd 1000, share 0.5 by 2";
    assert_eq!(dormant("2000", gap, "1000"), format!("0 x1 {gap}..{gap} {found}"));
    // 637.5 days lie halfway between 180 and 1,095.
    let halfway = 637 * DAY + DAY / 2;
    let found = "in 259200: gap_days 637.5, moved_usd 2000, share 1 by 2";
    assert_eq!(dormant("2000", halfway, "2000"), format!("0.5 x1 {halfway}..{halfway} {found}"));

    assert_ne!(dormant("1000", gap, "1000"), NOTHING);
    assert_eq!(dormant("2000", gap - 1, "1000"), NOTHING, "a second less");
    assert_eq!(dormant("999.99", gap, "999.99"), NOTHING, "999.99 USD");
    assert_eq!(dormant("2000", gap, "999.99"), NOTHING, "less than half");
}

#[test]
fn dormant_reactivation_leaves_within_three_days() {
    // It wakes with a dollar that comes; 600 leave at once, and 400 after three days.
    let gap = 200 * DAY;
    let woken = |last: i64| {
        let rows = [
            row(0, "in", 2, "usdt", 2_000),
            row(gap, "in", 2, "usdt", 1),
            row(gap + 10, "out", 3, "usdt", 600),
            row(gap + last, "out", 3, "usdt", 400),
        ];
        Case::of(rows).find(DormantReactivation)
    };
    // (200 - 180) / 915.
    let found = "in 259200: gap_days 200, moved_usd 1000, share 0.5 by 2 3 4";
    assert_eq!(woken(3 * DAY), format!("0.021858 x1 {gap}..{} {found}", gap + 3 * DAY));
    assert_eq!(woken(3 * DAY + 1), NOTHING);
}

#[test]
fn dormant_reactivation_counts_what_came_at_its_worth() {
    // 2 ether at 2,000 USD slept; one of them leaves.
    let gap = 180 * DAY;
    let rows = [row(0, "in", 2, "eth", 2), row(gap, "out", 3, "eth", 1)];
    let found = format!("0 x1 {gap}..{gap} in 259200: gap_days 180, moved_usd 2000, share 0.5 by 2");
    assert_eq!(Case::of(rows).find(DormantReactivation), found);
    // What leaves has to be what slept.
    let rows = [row(0, "in", 2, "eth", 2), row(gap, "out", 3, "usdt", 4_000)];
    assert_eq!(Case::of(rows).find(DormantReactivation), NOTHING);
}
