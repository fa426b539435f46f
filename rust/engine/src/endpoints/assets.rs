//! The tokens of one chain.

use headwater_ledger::{Cancel, Ledger};
use headwater_types::Chain;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::registry::{TokenEntry, entries};
use crate::Error;
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::fields::{ChainName, ChainText};
use crate::method::Method;
use crate::request::{Checks, Warnings};
use crate::table::{Rows, TableHead};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "assets",
    path: "/v1/assets",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Tokens of one chain",
    description: "Complete, the native coin first, then by market value.",
    chains: ChainScope::Named("chain"),
    reads: Reads::Market,
    rows: Some("tokens"),
    first: &["chain", "symbol", "display_name", "contract", "decimals", "verified"],
    example: Example::new(|| json!({"chain": "ethereum"}), ("chain", "solana")),
    calls: Calls::list::<Assets>(),
};

/// `GET /v1/assets`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AssetsRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    chain: ChainText,
}

/// The chain.
#[derive(Debug)]
pub struct AssetsParams(Chain);

/// The tokens of one chain.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AssetsReport {
    /// Chain.
    pub chain: ChainName,
    /// All of them: native coin first, then by market capitalisation, unknown last.
    pub tokens: Vec<TokenEntry>,
}

/// The tokens of one chain.
pub struct Assets;

impl Analysis for Assets {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = AssetsRequest;
    type Params = AssetsParams;
    type Report = AssetsReport;

    fn params(request: AssetsRequest, checks: &mut Checks<'_>) -> Result<AssetsParams, Error> {
        checks.chain("chain", &request.chain).map(AssetsParams)
    }

    fn report(
        ledger: &dyn Ledger,
        AssetsParams(chain): &AssetsParams,
        _: &mut Warnings,
        _: &Cancel,
    ) -> Result<AssetsReport, Error> {
        Ok(AssetsReport { chain: (*chain).into(), tokens: entries(ledger, *chain) })
    }
}

impl List for Assets {
    type Row = TokenEntry;

    fn list(
        ledger: &dyn Ledger,
        params: &AssetsParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(TableHead::default(), warnings, report.tokens)
    }
}
