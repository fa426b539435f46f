//! Round trip: money comes back after a few hops within a week.

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Asset, Usd};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::behaviour::episodes::{Detection, Evidence, Fact, intensity, measure};
use crate::behaviour::history::{Counterparty, History, Roles, Transfer};
use crate::behaviour::others::Reading;
use crate::behaviour::patterns::trades;
use crate::behaviour::{DetectAmongOthers, Needs};

const HOUR_SECS: f64 = 3_600.0;

/// A payment of `least_usd` after which, within `window_secs`, most of it comes back in the same asset: from the recipient,
/// or over one or two others. Trades are no payments, and what an exchange or a hub pays out is not what came in.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundTrip {
    /// How soon it comes back.
    pub window_secs: i64,
    /// Share of the first payment that each further one still has.
    pub least_kept: f64,
    /// US dollars that leave.
    pub least_usd: f64,
    /// Cycles, at least.
    pub least_cycles: usize,
    /// The number of cycles from which the intensity is 1.
    pub full_cycles: usize,
}

/// One payment on the way.
#[derive(Clone, Copy)]
struct Step {
    to: Address,
    time: i64,
    transaction: TransactionRef,
    usd: Usd,
}

impl DetectAmongOthers for RoundTrip {
    const NEEDS: Needs = Needs::Values;

    fn detect_among(&self, history: &History, others: &Reading<'_>) -> Result<Option<Detection>, LedgerError> {
        let large = |out: &&Transfer| out.usd.to_f64() >= self.least_usd;
        if history.ins.is_empty() || !history.outs.iter().any(|out| large(&out)) {
            return Ok(None);
        }
        if others.is_hub(history.all.len()) {
            return Ok(others.miss());
        }
        let traded = trades(history);
        let is_paid = |transfer: &&Transfer| !traded.contains(&transfer.transaction);
        let back: Vec<&Transfer> = history.ins.iter().filter(is_paid).collect();
        let mut search = Search { rule: self, history, others, payments: FxHashMap::default() };
        let mut used: FxHashSet<usize> = FxHashSet::default();
        let mut cycles: Vec<Vec<Step>> = Vec::new();
        for out in history.outs.iter().filter(is_paid).filter(large) {
            let start = back.partition_point(|came| came.time < out.time);
            let candidates: Vec<usize> = (start..back.len())
                .take_while(|place| back[*place].time <= out.time.saturating_add(self.window_secs))
                .filter(|place| back[*place].asset == out.asset && !used.contains(place))
                .filter(|place| self.is_kept(back[*place].raw, out.raw))
                .collect();
            if candidates.is_empty() {
                continue;
            }
            let came: Vec<&Transfer> = candidates.iter().map(|place| back[*place]).collect();
            if let Some((place, steps)) = search.cycle(out, &came)? {
                used.insert(candidates[place]);
                cycles.push(steps);
            }
        }
        let Some(shown) = cycles.first().filter(|_| cycles.len() >= self.least_cycles) else { return Ok(None) };
        let last = cycles.iter().filter_map(|steps| steps.last()).map(|step| step.time).max().unwrap_or_default();
        let evidence = Evidence::by(shown.iter().map(|step| step.transaction))
            .within(self.window_secs)
            .with("cycle", Fact::Path(shown.iter().map(|step| step.to).collect()))
            .with("amounts_usd", Fact::Numbers(shown.iter().map(|step| step.usd.to_f64()).collect()))
            .with("hours", Fact::Ratio(hours(shown[shown.len() - 1].time - shown[0].time)))
            .count("cycles", cycles.len());
        Ok(Some(Detection {
            intensity: intensity(measure(cycles.len()), measure(self.least_cycles), measure(self.full_cycles)),
            occurrences: cycles.len() as u64,
            first: shown[0].time,
            last,
            evidence,
        }))
    }
}

impl RoundTrip {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn is_kept(&self, raw: u128, of: u128) -> bool {
        raw as f64 >= self.least_kept * of as f64
    }
}

/// Looks for the way back of one payment after the other.
struct Search<'s, 'o> {
    rule: &'s RoundTrip,
    history: &'s History,
    others: &'s Reading<'o>,
    /// Who pays out of what it holds for many.
    payments: FxHashMap<Address, bool>,
}

impl Search<'_, '_> {
    /// The first cycle of a payment that ends with one of those that came back, with the place of that one: the shortest
    /// ways first.
    fn cycle(&mut self, out: &Transfer, came: &[&Transfer]) -> Result<Option<(usize, Vec<Step>)>, LedgerError> {
        let Some(first) = self.history.other(out).copied() else { return Ok(None) };
        if !self.carries(&first)? {
            return Ok(None);
        }
        let subject = self.others.subject();
        let asset = self.history.asset(out);
        let begin = Step { to: first.address, time: out.time, transaction: out.transaction, usd: out.usd };
        let closing = |steps: &[Step]| {
            let last = steps[steps.len() - 1];
            let ends = |back: &&Transfer| {
                back.time >= last.time && self.history.other(back).is_some_and(|other| other.address == last.to)
            };
            came.iter().position(ends).map(|place| {
                let back = came[place];
                let end = Step { to: subject, time: back.time, transaction: back.transaction, usd: back.usd };
                (place, steps.iter().copied().chain([end]).collect::<Vec<_>>())
            })
        };
        if let Some(found) = closing(&[begin]) {
            return Ok(Some(found));
        }
        let until = came.last().map_or(out.time, |last| last.time);
        let second = self.onward(&begin, out, &asset, until)?;
        for step in &second {
            if let Some(found) = closing(&[begin, *step]) {
                return Ok(Some(found));
            }
        }
        for step in &second {
            for further in self.onward(step, out, &asset, until)? {
                if further.to == first.address {
                    continue;
                }
                if let Some(found) = closing(&[begin, *step, further]) {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// What the recipient of a step paid on: to others than itself and the address that is judged, in order of time.
    fn onward(&mut self, step: &Step, out: &Transfer, asset: &Asset, until: i64) -> Result<Vec<Step>, LedgerError> {
        let Some(history) = self.others.history(&step.to)? else { return Ok(Vec::new()) };
        let mut steps = Vec::new();
        let start = history.outs.partition_point(|paid| paid.time < step.time);
        for paid in history.outs[start..].iter().take_while(|paid| paid.time <= until) {
            let Some(other) = history.other(paid) else { continue };
            let is_onward = history.asset(paid) == *asset && self.rule.is_kept(paid.raw, out.raw);
            if !is_onward || other.address == self.others.subject() || other.address == step.to {
                continue;
            }
            if self.carries(other)? {
                let (time, transaction, usd) = (paid.time, paid.transaction, paid.usd);
                steps.push(Step { to: other.address, time, transaction, usd });
            }
        }
        Ok(steps)
    }

    /// Returns whether what an address pays can be what it got: it is no exchange and no hub.
    fn carries(&mut self, other: &Counterparty) -> Result<bool, LedgerError> {
        if other.roles.holds(Roles::EXCHANGE) {
            return Ok(false);
        }
        if let Some(carries) = self.payments.get(&other.address) {
            return Ok(*carries);
        }
        let carries = self.others.is_readable(&other.address)?;
        self.payments.insert(other.address, carries);
        Ok(carries)
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a week are exact")]
fn hours(secs: i64) -> f64 {
    secs as f64 / HOUR_SECS
}
