//! The form of an assessment of risk in answers: the report, its labels, its factors.

/// Turns an enum of judgements into the one of answers.
macro_rules! words {
    ($($of:ident => $name:ident { $($variant:ident)* })+) => {$(
        impl From<$of> for $name {
            fn from(of: $of) -> Self {
                match of { $($of::$variant => Self::$variant,)* }
            }
        }
    )+};
}

mod dimensions;
mod evidence;

use headwater_intel::label::Aggregate;
use headwater_intel::risk::{
    self, Assessment, Assessor, CodeShare, Context, Dimension, Effect, Expansion, Factor, GateReason, IntelScore,
    Judgement, Level, ProviderPolicy, ProviderUse, RiskScope, SufficiencyLevel, SufficiencyReason, judged_chain,
    significant,
};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::Address;
use serde::Serialize;

pub use dimensions::{
    BehaviorDimension, BehaviorRecord, BreakdownItem, CategoryRecord, DataWindow, DepthReached, ExposureDirection,
    GraphDimension, GraphEdge, NeighborDirection, RiskyNeighbor, ScoreBreakdown, SeverityName,
};
pub use evidence::{EvidenceRecord, MeasuredFeature, MeasuredValue};

use crate::Error;
use crate::core_prices_end::CorePricesEnd;
use crate::fields::{AddressText, CodeText, Time, values};
use crate::labels::{ClaimDispute, InheritedThrough, LabelListRecord, codes};
use crate::request::{ThirdParty, Warnings};

values! {
    /// How risky: `low` below 30, `medium` below 70, else `high`.
    LevelName { Low = "low", Medium = "medium", High = "high" }
    /// Why a floor holds.
    GateName {
        OfacSanctioned = "ofac_sanctioned", ConfirmedIllicit = "confirmed_illicit", DirectSanctionedEdge = "direct_sanctioned_edge",
    }
    /// Who the address was taken for.
    ContextName {
        Exchange = "exchange", Deposit = "deposit", Dex = "dex", Defi = "defi", Bridge = "bridge", Payment = "payment",
        MiningPool = "mining_pool", MevBot = "mev_bot", Mixer = "mixer", Illicit = "illicit",
    }
    /// How deep the analysis went: labels alone, behaviours too, counterparties too.
    AnalysisDepth { IntelOnly = "intel_only", Point = "point", Edge = "edge" }
    /// Why counterparties were looked at (`undecided`), or were not.
    GraphReason {
        Undecided = "undecided", IntelGate = "intel_gate", IntelDecisive = "intel_decisive", AlreadyHigh = "already_high",
        NoActivity = "no_activity", UnsupportedChain = "unsupported_chain", DataUnavailable = "data_unavailable",
        BudgetExhausted = "budget_exhausted",
    }
    /// How much there is to judge by.
    AssessmentName { Full = "full", Partial = "partial", Insufficient = "insufficient" }
    /// What is missing.
    AssessmentReasonName {
        BehaviorUnavailable = "behavior_unavailable", FewTransfers = "few_transfers", RulesDeferred = "rules_deferred",
        GraphUnavailable = "graph_unavailable", HistoryIncomplete = "history_incomplete",
    }
    /// A dimension of the score.
    DimensionName { Intel = "intel", Behavior = "behavior", Graph = "graph" }
    /// What context did to a factor.
    EffectName { Amplify = "amplify", Suppress = "suppress", AsIs = "as_is" }
}

type Depth = risk::AnalysisDepth;

words! {
    SufficiencyLevel => AssessmentName { Full Partial Insufficient }
    SufficiencyReason => AssessmentReasonName {
        BehaviorUnavailable FewTransfers RulesDeferred GraphUnavailable HistoryIncomplete
    }
    Level => LevelName { Low Medium High }
    GateReason => GateName { OfacSanctioned ConfirmedIllicit DirectSanctionedEdge }
    Context => ContextName { Exchange Deposit Dex Defi Bridge Payment MiningPool MevBot Mixer Illicit }
    Depth => AnalysisDepth { IntelOnly Point Edge }
    Expansion => GraphReason {
        Undecided IntelGate IntelDecisive AlreadyHigh NoActivity UnsupportedChain DataUnavailable BudgetExhausted
    }
    Dimension => DimensionName { Intel Behavior Graph }
    Effect => EffectName { Amplify Suppress AsIs }
}

/// How risky an address is, and why.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RiskReport {
    /// Chain, or `evm`.
    pub blockchain: CodeText,
    /// The address, canonical.
    pub address: AddressText,
    /// 0 to 100, two decimals. It orders addresses by the evidence that is held; it is no probability and no proof.
    #[schema(minimum = 0, maximum = 100)]
    pub composite_score: f64,
    /// `low`, `medium` or `high`.
    pub risk_level: LevelName,
    /// What the score rests on.
    pub dimensions: RiskDimensions,
    /// Floors and context.
    pub decision: RiskDecision,
    /// What the score is made of, most points first; the points add up to it.
    pub factors: Vec<FactorRecord>,
    /// How it was made.
    pub meta: RiskMeta,
}

/// What a score rests on.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RiskDimensions {
    /// Who the address is.
    pub intel: IntelDimension,
    /// What it did; null where that cannot be told: on chains but ethereum and tron, and where the chain is not held.
    pub behavior: Option<BehaviorDimension>,
    /// Whom it deals with.
    pub graph: GraphDimension,
}

/// Floors and context.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RiskDecision {
    /// Whether a floor holds: then the score is at least that, whatever else is known.
    pub gated: bool,
    /// Confidence of the context, 0 to 1; 0 without one.
    #[schema(minimum = 0, maximum = 1)]
    pub context_confidence: f64,
    /// Who the address was taken for; null where that is not known.
    pub context: Option<ContextName>,
    /// Why the floor holds; null without one. `ofac_sanctioned` stands for the lists of all authorities.
    pub gate_reason: Option<GateName>,
    /// The score before floors, 0 to 100.
    pub base_score: f64,
}

/// How a score was made.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RiskMeta {
    /// How much there is to judge by; read it before the score. `insufficient` means that a low score says nothing.
    pub assessment: AssessmentName,
    /// What is missing; empty for `full`.
    pub assessment_reasons: Vec<AssessmentReasonName>,
    /// How deep the analysis went.
    pub analysis_depth: AnalysisDepth,
    /// Whether behaviours are part of the score.
    pub behavior_available: bool,
    /// Whether counterparties are part of the score.
    pub graph_available: bool,
    /// The same as `dimensions.graph.reason`.
    pub graph_reason: GraphReason,
    /// When the score was computed, epoch seconds.
    pub computed_at: Time,
    /// Version of the parameters.
    pub model_version: String,
    /// Names the imports of labels in force: equal texts are equal labels.
    pub labels_version: String,
    /// The lists whose claims the score rests on: those about the address, and about the risky counterparties that
    /// `dimensions.graph` names. In order of source and list.
    pub sources: Vec<LabelListRecord>,
    /// Last block of the data; null where the chain is not held.
    pub as_of_block: Option<u64>,
    /// Whether a provider was asked for further claims.
    pub third_party_used: bool,
}

/// Who an address is.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct IntelDimension {
    /// 0 to 100.
    #[schema(minimum = 0, maximum = 100)]
    pub score: f64,
    /// Confidence of the code that decides, 0 to 1; 0 without labels.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The entity, or the code that decides; null without labels.
    pub label: Option<String>,
    /// The same as `label`.
    pub entity: Option<String>,
    /// Codes of the labels, most confident first.
    pub labels: Vec<CodeText>,
    /// What each code adds.
    pub codes: Vec<CodeRecord>,
}

/// One label code.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CodeRecord {
    /// The code.
    pub code: CodeText,
    /// Its family; each family counts once.
    pub family: CodeText,
    /// Its severity, 0 to 100.
    pub severity: f64,
    /// Its confidence, 0 to 1.
    pub confidence: f64,
    /// Reliability of the most reliable claim of it, 0 to 1: from 0.5 on a code may open a gate, or an identity be trusted.
    pub reliability: f64,
    /// Points of the intel score that it stands for.
    pub contribution: f64,
    /// The dispute of a claim of the code, the most confident one first; null where none is disputed.
    pub disputed: Option<ClaimDispute>,
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct FactorRecord {
    /// Its dimension.
    pub dimension: DimensionName,
    /// The gate, label code, behaviour or category of risk.
    pub code: CodeText,
    /// What context did to it.
    pub effect: EffectName,
    /// With its numbers, in a few words.
    pub detail: Option<String>,
    /// Weight of a behaviour in its context, confidence of a label, share of a category; null for gates.
    pub weight: Option<f64>,
    /// Points of the score that it stands for.
    pub points: f64,
    /// Of a label code: what links the address to those of its cluster whose claims it inherits; empty where all claims name the
    /// address itself.
    pub inherited_through: Vec<InheritedThrough>,
    /// The dispute of a claim that the factor rests on, of the address itself or of a counterparty; null where none is
    /// disputed.
    pub disputed: Option<ClaimDispute>,
}

impl From<ThirdParty> for ProviderPolicy {
    fn from(choice: ThirdParty) -> Self {
        match choice {
            ThirdParty::Auto => Self::IfDecisive,
            ThirdParty::Force => Self::Always,
            ThirdParty::Off => Self::Never,
        }
    }
}

/// Assesses an address and returns the report.
pub(crate) fn report(scope: RiskScope<'_>, address: &Address, warnings: &mut Warnings) -> Result<RiskReport, Error> {
    let mut assessor = Assessor::new(scope);
    let assessment = assessor.assess(address)?;
    warn(&assessment, warnings);
    let mut end = CorePricesEnd::new(scope.ledger);
    if let Some(chain) = judged_chain(scope.chains) {
        end.note_account(chain, address)?;
    }
    end.warn(warnings);
    Ok(RiskReport::new(scope.ledger, &assessment)?)
}

/// Warns of a provider that could not be asked, and of sanctioned counterparties whose lists give no date.
fn warn(of: &Assessment<'_>, warnings: &mut Warnings) {
    match &of.provider {
        ProviderUse::Unused | ProviderUse::Used => {}
        ProviderUse::Unconfigured => {
            let message = "no provider of further claims is configured: the score rests on the labels of this store";
            warnings.add("no_provider", Some("third_party"), message);
        }
        ProviderUse::Failed { provider, reason } => {
            let message = format!("{provider} could not be asked: {reason}");
            warnings.add("provider_failed", Some("third_party"), message);
        }
    }
    if let Some(graph) = of.judgement.graph.as_ref().filter(|graph| !graph.undated_lists.is_empty()) {
        let message = format!(
            "{} gives no date of a listing: payments from before it count in full, like later ones",
            graph.undated_lists.join(", ")
        );
        warnings.add("undated_listing", None, message);
    }
}

impl RiskReport {
    fn new(ledger: &dyn Ledger, of: &Assessment<'_>) -> Result<Self, LedgerError> {
        let judgement = &of.judgement;
        Ok(Self {
            blockchain: code(of.chains.name()),
            address: AddressText::from(of.address),
            composite_score: rounded(judgement.score, 2),
            risk_level: judgement.level.into(),
            dimensions: RiskDimensions {
                intel: IntelDimension::new(&judgement.intel, &of.labels),
                behavior: BehaviorDimension::new(ledger, of)?,
                graph: GraphDimension::new(judgement),
            },
            decision: RiskDecision::new(judgement),
            factors: judgement.factors.iter().map(FactorRecord::from).collect(),
            meta: RiskMeta::new(of),
        })
    }
}

impl RiskMeta {
    fn new(of: &Assessment<'_>) -> Self {
        let judgement = &of.judgement;
        Self {
            assessment: judgement.sufficiency.level.into(),
            assessment_reasons: judgement.sufficiency.reasons.iter().map(|reason| (*reason).into()).collect(),
            analysis_depth: judgement.depth().into(),
            behavior_available: judgement.behaviour.is_some(),
            graph_available: judgement.graph.is_some(),
            graph_reason: judgement.expansion.into(),
            computed_at: Time(of.computed_at),
            model_version: of.parameters.version.clone(),
            labels_version: format!("{:016x}", of.labels_digest),
            sources: of.lists.iter().map(LabelListRecord::from).collect(),
            as_of_block: of.as_of_block,
            third_party_used: of.provider == ProviderUse::Used,
        }
    }
}

impl RiskDecision {
    fn new(of: &Judgement) -> Self {
        Self {
            gated: !of.gates.is_empty(),
            context_confidence: rounded(of.context.map_or(0.0, |choice| choice.confidence), 3),
            context: of.context.map(|choice| choice.context.into()),
            gate_reason: of.gate().map(GateName::from),
            base_score: score(of.base.score),
        }
    }
}

impl IntelDimension {
    fn new(intel: &IntelScore, aggregate: &Aggregate<'_>) -> Self {
        let decides = intel.codes.iter().max_by(|one, other| {
            one.contribution.total_cmp(&other.contribution).then(one.confidence.total_cmp(&other.confidence))
        });
        let label = aggregate.entity.map(str::to_owned).or_else(|| decides.map(|share| share.code.name().to_owned()));
        let record = |of: &CodeShare| CodeRecord {
            code: code(of.code.name()),
            family: code(of.code.category().name()),
            severity: of.severity,
            confidence: share(of.confidence),
            reliability: share(of.reliability),
            contribution: score(of.contribution),
            disputed: aggregate.dispute_of(of.code).map(ClaimDispute::from),
        };
        Self {
            score: score(intel.score),
            confidence: rounded(intel.confidence, 3),
            entity: label.clone(),
            label,
            labels: codes(aggregate),
            codes: intel.codes.iter().map(record).collect(),
        }
    }
}

impl From<&Factor> for FactorRecord {
    fn from(factor: &Factor) -> Self {
        Self {
            dimension: factor.dimension.into(),
            code: code(&factor.code),
            effect: factor.effect.into(),
            detail: Some(factor.detail.clone()),
            weight: factor.weight.map(share),
            points: score(factor.points),
            inherited_through: factor.inherited.iter().map(InheritedThrough::from).collect(),
            disputed: factor.dispute.clone().map(ClaimDispute::from),
        }
    }
}

/// Rounds to so many decimals, half to even.
pub(crate) fn rounded(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    // Adding zero turns minus zero into zero.
    (value * unit).round_ties_even() / unit + 0.0
}

/// Rounds points to two decimals, or to two significant digits where that would be zero.
pub(crate) fn score(value: f64) -> f64 {
    significant(value, 2)
}

/// Rounds a share to six decimals, or to two significant digits where that would be zero.
fn share(value: f64) -> f64 {
    significant(value, 6)
}

fn code(text: &str) -> CodeText {
    CodeText(text.to_owned())
}
