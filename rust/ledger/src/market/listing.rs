//! Tokens and prices as imports list them.

use headwater_types::{Address, Chain, Timestamp};

/// One token as a registry file lists it: what `tokens import` offers to the store.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenListing {
    /// The chain.
    pub chain: Chain,
    /// The contract.
    pub contract: Address,
    /// Symbol as written.
    pub symbol: String,
    /// Name as written.
    pub name: String,
    /// Decimals.
    pub decimals: u8,
    /// True if the list vouches for it.
    pub verified: bool,
    /// Its id at CoinGecko, where the list has it.
    pub coingecko_id: Option<String>,
}

/// One price as a file lists it: what `prices import` offers to the store.
#[derive(Debug, Clone, PartialEq)]
pub struct PricePoint {
    /// Lowercase rate symbol.
    pub symbol: String,
    /// From when it may be used: a daily price carries the last second of its day, so that nothing looks ahead.
    pub time: Timestamp,
    /// US dollars per whole unit.
    pub usd: f64,
}

/// A price found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// US dollars per whole unit.
    pub usd: f64,
    /// Its time.
    pub time: Timestamp,
}
