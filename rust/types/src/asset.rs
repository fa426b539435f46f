//! What moves: the native coin of a chain, or a token by its contract.

use crate::Address;

/// An asset of one chain. Identity is the contract, never the symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Asset {
    /// The chain's own coin.
    Native,
    /// A token, by its contract.
    Token(Address),
}

impl Asset {
    /// The contract, `None` for the native coin.
    #[must_use]
    pub const fn contract(&self) -> Option<&Address> {
        match self {
            Self::Native => None,
            Self::Token(contract) => Some(contract),
        }
    }
}
