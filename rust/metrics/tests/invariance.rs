//! Concentration is a property of shares: neither the order of holders nor the unit of balances can change it.

use headwater_ledger::Cancel;
use headwater_metrics::concentration::{Balances, Params, Report, Spread, concentration, spread};
use proptest::prelude::*;

fn measured(balances: &[u128]) -> (Report, Spread) {
    let balances = Balances { small: balances, large: &[] };
    (concentration(balances, &Params::default(), &Cancel::new()).unwrap(), spread(balances))
}

/// Sums of doubles taken in another order, or of other numbers, agree but for their last digits.
fn alike(one: &Spread, other: &Spread) -> bool {
    let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * one.abs().max(1.0);
    close(one.theil, other.theil)
        && close(one.theil_normalised, other.theil_normalised)
        && close(one.entropy_bits, other.entropy_bits)
}

proptest! {
    #[test]
    fn the_order_of_holders_changes_nothing(
        (balances, shuffled) in prop::collection::vec(0..=u128::MAX >> 20, 1..200)
            .prop_flat_map(|balances| (Just(balances.clone()), Just(balances).prop_shuffle())),
    ) {
        let ((one, spread), (other, other_spread)) = (measured(&balances), measured(&shuffled));
        prop_assert_eq!(one, other);
        prop_assert!(alike(&spread, &other_spread));
    }

    #[test]
    fn the_unit_of_balances_changes_nothing_but_their_sum(
        balances in prop::collection::vec(0..1_u128 << 90, 1..200),
        factor in 1..1_u128 << 30,
    ) {
        let scaled: Vec<u128> = balances.iter().map(|balance| balance * factor).collect();
        let ((one, spread), (other, other_spread)) = (measured(&balances), measured(&scaled));
        prop_assert_eq!(Report { total: other.total, ..one }, other);
        prop_assert!(alike(&spread, &other_spread));
    }
}
