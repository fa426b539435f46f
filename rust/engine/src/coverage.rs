//! The data that a store contains of a chain: calls about chains that it does not contain are refused, and answers name the
//! data that is missing.
//!
//! An empty answer reads as "nothing happened". Of a chain without rows and labels it would only mean "nothing was loaded".

use headwater_ledger::Ledger;
use headwater_ledger::read::{Coverage, CoverageTable};
use headwater_types::Chain;

use crate::chain_scope::{ChainsRead, Reads};
use crate::endpoint::Query;
use crate::request::Warnings;
use crate::{Endpoint, Error, Reason};

/// Returns whether the store contains rows or labels of a chain.
pub(crate) fn is_held(ledger: &dyn Ledger, chain: Chain) -> bool {
    ledger.coverage().contains_key(&chain) || ledger.labels().holds(chain)
}

/// Refuses a call about a chain that is not held; of several (`evm`) one is enough.
pub(crate) fn check(ledger: &dyn Ledger, query: &Query) -> Result<(), Error> {
    let Endpoint { chains: scope, reads, .. } = query.endpoint();
    match reads {
        Reads::Market => return Ok(()),
        Reads::Movements | Reads::Labels => {}
    }
    match query.subject() {
        ChainsRead::One(chain) => check_any(ledger, scope.field(), chain.name(), &[*chain]),
        ChainsRead::Several(chains) => check_any(ledger, scope.field(), "evm", chains),
        ChainsRead::None | ChainsRead::Any(_) | ChainsRead::Invalid => Ok(()),
    }
}

/// Refuses a name of which no chain is held; `field` is where the request names it.
pub(crate) fn check_any(ledger: &dyn Ledger, field: Option<&str>, name: &str, chains: &[Chain]) -> Result<(), Error> {
    if chains.iter().any(|chain| is_held(ledger, *chain)) {
        return Ok(());
    }
    let held: Vec<&str> = Chain::all().filter(|chain| is_held(ledger, *chain)).map(Chain::name).collect();
    let remedy = match held[..] {
        [] => "; it contains no chain yet".to_owned(),
        _ => format!("; it contains {}", held.join(", ")),
    };
    let place = field.map(|field| format!("{field}: ")).unwrap_or_default();
    let message = format!("{place}the store contains neither rows nor labels of {name}{remedy}");
    let error = Error::invalid(Reason::ChainNotHeld, field.unwrap_or_default(), message);
    Err(Error { field: field.map(str::to_owned), value: Some(name.to_owned()), ..error })
}

/// Returns the data of a chain that no source brought, in words.
#[must_use]
pub fn lacking(chain: Chain, coverage: &Coverage) -> Vec<&'static str> {
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
        warnings.add(
            "no_data",
            None,
            format!("the store has no data of {chain}: an empty answer says nothing about the chain"),
        );
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
        let message = format!("no loaded source of {chain} covers {words} completely: the answer may lack some");
        warnings.add("partial_data", None, message);
    }
}
