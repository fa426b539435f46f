//! Movements: their kinds, numbers and directions, and what a posting says of them in one byte.

use serde::{Deserialize, Serialize};

/// Kinds of movement in their order inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MovementKind {
    /// The transaction's own value.
    Native,
    /// A call inside it.
    Internal,
    /// A token.
    Token,
    /// The net change of one address in a UTXO transaction.
    Utxo,
}

impl MovementKind {
    /// The name that ids carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::Token => "token",
            Self::Utxo => "utxo",
        }
    }
}

/// The number of a movement within its kind and transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ordinal {
    /// Log index, trace ordinal, or for UTXO rows the place of the address among those of the transaction (inputs
    /// first, then outputs, by first occurrence). 0 for native.
    Indexed(u64),
    /// The source gave none. In facts always 0; in a ledger a number made from the content (contract, sender,
    /// receiver, amount, how many equal rows precede), so that it does not change when more rows arrive.
    Unindexed(u64),
}

impl Ordinal {
    /// The log index or trace ordinal to show; `None` where the source gave none.
    #[must_use]
    pub const fn shown(self) -> Option<u64> {
        match self {
            Self::Indexed(number) => Some(number),
            Self::Unindexed(_) => None,
        }
    }

    /// The number that goes into the id of a row; the two kinds never meet (an unindexed one has 15 digits or more).
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Indexed(number) | Self::Unindexed(number) => number,
        }
    }
}

/// The direction of a movement, as seen from an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Towards the account.
    In,
    /// Away from it.
    Out,
    /// From the account to itself.
    Own,
}

/// The outcome of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did.
    Success,
    /// It was reverted; only the fee was paid.
    Failed,
}

/// Bits of a posting.
pub(crate) mod posting_bits {
    pub(crate) const KIND: u8 = 3;
    pub(crate) const DIRECTION: u8 = 3 << 2;
    pub(crate) const IN: u8 = 0;
    pub(crate) const OUT: u8 = 1 << 2;
    pub(crate) const OWN: u8 = 2 << 2;
    pub(crate) const SUCCESS: u8 = 1 << 4;
    pub(crate) const FAILED: u8 = 1 << 5;
    /// The flag of native movements only.
    pub(crate) const CREATES: u8 = 1 << 6;
    /// The flag of internal and token movements only.
    pub(crate) const UNINDEXED: u8 = 1 << 7;
    /// The flag, by kind, of an approximate amount: the bit of the two above that means nothing for the kind. On
    /// UTXO chains none is.
    pub(crate) const APPROXIMATE: [u8; 4] = [UNINDEXED, CREATES, CREATES, 0];

    /// The same for the kind in the lowest bits.
    pub(crate) const fn approximate(flags: u8) -> u8 {
        APPROXIMATE[(flags & KIND) as usize]
    }
}

/// Kind, direction and status of a posting in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct PostingFlags(pub(crate) u8);

impl PostingFlags {
    /// Kind of movement.
    #[must_use]
    pub const fn kind(self) -> MovementKind {
        match self.0 & posting_bits::KIND {
            0 => MovementKind::Native,
            1 => MovementKind::Internal,
            2 => MovementKind::Token,
            _ => MovementKind::Utxo,
        }
    }

    /// Returns the direction.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self.0 & posting_bits::DIRECTION {
            posting_bits::IN => Direction::In,
            posting_bits::OUT => Direction::Out,
            _ => Direction::Own,
        }
    }

    /// Returns whether the transaction succeeded; `None` when unknown.
    #[must_use]
    pub const fn status(self) -> Option<Status> {
        match self.0 & (posting_bits::SUCCESS | posting_bits::FAILED) {
            posting_bits::SUCCESS => Some(Status::Success),
            posting_bits::FAILED => Some(Status::Failed),
            _ => None,
        }
    }

    /// Returns whether the transaction is known to have failed.
    #[must_use]
    pub const fn is_failed(self) -> bool {
        self.0 & (posting_bits::SUCCESS | posting_bits::FAILED) == posting_bits::FAILED
    }

    /// Returns whether the amount is known to the precision of a double only.
    #[must_use]
    pub const fn is_approximate(self) -> bool {
        self.0 & posting_bits::approximate(self.0) != 0
    }

    /// Returns whether its amount counts in balances: failed movements moved nothing, and exact sums leave approximate
    /// amounts out.
    #[must_use]
    pub const fn counts(self) -> bool {
        !self.is_failed() && !self.is_approximate()
    }

    /// Returns whether the movement created the receiving contract.
    #[must_use]
    pub const fn creates_contract(self) -> bool {
        self.0 & (posting_bits::CREATES | posting_bits::KIND) == posting_bits::CREATES
    }
}
