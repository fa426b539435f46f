//! Orbiter: plain transfers to and from its makers.
//!
//! The last four digits of an amount to a maker are 9000 and its number of the destination. The maker pays the same
//! account there. Nothing else ties the two, so legs are joined by receiver, amount and time.

use std::sync::Arc;

use headwater_types::Amount;

use super::context::Context;
use super::draft::Draft;
use crate::half::{MatchClass, Step, Token};
use crate::log::{TokenTransfer, Transaction};
use crate::tables::{Contract, Tables};

const FAMILY: &str = "orbiter";
/// The digits that name the destination.
const CODES: u128 = 10_000;

/// Returns whether a maker pays or is paid.
pub(super) fn is_involved(tables: &Tables, transaction: &Transaction<'_>) -> bool {
    let is_maker = |account: &[u8; 20]| maker(tables, transaction, account).is_some();
    let ends = [transaction.from, transaction.to];
    let mut moved = transaction.logs.iter().filter_map(TokenTransfer::of).chain(transaction.transfers.iter().copied());
    ends.iter().flatten().any(is_maker) || moved.any(|transfer| is_maker(&transfer.from) || is_maker(&transfer.to))
}

fn maker<'t>(tables: &'t Tables, transaction: &Transaction<'_>, account: &[u8; 20]) -> Option<&'t Contract> {
    tables.contract(transaction.chain, account).find(|contract| contract.family() == FAMILY)
}

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let transaction = context.transaction;
    let mut legs: Vec<Draft> = context.transfers.iter().filter_map(|transfer| leg(context, transfer, false)).collect();
    if let (Some(from), Some(to)) = (transaction.from, transaction.to)
        && !transaction.value.is_zero()
    {
        let native = TokenTransfer { index: u64::MAX, token: [0; 20], from, to, amount: transaction.value };
        legs.extend(leg(context, &native, true));
    }
    legs
}

fn leg(context: &Context<'_>, transfer: &TokenTransfer, is_native: bool) -> Option<Draft> {
    let maker = |account| maker(context.tables, context.transaction, account);
    // Makers pay each other too.
    let (contract, user, step) = match (maker(&transfer.from), maker(&transfer.to)) {
        (None, Some(contract)) => (contract, transfer.from, Step::Sent),
        (Some(contract), None) => (contract, transfer.to, Step::Received),
        _ => return None,
    };
    let other = match step {
        Step::Sent => Some(destination(context.tables, transfer.amount)?),
        _ => None,
    };
    let family = context.family(FAMILY)?;
    let names = (contract.bridge_name(), Arc::from("transfer"));
    let key = format!("to:0x{}", hex::encode(user));
    let mut half = context.half(family, names, step, MatchClass::Heuristic, key, transfer.index);
    half.other_chain = other;
    half.sender = (step == Step::Sent).then(|| context.here(user));
    half.receiver = Some(context.here(user));
    half.token = Some(if is_native { Token::Native } else { Token::Contract(context.here(transfer.token)) });
    half.amount = Some(transfer.amount);
    Some(Draft { half, listed: true, transport: false })
}

/// The chain that the last digits of an amount name.
fn destination(tables: &Tables, amount: Amount) -> Option<crate::chain::BridgeChain> {
    let digits = amount.to_u128()? % CODES;
    tables.chain_in(FAMILY, &digits.to_string())
}
