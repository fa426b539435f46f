//! The score of the behaviours of an address.

use super::context::ContextChoice;
use super::parameters::Parameters;
use super::{MAX_PROBABILITY, split};
use crate::behaviour::{Behaviour, Detection, Family, Severity};

const DAY_SECS: f64 = 86_400.0;

/// The score of behaviours.
#[derive(Debug, Clone, PartialEq)]
pub struct BehaviourScore {
    /// Before context.
    pub raw: f64,
    /// After context.
    pub score: f64,
    /// The parts of the score, in the order of the catalogue: the finds, and a likeness to scams that is too low for one.
    pub hits: Vec<BehaviourHit>,
}

impl BehaviourScore {
    /// The finds, in the order of the catalogue.
    pub fn found(&self) -> impl Iterator<Item = &BehaviourHit> {
        self.hits.iter().filter(|hit| hit.is_found)
    }
}

/// One find with its score.
#[derive(Debug, Clone, PartialEq)]
pub struct BehaviourHit {
    /// The behaviour.
    pub behaviour: Behaviour,
    /// How grave it is.
    pub severity: Severity,
    /// Its base score.
    pub base: f64,
    /// The find.
    pub detection: Detection,
    /// The factor of age, 0.1 to 1.
    pub recency: f64,
    /// Before context.
    pub score: f64,
    /// The factor of the context; `None` without one.
    pub weight: Option<f64>,
    /// After context; the same as before without one.
    pub after_context: f64,
    /// Points of the whole score that it stands for.
    pub contribution: f64,
    /// True if it is a find; false for a likeness to scams below the limit.
    pub is_found: bool,
}

impl BehaviourScore {
    /// Scores finds. `head` is the end of the data, to which they age.
    ///
    /// Each find: `base · (0.6 + 0.4 · I) · O · D`, with the repetition `O = min(1.25, 1 + 0.1 · log2 n)` and the age
    /// `D = max(0.1, 2^(-days / half-life))`. All together: `min(95, 100 · (1 - Π (1 - e / 100)))`, where the second find
    /// of a family counts half and further ones a quarter. `scam_pattern` counts `base · I`: a likeness neither ages nor repeats.
    #[must_use]
    pub fn of(
        parameters: &Parameters,
        found: Vec<(Behaviour, Detection)>,
        context: Option<&ContextChoice>,
        head: i64,
    ) -> Self {
        let rules = &parameters.behaviours;
        let mut hits: Vec<_> = found
            .into_iter()
            .map(|(behaviour, detection)| {
                let (severity, base) = rules.terms(behaviour);
                let is_likeness = behaviour == Behaviour::ScamPattern;
                let is_found = !is_likeness || detection.intensity >= rules.scam_pattern.limits.least_likeness;
                let (recency, score) = if is_likeness {
                    (1.0, (base * detection.intensity).min(100.0))
                } else {
                    let recency = recency(parameters, severity, head.saturating_sub(detection.last));
                    (recency, score(parameters, base, &detection, recency))
                };
                let weight = context.map(|context| context.weight(rules.weights(behaviour)));
                let after_context = (score * weight.unwrap_or(1.0)).clamp(0.0, 100.0);
                let contribution = 0.0;
                BehaviourHit {
                    behaviour,
                    severity,
                    base,
                    detection,
                    recency,
                    score,
                    weight,
                    after_context,
                    contribution,
                    is_found,
                }
            })
            .collect();
        let cap = parameters.behaviour.cap;
        let raw = together(&damped(parameters, &hits, |hit| hit.score)).min(cap);
        let effective = damped(parameters, &hits, |hit| hit.after_context);
        let score = together(&effective).min(cap);
        let parts: Vec<f64> = effective.iter().map(|e| e / 100.0).collect();
        for (hit, contribution) in hits.iter_mut().zip(split(score, &parts)) {
            hit.contribution = contribution;
        }
        Self { raw, score, hits }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a few thousand years are exact")]
fn recency(parameters: &Parameters, severity: Severity, age_secs: i64) -> f64 {
    let days = age_secs.max(0) as f64 / DAY_SECS;
    let half_life = parameters.behaviour.half_life_days.of(severity);
    (-days / half_life).exp2().max(parameters.behaviour.recency_least)
}

#[expect(clippy::cast_precision_loss, reason = "counts of episodes are far below 2^53")]
fn score(parameters: &Parameters, base: f64, detection: &Detection, recency: f64) -> f64 {
    let of = &parameters.behaviour;
    let repetition = (1.0 + of.repetition_step * (detection.occurrences.max(1) as f64).log2()).min(of.repetition_most);
    let intensity = of.intensity_floor + (1.0 - of.intensity_floor) * detection.intensity;
    (base * intensity * repetition * recency).min(100.0)
}

/// Returns the score that each hit counts within its family, in the order of the hits.
fn damped(parameters: &Parameters, hits: &[BehaviourHit], score: impl Fn(&BehaviourHit) -> f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..hits.len()).collect();
    order.sort_by(|one, other| score(&hits[*other]).total_cmp(&score(&hits[*one])).then(one.cmp(other)));
    let mut effective = vec![0.0; hits.len()];
    let mut seen: Vec<Family> = Vec::new();
    for place in order {
        let family = hits[place].behaviour.family();
        let factor = match seen.iter().filter(|other| **other == family).count() {
            0 => 1.0,
            1 => parameters.behaviour.second_of_family,
            _ => parameters.behaviour.further_of_family,
        };
        seen.push(family);
        effective[place] = factor * score(&hits[place]);
    }
    effective
}

fn together(effective: &[f64]) -> f64 {
    100.0 * (1.0 - effective.iter().map(|e| 1.0 - (e / 100.0).min(MAX_PROBABILITY)).product::<f64>())
}
