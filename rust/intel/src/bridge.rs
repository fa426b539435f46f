//! Transfers over bridges: the legs of a transaction with all that belongs to them on other chains.

use std::collections::BTreeSet;

use headwater_bridge::{BridgeChain, Half, LinkKey, Transfer, join};
use headwater_ledger::bridges::legs;
use headwater_ledger::read::{Transaction, TransactionRef};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::TxHash;

/// Transactions that are read for one: groups by content alone can be large.
const MOST_TRANSACTIONS: usize = 1_000;

/// The legs that a transaction has, and those that share a key with them, over any number of steps.
#[derive(Debug, Clone)]
pub struct Legs {
    chain: BridgeChain,
    transaction: TxHash,
    halves: Vec<Half>,
    /// Transactions that were read.
    pub read: u64,
    /// Whether some were left out, or an index is missing: then a transfer may look unmatched and is not.
    pub is_partial: bool,
}

impl Legs {
    /// Reads the legs of a transaction and of all others on any chain that share a key with them.
    ///
    /// Costs a look-up of each key in every segment, and reads the transactions found, at most 1,000.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the call is cancelled.
    pub fn read(ledger: &dyn Ledger, transaction: &Transaction, cancel: &Cancel) -> Result<Self, LedgerError> {
        let head = transaction.head;
        let mut found = Self {
            chain: head.chain.into(),
            transaction: head.hash,
            halves: legs(head.chain, head.time, &transaction.facts),
            read: 1,
            is_partial: false,
        };
        let (mut asked, mut read) = (BTreeSet::new(), BTreeSet::new());
        let mut next = 0;
        while let Some(leg) = found.halves.get(next) {
            next += 1;
            let keys: Vec<(String, LinkKey)> =
                leg.keys.iter().map(|key| (leg.family.to_string(), key.clone())).collect();
            for (family, key) in keys {
                if !asked.insert((family.clone(), key.clone())) {
                    continue;
                }
                let Some(others) = ledger.with_link_key(&family, &key, cancel)? else {
                    found.is_partial = true;
                    continue;
                };
                for other in others {
                    found.add(ledger, other, (&family, &key), (&mut read, cancel))?;
                }
            }
        }
        Ok(found)
    }

    /// Adds the legs of another transaction, where it really has the key.
    fn add(
        &mut self,
        ledger: &dyn Ledger,
        other: TransactionRef,
        (family, key): (&str, &LinkKey),
        (read, cancel): (&mut BTreeSet<TransactionRef>, &Cancel),
    ) -> Result<(), LedgerError> {
        if read.contains(&other) {
            return Ok(());
        }
        cancel.check()?;
        self.read += 1;
        let transaction = ledger.transaction(other)?;
        let head = transaction.head;
        let of_other = legs(head.chain, head.time, &transaction.facts);
        if !of_other.iter().any(|leg| &*leg.family == family && leg.keys.contains(key)) {
            return Ok(());
        }
        read.insert(other);
        let is_own = self.chain == head.chain.into() && self.transaction == head.hash;
        if read.len() > MOST_TRANSACTIONS {
            self.is_partial = true;
        } else if !is_own {
            self.halves.extend(of_other);
        }
        Ok(())
    }

    /// The transfers that the transaction is a leg of, in order of its logs.
    #[must_use]
    pub fn transfers(&self) -> Vec<Transfer<'_>> {
        let mut transfers = Vec::new();
        let mut rest: Vec<&Half> = self.halves.iter().collect();
        while let Some(first) = rest.first().copied() {
            let group = group(first, &mut rest);
            transfers.extend(join(&group));
        }
        let is_of = |half: &&Half| half.chain == self.chain && half.transaction == self.transaction;
        transfers.retain(|transfer| transfer.legs().any(|half| is_of(&half)));
        transfers.sort_by_key(|transfer| transfer.legs().filter(is_of).map(|half| half.log_index).min());
        transfers
    }
}

/// Takes the legs that can be reached from one over shared keys out of `rest`.
fn group<'a>(first: &'a Half, rest: &mut Vec<&'a Half>) -> Vec<&'a Half> {
    let mut group = vec![first];
    let mut keys: BTreeSet<&LinkKey> = first.keys.iter().collect();
    rest.retain(|half| !std::ptr::eq(*half, first));
    loop {
        let is_reached = |half: &&Half| half.family == first.family && half.keys.iter().any(|key| keys.contains(key));
        let (reached, left): (Vec<&Half>, Vec<&Half>) = rest.iter().copied().partition(is_reached);
        if reached.is_empty() {
            return group;
        }
        keys.extend(reached.iter().flat_map(|half| &half.keys));
        group.extend(reached);
        *rest = left;
    }
}
