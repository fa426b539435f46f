//! The sums of pairs that a ledger keeps as edges.

use std::ops::ControlFlow;

use headwater_ledger::LedgerError;
use headwater_ledger::edges::EdgeOrder;

use super::LedgerSource;
use crate::source::{Direction, Node};
use crate::trace::source::{PairSum, PairSums, SumQuery};

impl LedgerSource<'_> {
    /// Reads the sums of an account; `None` where edges are not built, or the request asks for a time, some assets or a
    /// chain without edges.
    pub(super) fn sums_of(
        &mut self,
        node: Node,
        direction: Direction,
        query: SumQuery,
    ) -> Result<Option<PairSums>, LedgerError> {
        if !self.scope.filter.is_of_sums() {
            return Ok(None);
        }
        let Some(account) = self.account_of(node)? else { return Ok(None) };
        let order = match direction {
            Direction::Outgoing => EdgeOrder::Sent,
            Direction::Incoming => EdgeOrder::Received,
        };
        let (mut sums, mut sides) = (PairSums::default(), Vec::new());
        let visited = self.ledger.visit_edges(&account, order, self.cancel, &mut |other, flows| {
            if sides.len() == query.limit {
                sums.is_cut = true;
                return ControlFlow::Break(());
            }
            sides.push((other, if direction == Direction::Outgoing { flows.sent } else { flows.received }));
            ControlFlow::Continue(())
        })?;
        if visited.is_none() {
            return Ok(None);
        }
        let chain = self.chain(node);
        let skips_others = query.is_numbered_only && self.ledger.has_unique_handles(chain);
        for (handle, side) in sides {
            if skips_others && !self.by_handle.contains_key(&handle) {
                continue;
            }
            let Some(other) = self.node_of(chain, handle)? else { continue };
            sums.pairs.push(PairSum { other, usd: side.usd, payments: side.transfers, unpriced: side.unpriced });
        }
        Ok(Some(sums))
    }

    /// Returns whether an asset went from one account to another by their edges; where there are none, it may have.
    pub(super) fn has_moved(&self, (from, to): (Node, Node), asset: u32) -> Result<bool, LedgerError> {
        let (Some(account), Some(other)) = (self.account_of(from)?, self.account_of(to)?) else { return Ok(true) };
        let others: Vec<_> = other.handle().into_iter().collect();
        let Some(edges) = self.ledger.edges_with(&account, &others, self.cancel)? else { return Ok(true) };
        let asset = self.asset(asset).asset;
        for row in edges.pairs.iter().flat_map(|edge| edges.assets(edge)) {
            if row.flows.sent.transfers > 0 && self.ledger.asset(row.asset)? == asset {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
