//! What is not held of a chain, so that answers say what they leave out.

use headwater_ledger::Ledger;
use headwater_ledger::read::{Coverage, CoverageTable};
use headwater_types::{Chain, Family};

use crate::request::Warnings;

/// What an answer about movements lacks when no source brought a table.
const ACCOUNT_TABLES: [(CoverageTable, &str); 3] = [
    (CoverageTable::Traces, "internal transfers of the native coin"),
    (CoverageTable::TokenTransfers, "token transfers"),
    (CoverageTable::Receipts, "status and fees of transactions"),
];

/// What no source brought of a chain, in words.
pub(crate) fn lacking(chain: Chain, coverage: &Coverage) -> Vec<&'static str> {
    let claimed = |table: &CoverageTable| {
        coverage.ranges.get(table).is_some_and(|ranges| !ranges.is_empty())
            || coverage.accounts.get(table).is_some_and(|accounts| *accounts > 0)
    };
    match chain.family() {
        Family::Evm | Family::Tron => {
            ACCOUNT_TABLES.iter().filter(|(table, _)| !claimed(table)).map(|(_, words)| *words).collect()
        }
        Family::Utxo => Vec::new(),
    }
}

/// Warns of what the answer leaves out because no source claims to have brought it.
pub(crate) fn warn(ledger: &dyn Ledger, chain: Chain, warnings: &mut Warnings) {
    let Some(coverage) = ledger.coverage().get(&chain).filter(|coverage| coverage.transactions > 0) else {
        warnings.add("no_data", None, format!("nothing of {chain} is held: an empty answer says nothing of the chain"));
        return;
    };
    if coverage.approximate > 0 {
        let message = format!(
            "{} amounts of {chain} come from a source that rounds them to doubles: they are flagged `approximate`, and in \
             no balance",
            coverage.approximate
        );
        warnings.add("approximate_amounts", None, message);
    }
    for words in lacking(chain, coverage) {
        let message = format!("no source of {chain} claims to bring {words}: they may be missing from the answer");
        warnings.add("partial_data", None, message);
    }
}
