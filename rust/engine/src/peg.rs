//! Which assets of an answer are valued by the peg.

use headwater_ledger::Ledger;
use headwater_ledger::market::Price;
use headwater_types::{Chain, Timestamp};

use crate::chain_scope::ChainsRead;

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
pub(crate) fn price(ledger: &dyn Ledger, symbol: &str, at: Option<Timestamp>) -> Option<Price> {
    let is_pegged = |chain| ledger.registry().pegged(chain, ledger.prices()).contains(symbol);
    let time = at.or_else(|| newest(ledger)).filter(|_| Chain::all().any(is_pegged))?;
    Some(Price { usd: 1.0, time })
}

/// Returns the time of the last block or price held.
fn newest(ledger: &dyn Ledger) -> Option<Timestamp> {
    let blocks = ledger.coverage().values().filter_map(|coverage| coverage.last_time);
    let prices = ledger.prices();
    blocks.chain(prices.symbols().filter_map(|symbol| Some(prices.latest(symbol)?.time))).max()
}

fn pegged_on(ledger: &dyn Ledger, chains: impl IntoIterator<Item = Chain>) -> Vec<String> {
    let of_chain = |chain| ledger.registry().pegged(chain, ledger.prices());
    let mut symbols: Vec<String> = chains.into_iter().flat_map(of_chain).map(str::to_owned).collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}
