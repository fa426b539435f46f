//! The tokens of one chain.

use headwater_ledger::{Cancel, Ledger};
use headwater_types::Chain;
use serde::{Deserialize, Serialize};

use super::Analysis;
use super::registry::{TokenEntry, entries};
use crate::Error;
use crate::request::{Checks, Warnings};
use crate::table::{List, Rows, TableHead};

/// `GET /v1/assets`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct AssetsRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    chain: String,
}

/// The chain.
#[derive(Debug)]
pub struct AssetsParams(Chain);

/// The tokens of one chain.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AssetsReport {
    /// Chain.
    pub chain: String,
    /// All of them: native coin first, then by market capitalisation, unknown last.
    pub tokens: Vec<TokenEntry>,
}

/// The tokens of one chain.
pub struct Assets;

impl Analysis for Assets {
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
        Ok(AssetsReport { chain: chain.name().to_owned(), tokens: entries(ledger, *chain) })
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
