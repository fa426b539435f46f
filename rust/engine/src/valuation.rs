//! Values in US dollars and in the unit that an answer is asked for.

use std::sync::Arc;

use headwater_ledger::Ledger;
use headwater_ledger::market::{AssetTerms, CORE_SOURCE, Price, PriceTable};
use headwater_types::{Amount, Asset, Chain, Timestamp};

use crate::asset_book::{AssetBook, AssetView};
use crate::chain_scope::ChainsRead;
use crate::fields::DecimalText;
use crate::request::{Checks, refused};
use crate::{Error, Reason};

/// The unit of the amounts of an answer (`output_asset`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Output {
    /// Own units; where several assets are summed, US dollars.
    Own,
    /// US dollars.
    Usd,
    /// Own units, one row per asset.
    PerSymbol,
    /// Units of this asset at transfer time.
    Asset {
        /// Lowercase symbol.
        symbol: String,
        /// How it is valued.
        terms: AssetTerms,
    },
}

impl Output {
    /// Checks `output_asset`.
    pub fn new(checks: &Checks<'_>, chain: Chain, text: Option<&str>) -> Result<Self, Error> {
        let Some(text) = text else { return Ok(Self::Own) };
        match text.to_lowercase().as_str() {
            "native" | "" => Ok(Self::Own),
            "usd" => Ok(Self::Usd),
            "per_symbol" | "split" => Ok(Self::PerSymbol),
            symbol => match verified(checks.ledger, chain, symbol).first() {
                Some(entry) => Ok(Self::Asset { symbol: symbol.to_owned(), terms: AssetTerms::listed(entry) }),
                None => {
                    let why = format!("expected usd, per_symbol or a symbol of the registry of {chain}, got {text:?}");
                    Err(refused(Reason::UnknownSymbol, "output_asset", text, &why))
                }
            },
        }
    }
}

impl Output {
    /// Returns whether amounts of the asset are already in the unit of the answer, so that they stay exact.
    pub fn is_unit_of(&self, asset: &AssetView) -> bool {
        match self {
            Self::Own | Self::PerSymbol => true,
            Self::Usd => false,
            Self::Asset { symbol, .. } => asset.verified && asset.symbol.as_ref() == Some(symbol),
        }
    }
}

/// The verified entries of a symbol; the native coin alone where it has the symbol.
pub(crate) fn verified<'a>(
    ledger: &'a dyn Ledger,
    chain: Chain,
    symbol: &str,
) -> Vec<&'a headwater_ledger::market::RegistryEntry> {
    use headwater_ledger::market::SymbolMatch;
    let mut entries = match ledger.registry().symbol(chain, symbol) {
        SymbolMatch::One(entry) => vec![entry],
        SymbolMatch::Ambiguous(entries) => entries,
        SymbolMatch::NotFound => Vec::new(),
    };
    entries.retain(|entry| entry.verified);
    entries
}

/// Values movements at the prices of their time.
#[derive(Clone)]
pub(crate) struct Valuer {
    prices: Arc<PriceTable>,
}

impl Valuer {
    pub fn new(ledger: &dyn Ledger) -> Self {
        Self { prices: Arc::clone(ledger.prices()) }
    }

    /// US dollars per whole unit at a time.
    pub fn price(&self, asset: &AssetView, time: Timestamp) -> Option<f64> {
        asset.price(&self.prices, time)
    }

    /// US dollars of an amount at a time; `None` when it has no price.
    pub fn usd(&self, asset: &AssetView, amount: Amount, time: Timestamp) -> Option<f64> {
        asset.value(&self.prices, amount, time)
    }

    /// The value in the unit of the answer, where that is not the asset's own.
    pub fn converted(
        &self,
        output: &Output,
        asset: &AssetView,
        amount: Amount,
        usd: Option<f64>,
        time: Timestamp,
    ) -> Option<f64> {
        match output {
            Output::Own | Output::PerSymbol => None,
            Output::Usd => usd,
            Output::Asset { .. } if output.is_unit_of(asset) => Some(amount.to_f64(asset.decimals?)),
            Output::Asset { .. } => self.dollars_in(output, usd?, time),
        }
    }

    /// US dollars in units of the asset that an answer is asked for, at its price of a time.
    pub fn dollars_in(&self, output: &Output, usd: f64, time: Timestamp) -> Option<f64> {
        let Output::Asset { terms, .. } = output else { return None };
        let value = usd / terms.price(&self.prices, time)?;
        value.is_finite().then_some(value)
    }
}

/// `amount_unit` of a list: the unit of all its amounts.
pub(crate) fn amount_unit(
    ledger: &dyn Ledger,
    chain: Chain,
    only_asset: Option<Asset>,
    output: &Output,
) -> Result<String, Error> {
    Ok(match output {
        Output::Usd => "usd".to_owned(),
        Output::Asset { symbol, .. } => symbol.clone(),
        Output::Own | Output::PerSymbol => match only_asset {
            None => "mixed".to_owned(),
            Some(asset) => {
                let mut book = AssetBook::new(ledger, chain);
                let number = book.of_asset(asset)?;
                book.view(number).name().to_owned()
            }
        },
    })
}

/// A double as decimal text: the shortest that reads back the same, without exponent.
pub(crate) fn decimal(value: f64) -> DecimalText {
    // Adding zero turns minus zero into zero.
    DecimalText(format!("{}", value + 0.0))
}

/// Returns the symbols that the chains of a call value by the peg, in order: those of pegged contracts of which no price
/// was imported.
pub(crate) fn pegged(ledger: &dyn Ledger, chains: &ChainsRead) -> Vec<String> {
    match chains {
        ChainsRead::One(chain) => pegged_on(ledger, [*chain]),
        ChainsRead::Several(chains) => pegged_on(ledger, chains.iter().copied()),
        ChainsRead::Any(_) => pegged_on(ledger, ledger.coverage().keys().copied()),
        ChainsRead::None | ChainsRead::Invalid => Vec::new(),
    }
}

/// Returns the symbols that any chain values by the peg, in order.
pub(crate) fn pegged_anywhere(ledger: &dyn Ledger) -> Vec<String> {
    pegged_on(ledger, Chain::all())
}

/// Returns one US dollar where some chain values a symbol by the peg: at a time, or at that of the newest data held.
/// `None` otherwise, and where nothing is held that has a time.
pub(crate) fn pegged_price(ledger: &dyn Ledger, symbol: &str, at: Option<Timestamp>) -> Option<Price> {
    let is_pegged = |chain| ledger.registry().pegged(chain, ledger.prices()).contains(symbol);
    let time = at.or_else(|| newest(ledger)).filter(|_| Chain::all().any(is_pegged))?;
    Some(Price { usd: 1.0, time })
}

/// Returns the time of the last block held or imported price.
fn newest(ledger: &dyn Ledger) -> Option<Timestamp> {
    let blocks = ledger.coverage().values().filter_map(|coverage| coverage.last_time);
    let prices = ledger.prices();
    let imports = prices.symbols().flat_map(|symbol| prices.coverage(symbol)).filter(|of| of.source != CORE_SOURCE);
    blocks.chain(imports.map(|of_import| of_import.last)).max()
}

fn pegged_on(ledger: &dyn Ledger, chains: impl IntoIterator<Item = Chain>) -> Vec<String> {
    let of_chain = |chain| ledger.registry().pegged(chain, ledger.prices());
    let mut symbols: Vec<String> = chains.into_iter().flat_map(of_chain).map(str::to_owned).collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_text_has_no_exponent_and_no_trailing_zeros() {
        assert_eq!(&*decimal(1e21), "1000000000000000000000");
        assert_eq!(&*decimal(1e-7), "0.0000001");
        assert_eq!(&*decimal(12.50), "12.5");
        assert_eq!(&*decimal(-0.0), "0");
        assert_eq!(&*decimal(3.0), "3");
    }
}
