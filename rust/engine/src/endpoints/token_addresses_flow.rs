//! What a set of addresses received and sent of one token, each of them and all together.

use std::collections::HashSet;
use std::ops::ControlFlow;

use headwater_ledger::read::Direction;
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::flow::AssetTally;
use headwater_types::{Address, Amount, Asset, Balance, Timestamp};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::asset_book::{AssetBook, AssetView};
use crate::cost_class::CostClass;
use crate::endpoint::{Alternative, Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::{ALICE, BOB, USDT};
use crate::fields::{AddressList, AddressText, ChainName, ChainText, ContractText, Time, TimeBound};
use crate::flows::{Others, movement};
use crate::holdings::{asset_of, is_stablecoin};
use crate::limits::MAX_ITEMS;
use crate::method::Method;
use crate::movement_reader::MovementReader;
use crate::overflow;
use crate::query_meta::QueryMeta;
use crate::request::{Checks, Warnings, at_most};
use crate::scope::{Scope, Verdict};
use crate::table::{Rows, TableHead};
use crate::valuation::{Output, Valuer};
use crate::{Error, Reason, coverage};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "token/addresses_flow",
    path: "/v1/token/addresses_flow",
    method: Method::Get,
    alternative: Some(Alternative {
        method: Method::Post,
        summary: "Multi-address flow aggregation, parameters in the body",
        description: "The same for lists that are too long for a URL.",
    }),
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Multi-address flow aggregation",
    description: "What a set of addresses received and sent of one token, each of them and all together.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("addresses"),
    first: &["address", "received", "sent", "net_flow", "net_flow_usd", "tx_count"],
    example: Example::new(
        || json!({"blockchain": "ethereum", "contract": USDT, "addresses": [ALICE, BOB]}),
        ("blockchain", "solana"),
    ),
    calls: Calls::list::<AddressesFlow>(),
};

/// `GET /v1/token/addresses_flow`, and the same as `POST` for long lists.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AddressesFlowRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The token; omitted or `native`: the coin of the chain.
    contract: Option<ContractText>,
    /// 1 to 100 addresses; one that is named twice counts once.
    #[schema(example = json!(["0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"]))]
    addresses: AddressList,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
}

/// Checked parameters of a flow.
#[derive(Debug)]
pub struct AddressesFlowParams {
    scope: Scope,
    asset: Asset,
    addresses: Vec<Address>,
}

/// What a set of addresses received and sent of one token. Failed transactions, movements of nothing and transfers of an
/// address to itself are left out.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressesFlowReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The token; null for the coin of the chain.
    pub contract: Option<AddressText>,
    /// Lowercase symbol; null when neither registry nor source names it.
    pub symbol: Option<String>,
    /// Decimals; null when unknown, and then so are all amounts.
    #[schema(maximum = 255)]
    pub decimals: Option<u8>,
    /// First time asked for, epoch seconds.
    pub start_time: Option<Time>,
    /// Last time asked for, epoch seconds.
    pub end_time: Option<Time>,
    /// The addresses, in the order of the request.
    pub addresses: Vec<AddressFlow>,
    /// All of them together.
    pub aggregate: AddressesFlowAggregate,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// The query.
    pub meta: QueryMeta,
}

/// What one address received and sent.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressFlow {
    /// The address, canonical.
    pub address: AddressText,
    /// Received, in whole units.
    pub received: Option<f64>,
    /// Sent, in whole units; fees are not in it.
    pub sent: Option<f64>,
    /// Received less sent.
    pub net_flow: Option<f64>,
    /// The same in US dollars: of USDT, USDC and DAI only, as many as units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub net_flow_usd: Option<f64>,
    /// Distinct transactions that came in.
    pub received_count: u64,
    /// Distinct transactions that went out.
    pub sent_count: u64,
    /// Distinct transactions.
    pub tx_count: u64,
    /// Time of the first movement, epoch seconds.
    pub first_activity_ts: Option<Time>,
    /// Time of the last movement, epoch seconds.
    pub last_activity_ts: Option<Time>,
}

/// The sums of all rows. What moved between addresses of the set is in both gross sums and in `internal_total` once.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AddressesFlowAggregate {
    /// Sum of `received`.
    pub received_total: Option<f64>,
    /// Sum of `sent`.
    pub sent_total: Option<f64>,
    /// Received less sent.
    pub net_flow_total: Option<f64>,
    /// The same in US dollars: of USDT, USDC and DAI only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub net_flow_total_usd: Option<f64>,
    /// Sum of `tx_count`.
    pub tx_count_total: u64,
    /// What moved between addresses of the set.
    pub internal_total: Option<f64>,
    /// Received from others.
    pub external_received_total: Option<f64>,
    /// Sent to others.
    pub external_sent_total: Option<f64>,
}

/// What a set of addresses received and sent.
pub struct AddressesFlow;

impl Analysis for AddressesFlow {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AddressesFlowRequest;
    type Params = AddressesFlowParams;
    type Report = AddressesFlowReport;

    fn params(request: AddressesFlowRequest, checks: &mut Checks<'_>) -> Result<AddressesFlowParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        at_most("addresses", &request.addresses, MAX_ITEMS)?;
        let mut addresses: Vec<Address> = Vec::new();
        for (index, text) in request.addresses.iter().enumerate() {
            let address = checks.address(chain, &format!("addresses[{index}]"), text.trim())?;
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "addresses", "addresses: name at least one address"));
        }
        let asset = match request.contract.as_deref() {
            Some(contract) => asset_of(checks, chain, Some(contract))?,
            None => Asset::Native,
        };
        let window = checks.window(request.start_time, request.end_time)?;
        Ok(AddressesFlowParams { scope: Scope::of_asset(chain, asset, window), asset, addresses })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &AddressesFlowParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<AddressesFlowReport, Error> {
        let chain = params.scope.chain;
        coverage::warn(ledger, chain, params.scope.window, warnings);
        let mut book = AssetBook::new(ledger, chain);
        let number = book.of_asset(params.asset)?;
        let asset = book.view(number);
        let set: HashSet<Address> = params.addresses.iter().copied().collect();
        let flows: Vec<Flows> = params
            .addresses
            .par_iter()
            .map(|address| params.flows(ledger, *address, &set, cancel))
            .collect::<Result<_, _>>()?;
        let window = params.scope.window;
        Ok(AddressesFlowReport {
            blockchain: chain.into(),
            contract: asset.contract.clone(),
            symbol: asset.symbol.clone(),
            decimals: asset.decimals,
            start_time: window.start().map(Timestamp::secs).map(Time),
            end_time: window.end().map(Timestamp::secs).map(Time),
            addresses: params
                .addresses
                .iter()
                .zip(&flows)
                .map(|(address, flows)| row(address, &flows.tally, asset))
                .collect(),
            aggregate: aggregate(&flows, asset, warnings),
            as_of_block: ledger.coverage().get(&chain).and_then(|coverage| coverage.last_block),
            meta: QueryMeta::new(CostClass::Medium),
        })
    }

    fn meta(report: &mut AddressesFlowReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

/// What one address moved, and what of it it sent to addresses of the set.
struct Flows {
    tally: AssetTally,
    /// `None` past 256 bits.
    internal: Option<Amount>,
}

impl AddressesFlowParams {
    fn flows(
        &self,
        ledger: &dyn Ledger,
        address: Address,
        set: &HashSet<Address>,
        cancel: &Cancel,
    ) -> Result<Flows, Error> {
        let valuer = Valuer::new(ledger);
        let mut reader = MovementReader::new(ledger, &self.scope, address, cancel)?;
        let mut others = Others::new(ledger, address, cancel);
        let mut flows = Flows { tally: AssetTally::default(), internal: Some(Amount::ZERO) };
        reader.visit(&self.scope.scan(), cancel, &mut |book, flow, verdict| {
            let amount = flow.posting.amount;
            let movement = movement(&valuer, &Output::Own, book.view(flow.asset), &flow, amount);
            let Some(movement) = movement.filter(|_| verdict == Verdict::Shown) else {
                return Ok(ControlFlow::Continue(()));
            };
            flows.tally.add(&movement);
            if flow.posting.direction == Direction::Out && set.len() > 1 {
                for (other, amount) in others.of(&flow)? {
                    if set.contains(&others.address(other)) {
                        flows.internal = sum(flows.internal, Some(amount));
                    }
                }
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(flows)
    }
}

/// `None` past 256 bits.
fn sum(one: Option<Amount>, other: Option<Amount>) -> Option<Amount> {
    one?.checked_add(other?)
}

/// Received less sent in whole units, from integers, rounded once.
fn net(balance: &Balance, decimals: u8) -> f64 {
    let apart = balance.received().abs_diff(balance.sent()).to_f64(decimals);
    if balance.is_negative() { -apart } else { apart }
}

fn row(address: &Address, flow: &AssetTally, asset: &AssetView) -> AddressFlow {
    let tally = &flow.tally;
    let units = |amount: Option<Amount>| Some(amount?.to_f64(asset.decimals?));
    let net_flow = flow.balance().zip(asset.decimals).map(|(balance, decimals)| net(&balance, decimals));
    AddressFlow {
        address: AddressText(address.to_string()),
        received: units(flow.received()),
        sent: units(flow.sent()),
        net_flow,
        net_flow_usd: net_flow.filter(|_| is_stablecoin(asset)),
        received_count: tally.received.transactions,
        sent_count: tally.sent.transactions,
        tx_count: tally.transactions,
        first_activity_ts: tally.first.map(Timestamp::secs).map(Time),
        last_activity_ts: tally.last.map(Timestamp::secs).map(Time),
    }
}

fn aggregate(flows: &[Flows], asset: &AssetView, warnings: &mut Warnings) -> AddressesFlowAggregate {
    let total = |of: fn(&Flows) -> Option<Amount>| flows.iter().map(of).fold(Some(Amount::ZERO), sum);
    let received = total(|flows| flows.tally.received());
    let sent = total(|flows| flows.tally.sent());
    let internal = total(|flows| flows.internal);
    if [received, sent, internal].contains(&None) {
        overflow::warn(asset, "aggregate", warnings);
    }
    let units = |amount: Option<Amount>| Some(amount?.to_f64(asset.decimals?));
    // Shares of a Bitcoin transaction are rounded, so that those inside the set may pass what it moved by a little.
    let external = |gross: Option<Amount>| {
        let left = gross.zip(internal).map(|(gross, internal)| gross.checked_sub(internal).unwrap_or(Amount::ZERO));
        units(left)
    };
    let both = received.zip(sent).zip(asset.decimals);
    let net_flow_total = both.map(|((received, sent), decimals)| net(&Balance::of(received, sent), decimals));
    AddressesFlowAggregate {
        received_total: units(received),
        sent_total: units(sent),
        net_flow_total,
        net_flow_total_usd: net_flow_total.filter(|_| is_stablecoin(asset)),
        tx_count_total: flows.iter().map(|flows| flows.tally.tally.transactions).sum(),
        internal_total: units(internal),
        external_received_total: external(received),
        external_sent_total: external(sent),
    }
}

impl List for AddressesFlow {
    type Row = AddressFlow;

    fn list(
        ledger: &dyn Ledger,
        params: &AddressesFlowParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(TableHead { as_of_block: report.as_of_block, ..TableHead::default() }, warnings, report.addresses)
    }
}
