//! Chains are rows of one table; the family of a chain decides how its data is shaped.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a chain keeps its books. Closed on purpose: code matches it without a wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Accounts with 20-byte addresses written as `0x` hex.
    Evm,
    /// Accounts with 20-byte addresses written as Base58Check with the prefix byte 0x41.
    Tron,
    /// Unspent outputs owned by scripts.
    Utxo,
}

impl Family {
    /// The lowercase name that answers carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Evm => "evm",
            Self::Tron => "tron",
            Self::Utxo => "utxo",
        }
    }
}

struct Row {
    name: &'static str,
    display_name: &'static str,
    family: Family,
    caip2: &'static str,
    native_symbol: &'static str,
    native_name: &'static str,
    native_decimals: u8,
    finality_depth: u32,
    undo_depth: u32,
}

/// One line per chain, ordered by name. A further EVM chain is one more line.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row { name: "bitcoin", display_name: "Bitcoin", family: Family::Utxo, caip2: "bip122:000000000019d6689c085ae165831e93", native_symbol: "btc", native_name: "Bitcoin", native_decimals: 8, finality_depth: 6, undo_depth: 144 },
    Row { name: "bsc", display_name: "BNB Smart Chain", family: Family::Evm, caip2: "eip155:56", native_symbol: "bnb", native_name: "BNB", native_decimals: 18, finality_depth: 15, undo_depth: 128 },
    Row { name: "ethereum", display_name: "Ethereum", family: Family::Evm, caip2: "eip155:1", native_symbol: "eth", native_name: "Ether", native_decimals: 18, finality_depth: 64, undo_depth: 128 },
    Row { name: "tron", display_name: "TRON", family: Family::Tron, caip2: "tron:728126428", native_symbol: "trx", native_name: "TRON", native_decimals: 6, finality_depth: 19, undo_depth: 27 },
];

/// A supported chain: a row of the chain table.
///
/// ```
/// use headwater_types::{Chain, Family};
/// let chain: Chain = "ethereum".parse().unwrap();
/// assert_eq!(chain.family(), Family::Evm);
/// assert_eq!(chain.native_symbol(), "eth");
/// assert!("Ethereum".parse::<Chain>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chain(u8);

impl Chain {
    /// Bitcoin.
    pub const BITCOIN: Self = Self(0);
    /// BNB Smart Chain.
    pub const BSC: Self = Self(1);
    /// Ethereum mainnet.
    pub const ETHEREUM: Self = Self(2);
    /// TRON.
    pub const TRON: Self = Self(3);

    /// Every supported chain, ordered by name.
    #[must_use]
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        (0..TABLE.len()).map(|row| Self(u8::try_from(row).expect("the chain table is short")))
    }

    fn row(self) -> &'static Row {
        &TABLE[usize::from(self.0)]
    }

    /// The lowercase identifier used by every interface.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name for people.
    #[must_use]
    pub fn display_name(self) -> &'static str {
        self.row().display_name
    }

    /// How the chain keeps its books.
    #[must_use]
    pub fn family(self) -> Family {
        self.row().family
    }

    /// The CAIP-2 identifier.
    #[must_use]
    pub fn caip2(self) -> &'static str {
        self.row().caip2
    }

    /// The chain with a CAIP-2 identifier; for TRON also its hexadecimal alias `tron:0x2b6653dc`.
    #[must_use]
    pub fn from_caip2(text: &str) -> Option<Self> {
        const TRON_ALIAS: &str = "tron:0x2b6653dc";
        if text == TRON_ALIAS {
            return Some(Self::TRON);
        }
        Self::all().find(|chain| chain.caip2() == text)
    }

    /// Lowercase symbol of the native coin.
    #[must_use]
    pub fn native_symbol(self) -> &'static str {
        self.row().native_symbol
    }

    /// Display name of the native coin.
    #[must_use]
    pub fn native_name(self) -> &'static str {
        self.row().native_name
    }

    /// Decimals of the native coin.
    #[must_use]
    pub fn native_decimals(self) -> u8 {
        self.row().native_decimals
    }

    /// Blocks after which data counts as final.
    #[must_use]
    pub fn finality_depth(self) -> u32 {
        self.row().finality_depth
    }

    /// Blocks for which undo data is kept.
    #[must_use]
    pub fn undo_depth(self) -> u32 {
        self.row().undo_depth
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is no identifier of a supported chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown chain {0:?}: expected one of {names}", names = Chain::all().map(Chain::name).collect::<Vec<_>>().join(", "))]
pub struct UnknownChain(pub String);

impl std::str::FromStr for Chain {
    type Err = UnknownChain;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::all().find(|chain| chain.name() == text).ok_or_else(|| UnknownChain(text.to_owned()))
    }
}

impl Serialize for Chain {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_ordered_and_its_constants_point_at_their_rows() {
        let names: Vec<_> = Chain::all().map(Chain::name).collect();
        assert!(names.is_sorted());
        for (chain, name) in
            [(Chain::BITCOIN, "bitcoin"), (Chain::BSC, "bsc"), (Chain::ETHEREUM, "ethereum"), (Chain::TRON, "tron")]
        {
            assert_eq!(chain.name(), name);
            assert_eq!(name.parse(), Ok(chain));
        }
    }
}
