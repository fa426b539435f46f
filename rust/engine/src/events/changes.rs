//! The changes of an item of the feed in balances.

use headwater_ledger::Ledger;
use headwater_ledger::facts::MovementFact;
use headwater_ledger::feed::{NewTransaction, new_movements};
use headwater_ledger::read::{MovementKind, Ordinal, Status};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Amount, Asset, Balance, Chain};
use rustc_hash::FxHashMap;

use super::event::{Cause, CausePlace};

/// The change of one movement in a balance, its fee included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub asset: Asset,
    pub received: Amount,
    pub sent: Amount,
    pub cause: Cause,
}

impl Change {
    /// Returns a balance after the change. Sums saturate at the largest amount, as in the ledger.
    pub fn after(&self, balance: Balance) -> Balance {
        Balance::of(add(balance.received(), self.received), add(balance.sent(), self.sent))
    }

    /// Returns a balance before the change. It adds the received amount to the sent one and the other way round: a
    /// subtraction from saturated sums would be wrong.
    pub fn before(&self, balance: Balance) -> Balance {
        Balance::of(add(balance.received(), self.sent), add(balance.sent(), self.received))
    }
}

fn add(sum: Amount, amount: Amount) -> Amount {
    sum.checked_add(amount).unwrap_or(Amount::MAX)
}

/// The changes of an item by account, each account's in the order of the block.
#[derive(Default)]
pub(super) struct Changes {
    pub by_address: FxHashMap<Address, Vec<Change>>,
}

impl Changes {
    /// Returns the changes of transactions, by the rules of the ledger. A failed transaction moves its fee alone; approximate
    /// movements, those before the opening of an asset, and those of an account to itself change no balance.
    pub fn of(ledger: &dyn Ledger, chain: Chain, transactions: &[NewTransaction]) -> Self {
        let mut changes = Self::default();
        let mut openings: FxHashMap<Asset, Option<u64>> = FxHashMap::default();
        for new in transactions {
            let block = new.transaction.head.block;
            let mut counts = |asset: &Asset| {
                let opening =
                    openings.entry(*asset).or_insert_with(|| ledger.opening(chain, asset).map(|opening| opening.block));
                opening.is_none_or(|opening| block > opening)
            };
            if new.transaction.facts.utxo.is_some() {
                changes.take_utxo(new);
            } else {
                changes.take_account(new, &mut counts);
            }
        }
        changes
    }

    fn take_account(&mut self, new: &NewTransaction, counts: &mut dyn FnMut(&Asset) -> bool) {
        let (transaction, facts) = (&new.transaction, &new.transaction.facts);
        let cause = |kind, place| Cause { hash: facts.hash, kind, place };
        let failed = facts.status == Some(Status::Failed);
        let is_new_body = new.before.as_ref().is_none_or(|before| before.body.is_none());
        let place = if is_new_body { CausePlace::Ordinal(Ordinal::Indexed(0)) } else { CausePlace::Fee };
        let native = cause(MovementKind::Native, place);
        if let Some(body) = facts.body {
            let to = body.to.or(facts.created);
            let moves = is_new_body
                && !failed
                && body.from != to
                && counts(&Asset::Native)
                && !transaction.is_approximate(MovementKind::Native, Ordinal::Indexed(0));
            let value = if moves { body.value } else { Amount::ZERO };
            let knew_fee = new.before.as_ref().and_then(headwater_ledger::segment::fee_of).is_some();
            let fee = transaction.fee.filter(|_| !knew_fee).unwrap_or(Amount::ZERO);
            if let Some(from) = body.from {
                self.push(from, Asset::Native, (Amount::ZERO, add(value, fee)), native);
            }
            if let Some(to) = to {
                self.push(to, Asset::Native, (value, Amount::ZERO), native);
            }
        }
        if failed {
            return;
        }
        let gained = new.before.as_ref().map(|before| new_movements(before, facts));
        let mut movements: Vec<_> = facts
            .movements
            .iter()
            .enumerate()
            .filter(|(place, _)| gained.as_ref().is_none_or(|gained| gained.contains(place)))
            .filter_map(|(_, movement)| match movement.kind {
                MovementFact::Internal => Some((MovementKind::Internal, movement)),
                MovementFact::Token => Some((MovementKind::Token, movement)),
                MovementFact::NonFungible | MovementFact::Opening => None,
            })
            .collect();
        movements.sort_by_key(|(kind, movement)| (*kind, movement.ordinal));
        for (kind, movement) in movements {
            let is_known = counts(&movement.asset) && !transaction.is_approximate(kind, movement.ordinal);
            if movement.from == movement.to || !is_known {
                continue;
            }
            let cause = cause(kind, CausePlace::Ordinal(movement.ordinal));
            if let Some(from) = movement.from {
                self.push(from, movement.asset, (Amount::ZERO, movement.amount), cause);
            }
            if let Some(to) = movement.to {
                self.push(to, movement.asset, (movement.amount, Amount::ZERO), cause);
            }
        }
    }

    fn take_utxo(&mut self, new: &NewTransaction) {
        let after = Attribution::of_transaction(&new.transaction);
        let before = new.before.as_ref().map(|facts| {
            Attribution::of_transaction(&headwater_ledger::read::Transaction {
                facts: facts.clone(),
                ..new.transaction.clone()
            })
        });
        for change in after.changes() {
            let earlier = before.as_ref().and_then(|before| before.change(&change.address));
            let (earlier_in, earlier_out) = earlier.map_or((0, 0), |earlier| (earlier.gross_in, earlier.gross_out));
            let sent = change.gross_in.saturating_sub(earlier_in);
            let received = change.gross_out.saturating_sub(earlier_out);
            // Coins that return to their sender did not move.
            let back = sent.min(received);
            let amounts = (Amount::from_u128(received - back), Amount::from_u128(sent - back));
            let place = CausePlace::Owner(change.address);
            let cause = Cause { hash: new.transaction.head.hash, kind: MovementKind::Utxo, place };
            self.push(change.address, Asset::Native, amounts, cause);
        }
    }

    fn push(&mut self, address: Address, asset: Asset, (received, sent): (Amount, Amount), cause: Cause) {
        if !(received.is_zero() && sent.is_zero()) {
            let change = Change { asset, received, sent, cause };
            self.by_address.entry(address).or_default().push(change);
        }
    }
}
