//! Exposure: which part of the money of an account came from named others, or went to them, directly or through accounts that
//! nobody has named.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use headwater_intel::label::CodeConfidence;
use headwater_ledger::labels::{Category, Code};
use headwater_types::Usd;
use rustc_hash::FxHashSet;

use super::account::{Arrival, Fate, Rules, directed, flow};
use super::movement::{Movement, Way};
use super::source::{PairSums, SumQuery, TraceSource};
use super::stop::{Stop, is_reliable};
use crate::source::{Direction, Node};
use crate::taint::{Method, Part};

/// The part of a share that is left with each hop beyond the first.
const LEFT_PER_HOP: f64 = 0.95;

/// Returns the category of an address with a code: the family of a risk, or the kind of a service. `None` for codes that name
/// nobody.
#[must_use]
pub fn exposure_category(code: Code) -> Option<&'static str> {
    match (code.category(), code) {
        (Category::Historical | Category::Activity, _) => None,
        (Category::Identity, Code::ExchangeHotWallet | Code::Deposit) => Some(Code::Exchange.name()),
        (Category::Identity, _) => Some(code.name()),
        (risk, _) => Some(risk.name()),
    }
}

/// Returns the codes that name somebody, at which an exposure ends.
#[must_use]
pub fn naming_codes() -> Vec<Code> {
    Code::ALL.iter().copied().filter(|code| exposure_category(*code).is_some()).collect()
}

/// Returns the gravest code that names somebody: the table of codes begins with it.
#[must_use]
pub fn gravest(codes: &[CodeConfidence]) -> Option<Code> {
    let known = codes.iter().filter(|code| is_reliable(code)).map(|code| code.code);
    known.filter(|code| exposure_category(*code).is_some()).min()
}

/// How far and how wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Payments between the account and a named one at most.
    pub max_hops: u8,
    /// Counterparties of an account between that are followed, largest first; those of the account itself all are.
    pub limit: usize,
    /// Accounts that are looked through.
    pub max_nodes: usize,
}

/// Why a part of the money has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nameless {
    /// It stayed at an account between, was there before the data begins, or paid fees.
    Kept,
    /// It came back to an account that was looked through already.
    Again,
    /// Its account is not looked through.
    Stopped(Stop),
    /// There was no room for more accounts.
    MaxNodes,
    /// The work was over.
    TimeBudget,
}

/// Money that came from a named account, or went to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// The named account.
    pub node: Node,
    /// Payments between the two; 1 where they dealt with one another.
    pub hops: u8,
    /// US dollars, at the times of the payments of the account itself.
    pub usd: Usd,
}

impl Share {
    /// Returns what counts of it: 5 % less for each hop beyond the first.
    #[must_use]
    pub fn weighted_usd(&self) -> Usd {
        match self.hops {
            1 => self.usd,
            hops => {
                let weighted = self.usd.to_f64() * LEFT_PER_HOP.powi(i32::from(hops) - 1);
                Usd::from_f64(weighted).map_or(self.usd, |weighted| weighted.min(self.usd))
            }
        }
    }
}

/// The exposure of an account in one direction. `total` is the sum of the shares and of what has no name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exposed {
    /// US dollars that left the account for others, or came from others.
    pub total: Usd,
    /// Payments of the account without a price; they are in no sum.
    pub unpriced: u64,
    /// By account and hops, nearest first, then by amount.
    pub shares: Vec<Share>,
    /// The rest, by reason.
    pub nameless: BTreeMap<Nameless, Usd>,
    /// Accounts that were looked through, the account itself included.
    pub looked_through: usize,
    /// Whether it is from sums over the payments of the account, without a look at its movements.
    pub is_from_sums: bool,
}

/// Where the money of an account went, or came from, until somebody is known: outward or inward.
///
/// Accounts between that nobody has named are looked through hop by hop, the largest first: of what they had when they paid
/// on, every part goes on in proportion (haircut), in the order of the chain and over swaps. A named account ends the way,
/// whatever it did with the money.
///
/// # Errors
/// Those of the source.
pub fn exposure<S: TraceSource>(
    source: &mut S,
    start: Node,
    (direction, reach): (Direction, Reach),
) -> Result<Exposed, S::Error> {
    if reach.max_hops == 1
        && let Some(sums) = source.sums(start, direction, SumQuery::ALL)?
    {
        return direct(source, &sums);
    }
    let mut spread = Spread { direction, reach, seen: FxHashSet::from_iter([start]), exposed: Exposed::default() };
    let mut movements = Vec::new();
    source.movements(start, &mut movements)?;
    spread.exposed.looked_through = 1;
    let mut waiting = spread.begin(start, &movements);
    for hops in 1..=reach.max_hops {
        let mut order: Vec<(Node, Waiting)> = std::mem::take(&mut waiting).into_iter().collect();
        order.sort_by_key(|(node, of_node)| (Reverse(of_node.usd), *node));
        for (node, of_node) in order {
            if node != start && source.is_service(node)? {
                spread.exposed.shares.push(Share { node, hops, usd: dollars(of_node.usd) });
            } else if let Some(why) = spread.end(source, (node, hops))? {
                spread.lose(why, of_node.usd);
            } else {
                movements.clear();
                source.movements(node, &mut movements)?;
                spread.look_through(node, &movements, &of_node, &mut waiting);
            }
        }
    }
    Ok(spread.exposed)
}

/// Returns the direct exposure of an account, from the sums over its payments.
fn direct<S: TraceSource>(source: &mut S, sums: &PairSums) -> Result<Exposed, S::Error> {
    let mut exposed = Exposed { looked_through: 1, is_from_sums: true, ..Exposed::default() };
    for sum in &sums.pairs {
        exposed.total += sum.usd;
        exposed.unpriced += sum.unpriced;
        if sum.usd == Usd::ZERO {
            continue;
        }
        if source.is_service(sum.other)? {
            exposed.shares.push(Share { node: sum.other, hops: 1, usd: sum.usd });
        } else {
            *exposed.nameless.entry(Nameless::Stopped(Stop::DepthLimit)).or_default() += sum.usd;
        }
    }
    Ok(exposed)
}

/// What comes to an account at a hop.
#[derive(Debug, Default)]
struct Waiting {
    /// In pico-dollars.
    usd: u128,
    arrivals: Vec<Arrival>,
}

impl Waiting {
    fn add(&mut self, arrival: Arrival) {
        self.usd += arrival.part.source;
        self.arrivals.push(arrival);
    }
}

struct Spread {
    direction: Direction,
    reach: Reach,
    /// The account itself, and those that were looked through.
    seen: FxHashSet<Node>,
    exposed: Exposed,
}

impl Spread {
    /// The payments of the account itself.
    fn begin(&mut self, start: Node, movements: &[Movement]) -> BTreeMap<Node, Waiting> {
        let away = match self.direction {
            Direction::Outgoing => Way::Out,
            Direction::Incoming => Way::In,
        };
        let mut waiting: BTreeMap<Node, Waiting> = BTreeMap::new();
        let counts = |movement: &&Movement| movement.way == away && movement.left_out.is_none() && movement.amount > 0;
        for movement in movements.iter().filter(counts) {
            // Mints, burns and rewards have no counterparty to be exposed to.
            let Movement { transaction, asset, amount, other: Some(other), .. } = *movement else { continue };
            let Some(usd) = movement.usd else {
                self.exposed.unpriced += 1;
                continue;
            };
            let usd = u128::try_from(usd.raw()).unwrap_or(0);
            self.exposed.total += dollars(usd);
            let part = Part { taint: amount, source: usd };
            waiting.entry(other).or_default().add(Arrival { transaction, asset, from: Some(start), amount, part });
        }
        waiting
    }

    /// Why an account without a name is not looked through.
    fn end<S: TraceSource>(&mut self, source: &mut S, (node, hops): (Node, u8)) -> Result<Option<Nameless>, S::Error> {
        if self.seen.contains(&node) {
            return Ok(Some(Nameless::Again));
        }
        if hops == self.reach.max_hops {
            return Ok(Some(Nameless::Stopped(Stop::DepthLimit)));
        }
        if self.exposed.looked_through >= self.reach.max_nodes {
            return Ok(Some(Nameless::MaxNodes));
        }
        if source.is_over() {
            return Ok(Some(Nameless::TimeBudget));
        }
        if let Some(stop) = source.stop(node)? {
            return Ok(Some(Nameless::Stopped(stop)));
        }
        self.seen.insert(node);
        self.exposed.looked_through += 1;
        Ok(None)
    }

    /// Passes on what came to an account.
    fn look_through(
        &mut self,
        node: Node,
        movements: &[Movement],
        came: &Waiting,
        waiting: &mut BTreeMap<Node, Waiting>,
    ) {
        let rules =
            Rules { method: Some(Method::Haircut), is_time_ordered: true, start: None, direction: self.direction };
        let mut passed: BTreeMap<Node, (u128, Vec<Arrival>)> = BTreeMap::new();
        let left = flow(&directed(movements, self.direction), &came.arrivals, rules);
        for left in left.iter().filter(|left| left.fate == Fate::Followed) {
            let Movement { transaction, asset, amount, other: Some(other), .. } = left.movement else { continue };
            let (of_other, arrivals) = passed.entry(other).or_default();
            *of_other += left.part.source;
            arrivals.push(Arrival { transaction, asset, from: Some(node), amount, part: left.part });
        }
        let mut order: Vec<_> = passed.into_iter().collect();
        order.sort_by_key(|(other, (usd, _))| (Reverse(*usd), *other));
        let mut left = came.usd;
        for (place, (other, (usd, arrivals))) in order.into_iter().enumerate() {
            left -= usd;
            if place >= self.reach.limit {
                self.lose(Nameless::Stopped(Stop::FanoutLimit), usd);
                continue;
            }
            let of_other = waiting.entry(other).or_default();
            for arrival in arrivals {
                of_other.add(arrival);
            }
        }
        self.lose(Nameless::Kept, left);
    }

    fn lose(&mut self, why: Nameless, usd: u128) {
        if usd > 0 {
            *self.exposed.nameless.entry(why).or_default() += dollars(usd);
        }
    }
}

fn dollars(pico: u128) -> Usd {
    Usd::from_raw(i128::try_from(pico).unwrap_or(i128::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::world::{Paid, World, paid};

    const REACH: Reach = Reach { max_hops: 3, limit: 100, max_nodes: 100 };

    fn exposed(payments: &[Paid], services: &[Node], direction: Direction, reach: Reach) -> Exposed {
        let mut world = World::new(payments);
        world.stops = services.iter().map(|service| (*service, Stop::Label)).collect();
        exposure(&mut world, 0, (direction, reach)).unwrap()
    }

    fn whole(usd: i128) -> Usd {
        Usd::from_raw(usd * 1_000_000_000_000)
    }

    fn shares(exposed: &Exposed) -> Vec<(Node, u8, f64)> {
        exposed.shares.iter().map(|share| (share.node, share.hops, share.usd.to_f64())).collect()
    }

    #[test]
    fn money_that_came_is_that_of_whom_an_account_had_it_from() {
        // The mixer 8 and the exchange 9 pay 1, which pays half of it on; what 8 pays afterwards came too late.
        let payments = [paid(8, 1, 30), paid(9, 1, 70), paid(9, 0, 60), paid(1, 0, 40), paid(8, 1, 500)];
        let found = exposed(&payments, &[8, 9], Direction::Incoming, REACH);
        assert_eq!(found.total, whole(100));
        assert_eq!(shares(&found), [(9, 1, 60.0), (9, 2, 28.0), (8, 2, 12.0)]);
        assert_eq!(found.nameless, BTreeMap::new());
        let direct = exposed(&payments, &[8, 9], Direction::Incoming, Reach { max_hops: 1, ..REACH });
        assert_eq!(shares(&direct), [(9, 1, 60.0)]);
        assert_eq!(direct.nameless[&Nameless::Stopped(Stop::DepthLimit)], whole(40));
    }

    #[test]
    fn money_that_went_out_is_divided_by_what_became_of_it() {
        // 1 has 60 of its own and 40 of the start; it pays 50 to the exchange and 25 to 2, and keeps 25.
        let payments = [paid(7, 1, 60), paid(0, 1, 40), paid(1, 9, 50), paid(1, 2, 25), paid(2, 9, 25)];
        let found = exposed(&payments, &[9], Direction::Outgoing, REACH);
        assert_eq!(shares(&found), [(9, 2, 20.0), (9, 3, 10.0)]);
        assert_eq!(found.nameless, BTreeMap::from([(Nameless::Kept, whole(10))]));
        let narrow = exposed(&payments, &[9], Direction::Outgoing, Reach { limit: 1, ..REACH });
        assert_eq!(narrow.nameless[&Nameless::Stopped(Stop::FanoutLimit)], whole(10));
        let few = exposed(&payments, &[9], Direction::Outgoing, Reach { max_nodes: 2, ..REACH });
        assert_eq!(few.nameless[&Nameless::MaxNodes], whole(10));
    }

    #[test]
    fn money_is_followed_over_a_swap() {
        // 1 gets 10, gives them to the pool 5 for 30 of another asset, and pays 15 of these to the exchange.
        let payments = [
            paid(0, 1, 10),
            paid(1, 5, 10),
            Paid { from: 5, to: 1, asset: 1, amount: 30, with_last: true },
            Paid { from: 1, to: 9, asset: 1, amount: 15, with_last: false },
        ];
        let found = exposed(&payments, &[9], Direction::Outgoing, REACH);
        assert_eq!(shares(&found), [(9, 2, 5.0)]);
        assert_eq!(found.nameless[&Nameless::Kept], whole(5));
    }

    #[test]
    fn money_that_comes_back_has_no_name() {
        let payments = [paid(0, 1, 10), paid(1, 0, 4), paid(1, 2, 6), paid(2, 1, 6)];
        let found = exposed(&payments, &[], Direction::Outgoing, Reach { max_hops: 5, ..REACH });
        assert_eq!(found.nameless[&Nameless::Again], whole(10));
        // Whatever it is called itself.
        let named = exposed(&payments, &[0], Direction::Outgoing, Reach { max_hops: 5, ..REACH });
        assert_eq!((named.nameless[&Nameless::Again], named.shares.len()), (whole(10), 0));
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            payments in prop::collection::vec((0..7_u32, 0..7_u32, 0..2_u32, 1..100_u128, any::<bool>()), 0..60),
            max_hops in 1..6_u8, limit in 1..4_usize, max_nodes in 1..6_usize, is_inward in any::<bool>(),
        ) {
            let payments: Vec<Paid> = payments.into_iter()
                .map(|(from, to, asset, amount, with_last)| Paid { from, to, asset, amount, with_last }).collect();
            let direction = if is_inward { Direction::Incoming } else { Direction::Outgoing };
            let found = exposed(&payments, &[5, 6], direction, Reach { max_hops, limit, max_nodes });
            let named: Usd = found.shares.iter().map(|share| share.usd).sum();
            let nameless: Usd = found.nameless.values().copied().sum();
            prop_assert_eq!(named + nameless, found.total);
            prop_assert!(found.looked_through <= max_nodes.max(1));
        }
    }
}
