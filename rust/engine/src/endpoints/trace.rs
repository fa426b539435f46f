//! Where money went from an address, or came from, hop by hop.

use headwater_graph::taint::Method as Mixing;
use headwater_graph::trace::{HUB_COUNTERPARTIES, STOP_CODES, Settings, StopRules, circles, graph, trace};
use headwater_ledger::labels::Code;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::crossings::warn_of_missing_legs;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, ListedChains, Reads, Tag};
use crate::example::ALICE;
use crate::fields::{AddressText, ChainName, ChainText, CodeText, OptOut, Time, TimeBound, form};
use crate::labels;
use crate::method::Method;
use crate::query_meta::QueryMeta;
use crate::request::{Checks, TraceMethod, Warnings, at_most, refused};
use crate::scope::{FilterCriteria, Scope, ScopeFields};
use crate::trace::{
    TraceEdge, TraceEnd, TraceNode, TraceSummary, TraceWriter, TruncationName, bounded, movement_source, source,
    warn_of_change,
};
use crate::{Error, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "trace",
    path: "/v1/trace",
    method: Method::Post,
    alternative: None,
    class: CostClass::Heavy,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Follow the money",
    description: "Where money went from an address, and where it came from, hop by hop: per asset, and only what left after it \
                  came. A swap is followed into the other asset, change of bitcoin without a hop, and what went over a bridge on the other chain, \
                  where that is held. The walk stops at services, hubs and the last hop, and says \
                  so. Each end says which part of the money came to it. A trace is a hypothesis: coins in one account cannot \
                  be told apart.",
    chains: ChainScope::NamedAndListed("blockchain", BRIDGE_CHAINS),
    reads: Reads::Movements,
    rows: None,
    first: &[],
    example: Example::new(|| json!({"blockchain": "ethereum", "address": ALICE}), ("blockchain", "solana")),
    calls: Calls::of::<TraceAnalysis>(),
};

const BRIDGE_CHAINS: ListedChains =
    ListedChains { object: "track_setting", field: "bridge_chains", name: "track_setting.bridge_chains" };
/// Hops in each direction where nothing is said, and at most.
const HOPS: (i64, i64) = (2, 7);
/// Counterparties of an account that are followed.
const LIMIT: (i64, i64) = (10, 100);
/// Accounts of a trace.
const NODES: (i64, i64) = (500, 5_000);
/// Distinct counterparties from which an account is a hub.
const HUB: (i64, i64) = (HUB_COUNTERPARTIES as i64, 1_000_000);

form! {
    /// Hops in one direction.
    HopCount(i64 => i64, Copy): json!({"type": "integer", "minimum": 0, "maximum": HOPS.1, "default": HOPS.0});
    /// Counterparties of an account that are followed, largest first.
    Fanout(i64 => i64, Copy): json!({"type": "integer", "minimum": 1, "maximum": LIMIT.1, "default": LIMIT.0});
    /// Addresses in all.
    NodeCount(i64 => i64, Copy): json!({"type": "integer", "minimum": 1, "maximum": NODES.1, "default": NODES.0});
    /// Distinct counterparties.
    HubSize(i64 => i64, Copy): json!({"type": "integer", "minimum": 1, "maximum": HUB.1, "default": HUB.0});
    /// Names of chains.
    BridgeChains(Vec<String> => [String]): json!({
        "type": "array", "maxItems": Chain::all().len(), "items": {"type": "string"}
    });
    /// Codes of labels.
    StopLabels(Vec<String> => [String]): json!({
        "type": "array", "maxItems": 50, "items": {"type": "string", "title": "LabelCode", "enum": Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>()},
        "default": STOP_CODES.map(Code::name)
    });
}

/// `POST /v1/trace`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct TraceRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// Where the trace begins.
    address: AddressText,
    /// How far, how wide, and by which rules.
    track_setting: Option<TrackSetting>,
    /// Amount ranges by symbol; movements outside of them are not followed.
    #[schema(max_items = 50)]
    filter_criterias: Option<Vec<FilterCriteria>>,
    /// Where the walk does not go on.
    stop_track_condition: Option<StopTrackCondition>,
}

/// How far a trace goes, how wide, and by which rules.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
pub struct TrackSetting {
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
    /// Hops in the direction of payments.
    outward_depth: Option<HopCount>,
    /// Hops against it.
    inward_depth: Option<HopCount>,
    /// Counterparties of an address that are followed, largest first.
    limit: Option<Fanout>,
    /// One edge per pair and asset; `false`: one per movement.
    accumulate_amount: Option<OptOut>,
    /// Addresses in all.
    max_nodes: Option<NodeCount>,
    /// How traced money mixes with other money.
    method: Option<TraceMethod>,
    /// Follow only money that came before it left.
    time_ordered: Option<OptOut>,
    /// The chains on which the trace goes on over bridges; an empty list for none. All that are held where it is null.
    bridge_chains: Option<BridgeChains>,
}

/// Where a trace does not go on.
#[derive(Debug, Clone, Default, Deserialize, utoipa::ToSchema)]
pub struct StopTrackCondition {
    /// Labels of confidence 0.5 and more.
    labels: Option<StopLabels>,
    /// From so many distinct counterparties on an address is a hub.
    max_counterparties: Option<HubSize>,
    /// Whether contracts are not looked through.
    #[schema(default = false)]
    stop_at_contract: Option<bool>,
}

/// Checked parameters of a trace.
#[derive(Debug)]
pub struct TraceParams {
    scope: Scope,
    address: Address,
    settings: Settings,
    method: TraceMethod,
    stops: StopRules,
}

/// A trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceReport {
    /// Chain.
    pub blockchain: ChainName,
    /// Where the trace begins, canonical.
    pub address: AddressText,
    /// The values that were used.
    pub settings: TraceSettings,
    /// Addresses, by hops, then by what came to them.
    pub nodes: Vec<TraceNode>,
    /// What went between them, by hops, then by worth.
    pub edges: Vec<TraceEdge>,
    /// Where the trace ends, by worth.
    pub ends: Vec<TraceEnd>,
    /// The trace in numbers.
    pub summary: TraceSummary,
    /// Groups of addresses among which money went round: each paid every other one of its group, directly or over others of
    /// it. It need not be the same money that came back.
    pub circles: Vec<Vec<AddressText>>,
    /// Whether something was left out.
    pub truncated: bool,
    /// What.
    pub truncation_reasons: Vec<TruncationName>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// The query.
    pub meta: QueryMeta,
}

/// The values that a trace used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceSettings {
    /// First time.
    pub start_time: Option<Time>,
    /// Last time.
    pub end_time: Option<Time>,
    /// Hops outward.
    pub outward_depth: i64,
    /// Hops inward.
    pub inward_depth: i64,
    /// Counterparties of an address.
    pub limit: i64,
    /// One edge per pair and asset.
    pub accumulate_amount: bool,
    /// Addresses in all.
    pub max_nodes: i64,
    /// How traced money mixes with other money.
    pub method: TraceMethod,
    /// Only money that came before it left.
    pub time_ordered: bool,
    /// The chains on which the trace goes on over bridges; null for all that are held.
    pub bridge_chains: Option<Vec<ChainName>>,
    /// Labels that stop the walk.
    pub labels: Vec<CodeText>,
    /// Counterparties of a hub.
    pub max_counterparties: i64,
    /// Whether contracts stop the walk.
    pub stop_at_contract: bool,
}

/// A trace.
pub struct TraceAnalysis;

impl Analysis for TraceAnalysis {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = TraceRequest;
    type Params = TraceParams;
    type Report = TraceReport;
    const IS_VALUED: bool = true;
    const JUDGES_BY_LABELS: bool = true;

    fn params(request: TraceRequest, checks: &mut Checks<'_>) -> Result<TraceParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = checks.address(chain, "address", &request.address)?;
        let track = request.track_setting.unwrap_or_default();
        let stop = request.stop_track_condition.unwrap_or_default();
        let of = |name: &str| format!("track_setting.{name}");
        let outward = bounded(&of("outward_depth"), track.outward_depth.map(i64::from), (0, HOPS))?;
        let inward = bounded(&of("inward_depth"), track.inward_depth.map(i64::from), (0, HOPS))?;
        if outward == 0 && inward == 0 {
            let why = "outward_depth and inward_depth are both 0: there is nothing to follow";
            return Err(refused(Reason::InvalidValue, &of("outward_depth"), "0", &why));
        }
        let limit = bounded(&of("limit"), track.limit.map(i64::from), (1, LIMIT))?;
        let max_nodes = bounded(&of("max_nodes"), track.max_nodes.map(i64::from), (1, NODES))?;
        let hub = stop.max_counterparties.map(i64::from);
        let max_counterparties = bounded("stop_track_condition.max_counterparties", hub, (1, HUB))?;
        let is_time_ordered = track.time_ordered.is_none_or(bool::from);
        let method = method(track.method, is_time_ordered)?;
        let fields = ScopeFields {
            start_time: track.start_time,
            end_time: track.end_time,
            filter_criterias: request.filter_criterias,
            ..ScopeFields::default()
        };
        Ok(TraceParams {
            scope: Scope::new(checks, chain, fields)?,
            address,
            settings: Settings {
                outward: u8::try_from(outward).expect("at most 7"),
                inward: u8::try_from(inward).expect("at most 7"),
                limit: usize::try_from(limit).expect("at most 100"),
                accumulate: track.accumulate_amount.is_none_or(bool::from),
                max_nodes: usize::try_from(max_nodes).expect("at most 5,000"),
                method: mixing(method),
                is_time_ordered,
            },
            method,
            stops: StopRules {
                codes: stop_codes(stop.labels.map(Vec::from))?,
                max_counterparties: usize::try_from(max_counterparties).expect("at most a million"),
                at_contracts: stop.stop_at_contract.unwrap_or(false),
                bridge_chains: track.bridge_chains.map(|names| bridge_chains(checks, &names)).transpose()?,
            },
        })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &TraceParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<TraceReport, Error> {
        let TraceParams { scope, address, settings, stops, .. } = params;
        let chain = scope.chain;
        labels::warn(ledger, warnings);
        coverage::warn(ledger, chain, scope.window, warnings);
        let mut source = source(ledger, scope, stops, cancel);
        let start = source.node(*address);
        let found = trace(&mut source, start, *settings)?;
        warn_of_change(&source, warnings);
        if source.is_missing_legs() {
            warn_of_missing_legs(warnings);
        }
        for beyond in source.chains_beyond() {
            coverage::warn(ledger, beyond, scope.window, warnings);
        }
        let writer = TraceWriter { ledger, source: &source, method: settings.method, cancel };
        writer.warn_of_core_prices(&found.edges, warnings);
        Ok(TraceReport {
            blockchain: ChainName::from(chain),
            address: AddressText::from(address),
            settings: params.shown(),
            nodes: writer.nodes(&found)?,
            edges: found.edges.iter().map(|edge| writer.edge(edge, warnings)).collect::<Result<_, _>>()?,
            ends: found.ends.iter().map(|end| writer.end(end, &found)).collect::<Result<_, _>>()?,
            summary: writer.summary(&found, start),
            circles: circles(&graph(&found))
                .iter()
                .map(|group| group.iter().map(|node| AddressText::from(source.address(*node))).collect())
                .collect(),
            truncated: !found.truncations.is_empty(),
            truncation_reasons: found.truncations.iter().map(|reason| TruncationName::from(*reason)).collect(),
            as_of_block: ledger.coverage().get(&chain).and_then(|coverage| coverage.last_block),
            meta: QueryMeta { source: Some(movement_source(chain)), ..QueryMeta::new(CostClass::Heavy) },
        })
    }

    fn meta(report: &mut TraceReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

impl TraceParams {
    fn shown(&self) -> TraceSettings {
        let Settings { outward, inward, limit, accumulate, max_nodes, is_time_ordered, .. } = self.settings;
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        TraceSettings {
            start_time: self.scope.window.start().map(Time::from),
            end_time: self.scope.window.end().map(Time::from),
            outward_depth: outward.into(),
            inward_depth: inward.into(),
            limit: number(limit),
            accumulate_amount: accumulate,
            max_nodes: number(max_nodes),
            method: self.method,
            time_ordered: is_time_ordered,
            bridge_chains: self
                .stops
                .bridge_chains
                .as_ref()
                .map(|chains| chains.iter().copied().map(ChainName::from).collect()),
            labels: self.stops.codes.iter().map(|code| CodeText(code.name().to_owned())).collect(),
            max_counterparties: number(self.stops.max_counterparties),
            stop_at_contract: self.stops.at_contracts,
        }
    }
}

/// The method in use: without time order whole amounts are followed, as nothing says what a payment is made of.
fn method(asked: Option<TraceMethod>, is_time_ordered: bool) -> Result<TraceMethod, Error> {
    match (asked, is_time_ordered) {
        (None, true) => Ok(TraceMethod::Haircut),
        (None, false) => Ok(TraceMethod::None),
        (Some(method), false) if method != TraceMethod::None => {
            let why = "a method divides money in the order of time: leave time_ordered out, or ask for the method none";
            Err(refused(Reason::InvalidValue, "track_setting.method", method.name(), &why))
        }
        (Some(method), _) => Ok(method),
    }
}

const fn mixing(method: TraceMethod) -> Option<Mixing> {
    match method {
        TraceMethod::None => None,
        TraceMethod::Haircut => Some(Mixing::Haircut),
        TraceMethod::Fifo => Some(Mixing::Fifo),
        TraceMethod::Poison => Some(Mixing::Poison),
    }
}

fn bridge_chains(checks: &Checks<'_>, names: &[String]) -> Result<Vec<Chain>, Error> {
    at_most(BRIDGE_CHAINS.name, names, Chain::all().len())?;
    let chain = |(index, name): (usize, &String)| checks.chain(&format!("{}[{index}]", BRIDGE_CHAINS.name), name);
    names.iter().enumerate().map(chain).collect()
}

fn stop_codes(names: Option<Vec<String>>) -> Result<Vec<Code>, Error> {
    let Some(names) = names else { return Ok(STOP_CODES.to_vec()) };
    let known = |(index, name): (usize, String)| {
        let field = format!("stop_track_condition.labels[{index}]");
        let why = format!("there is no label code {name:?}; docs/labels.md lists them");
        Code::from_name(&name.to_lowercase()).ok_or_else(|| refused(Reason::InvalidValue, &field, &name, &why))
    };
    names.into_iter().enumerate().map(known).collect()
}
