//! The movements of a chain in its order: what scans over a whole chain or a range of blocks read.

use std::ops::{ControlFlow, Range};

use headwater_types::{Amount, TimeWindow};

use crate::error::Result;
use crate::primitives::{AccountRef, AssetRef, MovementKind, Ordinal, Status, TransactionHead, TransactionRef};

/// The range of a chain that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainRange {
    /// Only from this block on.
    pub from_block: Option<u64>,
    /// Only up to this block, included.
    pub up_to_block: Option<u64>,
    /// Only inside this window.
    pub window: TimeWindow,
}

/// Transactions of one part of a ledger that follow each other in the order of the chain: block, position in the block
/// (unknown last), hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionRun {
    pub(crate) part: u32,
    pub(crate) rows: Range<u32>,
}

impl TransactionRun {
    /// Number of transactions.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.rows.end - self.rows.start
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows.start == self.rows.end
    }

    /// The transactions in order.
    pub fn transactions(&self) -> impl Iterator<Item = TransactionRef> + use<> {
        let part = u64::from(self.part) << 32;
        self.rows.clone().map(move |row| TransactionRef(part | u64::from(row)))
    }
}

impl From<TransactionRef> for TransactionRun {
    fn from(transaction: TransactionRef) -> Self {
        let (part, row) = crate::primitives::unpack(transaction.0);
        Self { part, rows: row..row.saturating_add(1) }
    }
}

/// Runs in the order of the chain.
pub type TransactionRuns<'a> = Box<dyn Iterator<Item = Result<TransactionRun>> + 'a>;

/// One movement as the chain has it, from one account to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainMovement {
    /// The transaction.
    pub transaction: TransactionRef,
    /// Its place.
    pub head: TransactionHead,
    /// True if the transaction mints a block reward of a UTXO chain.
    pub is_coinbase: bool,
    /// Kind of movement.
    pub kind: MovementKind,
    /// Ordinal within the kind.
    pub ordinal: Ordinal,
    /// The sender; `None` where there is none. A net change on a UTXO chain has one side, and both where it is zero.
    pub from: Option<AccountRef>,
    /// The receiver; `None` where there is none.
    pub to: Option<AccountRef>,
    /// The asset that moved.
    pub asset: AssetRef,
    /// The amount. On UTXO chains the absolute net change of the account in the transaction.
    pub amount: Amount,
    /// The outcome of the transaction; `None` when unknown.
    pub status: Option<Status>,
    /// True if the movement created the receiving contract.
    pub creates_contract: bool,
    /// True if the amount is known to the precision of a double only.
    pub approximate: bool,
}

/// The function that takes each movement; breaking ends the visit.
pub type VisitMovement<'v> = &'v mut dyn FnMut(&ChainMovement) -> Result<ControlFlow<()>>;
