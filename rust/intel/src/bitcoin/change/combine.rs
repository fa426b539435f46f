//! All rules together: which output is the change, and how sure that is.

use std::collections::BTreeMap;

use super::candidates::Abstention;
use super::case::Case;
use super::rule::{Evidence, Group, Rule};
use crate::bitcoin::coinjoin::CoinJoin;

/// Rules are not independent of each other: their sum counts for this part of itself.
const DEPENDENCE: f64 = 0.6;
/// Least confidence of an answer.
const LEAST_CONFIDENCE: f64 = 0.80;
/// How far the answer is ahead of every other output at least.
const LEAST_MARGIN: f64 = 0.30;
/// A transaction with more outputs pays many people at once.
const MOST_OUTPUTS: usize = 10;

/// What the rules say of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The output that went back to whoever paid, or why none is named.
    pub change: Result<Change, NoChange>,
    /// The probability of each output to be the change, by its place; 0 where the transaction is not judged.
    pub confidences: Vec<f64>,
    /// The rules that vote, in their order.
    pub votes: Vec<Vote>,
    /// The rules that say nothing, and why.
    pub abstentions: Vec<(&'static Rule, Abstention)>,
}

/// The output that went back to whoever paid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Its place.
    pub output: usize,
    /// How probable it is, 0.8 to 1.
    pub confidence: f64,
}

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// From 0.90 on.
    Medium,
    /// From 0.99 on. A sign alone never gets there, unless it is decisive.
    High,
}

/// Why no output is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NoChange {
    /// It mints coins: nobody paid.
    Coinbase,
    /// Fewer than two outputs can be spent.
    SingleOutput,
    /// Several people paid together.
    CoinJoin,
    /// Every output went back to whoever paid.
    AllOutputsToInputs,
    /// It pays too many people at once for rules that were made for two outputs.
    Batch,
    /// The rules do not agree enough, or do not say enough.
    NoConsensus,
}

/// A rule and the outputs that it votes for: one, or of a decisive rule any number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    /// The rule.
    pub rule: &'static Rule,
    /// Places of outputs.
    pub outputs: Vec<usize>,
}

impl Change {
    /// How sure it is; `None` below medium.
    #[must_use]
    pub fn level(&self) -> Option<Level> {
        match self.confidence {
            confidence if confidence >= 0.99 => Some(Level::High),
            confidence if confidence >= 0.90 => Some(Level::Medium),
            _ => None,
        }
    }
}

impl Level {
    /// The name in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Judges a transaction by some rules, mostly [`RULES`](super::RULES). Their order does not matter.
///
/// With `m` outputs that may be change, the log-odds of output `k` are
///
/// ```text
/// L(k) = ln(1 / (m - 1)) + 0.6 · Σ over groups (best vote for k - best vote for another output / (m - 1))
/// ```
///
/// and its confidence is `1 / (1 + exp(-L))`. Decisive rules stand alone: the outputs that they name have `L` = 7 (address
/// reuse) or 9 (common inputs), the others the negative of the largest, divided by `m - 1`. The best output is named where its
/// confidence is at least 0.80 and 0.30 above every other one.
///
/// The confidence is that of the published weights, which are measured on transactions whose change was revealed later. It does
/// not say that two people took part: a payment to oneself at a new address looks like any payment.
#[must_use]
pub fn judge(case: &Case<'_>, rules: impl IntoIterator<Item = &'static Rule>) -> Judgement {
    let owned: Vec<usize> = case.transaction.owned().map(|(place, _)| place).collect();
    let mut judgement = Judgement {
        change: Err(NoChange::NoConsensus),
        confidences: vec![0.0; case.transaction.outputs().len()],
        votes: Vec::new(),
        abstentions: Vec::new(),
    };
    if let Some(reason) = not_judged(case, owned.len()) {
        judgement.change = Err(reason);
        return judgement;
    }
    judgement.ask(case, rules);
    let decided = judgement.decided();
    if decided.is_empty() && owned.len() > MOST_OUTPUTS {
        judgement.change = Err(NoChange::Batch);
        judgement.votes.clear();
        return judgement;
    }
    for &place in &owned {
        let odds = if decided.is_empty() {
            judgement.log_odds(place, owned.len())
        } else {
            decisive_log_odds(&decided, place, owned.len())
        };
        judgement.confidences[place] = 1.0 / (1.0 + (-odds).exp());
    }
    judgement.change = if owned.iter().all(|place| decided.contains_key(place)) {
        Err(NoChange::AllOutputsToInputs)
    } else {
        judgement.best(&owned)
    };
    judgement
}

/// Why the rules are not asked at all.
fn not_judged(case: &Case<'_>, owned: usize) -> Option<NoChange> {
    if case.transaction.facts().coinbase {
        Some(NoChange::Coinbase)
    } else if owned < 2 {
        Some(NoChange::SingleOutput)
    } else {
        case.coinjoin.filter(CoinJoin::is_detected).map(|_| NoChange::CoinJoin)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a transaction has some thousands of outputs at most")]
fn others_of(outputs: usize) -> f64 {
    (outputs - 1) as f64
}

fn decisive_log_odds(decided: &BTreeMap<usize, f64>, place: usize, outputs: usize) -> f64 {
    let strongest = decided.values().copied().fold(0.0, f64::max);
    decided.get(&place).copied().unwrap_or(-strongest / others_of(outputs))
}

impl Judgement {
    fn ask(&mut self, case: &Case<'_>, rules: impl IntoIterator<Item = &'static Rule>) {
        for rule in rules {
            match rule.candidates(case) {
                Ok(candidates) if rule.is_decisive() && !candidates.is_empty() => {
                    self.votes.push(Vote { rule, outputs: candidates.iter().collect() });
                }
                Ok(candidates) => {
                    let vote = candidates.single().map(|output| Vote { rule, outputs: vec![output] });
                    self.votes.extend(vote);
                }
                Err(abstention) => self.abstentions.push((rule, abstention)),
            }
        }
    }

    /// The outputs that decisive rules name, with the log-odds of the strongest.
    fn decided(&self) -> BTreeMap<usize, f64> {
        let mut decided: BTreeMap<usize, f64> = BTreeMap::new();
        for vote in self.votes.iter().filter(|vote| vote.rule.is_decisive()) {
            for output in &vote.outputs {
                let strongest = decided.entry(*output).or_default();
                *strongest = strongest.max(vote.rule.weight());
            }
        }
        decided
    }

    fn log_odds(&self, place: usize, outputs: usize) -> f64 {
        let (own, others) =
            (self.best_of_groups(|output| output == place), self.best_of_groups(|output| output != place));
        -others_of(outputs).ln() + DEPENDENCE * (own - others / others_of(outputs))
    }

    /// The sum over groups of what the vote that counts among those for some outputs counts for.
    fn best_of_groups(&self, is_for: impl Fn(usize) -> bool) -> f64 {
        let mut best: BTreeMap<Group, (u8, f64)> = BTreeMap::new();
        for Vote { rule, outputs } in &self.votes {
            let Evidence::Sign(group, rank) = rule.evidence() else { continue };
            if outputs.iter().any(|output| is_for(*output)) {
                let vote = (rank, rule.weight());
                let kept = best.entry(group).or_insert(vote);
                if vote > *kept {
                    *kept = vote;
                }
            }
        }
        best.values().map(|(_, weight)| weight).sum()
    }

    fn best(&self, owned: &[usize]) -> Result<Change, NoChange> {
        let mut ranked: Vec<(f64, usize)> = owned.iter().map(|&place| (self.confidences[place], place)).collect();
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        match ranked[..] {
            [(confidence, output), (second, _), ..]
                if confidence >= LEAST_CONFIDENCE && confidence - second >= LEAST_MARGIN =>
            {
                Ok(Change { output, confidence })
            }
            _ => Err(NoChange::NoConsensus),
        }
    }
}
