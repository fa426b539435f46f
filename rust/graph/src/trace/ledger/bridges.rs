//! Following a payment over a bridge to its other leg.

use headwater_bridge::{Half, Party, Token};
use headwater_intel::bridge::Legs;
use headwater_ledger::LedgerError;
use headwater_ledger::labels::Code;
use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{Scan, ScanOrder, Transaction};
use headwater_types::{Address, Amount, Asset, TimeWindow, Usd};

use super::{LedgerSource, MAX_MOVEMENTS};
use crate::source::{Direction, Node};
use crate::trace::movement::{Movement, Way};
use crate::trace::stop::is_reliable;

/// Least confidence with which the legs of a transfer belong together.
const MIN_CONFIDENCE: f64 = 0.5;

/// Least part of a payment that must have arrived on the other chain where no list names the bridge: events of contracts that
/// are on no list can be made up, money that arrived cannot.
const MIN_ARRIVED: f64 = 0.9;

/// The largest difference between a leg and its payment, for fees: a tenth of the larger.
const FEE_PART: u128 = 10;

/// The cost of a transaction that is read for its legs: the work of so many movements.
const LEG_WORK: u64 = 50;

/// A movement on another chain.
struct FarMovement {
    node: Node,
    movement: Movement,
    /// True where the account did not pay it back in the same transaction; inward, where it did not get it there.
    is_kept: bool,
}

impl LedgerSource<'_> {
    /// Returns the movements on other chains of which a movement of an account is the other side.
    pub(super) fn over_bridges(
        &mut self,
        near: (Node, Direction),
        movement: &Movement,
    ) -> Result<Vec<(Node, Movement)>, LedgerError> {
        // With its budget used up, the walk ends before the next account.
        if self.work > MAX_MOVEMENTS
            || !self.scope.stops.follows_bridges()
            || self.ledger.has_bridge_legs(movement.transaction, self.cancel)? == Some(false)
        {
            return Ok(Vec::new());
        }
        let transaction = self.ledger.transaction(movement.transaction)?;
        let legs = Legs::read(self.ledger, &transaction, self.cancel)?;
        self.is_missing_legs |= legs.is_partial;
        self.work += LEG_WORK * legs.read;
        let mut found: Vec<FarMovement> = Vec::new();
        for transfer in legs.transfers() {
            let Some(source) = transfer.source.filter(|_| transfer.confidence() >= MIN_CONFIDENCE) else { continue };
            let (here, other_legs) = match near.1 {
                Direction::Outgoing => (vec![source], transfer.destinations),
                Direction::Incoming => (transfer.destinations, vec![source]),
            };
            let is_read =
                |leg: &&Half| leg.chain == transaction.head.chain.into() && leg.transaction == transaction.head.hash;
            for leg in here.into_iter().filter(is_read) {
                if self.is_about(leg, near, movement, &transaction)? {
                    for leg in other_legs.iter().filter(|far| far.chain != leg.chain) {
                        found.extend(self.far(leg, near.1, &found)?);
                    }
                }
            }
        }
        let is_listed = movement.other.map_or(Ok(false), |other| self.is_bridge(other))?;
        if !is_listed && !has_arrived(movement, &found) {
            found.clear();
        }
        Ok(found.into_iter().map(|far| (far.node, far.movement)).collect())
    }

    /// Returns whether lists name an account as a bridge.
    fn is_bridge(&self, node: Node) -> Result<bool, LedgerError> {
        let codes = self.labels(node)?.codes;
        Ok(codes.iter().any(|code| code.code == Code::Bridge && is_reliable(code)))
    }

    /// Returns whether a leg is about a movement of an account: of its sender, or inward of its receiver, in its asset, and nearest to
    /// its amount among the payments of the transaction.
    fn is_about(
        &mut self,
        leg: &Half,
        (node, heading): (Node, Direction),
        movement: &Movement,
        transaction: &Transaction,
    ) -> Result<bool, LedgerError> {
        let party = match heading {
            Direction::Outgoing => &leg.sender,
            Direction::Incoming => &leg.receiver,
        };
        let (Some(party), Some(amount)) = (party.as_ref().and_then(Party::address), raw(leg)) else { return Ok(false) };
        let asset = self.asset(movement.asset).asset;
        if party != self.address(node) || !is_near(amount, movement.amount) || !self.is_asset_of(leg, node, asset)? {
            return Ok(false);
        }
        let mut nearest: Option<(u128, Payment)> = None;
        for payment in payments(transaction, party, heading) {
            let off = payment.amount.abs_diff(amount);
            let is_nearer = nearest.is_none_or(|(nearest, _)| off < nearest);
            if is_nearer && is_near(amount, payment.amount) && self.is_asset_of(leg, node, payment.asset)? {
                nearest = Some((off, payment));
            }
        }
        // A bitcoin transaction does not say who paid whom, so there is nothing to compare with.
        let other = movement.other.map(|other| *self.address(other));
        let is_it = |(_, of): (u128, Payment)| (of.other, of.asset, of.amount) == (other, asset, movement.amount);
        Ok(nearest.is_none_or(is_it))
    }

    /// Returns whether a leg on the chain of a node moved an asset, or the coin in place of its wrapped form.
    fn is_asset_of(&mut self, leg: &Half, node: Node, asset: Asset) -> Result<bool, LedgerError> {
        let of_leg = match &leg.token {
            Some(Token::Native) => Asset::Native,
            Some(Token::Contract(Party::Account(contract))) => Asset::Token(*contract),
            Some(Token::Symbol(symbol)) => {
                let terms = self.terms_on(node, asset)?;
                return Ok(terms.verified && terms.symbol.as_deref() == Some(&*symbol.to_lowercase()));
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
        let coin = self.terms_on(node, Asset::Native)?.symbol.clone().unwrap_or_default();
        let terms = self.terms_on(node, token)?;
        Ok(terms.verified && terms.symbol.as_deref() == Some(&*format!("w{coin}")))
    }

    /// Returns the terms of an asset on the chain of a node.
    fn terms_on(&mut self, node: Node, asset: Asset) -> Result<&AssetTerms, LedgerError> {
        let number = self.assets.of_asset(self.chain(node), asset)?;
        Ok(&self.asset(number).terms)
    }

    /// Returns the movement that a leg is about: to its receiver, or inward from its sender. It is the one with the asset and amount of
    /// the leg, or the only one that there is besides those in `known`.
    fn far(
        &mut self,
        leg: &Half,
        heading: Direction,
        known: &[FarMovement],
    ) -> Result<Option<FarMovement>, LedgerError> {
        let (party, way) = match heading {
            Direction::Outgoing => (&leg.receiver, Way::In),
            Direction::Incoming => (&leg.sender, Way::Out),
        };
        let (Some(chain), Some(address)) = (leg.chain.held(), party.as_ref().and_then(Party::address)) else {
            return Ok(None);
        };
        if !self.scope.stops.leads_to(chain) {
            return Ok(None);
        }
        let Some(transaction) = self.ledger.find_transaction(chain, &leg.transaction)? else { return Ok(None) };
        self.add_chain(chain);
        let node = self.node_on(chain, *address);
        let Some(account) = self.account_of(node)? else { return Ok(None) };
        let secs = Some(leg.time.secs());
        let of_block = TimeWindow::new(secs, secs).unwrap_or(TimeWindow::ALL);
        let scan = Scan { window: of_block, order: ScanOrder::OldestFirst, ..Scan::default() };
        let mut movements = Vec::new();
        for posting in self.ledger.postings(&account, &scan)? {
            let posting = posting?;
            self.work += 1;
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
        Ok(Some(FarMovement { node, movement, is_kept: kept >= movement.amount }))
    }
}

/// A payment as a transaction states it.
#[derive(Clone, Copy)]
struct Payment {
    other: Option<Address>,
    asset: Asset,
    amount: u128,
}

/// Returns the payments that an account made in a transaction, or got.
fn payments(transaction: &Transaction, account: &Address, heading: Direction) -> Vec<Payment> {
    let facts = &transaction.facts;
    let body = facts.body.iter().map(|body| (body.from, body.to, Asset::Native, body.value));
    let moved = facts.movements.iter().map(|movement| (movement.from, movement.to, movement.asset, movement.amount));
    let payment = |(from, to, asset, amount): (Option<Address>, Option<Address>, Asset, Amount)| {
        let (own, other) = match heading {
            Direction::Outgoing => (from, to),
            Direction::Incoming => (to, from),
        };
        let other = other.filter(|other| !other.is_zero());
        (own == Some(*account)).then_some(Payment { other, asset, amount: amount.to_u128()? })
    };
    body.chain(moved).filter_map(payment).collect()
}

fn raw(leg: &Half) -> Option<u128> {
    leg.amount.and_then(Amount::to_u128)
}

/// Returns whether two amounts differ by no more than fees do.
const fn is_near(one: u128, other: u128) -> bool {
    let larger = if one > other { one } else { other };
    one.abs_diff(other) <= larger / FEE_PART
}

/// Returns whether the worth of a payment came out on other chains, and stayed there.
fn has_arrived(movement: &Movement, found: &[FarMovement]) -> bool {
    let worth = |far: &FarMovement| far.movement.usd.filter(|_| far.is_kept).map(Usd::to_f64);
    let arrived: Option<f64> = found.iter().map(worth).sum();
    movement.usd.zip(arrived).is_some_and(|(paid, arrived)| arrived >= paid.to_f64() * MIN_ARRIVED)
}
