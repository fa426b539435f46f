//! How fast money moves on.

use headwater_intel::behaviour::Behaviour::{HighFrequency, PassThrough, RapidInOut};

use crate::behaviours::case::{Case, DAY, HOUR, NOTHING, Row, row};

/// Three times 1,000 USDT come and go on; the third stays for an hour or so, and `last` of it leave.
fn three_times(exit: i64, last: &str) -> Case {
    Case::of([
        row(0, "in", 2, "usdt", 1_000),
        row(600, "out", 3, "usdt", 1_000),
        row(10_000, "in", 2, "usdt", 1_000),
        row(10_060, "out", 3, "usdt", 1_000),
        row(20_000, "in", 2, "usdt", 1_000),
        row(exit, "out", 3, "usdt", last),
    ])
}

#[test]
fn rapid_in_out_matches_first_in_first_out() {
    // Stays of 600, 60 and 3,600 s. Matched: 1,000 + 1,000 + 700 of 3,000, which is 0.9: halfway from 0.8 to 1.0.
    let facts = "matched_usd 2700, ratio 0.9, median_hold_s 600, matched_inflows 3";
    let found = three_times(23_600, "700").find(RapidInOut);
    assert_eq!(found, format!("0.5 x1 0..23600 in 3600: {facts} by 1 2 3 4 5 6"));
    // 2,400 of 3,000 is the threshold.
    let facts = "matched_usd 2400, ratio 0.8, median_hold_s 600, matched_inflows 3";
    let found = three_times(23_600, "400").find(RapidInOut);
    assert_eq!(found, format!("0 x1 0..23600 in 3600: {facts} by 1 2 3 4 5 6"));
}

#[test]
fn rapid_in_out_twins_are_innocent() {
    assert_eq!(three_times(23_601, "1000").find(RapidInOut), NOTHING, "an hour and a second");
    assert_eq!(three_times(23_600, "399.99").find(RapidInOut), NOTHING, "a cent less than 80 %");
    let twice = [
        row(0, "in", 2, "usdt", 1_500),
        row(60, "out", 3, "usdt", 1_500),
        row(120, "in", 2, "usdt", 1_500),
        row(180, "out", 3, "usdt", 1_500),
    ];
    assert_eq!(Case::of(twice).find(RapidInOut), NOTHING, "two inflows");
    let of_each = |amount: &'static str| {
        let both = move |n: i64| [row(n * 100, "in", 2, "usdt", amount), row(n * 100 + 50, "out", 3, "usdt", amount)];
        Case::of((0..3).flat_map(both)).find(RapidInOut)
    };
    assert_eq!(of_each("333.33"), NOTHING, "999.99 USD");
    assert_ne!(of_each("333.34"), NOTHING, "1,000.02 USD");
}

#[test]
fn rapid_in_out_keeps_assets_apart() {
    let both = |n: i64| [row(n * 100, "in", 2, "usdt", 1_000), row(n * 100 + 50, "out", 3, "usdc", 1_000)];
    assert_eq!(Case::of((0..5).flat_map(both)).find(RapidInOut), NOTHING);
}

#[test]
fn rapid_in_out_after_a_days_pause_is_new() {
    // The second time the exits, at 200 and at 86,601 s, are a second more than a day apart.
    let rounds = |gap: i64| {
        let times = [0, 100, gap];
        let both = |at: i64| [row(at, "in", 2, "usdt", 1_000), row(at + 100, "out", 3, "usdt", 1_000)];
        Case::of(times.into_iter().flat_map(both)).find(RapidInOut)
    };
    let facts = "matched_usd 3000, ratio 1, median_hold_s 100, matched_inflows 3 by 1 2 3 4 5 6";
    assert_eq!(rounds(100 + DAY), format!("1 x1 0..86600 in 3600: {facts}"));
    assert_eq!(rounds(101 + DAY), format!("1 x2 0..86601 in 3600: {facts}"));
}

#[test]
fn pass_through_lets_nearly_all_pass() {
    let through = |left: &str, secs| Case::of([row(0, "in", 2, "usdt", 2_000), row(secs, "out", 3, "usdt", left)]);
    // 40 of 2,000 stay: 2 % of 5 %, so 1 - 0.4.
    let facts = "in_usd 2000, out_usd 1960, residual_usd 40, median_hold_s 86400 by 1 2";
    assert_eq!(through("1960", DAY).find(PassThrough), format!("0.6 x1 0..86400: {facts}"));
    let facts = "in_usd 2000, out_usd 1900, residual_usd 100, median_hold_s 86400 by 1 2";
    assert_eq!(through("1900", DAY).find(PassThrough), format!("0 x1 0..86400: {facts}"));

    assert_eq!(through("1960", DAY + 1).find(PassThrough), NOTHING, "a day and a second");
    assert_eq!(through("1899.99", DAY).find(PassThrough), NOTHING, "a cent more than 5 % stays");
    assert_eq!(through("2100.01", DAY).find(PassThrough), NOTHING, "a cent more than 5 % more leaves");
    let little =
        |amount: &str| Case::of([row(0, "in", 2, "usdt", amount), row(60, "out", 3, "usdt", amount)]).find(PassThrough);
    assert_eq!(little("999.99"), NOTHING);
    assert_ne!(little("1000"), NOTHING);
}

#[test]
fn pass_through_takes_the_median_stay() {
    // One half stays no time, the other `secs`: the median of two is halfway.
    let halves = |secs: i64| {
        let rows =
            [row(0, "in", 2, "usdt", 2_000), row(0, "out", 3, "usdt", 1_000), row(secs, "out", 3, "usdt", 1_000)];
        Case::of(rows).find(PassThrough)
    };
    let facts = "in_usd 2000, out_usd 2000, residual_usd 0, median_hold_s 86400 by 1 2 3";
    assert_eq!(halves(2 * DAY), format!("1 x1 0..172800: {facts}"));
    assert_eq!(halves(2 * DAY + 2), NOTHING);
}

#[test]
fn pass_through_is_between_ten_at_most() {
    let between = |sources: i64, targets: i64| {
        let came = (0..sources).map(|n| row(n, "in", 10 + n, "usdt", 110));
        let all = 110 * sources;
        let paid = (0..targets - 1).map(|n| row(100 + n, "out", 50 + n, "usdt", 1));
        let last = row(200, "out", 99, "usdt", all - (targets - 1));
        Case::of(came.chain(paid).chain([last])).find(PassThrough)
    };
    assert!(between(10, 10).starts_with("1 x1 0..200: in_usd 1100, out_usd 1100, residual_usd 0"));
    assert_eq!(between(11, 10), NOTHING);
    assert_eq!(between(10, 11), NOTHING);
}

#[test]
fn pass_through_counts_what_stays_by_asset() {
    // As many dollars leave as came, but the USDC did not come: some of the USDT stay.
    let left = |usdt: u32, usdc: u32| {
        let came = row(0, "in", 2, "usdt", 1_000);
        Case::of([came, row(60, "out", 3, "usdt", usdt), row(70, "out", 3, "usdc", usdc)]).find(PassThrough)
    };
    let facts = "in_usd 1000, out_usd 1000, residual_usd 50, median_hold_s 60 by 1 2 3";
    assert_eq!(left(950, 50), format!("1 x1 0..70: {facts}"));
    assert_eq!(left(949, 51), NOTHING);
}

/// So many payments, one after each gap.
fn paced(gaps: impl IntoIterator<Item = i64>) -> Vec<Row> {
    let mut secs = 0;
    let later = gaps.into_iter().map(|gap| {
        secs += gap;
        row(secs, "out", 2, "usdt", 7)
    });
    let later: Vec<_> = later.collect();
    [row(0, "out", 2, "usdt", 7)].into_iter().chain(later).collect()
}

#[test]
fn high_frequency_counts_within_an_hour() {
    // 99 payments 36 s apart until second 3,528, and one at the full hour.
    let hundred = |last: i64| Case::of(paced(std::iter::repeat_n(36, 98).chain([last - 3_528]))).find(HighFrequency);
    let facts = "max_per_hour 100, median_gap_s 36 by 1 2 3 4 5 6 7 8 9 10";
    assert_eq!(hundred(HOUR), format!("0 x1 0..3600 in 3600: {facts}"));
    assert_eq!(hundred(HOUR + 1), NOTHING);
    // 550 an hour: (550 - 100) of 900. 550 payments 6 s apart last until second 3,294.
    let facts = "max_per_hour 550, median_gap_s 6 by 1 2 3 4 5 6 7 8 9 10";
    let found = Case::of(paced(std::iter::repeat_n(6, 549))).find(HighFrequency);
    assert_eq!(found, format!("0.5 x1 0..3294 in 3600: {facts}"));
}

#[test]
fn high_frequency_counts_within_a_day() {
    // 172 s apart, 21 fit in 3,600 s: 20 gaps take 3,440 s. The last of 500 comes at 499 x 172 = 85,828.
    let facts = "max_per_hour 21, median_gap_s 172 by 1 2 3 4 5 6 7 8 9 10";
    let of = |count: usize| Case::of(paced(std::iter::repeat_n(172, count - 1))).find(HighFrequency);
    assert_eq!(of(500), format!("0 x1 0..85828 in 86400: {facts}"));
    assert_eq!(of(499), NOTHING);
}

#[test]
fn high_frequency_looks_at_the_median_gap() {
    // Every day a run of 50: no hour has more than 50, no day more than 100, and nearly all gaps are short.
    let runs = |gap: i64, count: usize| {
        let gaps = (1..count).map(move |n| if n % 50 == 0 { DAY } else { gap });
        Case::of(paced(gaps)).find(HighFrequency)
    };
    // 196 gaps of 30 s and 3 of a day.
    let facts = "max_per_hour 50, median_gap_s 30 by 1 2 3 4 5 6 7 8 9 10";
    assert_eq!(runs(30, 200), format!("0 x1 0..{}: {facts}", 196 * 30 + 3 * DAY));
    assert_eq!(runs(31, 200), NOTHING);
    assert_eq!(runs(30, 199), NOTHING);
}
