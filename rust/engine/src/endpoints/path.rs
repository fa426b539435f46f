//! How money went from one address to others.

use std::collections::BTreeSet;

use headwater_graph::paths::{Path, PathSet, Settings, paths};
use headwater_graph::trace::{Edge, MAX_MOVEMENTS, STOP_CODES, StopRules};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Usd};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::{ALICE, BOB};
use crate::fields::{AddressText, ChainName, ChainText, ContractList, OptOut, SymbolList, TimeBound, form};
use crate::labels;
use crate::method::Method;
use crate::query_meta::QueryMeta;
use crate::request::{Checks, Warnings, refused};
use crate::scope::{Bound, Scope, ScopeFields};
use crate::trace::{TraceEdge, TraceWriter, TruncationName, bounded, dollars, movement_source, source, warn_of_change};
use crate::{Error, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "path",
    path: "/v1/path",
    method: Method::Post,
    alternative: None,
    class: CostClass::Heavy,
    cost: 10,
    tag: Tag::Intelligence,
    summary: "Paths between addresses",
    description: "The widest paths along which money can have gone from one address to others: in one asset, every payment \
                  after the one before, through no service. A path is a possibility: coins in one account cannot be told apart.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: None,
    first: &[],
    example: Example::new(
        || json!({"blockchain": "ethereum", "source": ALICE, "targets": [BOB]}),
        ("blockchain", "solana"),
    ),
    calls: Calls::of::<PathAnalysis>(),
};

/// Payments of a path where nothing is said, and at most.
const HOPS: (i64, i64) = (4, 7);
/// Paths.
const PATHS: (i64, i64) = (3, 20);
/// Targets at most.
const MAX_TARGETS: usize = 20;
/// Counterparties of an address that are looked at in each direction, largest first.
const FANOUT: usize = 500;
/// Addresses that are looked through.
const MAX_NODES: usize = 2_000;

form! {
    /// Payments of a path at most.
    PathHops(i64 => i64, Copy): json!({"type": "integer", "minimum": 1, "maximum": HOPS.1, "default": HOPS.0});
    /// Paths at most.
    PathCount(i64 => i64, Copy): json!({"type": "integer", "minimum": 1, "maximum": PATHS.1, "default": PATHS.0});
    /// 1 to 20 addresses.
    TargetList(Vec<String> => [String]): json!({"type": "array", "minItems": 1, "maxItems": MAX_TARGETS, "items": AddressText::json()});
}

/// `POST /v1/path`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct PathRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// Where the money was.
    source: AddressText,
    /// Where it may have gone; one that is named twice counts once.
    targets: TargetList,
    /// Payments of a path at most.
    max_hops: Option<PathHops>,
    /// Paths at most, over all targets.
    k: Option<PathCount>,
    /// Only payments that came after the one before.
    time_ordered: Option<OptOut>,
    /// What every hop has to carry at least; hops without a price do not count then.
    min_amount_usd: Option<Bound>,
    /// Symbols, in any case; not together with `contracts`.
    symbols: Option<SymbolList>,
    /// Contracts, null or `native` for the coin of the chain.
    contracts: Option<ContractList>,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
}

/// Checked parameters of a search for paths.
#[derive(Debug)]
pub struct PathParams {
    scope: Scope,
    source: Address,
    targets: Vec<Address>,
    settings: Settings,
}

/// Paths of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PathReport {
    /// Chain.
    pub blockchain: ChainName,
    /// Where the money was, canonical.
    pub source: AddressText,
    /// Where it may have gone, canonical, in the order of the request.
    pub targets: Vec<AddressText>,
    /// Paths, widest first, then the shorter. A path ends at the first target that it comes to.
    pub paths: Vec<MoneyPath>,
    /// Addresses that were looked through.
    pub explored_nodes: u64,
    /// Whether something was left out, so that there may be further paths.
    pub truncated: bool,
    /// What.
    pub truncation_reasons: Vec<TruncationName>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// The query.
    pub meta: QueryMeta,
}

/// One way along which money can have gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MoneyPath {
    /// The target that it leads to.
    pub target: AddressText,
    /// Payments.
    pub hops: u64,
    /// US dollars of the hop that carried least; null where a hop has no price.
    pub bottleneck_usd: Option<f64>,
    /// Its hops: the payments that can have been part of it, after the first of the hop before and not after the last of the
    /// hop that follows.
    pub edges: Vec<TraceEdge>,
}

/// Paths of money.
pub struct PathAnalysis;

impl Analysis for PathAnalysis {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = PathRequest;
    type Params = PathParams;
    type Report = PathReport;
    const IS_VALUED: bool = true;
    const JUDGES_BY_LABELS: bool = true;

    fn params(request: PathRequest, checks: &mut Checks<'_>) -> Result<PathParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let source = checks.address(chain, "source", &request.source)?;
        let targets = targets(checks, chain, &request.targets, source)?;
        let max_hops = bounded("max_hops", request.max_hops.map(i64::from), (1, HOPS))?;
        let count = bounded("k", request.k.map(i64::from), (1, PATHS))?;
        let min_usd = request.min_amount_usd.as_ref().map(usd).transpose()?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            start_time: request.start_time,
            end_time: request.end_time,
            ..ScopeFields::default()
        };
        Ok(PathParams {
            scope: Scope::new(checks, chain, fields)?,
            source,
            targets,
            settings: Settings {
                max_hops: u8::try_from(max_hops).expect("at most 7"),
                count: usize::try_from(count).expect("at most 20"),
                is_time_ordered: request.time_ordered.is_none_or(bool::from),
                min_usd,
                limit: FANOUT,
                max_nodes: MAX_NODES,
                max_movements: MAX_MOVEMENTS,
            },
        })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &PathParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<PathReport, Error> {
        let PathParams { scope, source: payer, targets, settings } = params;
        let chain = scope.chain;
        labels::warn(ledger, warnings);
        coverage::warn(ledger, chain, scope.window, warnings);
        let stops = StopRules::at(STOP_CODES.to_vec());
        let mut source = source(ledger, scope, &stops, cancel);
        let from = source.path_end(*payer)?;
        let to = targets.iter().map(|target| source.path_end(*target)).collect::<Result<BTreeSet<_>, _>>()?;
        let found = paths(&mut source, from, &to, *settings)?;
        let edges = found.paths.iter().map(|path| path.edges(&mut source)).collect::<Result<Vec<_>, _>>()?;
        warn_of_change(&source, warnings);
        let writer = TraceWriter { ledger, source: &source, method: None, cancel };
        writer.warn_of_core_prices(edges.iter().flatten(), warnings);
        let truncation_reasons = truncations(&found);
        Ok(PathReport {
            blockchain: ChainName::from(chain),
            source: AddressText::from(payer),
            targets: targets.iter().map(AddressText::from).collect(),
            paths: found
                .paths
                .iter()
                .zip(&edges)
                .map(|of| money_path(&writer, of, warnings))
                .collect::<Result<_, _>>()?,
            explored_nodes: found.looked_through as u64,
            truncated: !truncation_reasons.is_empty(),
            truncation_reasons,
            as_of_block: ledger.coverage().get(&chain).and_then(|coverage| coverage.last_block),
            meta: QueryMeta { source: Some(movement_source(chain)), ..QueryMeta::new(CostClass::Heavy) },
        })
    }

    fn meta(report: &mut PathReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

fn targets(
    checks: &mut Checks<'_>,
    chain: headwater_types::Chain,
    texts: &[String],
    source: Address,
) -> Result<Vec<Address>, Error> {
    if texts.is_empty() || texts.len() > MAX_TARGETS {
        let why = format!("expected 1 to {MAX_TARGETS} addresses, got {}", texts.len());
        return Err(refused(Reason::InvalidValue, "targets", &texts.len().to_string(), &why));
    }
    let mut targets = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let field = format!("targets[{index}]");
        let target = checks.address(chain, &field, text)?;
        if target == source {
            return Err(refused(Reason::InvalidValue, &field, text, &"this is the source; name another address"));
        }
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

fn usd(bound: &Bound) -> Result<Usd, Error> {
    let too_large = || refused(Reason::InvalidValue, "min_amount_usd", bound.text(), &"there is not so much money");
    Usd::from_f64(bound.to_f64()).ok_or_else(too_large)
}

fn truncations(found: &PathSet) -> Vec<TruncationName> {
    let cuts = [
        (found.is_fanout_limited, TruncationName::FanoutLimit),
        (found.is_node_limited, TruncationName::MaxNodes),
        (found.is_over, TruncationName::TimeBudget),
    ];
    cuts.into_iter().filter(|(is_cut, _)| *is_cut).map(|(_, name)| name).collect()
}

fn money_path(
    writer: &TraceWriter<'_, '_>,
    (path, edges): (&Path, &Vec<Edge>),
    warnings: &mut Warnings,
) -> Result<MoneyPath, Error> {
    let last = path.links.last().expect("a path has hops");
    Ok(MoneyPath {
        target: AddressText::from(writer.source.address(last.to)),
        hops: path.links.len() as u64,
        bottleneck_usd: path.bottleneck.map(dollars),
        edges: edges.iter().map(|edge| writer.edge(edge, warnings)).collect::<Result<_, _>>()?,
    })
}
