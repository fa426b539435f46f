//! The ranking of those an address deals with.

use headwater_ledger::{Cancel, Ledger};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::counterparty_row::{BelowCutoff, CounterpartyRow};
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::{
    AddressText, ChainText, ContractList, CursorText, MinCount, OptIn, OutputAsset, PageLimit, PageNumber, SymbolList,
    TimeBound,
};
use crate::method::Method;
use crate::ranking::Ranker;
use crate::request::{
    Checks, DirectionFilter, GroupBy, PageInfo, Paging, RankingSort, SortOrder, Warnings, least_interactions,
};
use crate::scope::{Scope, ScopeFields};
use crate::table::Rows;
use crate::utxo_pairs::UtxoPairs;
use crate::valuation::Output;
use crate::{Error, coverage};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "counterparty",
    path: "/v1/counterparty",
    method: Method::Post,
    alternative: None,
    class: CostClass::Heavy,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Counterparty ranking",
    description: "Who an address dealt with, by amount, number or time.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("datas"),
    first: &[
        "address",
        "entity_name",
        "total_amount_usd",
        "labels",
        "total_count",
        "received_amount_usd",
        "sent_amount_usd",
        "first_activity",
        "last_activity",
    ],
    example: Example::new(
        || json!({"blockchain": "ethereum", "address": ALICE, "sort": "total_amount", "limit": 10}),
        ("blockchain", "solana"),
    ),
    calls: Calls::list::<Counterparty>(),
};

/// `POST /v1/counterparty`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct CounterpartyRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The address asked about.
    #[schema(example = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")]
    address: AddressText,
    /// Only these symbols; omitted, empty or with `all`: every symbol. A symbol matches verified tokens only.
    symbols: Option<SymbolList>,
    /// Only these contracts, null or `native` for the native coin; stands before `symbols`.
    contracts: Option<ContractList>,
    /// `all` (default), `in` or `out`: which movements are summed.
    direction: Option<DirectionFilter>,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
    /// Unit of the amounts. Null: own units of the one symbol in scope, US dollars where there are several. Else `usd`,
    /// a registry symbol (converted at transfer time), or `per_symbol` for one row per counterparty and asset.
    output_asset: Option<OutputAsset>,
    /// Rows per page: default 20, at most 1000, of a table 100,000.
    limit: Option<PageLimit>,
    /// Page from 1; 0 is page 1 too.
    page: Option<PageNumber>,
    /// `next_cursor` of an answer: continues after its last row, at any depth.
    cursor: Option<CursorText>,
    /// Only rows of at least this many transactions.
    min_interactions: Option<MinCount>,
    /// `total_amount` (default) or another column; ties by address. Where several assets are ranked and no transfer in scope
    /// has a price, the default is `total_count`, and the warning `no_prices` says so.
    sort: Option<RankingSort>,
    /// `desc` (default) or `asc`.
    order: Option<SortOrder>,
    /// Count tokens that no registry vouches for; default false.
    include_unverified: Option<OptIn>,
    /// Count movements of nothing; default false.
    include_zero_value: Option<OptIn>,
    /// Count failed transactions; default false.
    include_failed: Option<OptIn>,
}

/// Checked parameters of a ranking.
#[derive(Debug)]
pub struct CounterpartyParams(Ranker);

/// One page of a ranking.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CounterpartyReport {
    /// Counterparties in order. Transfers to itself, minting and burning have none.
    pub datas: Vec<CounterpartyRow>,
    /// Paging.
    pub pagination: PageInfo,
    /// Distinct senders to the address under the same filters, over all pages.
    pub received_address_count: u64,
    /// Distinct receivers from the address under the same filters, over all pages.
    pub sent_address_count: u64,
    /// Unit of the amounts: a symbol, `usd` or `mixed`.
    pub amount_unit: String,
    /// Last block of the data that was read; pages of one cursor share it.
    pub as_of_block: Option<u64>,
    /// Rows that follow the last one given; null when there are none.
    pub below_cutoff: Option<BelowCutoff>,
}

/// The ranking of those an address deals with.
pub struct Counterparty;

impl Analysis for Counterparty {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = CounterpartyRequest;
    type Params = CounterpartyParams;
    type Report = CounterpartyReport;
    const IS_VALUED: bool = true;

    fn params(request: CounterpartyRequest, checks: &mut Checks<'_>) -> Result<CounterpartyParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = checks.address(chain, "address", &request.address)?;
        let output = Output::new(checks, chain, request.output_asset.as_deref())?;
        let paging =
            Paging::new(request.limit.map(i64::from), request.page.map(i64::from), request.cursor.as_deref(), checks)?;
        let min_interactions = least_interactions(request.min_interactions.map(i64::from))?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            direction: request.direction,
            start_time: request.start_time,
            end_time: request.end_time,
            filter_criterias: None,
            include_unverified: request.include_unverified,
            include_zero_value: request.include_zero_value,
            include_failed: request.include_failed,
        };
        let sort = request.sort.unwrap_or(RankingSort::TotalAmount);
        let order = request.order.unwrap_or(SortOrder::Desc);
        let scope = Scope::new(checks, chain, fields)?;
        Ok(CounterpartyParams(Ranker {
            scope,
            address,
            output,
            sort,
            order,
            min_interactions,
            paging,
            pairs: UtxoPairs::All,
            group_by: GroupBy::Address,
        }))
    }

    fn report(
        ledger: &dyn Ledger,
        CounterpartyParams(ranker): &CounterpartyParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<CounterpartyReport, Error> {
        coverage::warn(ledger, ranker.scope.chain, ranker.scope.window, warnings);
        let page = ranker.page(ledger, cancel)?;
        page.warn(warnings);
        let as_of_block = ledger.coverage().get(&ranker.scope.chain).and_then(|coverage| coverage.last_block);
        let datas = page.rows().collect::<Result<Vec<_>, _>>()?;
        let next = page.next.clone();
        Ok(CounterpartyReport {
            pagination: ranker.paging.info(datas.len(), next, Some(page.total), ledger.generation(), as_of_block),
            datas,
            received_address_count: page.senders,
            sent_address_count: page.receivers,
            amount_unit: page.amount_unit.clone(),
            as_of_block,
            below_cutoff: page.below,
        })
    }
}

impl List for Counterparty {
    type Row = CounterpartyRow;

    fn list(
        ledger: &dyn Ledger,
        CounterpartyParams(ranker): &CounterpartyParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        coverage::warn(ledger, ranker.scope.chain, ranker.scope.window, warnings);
        let page = ranker.page(ledger, rows.cancel)?;
        page.warn(warnings);
        rows.begin(page.head(ledger), warnings)?;
        page.rows().try_for_each(|row| rows.push(&row?))
    }
}
