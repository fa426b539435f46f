//! The form of behaviours, their evidence and counterparties in answers.

use headwater_intel::behaviour::{Behaviour, Severity};
use headwater_intel::risk::{
    Assessment, BehaviourHit, CategoryExposure, ExposureWay, GraphScore, Judgement, Neighbour,
};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Family, Usd};
use serde::Serialize;

use super::evidence::EvidenceRecord;
use super::{GraphReason, code, rounded, score, share};
use crate::fields::{AddressText, CodeText, Time, values};
use crate::labels::ClaimDispute;

values! {
    /// How grave a behaviour is.
    SeverityName { Low = "low", Medium = "medium", High = "high" }
    /// How far counterparties were looked at.
    DepthReached { Point = "point", Edge = "edge" }
    /// Which way money went that an exposure counts; `forwarded` was paid of money of many senders.
    ExposureDirection { Both = "both", In = "in", Out = "out", Forwarded = "forwarded" }
    /// The way money went between the address and a counterparty.
    NeighborDirection { In = "in", Out = "out", Both = "both" }
}

words! {
    Severity => SeverityName { Low Medium High }
    ExposureWay => ExposureDirection { Both In Out Forwarded }
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

impl BehaviorDimension {
    /// Returns the form of the behaviours of an assessment; `None` if they are not judged.
    pub(super) fn new(ledger: &dyn Ledger, of: &Assessment<'_>) -> Result<Option<Self>, LedgerError> {
        let (Some(behaviour), Some(history)) = (&of.judgement.behaviour, of.history) else { return Ok(None) };
        let codes = |of: &[Behaviour]| of.iter().map(|behaviour| code(behaviour.code())).collect();
        let family = of.chains.address_chain().family();
        let record = |hit: &BehaviourHit| BehaviorRecord::new(ledger, hit, family);
        let window = history.span();
        Ok(Some(Self {
            score_raw: score(behaviour.raw),
            score: score(behaviour.score),
            behaviors: behaviour.found().map(record).collect::<Result<_, _>>()?,
            score_breakdown: ScoreBreakdown {
                items: behaviour.hits.iter().map(BreakdownItem::new).collect(),
                cap: of.parameters.behaviour.cap,
                total: score(behaviour.score),
            },
            data_window: DataWindow {
                from: Time(window.map_or(0, |(from, _)| from.secs())),
                to: Time(window.map_or(0, |(_, to)| to.secs())),
                tx_count: history.all.len() as u64,
                truncated: history.is_truncated,
            },
            evaluated: codes(&of.judgement.evaluated),
            deferred: codes(&of.judgement.deferred),
        }))
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
    pub(super) fn new(judgement: &Judgement) -> Self {
        let graph = judgement.graph.as_ref();
        Self {
            score: graph.map_or(0.0, |graph| score(graph.score)),
            depth_reached: if graph.is_some() { DepthReached::Edge } else { DepthReached::Point },
            reason: judgement.expansion.into(),
            edge: graph.map(GraphEdge::new),
            paths: Vec::new(),
        }
    }
}

impl GraphEdge {
    fn new(graph: &GraphScore) -> Self {
        let category = |of: &CategoryExposure| CategoryRecord {
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
