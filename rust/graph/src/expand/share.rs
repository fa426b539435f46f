//! Division of an integer in proportion to weights, without loss.

use ruint::aliases::U256;

use crate::source::Edge;

/// Divides `amount` in proportion to the weights of edges: each share rounded down, what is left over unit by unit to
/// the first. Where all weights are 0 they count as equal. No shares for no edges.
pub(super) fn split(amount: u128, edges: &[Edge], shares: &mut Vec<u128>) {
    shares.clear();
    if edges.is_empty() {
        return;
    }
    // Weights whose sum does not fit lose their last bits.
    let weights = |edge: &Edge, bits: u32| edge.weight >> bits;
    let sum = |bits| edges.iter().try_fold(0_u128, |sum, edge| sum.checked_add(weights(edge, bits)));
    let (total, bits) = match sum(0) {
        Some(total) => (total, 0),
        None => (sum(32).unwrap_or(u128::MAX), 32),
    };
    if total == 0 {
        let share = amount / edges.len() as u128;
        shares.resize(edges.len(), share);
    } else if let Ok(total) = u32::try_from(total) {
        // With a = q·t + r the share is q·w + r·w/t, and r·w fits 64 bits, where a division is cheap.
        let (quotient, rest) = (amount / u128::from(total), low(amount % u128::from(total)));
        let share = |edge: &Edge| quotient * edge.weight + u128::from(rest * low(edge.weight) / u64::from(total));
        shares.extend(edges.iter().map(share));
    } else {
        shares.extend(edges.iter().map(|edge| proportion(amount, weights(edge, bits), total)));
    }
    let given: u128 = shares.iter().sum();
    let left = usize::try_from(amount - given).expect("less than one unit per edge");
    shares.iter_mut().take(left).for_each(|share| *share += 1);
}

/// The low half of a number that has no other.
#[expect(clippy::cast_possible_truncation, reason = "there is nothing above")]
const fn low(number: u128) -> u64 {
    number as u64
}

/// `amount · weight / total`, rounded down.
fn proportion(amount: u128, weight: u128, total: u128) -> u128 {
    match amount.checked_mul(weight) {
        Some(product) => product / total,
        None => {
            let product: U256 = U256::from(amount) * U256::from(weight);
            (product / U256::from(total)).try_into().expect("at most the amount")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shares(amount: u128, weights: &[u128]) -> Vec<u128> {
        let edges: Vec<_> = (0..).zip(weights).map(|(to, weight)| Edge { to, weight: *weight }).collect();
        let mut shares = vec![9; 3];
        split(amount, &edges, &mut shares);
        shares
    }

    #[test]
    fn a_case_worked_by_hand() {
        // 100 · 3/7 = 42.86, 100 · 2/7 = 28.57: 42 + 28 + 28 leave 2 units for the first two.
        assert_eq!(shares(100, &[3, 2, 2]), [43, 29, 28]);
        assert_eq!(shares(5, &[0, 0]), [3, 2], "weights of nothing are equal");
        assert_eq!(shares(5, &[]), [0; 0]);
        assert_eq!(shares(u128::MAX, &[u128::MAX, u128::MAX]), [u128::MAX / 2 + 1, u128::MAX / 2]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_share_is_within_a_unit(
            amount in any::<u128>(), weights in prop::collection::vec(0u128..1 << 64, 1..20), narrow in 0..64,
        ) {
            let weights: Vec<u128> = weights.iter().map(|weight| weight >> narrow).collect();
            let found = shares(amount, &weights);
            prop_assert_eq!(found.iter().sum::<u128>(), amount);
            let total: u128 = weights.iter().sum();
            for (share, weight) in found.iter().zip(&weights) {
                if total > 0 {
                    let exact = U256::from(amount) * U256::from(*weight) / U256::from(total);
                    prop_assert!(U256::from(*share) >= exact && U256::from(*share) <= exact + U256::from(1));
                }
            }
        }
    }
}
