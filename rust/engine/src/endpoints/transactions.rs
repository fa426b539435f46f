//! The transaction list of an address.

use headwater_ledger::{Cancel, Ledger};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Error;
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::{
    AddressText, ChainName, ChainText, ContractList, CursorText, OptIn, OutputAsset, PageLimit, PageNumber, SymbolList,
    TimeBound,
};
use crate::method::Method;
use crate::request::{Checks, DirectionFilter, PageInfo, Paging, SortOrder, TransactionSort, TransferSort, Warnings};
use crate::rows::{Excluded, Listing, TransferRow};
use crate::scope::{FilterCriteria, Scope, ScopeFields};
use crate::table::Rows;
use crate::valuation::{Output, amount_unit};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "transactions",
    path: "/v1/transactions",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Transaction list of an address",
    description: "One row per movement, newest first. Pages begin with 1; deep pages go by `cursor`. Unverified \
                  tokens, zero values and failed transactions are hidden unless asked for.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("datas"),
    first: &["timestamp", "action", "amount", "symbol", "amount_usd", "counterparty", "counterparty_label", "tx_hash"],
    example: Example::new(|| json!({"blockchain": "ethereum", "address": ALICE, "limit": 2}), ("blockchain", "solana")),
    calls: Calls::list::<Transactions>(),
};

/// `POST /v1/transactions`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct TransactionsRequest {
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
    /// `all` (default), `in` or `out`.
    direction: Option<DirectionFilter>,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
    /// Adds `amount_out` in this unit: `usd` or a registry symbol.
    output_asset: Option<OutputAsset>,
    /// Rows per page: default 20, at most 1000, of a table 100,000.
    limit: Option<PageLimit>,
    /// Page from 1; 0 is page 1 too.
    page: Option<PageNumber>,
    /// `next_cursor` of an answer: continues after its last row, at any depth.
    cursor: Option<CursorText>,
    /// Amount ranges by symbol.
    #[schema(max_items = 50)]
    filter_criterias: Option<Vec<FilterCriteria>>,
    /// `timestamp` (default) or `amount_usd`.
    sort: Option<TransactionSort>,
    /// `desc` (default) or `asc`.
    order: Option<SortOrder>,
    /// Show tokens that no registry vouches for; default false.
    include_unverified: Option<OptIn>,
    /// Show movements of nothing; default false.
    include_zero_value: Option<OptIn>,
    /// Show failed transactions; default false.
    include_failed: Option<OptIn>,
}

/// Checked parameters of a transaction list.
#[derive(Debug)]
pub struct TransactionsParams(Listing);

/// One page of a transaction list.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TransactionsReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The address asked about, canonical.
    pub address: AddressText,
    /// Movements, newest first; those of one transaction stand together.
    pub datas: Vec<TransferRow>,
    /// Paging.
    pub pagination: PageInfo,
    /// Unit of the amounts: a symbol, `usd` or `mixed`.
    pub amount_unit: String,
    /// Last block of the data that was read; pages of one cursor share it.
    pub as_of_block: Option<u64>,
    /// What the default hiding left out.
    pub excluded: Excluded,
}

/// The transaction list of an address.
pub struct Transactions;

impl Analysis for Transactions {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = TransactionsRequest;
    type Params = TransactionsParams;
    type Report = TransactionsReport;
    const IS_VALUED: bool = true;

    fn params(request: TransactionsRequest, checks: &mut Checks<'_>) -> Result<TransactionsParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = checks.address(chain, "address", &request.address)?;
        let output = Output::new(checks, chain, request.output_asset.as_deref())?;
        let paging =
            Paging::new(request.limit.map(i64::from), request.page.map(i64::from), request.cursor.as_deref(), checks)?;
        let fields = ScopeFields {
            symbols: request.symbols,
            contracts: request.contracts,
            direction: request.direction,
            start_time: request.start_time,
            end_time: request.end_time,
            filter_criterias: request.filter_criterias,
            include_unverified: request.include_unverified,
            include_zero_value: request.include_zero_value,
            include_failed: request.include_failed,
        };
        let sort = match request.sort.unwrap_or(TransactionSort::Timestamp) {
            TransactionSort::Timestamp => TransferSort::Timestamp,
            TransactionSort::AmountUsd => TransferSort::AmountUsd,
        };
        let order = request.order.unwrap_or(SortOrder::Desc);
        let scope = Scope::new(checks, chain, fields)?;
        Ok(TransactionsParams(Listing { scope, address, other: None, output, sort, order, paging }))
    }

    fn report(
        ledger: &dyn Ledger,
        TransactionsParams(listing): &TransactionsParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<TransactionsReport, Error> {
        let page = listing.page(ledger, cancel)?;
        coverage::warn(ledger, listing.scope.chain, listing.scope.window, warnings);
        page.warn(warnings);
        Ok(TransactionsReport {
            blockchain: listing.scope.chain.into(),
            address: AddressText(listing.address.to_string()),
            datas: page.rows().collect::<Result<_, _>>()?,
            pagination: page.pagination,
            amount_unit: amount_unit(ledger, listing.scope.chain, listing.scope.only_asset(), &listing.output)?,
            as_of_block: page.as_of_block,
            excluded: page.excluded,
        })
    }
}

impl List for Transactions {
    type Row = TransferRow;

    fn list(
        ledger: &dyn Ledger,
        TransactionsParams(listing): &TransactionsParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let page = listing.page(ledger, rows.cancel)?;
        coverage::warn(ledger, listing.scope.chain, listing.scope.window, warnings);
        page.warn(warnings);
        rows.begin(page.head()?, warnings)?;
        page.rows().try_for_each(|row| rows.push(&row?))
    }
}
