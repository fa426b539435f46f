//! Taint: how much of what leaves a place is of what came from somewhere.
//!
//! A policy is a convention, not a fact: coins that were mixed cannot be told apart. Haircut gives every output its share,
//! FIFO follows the order of arrival as courts have done (Clayton's case, 1816; Anderson, Shumailov, Ahmed, Rietmann 2018),
//! poison taints all, which soon is everything.

mod lots;
mod transaction;

pub use lots::{Lots, Method, Part};
pub use transaction::{Coin, Policy, Spread, spread};

use ruint::aliases::U256;

/// `amount · part / whole`, rounded down; `whole` is above 0 and `part` at most `whole`.
pub(crate) fn share(amount: u128, part: u128, whole: u128) -> u128 {
    let product = U256::from(amount) * U256::from(part);
    u128::try_from(product / U256::from(whole)).expect("at most the amount")
}
