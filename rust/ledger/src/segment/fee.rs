//! The fee that a transaction paid to be in its block.

use headwater_types::Amount;

use crate::facts::{TransactionFacts, UtxoFacts};

/// The fee of a transaction, where it is known: as stated, or gas used times the price paid (the named one where the
/// paid one is not known), or inputs less outputs once all outputs spent are known. A coinbase pays none. A transaction
/// that carries blobs pays for their gas too, so gas and price alone do not give its fee.
#[must_use]
pub fn fee_of(transaction: &TransactionFacts) -> Option<Amount> {
    let by_gas = || {
        if transaction.carries_blobs {
            return None;
        }
        let price = transaction.effective_gas_price.or(transaction.gas_price)?;
        price.checked_mul(Amount::from(transaction.gas_used?))
    };
    transaction.fee.or_else(by_gas).or_else(|| transaction.utxo.as_ref().and_then(left_by_outputs))
}

fn left_by_outputs(utxo: &UtxoFacts) -> Option<Amount> {
    if utxo.coinbase {
        return Some(Amount::ZERO);
    }
    let spent = utxo
        .inputs
        .iter()
        .try_fold(0_u128, |sum, input| input.spent.as_ref().map(|output| sum + u128::from(output.amount)))?;
    let made: u128 = utxo.outputs.iter().map(|output| u128::from(output.amount)).sum();
    spent.checked_sub(made).map(Amount::from_u128)
}

/// A sum past 256 bits stays at the largest amount: only tokens that forge their amounts come there, and they must
/// not keep a chain from being read. Saturating sums do not depend on order or segmentation either.
pub(super) fn saturating_add(sum: Amount, amount: Amount) -> Amount {
    sum.checked_add(amount).unwrap_or(Amount::MAX)
}
