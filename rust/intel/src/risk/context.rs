//! The context of an address, by its labels or its class: it changes what behaviours mean.

use headwater_ledger::labels::{Category, Code};
use headwater_metrics::features::Base;

use super::parameters::Parameters;
use crate::behaviour::{Evidence, Fact};
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
    /// How much it behaves like scams; `None` without a model that knows enough of them. Of few transfers the probability is
    /// near the prior one.
    pub scam: Option<ScamLikeness>,
}

/// How much an address behaves like scams.
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
