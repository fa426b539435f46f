//! What is not held of a chain, so that answers say what they leave out.

use headwater_ledger::Ledger;
use headwater_ledger::read::{Coverage, CoverageTable};
use headwater_types::Chain;

use crate::request::Warnings;

/// What no source brought of a chain, in words.
pub(crate) fn lacking(chain: Chain, coverage: &Coverage) -> Vec<&'static str> {
    let words = |table| match table {
        CoverageTable::Traces => "internal transfers of the native coin",
        CoverageTable::TokenTransfers => "token transfers",
        CoverageTable::Receipts => "status and fees of transactions",
        _ => "rows of another table",
    };
    coverage.missing(chain).map(words).collect()
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
