//! Whether the store contains anything of the chain that a call is about.
//!
//! An empty answer reads as "nothing happened". Of a chain without rows and labels it would only mean "nothing was loaded",
//! so such a call is refused.

use headwater_ledger::Ledger;
use headwater_types::Chain;

use crate::chain_scope::{ChainsRead, Reads};
use crate::query::Query;
use crate::{Endpoint, Error, Reason};

/// Whether the store contains rows or labels of a chain.
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
