//! How concentrated the holdings of a token are.

use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::concentration::{Params, Report, Spread, of_holders};
use headwater_types::{Amount, Asset, Chain, TimeWindow};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::analysis::Analysis;
use crate::cost_class::CostClass;
use crate::endpoint::{Calls, ChainScope, Endpoint, Example, Reads, Tag};
use crate::example::USDT;
use crate::fields::{AddressText, ChainName, ChainText, ContractText, RawAmountText};
use crate::holdings::{ExcludedHolder, Holdings, asset_of, is_stablecoin};
use crate::method::Method;
use crate::query_meta::QueryMeta;
use crate::request::{Checks, Warnings, refused};
use crate::{Error, Reason, coverage};

/// The endpoint.
pub const ENDPOINT: Endpoint = Endpoint {
    name: "token/concentration",
    path: "/v1/token/concentration",
    method: Method::Get,
    alternative: None,
    class: CostClass::Heavy,
    cost: 15,
    tag: Tag::OnChain,
    summary: "Holding concentration",
    description: "Shares of the largest holders, HHI, Gini, Nakamoto, Theil and entropy.",
    chains: ChainScope::Named("blockchain"),
    reads: Reads::Movements,
    rows: None,
    first: &["symbol", "holder_count", "total_supply", "gini", "nakamoto", "hhi", "top10_pct", "top100_pct"],
    example: Example::new(|| json!({"blockchain": "ethereum", "contract": USDT}), ("blockchain", "solana")),
    calls: Calls::of::<TokenConcentration>(),
};

/// `GET /v1/token/concentration`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
pub struct TokenConcentrationRequest {
    /// Chain: `ethereum`, `tron`, `bsc` or `bitcoin`.
    #[schema(example = "ethereum")]
    blockchain: ChainText,
    /// The token, or `native` for the coin of the chain; left out for bitcoin.
    #[schema(example = "0xdac17f958d2ee523a2206206994597c13d831ec7")]
    contract: Option<ContractText>,
}

/// Of which token.
#[derive(Debug)]
pub struct TokenConcentrationParams {
    chain: Chain,
    asset: Asset,
}

/// How concentrated the holdings of a token are, over all addresses with a balance but those that can never spend.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TokenConcentrationReport {
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
    /// The same in the smallest unit.
    pub total_supply_raw: RawAmountText,
    /// The measures.
    pub concentration: ConcentrationMetrics,
    /// Balances that are not measured and not part of the circulating supply.
    pub excluded: Vec<ExcludedHolder>,
    /// Last block of the data that was read.
    pub as_of_block: Option<u64>,
    /// The query.
    pub meta: QueryMeta,
}

/// Measures of concentration. Shares, HHI and Gini are computed as integers and rounded once; all are 0 where nobody
/// holds anything.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ConcentrationMetrics {
    /// Percent of the circulating supply that the 10 largest hold.
    pub top10_pct: f64,
    /// The 100 largest.
    pub top100_pct: f64,
    /// The 1000 largest.
    pub top1000_pct: f64,
    /// Herfindahl-Hirschman index: sum of squared shares, 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    pub hhi: f64,
    /// Gini coefficient, 0 to 1, without the correction n / (n - 1).
    #[schema(minimum = 0, maximum = 1)]
    pub gini: f64,
    /// Nakamoto coefficient: fewest holders who together have more than half.
    pub nakamoto: u64,
    /// Theil index: 0 for equal balances, the logarithm of their number where one has all.
    pub theil: f64,
    /// The Theil index as a part of its largest value.
    pub theil_normalised: f64,
    /// Shannon entropy of the shares, in bits.
    pub entropy_bits: f64,
    /// Addresses with at least 1 US dollar; USDT, USDC and DAI only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub effective_holders_1usd: Option<u64>,
    /// Addresses with at least 100 US dollars; USDT, USDC and DAI only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub effective_holders_100usd: Option<u64>,
    /// Addresses with at least 0.001 bitcoin; bitcoin only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub effective_holders_0_001_btc: Option<u64>,
    /// Addresses with at least 0.1 bitcoin; bitcoin only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub effective_holders_0_1_btc: Option<u64>,
}

/// How concentrated the holdings of a token are.
pub struct TokenConcentration;

impl Analysis for TokenConcentration {
    const ENDPOINT: &Endpoint = &ENDPOINT;
    type Request = TokenConcentrationRequest;
    type Params = TokenConcentrationParams;
    type Report = TokenConcentrationReport;

    fn params(request: TokenConcentrationRequest, checks: &mut Checks<'_>) -> Result<TokenConcentrationParams, Error> {
        let chain = checks.chain("blockchain", &request.blockchain)?;
        let asset = asset_of(checks, chain, request.contract.as_deref())?;
        Ok(TokenConcentrationParams { chain, asset })
    }

    fn report(
        ledger: &dyn Ledger,
        params: &TokenConcentrationParams,
        warnings: &mut Warnings,
        cancel: &Cancel,
    ) -> Result<TokenConcentrationReport, Error> {
        coverage::warn(ledger, params.chain, TimeWindow::ALL, warnings);
        let holdings = Holdings::new(ledger, params.chain, params.asset, warnings, cancel)?;
        let supply = holdings.supply.ok_or_else(|| unmeasurable(&holdings))?;
        Ok(TokenConcentrationReport {
            blockchain: params.chain.into(),
            contract: holdings.asset.contract.clone(),
            symbol: holdings.asset.symbol.clone(),
            decimals: holdings.asset.decimals,
            holder_count: holdings.count,
            total_supply: holdings.units(Some(supply)),
            total_supply_raw: RawAmountText(supply.to_string()),
            concentration: measure(params.chain, &holdings)?,
            excluded: holdings.excluded(),
            as_of_block: ledger.coverage().get(&params.chain).and_then(|coverage| coverage.last_block),
            meta: QueryMeta::new(CostClass::Heavy),
        })
    }

    fn meta(report: &mut TokenConcentrationReport) -> Option<&mut QueryMeta> {
        Some(&mut report.meta)
    }
}

/// No measure can be null, and none can be told of balances that nobody knows.
fn unmeasurable(holdings: &Holdings<'_>) -> Error {
    let contract = holdings.asset.contract.as_deref().unwrap_or("native");
    let why = format!("balances of {contract} add up to more than 256 bits hold: their concentration is not known");
    refused(Reason::InvalidContract, "contract", contract, &why)
}

fn measure(chain: Chain, holdings: &Holdings<'_>) -> Result<ConcentrationMetrics, Error> {
    let ranked = holdings.ranked()?;
    let (report, spread) = of_holders(&ranked, &Params::default().with_tops(vec![10, 100, 1000]))?;
    let Report { top_shares, hhi, gini, nakamoto, .. } = report;
    let Spread { theil, theil_normalised, entropy_bits } = spread;
    let top = |wanted| 100.0 * top_shares.iter().find(|(top, _)| *top == wanted).map_or(0.0, |(_, share)| *share);
    let at_least = |least: Amount| -> Result<u64, Error> { Ok(ranked.at_least(least)?.count) };
    let dollars = |text| {
        let decimals = holdings.asset.decimals.filter(|_| is_stablecoin(&holdings.asset))?;
        Amount::parse_decimal(text, decimals).ok().map(at_least)
    };
    let dollars = |text| dollars(text).transpose();
    let coins = |satoshi: u64| (chain == Chain::BITCOIN).then(|| at_least(Amount::from(satoshi))).transpose();
    Ok(ConcentrationMetrics {
        top10_pct: top(10),
        top100_pct: top(100),
        top1000_pct: top(1000),
        hhi,
        gini,
        nakamoto: u64::try_from(nakamoto).expect("a count fits"),
        theil,
        theil_normalised,
        entropy_bits,
        effective_holders_1usd: dollars("1")?,
        effective_holders_100usd: dollars("100")?,
        effective_holders_0_001_btc: coins(100_000)?,
        effective_holders_0_1_btc: coins(10_000_000)?,
    })
}
