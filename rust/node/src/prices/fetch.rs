//! A fetch of prices: the missing periods are asked for, judged, and committed as one version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use headwater_ledger::market::{Price, PricePoint, PriceTable, core_prices};
use headwater_ledger::read::{Assets, Generation};
use headwater_ledger::store::WriterOptions;
use headwater_ledger::{Cancel, Cancelled, Store};
use headwater_types::Timestamp;

use super::answer::{Answer, RefusedPrice, closes};
use super::ask::{CoinPrices, Job, ask, ask_current, find_ids, jobs};
use super::client::Client;
use super::coin::{Coin, coins};
use super::error::PriceError;
use super::journal::{Answers, Entry, Journal, Outcome};
use super::judge::implausible;
use super::plan::{Bounds, KnownGaps, Plan};
use super::report::PriceReport;
use super::service::{PriceService, ServiceOptions};
use super::step::Step;
use crate::error::CallError;

/// The choices of a fetch of prices.
#[derive(Debug, Clone)]
pub struct PriceOptions {
    /// The service and how it is reached.
    pub service: ServiceOptions,
    /// The rate symbols, each with its id at the service where it is written `symbol=id`; those of the store that need
    /// prices if there are none.
    pub symbols: Vec<String>,
    /// The first time, in epoch seconds; that of the first block of the chains of a symbol if omitted.
    pub from: Option<i64>,
    /// The last time, in epoch seconds; now if omitted.
    pub to: Option<i64>,
    /// The length of a period that has one price.
    pub step: Step,
    /// The use of earlier answers without a price.
    pub gaps: KnownGaps,
    /// The treatment of current prices.
    pub current: CurrentPrices,
    /// The part of the work that is done.
    pub mode: FetchMode,
    /// The time of the fetch.
    pub now: Timestamp,
}

impl PriceOptions {
    /// Creates the options of a fetch of what is missing of a service, by day.
    #[must_use]
    pub fn new(service: ServiceOptions, now: Timestamp) -> Self {
        let (gaps, current, mode) = (KnownGaps::Skip, CurrentPrices::Omitted, FetchMode::Fetch);
        Self { service, symbols: Vec::new(), from: None, to: None, step: Step::Day, gaps, current, mode, now }
    }
}

/// The treatment of current prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CurrentPrices {
    /// They are not asked for.
    #[default]
    Omitted,
    /// They are stored with the time that the service states.
    Stored,
}

/// The part of the work that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FetchMode {
    /// All of it.
    #[default]
    Fetch,
    /// Only the plan: the report has the periods and requests, and nothing is asked for.
    Plan,
}

/// Receives the progress of a fetch of prices.
pub trait PriceProgress {
    /// Called after every answer, with the periods that were answered and all of them.
    fn update(&self, _done: u64, _total: u64) {}

    /// Called while sidecars are built.
    fn building(&self, _kind: &'static str, _done: u64, _total: u64) {}
}

/// The reason for which a fetch ends early.
enum Stop {
    Error(PriceError),
    Failure(CallError),
}

impl From<PriceError> for Stop {
    fn from(error: PriceError) -> Self {
        Self::Error(error)
    }
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Cancelled => Self::Error(Cancelled.into()),
            other => Self::Failure(other),
        }
    }
}

/// Fetches the prices of a service that a store does not have, and stores them as a version of prices under the name of the
/// service.
///
/// Only periods without a price are asked for, so the same fetch repeated asks for nothing, and one that was stopped midway
/// continues where it stopped. Prices that cannot be meant are set aside and reported; gaps are reported and never filled.
///
/// # Errors
/// When the options cannot be used, the store refuses, or the work is cancelled. A service that fails is in the report: what it
/// answered before is stored.
pub fn fetch_prices(
    store: &Path,
    options: &PriceOptions,
    progress: &dyn PriceProgress,
    cancel: &Cancel,
) -> Result<PriceReport, PriceError> {
    let (service, step) = (options.service.service, options.step);
    let client = Client::new(&options.service, cancel)?;
    let snapshot = Store::open(store)?.snapshot()?;
    let prices = snapshot.prices();
    let mut report = PriceReport {
        source: service.name(),
        step: step.name(),
        symbols: Vec::new(),
        requests: 0,
        stored: 0,
        version: None,
        notes: Vec::new(),
        failure: None,
    };
    if options.mode == FetchMode::Plan {
        let plans = plans(&*snapshot, &Answers::read(store, service, step)?, options)?;
        let requests = jobs(&plans, service, step).len() as u64;
        let lists = u64::from(service == PriceService::CoinGecko && requests > 0);
        report.requests = requests + lists;
        report.symbols = plans.iter().map(|plan| plan.report(step)).collect();
        return Ok(report);
    }
    let mut journal = Journal::open(store, service, step)?;
    let plans = plans(&*snapshot, journal.answers(), options)?;
    let mut fetch = Fetch { options, client: &client, journal: &mut journal, plans, progress };
    let asked = fetch.ask_all();
    let mut plans = fetch.plans;
    report.requests = client.requests();
    match asked {
        Ok(()) => {}
        Err(Stop::Error(error)) => return Err(error),
        Err(Stop::Failure(error)) => report.failure = Some(format!("{}: {error}", client.host())),
    }
    let points = judged(&mut plans, prices, &mut journal);
    report.stored = points.len() as u64;
    if points.is_empty() {
        journal.rewrite()?;
    } else {
        let mut writer = WriterOptions::default().cancelled_by(cancel).open(store)?;
        report.version = Some(writer.import_prices(service.name(), points)?);
        journal.rewrite()?;
        let after = writer.snapshot();
        let lost = |plan: &Plan| lost_days(&*snapshot, prices, after.prices(), &plan.coin);
        report.notes.extend(plans.iter().filter_map(|plan| lost_note(plan, lost(plan), report.version)));
        writer.rebuild_sidecars(&|kind, done, total| progress.building(kind, done, total), cancel)?;
    }
    report.symbols = plans.iter().map(|plan| plan.report(step)).collect();
    let problems: Vec<_> = plans.iter().filter_map(|plan| plan.problem.as_ref().map(|text| (plan, text))).collect();
    if report.failure.is_none() && report.stored == 0 && !plans.is_empty() && problems.len() == plans.len() {
        report.failure = Some(format!("no symbol can be fetched: {}: {}", problems[0].0.coin.symbol, problems[0].1));
    }
    Ok(report)
}

/// Makes the plans of all symbols.
fn plans(
    ledger: &(impl Generation + Assets),
    answers: &Answers,
    options: &PriceOptions,
) -> Result<Vec<Plan>, PriceError> {
    let bounds = Bounds {
        from: options.from,
        to: options.to,
        step: options.step,
        now: options.now.secs(),
        reach_days: options.service.reach_days(),
        gaps: options.gaps,
    };
    let coins = coins(ledger, &options.symbols, options.service.service)?;
    coins.into_iter().map(|coin| Plan::new(ledger, ledger.prices(), answers, coin, &bounds)).collect()
}

/// The requests of a fetch.
struct Fetch<'a> {
    options: &'a PriceOptions,
    client: &'a Client<'a>,
    journal: &'a mut Journal,
    plans: Vec<Plan>,
    progress: &'a dyn PriceProgress,
}

impl Fetch<'_> {
    /// Asks for all that is missing.
    fn ask_all(&mut self) -> Result<(), Stop> {
        let is_current = self.options.current == CurrentPrices::Stored;
        if !is_current && self.plans.iter().all(|plan| plan.ask.is_empty()) {
            return Ok(());
        }
        let (service, step) = (self.options.service.service, self.options.step);
        let asking = self.plans.iter_mut().filter(|plan| is_current || !plan.ask.is_empty());
        find_ids(self.client, asking, service)?;
        let mut open = jobs(&self.plans, service, step);
        open.reverse();
        let total = self.plans.iter().map(|plan| plan.ask.len() as u64).sum();
        while let Some(job) = open.pop() {
            if job.members.iter().all(|member| self.plans[*member].problem.is_some()) {
                continue;
            }
            match ask(self.client, &self.plans, &job, (service, step)) {
                Ok(answers) => self.take(&job, answers)?,
                Err(error @ (CallError::TooMuch(_) | CallError::Missing(_) | CallError::Malformed(_))) => {
                    match job.halves(step).filter(|_| job.members.len() > 1 || matches!(error, CallError::TooMuch(_))) {
                        Some([one, other]) => open.extend([other, one]),
                        None => {
                            for member in &job.members {
                                self.plans[*member].problem = Some(error.to_string());
                            }
                        }
                    }
                }
                Err(error) => return Err(error.into()),
            }
            self.progress
                .update(self.plans.iter().map(|plan| plan.outcomes.len() as u64).sum::<u64>().min(total), total);
        }
        if is_current {
            ask_current(self.client, &mut self.plans, (service, self.options.now.secs()))?;
        }
        Ok(())
    }

    /// Takes the answers of a request.
    fn take(&mut self, job: &Job, answers: Vec<CoinPrices>) -> Result<(), PriceError> {
        for (member, answer) in job.members.iter().zip(answers) {
            let plan = &mut self.plans[*member];
            match answer {
                Ok(answer) => {
                    let outcomes = outcomes(&answer, job, self.options.step);
                    let of_periods: BTreeSet<Timestamp> = outcomes.iter().filter_map(refused_time).collect();
                    let others = answer.refused.into_iter().filter(|price| !of_periods.contains(&price.time));
                    plan.refused.extend(others);
                    let id = plan.coin.id.clone().unwrap_or_default();
                    let asked_at = self.options.now.secs();
                    let entry = |outcome| Entry { id: id.clone(), asked_at, outcome };
                    let entries = outcomes.iter().map(|(end, outcome)| (*end, entry(outcome.clone()))).collect();
                    self.journal.add(&plan.coin.symbol, entries)?;
                    plan.outcomes.extend(outcomes);
                }
                Err(problem) => plan.problem = Some(problem),
            }
        }
        Ok(())
    }
}

fn refused_time((_, outcome): &(i64, Outcome)) -> Option<Timestamp> {
    match outcome {
        Outcome::Refused(price) => Some(price.time),
        Outcome::Price(_) | Outcome::Missing => None,
    }
}

/// Decides what each period of a request has: a price, a refused price, or none.
fn outcomes(answer: &Answer, job: &Job, step: Step) -> Vec<(i64, Outcome)> {
    let closes = closes(answer, job.run, step);
    let mut refused: BTreeMap<i64, &RefusedPrice> = BTreeMap::new();
    for price in &answer.refused {
        if let Some(end) = step.near_end(price.time.secs()) {
            refused.entry(end).or_insert(price);
        }
    }
    let outcome = |end: i64| match (closes.get(&end), refused.get(&end)) {
        (Some(usd), _) => Outcome::Price(*usd),
        (None, Some(price)) => Outcome::Refused((*price).clone()),
        (None, None) => Outcome::Missing,
    };
    job.run.ends(step).map(|end| (end, outcome(end))).collect()
}

/// Sets implausible prices aside, in the plans and in the journal, and returns the others in order of symbol and time.
fn judged(plans: &mut [Plan], prices: &PriceTable, journal: &mut Journal) -> Vec<PricePoint> {
    let mut points = Vec::new();
    for plan in plans {
        let symbol = plan.coin.symbol.clone();
        let held = held_prices(prices, &symbol);
        let mut new: BTreeMap<i64, f64> = BTreeMap::new();
        for (end, outcome) in &plan.outcomes {
            if let Outcome::Price(usd) = outcome {
                new.insert(*end, *usd);
            }
        }
        let current = plan.current.filter(|(time, _)| !held.contains_key(time) && !new.contains_key(time));
        plan.current = current;
        new.extend(current);
        let mut refused: BTreeMap<i64, RefusedPrice> = BTreeMap::new();
        for (time, why) in implausible(&held, &new) {
            let usd = new.remove(&time);
            let price = RefusedPrice { time: Timestamp::new(time), usd, why };
            match plan.outcomes.get_mut(&time) {
                Some(outcome) => {
                    *outcome = Outcome::Refused(price.clone());
                    refused.insert(time, price);
                }
                None => {
                    plan.current = None;
                    plan.refused.push(price);
                }
            }
        }
        let committed: Vec<i64> = new.keys().chain(&plan.held).copied().collect();
        journal.settle(&symbol, &refused, &committed);
        points.extend(new.into_iter().map(|(time, usd)| PricePoint {
            symbol: symbol.clone(),
            time: Timestamp::new(time),
            usd,
        }));
    }
    points
}

/// Returns all prices that the store has of a symbol, core prices that are not in use included.
fn held_prices(prices: &PriceTable, symbol: &str) -> BTreeMap<i64, f64> {
    let core = core_prices().iter().find(|(of, _)| *of == symbol).map_or(&[][..], |(_, prices)| prices.as_slice());
    let by_time = |price: &Price| (price.time.secs(), price.usd);
    core.iter().chain(prices.series(symbol)).map(by_time).collect()
}

/// Counts the days of the chains of a coin that had a price, or a dollar by the peg, and have none any more.
fn lost_days(ledger: &impl Generation, before: &PriceTable, after: &PriceTable, coin: &Coin) -> u64 {
    let symbol = coin.symbol.as_str();
    let had_peg = coin.is_pegged && !before.holds(symbol);
    let of_chains = ledger.coverage().iter().filter(|(chain, _)| coin.chains.contains(chain));
    let times = of_chains.filter_map(|(_, coverage)| coverage.first_time.zip(coverage.last_time));
    let mut days: BTreeSet<i64> = BTreeSet::new();
    for (first, last) in times {
        let mut end = Step::Day.end_of(first.secs());
        while end <= Step::Day.end_of(last.secs()) {
            days.insert(end);
            end += Step::Day.secs();
        }
    }
    let is_lost = |end: &i64| {
        let time = Timestamp::new(*end);
        (had_peg || before.at(symbol, time).is_some()) && after.at(symbol, time).is_none()
    };
    days.iter().filter(|end| is_lost(end)).count() as u64
}

fn lost_note(plan: &Plan, days: u64, version: Option<u64>) -> Option<String> {
    let version = version.filter(|_| days > 0)?;
    let symbol = &plan.coin.symbol;
    let had = if plan.coin.is_pegged { "were worth a dollar by the peg" } else { "had a core price" };
    Some(format!(
        "{symbol}: {days} days with blocks {had} and have no price now, since gaps between imported prices are gaps; fetch \
         an earlier range, ask another service, or roll version {version} back"
    ))
}
