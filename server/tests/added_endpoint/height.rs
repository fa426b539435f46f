//! The last block that is held of a chain: an endpoint as small as any.

use headwater_engine::fields::{ChainName, ChainText};
use headwater_engine::{
    Analysis, Calls, ChainScope, Checks, CostClass, Endpoint, Error, Example, Method, Reads, Tag, Warnings,
};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::Chain;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "height",
    path: "/v1/height",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Last block of a chain",
    description: "The newest block that is held.",
    chains: ChainScope::Named("chain"),
    reads: Reads::Movements,
    rows: None,
    first: &[],
    example: Example::new(|| json!({"chain": "ethereum"}), ("chain", "solana")),
    calls: Calls::of::<Height>(),
};

/// `GET /v1/height`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct HeightRequest {
    /// The chain.
    chain: ChainText,
}

/// The last block.
#[derive(Debug, Serialize, ToSchema)]
pub struct HeightReport {
    /// The chain.
    chain: ChainName,
    /// Its last block; null where nothing is held.
    height: Option<u64>,
}

/// The last block of a chain.
pub struct Height;

impl Analysis for Height {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = HeightRequest;
    type Params = Chain;
    type Report = HeightReport;

    fn params(request: HeightRequest, checks: &mut Checks<'_>) -> Result<Chain, Error> {
        checks.chain("chain", &request.chain)
    }

    fn report(ledger: &dyn Ledger, chain: &Chain, _: &mut Warnings, _: &Cancel) -> Result<HeightReport, Error> {
        let height = ledger.coverage().get(chain).and_then(|coverage| coverage.last_block);
        Ok(HeightReport { chain: (*chain).into(), height })
    }
}
