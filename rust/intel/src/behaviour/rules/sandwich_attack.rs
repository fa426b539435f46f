//! Sandwich attack: buys before a victim and sells after it in one block.

use std::collections::BTreeSet;

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity, measure};
use crate::behaviour::history::{AssetKind, History, NOBODY, Transfer, Way};
use crate::behaviour::others::Reading;
use crate::behaviour::{DetectAmongOthers, Needs};

/// Three transfers of one token in one block and three transactions: a pool pays the address, then a victim, then the
/// address gives back about as much; prices per gas fall in that order (Torres et al. 2021).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandwichAttack {
    /// How far bought and sold amounts may differ, as a share of what was bought.
    pub most_difference: f64,
    /// Attacks, at least.
    pub least_count: usize,
    /// The number of attacks from which the intensity is 1.
    pub full_count: usize,
}

/// The transfers around a victim.
struct Attack<'h> {
    /// All movements of the address in the block.
    of_block: &'h [Transfer],
    bought: &'h Transfer,
    sold: &'h Transfer,
    victims: Vec<TransactionRef>,
}

impl DetectAmongOthers for SandwichAttack {
    const NEEDS: Needs = Needs::Movements;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let mut attacks: Vec<Attack<'_>> = Vec::new();
        for of_block in history.all.chunk_by(|one, other| one.time == other.time) {
            let mut sold: BTreeSet<usize> = BTreeSet::new();
            for (place, bought) in of_block.iter().enumerate().filter(|(_, first)| is_bought(history, first)) {
                let later = (place + 1..of_block.len())
                    .find(|later| !sold.contains(later) && self.closes(bought, &of_block[*later]));
                let Some(later) = later else { continue };
                let victims = victims(history, others, (bought, &of_block[later]))?;
                if !victims.is_empty() {
                    sold.insert(later);
                    attacks.push(Attack { of_block, bought, sold: &of_block[later], victims });
                }
            }
        }
        let (Some(first), Some(last)) = (attacks.first(), attacks.last()) else { return Ok(None) };
        if attacks.len() < self.least_count {
            return Ok(None);
        }
        let of_attack = |attack: &Attack<'_>| {
            let (bought, sold) = (attack.bought.transaction, attack.sold.transaction);
            [bought].into_iter().chain(attack.victims.iter().copied()).chain([sold]).collect::<Vec<_>>()
        };
        let evidence = Evidence::by(attacks.iter().flat_map(of_attack))
            .count("attacks", attacks.len())
            .count("victims", attacks.iter().map(|attack| attack.victims.len()).sum());
        let evidence = match profit(history, &attacks) {
            Some((asset, units)) => evidence
                .with("profit", Fact::Units(units))
                .with("profit_asset", Fact::Asset(history.assets[asset as usize].asset)),
            None => evidence,
        };
        Ok(Some(Detection {
            intensity: intensity(measure(attacks.len()), measure(self.least_count), measure(self.full_count)),
            occurrences: attacks.len() as u64,
            first: first.bought.time,
            last: last.sold.time,
            evidence,
        }))
    }
}

/// Returns whether a token came from somebody, as when it is bought of a pool.
fn is_bought(history: &History, transfer: &Transfer) -> bool {
    let kind = history.kind(transfer);
    transfer.way == Way::In
        && transfer.raw > 0
        && transfer.other != NOBODY
        && !matches!(kind, AssetKind::Native | AssetKind::Counterfeit)
}

impl SandwichAttack {
    /// Returns whether a later transfer gives back what was bought.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn closes(&self, bought: &Transfer, sold: &Transfer) -> bool {
        let is_back = sold.way == Way::Out && (sold.other, sold.asset) == (bought.other, bought.asset);
        is_back
            && sold.transaction != bought.transaction
            && sold.raw.abs_diff(bought.raw) as f64 <= self.most_difference * bought.raw as f64
    }
}

/// The transactions in between to which the pool sold, at prices per gas in between.
fn victims(
    history: &History,
    others: &Reading<'_>,
    (bought, sold): (&Transfer, &Transfer),
) -> Result<Vec<TransactionRef>, LedgerError> {
    let Some(pool) = history.other(bought) else { return Ok(Vec::new()) };
    let (Some(first), Some(last)) = (others.transaction(bought.transaction)?, others.transaction(sold.transaction)?)
    else {
        return Ok(Vec::new());
    };
    if first.block != last.block {
        return Ok(Vec::new());
    }
    let asset = history.asset(bought);
    let Some(sent) = others.sent_in_block(&pool.address, &asset, first.block)? else { return Ok(Vec::new()) };
    let mut victims = Vec::new();
    for one in sent.iter().filter(|one| one.to != others.subject()) {
        if [bought.transaction, sold.transaction].contains(&one.transaction) || victims.contains(&one.transaction) {
            continue;
        }
        let Some(between) = others.transaction(one.transaction)? else { continue };
        let (Some(before), Some(at), Some(after)) = (first.index, between.index, last.index) else {
            others.miss::<()>();
            continue;
        };
        if !(before < at && at < after) {
            continue;
        }
        let (Some(dear), Some(price), Some(cheap)) = (first.gas_price, between.gas_price, last.gas_price) else {
            others.miss::<()>();
            continue;
        };
        if dear > price && price >= cheap {
            victims.push(one.transaction);
        }
    }
    Ok(victims)
}

/// What all attacks that paid in the asset of the first one gained of it, in whole units, not less than nothing.
fn profit(history: &History, attacks: &[Attack<'_>]) -> Option<(u32, f64)> {
    let first = attacks.first()?;
    let is_paid = |one: &&Transfer| one.transaction == first.bought.transaction && one.way == Way::Out && one.raw > 0;
    let asset = first.of_block.iter().find(is_paid)?.asset;
    history.assets[asset as usize].decimals?;
    let sum = |attack: &Attack<'_>, of: &Transfer, way: Way| {
        let moved = attack.of_block.iter().filter(|one| one.transaction == of.transaction && one.way == way);
        moved.filter(|one| one.asset == asset).filter_map(|one| history.units(one)).sum::<f64>()
    };
    let gains = attacks.iter().map(|attack| {
        let paid = sum(attack, attack.bought, Way::Out);
        if paid > 0.0 { sum(attack, attack.sold, Way::In) - paid } else { 0.0 }
    });
    Some((asset, gains.sum::<f64>().max(0.0)))
}
