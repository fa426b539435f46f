//! All numbers that a score depends on.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use headwater_ledger::labels::Code;
use serde::Deserialize;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::behaviour::{Behaviour, DustGuard, OthersLimits, Rules, Severity};

/// The parameters that come with the program.
const DEFAULTS: &str = include_str!("parameters.toml");

/// A fault of a parameter file.
#[derive(Debug, Error)]
pub enum ParameterError {
    /// It is not valid TOML, a key is missing or unknown, or a value has another type.
    #[error("risk parameters: {0}")]
    Unreadable(#[from] toml::de::Error),
    /// A value is out of its range.
    #[error("risk parameters: {key} is {value}, expected {expected}")]
    OutOfRange {
        /// The key, with its section.
        key: String,
        /// The value.
        value: f64,
        /// The valid values.
        expected: &'static str,
    },
    /// A label code has no severity, or a severity belongs to no code.
    #[error("risk parameters: severities.{code}: {why}")]
    Code {
        /// The code.
        code: String,
        /// The fault.
        why: &'static str,
    },
}

/// The parameters of the score; `parameters.toml` says what each of them means.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Names these values; answers show it.
    pub version: String,
    /// The checksum of the text that they were read from: two files may have one version.
    #[serde(skip)]
    pub digest: u64,
    /// The movements that are read.
    pub scan: ScanParameters,
    /// The levels.
    pub levels: Levels,
    /// The score of labels.
    pub intel: IntelParameters,
    /// The score of behaviours.
    pub behaviour: BehaviourParameters,
    /// In which light.
    pub context: ContextParameters,
    /// The score of counterparties.
    pub graph: GraphParameters,
    /// The floors.
    pub gates: GateParameters,
    /// All together.
    pub composite: CompositeParameters,
    severities: BTreeMap<String, f64>,
    /// The rules of the behaviours.
    pub behaviours: Rules,
}

/// The movements that are read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanParameters {
    /// Lowercase symbols of the main stablecoins.
    pub stablecoins: Vec<String>,
    /// Newest movements of an address that are looked through for behaviours.
    pub most_transfers: usize,
    /// The limits of what one rule may read of others.
    pub others: OthersLimits,
}

/// The scores at which levels begin.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// `medium`.
    pub medium: f64,
    /// `high`.
    pub high: f64,
}

/// The score of labels.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntelParameters {
    /// Share of the second family.
    pub second_family: f64,
    /// Share of the third.
    pub third_family: f64,
    /// The share that a benign identity takes away.
    pub benign_discount: f64,
}

/// The score of behaviours.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BehaviourParameters {
    /// Per doubling of the episodes.
    pub repetition_step: f64,
    /// Most that repetition multiplies by.
    pub repetition_most: f64,
    /// Share of the base score at intensity 0.
    pub intensity_floor: f64,
    /// Half-life by severity.
    pub half_life_days: BySeverity,
    /// Least that age leaves.
    pub recency_least: f64,
    /// Weight of the second find of a family.
    pub second_of_family: f64,
    /// Weight of further ones.
    pub further_of_family: f64,
    /// Most that all reach.
    pub cap: f64,
}

/// A number for each severity of behaviours.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BySeverity {
    low: f64,
    medium: f64,
    high: f64,
}

impl BySeverity {
    /// The number of a severity.
    #[must_use]
    pub const fn of(&self, severity: Severity) -> f64 {
        match severity {
            Severity::Low => self.low,
            Severity::Medium => self.medium,
            Severity::High => self.high,
        }
    }
}

/// In which light behaviours are seen.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextParameters {
    /// Least confidence of a label.
    pub least_confidence: f64,
    /// Least probability of a classification.
    pub least_probability: f64,
    /// The confidence of a probability of 1.
    pub classifier_factor: f64,
}

/// The score of counterparties.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphParameters {
    /// Largest counterparties that are looked up.
    pub most_neighbors: usize,
    /// Most recent ones besides.
    pub most_recent: usize,
    /// Least volume of a counterparty, US dollars.
    pub least_usd: f64,
    /// Severity of a risky counterparty.
    pub risky_severity: f64,
    /// Confidence of a risky counterparty.
    pub risky_confidence: f64,
    /// Share at which exposure counts half.
    pub half_share: HalfShare,
    /// Severity from which the first of them holds.
    pub severe_from: f64,
    /// Severity from which the second holds.
    pub high_from: f64,
    /// Unit of the amount.
    pub amount_unit_usd: f64,
    /// Powers of ten from nothing to all.
    pub amount_powers: f64,
    /// The share of the amount.
    pub amount_share: f64,
    /// The limits of dust.
    pub dust: DustGuard,
    /// The weight of dust.
    pub dust_weight: f64,
    /// The factor of payments to a family with victims.
    pub paid_factor: f64,
    /// The number of senders whose forwarded money makes a collector of the address.
    pub collector_senders: usize,
    /// The factor of payments from before a listing, where nothing else is known.
    pub before_listing_factor: f64,
    /// Provisional score from which counterparties are not looked at.
    pub already_high: f64,
}

/// The share of volume at which exposure counts half, by severity of the category.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalfShare {
    severe: f64,
    high: f64,
    other: f64,
}

impl GraphParameters {
    /// The share at which exposure to a category of this severity counts half.
    #[must_use]
    pub fn half_share(&self, severity: f64) -> f64 {
        if severity >= self.severe_from {
            self.half_share.severe
        } else if severity >= self.high_from {
            self.half_share.high
        } else {
            self.half_share.other
        }
    }
}

/// The floors.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateParameters {
    /// Under sanctions itself.
    pub ofac_sanctioned: f64,
    /// Known as illicit itself.
    pub confirmed_illicit: f64,
    /// Deals with somebody under sanctions.
    pub direct_sanctioned_edge: f64,
    /// Confidence of the own sanction.
    pub sanction_confidence: f64,
    /// Confidence from which other codes decide.
    pub decisive_confidence: f64,
    /// Reliability of a claim from which they do.
    pub decisive_reliability: f64,
}

/// All together.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompositeParameters {
    /// The largest share of behaviours.
    pub behaviour: f64,
    /// The largest share of counterparties.
    pub graph: f64,
    /// The share of them for a trusted service.
    pub trusted_service: f64,
}

impl Parameters {
    /// Reads parameters from the text of a file.
    ///
    /// # Errors
    /// When anything is missing, unknown or out of range.
    ///
    /// ```
    /// use headwater_intel::risk::Parameters;
    /// assert!(Parameters::parse("version = \"1\"").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, ParameterError> {
        let parameters = Self { digest: xxh3_64(text.as_bytes()), ..toml::from_str(text)? };
        parameters.check()?;
        check_limits("behaviours", &toml::from_str::<toml::Table>(text)?["behaviours"])?;
        Ok(parameters)
    }

    /// The parameters that come with the program.
    ///
    /// ```
    /// use headwater_intel::risk::Parameters;
    /// use headwater_ledger::labels::Code;
    /// assert_eq!(Parameters::standard().severity(Code::Mixer), 70.0);
    /// ```
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Parameters> =
            LazyLock::new(|| Parameters::parse(DEFAULTS).expect("a test reads the file that comes with the program"));
        &STANDARD
    }

    /// The text of the file that comes with the program, to begin an own one from.
    #[must_use]
    pub const fn standard_text() -> &'static str {
        DEFAULTS
    }

    /// Returns the severity of a label code, 0 to 100; 0 for codes that only say who or what an address is.
    #[must_use]
    pub fn severity(&self, code: Code) -> f64 {
        self.severities.get(code.name()).copied().unwrap_or_default()
    }

    fn check(&self) -> Result<(), ParameterError> {
        for (code, severity) in &self.severities {
            let known = Code::from_name(code);
            if known.is_none_or(|known| !is_graded(known)) {
                let why = if known.is_some() { "this code has no severity" } else { "no such code" };
                return Err(ParameterError::Code { code: code.clone(), why });
            }
            within(format!("severities.{code}"), *severity, 0.0, 100.0, "0 to 100")?;
        }
        for code in Code::ALL.iter().filter(|code| is_graded(**code)) {
            if !self.severities.contains_key(code.name()) {
                return Err(ParameterError::Code { code: code.name().to_owned(), why: "missing" });
            }
        }
        for behaviour in Behaviour::ALL.iter().copied().chain([Behaviour::ScamPattern]) {
            let name = behaviour.code();
            within(format!("behaviours.{name}.base"), self.behaviours.terms(behaviour).1, 0.0, 100.0, "0 to 100")?;
            for weight in self.behaviours.weights(behaviour) {
                within(format!("behaviours.{name}.weights"), *weight, 0.0, 10.0, "0 to 10")?;
            }
        }
        for (key, value) in self.shares() {
            within(key.to_owned(), value, 0.0, 1.0, "0 to 1")?;
        }
        for (key, value) in self.scores() {
            within(key.to_owned(), value, 0.0, 100.0, "0 to 100")?;
        }
        for (key, value) in self.positive() {
            within(key.to_owned(), value, f64::MIN_POSITIVE, f64::MAX, "more than 0")?;
        }
        within("levels.high".to_owned(), self.levels.high, self.levels.medium, 100.0, "at least levels.medium")
    }

    fn shares(&self) -> [(&'static str, f64); 27] {
        let Self { intel, behaviour, context, graph, gates, composite, behaviours, .. } = self;
        [
            ("intel.second_family", intel.second_family),
            ("intel.third_family", intel.third_family),
            ("intel.second_family + intel.third_family", intel.second_family + intel.third_family),
            ("intel.benign_discount", intel.benign_discount),
            ("behaviour.repetition_step", behaviour.repetition_step),
            ("behaviour.intensity_floor", behaviour.intensity_floor),
            ("behaviour.recency_least", behaviour.recency_least),
            ("behaviour.second_of_family", behaviour.second_of_family),
            ("behaviour.further_of_family", behaviour.further_of_family),
            ("context.least_confidence", context.least_confidence),
            ("context.least_probability", context.least_probability),
            ("context.classifier_factor", context.classifier_factor),
            ("graph.risky_confidence", graph.risky_confidence),
            ("graph.half_share.severe", graph.half_share.severe),
            ("graph.half_share.high", graph.half_share.high),
            ("graph.half_share.other", graph.half_share.other),
            ("graph.amount_share", graph.amount_share),
            ("graph.dust_weight", graph.dust_weight),
            ("graph.paid_factor", graph.paid_factor),
            ("graph.before_listing_factor", graph.before_listing_factor),
            ("behaviours.scam_pattern.limits.least_likeness", behaviours.scam_pattern.limits.least_likeness),
            ("gates.sanction_confidence", gates.sanction_confidence),
            ("gates.decisive_confidence", gates.decisive_confidence),
            ("gates.decisive_reliability", gates.decisive_reliability),
            ("composite.behaviour", composite.behaviour),
            ("composite.graph", composite.graph),
            ("composite.trusted_service", composite.trusted_service),
        ]
    }

    fn scores(&self) -> [(&'static str, f64); 9] {
        let Self { levels, behaviour, graph, gates, .. } = self;
        [
            ("levels.medium", levels.medium),
            ("behaviour.cap", behaviour.cap),
            ("graph.risky_severity", graph.risky_severity),
            ("graph.severe_from", graph.severe_from),
            ("graph.high_from", graph.high_from),
            ("graph.already_high", graph.already_high),
            ("gates.ofac_sanctioned", gates.ofac_sanctioned),
            ("gates.confirmed_illicit", gates.confirmed_illicit),
            ("gates.direct_sanctioned_edge", gates.direct_sanctioned_edge),
        ]
    }

    fn positive(&self) -> [(&'static str, f64); 10] {
        let Self { behaviour, graph, behaviours, .. } = self;
        [
            ("behaviour.repetition_most", behaviour.repetition_most),
            ("behaviours.scam_pattern.limits.odds", behaviours.scam_pattern.limits.odds.unwrap_or(1.0)),
            ("behaviour.half_life_days.low", behaviour.half_life_days.low),
            ("behaviour.half_life_days.medium", behaviour.half_life_days.medium),
            ("behaviour.half_life_days.high", behaviour.half_life_days.high),
            ("graph.least_usd", graph.least_usd),
            ("graph.half_share.severe", graph.half_share.severe),
            ("graph.half_share.high", graph.half_share.high),
            ("graph.half_share.other", graph.half_share.other),
            ("graph.amount_unit_usd", graph.amount_unit_usd.min(graph.amount_powers)),
        ]
    }
}

/// Returns true if a code has a severity: those that name an identity or an activity have none.
fn is_graded(code: Code) -> bool {
    use headwater_ledger::labels::Category;
    !matches!(code.category(), Category::Identity | Category::Activity)
}

/// The limits of behaviours are numbers from 0 on, and full values lie above their thresholds.
fn check_limits(key: &str, value: &toml::Value) -> Result<(), ParameterError> {
    match value {
        toml::Value::Table(table) => table.iter().try_for_each(|(name, value)| {
            if let (Some(of), Some(full)) = (name.strip_prefix("full_"), number(value))
                && let Some(least) = table.get(&format!("least_{of}")).and_then(number)
            {
                let above = least + f64::MIN_POSITIVE.max(least.abs() * f64::EPSILON);
                within(format!("{key}.{name}"), full, above, f64::MAX, "more than the least value of the same name")?;
            }
            check_limits(&format!("{key}.{name}"), value)
        }),
        toml::Value::Array(items) => items.iter().try_for_each(|item| check_limits(key, item)),
        other => {
            number(other).map_or(Ok(()), |value| within(key.to_owned(), value, 0.0, f64::MAX, "a number from 0 on"))
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
fn number(value: &toml::Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|integer| integer as f64))
}

fn within(key: String, value: f64, least: f64, most: f64, expected: &'static str) -> Result<(), ParameterError> {
    if (least..=most).contains(&value) { Ok(()) } else { Err(ParameterError::OutOfRange { key, value, expected }) }
}
