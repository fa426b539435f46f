//! The edges of a ledger as a graph: nothing is copied, what a walk meets is numbered as it is met.

use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use headwater_ledger::edges::EdgeOrder;
use headwater_ledger::read::{AccountRef, Ledger};
use headwater_ledger::{Cancel, LedgerError};
use headwater_types::{Address, Chain};
use rustc_hash::FxHashMap;

use crate::source::{Direction, Edge, Node, Source};

/// The failure to walk the edges of a ledger.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// They are not built, or not under the registry and prices in force.
    #[error("the edges of {address} on {chain} are not built under the tokens and prices in force: rebuild the edges")]
    NotBuilt {
        /// The chain.
        chain: Chain,
        /// The account that the walk had come to.
        address: Address,
    },
    /// A walk met more accounts than a node can number.
    #[error("a walk numbers at most {limit} accounts", limit = Node::MAX)]
    TooMany,
    /// They cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// The graph of one chain of a ledger: accounts are nodes, an edge weighs the US dollars that were sent along it over all
/// time, in pico-units, of the native coin and tokens that a registry vouches for.
///
/// Edges come by weight, then by number of movements, then by address. Those worth nothing are left out where others are
/// worth something; where none is, as without prices, all are handed out and weigh the same.
///
/// A node costs some 100 bytes, once; a look at it O(segments that hold it + edges handed out) where edges are built.
pub struct Stored<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    /// True where different handles are different accounts.
    has_unique_handles: bool,
    /// By address, where an account has several handles.
    nodes: FxHashMap<Address, Node>,
    /// By handle, so that an account that was met needs no look at its address.
    by_handle: FxHashMap<AccountRef, Node>,
    /// By node, one handle of it.
    handles: Vec<AccountRef>,
    /// Never set: a walk looks at its own token between nodes.
    cancel: Cancel,
}

impl<'a> Stored<'a> {
    /// The graph of a chain. UTXO chains have no edges: who paid whom there is a matter of attribution.
    #[must_use]
    pub fn new(ledger: &'a dyn Ledger, chain: Chain) -> Self {
        let (nodes, by_handle) = (FxHashMap::default(), FxHashMap::default());
        let has_unique_handles = ledger.has_unique_handles(chain);
        Self { ledger, chain, has_unique_handles, nodes, by_handle, handles: Vec::new(), cancel: Cancel::new() }
    }

    /// The node of an address; `None` when it was never seen on the chain.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn node(&mut self, address: &Address) -> Result<Option<Node>, StoredError> {
        if let Some(node) = self.nodes.get(address) {
            return Ok(Some(*node));
        }
        let Some(account) = self.ledger.account(self.chain, address)? else { return Ok(None) };
        account.handle().map(|handle| self.met(handle)).transpose()
    }

    /// The address of a node that was met.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn address(&self, node: Node) -> Result<Option<Address>, StoredError> {
        let handle = self.handles.get(node as usize);
        Ok(handle.map(|handle| self.ledger.address(*handle)).transpose()?)
    }

    fn met(&mut self, handle: AccountRef) -> Result<Node, StoredError> {
        let free = match self.by_handle.entry(handle) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(free) => free,
        };
        let next = Node::try_from(self.handles.len()).map_err(|_| StoredError::TooMany)?;
        let node = if self.has_unique_handles {
            next
        } else {
            *self.nodes.entry(self.ledger.address(handle)?).or_insert(next)
        };
        if node == next {
            self.handles.push(handle);
        }
        free.insert(node);
        Ok(node)
    }
}

impl Source for Stored<'_> {
    type Error = StoredError;

    fn nodes(&self) -> usize {
        self.handles.len()
    }

    fn strongest(
        &mut self,
        node: Node,
        direction: Direction,
        cap: usize,
        into: &mut Vec<Edge>,
    ) -> Result<(), StoredError> {
        let Some(handle) = self.handles.get(node as usize).copied() else { return Ok(()) };
        if cap == 0 {
            return Ok(());
        }
        let order = match direction {
            Direction::Outgoing => EdgeOrder::Sent,
            Direction::Incoming => EdgeOrder::Received,
        };
        let (ledger, cancel) = (self.ledger, self.cancel.clone());
        let begin = into.len();
        let mut failed = None;
        let visited = ledger.visit_weights(handle, order, &cancel, &mut |other, usd| {
            let weight = u128::try_from(usd.raw()).unwrap_or(0);
            if weight == 0 && into[begin..].first().is_some_and(|strongest| strongest.weight > 0) {
                return ControlFlow::Break(());
            }
            match self.met(other) {
                Ok(to) => into.push(Edge { to, weight }),
                Err(error) => failed = Some(error),
            }
            if failed.is_some() || into.len() - begin == cap {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        match (failed, visited) {
            (Some(error), _) => Err(error),
            (None, Some(())) => Ok(()),
            (None, None) => Err(StoredError::NotBuilt { chain: self.chain, address: ledger.address(handle)? }),
        }
    }
}

#[cfg(test)]
mod tests;
