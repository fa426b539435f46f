//! The largest holders of a token.

use std::mem::size_of;
use std::ops::ControlFlow;

use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Amount, Asset, Chain, TimeWindow};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::USDT;
use crate::fields::form;
use crate::fields::{AddressText, ChainName, ChainText, ContractText, PageOffset, RawAmountText};
use crate::holdings::{ExcludedHolder, Holdings, asset_of, is_stablecoin};
use crate::method::Method;
use crate::purposes::HOLDERS;
use crate::query_meta::QueryMeta;
use crate::request::{Checks, Offsets, Warnings};
use crate::table::{Rows, TableHead};
use crate::{Error, Pagination, coverage};

pub(crate) const DEFAULT_LIMIT: u32 = 10;
/// Most holders of a page in JSON; a table may have as many rows as any other.
pub(crate) const MAX_LIMIT: u32 = 100;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "token/holders",
    path: "/v1/token/holders",
    method: Method::Get,
    alternative: None,
    class: CostClass::Heavy,
    cost: 10,
    tag: Tag::OnChain,
    summary: "Holder ranking",
    description: "The largest holders of a token, or of the coin of a chain.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: Some("holders"),
    first: &["rank", "address", "balance", "pct_of_supply", "balance_usd"],
    example: Example::new(|| json!({"blockchain": "ethereum", "contract": USDT}), ("blockchain", "solana")),
    calls: Calls::list::<TokenHolders>(),
};

form! {
    /// Holders per page.
    HolderLimit(i64 => i64, Copy): json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
    });
}

/// `GET /v1/token/holders`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct TokenHoldersRequest {
    /// Chain: `ethereum`, `tron`, `bsc` or `bitcoin`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The token, or `native` for the coin of the chain; left out for bitcoin.
    #[schema(example = "0xdac17f958d2ee523a2206206994597c13d831ec7")]
    contract: Option<ContractText>,
    /// Holders per page: default 10, at most 100.
    limit: Option<HolderLimit>,
    /// Holders left out before the page.
    offset: Option<PageOffset>,
}

/// Which holders.
#[derive(Debug)]
pub struct TokenHoldersParams {
    chain: Chain,
    asset: Asset,
    page: Offsets,
}

/// The largest holders of a token. Balances come from all movements held; addresses that can never spend are left out.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TokenHoldersReport {
    /// Chain.
    pub blockchain: ChainName,
    /// The token; null for the coin of the chain.
    pub contract: Option<AddressText>,
    /// Lowercase symbol; null when neither registry nor source names it.
    pub symbol: Option<String>,
    /// Decimals; null when unknown.
    #[schema(maximum = 255)]
    pub decimals: Option<u8>,
    /// Addresses with a balance, those left out not counted.
    pub holder_count: u64,
    /// What exists, in whole units: all positive balances, what was sent to the zero address left out.
    pub total_supply: Option<f64>,
    /// The same in the smallest unit; null where balances together pass 256 bits.
    pub total_supply_raw: Option<RawAmountText>,
    /// Holders, largest first, equal ones by address.
    pub holders: Vec<HolderEntry>,
    /// Balances that are neither ranked nor part of the circulating supply.
    pub excluded: Vec<ExcludedHolder>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// The query.
    pub meta: QueryMeta,
}

/// One holder.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct HolderEntry {
    /// Position, from 1.
    pub rank: u64,
    /// Who holds.
    pub address: AddressText,
    /// How much, in whole units; null when decimals are unknown.
    pub balance: Option<f64>,
    /// How much, in the smallest unit; null where sums of it pass 256 bits.
    pub balance_raw: Option<RawAmountText>,
    /// The same in US dollars: of USDT, USDC and DAI only, as many as units.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub balance_usd: Option<f64>,
    /// Percent of the circulating supply.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pct_of_supply: Option<f64>,
}

/// The largest holders of a token.
pub struct TokenHolders;

impl Analysis for TokenHolders {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = TokenHoldersRequest;
    type Params = TokenHoldersParams;
    type Report = TokenHoldersReport;

    fn params(request: TokenHoldersRequest, checks: &mut Checks<'_>) -> Result<TokenHoldersParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let asset = asset_of(checks, chain, request.contract.as_deref())?;
        let bounds = checks.list_bounds(DEFAULT_LIMIT, MAX_LIMIT);
        let page = Offsets::within(request.limit.map(i64::from), request.offset.map(i64::from), bounds)?;
        Ok(TokenHoldersParams { chain, asset, page })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &TokenHoldersParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<TokenHoldersReport, Error> {
        coverage::warn(ledger, params.chain, TimeWindow::ALL, warnings);
        let holdings = Holdings::new(ledger, params.chain, params.asset, warnings, cancel)?;
        let page = params.page;
        let count = u32::try_from(holdings.count).unwrap_or(u32::MAX).max(1);
        let limit = if page.limit < u32::MAX { page.limit } else { count };
        let meta = QueryMeta { limit: Some(limit), offset: Some(page.offset), ..QueryMeta::new(CostClass::Heavy) };
        Ok(TokenHoldersReport {
            blockchain: params.chain.into(),
            contract: holdings.asset.contract.clone(),
            symbol: holdings.asset.symbol.clone(),
            decimals: holdings.asset.decimals,
            holder_count: holdings.count,
            total_supply: holdings.units(holdings.supply),
            total_supply_raw: holdings.supply.map(|supply| supply.to_string()).map(RawAmountText),
            holders: entries(&holdings, page, cancel)?,
            excluded: holdings.excluded(),
            as_of_block: ledger.coverage().get(&params.chain).and_then(|coverage| coverage.last_block),
            meta,
        })
    }

    fn pagination(report: &TokenHoldersReport) -> Option<Pagination> {
        let (limit, offset) = (report.meta.limit?, report.meta.offset?);
        Some(Pagination { limit, offset, total: Some(report.holder_count) })
    }

    fn meta(report: &mut TokenHoldersReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

fn entries(holdings: &Holdings<'_>, page: Offsets, cancel: &Cancel) -> Result<Vec<HolderEntry>, Error> {
    /// Bytes of a row: those of its texts are an address of at most 62 letters and an amount of 78 digits.
    const BYTES: usize = size_of::<HolderEntry>() + 160;
    let (from, until) = page.range();
    let (mut entries, mut held) = (Vec::new(), cancel.holding(HOLDERS));
    let mut rank = from;
    if from >= holdings.count {
        return Ok(entries);
    }
    holdings.visit_from(from, cancel, &mut |holder, balance| {
        rank += 1;
        held.reach((entries.len() + 1) * BYTES)?;
        let address = holdings.address(holder)?;
        let balance = holdings.known(&address, balance, cancel)?;
        let units = holdings.units(balance);
        entries.push(HolderEntry {
            rank,
            address: AddressText(address.to_string()),
            balance: units,
            balance_raw: balance.map(|balance| balance.to_string()).map(RawAmountText),
            balance_usd: units.filter(|_| is_stablecoin(&holdings.asset)),
            pct_of_supply: balance.zip(holdings.circulating).and_then(|(part, whole)| percent(part, whole)),
        });
        Ok(if rank < until { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    held.keep();
    Ok(entries)
}

/// A part in percent of a whole; `None` of nothing. Both are rounded to doubles once, so the last digit may be off.
fn percent(part: Amount, whole: Amount) -> Option<f64> {
    (!whole.is_zero()).then(|| 100.0 * (part.to_f64(0) / whole.to_f64(0)))
}

impl List for TokenHolders {
    type Row = HolderEntry;

    fn list(
        ledger: &dyn Ledger,
        params: &TokenHoldersParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(
            TableHead { total: Some(report.holder_count), as_of_block: report.as_of_block, ..TableHead::default() },
            warnings,
            report.holders,
        )
    }
}
