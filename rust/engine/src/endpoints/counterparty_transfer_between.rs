//! The transfers between two addresses.

use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::coverage;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::{ALICE, BOB};
use crate::fields::{
    AddressText, ChainName, ChainText, ContractList, CursorText, OptIn, OutputAsset, PageLimit, PageNumber, SymbolList,
    TimeBound,
};
use crate::method::Method;
use crate::request::{Checks, DirectionFilter, PageInfo, Paging, SortOrder, TransferSort, Warnings, refused};
use crate::rows::{Listing, TransferRow};
use crate::scope::{Scope, ScopeFields};
use crate::table::Rows;
use crate::valuation::{Output, amount_unit};
use crate::{Error, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "counterparty/transfer-between",
    path: "/v1/counterparty/transfer-between",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Transfers between two addresses",
    description: "One row per movement between `target` and `counterparty`, seen from `target`.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("datas"),
    first: &["timestamp", "action", "amount", "symbol", "amount_usd", "tx_hash"],
    example: Example::new(
        || json!({"blockchain": "ethereum", "target": ALICE, "counterparty": BOB}),
        ("blockchain", "solana"),
    ),
    calls: Calls::list::<TransferBetween>(),
};

/// `POST /v1/counterparty/transfer-between`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct TransferBetweenRequest {
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
    /// `all` (default), `in` or `out`, as seen from `target`.
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
    /// `timestamp` (default), `amount` or `amount_usd`.
    sort: Option<TransferSort>,
    /// `desc` (default) or `asc`.
    order: Option<SortOrder>,
    /// Show tokens that no registry vouches for; default false.
    include_unverified: Option<OptIn>,
    /// Show movements of nothing; default false.
    include_zero_value: Option<OptIn>,
    /// Show failed transactions; default false.
    include_failed: Option<OptIn>,
}

/// Checked parameters of a list of transfers between two addresses.
#[derive(Debug)]
pub struct TransferBetweenParams {
    listing: Listing,
    counterparty: Address,
}

/// One page of the transfers between two addresses.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TransferBetweenReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The main address, canonical.
    pub target: AddressText,
    /// The other address, canonical.
    pub counterparty: AddressText,
    /// Movements as seen from `target`.
    pub datas: Vec<TransferRow>,
    /// Paging.
    pub pagination: PageInfo,
    /// Unit of the amounts: a symbol, `usd` or `mixed`.
    pub amount_unit: String,
    /// Last block of the data that was read; pages of one cursor share it.
    pub as_of_block: Option<u64>,
}

/// The transfers between two addresses.
pub struct TransferBetween;

impl Analysis for TransferBetween {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = TransferBetweenRequest;
    type Params = TransferBetweenParams;
    type Report = TransferBetweenReport;
    const IS_VALUED: bool = true;
    const EITHER: &[[&str; 2]] = &[["target", "address_a"], ["counterparty", "address_b"]];

    fn params(request: TransferBetweenRequest, checks: &mut Checks<'_>) -> Result<TransferBetweenParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let address = aliased(
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
        let paging =
            Paging::new(request.limit.map(i64::from), request.page.map(i64::from), request.cursor.as_deref(), checks)?;
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
        let scope = Scope::new(checks, chain, fields)?;
        let sort = request.sort.unwrap_or(TransferSort::Timestamp);
        let order = request.order.unwrap_or(SortOrder::Desc);
        let listing = Listing { scope, address, other: Some(counterparty), output, sort, order, paging };
        Ok(TransferBetweenParams { listing, counterparty })
    }

    fn report(
        ledger: &dyn Ledger,
        TransferBetweenParams { listing, counterparty }: &TransferBetweenParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<TransferBetweenReport, Error> {
        let page = listing.page(ledger, cancel)?;
        coverage::warn(ledger, listing.scope.chain, listing.scope.window, warnings);
        page.warn(warnings);
        Ok(TransferBetweenReport {
            blockchain: listing.scope.chain.into(),
            target: AddressText(listing.address.to_string()),
            counterparty: AddressText(counterparty.to_string()),
            datas: page.rows().collect::<Result<_, _>>()?,
            pagination: page.pagination,
            amount_unit: amount_unit(ledger, listing.scope.chain, listing.scope.only_asset(), &listing.output)?,
            as_of_block: page.as_of_block,
        })
    }
}

/// An address that goes under two names: one of them is enough, both must agree.
pub(super) fn aliased(
    checks: &mut Checks<'_>,
    chain: Chain,
    names: [(&str, Option<String>); 2],
) -> Result<Address, Error> {
    let [(name, first), (alias, second)] = names;
    let mut read = |field: &str, text: Option<String>| match text {
        Some(text) => checks.address(chain, field, &text).map(|address| Some((text, address))),
        None => Ok(None),
    };
    match (read(name, first)?, read(alias, second)?) {
        (Some((_, address)), Some((text, other))) if address != other => {
            let why = format!("{alias} is another name of {name}, which is {address} here: give one of them");
            Err(refused(Reason::InvalidValue, alias, &text, &why))
        }
        (Some((_, address)), _) | (None, Some((_, address))) => Ok(address),
        (None, None) => Err(Error::invalid(Reason::MissingField, name, format!("{name} (or {alias}) is required"))),
    }
}

impl List for TransferBetween {
    type Row = TransferRow;

    fn list(
        ledger: &dyn Ledger,
        TransferBetweenParams { listing, .. }: &TransferBetweenParams,
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
