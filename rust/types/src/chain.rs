//! Chains are rows of one table; the family of a chain decides how its data is shaped.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The accounting model of a chain. Closed on purpose: code matches it without a wildcard.
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
    /// The other names of the chain, the CAIP-2 identifier apart.
    aliases: &'static [&'static str],
    native_symbol: &'static str,
    native_name: &'static str,
    native_decimals: u8,
    finality_depth: u32,
    undo_depth: u32,
}

/// One line per chain, ordered by name. A further EVM chain is one more line.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row { name: "bitcoin", display_name: "Bitcoin", family: Family::Utxo, caip2: "bip122:000000000019d6689c085ae165831e93", aliases: &["btc"], native_symbol: "btc", native_name: "Bitcoin", native_decimals: 8, finality_depth: 6, undo_depth: 144 },
    Row { name: "bsc", display_name: "BNB Smart Chain", family: Family::Evm, caip2: "eip155:56", aliases: &["bnb", "binance-smart-chain", "56"], native_symbol: "bnb", native_name: "BNB", native_decimals: 18, finality_depth: 15, undo_depth: 128 },
    Row { name: "ethereum", display_name: "Ethereum", family: Family::Evm, caip2: "eip155:1", aliases: &["eth", "mainnet", "1"], native_symbol: "eth", native_name: "Ether", native_decimals: 18, finality_depth: 64, undo_depth: 128 },
    Row { name: "tron", display_name: "TRON", family: Family::Tron, caip2: "tron:728126428", aliases: &["trx", "tron:0x2b6653dc"], native_symbol: "trx", native_name: "TRON", native_decimals: 6, finality_depth: 19, undo_depth: 27 },
];

/// A supported chain: a row of the chain table.
///
/// ```
/// use headwater_types::{Chain, Family};
/// let chain: Chain = "ethereum".parse().unwrap();
/// assert_eq!(chain.family(), Family::Evm);
/// assert_eq!(chain.native_symbol(), "eth");
/// assert_eq!("ETH".parse(), Ok(chain));
/// assert!("solana".parse::<Chain>().is_err());
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

    /// Returns the accounting model of the chain.
    #[must_use]
    pub fn family(self) -> Family {
        self.row().family
    }

    /// The CAIP-2 identifier.
    #[must_use]
    pub fn caip2(self) -> &'static str {
        self.row().caip2
    }

    /// The other names that are read as this chain, besides its CAIP-2 identifier. Answers never carry them.
    #[must_use]
    pub fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// The chain with a CAIP-2 identifier; TRON has two, `tron:728126428` and `tron:0x2b6653dc`.
    #[must_use]
    pub fn from_caip2(text: &str) -> Option<Self> {
        text.contains(':').then(|| text.parse().ok()).flatten()
    }

    /// The chain that has exactly this name, as files of ours write it: no alias, no other case.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::all().find(|chain| chain.name() == text)
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

/// The text does not name a supported chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown chain {0:?}: use {known}", known = known_names())]
pub struct UnknownChain(pub String);

/// Every name with the aliases that are words: `bitcoin (btc), bsc (bnb, binance-smart-chain)` and so on.
fn known_names() -> String {
    let is_word = |alias: &&&str| alias.starts_with(|first: char| first.is_ascii_alphabetic()) && !alias.contains(':');
    let named = Chain::all().map(|chain| {
        let words: Vec<&str> = chain.aliases().iter().filter(is_word).copied().collect();
        format!("{} ({})", chain.name(), words.join(", "))
    });
    named.collect::<Vec<_>>().join(", ")
}

impl std::str::FromStr for Chain {
    type Err = UnknownChain;

    /// Reads a name, an alias or a CAIP-2 identifier, in any case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        Self::all()
            .find(|chain| is(chain.name()) || is(chain.caip2()) || chain.aliases().iter().any(|alias| is(alias)))
            .ok_or_else(|| UnknownChain(text.to_owned()))
    }
}

impl Serialize for Chain {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Reads what [`Serialize`] wrote: the name alone.
impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_name(&text).ok_or_else(|| serde::de::Error::custom(UnknownChain(text)))
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

    #[test]
    fn chain_aliases_in_any_case_are_read() {
        for (chain, names) in [
            (Chain::ETHEREUM, "ethereum Ethereum ETH eth mainnet 1 eip155:1"),
            (Chain::BSC, "bsc BSC bnb Binance-Smart-Chain 56 EIP155:56"),
            (Chain::TRON, "tron TRX trx tron:728126428 tron:0x2b6653dc TRON:0x2B6653DC"),
            (Chain::BITCOIN, "bitcoin BTC btc bip122:000000000019d6689c085ae165831e93"),
        ] {
            for name in names.split(' ') {
                assert_eq!(name.parse(), Ok(chain), "{name}");
            }
        }
        for name in ["", " eth", "evm", "solana", "2", "eip155:2", "ether", "binance"] {
            assert!(name.parse::<Chain>().is_err(), "{name}");
        }
    }

    #[test]
    fn chain_aliases_belong_to_one_chain_each() {
        let mut all: Vec<String> = Chain::all()
            .flat_map(|chain| [chain.name(), chain.caip2()].into_iter().chain(chain.aliases().iter().copied()))
            .map(str::to_ascii_lowercase)
            .collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn unknown_chain_error_lists_names() {
        let expected = "unknown chain \"solana\": use bitcoin (btc), bsc (bnb, binance-smart-chain), \
                        ethereum (eth, mainnet), tron (trx)";
        assert_eq!("solana".parse::<Chain>().unwrap_err().to_string(), expected);
    }

    #[test]
    fn chain_from_name_takes_no_alias() {
        assert_eq!(Chain::from_name("bsc"), Some(Chain::BSC));
        assert_eq!((Chain::from_name("BSC"), Chain::from_name("bnb")), (None, None));
    }
}
