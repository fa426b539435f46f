//! Assets: the native coin of a chain, or a token by its contract.

use std::fmt;

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

impl fmt::Display for Asset {
    /// The contract, or `native`, as requests name the chain's own coin.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Token(contract) => fmt::Display::fmt(contract, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chain;

    #[test]
    fn an_asset_is_named_by_its_contract() {
        let contract = Address::parse(Chain::ETHEREUM, "0xdac17f958d2ee523a2206206994597c13d831ec7").unwrap();
        assert_eq!(Asset::Token(contract).to_string(), contract.to_string());
        assert_eq!(Asset::Token(contract).contract(), Some(&contract));
        assert_eq!((Asset::Native.to_string().as_str(), Asset::Native.contract()), ("native", None));
        assert!(Asset::Native < Asset::Token(contract), "the native coin comes first");
    }
}
