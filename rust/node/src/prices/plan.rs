//! The periods that are asked for: those of the range of which neither the store nor an earlier answer has a price.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::market::{CORE_SOURCE, Price, PriceTable};
use headwater_ledger::read::Generation;

use super::answer::RefusedPrice;
use super::coin::Coin;
use super::error::PriceError;
use super::journal::{Answers, Outcome};
use super::report::{MAX_QUOTED, SymbolReport};
use super::step::{Run, Step, runs};

const DAY_SECS: i64 = 86_400;
/// A period without a price is asked for again where it was asked for sooner than this after its end: the service may be
/// late.
const SETTLED_SECS: i64 = 2 * DAY_SECS;

/// The use of earlier answers without a price that can be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KnownGaps {
    /// Their periods are not asked for again.
    #[default]
    Skip,
    /// Their periods are asked for again.
    AskAgain,
}

/// The range of a fetch, and what bounds it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub from: Option<i64>,
    pub to: Option<i64>,
    pub step: Step,
    pub now: i64,
    pub reach_days: Option<i64>,
    pub gaps: KnownGaps,
}

/// The work for one symbol.
#[derive(Debug)]
pub(super) struct Plan {
    pub coin: Coin,
    pub run: Run,
    /// Periods of which the store has a price.
    pub held: BTreeSet<i64>,
    /// Periods that the key cannot reach.
    pub out_of_reach: u64,
    /// Periods to ask for.
    pub ask: BTreeSet<i64>,
    /// The answers so far, by the end of the period.
    pub outcomes: BTreeMap<i64, Outcome>,
    /// The current price, by its time.
    pub current: Option<(i64, f64)>,
    /// The prices that were refused in this fetch and belong to no period, or to one that has another price.
    pub refused: Vec<RefusedPrice>,
    /// The reason for which the symbol is not asked for.
    pub problem: Option<String>,
}

impl Plan {
    /// Makes the plan of a coin.
    ///
    /// # Errors
    /// When no time begins the range, or it has no period.
    pub fn new(
        ledger: &impl Generation,
        prices: &PriceTable,
        answers: &Answers,
        coin: Coin,
        bounds: &Bounds,
    ) -> Result<Self, PriceError> {
        let step = bounds.step;
        let run = range(ledger, &coin, bounds)?;
        let series = prices.series(&coin.symbol);
        let mut held: BTreeSet<i64> = run.ends(step).filter(|end| held_at(series, *end, step).is_some()).collect();
        give_up_surrounded(prices, &coin.symbol, (run, step), &mut held);
        let mut plan = Self {
            run,
            held,
            out_of_reach: 0,
            ask: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            current: None,
            refused: Vec::new(),
            problem: None,
            coin,
        };
        for (end, entry) in answers.of(&plan.coin.symbol) {
            let is_same = plan.coin.id.as_ref().is_none_or(|id| *id == entry.id);
            let is_settled = entry.asked_at - end >= SETTLED_SECS && bounds.gaps == KnownGaps::Skip;
            let counts = matches!(entry.outcome, Outcome::Price(_)) || is_settled;
            if is_same && counts && (run.first..=run.last).contains(&end) && !plan.held.contains(&end) {
                plan.outcomes.insert(end, entry.outcome.clone());
            }
        }
        let reached = bounds.reach_days.map_or(i64::MIN, |days| bounds.now - days * DAY_SECS);
        for end in run.ends(step).filter(|end| !plan.held.contains(end)) {
            if plan.outcomes.contains_key(&end) {
                continue;
            }
            if end - step.early_secs() < reached {
                plan.out_of_reach += 1;
            } else {
                plan.ask.insert(end);
            }
        }
        Ok(plan)
    }

    /// Returns the runs of periods to ask for.
    pub fn runs(&self, step: Step) -> Vec<Run> {
        runs(step, &self.ask)
    }

    /// Reports what became of each period.
    pub fn report(&self, step: Step) -> SymbolReport {
        let count = |is: fn(&Outcome) -> bool| self.outcomes.values().filter(|outcome| is(outcome)).count() as u64;
        let of_periods = self.outcomes.values().filter_map(|outcome| match outcome {
            Outcome::Refused(price) => Some(price),
            Outcome::Price(_) | Outcome::Missing => None,
        });
        let mut refused: Vec<_> = self.refused.iter().chain(of_periods).cloned().collect();
        refused.sort_by_key(|price| price.time);
        refused.dedup();
        refused.truncate(MAX_QUOTED);
        let total = u64::try_from(self.run.count(step)).unwrap_or_default();
        let (held, answered) = (self.held.len() as u64, self.outcomes.len() as u64);
        SymbolReport {
            symbol: self.coin.symbol.clone(),
            id: self.coin.id.clone(),
            first: self.run.first,
            last: self.run.last,
            asked: self.ask.iter().filter(|end| self.outcomes.contains_key(end)).count() as u64,
            held,
            stored: count(|outcome| matches!(outcome, Outcome::Price(_))),
            set_aside: count(|outcome| matches!(outcome, Outcome::Refused(_))),
            missing: count(|outcome| matches!(outcome, Outcome::Missing)),
            out_of_reach: self.out_of_reach,
            open: total - held - answered - self.out_of_reach,
            current_usd: self.current.map(|(_, usd)| usd),
            problem: self.problem.clone(),
            refused,
        }
    }
}

/// Returns the periods of a range: those of the caller, else from the last one that ended before the first block of the
/// chains of the coin until the last one that has ended.
fn range(ledger: &impl Generation, coin: &Coin, bounds: &Bounds) -> Result<Run, PriceError> {
    let step = bounds.step;
    let coverage = || ledger.coverage().iter();
    let own =
        coverage().filter(|(chain, _)| coin.chains.contains(chain)).filter_map(|(_, of_chain)| of_chain.first_time);
    let any = coverage().filter_map(|(_, of_chain)| of_chain.first_time);
    let first = match bounds.from {
        Some(from) if !(0..=bounds.now).contains(&from) => {
            return Err(PriceError::Range("the first time is not between 1970 and now; choose another one".to_owned()));
        }
        Some(from) => step.end_of(from),
        None => step.last_end(own.min().or_else(|| any.min()).ok_or(PriceError::NoTimes)?.secs()),
    };
    let ended = step.last_end(bounds.now - step.late_secs());
    let last = bounds.to.map_or(ended, |to| step.end_of(to.clamp(0, bounds.now)).min(ended));
    if first > last {
        let period = if step == Step::Day { "day" } else { "hour" };
        return Err(PriceError::Range(format!(
            "the range of {} has no {period} that has ended; choose an earlier first or a later last time",
            coin.symbol
        )));
    }
    Ok(Run { first, last })
}

/// Returns the price in use that is the one of the end of a period.
fn held_at(series: &[Price], end: i64, step: Step) -> Option<&Price> {
    let after = series.partition_point(|price| price.time.secs() <= end);
    series[..after].last().filter(|price| price.time.secs() > end - step.early_secs())
}

/// Takes core prices out of the periods that are held, where imported prices will surround them: between imported prices no
/// core price is used. Periods before the first price do not count: most likely the coin had no market then.
fn give_up_surrounded(prices: &PriceTable, symbol: &str, (run, step): (Run, Step), held: &mut BTreeSet<i64>) {
    let begin = held.first().copied().unwrap_or(i64::MAX);
    let missing = || run.ends(step).filter(|end| *end > begin && !held.contains(end));
    let (Some(first), Some(last)) = (missing().next(), missing().last()) else { return };
    let imported = || prices.coverage(symbol).iter().filter(|coverage| coverage.source != CORE_SOURCE);
    let first = imported().map(|coverage| coverage.first.secs()).chain([first]).min().unwrap_or(first);
    let last = imported().map(|coverage| coverage.last.secs()).chain([last]).max().unwrap_or(last);
    let series = prices.series(symbol);
    let is_surrounded = |end: &i64| {
        let price = held_at(series, *end, step);
        (first..=last).contains(end) && price.is_some_and(|price| prices.is_core(symbol, price.time))
    };
    let surrounded: Vec<i64> = held.iter().copied().filter(is_surrounded).collect();
    for end in surrounded {
        held.remove(&end);
    }
}
