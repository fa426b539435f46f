//! The risk of several addresses at once.

use std::collections::BTreeSet;

use headwater_intel::bitcoin::links::LinkBudget;
use headwater_intel::risk::{Detail, RiskScope};
use headwater_ledger::labels::Scope;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Address;
use headwater_types::text::{SHOWN, shortened};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::address_risk::{has_provider, risk_chains, warn_incomplete};
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::BOB;
use crate::labels;
use crate::limits::MAX_RISKS;
use crate::method::Method;
use crate::pricing::Pricing;
use crate::request::{Checks, ThirdParty, Warnings, at_most};
use crate::risk::{
    AssessmentName, AssessmentReasonName, ContextName, FactorRecord, GateName, GraphReason, LevelName, RiskDecision,
    RiskDimensions, RiskMeta, RiskReport, report,
};
use crate::table::{Rows, TableHead};
use crate::{Error, ErrorKind, Intelligence, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "address-risk/batch",
    path: "/v1/address-risk/batch",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Risk of many addresses",
    description: "What `address-risk` says of each of 1 to 50 addresses, in the order of the request. One that cannot be assessed \
                  has an `error` and null in its other fields, costs nothing, and keeps no other from its answer: check each item.",
    chains: ChainScope::EachNamedOrEvm("queries", "blockchain"),
    reads: Reads::Movements,
    rows: Some("results"),
    first: &["address", "risk_level", "composite_score", "assessment", "gate_reason", "context", "error"],
    example: Example::new(
        || json!({"queries": [{"blockchain": "ethereum", "address": BOB}, {"blockchain": "ethereum", "address": "0x12"}]}),
        ("third_party", "maybe"),
    ),
    calls: Calls::list::<AddressRiskBatch>(),
};

/// `POST /v1/address-risk/batch`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AddressRiskBatchRequest {
    /// The addresses asked about, with their chains.
    #[schema(min_items = 1, max_items = 50)]
    queries: Vec<RiskQuery>,
    /// Whether a provider outside may be asked for further claims, where one is configured: `auto` where they could change
    /// the verdict, `force` always, `off` never.
    #[schema(default = "auto")]
    third_party: Option<ThirdParty>,
}

/// An address with its chain.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct RiskQuery {
    /// Chain, or `evm` for the account on every EVM chain. Another text is an error of this item.
    #[schema(example = "ethereum")]
    blockchain: String,
    /// The address. A text that is not an address of the chain is an error of this item.
    #[schema(example = "0xe5bb8785e58bcc17f15028ad186197b7b42c3221")]
    address: String,
}

/// The chains and the address of a query, or its error.
type Subject = Result<(Scope, Address), String>;

/// Checked parameters of risks.
#[derive(Debug)]
pub struct AddressRiskBatchParams {
    queries: Vec<(RiskQuery, Subject)>,
    third_party: ThirdParty,
    intelligence: Intelligence,
}

/// The risk of each address.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressRiskBatchReport {
    /// In the order of the request.
    pub results: Vec<RiskResult>,
}

/// The risk of one address of several, or its error.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RiskResult {
    /// Chain, or `evm`; with an error as it was asked.
    pub blockchain: String,
    /// The address, canonical; with an error as it was asked.
    pub address: String,
    /// 0 to 100, two decimals; null with an error, as all fields that follow.
    #[schema(minimum = 0, maximum = 100)]
    pub composite_score: Option<f64>,
    /// `low`, `medium` or `high`.
    pub risk_level: Option<LevelName>,
    /// What the score rests on.
    pub dimensions: Option<RiskDimensions>,
    /// Floors and context.
    pub decision: Option<RiskDecision>,
    /// What the score is made of, most points first; the points add up to it.
    pub factors: Option<Vec<FactorRecord>>,
    /// How it was made.
    pub meta: Option<RiskMeta>,
    /// Why the address could not be assessed; null where it was.
    pub error: Option<String>,
}

/// The risk of one address of several, as tables show it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct RiskRow {
    /// Chain, or `evm`; with an error as it was asked.
    blockchain: String,
    /// The address, canonical; with an error as it was asked.
    address: String,
    /// How much there is to judge by; null with an error, as all that follows.
    assessment: Option<AssessmentName>,
    assessment_reasons: Option<Vec<AssessmentReasonName>>,
    /// 0 to 100.
    composite_score: Option<f64>,
    risk_level: Option<LevelName>,
    gated: Option<bool>,
    gate_reason: Option<GateName>,
    context: Option<ContextName>,
    context_confidence: Option<f64>,
    intel_score: Option<f64>,
    /// Null where behaviours cannot be judged, too.
    behavior_score: Option<f64>,
    graph_score: Option<f64>,
    graph_reason: Option<GraphReason>,
    /// Why the address could not be assessed.
    error: Option<String>,
}

/// The risk of several addresses.
pub struct AddressRiskBatch;

impl Analysis for AddressRiskBatch {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AddressRiskBatchRequest;
    type Params = AddressRiskBatchParams;
    type Report = AddressRiskBatchReport;
    const IS_VALUED: bool = true;
    const JUDGES_BY_LABELS: bool = true;
    const PRICING: Pricing = Pricing::PerItem { list: "queries", max_items: MAX_RISKS };

    fn params(request: AddressRiskBatchRequest, checks: &mut Checks<'_>) -> Result<AddressRiskBatchParams, Error> {
        let AddressRiskBatchRequest { queries, third_party } = request;
        if queries.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "queries", "queries: ask about at least one address"));
        }
        at_most("queries", &queries, MAX_RISKS)?;
        let third_party = third_party.unwrap_or(ThirdParty::Auto);
        let asks_elsewhere = has_provider(checks.intelligence, third_party);
        let checked = |(index, query): (usize, RiskQuery)| {
            let item = decode_item(checks, index, &query).and_then(|(chains, address)| {
                if !asks_elsewhere {
                    check_held(checks.ledger, index, chains)?;
                }
                Ok((chains, address))
            });
            (query, item.map_err(|error| error.message))
        };
        let queries = queries.into_iter().enumerate().map(checked).collect();
        Ok(AddressRiskBatchParams { queries, third_party, intelligence: checks.intelligence.clone() })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &AddressRiskBatchParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<AddressRiskBatchReport, Error> {
        let AddressRiskBatchParams { queries, third_party, intelligence } = params;
        labels::warn(ledger, warnings);
        let mut warned = BTreeSet::new();
        for (chains, _) in queries.iter().filter_map(|(_, item)| item.as_ref().ok()) {
            if warned.insert(chains.name()) {
                warn_incomplete(ledger, *chains, warnings);
            }
        }
        let (provider, links) = ((*third_party).into(), LinkBudget::default());
        let mut results = Vec::with_capacity(queries.len());
        for (query, item) in queries {
            cancel.check().map_err(LedgerError::from)?;
            let outcome = match item {
                Ok((chains, address)) => {
                    let present = RiskScope::present(ledger, intelligence, *chains, cancel);
                    let scope = RiskScope { provider, detail: Detail::Explained(&links), ..present };
                    of_item(report(scope, address, warnings))?
                }
                Err(reason) => Err(reason.clone()),
            };
            results.push(outcome.map_or_else(|reason| RiskResult::failed(query, reason), RiskResult::from));
        }
        Ok(AddressRiskBatchReport { results })
    }

    /// Returns false with claims of a provider, which may be others the next time.
    fn is_repeatable(report: &AddressRiskBatchReport) -> bool {
        !report.results.iter().filter_map(|result| result.meta.as_ref()).any(|meta| meta.third_party_used)
    }

    fn paid_items(report: &AddressRiskBatchReport) -> u32 {
        let succeeded = report.results.iter().filter(|result| result.error.is_none()).count();
        u32::try_from(succeeded).unwrap_or(u32::MAX)
    }
}

fn decode_item(checks: &mut Checks<'_>, index: usize, query: &RiskQuery) -> Result<(Scope, Address), Error> {
    let chains = risk_chains(checks, &format!("queries[{index}].blockchain"), &query.blockchain)?;
    let field = format!("queries[{index}].address");
    Ok((chains, checks.address(chains.address_chain(), &field, query.address.trim())?))
}

/// Refuses an address on a chain that is not held.
fn check_held(ledger: &dyn Ledger, index: usize, chains: Scope) -> Result<(), Error> {
    let field = format!("queries[{index}].blockchain");
    coverage::check_any(ledger, Some(&field), chains.name(), &chains.chains().collect::<Vec<_>>())
}

/// Separates an address that is too large for the memory of a query from errors that end the whole call.
pub(super) fn of_item<T>(report: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match report {
        Err(error) if error.kind == ErrorKind::InvalidInput(Reason::QueryTooLarge) => Ok(Err(error.message)),
        report => report.map(Ok),
    }
}

impl RiskResult {
    fn failed(query: &RiskQuery, reason: String) -> Self {
        Self {
            blockchain: shortened(&query.blockchain, SHOWN),
            address: shortened(&query.address, SHOWN),
            composite_score: None,
            risk_level: None,
            dimensions: None,
            decision: None,
            factors: None,
            meta: None,
            error: Some(reason),
        }
    }
}

impl From<RiskReport> for RiskResult {
    fn from(report: RiskReport) -> Self {
        let RiskReport { blockchain, address, composite_score, risk_level, dimensions, decision, factors, meta } =
            report;
        Self {
            blockchain: blockchain.into(),
            address: address.into(),
            composite_score: Some(composite_score),
            risk_level: Some(risk_level),
            dimensions: Some(dimensions),
            decision: Some(decision),
            factors: Some(factors),
            meta: Some(meta),
            error: None,
        }
    }
}

impl From<RiskResult> for RiskRow {
    fn from(result: RiskResult) -> Self {
        let RiskResult { blockchain, address, composite_score, risk_level, dimensions, decision, meta, error, .. } =
            result;
        let (decision, dimensions) = (decision.as_ref(), dimensions.as_ref());
        Self {
            blockchain,
            address,
            assessment: meta.as_ref().map(|meta| meta.assessment),
            assessment_reasons: meta.as_ref().map(|meta| meta.assessment_reasons.clone()),
            composite_score,
            risk_level,
            gated: decision.map(|decision| decision.gated),
            gate_reason: decision.and_then(|decision| decision.gate_reason),
            context: decision.and_then(|decision| decision.context),
            context_confidence: decision.map(|decision| decision.context_confidence),
            intel_score: dimensions.map(|dimensions| dimensions.intel.score),
            behavior_score: dimensions.and_then(|dimensions| Some(dimensions.behavior.as_ref()?.score)),
            graph_score: dimensions.map(|dimensions| dimensions.graph.score),
            graph_reason: meta.as_ref().map(|meta| meta.graph_reason),
            error,
        }
    }
}

impl List for AddressRiskBatch {
    type Row = RiskRow;

    fn list(
        ledger: &dyn Ledger,
        params: &AddressRiskBatchParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        let head = TableHead { paid_items: Some(Self::paid_items(&report)), ..TableHead::default() };
        rows.whole(head, warnings, report.results.into_iter().map(RiskRow::from))
    }
}
