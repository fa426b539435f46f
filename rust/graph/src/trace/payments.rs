//! The movements of an account as the ranking takes them.

use std::collections::BTreeMap;

use super::movement::{Movement, Way};
use super::stop::Stop;
use crate::rank::{Payment, Payments};

/// The payments among the movements of an account, which are in the order of the chain: without those that are left out, fees,
/// and what came from or went to nobody. A swap is one asset less and one other more after a transaction. O(movements).
#[must_use]
pub fn payments(movements: &[Movement]) -> Payments {
    let mut payments = Payments::default();
    for of_one in movements.chunk_by(|one, other| one.transaction == other.transaction) {
        let swap = swap(of_one);
        for movement in of_one.iter().filter(|movement| movement.left_out.is_none() && movement.amount > 0) {
            let Some(other) = movement.other else { continue };
            let Movement { time, asset, amount, .. } = *movement;
            let payment = |swapped| Payment { time, asset, other, weight: double(amount), swapped };
            match movement.way {
                Way::Out => {
                    payments.outs.push(payment(swap.filter(|(from, _)| *from == asset).map(|(_, into)| into)));
                }
                Way::In => {
                    payments.ins.push(payment(swap.filter(|(_, into)| *into == asset).map(|(from, _)| from)));
                }
                Way::Fee => {}
            }
        }
    }
    payments
}

/// One asset less and one other more after a transaction: the two. What filters leave out, as tokens that nobody vouches for,
/// does not count as a side of a swap: anybody can send such a token along.
pub(super) fn swap(of_one: &[Movement]) -> Option<(u32, u32)> {
    let mut sums: BTreeMap<u32, (u128, u128)> = BTreeMap::new();
    let counts = |movement: &&Movement| movement.way != Way::Fee && movement.left_out != Some(Stop::Filtered);
    for movement in of_one.iter().filter(counts) {
        let (came, left) = sums.entry(movement.asset).or_default();
        let side = if movement.way == Way::In { came } else { left };
        *side = side.saturating_add(movement.amount);
    }
    let mut less = sums.iter().filter(|(_, (came, left))| left > came).map(|(asset, _)| *asset);
    let mut more = sums.iter().filter(|(_, (came, left))| came > left).map(|(asset, _)| *asset);
    match (less.next(), less.next(), more.next(), more.next()) {
        (Some(from), None, Some(into), None) => Some((from, into)),
        _ => None,
    }
}

/// An amount as a weight.
#[expect(clippy::cast_precision_loss, reason = "weights of a ranking")]
pub(super) fn double(amount: u128) -> f64 {
    amount as f64
}
