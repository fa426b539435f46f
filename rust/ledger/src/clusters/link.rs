//! The rule about which transactions link their input addresses.

use std::collections::BTreeSet;

use headwater_types::Address;

use crate::bitcoin::TransactionView;
use crate::bitcoin::coinjoin::{Surroundings, coinjoin};
use crate::read::ScriptType;

/// From more inputs on, of more addresses than [`MANY_ADDRESSES`], a transaction links nobody unless it consolidates.
const MANY_INPUTS: usize = 1_000;
const MANY_ADDRESSES: usize = 500;

/// Returns whether a transaction of several payers links them whatever it is else: it has too few outputs for a
/// `CoinJoin`, one form of script unlike a `PayJoin`, and no great many inputs. Equal to [`link`], and nothing of it
/// has to be read.
pub(super) const fn is_plain(inputs: usize, outputs: usize, is_one_form: bool) -> bool {
    inputs <= MANY_INPUTS && outputs <= 2 && is_one_form
}

/// The link that a transaction makes between its input addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// One person holds them.
    Together,
    /// One person holds them if the cluster of one of them has this address: it gathers a great many coins in one place.
    Consolidates(Address),
    /// Nothing.
    Apart,
}

/// Returns how a transaction links its input addresses, after `methods.md` of GraphSense and `BlockSci`: they belong
/// together, except in what may be a `CoinJoin` or a `PayJoin`, and in very large transactions that pay others. Keyless
/// inputs and dust link nobody: [`TransactionView::signers`].
///
/// A `CoinJoin` counts by its shape alone, whatever labels say; where inputs are not held, it counts as if all were.
///
/// ```
/// use headwater_ledger::clusters::{Link, link};
/// use headwater_ledger::bitcoin::TransactionView;
/// use headwater_ledger::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
/// use headwater_ledger::read::ScriptType;
/// use headwater_types::{Address, Chain, Timestamp, TxHash};
///
/// let output = |address: &str, amount| OutputFacts {
///     owner: Some(Address::parse(Chain::BITCOIN, address).unwrap()), amount, script: ScriptType::P2pkh, data: None,
/// };
/// let input = |index, spent| InputFacts::new(OutPoint { hash: TxHash::new([1; 32]), index }, Some(spent));
/// let (first, second) = ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX");
/// let facts = UtxoFacts::new(false, vec![input(0, output(first, 60_000)), input(1, output(second, 50_000))], vec![output(first, 100_000)]);
/// let view = TransactionView::new(&facts, 1, Timestamp::new(0));
/// assert_eq!(link(&view), Link::Together);
/// ```
#[must_use]
pub fn link(transaction: &TransactionView<'_>) -> Link {
    let payers: BTreeSet<Address> = transaction.signers().collect();
    if payers.len() < 2 || is_coinjoin(transaction) || is_payjoin(transaction) {
        return Link::Apart;
    }
    if transaction.inputs().len() <= MANY_INPUTS || payers.len() <= MANY_ADDRESSES {
        return Link::Together;
    }
    let mut outputs = transaction.spendable();
    match (outputs.next(), outputs.next()) {
        (Some((_, output)), None) => output.owner.map_or(Link::Apart, Link::Consolidates),
        _ => Link::Apart,
    }
}

fn is_coinjoin(transaction: &TransactionView<'_>) -> bool {
    coinjoin(transaction, Surroundings::default()).is_some_and(|found| found.links_nobody())
}

/// A payee who adds a coin to the payment gives it two signs: coins of different forms, and one coin more than either
/// output needs.
fn is_payjoin(transaction: &TransactionView<'_>) -> bool {
    let forms: Vec<ScriptType> = transaction.spent().map(|spent| spent.script).collect();
    let is_mixed = forms.windows(2).any(|pair| pair[0] != pair[1]);
    let amounts: Vec<u64> = transaction.spendable().map(|(_, output)| output.amount).collect();
    let &[first, second] = &amounts[..] else { return false };
    is_mixed && transaction.smallest_input().is_some_and(|smallest| first.min(second) >= smallest)
}
