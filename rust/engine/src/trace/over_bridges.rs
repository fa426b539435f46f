//! Where a payment of a trace went on over a bridge, or came from.

use headwater_bridge::{Half, Party, Token};
use headwater_graph::source::{Direction as Heading, Node};
use headwater_graph::trace::{Movement, Way};
use headwater_ledger::labels::Code;
use headwater_ledger::read::{Scan, ScanOrder, Transaction};
use headwater_types::{Address, Amount, Asset, TimeWindow, Usd};

use super::rules::MAX_MOVEMENTS;
use super::source::{LedgerMovements, is_known};
use crate::Error;
use crate::crossings::bridge_legs;

/// Least confidence with which the legs of a transfer belong together.
const LEAST_CONFIDENCE: f64 = 0.5;

/// Least part of a payment that must have arrived on the other chain where no list knows the bridge: events of contracts that
/// are on no list can be made up, money that arrived cannot.
const LEAST_ARRIVED: f64 = 0.9;

/// Most that a leg and its payment differ by, for fees: a tenth of the larger.
const FEE_PART: u128 = 10;

/// What a transaction that is read for its legs takes of the budget: the work of so many movements.
const LOOK: u64 = 50;

/// A movement on another chain.
struct Far {
    node: Node,
    movement: Movement,
    /// Whether the account did not pay it back in the same transaction; inward, whether it did not get it there.
    is_kept: bool,
}

impl LedgerMovements<'_> {
    /// The movements on other chains of which a movement of an account is the other side.
    pub(super) fn over_bridges(
        &mut self,
        near: (Node, Heading),
        movement: &Movement,
    ) -> Result<Vec<(Node, Movement)>, Error> {
        // With its budget used up, the walk ends before the next account.
        if self.read > MAX_MOVEMENTS
            || !self.stops.codes.contains(&Code::Bridge)
            || self.ledger.has_bridge_legs(movement.transaction, self.cancel)? == Some(false)
        {
            return Ok(Vec::new());
        }
        let transaction = self.ledger.transaction(movement.transaction)?;
        let legs = bridge_legs(self.ledger, &transaction, &mut self.warnings, self.cancel)?;
        self.read += LOOK * legs.read;
        let mut found: Vec<Far> = Vec::new();
        for transfer in legs.transfers() {
            let Some(source) = transfer.source.filter(|_| transfer.confidence() >= LEAST_CONFIDENCE) else { continue };
            let (here, beyond) = match near.1 {
                Heading::Outgoing => (vec![source], transfer.destinations),
                Heading::Incoming => (transfer.destinations, vec![source]),
            };
            let is_read =
                |leg: &&Half| leg.chain == transaction.head.chain.into() && leg.transaction == transaction.head.hash;
            for leg in here.into_iter().filter(is_read) {
                if self.is_about(leg, near, movement, &transaction)? {
                    for leg in beyond.iter().filter(|far| far.chain != leg.chain) {
                        found.extend(self.far(leg, near.1, &found)?);
                    }
                }
            }
        }
        let is_known = movement.other.map_or(Ok(false), |other| self.is_bridge(other))?;
        if !is_known && !has_arrived(movement, &found) {
            found.clear();
        }
        Ok(found.into_iter().map(|far| (far.node, far.movement)).collect())
    }

    fn is_bridge(&self, node: Node) -> Result<bool, Error> {
        let codes = self.labels(node)?.codes;
        Ok(codes.iter().any(|code| code.code == Code::Bridge && is_known(code)))
    }

    /// Whether a leg is about a movement of an account: of its sender, or inward of its receiver, in its asset, and nearest to
    /// its amount among the payments of the transaction.
    fn is_about(
        &mut self,
        leg: &Half,
        (node, heading): (Node, Heading),
        movement: &Movement,
        transaction: &Transaction,
    ) -> Result<bool, Error> {
        let party = match heading {
            Heading::Outgoing => &leg.sender,
            Heading::Incoming => &leg.receiver,
        };
        let (Some(party), Some(amount)) = (party.as_ref().and_then(Party::address), raw(leg)) else { return Ok(false) };
        let asset = self.asset(movement.asset).asset;
        if party != self.address(node) || !is_near(amount, movement.amount) || !self.is_asset_of(leg, node, asset)? {
            return Ok(false);
        }
        let mut nearest: Option<(u128, Payment)> = None;
        for payment in payments(transaction, party, heading) {
            let off = payment.amount.abs_diff(amount);
            let is_nearer = nearest.is_none_or(|(least, _)| off < least);
            if is_nearer && is_near(amount, payment.amount) && self.is_asset_of(leg, node, payment.asset)? {
                nearest = Some((off, payment));
            }
        }
        // A bitcoin transaction does not say who paid whom, so there is nothing to compare with.
        let other = movement.other.map(|other| *self.address(other));
        let is_it = |(_, of): (u128, Payment)| (of.other, of.asset, of.amount) == (other, asset, movement.amount);
        Ok(nearest.is_none_or(is_it))
    }

    /// Whether a leg on the chain of a node moved an asset, or the coin in place of its wrapped form.
    fn is_asset_of(&mut self, leg: &Half, node: Node, asset: Asset) -> Result<bool, Error> {
        let of_leg = match &leg.token {
            Some(Token::Native) => Asset::Native,
            Some(Token::Contract(Party::Account(contract))) => Asset::Token(*contract),
            Some(Token::Symbol(symbol)) => {
                let view = self.view_on(node, asset)?;
                return Ok(view.verified && view.symbol.as_deref() == Some(&*symbol.to_lowercase()));
            }
            Some(Token::Contract(_)) | None => return Ok(false),
        };
        if of_leg == asset {
            return Ok(true);
        }
        let token = match (of_leg, asset) {
            (Asset::Native, Asset::Token(_)) => asset,
            (Asset::Token(_), Asset::Native) => of_leg,
            _ => return Ok(false),
        };
        let coin = self.view_on(node, Asset::Native)?.symbol.clone().unwrap_or_default();
        let view = self.view_on(node, token)?;
        Ok(view.verified && view.symbol.as_deref() == Some(&*format!("w{coin}")))
    }

    /// The movement that a leg is about: to its receiver, or inward from its sender. It is the one with the asset and amount of
    /// the leg, or the only one that there is besides those in `known`.
    fn far(&mut self, leg: &Half, heading: Heading, known: &[Far]) -> Result<Option<Far>, Error> {
        let (party, way) = match heading {
            Heading::Outgoing => (&leg.receiver, Way::In),
            Heading::Incoming => (&leg.sender, Way::Out),
        };
        let (Some(chain), Some(address)) = (leg.chain.held(), party.as_ref().and_then(Party::address)) else {
            return Ok(None);
        };
        if self.stops.bridge_chains.as_ref().is_some_and(|chains| !chains.contains(&chain)) {
            return Ok(None);
        }
        let Some(transaction) = self.ledger.find_transaction(chain, &leg.transaction)? else { return Ok(None) };
        let node = self.node_beyond(chain, *address);
        let Some(account) = self.account(node)? else { return Ok(None) };
        let secs = Some(leg.time.secs());
        let of_block = TimeWindow::new(secs, secs).unwrap_or(TimeWindow::ALL);
        let scan = Scan { window: of_block, order: ScanOrder::OldestFirst, ..Scan::default() };
        let mut movements = Vec::new();
        for posting in self.ledger.postings(&account, &scan)? {
            let posting = posting?;
            self.read += 1;
            if posting.transaction == transaction {
                self.add(node, &posting, &mut movements)?;
            }
        }
        let is_free = |movement: &&Movement| !known.iter().any(|far| far.node == node && far.movement == **movement);
        let is_followed = |movement: &&Movement| movement.way == way && movement.left_out.is_none();
        let candidates: Vec<Movement> = movements.iter().filter(is_followed).filter(is_free).copied().collect();
        let mut found = None;
        for candidate in &candidates {
            let asset = self.asset(candidate.asset).asset;
            if raw(leg) == Some(candidate.amount) && self.is_asset_of(leg, node, asset)? {
                found = Some(*candidate);
                break;
            }
        }
        let Some(movement) = found.or_else(|| candidates.first().filter(|_| candidates.len() == 1).copied()) else {
            return Ok(None);
        };
        let sum = |way| {
            let of = movements.iter().filter(|of| of.way == way && of.asset == movement.asset);
            of.fold(0_u128, |sum, of| sum.saturating_add(of.amount))
        };
        let (came, left) = (sum(Way::In), sum(Way::Out));
        let kept = if way == Way::In { came.saturating_sub(left) } else { left.saturating_sub(came) };
        Ok(Some(Far { node, movement, is_kept: kept >= movement.amount }))
    }
}

/// A payment as a transaction tells it.
#[derive(Clone, Copy)]
struct Payment {
    other: Option<Address>,
    asset: Asset,
    amount: u128,
}

/// What an account paid in a transaction, or got.
fn payments(transaction: &Transaction, account: &Address, heading: Heading) -> Vec<Payment> {
    let facts = &transaction.facts;
    let body = facts.body.iter().map(|body| (body.from, body.to, Asset::Native, body.value));
    let moved = facts.movements.iter().map(|movement| (movement.from, movement.to, movement.asset, movement.amount));
    let payment = |(from, to, asset, amount): (Option<Address>, Option<Address>, Asset, Amount)| {
        let (own, other) = match heading {
            Heading::Outgoing => (from, to),
            Heading::Incoming => (to, from),
        };
        let other = other.filter(|other| !other.is_zero());
        (own == Some(*account)).then_some(Payment { other, asset, amount: amount.to_u128()? })
    };
    body.chain(moved).filter_map(payment).collect()
}

fn raw(leg: &Half) -> Option<u128> {
    leg.amount.and_then(Amount::to_u128)
}

/// Whether two amounts differ by no more than fees do.
const fn is_near(one: u128, other: u128) -> bool {
    let most = if one > other { one } else { other };
    one.abs_diff(other) <= most / FEE_PART
}

/// Whether what a payment was worth came out on other chains, and stayed there.
fn has_arrived(movement: &Movement, found: &[Far]) -> bool {
    let worth = |far: &Far| far.movement.usd.filter(|_| far.is_kept).map(Usd::to_f64);
    let arrived: Option<f64> = found.iter().map(worth).sum();
    movement.usd.zip(arrived).is_some_and(|(paid, arrived)| arrived >= paid.to_f64() * LEAST_ARRIVED)
}
