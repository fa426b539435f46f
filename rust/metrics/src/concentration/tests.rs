use headwater_types::Amount;
use proptest::prelude::*;
use ruint::Uint;

use super::*;

type WideUint = Uint<2048, 32>;

fn measured(small: &[u128], large: &[Amount]) -> Report {
    concentration(Balances { small, large }, &Params::default().with_tops(vec![1, 2, 3, 10]), &Cancel::new()).unwrap()
}

/// By the book: sort everything, add as wide integers, divide decimals of 40 digits.
fn oracle(balances: &[WideUint], tops: &[usize], tau: (u32, u32)) -> (f64, f64, usize, usize, Vec<(usize, f64)>) {
    let mut sorted: Vec<WideUint> = balances.iter().copied().filter(|balance| !balance.is_zero()).collect();
    sorted.sort_unstable();
    let n = WideUint::from(sorted.len());
    let total = sorted.iter().fold(WideUint::ZERO, |sum, balance| sum + balance);
    let ratio = |numerator: WideUint, denominator: WideUint| -> f64 {
        if denominator.is_zero() {
            return 0.0;
        }
        // 320 decimal digits behind the point, read by the standard library's exact parser.
        let scaled = numerator * WideUint::from(10).pow(WideUint::from(320)) / denominator;
        format!("{scaled}e-320").parse().unwrap()
    };
    let squares = sorted.iter().fold(WideUint::ZERO, |sum, balance| sum + *balance * *balance);
    let ranked =
        (1_u64..).zip(&sorted).fold(WideUint::ZERO, |sum, (rank, balance)| sum + WideUint::from(rank) * *balance);
    let gini = ratio(ranked * WideUint::from(2) - (n + WideUint::ONE) * total, n * total);
    let largest = |count: usize| sorted.iter().rev().take(count).fold(WideUint::ZERO, |sum, balance| sum + *balance);
    let least =
        |enough: &dyn Fn(WideUint) -> bool| (1..=sorted.len()).find(|count| enough(largest(*count))).unwrap_or(0);
    let nakamoto = least(&|sum| sum * WideUint::from(2) > total);
    let tau_index = least(&|sum| sum * WideUint::from(tau.1) >= total * WideUint::from(tau.0));
    let tops = tops.iter().map(|top| (*top, ratio(largest(*top), total))).collect();
    (ratio(squares, total * total), gini, nakamoto, tau_index, tops)
}

#[test]
fn the_published_vectors_hold() {
    let ones = |first: u128, count: usize| [vec![first], vec![1; count]].concat();
    // Balances, Gini, Herfindahl, Nakamoto, Theil.
    let cases: [(Vec<u128>, f64, f64, usize, f64); 6] = [
        (vec![3, 2, 1], 2.0 / 9.0, 7.0 / 18.0, 2, 0.087_208),
        (vec![3, 2, 1, 1, 1, 1], 13.0 / 54.0, 17.0 / 81.0, 2, 0.114_772),
        (vec![1, 1, 1], 0.0, 1.0 / 3.0, 2, 0.0),
        (vec![5], 0.0, 1.0, 1, 0.0),
        (ones(100, 99), 9801.0 / 19900.0, 10099.0 / 39601.0, 1, 1.626_021),
        (vec![500, 250, 125, 100, 25], 11.0 / 25.0, 271.0 / 800.0, 2, f64::NAN),
    ];
    for (balances, gini, hhi, nakamoto, theil) in cases {
        let found = measured(&balances, &[]);
        assert_eq!((found.gini, found.hhi, found.nakamoto), (gini, hhi, nakamoto), "{balances:?}");
        let spread = spread(Balances { small: &balances, large: &[] });
        assert!(theil.is_nan() || (spread.theil - theil).abs() < 1e-6, "{spread:?}");
        assert_eq!(found.holders, balances.len());
    }
}

#[test]
fn balances_of_256_bits_do_not_overflow() {
    let power = |bit: usize| {
        let mut bytes = [0; 32];
        bytes[31 - bit / 8] = 1 << (bit % 8);
        Amount::from_be_bytes(bytes)
    };
    // Shares 2/3 and 1/3 but for the last unit: Gini 2 (3 · 2 + 2 · 1) / 9 - 4/3 = 4/9, Herfindahl 5/9.
    let found = measured(&[1], &[power(254), power(255)]);
    assert!((found.gini - 4.0 / 9.0).abs() < 1e-15 && (found.hhi - 5.0 / 9.0).abs() < 1e-15, "{found:?}");
    assert_eq!((found.holders, found.nakamoto), (3, 1));
    let past =
        concentration(Balances { small: &[], large: &[Amount::MAX, Amount::MAX] }, &Params::default(), &Cancel::new());
    assert!(past.is_err(), "a total past 256 bits is an error");
}

#[test]
fn nobody_and_nothing_measure_zero() {
    for small in [&[][..], &[0, 0]] {
        let found = measured(small, &[]);
        assert_eq!((found.holders, found.total, found.gini, found.hhi), (0, Amount::ZERO, 0.0, 0.0));
        assert_eq!((found.nakamoto, found.tau_index, found.top_shares[0]), (0, 0, (1, 0.0)));
    }
    let spread = spread(Balances::default());
    assert_eq!((spread.theil, spread.entropy_bits), (0.0, 0.0));
}

#[test]
fn tau_outside_zero_to_one_is_refused() {
    assert!(Params::default().with_tau(0, 3).is_none() && Params::default().with_tau(4, 3).is_none());
    // 3 of [3, 2, 1] are exactly one half: at least, but not more than.
    let params = Params::default().with_tau(1, 2).unwrap();
    let found = concentration(Balances { small: &[3, 2, 1], large: &[] }, &params, &Cancel::new()).unwrap();
    assert_eq!((found.tau_index, found.nakamoto), (1, 2));
}

#[test]
fn entropy_is_log2_n_for_equal_balances_and_nothing_for_one() {
    let found = spread(Balances { small: &[7; 8], large: &[] });
    assert!((found.entropy_bits - 3.0).abs() < 1e-12 && found.theil.abs() < 1e-12, "{found:?}");
    let one = spread(Balances { small: &[7], large: &[] });
    assert_eq!((one.theil_normalised, one.entropy_bits), (0.0, 0.0));
}

#[test]
fn a_cancelled_measurement_stops() {
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = concentration(Balances { small: &[2, 1, 3], large: &[] }, &Params::default(), &cancel);
    assert!(matches!(stopped, Err(LedgerError::Cancelled(_))));
}

/// A deterministic spread over many magnitudes.
fn spread_out(count: u64) -> Vec<u128> {
    let mixed = |number: u64| {
        let number = (number ^ 0x1234_5678).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (number ^ number >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    (0..count).map(|number| u128::from(mixed(number)).pow(2) >> (mixed(number + count) % 120)).collect()
}

#[test]
fn order_threads_and_chunks_do_not_matter() {
    let shuffled = spread_out((1 << 20) * 2 + 77);
    let mut rising = shuffled.clone();
    rising.sort_unstable();
    let falling: Vec<_> = rising.iter().rev().copied().collect();
    let on = |threads: usize, balances: &[u128]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| measured(balances, &[]))
    };
    let expected = on(1, &rising);
    for (threads, balances) in [(1, &shuffled), (2, &shuffled), (3, &falling), (3, &rising)] {
        assert_eq!(on(threads, balances), expected);
    }
}

#[test]
fn buckets_of_any_kind_are_measured_by_the_book() {
    type Kind = (&'static str, fn(u128, u128) -> u128);
    let kinds: [Kind; 6] = [
        ("spread over a bucket of narrow ones", |_, random| 1 << 62 | random >> 75),
        ("spread over a bucket of wide ones", |_, random| 1 << 127 | random >> 9),
        ("on both sides of where they become wide", |_, random| (1 << 73) + (random >> 54)),
        ("crowded at the bottom of one", |number, random| (1 << 62) + number % 7 * (random >> 123)),
        ("equal", |_, _| u128::MAX),
        ("small, and nothing", |number, random| number % 3 * (random >> 118)),
    ];
    for (kind, balance) in kinds {
        for count in [31, 33, 700] {
            let random = spread_out(u64::try_from(count).unwrap());
            let random = random.iter().map(|random| random.wrapping_shl(random.leading_zeros()));
            let balances: Vec<u128> = (0..count).zip(random).map(|(number, random)| balance(number, random)).collect();
            let found = measured(&balances, &[]);
            let all: Vec<WideUint> = balances.iter().map(|balance| WideUint::from(*balance)).collect();
            let (hhi, gini, nakamoto, tau_index, tops) = oracle(&all, &[1, 2, 3, 10], (2, 3));
            assert_eq!((found.hhi, found.gini, found.nakamoto), (hhi, gini, nakamoto), "{count} {kind}");
            assert_eq!((found.tau_index, found.top_shares), (tau_index, tops), "{count} {kind}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_measure_is_the_one_by_the_book(
        small in prop::collection::vec((any::<u128>(), 0u32..128), 0..60),
        large in prop::collection::vec((any::<[u8; 31]>(), 16..30usize), 0..4),
        sort in 0u8..3,
    ) {
        let mut small: Vec<u128> = small.into_iter().map(|(value, shift)| value >> shift).collect();
        match sort {
            0 => small.sort_unstable(),
            1 => small.sort_unstable_by(|one, other| other.cmp(one)),
            _ => {}
        }
        let large: Vec<Amount> = large
            .into_iter()
            .map(|(bytes, zeros)| {
                let mut wide = [0; 32];
                wide[1..].copy_from_slice(&bytes);
                // At least 2^128, at most 2^248.
                wide[..zeros - 15].fill(0);
                wide[15] |= 1;
                Amount::from_be_bytes(wide)
            })
            .collect();
        let all: Vec<WideUint> = small
            .iter()
            .map(|value| WideUint::from(*value))
            .chain(large.iter().map(|value| WideUint::from_be_slice(&value.to_be_bytes())))
            .collect();
        let params = Params::default().with_tops(vec![1, 3, 20]);
        let found = concentration(Balances { small: &small, large: &large }, &params, &Cancel::new()).unwrap();
        let (hhi, gini, nakamoto, tau_index, tops) = oracle(&all, &[1, 3, 20], (2, 3));
        prop_assert_eq!((found.hhi, found.gini), (hhi, gini));
        prop_assert_eq!((found.nakamoto, found.tau_index, found.top_shares), (nakamoto, tau_index, tops));
    }

    #[test]
    fn split_holder_lowers_concentration(
        balance in 1u128..1_000_000, holders in 1usize..50,
    ) {
        let found = measured(&vec![balance; holders], &[]);
        prop_assert_eq!((found.gini, found.nakamoto), (0.0, holders / 2 + 1));
        let split = measured(&vec![balance; holders * 2], &[]);
        prop_assert!(split.hhi < found.hhi);
    }
}
