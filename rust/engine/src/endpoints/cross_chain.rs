//! Where a transaction went over bridges.

use headwater_ledger::{Cancel, Ledger};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::crossings::{CrossChainTransfer, crossings};
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::CROSSING;
use crate::fields::{ChainText, HashText, form};
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};
use crate::table::{Rows, TableHead};
use crate::transaction_places::Places;
use crate::{Error, Reason};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "cross-chain",
    path: "/v1/cross-chain",
    method: Method::Get,
    alternative: None,
    class: CostClass::Light,
    cost: 5,
    tag: Tag::Intelligence,
    summary: "Cross-chain trace of one transaction",
    description: "The transfers over bridges that a transaction is a leg of, with the other leg where that chain is held, and with \
                  what the event says of it where it is not. A transaction that is not a leg of any known bridge has no results.",
    chains: ChainScope::NamedOrAny("chain"),
    reads: Reads::Movements,
    rows: Some("results"),
    first: &["txhash", "label", "error"],
    example: Example {
        request: || json!({"txhash": CROSSING}),
        refused: Some(("txhash", "0x12")),
        missing: Some(|| json!({"txhash": format!("0x{}", "f".repeat(64))})),
    },
    calls: Calls::list::<CrossChain>(),
};

/// Most characters of a label.
const MAX_LABEL: usize = 128;

form! {
    /// A text of the caller that results carry.
    LabelEcho(String => str): json!({"type": "string", "maxLength": MAX_LABEL});
}

/// `GET /v1/cross-chain`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct CrossChainRequest {
    /// The transaction, on either chain: `0x` and 64 hex digits on EVM chains, 64 hex digits on Bitcoin and TRON.
    txhash: HashText,
    /// Given back in every result; without it, the name of the bridge.
    label: Option<LabelEcho>,
    /// Chain of the transaction; omitted: every chain that writes hashes in this form.
    chain: Option<ChainText>,
}

/// Checked parameters of a look-up.
#[derive(Debug)]
pub struct CrossChainParams {
    places: Places,
    txhash: String,
    label: Option<String>,
}

/// The transfers of a transaction.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CrossChainReport {
    /// In the order of the logs of the transaction.
    pub results: Vec<CrossChainItem>,
}

/// One transfer over a bridge.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CrossChainItem {
    /// The transaction as it was asked for.
    pub txhash: String,
    /// The label as it was given, or the name of the bridge.
    pub label: String,
    /// The transfer.
    pub result: CrossChainTransfer,
    /// Why a query of a batch has no answer; null where it has one.
    pub error: Option<String>,
}

impl CrossChainItem {
    pub(super) fn new(txhash: &str, label: Option<&str>, result: CrossChainTransfer, error: Option<String>) -> Self {
        let label = label.map(str::to_owned).or_else(|| result.bridge.clone()).unwrap_or_default();
        Self { txhash: txhash.to_owned(), label, result, error }
    }

    pub(super) fn row(self) -> CrossChainRow {
        let Self { txhash, label, result, error } = self;
        CrossChainRow { txhash, label, result, error }
    }
}

/// One transfer over a bridge, as tables show it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct CrossChainRow {
    /// The transaction as it was asked for.
    txhash: String,
    /// The label as it was given, or the name of the bridge.
    label: String,
    /// The transfer.
    #[serde(flatten)]
    result: CrossChainTransfer,
    /// Why a query of a batch has no answer.
    error: Option<String>,
}

/// The transfers of a transaction over bridges.
pub struct CrossChain;

impl Analysis for CrossChain {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = CrossChainRequest;
    type Params = CrossChainParams;
    type Report = CrossChainReport;
    const IS_VALUED: bool = true;

    fn params(request: CrossChainRequest, checks: &mut Checks<'_>) -> Result<CrossChainParams, Error> {
        let places = Places::new(checks, ("txhash", "chain"), &request.txhash, request.chain.as_ref())?;
        let label = request.label.map(String::from);
        if let Some(long) = label.as_ref().filter(|label| label.chars().count() > MAX_LABEL) {
            let why = format!("expected at most {MAX_LABEL} characters");
            return Err(refused(Reason::InvalidValue, "label", long, &why));
        }
        Ok(CrossChainParams { places, txhash: request.txhash.to_string(), label })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &CrossChainParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<CrossChainReport, Error> {
        let transaction = params.places.find(ledger)?;
        let found = crossings(ledger, transaction, warnings, cancel)?;
        let item = |result| CrossChainItem::new(&params.txhash, params.label.as_deref(), result, None);
        Ok(CrossChainReport { results: found.into_iter().map(item).collect() })
    }
}

impl List for CrossChain {
    type Row = CrossChainRow;

    fn list(
        ledger: &dyn Ledger,
        params: &CrossChainParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let results = Self::report(ledger, params, warnings, rows.cancel)?.results;
        let results: Vec<_> = results.into_iter().map(CrossChainItem::row).collect();
        rows.whole(TableHead::default(), warnings, results)
    }
}
