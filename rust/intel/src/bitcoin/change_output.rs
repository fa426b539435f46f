//! The change of a transaction, where sums and traces look at many transactions.

use headwater_ledger::facts::UtxoFacts;
use headwater_ledger::read::{ScriptType, Transaction};
use headwater_ledger::{Cancel, Ledger, LedgerError};

use super::change::{RULES, judge};
use super::gather::Gathered;

/// Least confidence from which an output counts as change. From 0.80 on one is named.
const MIN_CONFIDENCE: f64 = 0.90;

/// Transactions that one call judges, some seconds of work: each takes its inputs, and what spends its outputs.
pub const MAX_JUDGED: u64 = 20_000;

/// Returns the output of a transaction that is change; `None` where it went to an address that paid, as nothing left that.
///
/// # Errors
/// When the ledger cannot be read, or the call is cancelled.
pub fn change_output(
    ledger: &dyn Ledger,
    transaction: Transaction,
    cancel: &Cancel,
) -> Result<Option<usize>, LedgerError> {
    if !transaction.facts.utxo.as_ref().is_some_and(may_have_change) {
        return Ok(None);
    }
    let Some(gathered) = Gathered::read_clustered(ledger, transaction, cancel)? else { return Ok(None) };
    let case = gathered.case();
    let change = judge(&case, RULES).change.ok().filter(|change| change.confidence >= MIN_CONFIDENCE);
    let is_of_payer = |output: usize| {
        let owner = case.transaction.outputs()[output].owner;
        owner.is_some_and(|owner| case.transaction.input_addresses().contains(&owner))
    };
    Ok(change.map(|change| change.output).filter(|output| !is_of_payer(*output)))
}

/// Returns whether somebody paid, and more than one output can be spent.
fn may_have_change(utxo: &UtxoFacts) -> bool {
    !utxo.inputs.is_empty() && utxo.outputs.iter().filter(|output| output.script != ScriptType::OpReturn).count() > 1
}
