//! New-token dump: who got much of a new token from its making sells it at once.

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::Address;
use rustc_hash::FxHashSet;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact};
use crate::behaviour::history::{AssetKind, History, NOBODY, Transfer, Way};
use crate::behaviour::others::Reading;
use crate::behaviour::patterns::{by_asset, share, transactions};
use crate::behaviour::{DetectAmongOthers, Needs};

/// Within `window_secs` after the creation of a token, a good part of what was made of it until then comes by mint or
/// from the creator, not for anything; within `sale_secs` most of that is given for something else, in transactions that
/// the address sent itself. Tokens that a registry vouches for are not new.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewTokenDump {
    /// How soon after the creation it comes.
    pub window_secs: i64,
    /// Share of the supply at the end of that window.
    pub least_share: f64,
    /// How soon after the first of it came it is sold.
    pub sale_secs: i64,
    /// Share of it that is sold.
    pub least_sold: f64,
}

/// What an address got and gave of one token.
struct Holding<'h> {
    asset: u32,
    /// What came for nothing.
    gifts: Vec<&'h Transfer>,
    /// What was given for something else.
    sales: Vec<&'h Transfer>,
}

impl DetectAmongOthers for NewTokenDump {
    const NEEDS: Needs = Needs::Movements;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let mut found: Vec<Detection> = Vec::new();
        for holding in self.holdings(history) {
            found.extend(self.dump(history, others, &holding)?);
        }
        let Some(first) = found.first().map(|find| find.first) else { return Ok(None) };
        let last = found.iter().map(|find| find.last).max().unwrap_or(first);
        let occurrences = found.len() as u64;
        Ok(found.into_iter().next().map(|shown| Detection { occurrences, last, ..shown }))
    }
}

impl NewTokenDump {
    /// The tokens that came for nothing and were sold, in the order in which they came.
    fn holdings<'h>(&self, history: &'h History) -> Vec<Holding<'h>> {
        let is_new = |transfer: &Transfer| history.kind(transfer) == AssetKind::Unverified && transfer.raw > 0;
        let mut holdings: Vec<Holding<'h>> = Vec::new();
        if !history.all.iter().any(|transfer| transfer.way == Way::In && is_new(transfer)) {
            return holdings;
        }
        for movements in transactions(&history.all).filter(|movements| movements.iter().any(is_new)) {
            let sums = by_asset(history, movements);
            for one in movements.iter().filter(|one| is_new(one)) {
                let is_for = |(asset, came, left): &(u32, u128, u128)| {
                    *asset != one.asset && if one.way == Way::In { left > came } else { came > left }
                };
                let is_trade = sums.iter().any(is_for);
                let place = holdings.iter().position(|holding| holding.asset == one.asset);
                match (one.way, is_trade, place) {
                    (Way::In, false, Some(place)) => holdings[place].gifts.push(one),
                    (Way::In, false, None) => {
                        holdings.push(Holding { asset: one.asset, gifts: vec![one], sales: Vec::new() });
                    }
                    (Way::Out, true, Some(place)) => holdings[place].sales.push(one),
                    _ => {}
                }
            }
        }
        for holding in &mut holdings {
            let until = holding.gifts[0].time.saturating_add(self.sale_secs);
            holding.sales.retain(|sale| sale.time <= until);
        }
        holdings.retain(|holding| !holding.sales.is_empty());
        holdings
    }

    fn dump(
        &self,
        history: &History,
        others: &Reading<'_>,
        holding: &Holding<'_>,
    ) -> Result<Option<Detection>, LedgerError> {
        let asset = history.assets[holding.asset as usize].asset;
        let Some(token) = asset.contract() else { return Ok(None) };
        let sold = sum(holding.sales.iter().map(|sale| sale.raw));
        let first = holding.gifts[0];
        // Whatever came, at least the smallest of it would have to be sold.
        let least = holding.gifts.iter().map(|gift| gift.raw).min().unwrap_or_default();
        if share(sold, least) < self.least_sold {
            return Ok(None);
        }
        let Some(creation) = others.creation(token)? else { return Ok(None) };
        let until = creation.time.saturating_add(self.window_secs);
        let is_early = |gift: &&&Transfer| {
            let from_maker =
                gift.other == NOBODY || history.other(gift).is_some_and(|other| other.address == creation.creator);
            gift.time <= until && from_maker
        };
        let early: Vec<&Transfer> = holding.gifts.iter().filter(is_early).copied().collect();
        let got = sum(early.iter().map(|gift| gift.raw));
        if early.is_empty() || first.time > until || share(sold, got) < self.least_sold {
            return Ok(None);
        }
        let Some(supply) = others.supply(token, (creation.time, until))? else { return Ok(None) };
        let of_supply = share(got, supply);
        if of_supply < self.least_share || !sent_all(others.subject(), others, &holding.sales)? {
            return Ok(None);
        }
        let transactions = early.iter().take(3).chain(&holding.sales).map(|one| one.transaction);
        let evidence = Evidence::by(transactions)
            .within(self.sale_secs)
            .with("token", Fact::Asset(asset))
            .with("share", Fact::Ratio(of_supply))
            .with("sold_ratio", Fact::Ratio(share(sold, got)));
        let last = holding.sales[holding.sales.len() - 1].time;
        Ok(Some(Detection { intensity: 1.0, occurrences: 1, first: early[0].time, last, evidence }))
    }
}

fn sum(raws: impl Iterator<Item = u128>) -> u128 {
    raws.fold(0, u128::saturating_add)
}

/// Whether an address sent the transactions of its sales: a contract can write what it likes into the history of others.
fn sent_all(who: Address, others: &Reading<'_>, sales: &[&Transfer]) -> Result<bool, LedgerError> {
    let transactions: FxHashSet<TransactionRef> = sales.iter().map(|sale| sale.transaction).collect();
    for transaction in transactions {
        let Some(sender) = others.transaction(transaction)?.and_then(|whole| whole.sender.or_else(|| others.miss()))
        else {
            return Ok(false);
        };
        if sender != who {
            return Ok(false);
        }
    }
    Ok(true)
}
