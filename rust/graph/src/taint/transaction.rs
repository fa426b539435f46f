//! Taint through a transaction with inputs and outputs.

use std::cmp::Reverse;

use super::share;

/// The rule by which the taint of inputs is laid on outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// All of every output, and of the fee, when any input is tainted.
    Poison,
    /// Its share of every output, rounded down; what is left over is the fee's, or where that is too small, a unit each of the
    /// first outputs.
    Haircut,
    /// Inputs are laid end to end and cut at the outputs in order, then the fee.
    Fifo,
    /// The same with the inputs from the last to the first.
    Lifo,
    /// Outputs are filled in order.
    Seniority,
    /// The fee is filled, then outputs from the last to the first.
    Juniority,
    /// Outputs are filled from the largest to the smallest, equal ones in order (taint in, highest out: Tironsakkul et al.).
    Tiho,
}

/// An amount with the stretches of it that are tainted, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coin {
    stretches: Vec<(u128, bool)>,
}

impl Coin {
    /// All of one kind.
    #[must_use]
    pub fn new(amount: u128, is_tainted: bool) -> Self {
        let mut coin = Self::default();
        coin.push(amount, is_tainted);
        coin
    }

    /// The amount.
    #[must_use]
    pub fn amount(&self) -> u128 {
        self.stretches.iter().map(|(amount, _)| amount).sum()
    }

    /// The tainted part.
    #[must_use]
    pub fn taint(&self) -> u128 {
        self.stretches.iter().filter(|(_, is_tainted)| *is_tainted).map(|(amount, _)| amount).sum()
    }

    fn push(&mut self, amount: u128, is_tainted: bool) {
        match self.stretches.last_mut() {
            _ if amount == 0 => {}
            Some((last, kind)) if *kind == is_tainted => *last += amount,
            _ => self.stretches.push((amount, is_tainted)),
        }
    }

    /// So much tainted at the beginning, the rest clean.
    fn filled(amount: u128, taint: u128) -> Self {
        let mut coin = Self::new(taint, true);
        coin.push(amount - taint, false);
        coin
    }
}

/// The taint after a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// By output.
    pub outputs: Vec<Coin>,
    /// The fee.
    pub fee: Coin,
}

/// Lays the taint of inputs on outputs. `None` where outputs are more than inputs, as they are where an input is unknown.
///
/// Outputs and fee together hold the taint of the inputs, under every policy but poison. O(inputs + outputs).
///
/// ```
/// use headwater_graph::taint::{Coin, Policy, spread};
/// // 3 tainted and 7 clean go to outputs of 4 and 5, the fee is 1.
/// let inputs = [Coin::new(3, true), Coin::new(7, false)];
/// let found = spread(Policy::Fifo, &inputs, &[4, 5]).unwrap();
/// assert_eq!(found.outputs.iter().map(Coin::taint).collect::<Vec<_>>(), [3, 0]);
/// ```
#[must_use]
pub fn spread(policy: Policy, inputs: &[Coin], outputs: &[u128]) -> Option<Spread> {
    let total = inputs.iter().try_fold(0_u128, |sum, coin| sum.checked_add(coin.amount()))?;
    let fee = total.checked_sub(outputs.iter().try_fold(0_u128, |sum, amount| sum.checked_add(*amount))?)?;
    let taint: u128 = inputs.iter().map(Coin::taint).sum();
    match policy {
        Policy::Fifo => Some(laid(inputs.iter().flat_map(|coin| coin.stretches.iter().copied()), outputs, fee)),
        Policy::Lifo => {
            let inputs = inputs.iter().rev();
            Some(laid(inputs.flat_map(|coin| coin.stretches.iter().copied()), outputs, fee))
        }
        Policy::Poison => {
            let all = |amount: u128| Coin::new(amount, taint > 0);
            Some(Spread { outputs: outputs.iter().map(|amount| all(*amount)).collect(), fee: all(fee) })
        }
        Policy::Haircut => {
            let of = |amount: &u128| if total == 0 { 0 } else { share(*amount, taint, total) };
            let mut taints: Vec<u128> = outputs.iter().map(of).collect();
            // Units lost by rounding down that the fee has no room for, one for each output in order.
            let mut lost = (taint - taints.iter().sum::<u128>()).saturating_sub(fee);
            for (of_output, amount) in taints.iter_mut().zip(outputs) {
                if lost > 0 && *of_output < *amount {
                    *of_output += 1;
                    lost -= 1;
                }
            }
            Some(filled(outputs, &taints, fee, taint))
        }
        Policy::Seniority => Some(in_order(0..outputs.len(), outputs, (fee, taint))),
        Policy::Tiho => {
            let mut order: Vec<usize> = (0..outputs.len()).collect();
            order.sort_by_key(|place| Reverse(outputs[*place]));
            Some(in_order(order, outputs, (fee, taint)))
        }
        Policy::Juniority => {
            let of_fee = taint.min(fee);
            let mut found = in_order((0..outputs.len()).rev(), outputs, (fee, taint - of_fee));
            found.fee = Coin::filled(fee, of_fee);
            Some(found)
        }
    }
}

/// Cuts stretches that are laid end to end at the outputs, then the fee.
fn laid(stretches: impl Iterator<Item = (u128, bool)>, outputs: &[u128], fee: u128) -> Spread {
    let mut coins: Vec<Coin> = vec![Coin::default(); outputs.len() + 1];
    let mut stretches = stretches.peekable();
    for (coin, amount) in coins.iter_mut().zip(outputs.iter().chain([&fee])) {
        let mut wanted = *amount;
        while wanted > 0
            && let Some((rest, is_tainted)) = stretches.peek_mut()
        {
            let taken = wanted.min(*rest);
            coin.push(taken, *is_tainted);
            (wanted, *rest) = (wanted - taken, *rest - taken);
            if *rest == 0 {
                stretches.next();
            }
        }
    }
    let fee = coins.pop().unwrap_or_default();
    Spread { outputs: coins, fee }
}

/// Fills outputs with the taint in an order; what is left over is the fee's.
fn in_order(order: impl IntoIterator<Item = usize>, outputs: &[u128], (fee, taint): (u128, u128)) -> Spread {
    let mut taints = vec![0; outputs.len()];
    let mut rest = taint;
    for place in order {
        taints[place] = rest.min(outputs[place]);
        rest -= taints[place];
    }
    filled(outputs, &taints, fee, taint)
}

fn filled(outputs: &[u128], taints: &[u128], fee: u128, taint: u128) -> Spread {
    let rest = taint - taints.iter().sum::<u128>();
    let outputs = outputs.iter().zip(taints).map(|(amount, taint)| Coin::filled(*amount, *taint)).collect();
    Spread { outputs, fee: Coin::filled(fee, rest.min(fee)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Policy; 7] = [
        Policy::Poison,
        Policy::Haircut,
        Policy::Fifo,
        Policy::Lifo,
        Policy::Seniority,
        Policy::Juniority,
        Policy::Tiho,
    ];

    #[test]
    fn toy_transaction_is_worked_by_hand() {
        let inputs = [Coin::new(3, true), Coin::new(7, false)];
        let expected = [
            (Policy::Fifo, [3, 0], 0),
            (Policy::Lifo, [0, 2], 1),
            (Policy::Seniority, [3, 0], 0),
            (Policy::Juniority, [0, 2], 1),
            (Policy::Tiho, [0, 3], 0),
            // Exactly 1.2, 1.5 and 0.3.
            (Policy::Haircut, [1, 1], 1),
            (Policy::Poison, [4, 5], 1),
        ];
        for (policy, outputs, fee) in expected {
            let found = spread(policy, &inputs, &[4, 5]).unwrap();
            assert_eq!(found.outputs.iter().map(Coin::taint).collect::<Vec<_>>(), outputs, "{policy:?}");
            assert_eq!(found.fee.taint(), fee, "{policy:?}");
        }
        assert_eq!(spread(Policy::Fifo, &inputs, &[4, 7]), None);
    }

    #[test]
    fn fifo_keeps_the_stretches() {
        let inputs = [Coin::new(2, false), Coin::new(3, true), Coin::new(5, false)];
        let found = spread(Policy::Fifo, &inputs, &[4, 5]).unwrap();
        assert_eq!(found.outputs[0].stretches, [(2, false), (2, true)]);
        assert_eq!(found.outputs[1].stretches, [(1, true), (4, false)]);
        // And further on: the tainted unit of the second output is its first one.
        let next = spread(Policy::Fifo, &[found.outputs[1].clone()], &[1, 4]).unwrap();
        assert_eq!(next.outputs.iter().map(Coin::taint).collect::<Vec<_>>(), [1, 0]);
    }

    proptest! {
        #[test]
        fn taint_is_conserved(
            inputs in prop::collection::vec((0..1000_u128, any::<bool>()), 1..6), parts in prop::collection::vec(0..1000_u128, 0..6),
        ) {
            let inputs: Vec<Coin> = inputs.into_iter().map(|(amount, is_tainted)| Coin::new(amount, is_tainted)).collect();
            let (total, taint) = (inputs.iter().map(Coin::amount).sum::<u128>(), inputs.iter().map(Coin::taint).sum::<u128>());
            let mut left = total;
            let outputs: Vec<u128> = parts.into_iter().map(|part| { let amount = part.min(left); left -= amount; amount }).collect();
            for policy in ALL {
                let found = spread(policy, &inputs, &outputs).unwrap();
                for (coin, amount) in found.outputs.iter().zip(&outputs) {
                    prop_assert_eq!(coin.amount(), *amount);
                }
                prop_assert_eq!(found.fee.amount(), left);
                if policy != Policy::Poison {
                    prop_assert_eq!(found.outputs.iter().map(Coin::taint).sum::<u128>() + found.fee.taint(), taint, "{:?}", policy);
                }
            }
        }
    }
}
