//! The records that edges hand out.

use std::mem::size_of;
use std::ops::Range;

use headwater_types::{Amount, Timestamp, Usd};

use crate::primitives::{AccountRef, AssetRef};

/// The order in which counterparties are handed out. Ties fall to the number of movements that the value is of,
/// larger first, then to the address, smaller first; so every order is total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EdgeOrder {
    /// By the US dollars that moved either way, largest first.
    #[default]
    Total,
    /// By the US dollars sent to the counterparty, largest first; only those to whom anything was sent.
    Sent,
    /// By the US dollars received from the counterparty, largest first; only those from whom anything came.
    Received,
}

/// The movements in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeSide {
    /// Movements.
    pub transfers: u64,
    /// Distinct transactions.
    pub transactions: u64,
    /// Movements without a price.
    pub unpriced: u64,
    /// US dollars of the priced movements.
    pub usd: Usd,
}

/// The movements between an account and a counterparty, as seen from the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeFlows {
    /// Towards the account.
    pub received: EdgeSide,
    /// Away from it.
    pub sent: EdgeSide,
    /// Distinct transactions either way.
    pub transactions: u64,
    /// Time of the first movement; meaningless without any.
    pub first: Timestamp,
    /// Time of the last movement; meaningless without any.
    pub last: Timestamp,
}

/// One counterparty of an account over the default scope: what is not failed, not of zero amount, and of the native
/// coin or a token that a registry vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// The counterparty.
    pub counterparty: AccountRef,
    /// Sums over the default scope; zero transfers where only tokens moved that nobody vouches for.
    pub flows: EdgeFlows,
    /// The range of its assets in [`Edges::assets`].
    pub(crate) assets: Range<usize>,
}

/// One counterparty and one asset, whoever vouches for it; failed and zero movements are left out here too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetEdge {
    /// The asset.
    pub asset: AssetRef,
    /// Counts and values.
    pub flows: EdgeFlows,
    /// Received, in the smallest unit; `None` when the sum passes 256 bits.
    pub received: Option<Amount>,
    /// Sent, in the smallest unit; `None` when the sum passes 256 bits.
    pub sent: Option<Amount>,
}

/// Counterparties of one account in one order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Edges {
    /// Those handed out, in order. Those without a movement in the default scope come last.
    pub pairs: Vec<Edge>,
    pub(crate) assets: Vec<AssetEdge>,
}

impl Edges {
    /// Bytes that it takes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.pairs.len() * size_of::<Edge>() + self.assets.len() * size_of::<AssetEdge>()
    }

    /// The movements between the account and a counterparty, by asset: by US dollars, then movements, largest first.
    #[must_use]
    pub fn assets(&self, edge: &Edge) -> &[AssetEdge] {
        &self.assets[edge.assets.clone()]
    }
}

impl EdgeFlows {
    pub(crate) const NONE: Self =
        Self { received: EdgeSide::NONE, sent: EdgeSide::NONE, transactions: 0, first: LATEST, last: EARLIEST };

    /// Movements either way.
    #[must_use]
    pub const fn transfers(&self) -> u64 {
        self.received.transfers + self.sent.transfers
    }

    /// US dollars either way.
    #[must_use]
    pub fn usd(&self) -> Usd {
        self.received.usd + self.sent.usd
    }

    /// Adds what another segment holds of the same. No transaction is in two segments, so counts add up.
    pub(crate) fn add(&mut self, other: &Self) {
        self.received.add(&other.received);
        self.sent.add(&other.sent);
        self.transactions += other.transactions;
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
    }

    /// Returns the weight that an order sorts by: US dollars, then movements.
    pub(crate) fn weight(&self, order: EdgeOrder) -> (Usd, u64) {
        match order {
            EdgeOrder::Total => (self.usd(), self.transfers()),
            EdgeOrder::Sent => (self.sent.usd, self.sent.transfers),
            EdgeOrder::Received => (self.received.usd, self.received.transfers),
        }
    }
}

impl EdgeOrder {
    /// Returns whether a counterparty has a place in the order.
    pub(crate) const fn holds(self, flows: &EdgeFlows) -> bool {
        match self {
            Self::Total => true,
            Self::Sent => flows.sent.transfers > 0,
            Self::Received => flows.received.transfers > 0,
        }
    }
}

impl EdgeSide {
    const NONE: Self = Self { transfers: 0, transactions: 0, unpriced: 0, usd: Usd::ZERO };

    fn add(&mut self, other: &Self) {
        self.transfers += other.transfers;
        self.transactions += other.transactions;
        self.unpriced += other.unpriced;
        self.usd += other.usd;
    }
}

impl AssetEdge {
    pub(crate) fn add(&mut self, other: &Self) {
        self.flows.add(&other.flows);
        self.received = self.received.zip(other.received).and_then(|(one, other)| one.checked_add(other));
        self.sent = self.sent.zip(other.sent).and_then(|(one, other)| one.checked_add(other));
    }
}

const EARLIEST: Timestamp = Timestamp::new(i64::MIN);
const LATEST: Timestamp = Timestamp::new(i64::MAX);
