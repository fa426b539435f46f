//! The counterparties of a Bitcoin address, and of any other.

use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Chain, Family};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::counterparty_row::CounterpartyRow;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::ALICE;
use crate::fields::form;
use crate::fields::{
    AddressText, Attribution, ChainText, CursorText, MinCount, NextCursor, OptIn, PageLimit, TimeBound,
};
use crate::limits::PAGE_WINDOW;
use crate::method::Method;
use crate::query_meta::QueryMeta;
use crate::ranking::Ranker;
use crate::request::{Checks, DirectionFilter, GroupBy, Paging, RankingSort, SortOrder, Warnings, least_interactions};
use crate::scope::{Scope, ScopeFields};
use crate::table::Rows;
use crate::utxo_pairs::UtxoPairs;
use crate::valuation::Output;
use crate::{Error, Pagination, coverage};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "counterparty/list",
    path: "/v2/counterparty/list",
    method: Method::Get,
    alternative: None,
    class: CostClass::Heavy,
    cost: 5,
    tag: Tag::OnChain,
    summary: "Counterparty list",
    description: "Who an address dealt with; on Bitcoin amounts are attributed in proportion to the net inputs of each \
                  transaction, without change and CoinJoins.",
    chains: ChainScope::NamedOr("blockchain", Chain::BITCOIN),
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
    example: Example::new(|| json!({"blockchain": "ethereum", "address": ALICE}), ("blockchain", "solana")),
    calls: Calls::list::<CounterpartyList>(),
};

form! {
    /// Rows left out before the page.
    WindowOffset(i64 => i64, Copy): json!({
        "type": "integer", "format": "int32", "minimum": 0, "maximum": PAGE_WINDOW - 1, "default": 0
    });
}

/// `GET /v2/counterparty/list`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct CounterpartyListRequest {
    /// The address asked about.
    #[schema(example = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")]
    address: AddressText,
    /// Chain: `bitcoin` when omitted.
    blockchain: Option<ChainText>,
    /// `all` (default), `in` or `out`: which movements are summed.
    direction: Option<DirectionFilter>,
    /// `total_amount` (default) or another column; ties by address. Where several assets are ranked and no transfer in scope
    /// has a price, the default is `total_count`, and the warning `no_prices` says so.
    sort: Option<RankingSort>,
    /// `desc` (default) or `asc`.
    order: Option<SortOrder>,
    /// First time, epoch seconds, included.
    start_time: Option<TimeBound>,
    /// Last time, epoch seconds, included.
    end_time: Option<TimeBound>,
    /// Only rows of at least this many transactions.
    min_interactions: Option<MinCount>,
    /// Rows per page: default 20, at most 1000, of a table 100,000.
    limit: Option<PageLimit>,
    /// Rows left out before the page.
    offset: Option<WindowOffset>,
    /// `next_cursor` of an answer: continues after its last row, at any depth.
    cursor: Option<CursorText>,
    /// Bitcoin: list change too, the outputs that returned to the payer. By default those are left out that change detection
    /// names with a confidence of 0.9 or more, of up to 20,000 transactions; with more the warning `change_limit` says that
    /// change is listed.
    include_change: Option<OptIn>,
    /// `address` (default) or `cluster`: rows are clusters of Bitcoin addresses under their `cluster_id`, among them that of the
    /// address itself.
    group_by: Option<GroupBy>,
}

/// Checked parameters of a list.
#[derive(Debug)]
pub struct CounterpartyListParams {
    ranker: Ranker,
}

/// One page of counterparties.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CounterpartyListReport {
    /// Counterparties in order.
    pub datas: Vec<CounterpartyRow>,
    /// Distinct senders to the address under the same filters, over all pages.
    pub received_address_count: u64,
    /// Distinct receivers from the address under the same filters, over all pages.
    pub sent_address_count: u64,
    /// How amounts were attributed to counterparties: `proportional` to the net inputs of a transaction on Bitcoin,
    /// `direct` on chains of accounts.
    pub attribution: Attribution,
    /// Bitcoin: transactions left out as `CoinJoins`, of which nobody can tell who paid whom: those with the shape of one and a
    /// confidence of 0.49 or more. Null on chains of accounts.
    pub coinjoin_count: Option<u64>,
    /// Unit of the amounts: a symbol, `usd` or `mixed`.
    pub amount_unit: String,
    /// Last block of the data that was read; pages of one cursor share it.
    pub as_of_block: Option<u64>,
    /// Give this as `cursor` to go on behind the last row; null on the last page.
    pub next_cursor: Option<NextCursor>,
    /// The query.
    pub meta: QueryMeta,
    /// What the envelope says of the page.
    #[serde(skip)]
    pub pagination: Pagination,
}

/// The counterparties of an address.
pub struct CounterpartyList;

impl Analysis for CounterpartyList {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = CounterpartyListRequest;
    type Params = CounterpartyListParams;
    type Report = CounterpartyListReport;
    const IS_VALUED: bool = true;

    fn params(request: CounterpartyListRequest, checks: &mut Checks<'_>) -> Result<CounterpartyListParams, Error> {
        let chain = match &request.blockchain {
            Some(text) => checks.chain("blockchain", text)?,
            None => Chain::BITCOIN,
        };
        let fields = ScopeFields {
            direction: request.direction,
            start_time: request.start_time,
            end_time: request.end_time,
            ..ScopeFields::default()
        };
        let ranker = Ranker {
            address: checks.address(chain, "address", &request.address)?,
            scope: Scope::new(checks, chain, fields)?,
            output: Output::Own,
            sort: request.sort.unwrap_or(RankingSort::TotalAmount),
            order: request.order.unwrap_or(SortOrder::Desc),
            min_interactions: least_interactions(request.min_interactions.map(i64::from))?,
            paging: Paging::of_offset(
                request.limit.map(i64::from),
                request.offset.map(i64::from),
                request.cursor.as_deref(),
                checks,
            )?,
            group_by: request.group_by.unwrap_or(GroupBy::Address),
            pairs: if OptIn::is_taken(request.include_change) { UtxoPairs::NoCoinJoins } else { UtxoPairs::Payments },
        };
        Ok(CounterpartyListParams { ranker })
    }

    fn report(
        ledger: &dyn Ledger,
        CounterpartyListParams { ranker }: &CounterpartyListParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<CounterpartyListReport, Error> {
        let chain = ranker.scope.chain;
        coverage::warn(ledger, chain, ranker.scope.window, warnings);
        let attribution = match chain.family() {
            Family::Utxo => Attribution::Proportional,
            Family::Evm | Family::Tron => Attribution::Direct,
        };
        if ranker.group_by == GroupBy::Cluster && chain.family() != Family::Utxo {
            let message = format!("addresses of {chain} have no clusters: rows are addresses");
            warnings.add("not_clustered", Some("group_by"), message);
        }
        let page = ranker.page(ledger, cancel)?;
        page.warn(warnings);
        let as_of_block = ledger.coverage().get(&chain).and_then(|coverage| coverage.last_block);
        let datas = page.rows().collect::<Result<Vec<_>, _>>()?;
        let info = ranker.paging.info(datas.len(), page.next.clone(), None, ledger.generation(), as_of_block);
        Ok(CounterpartyListReport {
            datas,
            received_address_count: page.senders,
            sent_address_count: page.receivers,
            attribution,
            coinjoin_count: (chain.family() == Family::Utxo).then_some(page.judged.coinjoins),
            amount_unit: page.amount_unit.clone(),
            as_of_block,
            next_cursor: info.next_cursor,
            meta: QueryMeta::new(CostClass::Heavy),
            pagination: ranker.paging.pagination(page.total),
        })
    }

    fn pagination(report: &CounterpartyListReport) -> Option<Pagination> {
        Some(report.pagination)
    }

    fn meta(report: &mut CounterpartyListReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

impl List for CounterpartyList {
    type Row = CounterpartyRow;

    fn list(
        ledger: &dyn Ledger,
        CounterpartyListParams { ranker }: &CounterpartyListParams,
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
