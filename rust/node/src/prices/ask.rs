//! Requests for the periods of several coins, in the form of each service.

use headwater_types::Timestamp;
use serde_json::Value;

use super::answer::{Answer, RawPoint, Refusal, RefusedPrice, TimeUnit, checked};
use super::client::Client;
use super::coingecko::{self, CoinList};
use super::defillama;
use super::plan::Plan;
use super::service::PriceService;
use super::step::{Run, Step};
use crate::error::CallError;

/// The longest time that a current price may lie in the future, for clocks that differ.
const CLOCK_SECS: i64 = 600;
const DAY_SECS: i64 = 86_400;

/// Periods to ask for in one request, of one coin or of several; members are places in the list of plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub members: Vec<usize>,
    pub run: Run,
}

impl Job {
    /// Divides it: first by coins, then by periods; `None` where it is a single one of both.
    pub fn halves(&self, step: Step) -> Option<[Self; 2]> {
        if self.members.len() > 1 {
            let (one, other) = self.members.split_at(self.members.len() / 2);
            return Some([one, other].map(|members| Self { members: members.to_vec(), run: self.run }));
        }
        self.run.halves(step).map(|halves| halves.map(|run| Self { members: self.members.clone(), run }))
    }
}

/// Returns the requests for all plans: a run of periods of one coin each, and at DefiLlama single periods of several coins
/// together.
pub(super) fn jobs(plans: &[Plan], service: PriceService, step: Step) -> Vec<Job> {
    let max_count = match (service, step) {
        (PriceService::CoinGecko, Step::Day) => i64::MAX,
        (PriceService::CoinGecko, Step::Hour) => coingecko::MAX_HOURS,
        (PriceService::DefiLlama, _) => defillama::MAX_POINTS,
    };
    let mut jobs: Vec<Job> = Vec::new();
    for (member, plan) in plans.iter().enumerate().filter(|(_, plan)| plan.problem.is_none()) {
        for run in plan.runs(step) {
            let max_count = max_count.min(run.count(step));
            jobs.extend(run.pieces(step, max_count).into_iter().map(|run| Job { members: vec![member], run }));
        }
    }
    if service == PriceService::DefiLlama {
        join_single_periods(&mut jobs, step);
    }
    jobs
}

fn join_single_periods(jobs: &mut Vec<Job>, step: Step) {
    let (single, mut joined): (Vec<Job>, Vec<Job>) = jobs.drain(..).partition(|job| job.run.count(step) == 1);
    let mut single = single;
    single.sort_by_key(|job| job.run);
    let begin = joined.len();
    for job in single {
        match joined[begin..].last_mut() {
            Some(last) if last.run == job.run && last.members.len() < defillama::MAX_COINS => {
                last.members.extend(job.members);
            }
            _ => joined.push(job),
        }
    }
    *jobs = joined;
}

/// The answer for one coin: its prices, or the reason for which they cannot be used.
pub(super) type CoinPrices = Result<Answer, String>;

/// Makes a request; the answers come in the order of the members.
///
/// # Errors
/// When the service refuses or fails, or its answer has another form.
pub(super) fn ask(
    client: &Client<'_>,
    plans: &[Plan],
    job: &Job,
    (service, step): (PriceService, Step),
) -> Result<Vec<CoinPrices>, CallError> {
    let ids: Vec<&str> = job.members.iter().map(|member| id_of(&plans[*member])).collect();
    match service {
        PriceService::CoinGecko => ids.iter().map(|id| Ok(Ok(coingecko::range(client, id, job.run, step)?))).collect(),
        PriceService::DefiLlama => {
            let answers = defillama::prices(client, &ids, job.run, step)?;
            let symbols = job.members.iter().map(|member| &plans[*member]);
            Ok(symbols.zip(answers).map(|(plan, answer)| with_symbol(plan, answer)).collect())
        }
    }
}

fn id_of(plan: &Plan) -> &str {
    plan.coin.id.as_deref().unwrap_or_default()
}

/// Compares the symbol of the service with ours.
fn with_symbol(plan: &Plan, answer: defillama::CoinAnswer) -> CoinPrices {
    match answer {
        None => Ok(Answer::default()),
        Some((Some(symbol), answer)) if symbol.eq_ignore_ascii_case(&plan.coin.symbol) => Ok(answer),
        Some((symbol, _)) => Err(coingecko::wrong_symbol(id_of(plan), symbol.as_deref().unwrap_or_default())),
    }
}

/// Finds the id of each coin that is asked for, and compares what the service lists under it with the coin. Asks for the list of CoinGecko,
/// whose prices carry no symbol.
///
/// # Errors
/// When the service refuses or fails.
pub(super) fn find_ids<'a>(
    client: &Client<'_>,
    plans: impl Iterator<Item = &'a mut Plan>,
    service: PriceService,
) -> Result<(), CallError> {
    let list = match service {
        PriceService::CoinGecko => Some(CoinList::ask(client)?),
        PriceService::DefiLlama => None,
    };
    for plan in plans {
        let found = match &list {
            Some(list) => list.id_of(&plan.coin).map(Some),
            None if plan.coin.id.is_none() => Err("the store has no id of it; give it as SYMBOL=ID".to_owned()),
            None => Ok(plan.coin.id.clone()),
        };
        match found {
            Ok(id) => plan.coin.id = id,
            Err(problem) => plan.problem = Some(problem),
        }
    }
    Ok(())
}

/// Asks for the current prices of all plans without a problem.
///
/// # Errors
/// When the service refuses or fails, or its answer has another form.
pub(super) fn ask_current(
    client: &Client<'_>,
    plans: &mut [Plan],
    (service, now): (PriceService, i64),
) -> Result<(), CallError> {
    let members: Vec<usize> = (0..plans.len()).filter(|member| plans[*member].problem.is_none()).collect();
    for members in members.chunks(defillama::MAX_COINS) {
        let ids: Vec<&str> = members.iter().map(|member| id_of(&plans[*member])).collect();
        let window = (now - DAY_SECS, now + CLOCK_SECS);
        let answers: Vec<CoinPrices> = match service {
            PriceService::CoinGecko => coingecko_current(client, &ids, window)?.into_iter().map(Ok).collect(),
            PriceService::DefiLlama => {
                let answers = defillama::current(client, &ids, window)?;
                members.iter().zip(answers).map(|(member, answer)| with_symbol(&plans[*member], answer)).collect()
            }
        };
        for (member, answer) in members.iter().zip(answers) {
            let plan = &mut plans[*member];
            match answer {
                Ok(answer) => {
                    plan.current = answer.observations.last().map(|point| (point.time, point.usd));
                    plan.refused.extend(answer.refused.into_iter().map(|price| stale(price, now)));
                }
                Err(problem) => plan.problem = Some(problem),
            }
        }
    }
    Ok(())
}

/// Names the fault of a current price that is too old.
fn stale(price: RefusedPrice, now: i64) -> RefusedPrice {
    let is_old = price.why == Refusal::OutOfRange && price.time < Timestamp::new(now);
    if is_old { RefusedPrice { why: Refusal::Stale, ..price } } else { price }
}

fn coingecko_current(client: &Client<'_>, ids: &[&str], window: (i64, i64)) -> Result<Vec<Answer>, CallError> {
    let ids_text = ids.join(",");
    let path = format!("/simple/price?ids={ids_text}&vs_currencies=usd&include_last_updated_at=true");
    let value = client.get(&path)?;
    let of_coin = |id: &&str| {
        let Some(coin) = value.get(id) else { return Ok(Answer::default()) };
        let time = coin.get("last_updated_at").unwrap_or(&Value::Null);
        let usd = coin.get("usd").unwrap_or(&Value::Null);
        checked(&[RawPoint { time, usd, confidence: None }], TimeUnit::Seconds, window).map_err(CallError::Malformed)
    };
    ids.iter().map(of_coin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_periods_of_several_coins_are_joined() {
        let run =
            |first: i64, count: i64| Run { first: first * DAY_SECS - 1, last: (first + count - 1) * DAY_SECS - 1 };
        let job = |member, run| Job { members: vec![member], run };
        let mut jobs =
            vec![job(0, run(5, 1)), job(0, run(7, 3)), job(1, run(5, 1)), job(1, run(6, 1)), job(2, run(5, 1))];
        join_single_periods(&mut jobs, Step::Day);
        let expected = [job(0, run(7, 3)), Job { members: vec![0, 1, 2], run: run(5, 1) }, job(1, run(6, 1))];
        assert_eq!(jobs, expected);
        let halves = expected[1].halves(Step::Day).unwrap();
        assert_eq!(halves.map(|job| job.members), [vec![0], vec![1, 2]]);
        assert_eq!(expected[0].halves(Step::Day).unwrap().map(|job| job.run), [run(7, 1), run(8, 2)]);
        assert_eq!(expected[2].halves(Step::Day), None);
    }
}
