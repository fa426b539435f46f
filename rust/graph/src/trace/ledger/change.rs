//! The change of the bitcoin transactions that a walk comes to.

use headwater_intel::bitcoin::change_output::{MAX_JUDGED, change_output};
use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Address;
use rustc_hash::FxHashMap;

/// The owners of change, by transaction.
#[derive(Debug, Default)]
pub(super) struct ChangeOwners {
    /// The address that the change of a transaction went to.
    owners: FxHashMap<TransactionRef, Option<Address>>,
    /// Transactions that were not judged, as too many were before.
    pub unjudged: u64,
}

impl ChangeOwners {
    /// Returns the address that the change of a transaction went to, other than those that paid.
    pub fn of(
        &mut self,
        ledger: &dyn Ledger,
        transaction: TransactionRef,
        cancel: &Cancel,
    ) -> Result<Option<Address>, LedgerError> {
        if let Some(owner) = self.owners.get(&transaction) {
            return Ok(*owner);
        }
        if self.owners.len() as u64 >= MAX_JUDGED {
            self.unjudged += 1;
            return Ok(None);
        }
        let whole = ledger.transaction(transaction)?;
        let outputs: Vec<_> =
            whole.facts.utxo.iter().flat_map(|utxo| &utxo.outputs).map(|output| output.owner).collect();
        let owner = change_output(ledger, whole, cancel)?.and_then(|place| outputs[place]);
        self.owners.insert(transaction, owner);
        Ok(owner)
    }
}
