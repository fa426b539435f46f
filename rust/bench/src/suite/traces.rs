//! Traces of the engine: over grouped edges in memory, as the peers hold them, and over those that a store holds.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use headwater_graph::csr::Csr;
use headwater_graph::expand::{self, Params, RevisitPolicy, Scratch};
use headwater_graph::source::{Node, Source};
use headwater_graph::stored::Stored;
use headwater_ledger::{Cancel, Snapshot, Store};
use headwater_types::{Address, Chain};

use super::answer::{Answer, Query};
use super::counters::{Cost, timed};
use super::oracle::Edges;
use super::peers::Engine;
use super::{Error, Result};
use crate::generator::Ranks;

/// The amount that leaves the first account.
const UNIT: u128 = 1 << 100;

fn failed(error: impl Display) -> Error {
    Error::Peer { peer: "headwater", what: error.to_string() }
}

fn trace<S: Source<Error: Display>>(
    source: &mut S,
    start: Node,
    cap: u32,
    scratch: &mut Scratch,
) -> Result<expand::Report> {
    let params = Params::new(3, cap as usize).ok_or_else(|| failed(format!("a trace of {cap} edges per node")))?;
    let params = params.with_revisits(RevisitPolicy::Continues).with_max_edges(usize::MAX);
    expand::expand(source, (start, UNIT), &params, (scratch, &Cancel::new()), |_| ()).map_err(failed)
}

/// Returns which share of the unit reached whom, by rank.
fn shares(report: &expand::Report, rank: impl Fn(Node) -> Result<u32>) -> Result<Vec<(u32, f64)>> {
    let arrived = report.reached.iter().filter(|reached| reached.amount > 0);
    let share = |amount: u128| amount as f64 / UNIT as f64;
    let mut shares: Vec<_> =
        arrived.map(|reached| Ok((rank(reached.node)?, share(reached.amount)))).collect::<Result<_>>()?;
    shares.sort_unstable_by_key(|(account, _)| *account);
    Ok(shares)
}

/// The grouped edges of everybody in memory, strongest first, by number of transfers.
pub struct MemoryTraces {
    edges: Csr,
    scratch: Scratch,
}

impl MemoryTraces {
    /// Its name in reports.
    pub const NAME: &'static str = "headwater, edges in memory";

    /// Sorts the edges.
    #[must_use]
    pub fn new(edges: &Edges) -> Self {
        let accounts = (0..).take(edges.starts.len().saturating_sub(1));
        let of = |account| edges.outgoing(account).map(move |(to, count)| (account, to, u128::from(count)));
        Self { edges: Csr::new(accounts.flat_map(of)), scratch: Scratch::default() }
    }

    fn trace(&mut self, query: Query) -> Result<expand::Report> {
        let Query::Trace { account, cap } = query else { return Err(failed(format!("{query} is not a trace"))) };
        trace(&mut &self.edges, account, cap, &mut self.scratch)
    }
}

impl Engine for MemoryTraces {
    fn name(&self) -> String {
        Self::NAME.to_owned()
    }

    fn takes(&self, query: Query) -> bool {
        matches!(query, Query::Trace { .. })
    }

    fn answer(&mut self, query: Query) -> Result<Answer> {
        Ok(Answer::Reached(shares(&self.trace(query)?, Ok)?))
    }

    fn time(&mut self, query: Query) -> Result<Cost> {
        let (report, cost) = timed(|| self.trace(query));
        std::hint::black_box(report?);
        Ok(cost)
    }
}

/// The edges of a store, read as a trace of the engine reads them. Nothing has a price in a preset: edges come by number
/// of transfers all the same, but weigh the same.
pub struct StoredTraces {
    snapshot: Arc<Snapshot>,
    ranks: Arc<Ranks>,
    scratch: Scratch,
}

impl StoredTraces {
    /// Its name in reports.
    pub const NAME: &'static str = "headwater, stored edges";

    /// Opens a store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(store: &Path, ranks: Arc<Ranks>) -> Result<Self> {
        Ok(Self { snapshot: Store::open(store)?.snapshot()?, ranks, scratch: Scratch::default() })
    }

    /// The trace, and the graph as far as it was walked.
    fn trace<'a>(
        snapshot: &'a Snapshot,
        (ranks, scratch): (&Ranks, &mut Scratch),
        query: Query,
    ) -> Result<(expand::Report, Stored<'a>)> {
        let Query::Trace { account, cap } = query else { return Err(failed(format!("{query} is not a trace"))) };
        let mut source = Stored::new(snapshot, Chain::ETHEREUM);
        let start = source.node(&Address::Evm(ranks.address_at(account))).map_err(failed)?;
        let start = start.ok_or_else(|| failed(format!("account {account} is not held")))?;
        Ok((trace(&mut source, start, cap, scratch)?, source))
    }
}

impl Engine for StoredTraces {
    fn name(&self) -> String {
        Self::NAME.to_owned()
    }

    fn takes(&self, query: Query) -> bool {
        matches!(query, Query::Trace { .. })
    }

    fn answer(&mut self, query: Query) -> Result<Answer> {
        let (report, source) = Self::trace(&self.snapshot, (&self.ranks, &mut self.scratch), query)?;
        let rank = |node| match source.address(node).map_err(failed)? {
            Some(Address::Evm(bytes)) => self.ranks.find(&bytes).ok_or_else(|| failed("an address never generated")),
            _ => Err(failed(format!("node {node} has no address of the chain"))),
        };
        Ok(Answer::ReachedEqually(shares(&report, rank)?))
    }

    fn time(&mut self, query: Query) -> Result<Cost> {
        let (found, cost) = timed(|| Self::trace(&self.snapshot, (&self.ranks, &mut self.scratch), query));
        std::hint::black_box(found?.0);
        Ok(cost)
    }
}
