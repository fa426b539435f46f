//! One run: every engine is asked every question that it takes, in alternating order, after its answers were checked.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::answer::{Answer, Query};
use super::oracle::Oracle;
use super::peers::Engine;
use super::questions::Group;
use super::samples::{Figures, Samples};
use super::{Error, Result};

/// Answers that are checked per engine and group before it is timed.
const CHECKED: usize = 5;
/// An engine that takes longer than this is asked only as often as the next constant says.
const SLOW: Duration = Duration::from_millis(500);
const SLOW_RUNS: u64 = 3;
/// An engine that mostly takes less than this is asked so many times in a turn: what the engine before it has driven out
/// of the caches of the processor is back after the first of them.
const FAST: Duration = Duration::from_micros(500);
const FAST_RUNS: usize = 20;

/// The times of one engine for a group of questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// The question.
    pub query: String,
    /// The set of accounts that it was about.
    pub set: String,
    /// The engine that answered.
    pub engine: String,
    /// The figures.
    pub figures: Figures,
}

/// The purpose of a run: whether times matter, or only that all answers are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Only the answers.
    Compare,
    /// The answers, then the times.
    Measure,
}

/// Checks and times one group.
///
/// # Errors
/// [`Error::Wrong`] when an answer is not what the rows say.
pub fn group(group: &Group, engines: &mut [Box<dyn Engine>], oracle: &Oracle, purpose: Purpose) -> Result<Vec<Timing>> {
    let Some(&first) = group.queries.first() else { return Ok(Vec::new()) };
    let mut takers: Vec<&mut Box<dyn Engine>> = engines.iter_mut().filter(|engine| engine.takes(first)).collect();
    let mut agreed: BTreeMap<usize, (String, Answer)> = BTreeMap::new();
    for engine in &mut takers {
        let step = (group.queries.len() / CHECKED).max(1);
        for (place, &query) in group.queries.iter().enumerate().step_by(step) {
            let answer = engine.answer(query)?;
            oracle.check(&engine.name(), query, &answer)?;
            match agreed.get(&place) {
                Some((other, held)) => compare(query, (other, held), (&engine.name(), &answer))?,
                None => {
                    agreed.insert(place, (engine.name(), answer));
                }
            }
        }
    }
    if purpose == Purpose::Compare {
        return Ok(Vec::new());
    }

    let mut clocks: Vec<Clock> = Vec::new();
    for engine in &mut takers {
        let mut taken = Vec::new();
        // The unmeasured pass; an engine that is slow is spared most of it.
        for &query in &group.queries {
            let took = Duration::from_nanos(engine.time(query)?.wall_ns);
            taken.push(took);
            if took > SLOW {
                break;
            }
        }
        taken.sort_unstable();
        let runs = if taken[0] > SLOW { SLOW_RUNS.min(group.runs) } else { group.runs };
        let repeats = if taken[taken.len() / 2] < FAST { FAST_RUNS } else { 1 };
        clocks.push(Clock { samples: Samples::default(), runs, repeats, next: 0 });
    }
    let count = takers.len();
    for run in 0..group.runs {
        for turn in 0..count {
            let place = (turn + usize::try_from(run).unwrap_or(0)) % count;
            clocks[place].turn(run, takers[place].as_mut(), &group.queries)?;
        }
    }
    Ok(takers
        .iter()
        .zip(&clocks)
        .filter_map(|(engine, clock)| {
            Some(Timing {
                query: first.to_string(),
                set: group.set.to_owned(),
                engine: engine.name(),
                figures: clock.samples.figures()?,
            })
        })
        .collect())
}

struct Clock {
    samples: Samples,
    runs: u64,
    repeats: usize,
    next: usize,
}

impl Clock {
    fn turn(&mut self, run: u64, engine: &mut dyn Engine, queries: &[Query]) -> Result<()> {
        if run >= self.runs {
            return Ok(());
        }
        for _ in 0..self.repeats {
            let query = queries[self.next % queries.len()];
            self.next += 1;
            self.samples.push(engine.time(query)?);
        }
        Ok(())
    }
}

/// Answers about everybody are held against each other.
fn compare(query: Query, first: (&str, &Answer), second: (&str, &Answer)) -> Result<()> {
    let close = |one: f64, other: f64| (one - other).abs() <= 1e-6 * one.abs().max(1e-9);
    let is_equal = match (first.1, second.1) {
        (
            Answer::Concentration { sum, top, hhi, gini },
            Answer::Concentration { sum: other_sum, top: other_top, hhi: other_hhi, gini: other_gini },
        ) => {
            // An engine that computes in doubles gives no exact sums, and says so by an empty text.
            let same = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
            same(sum, other_sum) && close(*top, *other_top) && close(*hhi, *other_hhi) && close(*gini, *other_gini)
        }
        (Answer::Balances(..), _) => first.1 == second.1,
        (Answer::Features(accounts, sums), Answer::Features(other_accounts, other_sums)) => {
            // Peers compute some of the features, and all add doubles up in orders of their own.
            let agrees = |(name, other): (&String, &f64)| sums.get(name).is_some_and(|sum| close(*sum, *other));
            accounts == other_accounts && other_sums.iter().all(agrees)
        }
        // These were held against the rows.
        (
            Answer::Rows(_)
            | Answer::Groups(_)
            | Answer::Holders(_)
            | Answer::Reached(_)
            | Answer::ReachedEqually(_)
            | Answer::Concentration { .. }
            | Answer::Features(..),
            _,
        ) => true,
    };
    if is_equal {
        return Ok(());
    }
    Err(Error::Wrong {
        engine: second.0.to_owned(),
        query: query.to_string(),
        account: query.account(),
        what: format!("{:?}, and {} answers {:?}", second.1, first.0, first.1),
    })
}
