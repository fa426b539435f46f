//! Counterparties from the edges that the ledger keeps, where they say the same as the movements would.

use headwater_ledger::Ledger;
use headwater_ledger::edges::{AssetEdge, EdgeOrder};
use headwater_ledger::read::Account;
use headwater_metrics::flow::{AssetTally, Group, Tally};
use headwater_types::Asset;

use crate::Error;
use crate::asset_book::AssetBook;
use crate::flows::{Others, overflow};

/// What edges can answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeScope {
    /// Everything that is shown by default.
    Default,
    /// One asset, whoever vouches for it.
    Asset(Asset),
}

/// The movements of an account by counterparty, in no particular order; `None` where edges are not built, or stale.
pub(crate) fn edge_groups(
    ledger: &dyn Ledger,
    scope: EdgeScope,
    account: &Account,
    others: &mut Others<'_>,
    book: &mut AssetBook<'_>,
) -> Result<Option<Vec<(usize, Group)>>, Error> {
    let Some(edges) = ledger.edges(account, EdgeOrder::Total, usize::MAX)? else { return Ok(None) };
    let mut groups = Vec::with_capacity(edges.pairs.len());
    for edge in &edges.pairs {
        let mut group = Group::default();
        for row in edges.assets(edge) {
            let number = book.of_ref(row.asset)?;
            let view = book.view(number);
            let is_meant = match scope {
                EdgeScope::Default => view.verified,
                EdgeScope::Asset(asset) => view.asset == asset,
            };
            if is_meant {
                group.by_asset.push((number, tally(row)?));
            }
        }
        group.all = match (scope, &group.by_asset[..]) {
            (_, []) => continue,
            (EdgeScope::Default, _) => Tally::from(&edge.flows),
            (EdgeScope::Asset(_), [(_, only), ..]) => only.tally,
        };
        groups.push((others.of_account(edge.counterparty)?, group));
    }
    Ok(Some(groups))
}

fn tally(row: &AssetEdge) -> Result<AssetTally, Error> {
    AssetTally::try_from(row).map_err(overflow)
}
