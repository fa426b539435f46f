//! Traces, paths and exposure: how requests become settings of `headwater_graph::trace`, and how answers carry what it found.

use headwater_graph::source::{Direction, Node};
use headwater_graph::taint::Method;
use headwater_graph::trace::{
    AssetFilter, Balance, Division, Edge, End, Inclusion, LedgerSource, MovementFilter, StopRules, Trace, TraceScope,
    TracedAccount, TracedAsset, Truncation, Unit,
};
use headwater_intel::bitcoin::change_output::MAX_JUDGED;
use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Amount, Asset, Chain, Family, Timestamp, Usd};
use serde::{Deserialize, Serialize};

use crate::core_prices_end::CorePricesEnd;
use crate::crossings::{CrossChainTransfer, CrossingStatus, crossings};
use crate::fields::{AddressText, ChainName, CodeText, DecimalText, HashText, RawAmountText, Time, values};
use crate::labels::{ClaimDispute, codes};
use crate::query_meta::MovementSource;
use crate::request::{Warnings, refused};
use crate::scope::{EdgeScope, Judged, Scope, Verdict};
use crate::{Error, Reason};

values! {
    /// Which way the walk went along an edge.
    EdgeDirection { Out = "out", In = "in" }
    /// Why a trace is not complete.
    TruncationName {
        FanoutLimit = "fanout_limit", MaxNodes = "max_nodes", DepthLimit = "depth_limit", TimeBudget = "time_budget",
    }
}

/// An account of a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceNode {
    /// Its chain: that of the trace, or one that a bridge led to.
    pub blockchain: ChainName,
    /// The address.
    pub address: AddressText,
    /// Hops from the start: 0 for it, negative inward, positive outward. Bitcoin's change is no hop, so it has the depth of
    /// whoever paid.
    pub depth: i32,
    /// Codes of its labels, most confident first.
    pub labels: Vec<CodeText>,
    /// Who is behind it; null when nobody is known.
    pub entity_name: Option<String>,
    /// The dispute of a claim that gives it its name: of the entity, else of the first label; null where none is disputed.
    pub disputed: Option<ClaimDispute>,
    /// US dollars that came to it along edges of the trace; null where nothing had a price.
    pub in_amount_usd: Option<f64>,
    /// US dollars that left it along edges of the trace.
    pub out_amount_usd: Option<f64>,
    /// Distinct addresses it dealt with; null where it was not looked through.
    pub counterparties: Option<u64>,
    /// Why the trace does not go on from it; null where it does, as at a bridge that leads to another chain: `depth_limit`,
    /// `label`, `hub`, `contract`, `no_owner`, `not_held`, `no_outflow`, `filtered`, `time_range`, `time_budget`.
    pub stop_reason: Option<CodeText>,
    /// With a method: US dollars of what came to it that are traced; null without one, or without a price.
    pub taint_amount: Option<DecimalText>,
    /// With a method: traced money by all money that came to it along edges of the trace.
    pub taint_ratio: Option<f64>,
    /// The part of the money of the start that stayed here while another part went on, counted as the `share` of an end, in the
    /// direction in which the walk first came here; null where the address was not looked through, and at ends.
    pub stayed_share: Option<f64>,
    /// By asset, over all of its history: what came and what became of it. Empty where it was not looked through; without assets
    /// of which more than 2^128 units came.
    pub assets: Vec<TraceAsset>,
}

/// What became of the money of an account in one asset: `in = out + stayed + pruned + filtered + fee`. Where the walk went
/// inward alone it went against time, so that what left the account is what comes in here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceAsset {
    /// The symbol, or the contract where there is none.
    pub symbol: String,
    /// The contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// What came in, and what must have been there before the data begins. Amounts are in the smallest unit.
    pub in_amount: RawAmountText,
    /// What left along edges of the trace.
    pub out_amount: RawAmountText,
    /// How much of what came is traced.
    pub taint_amount: RawAmountText,
    /// What is left.
    pub stayed: RawAmountText,
    /// What left along edges that there was no room for.
    pub pruned: RawAmountText,
    /// What left otherwise: outside of time and filters, or before the traced money came.
    pub filtered: RawAmountText,
    /// Fees.
    pub fee: RawAmountText,
}

/// What went from one address to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceEdge {
    /// The chain of who paid.
    pub from_blockchain: ChainName,
    /// Who paid.
    pub from_address: AddressText,
    /// The chain of who was paid: another one where the edge leads over a bridge. Outward such an edge runs from the bridge to the
    /// receiver, inward from the sender to the bridge; asset, amount, times and transactions are those of the far chain.
    pub to_blockchain: ChainName,
    /// Who was paid.
    pub to_address: AddressText,
    /// The hop: negative inward.
    pub depth: i32,
    /// Which way the walk went.
    pub direction: EdgeDirection,
    /// The symbol, or the contract where there is none.
    pub symbol: String,
    /// The contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// In whole units; null where nobody states decimals.
    pub amount: Option<DecimalText>,
    /// In the smallest unit.
    pub amount_raw: RawAmountText,
    /// US dollars at the times of the movements; null without a price.
    pub amount_usd: Option<f64>,
    /// Distinct transactions.
    pub tx_count: u64,
    /// Time of the first, epoch seconds.
    pub first_activity: Time,
    /// Time of the last.
    pub last_activity: Time,
    /// The largest transactions, at most ten.
    pub tx_hashes: Vec<HashText>,
    /// With a method: how much of it is traced, in whole units.
    pub taint_amount: Option<DecimalText>,
    /// Bitcoin: whether it returned to the payer, by change detection with a confidence of 0.9 or more. Such an edge is no hop
    /// of a trace. In a path: whether all of its payments did.
    pub is_change: bool,
    /// Where it went on over a bridge, or came from: where the payer sends over one with the largest of the transactions, or the
    /// payee receives from one. Null where neither does.
    pub cross_chain: Option<TraceCrossing>,
}

/// Where money went on over a bridge, or came from: see `cross-chain` for all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceCrossing {
    /// The chain that it left; empty where it is not known, as all that follows.
    pub source_chain: String,
    /// The transaction there.
    pub source_tx_hash: String,
    /// Who sent.
    pub sender_address: String,
    /// The chain that it went to.
    pub destination_chain: String,
    /// The transaction there; null where it is not known.
    pub destination_tx_hash: Option<String>,
    /// Who received, or is to: a trace goes on from there.
    pub receiver_address: String,
    /// What became of it.
    pub status: Option<CrossingStatus>,
    /// Name of the bridge.
    pub bridge: Option<String>,
}

impl From<CrossChainTransfer> for TraceCrossing {
    fn from(crossing: CrossChainTransfer) -> Self {
        Self {
            source_chain: crossing.source_chain,
            source_tx_hash: crossing.source_tx_hash,
            sender_address: crossing.sender_address,
            destination_chain: crossing.destination_chain,
            destination_tx_hash: Some(crossing.destination_tx_hash).filter(|hash| !hash.is_empty()),
            receiver_address: crossing.receiver_address,
            status: crossing.status,
            bridge: crossing.bridge,
        }
    }
}

/// An address at which the trace ends in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceEnd {
    /// Its chain.
    pub blockchain: ChainName,
    /// The address.
    pub address: AddressText,
    /// Who it is, or the code of its first label.
    pub label: Option<String>,
    /// The dispute of a claim that gives it that label; null where none is disputed.
    pub disputed: Option<ClaimDispute>,
    /// Which way the walk came to it. An address at which both walks end is listed twice.
    pub direction: EdgeDirection,
    /// Hops from the start.
    pub hops: u32,
    /// US dollars of the traced money at the times at which it arrived, inward at which it left; null without a price.
    pub amount_usd: Option<f64>,
    /// The traced money by asset.
    pub assets: Vec<TraceEndAsset>,
    /// Its part of what left the start, inward of what came to it, by what that was worth there and then. With `haircut` and
    /// `fifo` alone; null too where several assets moved and none has a price. See `summary.divisions`.
    pub share: Option<f64>,
    /// Why it ends there.
    pub stop_reason: CodeText,
}

/// Traced money that came to an end, in one asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceEndAsset {
    /// The symbol, or the contract where there is none.
    pub symbol: String,
    /// The contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// In whole units; null where nobody states decimals.
    pub amount: Option<DecimalText>,
    /// In the smallest unit.
    pub amount_raw: RawAmountText,
}

/// What became of the money of the start in one direction, as shares of it: they add up to 1, but for rounding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceDivision {
    /// `out`: what left the start; `in`: what came to it.
    pub direction: EdgeDirection,
    /// What the shares are counted in: `usd`, at the times at which the money left the start or came to it, or the symbol of
    /// the one asset that moved, where it has no price.
    pub unit: String,
    /// What came to an address of `ends`, whatever became of it there.
    pub ends: f64,
    /// What came back to the start.
    pub returned: f64,
    /// What stayed at addresses from which another part went on.
    pub stayed: f64,
    /// What went on to counterparties for which there was no room.
    pub pruned: f64,
    /// What left such addresses outside of times and filters, or for nobody.
    pub filtered: f64,
    /// Fees that such addresses paid, and those of bridges.
    pub fees: f64,
}

/// A trace in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TraceSummary {
    /// Addresses.
    pub node_count: u64,
    /// Edges.
    pub edge_count: u64,
    /// US dollars that left the start.
    pub outward_amount_usd: Option<f64>,
    /// US dollars that came to it.
    pub inward_amount_usd: Option<f64>,
    /// Movements without a price.
    pub unpriced_count: u64,
    /// How the money is divided, by direction. With `haircut` and `fifo` alone, where something was divided.
    pub divisions: Vec<TraceDivision>,
}

/// Checks a number of a request against its bounds; without one it is the default.
pub(crate) fn bounded(field: &str, value: Option<i64>, (min, (default, max)): (i64, (i64, i64))) -> Result<i64, Error> {
    match value {
        None => Ok(default),
        Some(value) if (min..=max).contains(&value) => Ok(value),
        Some(value) => {
            let why = format!("expected a number from {min} to {max}, got {value}");
            Err(refused(Reason::InvalidValue, field, &value.to_string(), &why))
        }
    }
}

/// Returns the source of a walk over the movements of a scope.
pub(crate) fn source<'a>(
    ledger: &'a dyn Ledger,
    scope: &'a Scope,
    stops: &'a StopRules,
    cancel: &'a Cancel,
) -> LedgerSource<'a> {
    let scope = TraceScope { chain: scope.chain, window: scope.window, filter: scope, stops };
    LedgerSource::new(ledger, scope, cancel)
}

impl MovementFilter for Scope {
    fn of_asset(&self, asset: &Asset, terms: &AssetTerms) -> AssetFilter {
        let rule = self.rule_of(asset, terms);
        Box::new(move |posting| match rule.judge(&Judged::from(posting)) {
            Verdict::Shown => Inclusion::Followed,
            Verdict::Unverified | Verdict::Outside => Inclusion::BalanceOnly,
            Verdict::Failed | Verdict::ZeroValue => Inclusion::LeftOut,
        })
    }

    fn is_of_sums(&self) -> bool {
        self.of_edges() == Some(EdgeScope::Default)
    }
}

/// The tables that the movements of the accounts of a chain are read from.
pub(crate) fn movement_source(chain: Chain) -> MovementSource {
    match chain.family() {
        Family::Utxo => MovementSource::Utxo,
        Family::Evm | Family::Tron => MovementSource::Postings,
    }
}

/// Warns of bitcoin payments that may be change, as a walk came to too many transactions.
pub(crate) fn warn_of_change(source: &LedgerSource<'_>, warnings: &mut Warnings) {
    let unjudged = source.unjudged_change();
    if unjudged > 0 {
        let message = format!(
            "change was looked for in the first {MAX_JUDGED} transactions: in those that the walk came to later, change counts \
             as paid; ask for fewer hops or a shorter time"
        );
        warnings.add_counted("change_limit", message, unjudged);
    }
}

/// A trace with the source of what answers show of it.
pub(crate) struct TraceWriter<'s, 'a> {
    pub ledger: &'a dyn Ledger,
    pub source: &'s LedgerSource<'a>,
    pub method: Option<Method>,
    pub cancel: &'a Cancel,
}

impl TraceWriter<'_, '_> {
    /// Warns of payments that are later than the core prices.
    pub fn warn_of_core_prices<'e>(&self, edges: impl IntoIterator<Item = &'e Edge>, warnings: &mut Warnings) {
        let mut end = CorePricesEnd::new(self.ledger);
        for edge in edges {
            end.note_asset(&self.source.asset(edge.asset).terms, Some(Timestamp::new(edge.last)));
        }
        end.warn(warnings);
    }

    pub fn nodes(&self, trace: &Trace) -> Result<Vec<TraceNode>, Error> {
        trace.nodes.iter().map(|reached| self.node(reached, trace)).collect()
    }

    fn node(&self, reached: &TracedAccount, trace: &Trace) -> Result<TraceNode, Error> {
        let judged = self.source.labels(reached.node)?;
        let taint = self.method.and_then(|_| Self::taint(reached, &trace.edges));
        let division = reached.heading.and_then(|heading| trace.division(heading)).filter(|of| of.whole > 0);
        Ok(TraceNode {
            blockchain: ChainName::from(self.source.chain(reached.node)),
            address: AddressText::from(self.source.address(reached.node)),
            depth: reached.depth,
            labels: codes(&judged),
            entity_name: judged.entity.map(str::to_owned),
            disputed: judged.dispute_of_name().map(ClaimDispute::from),
            in_amount_usd: reached.in_usd.map(dollars),
            out_amount_usd: reached.out_usd.map(dollars),
            counterparties: reached.counterparties,
            stop_reason: reached.stop.map(|stop| CodeText(stop.name().to_owned())),
            taint_amount: taint.map(|(amount, _)| crate::valuation::decimal(cents(amount))),
            taint_ratio: taint.map(|(_, ratio)| rounded(ratio)),
            stayed_share: division.zip(reached.stayed).map(|(of, stayed)| share(stayed, of.whole)),
            assets: reached
                .balances
                .iter()
                // Sums stop there: tokens without worth that were made in numbers.
                .filter(|(_, balance)| balance.came < u128::MAX)
                .map(|(asset, balance)| self.asset(*asset, balance))
                .collect(),
        })
    }

    /// Traced US dollars that came to an account along the trace, and their share of all that did.
    fn taint(reached: &TracedAccount, edges: &[Edge]) -> Option<(f64, f64)> {
        let is_outward = reached.heading != Some(Direction::Incoming);
        let comes = |edge: &&Edge| match edge.direction {
            Direction::Outgoing => is_outward && edge.to == reached.node,
            Direction::Incoming => !is_outward && edge.from == reached.node,
        };
        let mut sums = (0.0, 0.0);
        for edge in edges.iter().filter(comes) {
            let (Some(usd), Some(taint)) = (edge.usd, edge.taint) else { continue };
            let share = if edge.amount.is_zero() { 0.0 } else { taint.to_f64(0) / edge.amount.to_f64(0) };
            sums = (sums.0 + dollars(usd) * share, sums.1 + dollars(usd));
        }
        (sums.1 > 0.0).then(|| (sums.0, sums.0 / sums.1))
    }

    fn asset(&self, asset: u32, balance: &Balance) -> TraceAsset {
        let view = self.source.asset(asset);
        let raw = |amount: u128| RawAmountText::from(Amount::from_u128(amount));
        TraceAsset {
            symbol: view.name(),
            contract: contract(view),
            in_amount: raw(balance.came),
            out_amount: raw(balance.followed),
            taint_amount: raw(balance.taint),
            stayed: raw(balance.stayed),
            pruned: raw(balance.pruned),
            filtered: raw(balance.filtered),
            fee: raw(balance.fee),
        }
    }

    /// The way of an edge over a bridge: its payer sends over one, or its payee receives from one, with its largest transaction.
    fn crossing(&self, edge: &Edge, warnings: &mut Warnings) -> Result<Option<TraceCrossing>, Error> {
        let Some(transaction) = edge.largest.first() else { return Ok(None) };
        let found = crossings(self.ledger, *transaction, warnings, self.cancel)?;
        let [from, to] = [edge.from, edge.to].map(|node| self.source.address(node));
        let (payer, payee) = (from.to_string(), to.to_string());
        let hash = self.hash(*transaction)?;
        let is_of = |crossing: &CrossChainTransfer| {
            crossing.source_tx_hash == *hash && crossing.sender_address == payer
                || crossing.destination_tx_hash == *hash && crossing.receiver_address == payee
        };
        Ok(found.into_iter().find(is_of).map(TraceCrossing::from))
    }

    fn hash(&self, transaction: TransactionRef) -> Result<HashText, Error> {
        let head = self.ledger.transaction_head(transaction)?;
        Ok(HashText::new(&head.hash, head.chain.family()))
    }

    pub fn edge(&self, edge: &Edge, warnings: &mut Warnings) -> Result<TraceEdge, Error> {
        let view = self.source.asset(edge.asset);
        let whole = |amount: Amount| view.terms.decimals.map(|decimals| DecimalText::new(amount, decimals));
        Ok(TraceEdge {
            from_blockchain: ChainName::from(self.source.chain(edge.from)),
            from_address: AddressText::from(self.source.address(edge.from)),
            to_blockchain: ChainName::from(self.source.chain(edge.to)),
            to_address: AddressText::from(self.source.address(edge.to)),
            depth: edge.depth,
            direction: edge.direction.into(),
            symbol: view.name(),
            contract: contract(view),
            amount: whole(edge.amount),
            amount_raw: RawAmountText::from(edge.amount),
            amount_usd: edge.usd.map(dollars),
            tx_count: edge.transactions,
            first_activity: Time(edge.first),
            last_activity: Time(edge.last),
            tx_hashes: edge.largest.iter().map(|transaction| self.hash(*transaction)).collect::<Result<_, _>>()?,
            taint_amount: edge.taint.and_then(whole),
            is_change: edge.is_change,
            cross_chain: self.crossing(edge, warnings)?,
        })
    }

    pub fn end(&self, end: &End, trace: &Trace) -> Result<TraceEnd, Error> {
        let judged = self.source.labels(end.node)?;
        let division = trace.division(end.direction).filter(|division| division.whole > 0);
        Ok(TraceEnd {
            blockchain: ChainName::from(self.source.chain(end.node)),
            address: AddressText::from(self.source.address(end.node)),
            label: judged.entity.map(str::to_owned).or_else(|| Some(judged.codes.first()?.code.name().to_owned())),
            disputed: judged.dispute_of_name().map(ClaimDispute::from),
            direction: end.direction.into(),
            hops: end.hops,
            amount_usd: end.usd.map(dollars),
            assets: end.assets.iter().map(|(asset, amount)| self.end_asset(*asset, *amount)).collect(),
            share: division.map(|division| share(end.source, division.whole)),
            stop_reason: CodeText(end.stop.name().to_owned()),
        })
    }

    fn end_asset(&self, asset: u32, amount: u128) -> TraceEndAsset {
        let (view, amount) = (self.source.asset(asset), Amount::from_u128(amount));
        TraceEndAsset {
            symbol: view.name(),
            contract: contract(view),
            amount: view.terms.decimals.map(|decimals| DecimalText::new(amount, decimals)),
            amount_raw: RawAmountText::from(amount),
        }
    }

    pub fn summary(&self, trace: &Trace, start: Node) -> TraceSummary {
        let [outward, inward] = DIRECTIONS.map(|direction| of_start(trace, start, direction));
        let division = |direction| self.division(direction, trace.division(direction)?);
        TraceSummary {
            node_count: trace.nodes.len() as u64,
            edge_count: trace.edges.len() as u64,
            outward_amount_usd: outward.map(dollars),
            inward_amount_usd: inward.map(dollars),
            unpriced_count: trace.edges.iter().map(|edge| edge.unpriced).sum(),
            divisions: DIRECTIONS.into_iter().filter_map(division).collect(),
        }
    }

    fn division(&self, direction: Direction, division: Division) -> Option<TraceDivision> {
        let of = |part: u128| share(part, division.whole);
        (division.whole > 0).then(|| TraceDivision {
            direction: direction.into(),
            unit: match division.unit {
                Unit::Asset(asset) => self.source.asset(asset).name(),
                Unit::Dollars | Unit::None => "usd".to_owned(),
            },
            ends: of(division.ended),
            returned: of(division.returned),
            stayed: of(division.stayed),
            pruned: of(division.pruned),
            filtered: of(division.filtered),
            fees: of(division.fees),
        })
    }
}

/// The contract of an asset; `None` for the native coin.
fn contract(asset: &TracedAsset) -> Option<AddressText> {
    asset.asset.contract().map(AddressText::from)
}

const DIRECTIONS: [Direction; 2] = [Direction::Outgoing, Direction::Incoming];

impl From<Direction> for EdgeDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Outgoing => Self::Out,
            Direction::Incoming => Self::In,
        }
    }
}

/// A part of a whole, to six decimals.
#[expect(clippy::cast_precision_loss, reason = "a share to six decimals")]
fn share(part: u128, whole: u128) -> f64 {
    rounded(part as f64 / whole as f64)
}

/// What left the start along the trace, or came to it.
fn of_start(trace: &Trace, start: Node, direction: Direction) -> Option<Usd> {
    let end = |edge: &Edge| if direction == Direction::Outgoing { edge.from } else { edge.to };
    let of = trace.edges.iter().filter(|edge| edge.direction == direction && end(edge) == start);
    of.filter_map(|edge| edge.usd).reduce(|sum, usd| sum + usd)
}

impl From<Truncation> for TruncationName {
    fn from(truncation: Truncation) -> Self {
        match truncation {
            Truncation::FanoutLimit => Self::FanoutLimit,
            Truncation::MaxNodes => Self::MaxNodes,
            Truncation::DepthLimit => Self::DepthLimit,
            Truncation::TimeBudget => Self::TimeBudget,
        }
    }
}

pub(crate) fn dollars(usd: Usd) -> f64 {
    usd.to_f64()
}

/// Two decimals, half to even.
fn cents(usd: f64) -> f64 {
    (usd * 100.0).round_ties_even() / 100.0
}

/// Six decimals, half to even.
pub(crate) fn rounded(share: f64) -> f64 {
    (share * 1e6).round_ties_even() / 1e6
}
