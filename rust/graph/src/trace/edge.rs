//! Edges between accounts of a trace: sums over movements.

use std::cmp::Reverse;

use headwater_ledger::read::TransactionRef;
use headwater_types::{Amount, Usd};
use rustc_hash::FxHashSet;

use super::movement::Movement;
use crate::source::{Direction, Node};

/// The maximum number of transactions that an edge names.
const MAX_NAMED: usize = 10;

/// The movements from one account to another in one asset.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// The payer.
    pub from: Node,
    /// The payee.
    pub to: Node,
    /// The hop, negative inward.
    pub depth: i32,
    /// The direction of the walk.
    pub direction: Direction,
    /// The asset.
    pub asset: u32,
    /// In its smallest unit.
    pub amount: Amount,
    /// The worth; `None` where no movement had a price.
    pub usd: Option<Usd>,
    /// Movements without a price.
    pub unpriced: u64,
    /// Distinct transactions.
    pub transactions: u64,
    /// Time of the first.
    pub first: i64,
    /// Time of the last.
    pub last: i64,
    /// The largest transactions, at most ten.
    pub largest: Vec<TransactionRef>,
    /// The traced part; `None` without a method.
    pub taint: Option<Amount>,
    /// True where it went back to whoever paid.
    pub is_change: bool,
}

/// An edge that movements are added to.
pub(crate) struct EdgeSum {
    edge: Edge,
    /// Amount and time of each movement, and its transaction.
    named: Vec<(u128, i64, TransactionRef)>,
}

impl EdgeSum {
    pub fn new((from, to): (Node, Node), (depth, direction): (i32, Direction), asset: u32) -> Self {
        let edge = Edge {
            from,
            to,
            depth,
            direction,
            asset,
            amount: Amount::ZERO,
            usd: None,
            unpriced: 0,
            transactions: 0,
            first: i64::MAX,
            last: i64::MIN,
            largest: Vec::new(),
            taint: None,
            is_change: false,
        };
        Self { edge, named: Vec::new() }
    }

    /// The same of what went back to whoever paid.
    pub fn of_change(mut self, is_change: bool) -> Self {
        self.edge.is_change = is_change;
        self
    }

    /// Adds a movement, and how much of it is traced.
    pub fn add(&mut self, movement: &Movement, taint: Option<u128>) {
        let Movement { transaction, time, amount, usd, .. } = *movement;
        let sum = |held: Amount, more: u128| held.checked_add(Amount::from_u128(more)).unwrap_or(Amount::MAX);
        let edge = &mut self.edge;
        edge.amount = sum(edge.amount, amount);
        edge.taint = taint.map(|taint| sum(edge.taint.unwrap_or(Amount::ZERO), taint));
        add(&mut edge.usd, usd);
        edge.unpriced += u64::from(usd.is_none());
        (edge.first, edge.last) = (edge.first.min(time), edge.last.max(time));
        self.named.push((amount, time, transaction));
    }

    /// The edge with its transactions.
    pub fn finish(self) -> Edge {
        let Self { mut edge, mut named } = self;
        // Of equal ones in the order in which they were followed, which is that of the chain.
        named.sort_by_key(|(amount, time, _)| (Reverse(*amount), *time));
        let mut distinct = FxHashSet::default();
        for (_, _, transaction) in named {
            if distinct.insert(transaction) && edge.largest.len() < MAX_NAMED {
                edge.largest.push(transaction);
            }
        }
        edge.transactions = distinct.len() as u64;
        edge
    }
}

/// Adds to a sum that is nothing until something has a price.
pub(super) fn add(sum: &mut Option<Usd>, more: Option<Usd>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or_default() + more);
    }
}
