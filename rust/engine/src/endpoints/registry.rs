//! The token registry: all of it, or the tokens of one chain.

use headwater_ledger::market::{self, RegistryEntry};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Chain, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Error;
use crate::analysis::{Analysis, List};
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::fields::{AddressText, ChainName, Time, UsdMode};
use crate::method::Method;
use crate::request::{Checks, Warnings};
use crate::table::{Rows, TableHead};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "registry",
    path: "/v1/registry",
    method: Method::Get,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Full token registry",
    description: "The coins of the chains, the core tokens that every server knows, and what was imported, which \
                  stands above the core. Meant for building a local table of assets.",
    chains: ChainScope::Unscoped,
    reads: Reads::Market,
    rows: Some("tokens"),
    first: &["chain", "symbol", "display_name", "contract", "decimals", "verified"],
    example: Example { request: || json!({}), refused: None, missing: None },
    calls: Calls::list::<WholeRegistry>(),
};

/// `GET /v1/registry`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct RegistryRequest {}

/// Nothing to choose.
#[derive(Debug)]
pub struct RegistryParams;

/// The token registry.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct RegistryReport {
    /// All tokens, by chain; in a chain the native coin first.
    pub tokens: Vec<TokenEntry>,
}

/// A token, or the native coin of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TokenEntry {
    /// Chain.
    pub chain: ChainName,
    /// Lowercase symbol.
    pub symbol: String,
    /// Name for people.
    pub display_name: String,
    /// Contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// Decimals.
    #[schema(maximum = 255)]
    pub decimals: u8,
    /// Whether a registry vouches for it.
    pub verified: bool,
    /// How it is valued: `rate` (by the price of `rate_symbol`) or `none`.
    pub usd_mode: UsdMode,
    /// The symbol to ask prices for; empty where the token has none.
    pub rate_symbol: String,
    /// Its id at CoinGecko.
    pub cg_id: Option<String>,
    /// Market capitalisation in US dollars.
    pub market_cap_usd: Option<f64>,
    /// When that was, epoch seconds.
    pub mcap_updated_at: Option<Time>,
    /// Where the rate comes from.
    pub rate_source: Option<String>,
}

impl TokenEntry {
    /// The entry as answers show it.
    #[must_use]
    pub fn new(entry: &RegistryEntry) -> Self {
        Self {
            chain: entry.chain.into(),
            symbol: entry.symbol.clone(),
            display_name: entry.display_name.clone(),
            contract: entry.asset.contract().map(AddressText::from),
            decimals: entry.decimals,
            verified: entry.verified,
            usd_mode: match entry.usd_mode {
                market::UsdMode::Rate => UsdMode::Rate,
                market::UsdMode::None => UsdMode::None,
            },
            rate_symbol: entry.rate_symbol.clone().unwrap_or_default(),
            cg_id: entry.cg_id.clone(),
            market_cap_usd: entry.market_cap_usd,
            mcap_updated_at: entry.mcap_updated_at.map(Timestamp::secs).map(Time),
            rate_source: None,
        }
    }
}

/// The tokens of a chain: native coin first, then by market capitalisation.
pub(super) fn entries(ledger: &dyn Ledger, chain: Chain) -> Vec<TokenEntry> {
    ledger.registry().entries(chain).into_iter().map(TokenEntry::new).collect()
}

/// The token registry.
pub struct WholeRegistry;

impl Analysis for WholeRegistry {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = RegistryRequest;
    type Params = RegistryParams;
    type Report = RegistryReport;

    fn params(_: RegistryRequest, _: &mut Checks<'_>) -> Result<RegistryParams, Error> {
        Ok(RegistryParams)
    }

    fn report(ledger: &dyn Ledger, _: &RegistryParams, _: &mut Warnings, _: &Cancel) -> Result<RegistryReport, Error> {
        Ok(RegistryReport { tokens: Chain::all().flat_map(|chain| entries(ledger, chain)).collect() })
    }
}

impl List for WholeRegistry {
    type Row = TokenEntry;

    fn list(
        ledger: &dyn Ledger,
        params: &RegistryParams,
        warnings: &mut Warnings,
        rows: &mut Rows<'_>,
    ) -> Result<(), Error> {
        let report = Self::report(ledger, params, warnings, rows.cancel)?;
        rows.whole(TableHead::default(), warnings, report.tokens)
    }
}
