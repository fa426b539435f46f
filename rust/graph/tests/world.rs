//! Small worlds for tests: payments by hand.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::convert::Infallible;

use headwater_graph::source::{Direction, Node};
use headwater_graph::trace::{
    Movement, PairSum, PairSums, PathSource, Settings, Stop, SumQuery, Trace, TraceSource, Way, trace,
};
use headwater_ledger::read::{PostingColumns, TransactionRef};
use headwater_types::Usd;

/// A payment of a world: sender, receiver, asset, amount; each is a transaction of its own, in order of time, unless it is
/// marked as one with that before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub from: Node,
    pub to: Node,
    pub asset: u32,
    pub amount: u128,
    pub with_last: bool,
}

pub(crate) const fn paid(from: Node, to: Node, amount: u128) -> Transfer {
    Transfer { from, to, asset: 0, amount, with_last: false }
}

/// The asset in which bridges are paid their fees.
pub(crate) const FEE: u32 = 9;

#[derive(Debug, Default)]
pub(crate) struct World {
    payments: Vec<(u32, Transfer)>,
    pub stops: BTreeMap<Node, Stop>,
    /// Payments over a bridge: who made or got it there, its number, and the numbers of the payments on the other side. What is
    /// paid in [`FEE`] beside it is not.
    pub crossed: Vec<(Node, u32, Vec<u32>)>,
    /// True where sums of pairs are known without a look at movements.
    pub has_sums: bool,
    /// The asset that filters leave out.
    pub filtered: Option<u32>,
    /// True where nothing has a price.
    pub is_unpriced: bool,
    /// True where the budget is used up.
    pub is_over: bool,
}

impl World {
    pub fn new(payments: &[Transfer]) -> Self {
        let mut number = 0;
        let numbered = payments.iter().map(|paid| {
            number += u32::from(!paid.with_last);
            (number, *paid)
        });
        Self { payments: numbered.collect(), ..Self::default() }
    }

    pub fn all(&self) -> Vec<Transfer> {
        self.payments.iter().map(|(_, paid)| *paid).collect()
    }

    pub fn trace(&mut self, settings: Settings) -> Trace {
        trace(self, 0, settings).unwrap()
    }
}

impl TraceSource for World {
    type Error = Infallible;

    fn is_service(&mut self, node: Node) -> Result<bool, Infallible> {
        Ok(self.stops.get(&node) == Some(&Stop::Label))
    }

    fn stop(&mut self, node: Node) -> Result<Option<Stop>, Infallible> {
        Ok(self.stops.get(&node).copied())
    }

    fn movements(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Infallible> {
        for (number, paid) in &self.payments {
            let movement = |way, other| Movement {
                transaction: PostingColumns::transaction_of(0, *number),
                time: i64::from(*number),
                asset: paid.asset,
                amount: paid.amount,
                usd: (!self.is_unpriced).then(|| usd_of(paid)),
                other: Some(other),
                way,
                left_out: (self.filtered == Some(paid.asset)).then_some(Stop::Filtered),
            };
            if paid.from == node && paid.to != node {
                into.push(movement(Way::Out, paid.to));
            } else if paid.to == node && paid.from != node {
                into.push(movement(Way::In, paid.from));
            }
        }
        Ok(())
    }

    fn sums(&mut self, node: Node, direction: Direction, query: SumQuery) -> Result<Option<PairSums>, Infallible> {
        if !self.has_sums {
            return Ok(None);
        }
        let mut sums: BTreeMap<Node, (Usd, u64)> = BTreeMap::new();
        for paid in self.all() {
            let is_outward = direction == Direction::Outgoing;
            let (account, other) = if is_outward { (paid.from, paid.to) } else { (paid.to, paid.from) };
            if account == node && other != node {
                let (usd, count) = sums.entry(other).or_default();
                *usd += usd_of(&paid);
                *count += 1;
            }
        }
        let mut order: Vec<_> = sums.into_iter().collect();
        order.sort_by_key(|(other, sum)| (Reverse(*sum), *other));
        let is_cut = order.len() > query.limit;
        order.truncate(query.limit);
        let sum = |(other, (usd, payments))| PairSum { other, usd, payments, unpriced: 0 };
        Ok(Some(PairSums { pairs: order.into_iter().map(sum).collect(), is_cut }))
    }

    fn order(&mut self, one: TransactionRef, other: TransactionRef) -> Result<Ordering, Infallible> {
        Ok(one.cmp(&other))
    }

    fn compare(&self, one: Node, other: Node) -> Ordering {
        one.cmp(&other)
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn other_legs(
        &mut self,
        near: (Node, Direction),
        movement: &Movement,
    ) -> Result<Vec<(Node, Movement)>, Infallible> {
        let (node, direction) = near;
        let of_number = |number: u32| PostingColumns::transaction_of(0, number);
        let is_of = |(of, number, _): &&(Node, u32, Vec<u32>)| {
            *of == node && of_number(*number) == movement.transaction && movement.asset != FEE
        };
        let Some((_, _, far)) = self.crossed.iter().find(is_of).cloned() else { return Ok(Vec::new()) };
        let paid = self.payments.iter().filter(|(number, _)| far.contains(number)).copied().collect::<Vec<_>>();
        let mut movements = Vec::new();
        for (number, paid) in paid {
            let (account, way) = match direction {
                Direction::Outgoing => (paid.to, Way::In),
                Direction::Incoming => (paid.from, Way::Out),
            };
            let mut of_account = Vec::new();
            self.movements(account, &mut of_account)?;
            let is_it = |movement: &Movement| {
                let is_equal = (movement.asset, movement.amount) == (paid.asset, paid.amount);
                movement.transaction == of_number(number) && movement.way == way && is_equal
            };
            movements.extend(of_account.into_iter().filter(is_it).map(|movement| (account, movement)));
        }
        Ok(movements)
    }
}

impl PathSource for World {
    fn size(&mut self, node: Node) -> Result<u64, Infallible> {
        let of_node = self.all().into_iter().filter(|paid| paid.from == node || paid.to == node);
        Ok(of_node.count() as u64)
    }

    fn payments(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Infallible> {
        self.movements(node, into)
    }

    fn may_move(&mut self, (from, to): (Node, Node), asset: u32) -> Result<bool, Infallible> {
        let mut between = self.all().into_iter().filter(|paid| (paid.from, paid.to) == (from, to));
        Ok(!self.has_sums || between.any(|paid| paid.asset == asset))
    }

    fn compare_assets(&self, one: u32, other: u32) -> Ordering {
        one.cmp(&other)
    }
}

fn usd_of(paid: &Transfer) -> Usd {
    Usd::from_f64(f64::from(u32::try_from(paid.amount).unwrap())).unwrap()
}
