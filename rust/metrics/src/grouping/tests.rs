use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type GroupSums = (u64, u64, Amount, Amount, i64, i64);

/// By the book: a map, and 256-bit integers.
fn oracle(rows: &[(FlowRow, Amount)]) -> BTreeMap<u64, GroupSums> {
    let mut groups = BTreeMap::new();
    for (row, amount) in rows {
        let secs = i64::from(row.secs);
        let group = groups.entry(row.key).or_insert((0, 0, Amount::ZERO, Amount::ZERO, secs, secs));
        let (count, sum) = match row.side {
            Side::Received => (&mut group.0, &mut group.2),
            Side::Sent => (&mut group.1, &mut group.3),
        };
        *count += 1;
        *sum = sum.checked_add(*amount).unwrap();
        group.4 = group.4.min(secs);
        group.5 = group.5.max(secs);
    }
    groups
}

fn grouper(rows: &[(FlowRow, Amount)]) -> Grouper<Flow> {
    filled(Grouper::default(), rows)
}

fn filled(mut grouper: Grouper<Flow>, rows: &[(FlowRow, Amount)]) -> Grouper<Flow> {
    for batch in rows.chunks(1000) {
        let small = |(row, amount): &(FlowRow, Amount)| {
            let small = amount.to_u128();
            (FlowRow { amount: small.unwrap_or(7), ..*row }, small.is_some())
        };
        grouper.extend(batch.iter().map(small));
    }
    for (row, amount) in rows.iter().filter(|(_, amount)| amount.to_u128().is_none()) {
        grouper.push_large(*row, *amount);
    }
    grouper
}

fn plain(groupers: Vec<Grouper<Flow>>) -> BTreeMap<u64, GroupSums> {
    let groups = grouped(groupers, Vec::new, Vec::extend_from_slice).unwrap().concat();
    let length = groups.len();
    let plain = |flow: Flow| {
        let [received, sent] = [Side::Received, Side::Sent].map(|side| (flow.count.of(side), flow.sum(side).total()));
        (received.0, sent.0, received.1, sent.1, flow.first_secs, flow.last_secs)
    };
    let groups: BTreeMap<_, _> = groups.into_iter().map(|(key, flow)| (key, plain(flow))).collect();
    assert_eq!(groups.len(), length, "each key once");
    groups
}

fn row(key: u64, secs: u32, sent: bool) -> FlowRow {
    FlowRow { key, amount: 0, secs, side: if sent { Side::Sent } else { Side::Received } }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn groups_are_those_of_a_map(
        rows in prop::collection::vec((0u64..40, any::<u32>(), any::<bool>(), any::<u128>()), 0..6000),
        spread in any::<u64>(),
        wide in any::<bool>(),
    ) {
        let amount = |value: u128| {
            let small = Amount::from_u128(value);
            if wide && value.is_multiple_of(97) { small.checked_add(Amount::from_u128(u128::MAX)).unwrap() } else { small }
        };
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(key, secs, sent, value)| (row(key.wrapping_mul(spread | 1), secs, sent), amount(value)))
            .collect();
        let (some, others) = rows.split_at(rows.len() / 3);
        prop_assert_eq!(plain(vec![grouper(&rows)]), oracle(&rows));
        prop_assert_eq!(plain(vec![grouper(some), grouper(others)]), oracle(&rows));
        // In passes, each over a third of the runs or so.
        let mut together = BTreeMap::new();
        for runs in [0..100, 100..101, 101..RUNS] {
            let [some, others] = [some, others].map(|rows| filled(Grouper::of_runs(runs.clone()), rows));
            for (key, group) in plain(vec![some, others]) {
                prop_assert!(together.insert(key, group).is_none(), "each key in one pass");
            }
        }
        prop_assert_eq!(together, oracle(&rows));
    }
}

#[test]
fn more_rows_than_are_held_as_they_come_are_divided() {
    let many = |number: u64| {
        let amount = u128::MAX / 3 + u128::from(number);
        let amount = Amount::from_u128(amount).checked_add(Amount::from_u128(u128::from(number % 7 / 6) << 127));
        (row(((number * number % 5003) << 32) | (number % 3), 7, number.is_multiple_of(3)), amount.unwrap())
    };
    let rows: Vec<_> = (0..FLAT as u64 * 9 + 5).map(many).collect();
    let (many, few) = rows.split_at(rows.len() - 10);
    let expected = oracle(&rows);
    assert_eq!(plain(vec![grouper(&rows)]), expected);
    assert_eq!(plain(vec![grouper(few), grouper(many)]), expected, "who has few rows divides them too");
    // One key takes all: a run that cannot be divided.
    let alike: Vec<_> = rows.iter().map(|(_, amount)| (row(5, 3, true), *amount)).collect();
    assert_eq!(plain(vec![grouper(&alike)]), oracle(&alike));
}

#[test]
fn a_sum_past_256_bits_is_an_error() {
    let mut grouper = Grouper::<Flow>::default();
    grouper.push_large(row(1, 1, true), Amount::MAX);
    grouper.extend([(FlowRow { amount: 1, ..row(1, 1, true) }, true)].into_iter());
    assert_eq!(grouped(vec![grouper], || (), |(), _| ()).unwrap_err(), SumOverflow);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn numbers_are_counted_as_by_a_map(
        // Few, for one thread and for several; dense and sparse.
        count in prop::sample::select(vec![0, 1, 900, 3000, (1 << 16) + 5000]),
        bits in 3u32..33,
        seed in any::<u64>(),
    ) {
        let number = |place: u64| {
            let mixed = (place ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (u32::try_from((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32).unwrap() >> (32 - bits), mixed >> 62)
        };
        let rows: Vec<_> = (0..count).map(number).collect();
        let mut expected: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for (number, kind) in rows.iter().filter(|(_, kind)| *kind < 3) {
            expected.entry(u64::from(*number) << 32).or_default()[usize::from(*kind == 2)] += 1;
        }
        let taken = |rows: &[(u32, u64)]| {
            let mut numbers = Numbers::default();
            for batch in rows.chunks(700) {
                let side = |kind| if kind == 2 { Side::Sent } else { Side::Received };
                numbers.extend(batch.iter().map(|(number, kind)| (*number, side(*kind), *kind < 3)));
            }
            numbers
        };
        let (some, others) = rows.split_at(rows.len() / 3);
        let groups = counted(vec![taken(some), taken(others)], Vec::new, Vec::extend_from_slice).concat();
        prop_assert!(groups.is_sorted_by(|(one, _), (next, _)| one < next), "each once, in order");
        let sides = |count: Count| [Side::Received, Side::Sent].map(|side| count.of(side));
        let found: BTreeMap<_, _> = groups.into_iter().map(|(key, count)| (key, sides(count))).collect();
        prop_assert_eq!(found, expected);
    }
}
