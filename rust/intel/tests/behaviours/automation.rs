//! Machines.

use headwater_intel::behaviour::Behaviour::{AlwaysOn, FixedInterval};

use crate::behaviours::case::{Case, DAY, HOUR, NOTHING, Row, row};

/// On each of so many days one payment at each of these hours.
fn at_hours(days: i64, hours: &[i64]) -> Vec<Row> {
    (0..days).flat_map(|day| hours.iter().map(move |hour| row(day * DAY + hour * HOUR, "out", 2, "usdt", 7))).collect()
}

#[test]
fn always_on_uses_all_hours_alike() {
    let all: Vec<i64> = (0..24).collect();
    // 336 on 14 days.
    let found = Case::of(at_hours(14, &all)).find(AlwaysOn);
    let shown = "by 1 2 3 4 5 6 7 8 9 10";
    assert_eq!(found, format!("1 x1 0..{}: entropy 1, silent_hours 0 {shown}", 13 * DAY + 23 * HOUR));
    assert_eq!(Case::of(at_hours(13, &all)).find(AlwaysOn), NOTHING, "13 days");
    // ln 21 / ln 24 = 3.044522 / 3.178054 = 0.957983: above 0.95. It sleeps from 22 to 1 o'clock, over midnight.
    let found = Case::of(at_hours(14, &all[1..22])).find(AlwaysOn);
    assert_eq!(found, format!("1 x1 3600..{}: entropy 0.957983, silent_hours 3 {shown}", 13 * DAY + 21 * HOUR));
    // ln 20 / ln 24 = 0.942631, whether four hours of rest come together or apart.
    assert_eq!(Case::of(at_hours(14, &all[..20])).find(AlwaysOn), NOTHING);
    let apart: Vec<i64> = (0..24).filter(|hour| hour % 6 != 5).collect();
    assert_eq!(Case::of(at_hours(14, &apart)).find(AlwaysOn), NOTHING);
}

#[test]
fn always_on_looks_at_two_hundred() {
    // 14 an hour apart on each of 14 days are 196; each day begins 14 hours later than the last. Four more make 200.
    let of = |more: i64| {
        let first = (0..14).flat_map(|day| (0..14).map(move |n| (day, (day * 14 + n) % 24)));
        let mut times: Vec<_> = first.map(|(day, hour)| day * DAY + hour * HOUR).collect();
        times.extend((0..more).map(|n| 14 * DAY + n * 6 * HOUR));
        times.sort_unstable();
        Case::of(times.into_iter().map(|secs| row(secs, "out", 2, "usdt", 7))).find(AlwaysOn)
    };
    assert_ne!(of(4), NOTHING);
    assert_eq!(of(3), NOTHING);
}

/// Payments with these gaps between them.
fn paced(gaps: impl IntoIterator<Item = i64>) -> Case {
    let mut secs = 0;
    let times = gaps.into_iter().map(|gap| {
        secs += gap;
        secs
    });
    let times: Vec<_> = [0].into_iter().chain(times).collect();
    Case::of(times.into_iter().map(|secs| row(secs, "out", 2, "usdt", 7)))
}

#[test]
fn fixed_interval_hardly_varies() {
    let shown = "by 1 2 3 4 5 6 7 8 9 10";
    let hourly = |count: usize| paced(std::iter::repeat_n(HOUR, count - 1)).find(FixedInterval);
    assert_eq!(hourly(20), format!("1 x1 0..68400: cv 0, mode_gap_s 3600 {shown}"));
    assert_eq!(hourly(19), NOTHING, "19 payments");
    // By turns 3,300 and 3,900 s: a deviation of 300 by a mean of 3,600 is 0.083333. Half the gaps are about 3,300.
    let by_turns = |one, other| paced((0..20).map(move |n| if n % 2 == 0 { one } else { other })).find(FixedInterval);
    assert_eq!(by_turns(3_300, 3_900), format!("1 x1 0..72000: cv 0.083333, mode_gap_s 3300 {shown}"));
    // 3,239 and 3,961: 361 by 3,600 is more than 0.10; 3,240 and 3,960 are the threshold.
    assert_ne!(by_turns(3_240, 3_960), NOTHING);
    assert_eq!(by_turns(3_239, 3_961), NOTHING);
}

#[test]
fn fixed_interval_is_that_of_most_gaps() {
    // 20 gaps: some of 1,000 s give or take 5 %, the others of 5,000 s and more, each half as long again as the last.
    let of = |near: i64| {
        let near_ones = (0..near).map(|n| [950, 1_000, 1_050][usize::try_from(n % 3).expect("small")]);
        let mut wild = 5_000;
        let wild_ones = (near..20).map(|_| {
            wild += wild / 2;
            wild
        });
        paced(near_ones.chain(wild_ones.collect::<Vec<_>>())).find(FixedInterval)
    };
    let found = of(12);
    assert!(found.contains("mode_gap_s 1000 "), "{found}");
    assert_eq!(of(11), NOTHING, "55 %");
}

#[test]
fn fixed_interval_needs_time_between() {
    // All in one block.
    assert_eq!(paced([0; 30]).find(FixedInterval), NOTHING);
    // Two in each block, and blocks at odd times: gaps of nothing are no interval.
    let rows = (0..20).flat_map(|n| [n * n * 1_000; 2]).map(|secs| row(secs, "out", 2, "usdt", 7));
    assert_eq!(Case::of(rows).find(FixedInterval), NOTHING);
}
