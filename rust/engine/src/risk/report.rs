//! The records of `POST /v1/address-risk`.

use headwater_intel::behaviour::{Behaviour, History, Severity};
use headwater_intel::label::Aggregate;
use headwater_intel::risk::{
    Assessment, BehaviourHit, BehaviourScore, Context, Expansion, ExposureWay, GateReason, GraphScore, IntelScore,
    Level, Neighbour, SufficiencyLevel, SufficiencyReason,
};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Family, Usd};
use serde::Serialize;

use super::evidence::EvidenceRecord;
use super::factor::FactorRecord;
use super::{code, rounded, score, share};
use crate::fields::{AddressText, CodeText, Time, values};
use crate::labels::{ClaimDispute, LabelListRecord};

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
    /// How grave a behaviour is.
    SeverityName { Low = "low", Medium = "medium", High = "high" }
    /// How far counterparties were looked at.
    DepthReached { Point = "point", Edge = "edge" }
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
    /// Which way money went that an exposure counts; `forwarded` was paid of money of many senders.
    ExposureDirection { Both = "both", In = "in", Out = "out", Forwarded = "forwarded" }
    /// The way money went between the address and a counterparty.
    NeighborDirection { In = "in", Out = "out", Both = "both" }
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

/// What an address did.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BehaviorDimension {
    /// Before context, 0 to 100.
    #[schema(minimum = 0, maximum = 100)]
    pub score_raw: f64,
    /// After context, 0 to 100.
    #[schema(minimum = 0, maximum = 100)]
    pub score: f64,
    /// Detected patterns; `scam_pattern` from a likeness of 0.5 on.
    pub behaviors: Vec<BehaviorRecord>,
    /// What each adds to the score.
    pub score_breakdown: ScoreBreakdown,
    /// What was looked through.
    pub data_window: DataWindow,
    /// Codes whose rules were evaluated.
    pub evaluated: Vec<CodeText>,
    /// Codes whose rules could not be decided: they need more of others than may be read, or data that is not held.
    pub deferred: Vec<CodeText>,
}

/// One detected pattern.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BehaviorRecord {
    /// The behaviour.
    pub code: CodeText,
    /// Its name in Chinese.
    pub name_zh: String,
    /// How grave it is.
    pub severity: SeverityName,
    /// Its score before context, 0 to 100.
    pub score: f64,
    /// By what it can be checked.
    pub evidence: EvidenceRecord,
    /// What context multiplies by; absent without context.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub context_weight: Option<f64>,
    /// Its score after context; absent without context.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub score_after_context: Option<f64>,
    /// Always true: a pattern stays listed however old it is.
    pub ever_detected: bool,
    /// When it was detected first, epoch seconds.
    pub first_detected_at: Time,
    /// When it was detected last, epoch seconds; the older, the less it counts.
    pub last_detected_at: Time,
    /// How many times.
    pub occurrence_count: u64,
}

/// What a behaviour score is made of.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ScoreBreakdown {
    /// One item per detected pattern, and one of `scam_pattern` wherever a classifier counts.
    pub items: Vec<BreakdownItem>,
    /// Most that all behaviours together reach.
    pub cap: f64,
    /// The score; the contributions add up to it.
    pub total: f64,
}

/// What one behaviour adds.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct BreakdownItem {
    /// The behaviour.
    pub code: CodeText,
    /// Its family: the second one of a family counts half, further ones a quarter.
    pub family: CodeText,
    /// The score of one fresh episode of full intensity.
    pub base: f64,
    /// How marked it is, 0 to 1.
    pub intensity: f64,
    /// What its age leaves, 0.1 to 1.
    pub recency_weight: f64,
    /// What context multiplies by; null without context.
    pub context_weight: Option<f64>,
    /// Points of the behaviour score that it stands for.
    pub contribution: f64,
}

/// What was looked through.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct DataWindow {
    /// The earliest activity, epoch seconds; 0 without any.
    pub from: Time,
    /// The latest activity, epoch seconds; 0 without any.
    pub to: Time,
    /// Transfers that were looked through; 0 where the address was never seen.
    pub tx_count: u64,
    /// Whether older ones were left out, because there are too many.
    pub truncated: bool,
}

/// Whom an address deals with.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct GraphDimension {
    /// 0 to 100; 0 where counterparties were not looked at.
    #[schema(minimum = 0, maximum = 100)]
    pub score: f64,
    /// `edge` where counterparties were looked at, else `point`.
    pub depth_reached: DepthReached,
    /// Why they were, or were not.
    pub reason: GraphReason,
    /// What was found; null where they were not looked at.
    pub edge: Option<GraphEdge>,
    /// Reserved: always empty.
    pub paths: Vec<CodeText>,
}

/// The counterparties of an address.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct GraphEdge {
    /// Share of the volume with risky counterparties, 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub risky_exposure_ratio: f64,
    /// Counterparties with whom at least a dollar moved.
    pub neighbors_total: u64,
    /// Those of them whose labels were looked up: the 5,000 largest and the 200 most recent besides.
    pub neighbors_screened: u64,
    /// Those of them that are risky.
    pub neighbors_hit: u64,
    /// Whether one of them is under sanctions.
    pub direct_sanctioned: bool,
    /// The strongest risky ones, at most five.
    pub risky_neighbors: Vec<RiskyNeighbor>,
    /// Exposure by category of risk, largest contribution first.
    pub categories: Vec<CategoryRecord>,
    /// US dollars with all counterparties.
    pub volume_usd: f64,
}

/// A risky counterparty.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RiskyNeighbor {
    /// The counterparty.
    pub address: AddressText,
    /// The entity behind it; null when none is clearly ahead.
    pub entity_name: Option<String>,
    /// Codes of its labels, most confident first.
    pub labels: Vec<CodeText>,
    /// Seen from the address asked about: `in` received from it, `out` sent to it.
    pub direction: NeighborDirection,
    /// US dollars either way.
    pub amount_usd: Option<f64>,
    /// Share of the volume with all counterparties, 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub share: f64,
    /// Distinct transactions.
    pub tx_count: u64,
    /// Time of the last movement, epoch seconds.
    pub last_activity: Time,
    /// Whether it is under sanctions.
    pub sanctioned: bool,
    /// The day on which it was listed, epoch seconds; null where it is not, or no list gives a day. Payments from before it count
    /// less, and open no gate.
    pub listed_since: Option<Time>,
    /// Whether all that moved is dust that it sent: that counts a quarter and opens no gate.
    pub dust: bool,
    /// The dispute of a claim that makes it risky; null where none is disputed.
    pub disputed: Option<ClaimDispute>,
}

/// Exposure to one category of risk.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CategoryRecord {
    /// The category.
    pub category: CodeText,
    /// Which way the money went: `in` and `out` are terms of their own for theft, ransomware and scam.
    pub direction: ExposureDirection,
    /// Whether it moved before its counterparties were listed as sanctioned, and nothing else is known of them.
    pub before_listing: bool,
    /// What the term counts: 0.25 for payments to a family with victims, and for those before a listing; else 1.
    pub factor: f64,
    /// Severity of its gravest code that was met, 0 to 100.
    pub severity: f64,
    /// US dollars, dust counted a quarter.
    pub amount_usd: f64,
    /// Share of the volume with all counterparties, 0 to 1.
    pub share: f64,
    /// Confidence of the codes, weighted by amount, 0 to 1.
    pub confidence: f64,
    /// Points of the graph score that it stands for.
    pub contribution: f64,
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

impl RiskDimensions {
    pub(super) fn new(
        ledger: &dyn Ledger,
        family: Family,
        assessment: &Assessment,
        (aggregate, history): (&Aggregate<'_>, Option<&History>),
        cap: f64,
    ) -> Result<Self, LedgerError> {
        let behavior = match (&assessment.behaviour, history) {
            (Some(behaviour), Some(history)) => {
                Some(BehaviorDimension::new((ledger, family), assessment, behaviour, history, cap)?)
            }
            (None, _) | (_, None) => None,
        };
        let intel = IntelDimension::new(&assessment.intel, aggregate);
        Ok(Self { intel, behavior, graph: GraphDimension::new(assessment) })
    }
}

impl IntelDimension {
    fn new(intel: &IntelScore, aggregate: &Aggregate<'_>) -> Self {
        let decides = intel.codes.iter().max_by(|one, other| {
            one.contribution.total_cmp(&other.contribution).then(one.confidence.total_cmp(&other.confidence))
        });
        let label = aggregate.entity.map(str::to_owned).or_else(|| decides.map(|share| share.code.name().to_owned()));
        let record = |of: &headwater_intel::risk::CodeShare| CodeRecord {
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
            labels: crate::labels::codes(aggregate),
            codes: intel.codes.iter().map(record).collect(),
        }
    }
}

impl BehaviorDimension {
    fn new(
        (ledger, family): (&dyn Ledger, Family),
        assessment: &Assessment,
        behaviour: &BehaviourScore,
        history: &History,
        cap: f64,
    ) -> Result<Self, LedgerError> {
        let codes = |of: &[Behaviour]| of.iter().map(|behaviour| code(behaviour.code())).collect();
        let record = |hit: &BehaviourHit| BehaviorRecord::new(ledger, hit, family);
        let window = history.span();
        Ok(Self {
            score_raw: score(behaviour.raw),
            score: score(behaviour.score),
            behaviors: behaviour.found().map(record).collect::<Result<_, _>>()?,
            score_breakdown: ScoreBreakdown {
                items: behaviour.hits.iter().map(BreakdownItem::new).collect(),
                cap,
                total: score(behaviour.score),
            },
            data_window: DataWindow {
                from: Time(window.map_or(0, |(from, _)| from.secs())),
                to: Time(window.map_or(0, |(_, to)| to.secs())),
                tx_count: history.all.len() as u64,
                truncated: history.is_truncated,
            },
            evaluated: codes(&assessment.evaluated),
            deferred: codes(&assessment.deferred),
        })
    }
}

impl BehaviorRecord {
    fn new(ledger: &dyn Ledger, hit: &BehaviourHit, family: Family) -> Result<Self, LedgerError> {
        Ok(Self {
            code: code(hit.behaviour.code()),
            name_zh: hit.behaviour.name_zh().to_owned(),
            severity: hit.severity.into(),
            score: score(hit.score),
            evidence: EvidenceRecord::new(ledger, &hit.detection.evidence, family)?,
            context_weight: hit.weight.map(share),
            score_after_context: hit.weight.map(|_| score(hit.after_context)),
            ever_detected: true,
            first_detected_at: Time(hit.detection.first),
            last_detected_at: Time(hit.detection.last),
            occurrence_count: hit.detection.occurrences,
        })
    }
}

impl BreakdownItem {
    fn new(hit: &BehaviourHit) -> Self {
        Self {
            code: code(hit.behaviour.code()),
            family: code(hit.behaviour.family().name()),
            base: hit.base,
            intensity: share(hit.detection.intensity),
            recency_weight: share(hit.recency),
            context_weight: hit.weight.map(share),
            contribution: score(hit.contribution),
        }
    }
}

impl GraphDimension {
    fn new(assessment: &Assessment) -> Self {
        let graph = assessment.graph.as_ref();
        Self {
            score: graph.map_or(0.0, |graph| score(graph.score)),
            depth_reached: if graph.is_some() { DepthReached::Edge } else { DepthReached::Point },
            reason: assessment.expansion.into(),
            edge: graph.map(GraphEdge::new),
            paths: Vec::new(),
        }
    }
}

impl GraphEdge {
    fn new(graph: &GraphScore) -> Self {
        let category = |of: &headwater_intel::risk::CategoryExposure| CategoryRecord {
            category: code(of.category.name()),
            direction: of.way.into(),
            before_listing: of.is_before_listing,
            factor: of.factor,
            severity: of.severity,
            amount_usd: score(of.amount.to_f64()),
            share: share(of.share),
            confidence: share(of.confidence),
            contribution: score(of.contribution),
        };
        Self {
            risky_exposure_ratio: share(graph.risky_ratio),
            neighbors_total: graph.total,
            neighbors_screened: graph.screened,
            neighbors_hit: graph.hit,
            direct_sanctioned: graph.is_direct_sanctioned,
            risky_neighbors: graph.risky.iter().map(|(one, share)| RiskyNeighbor::new(one, *share)).collect(),
            categories: graph.categories.iter().map(category).collect(),
            volume_usd: rounded(graph.volume.to_f64(), 2),
        }
    }
}

impl RiskyNeighbor {
    fn new(of: &Neighbour, of_volume: f64) -> Self {
        Self {
            address: AddressText::from(of.address),
            entity_name: of.entity.clone(),
            labels: of.codes.iter().map(|one| code(one.name())).collect(),
            direction: match (of.all.in_usd > Usd::ZERO, of.all.out_usd > Usd::ZERO) {
                (true, true) => NeighborDirection::Both,
                (true, false) => NeighborDirection::In,
                (false, _) => NeighborDirection::Out,
            },
            amount_usd: Some(rounded(of.usd().to_f64(), 2)),
            share: share(of_volume),
            tx_count: of.transactions,
            last_activity: Time(of.last),
            sanctioned: of.is_sanctioned,
            listed_since: of.listed_since.map(|time| Time(time.secs())),
            dust: of.is_dust(),
            disputed: of.dispute.clone().map(ClaimDispute::from),
        }
    }
}

impl RiskDecision {
    pub(super) fn new(assessment: &Assessment) -> Self {
        Self {
            gated: !assessment.gates.is_empty(),
            context_confidence: rounded(assessment.context.map_or(0.0, |of| of.confidence), 3),
            context: assessment.context.map(|of| of.context.into()),
            gate_reason: assessment.gates.first().map(|gate| gate.reason.into()),
            base_score: score(assessment.base.score),
        }
    }
}

words! {
    SufficiencyLevel => AssessmentName { Full Partial Insufficient }
    SufficiencyReason => AssessmentReasonName {
        BehaviorUnavailable FewTransfers RulesDeferred GraphUnavailable HistoryIncomplete
    }
    ExposureWay => ExposureDirection { Both In Out Forwarded }
    Level => LevelName { Low Medium High }
    GateReason => GateName { OfacSanctioned ConfirmedIllicit DirectSanctionedEdge }
    Context => ContextName { Exchange Deposit Dex Defi Bridge Payment MiningPool MevBot Mixer Illicit }
    Severity => SeverityName { Low Medium High }
    Expansion => GraphReason {
        Undecided IntelGate IntelDecisive AlreadyHigh NoActivity UnsupportedChain DataUnavailable BudgetExhausted
    }
}
