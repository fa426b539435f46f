//! Split cash-out: deposit addresses of several exchanges within a day.

use headwater_ledger::LedgerError;
use headwater_types::Usd;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::behaviour::episodes::{Detection, Evidence, Fact, Stretch, intensity, measure, note, windows};
use crate::behaviour::history::{Counterparty, History, NOBODY, Roles, Transfer};
use crate::behaviour::others::Reading;
use crate::behaviour::{DetectAmongOthers, Needs, ratio};

/// Within `window_secs` payments into several deposit addresses of at least two exchanges, together much of all outflow.
/// A deposit address has a label, or pays nearly all that it pays to addresses labelled as an exchange.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MultiExchangeCashout {
    /// The window.
    pub window_secs: i64,
    /// Distinct deposit addresses in it.
    pub least_deposits: usize,
    /// The number of deposit addresses from which the intensity is 1.
    pub full_deposits: usize,
    /// Distinct exchanges.
    pub least_exchanges: usize,
    /// Share of the outflow.
    pub least_share: f64,
    /// Share of its own outflow that a deposit address without a label pays to an exchange.
    pub least_forwarded: f64,
}

impl DetectAmongOthers for MultiExchangeCashout {
    const NEEDS: Needs = Needs::Values;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        if history.outs.len() < self.least_deposits {
            return Ok(None);
        }
        let may_be_deposit = |out: &&Transfer| !history.roles(out.other).holds(Roles::EXCHANGE) && out.other != NOBODY;
        let outs: Vec<Transfer> = history.outs.iter().filter(may_be_deposit).copied().collect();
        // First whether there would be enough if all were deposit addresses.
        let mut stretch = Stretch::new(&outs, history.counterparties.len());
        let mut wanted: FxHashSet<u32> = FxHashSet::default();
        let mut order = Vec::new();
        for window in windows(&outs, self.window_secs) {
            stretch.slide(window);
            let is_enough = stretch.distinct() >= self.least_deposits;
            if is_enough && ratio(stretch.usd(), history.out_usd) >= self.least_share {
                let of_window = stretch.transfers().iter().map(|out| out.other);
                order.extend(of_window.filter(|other| wanted.insert(*other)));
            }
        }
        let mut exchanges: FxHashMap<u32, u64> = FxHashMap::default();
        for other in order {
            let known = &history.counterparties[other as usize];
            if let Some(exchange) = self.exchange(known, others)? {
                exchanges.insert(other, exchange);
            }
        }
        if exchanges.len() < self.least_deposits {
            return Ok(None);
        }
        Ok(self.among(history, &outs, &exchanges))
    }
}

impl MultiExchangeCashout {
    /// The exchange behind a deposit address; `None` where it is none.
    fn exchange(&self, other: &Counterparty, others: &Reading<'_>) -> Result<Option<u64>, LedgerError> {
        let is_labelled = other.roles.holds(Roles::DEPOSIT);
        if is_labelled && other.entity != 0 {
            return Ok(Some(other.entity));
        }
        let Some(history) = others.history(&other.address)? else { return Ok(None) };
        let mut by_exchange: FxHashMap<u64, Usd> = FxHashMap::default();
        for paid in &history.outs {
            if let Some(to) = history.other(paid).filter(|to| to.roles.holds(Roles::EXCHANGE)) {
                *by_exchange.entry(number(to)).or_default() += paid.usd;
            }
        }
        let largest = by_exchange.into_iter().max_by_key(|(exchange, usd)| (*usd, *exchange));
        let forwards = |usd: Usd| history.out_usd > Usd::ZERO && ratio(usd, history.out_usd) >= self.least_forwarded;
        let found = largest.filter(|(_, usd)| is_labelled || forwards(*usd)).map(|(exchange, _)| exchange);
        Ok(found.or_else(|| is_labelled.then(|| number(other))))
    }

    /// The episodes among payments into deposit addresses, of which the exchange is known.
    fn among(&self, history: &History, outs: &[Transfer], exchanges: &FxHashMap<u32, u64>) -> Option<Detection> {
        let deposits: Vec<Transfer> = outs.iter().filter(|out| exchanges.contains_key(&out.other)).copied().collect();
        let mut stretch = Stretch::new(&deposits, history.counterparties.len());
        let mut found = None;
        for window in windows(&deposits, self.window_secs) {
            stretch.slide(window);
            let within = stretch.transfers();
            let share = ratio(stretch.usd(), history.out_usd);
            if stretch.distinct() < self.least_deposits || share < self.least_share {
                continue;
            }
            let of_exchanges: FxHashSet<u64> = within.iter().map(|out| exchanges[&out.other]).collect();
            if of_exchanges.len() < self.least_exchanges {
                continue;
            }
            let span = (within[0].time, within[within.len() - 1].time);
            note(&mut found, span, measure(stretch.distinct()), || {
                let to = history.addresses(within.iter().map(|out| out.other));
                Evidence::of(within)
                    .within(self.window_secs)
                    .count("exchanges", of_exchanges.len())
                    .count("deposits", stretch.distinct())
                    .with("to", Fact::Addresses(to))
                    .with("usd", Fact::Usd(stretch.usd()))
                    .with("share", Fact::Ratio(share))
            });
        }
        found.map(|found| Detection {
            intensity: intensity(found.measure, measure(self.least_deposits), measure(self.full_deposits)),
            occurrences: found.count,
            first: found.first,
            last: found.last,
            evidence: found.best,
        })
    }
}

/// Stands for the entity of an address, or for the address where it has none.
fn number(of: &Counterparty) -> u64 {
    if of.entity == 0 { xxh3_64(of.address.to_string().as_bytes()) } else { of.entity }
}
