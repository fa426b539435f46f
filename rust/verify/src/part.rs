//! The parts of a block that a check covers.

use std::fmt;

/// A part of a block whose content was checked against the hash of the block.
///
/// ```
/// assert_eq!(headwater_verify::Part::Receipts.name(), "receipts");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The header: its fields have the stated hash.
    Hash,
    /// The work that the header proves, or the signature of its producer.
    Producer,
    /// Transactions: all of them, in order, with every field that they contain.
    Transactions,
    /// Senders: recovered from the signatures.
    Senders,
    /// Withdrawals of validators.
    Withdrawals,
    /// Receipts: status, gas, and logs with their positions.
    Receipts,
    /// Bloom filters of the receipts and of the block.
    Bloom,
    /// Witnesses of bitcoin transactions.
    Witnesses,
    /// Values of TRON contracts: the JSON fields are those of the signed bytes.
    ContractValues,
}

impl Part {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Producer => "producer",
            Self::Transactions => "transactions",
            Self::Senders => "senders",
            Self::Withdrawals => "withdrawals",
            Self::Receipts => "receipts",
            Self::Bloom => "bloom",
            Self::Witnesses => "witnesses",
            Self::ContractValues => "contract_values",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
