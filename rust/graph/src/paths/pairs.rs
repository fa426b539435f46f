//! Pairs of accounts between which money went, and its payments once they are read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use headwater_types::Usd;
use rustc_hash::FxHashMap;

use crate::source::Node;
use crate::trace::{Movement, PairSum, PairSums, PathSource, TraceSource, Way};

/// Payments by asset, in the order of the assets.
type ByAsset = Vec<(u32, Vec<Movement>)>;

/// The payments from one account to another.
#[derive(Debug, Default)]
pub(super) struct Pair {
    /// US dollars of all payments; `None` where none has a price.
    pub usd: Option<Usd>,
    /// `None` until they are read.
    payments: Option<ByAsset>,
}

/// Pairs, by sender and receiver.
#[derive(Debug, Default)]
pub(super) struct Pairs(FxHashMap<Node, FxHashMap<Node, Pair>>);

impl Pairs {
    /// Adds an account and counterparties of it.
    pub fn add(&mut self, node: Node, way: Way, sums: &[PairSum]) {
        for sum in sums {
            let (from, to) = ends(node, way, sum.other);
            // Seen from both ends it is the same.
            self.0.entry(from).or_default().entry(to).or_insert(Pair { usd: sum.worth(), payments: None });
        }
    }

    /// Returns the payees of an account.
    pub fn of(&self, from: Node) -> impl Iterator<Item = (Node, &Pair)> {
        self.0.get(&from).into_iter().flatten().map(|(to, pair)| (*to, pair))
    }

    /// Returns the payers of each account, with the US dollars.
    pub fn senders(&self) -> FxHashMap<Node, Vec<(Node, Option<Usd>)>> {
        let mut senders: FxHashMap<_, Vec<_>> = FxHashMap::default();
        for (from, pairs) in &self.0 {
            for (to, pair) in pairs {
                senders.entry(*to).or_default().push((*from, pair.usd));
            }
        }
        senders
    }

    /// Returns the payments of a pair that were read.
    pub fn payments(&self, from: Node, to: Node) -> &[(u32, Vec<Movement>)] {
        self.0[&from][&to].payments.as_deref().unwrap_or_default()
    }

    /// Reads the payments of a pair, unless they are known or cannot be of the asset: those of the end with fewer movements.
    pub fn read<S: PathSource>(
        &mut self,
        source: &mut S,
        (from, to): (Node, Node),
        asset: Option<u32>,
    ) -> Result<(), S::Error> {
        if self.0[&from][&to].payments.is_some() {
            return Ok(());
        }
        if let Some(asset) = asset
            && !source.may_move((from, to), asset)?
        {
            return Ok(());
        }
        let (node, way) = if source.size(to)? < source.size(from)? { (to, Way::In) } else { (from, Way::Out) };
        let mut movements = Vec::new();
        source.payments(node, &mut movements)?;
        self.fill(source, node, way, &movements);
        Ok(())
    }

    /// Keeps the payments of all pairs of an account in one direction.
    pub fn fill<S: PathSource>(&mut self, source: &S, node: Node, way: Way, movements: &[Movement]) {
        let mut by_party: FxHashMap<Node, ByAsset> = FxHashMap::default();
        for (other, movement) in followed(movements, way) {
            let (from, to) = ends(node, way, other);
            if self.0.get(&from).and_then(|pairs| pairs.get(&to)).is_none_or(|pair| pair.payments.is_some()) {
                continue;
            }
            // As its sender sees it, whoever's movements were read.
            let payment = Movement { other: Some(to), way: Way::Out, ..*movement };
            let by_asset = by_party.entry(other).or_default();
            match by_asset.iter_mut().find(|(asset, _)| *asset == payment.asset) {
                Some((_, payments)) => payments.push(payment),
                None => by_asset.push((payment.asset, vec![payment])),
            }
        }
        for (other, mut by_asset) in by_party {
            by_asset.sort_by(|(one, _), (other, _)| source.compare_assets(*one, *other));
            let (from, to) = ends(node, way, other);
            if let Some(pair) = self.0.get_mut(&from).and_then(|pairs| pairs.get_mut(&to)) {
                pair.payments = Some(by_asset);
            }
        }
    }
}

/// Returns the sums of an account by its movements.
pub(super) fn sums<S: TraceSource>(source: &S, movements: &[Movement], way: Way, limit: usize) -> PairSums {
    let mut by_party: BTreeMap<Node, PairSum> = BTreeMap::new();
    for (other, movement) in followed(movements, way) {
        let nothing = PairSum { other, usd: Usd::ZERO, payments: 0, unpriced: 0 };
        let sum = by_party.entry(other).or_insert(nothing);
        sum.usd += movement.usd.unwrap_or_default();
        sum.payments += 1;
        sum.unpriced += u64::from(movement.usd.is_none());
    }
    let mut pairs: Vec<PairSum> = by_party.into_values().collect();
    pairs.sort_by(|one, other| {
        let weight = |sum: &PairSum| Reverse((sum.usd, sum.payments));
        weight(one).cmp(&weight(other)).then_with(|| source.compare(one.other, other.other))
    });
    let is_cut = pairs.len() > limit;
    pairs.truncate(limit);
    PairSums { pairs, is_cut }
}

fn followed(movements: &[Movement], way: Way) -> impl Iterator<Item = (Node, &Movement)> {
    let followed = movements.iter().filter(move |movement| movement.way == way && movement.left_out.is_none());
    followed.filter_map(|movement| Some((movement.other?, movement)))
}

/// Sender and receiver.
fn ends(node: Node, way: Way, other: Node) -> (Node, Node) {
    if way == Way::Out { (node, other) } else { (other, node) }
}
