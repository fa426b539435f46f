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

/// The hops and accounts of an exposure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// Payments between the account and a named one at most.
    pub max_hops: u8,
    /// Counterparties of an account between that are followed, largest first; those of the account itself all are.
    pub limit: usize,
    /// Accounts that are looked through.
    pub max_nodes: usize,
}

/// The reason for which a part of the money is attributed to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnattributedReason {
    /// It stayed at an account between, was there before the data begins, or paid fees.
    Stayed,
    /// It came back to an account that was looked through already.
    Returned,
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
pub struct Exposure {
    /// US dollars that left the account for others, or came from others.
    pub total: Usd,
    /// Payments of the account without a price; they are in no sum.
    pub unpriced: u64,
    /// By account and hops, nearest first, then by amount.
    pub shares: Vec<Share>,
    /// The rest, by reason.
    pub unattributed: BTreeMap<UnattributedReason, Usd>,
    /// Accounts that were looked through, the account itself included.
    pub looked_through: usize,
    /// True where it is from sums over the payments of the account, without a look at its movements.
    pub is_from_sums: bool,
}

/// Follows the money of an account, outward or inward, until somebody is known.
///
/// Accounts between that nobody has named are looked through hop by hop, the largest first: of what they had when they paid
/// on, every part continues in proportion (haircut), in the order of the chain and over swaps. A named account ends the way,
/// whatever it did with the money.
///
/// # Errors
/// Those of the source.
pub fn exposure<S: TraceSource>(
    source: &mut S,
    start: Node,
    (direction, reach): (Direction, Reach),
) -> Result<Exposure, S::Error> {
    if reach.max_hops == 1
        && let Some(sums) = source.sums(start, direction, SumQuery::ALL)?
    {
        return direct(source, &sums);
    }
    let mut spread =
        ExposureWalk { direction, reach, seen: FxHashSet::from_iter([start]), exposed: Exposure::default() };
    let mut movements = Vec::new();
    source.movements(start, &mut movements)?;
    spread.exposed.looked_through = 1;
    let mut waiting = spread.begin(start, &movements);
    for hops in 1..=reach.max_hops {
        let mut order: Vec<(Node, PendingMoney)> = std::mem::take(&mut waiting).into_iter().collect();
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
fn direct<S: TraceSource>(source: &mut S, sums: &PairSums) -> Result<Exposure, S::Error> {
    let mut exposed = Exposure { looked_through: 1, is_from_sums: true, ..Exposure::default() };
    for sum in &sums.pairs {
        exposed.total += sum.usd;
        exposed.unpriced += sum.unpriced;
        if sum.usd == Usd::ZERO {
            continue;
        }
        if source.is_service(sum.other)? {
            exposed.shares.push(Share { node: sum.other, hops: 1, usd: sum.usd });
        } else {
            *exposed.unattributed.entry(UnattributedReason::Stopped(Stop::DepthLimit)).or_default() += sum.usd;
        }
    }
    Ok(exposed)
}

/// The money that comes to an account at a hop.
#[derive(Debug, Default)]
struct PendingMoney {
    /// In pico-dollars.
    usd: u128,
    arrivals: Vec<Arrival>,
}

impl PendingMoney {
    fn add(&mut self, arrival: Arrival) {
        self.usd += arrival.part.source;
        self.arrivals.push(arrival);
    }
}

struct ExposureWalk {
    direction: Direction,
    reach: Reach,
    /// The account itself, and those that were looked through.
    seen: FxHashSet<Node>,
    exposed: Exposure,
}

impl ExposureWalk {
    /// Returns the payments of the account itself.
    fn begin(&mut self, start: Node, movements: &[Movement]) -> BTreeMap<Node, PendingMoney> {
        let away = match self.direction {
            Direction::Outgoing => Way::Out,
            Direction::Incoming => Way::In,
        };
        let mut waiting: BTreeMap<Node, PendingMoney> = BTreeMap::new();
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

    /// Returns why an account without a name is not looked through; counts one that is.
    fn end<S: TraceSource>(
        &mut self,
        source: &mut S,
        (node, hops): (Node, u8),
    ) -> Result<Option<UnattributedReason>, S::Error> {
        if self.seen.contains(&node) {
            return Ok(Some(UnattributedReason::Returned));
        }
        if hops == self.reach.max_hops {
            return Ok(Some(UnattributedReason::Stopped(Stop::DepthLimit)));
        }
        if self.exposed.looked_through >= self.reach.max_nodes {
            return Ok(Some(UnattributedReason::MaxNodes));
        }
        if source.is_over() {
            return Ok(Some(UnattributedReason::TimeBudget));
        }
        if let Some(stop) = source.stop(node)? {
            return Ok(Some(UnattributedReason::Stopped(stop)));
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
        came: &PendingMoney,
        waiting: &mut BTreeMap<Node, PendingMoney>,
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
                self.lose(UnattributedReason::Stopped(Stop::FanoutLimit), usd);
                continue;
            }
            let of_other = waiting.entry(other).or_default();
            for arrival in arrivals {
                of_other.add(arrival);
            }
        }
        self.lose(UnattributedReason::Stayed, left);
    }

    fn lose(&mut self, why: UnattributedReason, usd: u128) {
        if usd > 0 {
            *self.exposed.unattributed.entry(why).or_default() += dollars(usd);
        }
    }
}

fn dollars(pico: u128) -> Usd {
    Usd::from_raw(i128::try_from(pico).unwrap_or(i128::MAX))
}
