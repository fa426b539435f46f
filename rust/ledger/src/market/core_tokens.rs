//! The core token registry: the tokens that every store has without an import.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use headwater_types::{Address, Chain};

use super::listing::TokenListing;

/// The name under which the core registry and the core prices are listed beside imports.
pub const CORE_SOURCE: &str = "core";

/// The table, with where each line was read.
const TABLE: &str = include_str!("core_tokens.csv");

static TOKENS: LazyLock<Vec<TokenListing>> =
    LazyLock::new(|| rows().map(|row| listing(row).expect("a test reads every line of the table")).collect());

/// The contracts whose token is pegged to the US dollar.
static PEGGED: LazyLock<BTreeSet<(Chain, Address)>> = LazyLock::new(|| {
    let pegged = rows().filter(|row| row.split(',').nth(7) == Some("usd"));
    pegged.filter_map(listing).map(|token| (token.chain, token.contract)).collect()
});

/// Returns whether a token is pegged to the US dollar: a fact of its contract, whatever list names it.
pub(super) fn is_pegged(chain: Chain, contract: &Address) -> bool {
    PEGGED.contains(&(chain, *contract))
}

/// The core tokens of all chains, in the order of their table: wrapped coins, stablecoins and the most used tokens of
/// ethereum, bsc and tron. Imported listings replace them contract by contract.
///
/// ```
/// use headwater_ledger::market::core_tokens;
/// use headwater_types::Chain;
/// let tether = core_tokens().iter().find(|token| token.chain == Chain::TRON && token.symbol == "USDT").unwrap();
/// assert_eq!((tether.contract.to_string().as_str(), tether.decimals), ("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", 6));
/// ```
#[must_use]
pub fn core_tokens() -> &'static [TokenListing] {
    &TOKENS
}

/// The lines that name a token.
fn rows() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// `chain,contract,symbol,decimals,name,coingecko_id,sources`, and `usd` for pegged tokens.
fn listing(row: &str) -> Option<TokenListing> {
    let mut fields = row.split(',');
    let chain: Chain = fields.next()?.parse().ok()?;
    let contract = Address::parse(chain, fields.next()?).ok()?;
    let symbol = fields.next()?.to_owned();
    let decimals = fields.next()?.parse().ok()?;
    let name = fields.next()?.to_owned();
    let coingecko_id = Some(fields.next()?.to_owned()).filter(|id| !id.is_empty());
    Some(TokenListing { chain, contract, symbol, name, decimals, verified: true, coingecko_id })
}

#[cfg(test)]
mod tests {
    use headwater_types::address::{Checksum, eip55};
    use headwater_types::{Asset, Family};

    use super::*;
    use crate::market::{EntrySource, Registry, SymbolMatch};

    #[test]
    fn core_tokens_every_line_is_a_token_with_two_sources() {
        let mut legend = BTreeSet::new();
        for line in TABLE.lines().filter_map(|line| line.strip_prefix("#   ")) {
            legend.extend(line.chars().next().filter(|_| line.get(1..3) == Some("  ")));
        }
        for row in rows() {
            let fields: Vec<&str> = row.split(',').collect();
            let ([_, contract, symbol, _, name, _, sources] | [_, contract, symbol, _, name, _, sources, "usd"]) =
                fields[..]
            else {
                panic!("{row}")
            };
            let token = listing(row).unwrap_or_else(|| panic!("{row}"));
            assert!(!symbol.is_empty() && !name.is_empty() && name.trim() == name, "{row}");
            // Base58Check is checked where it is parsed.
            if token.chain.family() == Family::Evm {
                assert_eq!(eip55(contract), Checksum::Ok, "{row}");
            }
            let named: BTreeSet<char> = sources.chars().collect();
            assert!(named.len() >= 2 && named.len() == sources.len() && named.is_subset(&legend), "{row}");
        }
        assert_eq!(rows().count(), core_tokens().len());
    }

    #[test]
    fn core_tokens_contracts_and_symbols_are_unique() {
        let contracts: BTreeSet<_> = core_tokens().iter().map(|token| (token.chain, token.contract)).collect();
        let native = Chain::all().map(|chain| (chain, chain.native_symbol().to_owned()));
        let tokens = core_tokens().iter().map(|token| (token.chain, token.symbol.to_lowercase()));
        let symbols: BTreeSet<_> = native.chain(tokens).collect();
        assert_eq!(contracts.len(), core_tokens().len());
        assert_eq!(symbols.len(), core_tokens().len() + Chain::all().len());
    }

    #[test]
    fn core_tokens_all_are_verified_and_priced_by_symbol() {
        let registry = Registry::default();
        for token in core_tokens() {
            let SymbolMatch::One(entry) = registry.symbol(token.chain, &token.symbol) else { panic!("{token:?}") };
            assert_eq!((entry.asset, entry.source), (Asset::Token(token.contract), EntrySource::Core));
            assert!(entry.verified && entry.rate_symbol == Some(token.symbol.to_lowercase()), "{token:?}");
        }
    }

    #[test]
    fn core_tokens_stablecoins_have_the_decimals_of_their_chain() {
        let decimals = |chain, symbol: &str| match Registry::default().symbol(chain, symbol) {
            SymbolMatch::One(entry) => entry.decimals,
            other => panic!("{symbol}: {other:?}"),
        };
        let of = |symbol| [Chain::ETHEREUM, Chain::BSC, Chain::TRON].map(|chain| decimals(chain, symbol));
        assert_eq!((of("usdt"), of("usdc"), of("tusd")), ([6, 18, 6], [6, 18, 6], [18, 18, 18]));
        assert_eq!([Chain::ETHEREUM, Chain::BSC].map(|chain| decimals(chain, "dai")), [18, 18]);
    }

    /// The list of the documentation, written out again: a token is added here only after its issuer was looked at.
    #[test]
    fn core_tokens_pegged_are_those_of_the_rule_and_no_other() {
        let pegged = |chain| {
            let of_chain = core_tokens().iter().filter(move |token| token.chain == chain);
            let pegged = of_chain.filter(|token| is_pegged(token.chain, &token.contract));
            pegged.map(|token| token.symbol.as_str()).collect::<BTreeSet<_>>()
        };
        let issued = ["USDT", "USDC", "DAI", "USDS", "PYUSD", "FDUSD", "USDP", "GUSD", "RLUSD", "USD1", "USDG"];
        assert_eq!(pegged(Chain::ETHEREUM), BTreeSet::from(issued));
        assert_eq!(pegged(Chain::BSC), BTreeSet::from(["USDT", "USDC", "DAI", "FDUSD", "USD1"]));
        assert_eq!(pegged(Chain::TRON), BTreeSet::from(["USDT", "USDC", "USD1"]));
    }
}
