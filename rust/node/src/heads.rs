//! The providers of a load, and the last block that they call final.

use headwater_ledger::Cancel;

use crate::error::{CallError, FetchError, NodeError};
use crate::pool::Providers;
use crate::source::Source;

/// The highest block number that a node may state. Stores number blocks with 32 bits.
pub(crate) const MAX_HEAD: u64 = u32::MAX as u64;

/// The end of a load.
#[derive(Debug)]
pub(crate) struct Heads {
    /// The last block.
    pub to: u64,
    /// A sentence where providers do not agree on the newest final block.
    pub note: Option<String>,
}

/// Checks that each provider is of the chain, and finds the last block of the load. A provider of another chain, or one that
/// does not answer, is not asked again.
///
/// By default the load ends where at least half of the providers call the block final, rounded up: of two the one that is
/// behind decides, so that no single provider can make a block final.
pub(crate) fn find_heads(
    providers: &Providers,
    source: &dyn Source,
    (from, to): (u64, Option<u64>),
    cancel: &Cancel,
) -> Result<Heads, NodeError> {
    let check = |provider: &_| {
        source.check_chain(provider, cancel)?;
        match source.heads(provider, cancel)?.newest_final {
            head if head <= MAX_HEAD => Ok(head),
            head => Err(FetchError::Call(CallError::Malformed(format!("the newest block {head}")))),
        }
    };
    let mut heads = providers.check_each((from, to.unwrap_or(from)), check)?;
    heads.sort_unstable();
    let (newest, agreed) = (heads[heads.len() - 1].0, heads[(heads.len() - 1) / 2].0);
    let last = to.unwrap_or(agreed);
    if last > newest {
        return Err(NodeError::Range(format!(
            "block {last} is not final: the newest final block of the providers is {newest}; end there, or repeat the load in some minutes"
        )));
    }
    if from > last {
        return Err(NodeError::Range(format!(
            "the range begins at block {from} and ends at {last}; the newest final block of the providers is {newest}"
        )));
    }
    let is_disputed = to.is_none() && heads[0].0 != newest;
    let list = || heads.iter().map(|(head, name)| format!("{head} by {name}")).collect::<Vec<_>>().join(", ");
    let note = is_disputed
        .then(|| format!("the newest final block is {}: the load ends at {last}; `--to` names another end", list()));
    Ok(Heads { to: last, note })
}
