//! The tokens of the economy: well-known contracts that a registry vouches for, and those that nobody vouches for.

use headwater_ledger::facts::TokenFacts;
use headwater_ledger::market::TokenListing;
use headwater_types::{Address, Amount, Asset, Chain};

/// One token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    /// The chain.
    pub(crate) chain: Chain,
    /// The contract.
    pub(crate) contract: Address,
    /// Symbol as the contract says.
    pub(crate) symbol: String,
    /// Name as the contract says.
    pub(crate) name: String,
    /// Decimals.
    pub(crate) decimals: u8,
    /// The price; `None` for what has no market.
    pub(crate) price: Option<&'static str>,
    /// Its id at CoinGecko, for tokens of the registry.
    pub(crate) coingecko_id: Option<&'static str>,
}

impl Token {
    /// The asset.
    pub(crate) const fn asset(&self) -> Asset {
        Asset::Token(self.contract)
    }

    /// Returns whether a registry vouches for it.
    pub(crate) const fn verified(&self) -> bool {
        self.coingecko_id.is_some()
    }

    /// Whole units in raw units.
    pub(crate) fn units(&self, whole: u64) -> Amount {
        Amount::from_u128(u128::from(whole) * 10_u128.pow(u32::from(self.decimals)))
    }

    /// Returns what the contract says of itself.
    pub(crate) fn facts(&self) -> TokenFacts {
        TokenFacts {
            contract: self.contract,
            symbol: Some(self.symbol.clone()),
            name: Some(self.name.clone()),
            decimals: Some(self.decimals),
            is_non_fungible: false,
        }
    }

    /// Its line in the registry; `None` when no registry lists it.
    pub(crate) fn listing(&self) -> Option<TokenListing> {
        Some(TokenListing {
            chain: self.chain,
            contract: self.contract,
            symbol: self.symbol.clone(),
            name: self.name.clone(),
            decimals: self.decimals,
            verified: true,
            coingecko_id: Some(self.coingecko_id?.to_owned()),
        })
    }
}

type Row = (Chain, &'static str, &'static str, &'static str, u8, &'static str, &'static str);

/// Contracts that anybody can look up.
#[rustfmt::skip]
const KNOWN: [Row; 13] = [
    (Chain::ETHEREUM, "0xdac17f958d2ee523a2206206994597c13d831ec7", "USDT", "Tether USD", 6, "usdt", "tether"),
    (Chain::ETHEREUM, "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "USDC", "USD Coin", 6, "usdc", "usd-coin"),
    (Chain::ETHEREUM, "0x6b175474e89094c44da98b954eedeac495271d0f", "DAI", "Dai Stablecoin", 18, "dai", "dai"),
    (Chain::ETHEREUM, "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", "WETH", "Wrapped Ether", 18, "weth", "weth"),
    (Chain::ETHEREUM, "0x514910771af9ca656af840dff83e8264ecf986ca", "LINK", "ChainLink Token", 18, "link", "chainlink"),
    (Chain::BSC, "0x55d398326f99059ff775485246999027b3197955", "USDT", "Tether USD", 18, "usdt", "tether"),
    (Chain::BSC, "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d", "USDC", "USD Coin", 18, "usdc", "usd-coin"),
    (Chain::BSC, "0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c", "WBNB", "Wrapped BNB", 18, "wbnb", "wbnb"),
    (Chain::BSC, "0xe9e7cea3dedca5984780bafc599bd69add087d56", "BUSD", "BUSD Token", 18, "busd", "binance-usd"),
    (Chain::BSC, "0x0e09fabb73bd3ade0a17ecc321fd13a19e81ce82", "Cake", "PancakeSwap Token", 18, "cake", "pancakeswap-token"),
    (Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "USDT", "Tether USD", 6, "usdt", "tether"),
    (Chain::TRON, "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8", "USDC", "USD Coin", 6, "usdc", "usd-coin"),
    (Chain::TRON, "TNUC9Qb1rRpS5CbWLmNMxXBjyFoydXjWFR", "WTRX", "Wrapped TRX", 6, "wtrx", "wrapped-tron"),
];

/// The well-known tokens.
pub(crate) fn known() -> Vec<Token> {
    KNOWN
        .into_iter()
        .map(|(chain, contract, symbol, name, decimals, price, coingecko_id)| Token {
            chain,
            contract: Address::parse(chain, contract).expect("the contracts of the table are addresses"),
            symbol: symbol.to_owned(),
            name: name.to_owned(),
            decimals,
            price: Some(price),
            coingecko_id: Some(coingecko_id),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_contracts_and_symbols_of_a_chain_are_unique() {
        let tokens = known();
        let symbols: std::collections::BTreeSet<_> =
            tokens.iter().map(|token| (token.chain, token.symbol.clone())).collect();
        let contracts: std::collections::BTreeSet<_> = tokens.iter().map(|token| token.contract).collect();
        assert_eq!((symbols.len(), contracts.len()), (tokens.len(), tokens.len()));
    }
}
