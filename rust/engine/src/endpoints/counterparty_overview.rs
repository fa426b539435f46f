//! What two addresses moved between them, summed.

use std::ops::ControlFlow;

use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::flow::{Group, Side};
use headwater_types::Address;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::counterparty_transfer_between::aliased;
use crate::Error;
use crate::analysis::Analysis;
use crate::asset_book::AssetBook;
use crate::core_prices_end::CorePricesEnd;
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::{ALICE, BOB};
use crate::fields::{
    Action, AddressText, ChainName, ChainText, ContractList, DecimalText, FlowDirection, OptIn, OutputAsset,
    SymbolList, Time, TimeBound,
};
use crate::flows::{SumUnit, Sums, Unvalued, movement, names};
use crate::method::Method;
use crate::movement_reader::MovementReader;
use crate::overflow;
use crate::request::{Checks, Warnings};
use crate::scope::{Scope, ScopeFields, Verdict};
use crate::unverified::{self, Hidden};
use crate::valuation::{Output, Valuer};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "counterparty/overview",
    path: "/v1/counterparty/overview",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Aggregate statistics for two addresses",
    description: "What went which way between `target` and `counterparty`, by symbol.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("transfer_betweens"),
    first: &["direction", "action", "amount", "amount_usd", "count"],
    example: Example::new(
        || json!({"blockchain": "ethereum", "target": ALICE, "counterparty": BOB}),
        ("blockchain", "solana"),
    ),
    calls: Calls::of::<CounterpartyOverview>(),
};

/// `POST /v1/counterparty/overview`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct CounterpartyOverviewRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The main address; `address_a` is another name of it.
    target: Option<AddressText>,
    /// Another name of `target`.
    address_a: Option<AddressText>,
    /// The other address; `address_b` is another name of it.
    counterparty: Option<AddressText>,
    /// Another name of `counterparty`.
    address_b: Option<AddressText>,
    /// Only these symbols; omitted, empty or with `all`: every symbol. A symbol matches verified tokens only.
    symbols: Option<SymbolList>,
    /// Only these contracts, null or `native` for the native coin; stands before `symbols`.
    contracts: Option<ContractList>,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
    /// Unit of the amounts. Null: own units of the one symbol in scope, US dollars where there are several; the entries
    /// by symbol are in own units. Else `usd` or a registry symbol (converted at transfer time).
    output_asset: Option<OutputAsset>,
    /// Count tokens that no registry vouches for; default false.
    include_unverified: Option<OptIn>,
    /// Count movements of nothing; default false.
    include_zero_value: Option<OptIn>,
    /// Count failed transactions; default false.
    include_failed: Option<OptIn>,
}

/// Checked parameters of an overview.
#[derive(Debug)]
pub struct CounterpartyOverviewParams {
    scope: Scope,
    target: Address,
    counterparty: Address,
    output: Output,
}

/// What two addresses moved between them.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CounterpartyOverviewReport {
    /// Symbols that moved.
    pub assets_transferred: Vec<String>,
    /// Chain.
    pub blockchain: ChainName,
    /// The other address, canonical.
    pub counterparty: AddressText,
    /// The main address, canonical.
    pub target: AddressText,
    /// Time of the first movement, epoch seconds; 0 without any.
    pub first_interaction: Time,
    /// Time of the last movement, epoch seconds; 0 without any.
    pub last_interaction: Time,
    /// Sent and received together.
    pub total_amount: Option<DecimalText>,
    /// US dollars of the priced movements.
    pub total_amount_usd: DecimalText,
    /// Distinct transactions either way.
    pub total_count: u64,
    /// Sent, then received, as seen from `target`.
    pub transfer_betweens: Vec<TransferSum>,
    /// Unit of `total_amount` and of the amounts by direction: a symbol or `usd`.
    pub amount_unit: String,
    /// Movements that the US dollar sums do not hold.
    pub unpriced_count: u64,
    /// Of `total_amount` and `total_amount_usd` those that are 0 because no movement has a price. Frames have null there.
    #[schema(value_type = Vec<String>)]
    pub unpriced_fields: Vec<&'static str>,
}

/// One direction.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TransferSum {
    /// `send` or `receive`.
    pub action: Action,
    /// Summed amount.
    pub amount: Option<DecimalText>,
    /// US dollars of the priced movements.
    pub amount_usd: DecimalText,
    /// Distinct transactions.
    pub count: u64,
    /// `To` for sent, `From` for received.
    pub direction: FlowDirection,
    /// By symbol, in order of symbol.
    pub symbols: Vec<SymbolSum>,
    /// Of `amount` and `amount_usd` those that are 0 because no movement of the direction has a price.
    #[schema(value_type = Vec<String>)]
    pub unpriced_fields: Vec<&'static str>,
}

/// One symbol in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct SymbolSum {
    /// Summed amount.
    pub amount: Option<DecimalText>,
    /// US dollars of the priced movements.
    pub amount_usd: DecimalText,
    /// Distinct transactions.
    pub count: u64,
    /// Lowercase symbol; the contract where it has none.
    pub symbol: String,
    /// Of `amount` and `amount_usd` those that are 0 because no movement of the symbol has a price.
    #[schema(value_type = Vec<String>)]
    pub unpriced_fields: Vec<&'static str>,
}

/// What two addresses moved between them, summed.
pub struct CounterpartyOverview;

impl Analysis for CounterpartyOverview {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = CounterpartyOverviewRequest;
    type Params = CounterpartyOverviewParams;
    type Report = CounterpartyOverviewReport;
    const IS_VALUED: bool = true;
    const EITHER: &[[&str; 2]] = &[["target", "address_a"], ["counterparty", "address_b"]];

    fn params(
        request: CounterpartyOverviewRequest,
        checks: &mut Checks<'_>,
    ) -> Result<CounterpartyOverviewParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let target = aliased(
            checks,
            chain,
            [("target", request.target.map(String::from)), ("address_a", request.address_a.map(String::from))],
        )?;
        let counterparty = aliased(
            checks,
            chain,
            [
                ("counterparty", request.counterparty.map(String::from)),
                ("address_b", request.address_b.map(String::from)),
            ],
        )?;
        let output = Output::new(checks, chain, request.output_asset.as_deref())?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            start_time: request.start_time,
            end_time: request.end_time,
            include_unverified: request.include_unverified,
            include_zero_value: request.include_zero_value,
            include_failed: request.include_failed,
            ..ScopeFields::default()
        };
        Ok(CounterpartyOverviewParams { scope: Scope::new(checks, chain, fields)?, target, counterparty, output })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &CounterpartyOverviewParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<CounterpartyOverviewReport, Error> {
        coverage::warn(ledger, params.scope.chain, params.scope.window, warnings);
        let valuer = Valuer::new(ledger);
        let mut reader = MovementReader::between(ledger, &params.scope, (params.target, params.counterparty), cancel)?;
        let (mut group, mut unverified) = (Group::default(), 0);
        reader.visit(&params.scope.scan(), cancel, &mut |book, flow, verdict| {
            let asset = book.view(flow.asset);
            if verdict == Verdict::Shown
                && let Some(movement) = movement(&valuer, &params.output, asset, &flow, flow.posting.amount)
            {
                group.add(flow.asset, &movement);
            }
            unverified += u64::from(verdict == Verdict::Unverified);
            Ok(ControlFlow::Continue(()))
        })?;
        unverified::warn(Hidden::Movements(unverified), warnings);
        let mut end = CorePricesEnd::new(ledger);
        for (asset, tally) in &group.by_asset {
            end.note_asset(reader.book.view(*asset), tally.tally.last);
        }
        end.warn(warnings);
        let unit = SumUnit::new(&params.scope, &params.output);
        let all = &group.all;
        let sums = Sums::of_group(unit, &params.output, &group, &reader.book);
        params.warn_of_overflow(&group, &reader.book, warnings);
        let side = |way: Way| params.direction(&group, &reader.book, way, &sums);
        let is_total_unpriced = Unvalued::of_dollars(all).total;
        Ok(CounterpartyOverviewReport {
            assets_transferred: names(&group, &reader.book),
            blockchain: params.scope.chain.into(),
            counterparty: AddressText(params.counterparty.to_string()),
            target: AddressText(params.target.to_string()),
            first_interaction: all.first.map_or(Time(0), Time::from),
            last_interaction: all.last.map_or(Time(0), Time::from),
            transfer_betweens: vec![side(Way::Send), side(Way::Receive)],
            total_amount: sums.total.map(DecimalText),
            total_amount_usd: DecimalText((all.received.usd + all.sent.usd).to_string()),
            total_count: all.transactions,
            unpriced_count: all.unpriced(),
            amount_unit: unit.name(&params.scope, &params.output, &mut reader.book)?,
            unpriced_fields: Unvalued::names([
                ("total_amount", sums.unvalued.total),
                ("total_amount_usd", is_total_unpriced),
            ]),
        })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Send,
    Receive,
}

impl Way {
    fn side(self, tally: &headwater_metrics::flow::Tally) -> &Side {
        match self {
            Self::Send => &tally.sent,
            Self::Receive => &tally.received,
        }
    }

    /// The amount of the direction.
    fn amount(self, sums: &Sums) -> Option<DecimalText> {
        let amount = match self {
            Self::Send => &sums.sent,
            Self::Receive => &sums.received,
        };
        amount.clone().map(DecimalText)
    }

    /// The fields of a direction that are 0 for want of a price.
    fn unpriced_fields(self, amounts: Unvalued, dollars: Unvalued) -> Vec<&'static str> {
        let is_unvalued = |of: Unvalued| match self {
            Self::Send => of.sent,
            Self::Receive => of.received,
        };
        Unvalued::names([("amount", is_unvalued(amounts)), ("amount_usd", is_unvalued(dollars))])
    }
}

impl CounterpartyOverviewParams {
    fn warn_of_overflow(&self, group: &Group, book: &AssetBook<'_>, warnings: &mut Warnings) {
        for (asset, tally) in &group.by_asset {
            let asset = book.view(*asset);
            // The total of both directions is shown of one asset alone.
            let fits =
                if self.scope.only_asset().is_some() { tally.total().is_some() } else { tally.balance().is_some() };
            if !fits && self.output.is_unit_of(asset) {
                overflow::warn(asset, "transfer_betweens", warnings);
            }
        }
    }

    fn direction(&self, group: &Group, book: &AssetBook<'_>, way: Way, sums: &Sums) -> TransferSum {
        let mut assets: Vec<_> =
            group.by_asset.iter().filter(|(_, tally)| way.side(&tally.tally).transfers > 0).collect();
        assets.sort_by_key(|(asset, _)| (book.view(*asset).name(), book.view(*asset).asset));
        let mut symbols = Vec::with_capacity(assets.len());
        for (asset, tally) in assets {
            let of_asset = Sums::of_asset(&self.output, tally, book.view(*asset));
            let side = way.side(&tally.tally);
            symbols.push(SymbolSum {
                amount: way.amount(&of_asset),
                amount_usd: DecimalText(side.usd.to_string()),
                count: side.transactions,
                symbol: book.view(*asset).name().to_owned(),
                unpriced_fields: way.unpriced_fields(of_asset.unvalued, Unvalued::of_dollars(&tally.tally)),
            });
        }
        let side = way.side(&group.all);
        let (action, direction) =
            if way == Way::Send { (Action::Send, FlowDirection::To) } else { (Action::Receive, FlowDirection::From) };
        let amount_usd = DecimalText(side.usd.to_string());
        TransferSum {
            action,
            amount: way.amount(sums),
            amount_usd,
            count: side.transactions,
            direction,
            symbols,
            unpriced_fields: way.unpriced_fields(sums.unvalued, Unvalued::of_dollars(&group.all)),
        }
    }
}
