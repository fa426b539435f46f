//! The supported chains and what is held of them.

use std::collections::BTreeMap;

use headwater_ledger::store::LiveStatus;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::Chain;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ENDPOINTS;
use super::registry::{TokenEntry, entries};
use crate::Error;
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::coverage::{HeldBlocks, held_blocks, is_held, lacking};
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::fields::form;
use crate::fields::{ChainFamily, ChainName, Support, Time};
use crate::method::Method;
use crate::request::{Checks, Warnings, refused};
use crate::table::{Rows, TableHead};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "chains",
    path: "/v1/chains",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Supported chains and their tokens",
    description: "What is held of each chain and which blocks are missing, by which rules it is final, and its registry \
                  entries (`include=none` leaves them out).",
    chains: ChainScope::Unscoped,
    reads: Reads::Market,
    rows: Some("chains"),
    first: &["chain", "display_name", "indexed_from_block", "indexed_to_block", "indexed_to_ts"],
    example: Example::new(|| json!({"include": ["none"]}), ("include", "prices")),
    calls: Calls::list::<Chains>(),
};

form! {
    /// `tokens` or `none`.
    ChainParts(Vec<String> => [String], Default): json!({
        "type": "array", "items": {"type": "string", "enum": ["tokens", "none"]}, "default": ["tokens"]
    });
}

/// `GET /v1/chains`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct ChainsRequest {
    /// Comma list: `tokens` (default), or `none` to leave the tokens out.
    include: Option<ChainParts>,
}

/// Whether tokens are listed.
#[derive(Debug)]
pub struct ChainsParams {
    with_tokens: bool,
}

/// The supported chains.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ChainsReport {
    /// Ordered by name.
    pub chains: Vec<ChainEntry>,
}

/// A supported chain.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ChainEntry {
    /// Identifier.
    pub chain: ChainName,
    /// Name for people.
    pub display_name: String,
    /// `evm`, `tron` or `utxo`.
    pub family: ChainFamily,
    /// CAIP-2 identifier.
    pub caip2: Option<String>,
    /// Lowercase symbol of the native coin.
    pub native_symbol: String,
    /// Decimals of the native coin.
    #[schema(maximum = 255)]
    pub native_decimals: u8,
    /// First block that has a transaction.
    pub indexed_from_block: Option<u64>,
    /// Last block that has a transaction, or an empty one behind it whose time is known, in a range whose transactions are
    /// complete.
    pub indexed_to_block: Option<u64>,
    /// Time of that block, epoch seconds.
    pub indexed_to_ts: Option<Time>,
    /// Blocks that are held, by kind of data, with the gaps between them.
    pub held: Vec<HeldBlocks>,
    /// Newest block of the node that is followed; null without a live follower.
    pub head_block: Option<u64>,
    /// Seconds from the time of `indexed_to_block` to the last status of the follower, which is at most 30 seconds old;
    /// at least 0, and null without a live follower.
    pub lag_seconds: Option<i64>,
    /// Blocks after which data counts as final.
    pub finality_depth: u32,
    /// Endpoint name to `full`, `partial` or `none`.
    pub endpoints: BTreeMap<&'static str, Support>,
    /// Tokens, native coin first; empty with `include=none`.
    pub tokens: Vec<TokenEntry>,
}

/// The supported chains and what is held of them.
pub struct Chains;

impl Analysis for Chains {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = ChainsRequest;
    type Params = ChainsParams;
    type Report = ChainsReport;

    fn params(request: ChainsRequest, _: &mut Checks<'_>) -> Result<ChainsParams, Error> {
        let include = request.include.unwrap_or_else(|| ChainParts(vec!["tokens".to_owned()]));
        let mut with_tokens = false;
        for (index, part) in include.iter().enumerate() {
            match part.to_ascii_lowercase().as_str() {
                "tokens" => with_tokens = true,
                "none" => {}
                _ => {
                    let why = format!("expected tokens or none, got {part:?}");
                    return Err(refused(crate::Reason::InvalidValue, &format!("include[{index}]"), part, &why));
                }
            }
        }
        Ok(ChainsParams { with_tokens })
    }

    fn report(ledger: &dyn Ledger, params: &ChainsParams, _: &mut Warnings, _: &Cancel) -> Result<ChainsReport, Error> {
        let chains = Chain::all().map(|chain| chain_entry(ledger, chain, params.with_tokens));
        Ok(ChainsReport { chains: chains.collect::<Result<_, _>>()? })
    }

    /// A follower writes its status between two generations.
    fn is_repeatable(_: &ChainsReport) -> bool {
        false
    }
}

fn chain_entry(ledger: &dyn Ledger, chain: Chain, with_tokens: bool) -> Result<ChainEntry, Error> {
    let coverage = ledger.coverage().get(&chain);
    // What a call can say of a chain depends on what is held of it.
    let support = match coverage.filter(|coverage| coverage.transactions > 0) {
        None => Support::None,
        Some(coverage) if lacking(chain, coverage).is_empty() => Support::Full,
        Some(_) => Support::Partial,
    };
    let support_of = |endpoint: &Endpoint| match endpoint.reads {
        _ if !endpoint.chains.contains(chain) => Support::None,
        Reads::Movements => support,
        Reads::Labels if !is_held(ledger, chain) => Support::None,
        Reads::Labels | Reads::Market => Support::Full,
    };
    let live = ledger.live(chain)?;
    let newest = coverage.and_then(|coverage| coverage.last_time);
    Ok(ChainEntry {
        chain: chain.into(),
        display_name: chain.display_name().to_owned(),
        family: chain.family().into(),
        caip2: Some(chain.caip2().to_owned()),
        native_symbol: chain.native_symbol().to_owned(),
        native_decimals: chain.native_decimals(),
        indexed_from_block: coverage.and_then(|coverage| coverage.first_block),
        indexed_to_block: coverage.and_then(|coverage| coverage.last_block),
        indexed_to_ts: newest.map(Time::from),
        held: coverage.map(|coverage| held_blocks(chain, coverage)).unwrap_or_default(),
        head_block: live.as_ref().and_then(LiveStatus::head),
        lag_seconds: live.zip(newest).map(|(status, newest)| status.lag_secs(newest)),
        finality_depth: chain.finality_depth(),
        endpoints: ENDPOINTS.iter().map(|endpoint| (endpoint.name, support_of(endpoint))).collect(),
        tokens: if with_tokens { entries(ledger, chain) } else { Vec::new() },
    })
}

impl List for Chains {
    type Row = ChainEntry;

    fn list(
        ledger: &dyn Ledger,
        params: &ChainsParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(TableHead::default(), warnings, report.chains)
    }
}
