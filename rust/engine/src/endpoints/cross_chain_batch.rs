//! Where several transactions went over bridges.

use headwater_ledger::{Cancel, Ledger, LedgerError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cross_chain::{CrossChainItem, CrossChainRow};
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::crossings::{CrossChainTransfer, crossings};
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::CROSSING;
use crate::fields::ChainText;
use crate::limits::MAX_CROSSINGS;
use crate::method::Method;
use crate::request::{Checks, Warnings, at_most};
use crate::table::{Rows, TableHead};
use crate::transaction_places::Places;
use crate::{Error, ErrorKind, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "cross-chain/batch",
    path: "/v1/cross-chain/batch",
    method: Method::Post,
    alternative: None,
    class: CostClass::Medium,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Batch cross-chain trace",
    description: "What `cross-chain` says of each of 1 to 50 transactions, in the order of the request: at least one result each, \
                  and one for each transfer where a transaction is a leg of several. A query that fails has an `error` and empty \
                  texts: check each item.",
    chains: ChainScope::NamedOrAny("chain"),
    reads: Reads::Movements,
    rows: Some("results"),
    first: &["txhash", "label", "error"],
    example: Example::new(|| json!({"queries": [{"txhash": CROSSING, "label": "mine"}]}), ("queries", "0x12")),
    calls: Calls::list::<CrossChainBatch>(),
};

/// `POST /v1/cross-chain/batch`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct CrossChainBatchRequest {
    /// The transactions asked about.
    #[schema(min_items = 1, max_items = 50)]
    queries: Vec<CrossChainQuery>,
    /// Chain of all transactions; omitted: every chain that writes hashes in the form of each.
    chain: Option<ChainText>,
}

/// A transaction of a batch.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct CrossChainQuery {
    /// The transaction. A text that is no hash is an error of this item.
    txhash: String,
    /// Given back in its results; without it, the name of the bridge.
    label: Option<String>,
}

/// Checked parameters of a batch.
#[derive(Debug)]
pub struct CrossChainBatchParams {
    /// Each query, with where it is looked for, or its error.
    queries: Vec<(CrossChainQuery, Result<Places, String>)>,
}

/// The transfers of each transaction.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CrossChainBatchReport {
    /// In the order of the request.
    pub results: Vec<CrossChainItem>,
}

/// The transfers of several transactions over bridges.
pub struct CrossChainBatch;

impl Analysis for CrossChainBatch {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = CrossChainBatchRequest;
    type Params = CrossChainBatchParams;
    type Report = CrossChainBatchReport;
    const IS_VALUED: bool = true;

    fn params(request: CrossChainBatchRequest, checks: &mut Checks<'_>) -> Result<CrossChainBatchParams, Error> {
        let CrossChainBatchRequest { queries, chain } = request;
        if let Some(chain) = &chain {
            checks.chain("chain", chain)?;
        }
        if queries.is_empty() {
            return Err(Error::invalid(Reason::EmptyList, "queries", "queries: ask about at least one transaction"));
        }
        at_most("queries", &queries, MAX_CROSSINGS)?;
        let checked = |query: CrossChainQuery| {
            let places =
                Places::new(checks, ("txhash", "chain"), &query.txhash, chain.as_ref()).map_err(|error| error.message);
            (query, places)
        };
        Ok(CrossChainBatchParams { queries: queries.into_iter().map(checked).collect() })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &CrossChainBatchParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<CrossChainBatchReport, Error> {
        let mut results = Vec::with_capacity(params.queries.len());
        for (query, places) in &params.queries {
            cancel.check().map_err(LedgerError::from)?;
            let item = |result, error| CrossChainItem::new(&query.txhash, query.label.as_deref(), result, error);
            match found(ledger, places, warnings, cancel)? {
                Ok(found) if found.is_empty() => results.push(item(CrossChainTransfer::empty(), None)),
                Ok(found) => results.extend(found.into_iter().map(|result| item(result, None))),
                Err(why) => results.push(item(CrossChainTransfer::empty(), Some(why))),
            }
        }
        Ok(CrossChainBatchReport { results })
    }
}

/// The transfers of a query, or its own error.
fn found(
    ledger: &dyn Ledger,
    places: &Result<Places, String>,
    warnings: &mut Warnings,
    cancel: &Cancel,
) -> Result<Result<Vec<CrossChainTransfer>, String>, Error> {
    let places = match places {
        Ok(places) => places,
        Err(why) => return Ok(Err(why.clone())),
    };
    match places.find(ledger) {
        Ok(transaction) => crossings(ledger, transaction, warnings, cancel).map(Ok),
        Err(error) if matches!(error.kind, ErrorKind::NotFound | ErrorKind::InvalidInput(_)) => Ok(Err(error.message)),
        Err(error) => Err(error),
    }
}

impl List for CrossChainBatch {
    type Row = CrossChainRow;

    fn list(
        ledger: &dyn Ledger,
        params: &CrossChainBatchParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let results = Self::report(ledger, params, warnings, rows.cancel)?.results;
        let results: Vec<_> = results.into_iter().map(CrossChainItem::row).collect();
        rows.whole(TableHead::default(), warnings, results)
    }
}
