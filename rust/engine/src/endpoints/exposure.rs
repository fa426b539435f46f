//! How much of the money of an address came from whom, and went to whom.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use headwater_graph::source::Direction;
use headwater_graph::trace::{
    Exposure, LedgerSource, Reach, Stop, StopRules, UnattributedReason, exposure, exposure_category, gravest,
    naming_codes,
};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Usd};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Error;
use crate::analysis::Analysis;
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::{AddressText, ChainName, ChainText, CodeText, ContractList, SymbolList, TimeBound, form, values};
use crate::labels::{self, ClaimDispute};
use crate::method::Method;
use crate::query_meta::{MovementSource, QueryMeta};
use crate::request::{Checks, DirectionFilter, Warnings};
use crate::scope::{Scope, ScopeFields};
use crate::trace::{EdgeDirection, TruncationName, bounded, dollars, movement_source, rounded, source};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "exposure",
    path: "/v1/exposure",
    method: Method::Post,
    alternative: None,
    class: CostClass::Heavy,
    cost: 10,
    tag: Tag::Intelligence,
    summary: "Exposure by category",
    description: "Which part of the money of an address came from, or went to, exchanges, mixers, sanctioned and other named \
                  addresses: directly, or through addresses that nobody has named, in proportion to what these had when they \
                  paid on (haircut).",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: None,
    first: &[],
    example: Example::new(|| json!({"blockchain": "ethereum", "address": ALICE}), ("blockchain", "solana")),
    calls: Calls::of::<ExposureAnalysis>(),
};

/// Payments to a named address where nothing is said, and at most.
const HOPS: (i64, i64) = (1, 5);
/// Counterparties of an address between that are followed, largest first.
const FANOUT: usize = 100;
/// Addresses that are looked through in one direction.
const MAX_NODES: usize = 1_000;
/// Addresses of a category that are named.
const MAX_NAMED: usize = 10;

form! {
    /// Payments to a named address at most.
    ExposureHops(i64 => i64, Copy): json!({"type": "integer", "minimum": 1, "maximum": HOPS.1, "default": HOPS.0});
}

values! {
    /// Why money has no name: it went beyond the last hop (`depth_limit`), through an address that is not looked through
    /// (`hub`), to one that has no owner (`no_owner`), stayed at an address between, was there before the data begins or paid fees (`kept`), came back to an address of
    /// the walk (`again`), was left out (`fanout_limit`, `max_nodes`, `time_budget`), or is what every hop beyond the first takes
    /// off (`decay`).
    UnattributedName {
        DepthLimit = "depth_limit", Hub = "hub", NoOwner = "no_owner", Stayed = "kept", Returned = "again", FanoutLimit = "fanout_limit",
        MaxNodes = "max_nodes", TimeBudget = "time_budget", Decay = "decay",
    }
}

/// `POST /v1/exposure`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct ExposureRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// Whose money.
    address: AddressText,
    /// `in`: where it came from; `out`: where it went; omitted: both.
    direction: Option<DirectionFilter>,
    /// Payments to a named address at most: 1 for direct exposure alone.
    max_hops: Option<ExposureHops>,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
    /// Symbols, in any case; not together with `contracts`.
    symbols: Option<SymbolList>,
    /// Contracts, null or `native` for the coin of the chain.
    contracts: Option<ContractList>,
}

/// Checked parameters of an exposure.
#[derive(Debug)]
pub struct ExposureParams {
    scope: Scope,
    address: Address,
    directions: Vec<Direction>,
    max_hops: u8,
}

/// The exposure of an address. Amounts are US dollars at the times of its own payments; what has no price is in no sum.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ExposureReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The address, canonical.
    pub address: AddressText,
    /// What came from named addresses, or went to them, in one payment: by amount.
    pub direct: Vec<ExposureRecord>,
    /// The same through addresses that nobody has named, less 5 % for each hop beyond the first.
    pub indirect: Vec<ExposureRecord>,
    /// All that came from others and went to others, in the directions asked for; null where nothing had a price.
    pub total_usd: Option<f64>,
    /// What is in neither list.
    pub unattributed_usd: Option<f64>,
    /// The same by direction and reason, by amount.
    pub unattributed: Vec<UnattributedRecord>,
    /// Payments of the address without a price.
    pub unpriced_count: u64,
    /// Addresses that were looked through.
    pub explored_nodes: u64,
    /// Whether something was left out.
    pub truncated: bool,
    /// What.
    pub truncation_reasons: Vec<TruncationName>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// The query.
    pub meta: QueryMeta,
}

/// Exposure to one category.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ExposureRecord {
    /// The family of a risk (`sanctions`, `mixing`, `scam`, ...) or the kind of a service (`exchange`, `bridge`, ...); an
    /// address of several counts as the gravest.
    pub category: CodeText,
    /// `in`: it came from there; `out`: it went there.
    pub direction: EdgeDirection,
    /// US dollars.
    pub amount_usd: f64,
    /// Its part of all money in that direction.
    pub share: f64,
    /// Distinct named addresses.
    pub addresses: u64,
    /// Payments between the address and the nearest of them.
    pub hops: u64,
    /// The largest of them, at most ten.
    pub top: Vec<ExposedTo>,
}

/// A named address that money came from or went to.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ExposedTo {
    /// The address.
    pub address: AddressText,
    /// Who is behind it; null when nobody is known.
    pub entity_name: Option<String>,
    /// US dollars.
    pub amount_usd: f64,
    /// The dispute of a claim that puts it into the category; null where none is disputed.
    pub disputed: Option<ClaimDispute>,
}

/// Money that no named address was found for.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct UnattributedRecord {
    /// `in`: it came to the address; `out`: it left it.
    pub direction: EdgeDirection,
    /// Why.
    pub reason: UnattributedName,
    /// US dollars.
    pub amount_usd: f64,
}

/// The exposure of an address.
pub struct ExposureAnalysis;

impl Analysis for ExposureAnalysis {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = ExposureRequest;
    type Params = ExposureParams;
    type Report = ExposureReport;
    const IS_VALUED: bool = true;
    const JUDGES_BY_LABELS: bool = true;

    fn params(request: ExposureRequest, checks: &mut Checks<'_>) -> Result<ExposureParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = checks.address(chain, "address", &request.address)?;
        let max_hops = bounded("max_hops", request.max_hops.map(i64::from), (1, HOPS))?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            start_time: request.start_time,
            end_time: request.end_time,
            ..ScopeFields::default()
        };
        let directions = match request.direction.unwrap_or(DirectionFilter::All) {
            DirectionFilter::All => vec![Direction::Incoming, Direction::Outgoing],
            DirectionFilter::In => vec![Direction::Incoming],
            DirectionFilter::Out => vec![Direction::Outgoing],
        };
        Ok(ExposureParams {
            scope: Scope::new(checks, chain, fields)?,
            address,
            directions,
            max_hops: u8::try_from(max_hops).expect("at most 5"),
        })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &ExposureParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<ExposureReport, Error> {
        let ExposureParams { scope, address, directions, max_hops } = params;
        let chain = scope.chain;
        labels::warn(ledger, warnings);
        coverage::warn(ledger, chain, scope.window, warnings);
        let stops = StopRules::at(naming_codes());
        let mut source = source(ledger, scope, &stops, cancel);
        let start = source.node(*address);
        let reach = Reach { max_hops: *max_hops, limit: FANOUT, max_nodes: MAX_NODES };
        let mut found = Vec::new();
        for direction in directions {
            found.push((*direction, exposure(&mut source, start, (*direction, reach))?));
        }
        let is_from_sums = found.iter().any(|(_, exposed)| exposed.is_from_sums);
        let read = if is_from_sums { MovementSource::Edges } else { movement_source(chain) };
        let mut summary = Summary::default();
        for (direction, exposed) in &found {
            summary.add(*direction, exposed, &source)?;
        }
        if summary.unpriced > 0 {
            let mut end = CorePricesEnd::new(ledger);
            end.note_chain(chain);
            end.warn(warnings);
        }
        Ok(ExposureReport {
            blockchain: ChainName::from(chain),
            address: AddressText::from(address),
            direct: summary.records(|hops| hops == 1),
            indirect: summary.records(|hops| hops > 1),
            total_usd: summary.known(summary.total),
            unattributed_usd: summary.known(summary.unattributed.values().copied().sum()),
            unattributed: summary.unattributed(),
            unpriced_count: summary.unpriced,
            explored_nodes: found.iter().map(|(_, exposed)| exposed.looked_through as u64).sum(),
            truncated: !summary.truncations.is_empty(),
            truncation_reasons: summary.truncations.iter().copied().collect(),
            as_of_block: ledger.coverage().get(&chain).and_then(|coverage| coverage.last_block),
            meta: QueryMeta { source: Some(read), ..QueryMeta::new(CostClass::Heavy) },
        })
    }

    fn meta(report: &mut ExposureReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

/// Shares by direction, category and whether they are direct: what each address has, and the fewest hops.
type Shares = BTreeMap<(EdgeDirection, &'static str, bool), (BTreeMap<Address, NamedShare>, u8)>;

/// What a named address has.
struct NamedShare {
    usd: Usd,
    entity: Option<String>,
    dispute: Option<ClaimDispute>,
}

#[derive(Default)]
struct Summary {
    total: Usd,
    of_direction: BTreeMap<EdgeDirection, Usd>,
    unpriced: u64,
    shares: Shares,
    unattributed: BTreeMap<(EdgeDirection, UnattributedName), Usd>,
    truncations: BTreeSet<TruncationName>,
}

impl Summary {
    fn add(&mut self, direction: Direction, exposed: &Exposure, source: &LedgerSource<'_>) -> Result<(), Error> {
        let direction = EdgeDirection::from(direction);
        self.total += exposed.total;
        self.of_direction.insert(direction, exposed.total);
        self.unpriced += exposed.unpriced;
        for share in &exposed.shares {
            let judged = source.labels(share.node)?;
            let code = gravest(&judged.codes);
            let category = code.and_then(exposure_category).expect("a named address has a category");
            let weighted = share.weighted_usd();
            if weighted < share.usd {
                *self.unattributed.entry((direction, UnattributedName::Decay)).or_default() += share.usd - weighted;
            }
            let key = (direction, category, share.hops == 1);
            let (of_address, nearest) = self.shares.entry(key).or_insert_with(|| (BTreeMap::new(), share.hops));
            *nearest = (*nearest).min(share.hops);
            let named = of_address.entry(*source.address(share.node)).or_insert_with(|| NamedShare {
                usd: Usd::ZERO,
                entity: judged.entity.map(str::to_owned),
                dispute: code.and_then(|code| judged.dispute_of(code)).map(ClaimDispute::from),
            });
            named.usd += weighted;
        }
        for (why, usd) in &exposed.unattributed {
            let (reason, cut) = named(*why);
            *self.unattributed.entry((direction, reason)).or_default() += *usd;
            self.truncations.extend(cut);
        }
        Ok(())
    }

    fn records(&self, is_meant: impl Fn(u8) -> bool) -> Vec<ExposureRecord> {
        let of_kind = self.shares.iter().filter(|(_, (_, hops))| is_meant(*hops));
        let mut records: Vec<(Usd, ExposureRecord)> = of_kind
            .map(|((direction, category, _), (of_address, hops))| {
                let sum: Usd = of_address.values().map(|share| share.usd).sum();
                let mut top: Vec<_> = of_address.iter().collect();
                top.sort_by_key(|(address, share)| (Reverse(share.usd), **address));
                let exposed_to = |(address, share): (&Address, &NamedShare)| ExposedTo {
                    address: AddressText::from(address),
                    entity_name: share.entity.clone(),
                    amount_usd: dollars(share.usd),
                    disputed: share.dispute.clone(),
                };
                let record = ExposureRecord {
                    category: CodeText((*category).to_owned()),
                    direction: *direction,
                    amount_usd: dollars(sum),
                    share: rounded(dollars(sum) / dollars(self.of_direction[direction])),
                    addresses: of_address.len() as u64,
                    hops: u64::from(*hops),
                    top: top.into_iter().take(MAX_NAMED).map(exposed_to).collect(),
                };
                (sum, record)
            })
            .collect();
        records.sort_by_key(|(usd, _)| Reverse(*usd));
        records.into_iter().map(|(_, record)| record).collect()
    }

    fn unattributed(&self) -> Vec<UnattributedRecord> {
        let mut order: Vec<_> = self.unattributed.iter().collect();
        order.sort_by_key(|(_, usd)| Reverse(**usd));
        let record = |((direction, reason), usd): (&(EdgeDirection, UnattributedName), &Usd)| UnattributedRecord {
            direction: *direction,
            reason: *reason,
            amount_usd: dollars(*usd),
        };
        order.into_iter().map(record).collect()
    }

    /// Nothing is known where payments have no price and none has one.
    fn known(&self, usd: Usd) -> Option<f64> {
        (self.total > Usd::ZERO || self.unpriced == 0).then(|| dollars(usd))
    }
}

/// The name of a reason, and what it leaves out.
fn named(why: UnattributedReason) -> (UnattributedName, Option<TruncationName>) {
    match why {
        UnattributedReason::Stayed => (UnattributedName::Stayed, None),
        UnattributedReason::Returned => (UnattributedName::Returned, None),
        UnattributedReason::Stopped(Stop::DepthLimit) => (UnattributedName::DepthLimit, None),
        UnattributedReason::Stopped(Stop::FanoutLimit) => {
            (UnattributedName::FanoutLimit, Some(TruncationName::FanoutLimit))
        }
        UnattributedReason::Stopped(Stop::NoOwner) => (UnattributedName::NoOwner, None),
        UnattributedReason::Stopped(_) => (UnattributedName::Hub, None),
        UnattributedReason::MaxNodes => (UnattributedName::MaxNodes, Some(TruncationName::MaxNodes)),
        UnattributedReason::TimeBudget => (UnattributedName::TimeBudget, Some(TruncationName::TimeBudget)),
    }
}
