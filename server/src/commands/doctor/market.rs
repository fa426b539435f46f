//! Prices and token registries.

use headwater_ledger::Ledger;
use headwater_ledger::market::EntrySource;
use headwater_types::{Chain, Timestamp};

use super::Findings;

const AREA: &str = "market";
/// Prices may be so much older than the data before somebody should know.
const LATE_SECS: i64 = 2 * 86_400;

/// Returns whether the native coins have prices up to the data, and tokens names.
pub(super) fn examine(chains: &[Chain], ledger: &dyn Ledger, findings: &mut Findings) {
    for chain in chains {
        let symbol = chain.native_symbol();
        let head = ledger.coverage().get(chain).and_then(|coverage| coverage.last_time);
        match ledger.prices().latest(symbol).zip(head) {
            Some((price, head)) if late(price.time, head) => findings.warn(
                AREA,
                format!("{chain}: the newest price of {symbol} is of {}, the data of {head}", price.time),
                "`headwater prices import` reads newer ones: later amounts in USD are null until then",
            ),
            Some(_) | None => findings.good(AREA, format!("{chain}: {symbol} has prices up to the data")),
        }
        let is_imported = || ledger.registry().of_chain(*chain).any(|(_, entry)| entry.source == EntrySource::Import);
        if chain.family() != headwater_types::Family::Utxo && !is_imported() {
            findings.warn(
                AREA,
                format!("{chain}: no token registry was imported"),
                "`headwater tokens import` reads some: tokens beyond the core registry are hidden and have no prices",
            );
        }
    }
}

fn late(price: Timestamp, head: Timestamp) -> bool {
    head.secs().saturating_sub(price.secs()) > LATE_SECS
}
