//! Transactions and blocks as a ledger gives them.

use headwater_types::{Address, Amount, BlockHash, Timestamp};

use crate::facts::{AmountOf, LogFacts, TransactionFacts};
use crate::primitives::{MovementKind, Ordinal, TransactionHead};

/// A transaction with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// The place of the transaction.
    pub head: TransactionHead,
    /// Hash of the block.
    pub block_hash: Option<BlockHash>,
    /// Sender, receiver and value, with what else is known; see [`crate::facts::TransactionFacts`]. Movements are
    /// complete with their final ordinals; inputs carry what they spend where the ledger holds it.
    pub facts: TransactionFacts,
    /// The fee, where it is known: stated, or gas times price, or inputs less outputs.
    pub fee: Option<Amount>,
}

impl Transaction {
    /// Event logs, by index.
    #[must_use]
    pub fn logs(&self) -> &[LogFacts] {
        &self.facts.logs
    }

    /// Returns whether the amount of a movement is known to the precision of a double only; see [`Posting::approximate`].
    #[must_use]
    pub fn is_approximate(&self, kind: MovementKind, ordinal: Ordinal) -> bool {
        AmountOf::of(kind, ordinal).is_some_and(|amount| self.facts.approximate.contains(&amount))
    }
}

/// A block that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Height.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// Hash, where a source stated it.
    pub hash: Option<BlockHash>,
}

/// Matches of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressMatches {
    /// The most active ones.
    pub addresses: Vec<Address>,
    /// The number there are, counted up to the limit asked for.
    pub total: usize,
}
