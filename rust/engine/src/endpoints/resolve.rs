//! Which assets symbols and contracts mean.

use headwater_ledger::market::SymbolMatch;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Asset, Chain};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::registry::{TokenEntry, entries};
use crate::Error;
use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::fields::values;
use crate::fields::{ChainName, ChainText, ContractList, SymbolList};
use crate::method::Method;
use crate::request::{Checks, Warnings, symbol_texts};
use crate::scope::named_contracts;

/// Most candidates named for an ambiguous symbol.
const MAX_CANDIDATES: usize = 5;

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "resolve",
    path: "/v1/resolve",
    method: Method::Post,
    alternative: None,
    class: CostClass::Free,
    cost: 0,
    tag: Tag::Market,
    summary: "Symbol or contract to asset specification",
    description: "In the order of the request; what is not found is listed with candidates; it is not an error.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Market,
    rows: Some("assets"),
    first: &["query", "chain", "symbol", "display_name", "contract", "matched_by"],
    example: Example::new(|| json!({"blockchain": "ethereum", "symbols": ["usdt", "shib"]}), ("blockchain", "solana")),
    calls: Calls::of::<Resolve>(),
};

values! {
    /// What found an asset.
    MatchedBy { Symbol = "symbol", Contract = "contract", All = "all" }
    /// What was asked for.
    UnresolvedKind { Symbol = "symbol", Contract = "contract" }
    /// Why it has no answer.
    UnresolvedReason { NotFound = "not_found", Ambiguous = "ambiguous" }
}

/// `POST /v1/resolve`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct ResolveRequest {
    /// Chain: `ethereum`, `tron`, `bitcoin` or `bsc`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// Symbols; omitted, empty or with `all`: every asset of the chain.
    symbols: Option<SymbolList>,
    /// Contracts, null or `native` for the native coin; stands before `symbols`.
    contracts: Option<ContractList>,
}

/// What is to be resolved.
#[derive(Debug)]
pub struct ResolveParams {
    chain: Chain,
    wanted: Wanted,
}

#[derive(Debug)]
enum Wanted {
    All,
    Symbols(Vec<String>),
    Contracts(Vec<(Option<String>, Asset)>),
}

/// What was found and what was not.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ResolveReport {
    /// Chain.
    pub blockchain: ChainName,
    /// Found, in the order of the request.
    pub assets: Vec<ResolvedAsset>,
    /// Not found, or found several times, in the order of the request.
    pub unresolved: Vec<Unresolved>,
}

/// An asset that was found.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ResolvedAsset {
    /// The asset.
    #[serde(flatten)]
    pub token: TokenEntry,
    /// What was asked; null for `all` and for a null contract.
    pub query: Option<String>,
    /// `symbol`, `contract` or `all`.
    pub matched_by: MatchedBy,
}

/// What could not be resolved.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Unresolved {
    /// What was asked.
    pub query: Option<String>,
    /// `symbol` or `contract`.
    pub kind: UnresolvedKind,
    /// `not_found` or `ambiguous`.
    pub reason: UnresolvedReason,
    /// What it could be, verified first; at most 5.
    pub candidates: Vec<TokenEntry>,
}

/// Which assets symbols and contracts mean.
pub struct Resolve;

impl Analysis for Resolve {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = ResolveRequest;
    type Params = ResolveParams;
    type Report = ResolveReport;

    fn params(request: ResolveRequest, checks: &mut Checks<'_>) -> Result<ResolveParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let symbols = request.symbols.unwrap_or_default();
        symbol_texts("symbols", &symbols)?;
        let wanted = match request.contracts.filter(|contracts| !contracts.is_empty()) {
            Some(contracts) => Wanted::Contracts(named_contracts(checks, chain, &contracts)?),
            None if symbols.is_empty() || symbols.iter().any(|symbol| symbol.eq_ignore_ascii_case("all")) => {
                Wanted::All
            }
            None => Wanted::Symbols(symbols.into()),
        };
        Ok(ResolveParams { chain, wanted })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &ResolveParams,
        _: &mut Warnings,
        _: &Cancel,
    ) -> Result<ResolveReport, Error> {
        let mut report = ResolveReport { blockchain: params.chain.into(), assets: Vec::new(), unresolved: Vec::new() };
        match &params.wanted {
            Wanted::All => {
                let all = entries(ledger, params.chain).into_iter();
                report.assets =
                    all.map(|token| ResolvedAsset { token, query: None, matched_by: MatchedBy::All }).collect();
            }
            Wanted::Symbols(symbols) => {
                for symbol in symbols {
                    report.symbol(ledger, params.chain, symbol);
                }
            }
            Wanted::Contracts(contracts) => {
                for (query, asset) in contracts {
                    report.contract(ledger, params.chain, query.as_ref(), asset);
                }
            }
        }
        Ok(report)
    }
}

impl ResolveReport {
    fn symbol(&mut self, ledger: &dyn Ledger, chain: Chain, symbol: &str) {
        let query = Some(symbol.to_owned());
        let unresolved =
            |reason, candidates| Unresolved { query: query.clone(), kind: UnresolvedKind::Symbol, reason, candidates };
        match ledger.registry().symbol(chain, symbol) {
            SymbolMatch::One(entry) => {
                self.assets.push(ResolvedAsset { token: TokenEntry::new(entry), query, matched_by: MatchedBy::Symbol });
            }
            SymbolMatch::Ambiguous(entries) => {
                let candidates = entries.into_iter().take(MAX_CANDIDATES).map(TokenEntry::new).collect();
                self.unresolved.push(unresolved(UnresolvedReason::Ambiguous, candidates));
            }
            SymbolMatch::NotFound => self.unresolved.push(unresolved(UnresolvedReason::NotFound, Vec::new())),
        }
    }

    fn contract(&mut self, ledger: &dyn Ledger, chain: Chain, query: Option<&String>, asset: &Asset) {
        let query = query.cloned();
        match ledger.registry().entry(chain, asset) {
            Some(entry) => {
                self.assets.push(ResolvedAsset {
                    token: TokenEntry::new(entry),
                    query,
                    matched_by: MatchedBy::Contract,
                });
            }
            None => {
                let candidates = Vec::new();
                self.unresolved.push(Unresolved {
                    query,
                    kind: UnresolvedKind::Contract,
                    reason: UnresolvedReason::NotFound,
                    candidates,
                });
            }
        }
    }
}
