//! The behaviours of an address in its context, which labels or its class give: the score of the dimension.

use headwater_ledger::labels::{Category, Code};
use headwater_metrics::features::Base;

use super::parameters::Parameters;
use super::{MAX_PROBABILITY, split};
use crate::behaviour::{Behaviour, Detection, Evidence, Fact, Family, Severity};
use crate::classify::{Classifier, Verdict};
use crate::label::Aggregate;

/// The business of an address. Money in and out within the hour is the business of an exchange, and grave of a mixer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// An exchange.
    Exchange,
    /// An address at which an exchange takes deposits.
    Deposit,
    /// A decentralised exchange.
    Dex,
    /// Another protocol.
    Defi,
    /// A bridge.
    Bridge,
    /// Payments, shops, gambling.
    Payment,
    /// A mining pool.
    MiningPool,
    /// A bot.
    MevBot,
    /// A mixer.
    Mixer,
    /// Somebody illicit.
    Illicit,
}

impl Context {
    /// The columns of the weights of a behaviour, by their names in the parameter file.
    pub const COLUMNS: [&'static str; 8] =
        ["exchange", "deposit", "protocol", "payment", "mining_pool", "mev_bot", "mixer", "illicit"];

    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Deposit => "deposit",
            Self::Dex => "dex",
            Self::Defi => "defi",
            Self::Bridge => "bridge",
            Self::Payment => "payment",
            Self::MiningPool => "mining_pool",
            Self::MevBot => "mev_bot",
            Self::Mixer => "mixer",
            Self::Illicit => "illicit",
        }
    }

    /// Its place in [`Context::COLUMNS`].
    #[must_use]
    pub const fn column(self) -> usize {
        match self {
            Self::Exchange => 0,
            Self::Deposit => 1,
            Self::Dex | Self::Defi | Self::Bridge => 2,
            Self::Payment => 3,
            Self::MiningPool => 4,
            Self::MevBot => 5,
            Self::Mixer => 6,
            Self::Illicit => 7,
        }
    }

    fn of(code: Code) -> Option<Self> {
        Some(match code {
            Code::Exchange | Code::ExchangeHotWallet | Code::NoKycExchange | Code::HighRiskExchange => Self::Exchange,
            Code::Deposit => Self::Deposit,
            Code::Dex => Self::Dex,
            Code::Defi => Self::Defi,
            Code::Bridge => Self::Bridge,
            Code::Payment | Code::Merchant | Code::Gambling => Self::Payment,
            Code::MiningPool => Self::MiningPool,
            Code::MevBot => Self::MevBot,
            Code::Mixer | Code::CoinjoinCoordinator => Self::Mixer,
            _ => match code.category() {
                Category::Sanctions
                | Category::Terrorism
                | Category::Theft
                | Category::Ransomware
                | Category::Darknet
                | Category::Scam => Self::Illicit,
                _ => return None,
            },
        })
    }
}

/// The context that was chosen, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContextChoice {
    /// The business of the address.
    pub context: Context,
    /// κ, 0 to 1.
    pub confidence: f64,
}

impl ContextChoice {
    /// The context of the labels: the identity with the largest confidence; of equal ones the one that accuses least.
    #[must_use]
    pub fn of_labels(parameters: &Parameters, aggregate: &Aggregate<'_>) -> Option<Self> {
        let named = aggregate.codes.iter().filter_map(|code| Some((Context::of(code.code)?, code.confidence)));
        let (context, confidence) =
            named.max_by(|one, other| one.1.total_cmp(&other.1).then_with(|| other.0.cmp(&one.0)))?;
        (confidence >= parameters.context.least_confidence).then_some(Self { context, confidence })
    }

    /// The context of a classification by behaviour, of a calibrated probability.
    #[must_use]
    pub fn of_class(parameters: &Parameters, context: Context, probability: f64) -> Option<Self> {
        let confidence = parameters.context.classifier_factor * probability;
        (probability >= parameters.context.least_probability).then_some(Self { context, confidence })
    }

    /// The weight of a behaviour: `1 + κ · (w - 1)`.
    #[must_use]
    pub fn weight(&self, weights: &[f64; 8]) -> f64 {
        1.0 + self.confidence * (weights[self.context.column()] - 1.0)
    }
}

/// The class of addresses that victims of frauds pay.
const SCAM: &str = "Scam";

/// The part of the class of an address in its risk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassView {
    /// The context of the class; it counts where labels give none.
    pub context: Option<ContextChoice>,
    /// The likeness to scams; `None` without a model that knows enough of them. Of few transfers the probability is
    /// near the prior one.
    pub scam: Option<ScamLikeness>,
}

/// The likeness of an address to scams.
#[derive(Debug, Clone, PartialEq)]
pub struct ScamLikeness {
    /// `q = P / (P + r · (1 - P))`: the probability of [`ScamLikeness::probability`] among addresses of which fewer are scams.
    pub likeness: f64,
    /// P: the calibrated probability of the class.
    pub probability: f64,
    /// r: by how much the odds are divided.
    pub odds: f64,
    /// The model and what moved it most.
    pub evidence: Evidence,
}

impl ClassView {
    /// Returns the part of a verdict on the address with these aggregates. The evidence names so many features.
    #[must_use]
    pub fn of(
        parameters: &Parameters,
        classifier: &Classifier,
        (verdict, base): (&Verdict, &Base),
        named_features: usize,
    ) -> Self {
        let context = context_of(&verdict.class);
        let context = context.and_then(|context| ContextChoice::of_class(parameters, context, verdict.confidence));
        Self { context, scam: ScamLikeness::of(parameters, classifier, (verdict, base), named_features) }
    }
}

impl ScamLikeness {
    fn of(
        parameters: &Parameters,
        classifier: &Classifier,
        (verdict, base): (&Verdict, &Base),
        named_features: usize,
    ) -> Option<Self> {
        let limits = &parameters.behaviours.scam_pattern.limits;
        let model = classifier.model();
        let class = model.classes().iter().position(|name| name == SCAM)?;
        let (scams, all) = (model.real_examples(Some(SCAM)), model.real_examples(None));
        let knows_scams = classifier.is_own() || scams >= limits.least_examples;
        if !knows_scams {
            return None;
        }
        let probability = verdict.probabilities[class].clamp(0.0, 1.0);
        let odds = limits.odds.unwrap_or(model.least_odds()[class]);
        let likeness = divided_odds(probability, odds);
        let mut evidence = Evidence::default()
            .with("probability", Fact::Ratio(probability))
            .with("likeness", Fact::Ratio(likeness))
            .with("odds", Fact::Ratio(odds))
            .with("model", Fact::Text(format!("{} ({})", model.version(), model.digest())));
        if let Some(share) = ratio(scams, all) {
            evidence = evidence.with("assumed_share", Fact::Ratio(divided_odds(share, odds)));
        }
        if named_features > 0 && likeness >= limits.least_likeness {
            let named = classifier.explain(base, SCAM, named_features).unwrap_or_default();
            let features = named.into_iter().map(|of| (of.feature, of.value, of.contribution)).collect();
            evidence = evidence.with("features", Fact::Features(features));
        }
        Some(Self { likeness, probability, odds, evidence })
    }
}

/// A probability after its odds are divided by `odds`: `p / (p + odds · (1 - p))`.
fn divided_odds(probability: f64, odds: f64) -> f64 {
    probability / (probability + odds * (1.0 - probability))
}

#[expect(clippy::cast_precision_loss, reason = "counts of training examples are far below 2^53")]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    (part > 0 && whole > part).then(|| part as f64 / whole as f64)
}

/// Returns the context in which behaviours of an address of a class are scored; `None` for classes that give none. `Scam`
/// gives none: a prediction accuses nobody.
///
/// ```
/// use headwater_intel::risk::{Context, context_of};
/// assert_eq!(context_of("Exchange"), Some(Context::Exchange));
/// assert_eq!(context_of("Scam"), None);
/// ```
#[must_use]
pub fn context_of(class: &str) -> Option<Context> {
    Some(match class {
        "Exchange" => Context::Exchange,
        "Deposit" => Context::Deposit,
        "Defi" => Context::Defi,
        "MiningPool" => Context::MiningPool,
        "Mixer" => Context::Mixer,
        _ => return None,
    })
}

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
    /// Its severity.
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
