//! `headwater holders`: the largest holders of a token.

use headwater_engine::Response;
use headwater_engine::endpoints::resolve::{Resolve, ResolveReport};
use headwater_engine::endpoints::token_holders::{ENDPOINT, TokenHolders, TokenHoldersReport};
use headwater_types::{Amount, Chain};
use serde_json::json;

use super::error::Failure;
use super::output::{Output, grouped, standing};
use super::session::{Session, without_nulls};
use super::table::{Layout, Table};
use super::view::View;
use super::words::{counted, grouped_text};
use super::{Settings, cells, chain};

/// Arguments of `holders`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain [default: of a contract the chain whose addresses have this form, of a symbol the only one with it].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Maximum number of rows, 1 to 100 [default: 10; with --csv all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    view: View,
    /// The token: its symbol or contract. The symbol of the coin of a chain means that coin.
    token: String,
}

/// Ranks the holders of a token.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, limit, view, token } = arguments;
    let session = Session::open(settings)?;
    let (chain, contract) = find(&session, *chain, token)?;
    let request = without_nulls(json!({"blockchain": chain.name(), "contract": contract, "limit": limit}));
    if view.is_csv(output)? {
        return session.print_csv(&ENDPOINT, request, output);
    }
    let response = session.ask::<TokenHolders>(request)?;
    output.answer(&response, || lines(&response, view.layout(output)))
}

/// Finds the chain and contract of a token; the coin of a chain is `native`.
fn find(session: &Session, named: Option<Chain>, token: &str) -> Result<(Chain, String), Failure> {
    if session.engine.chains_of(token).is_ok() {
        return Ok((session.chain(named, token)?, token.to_owned()));
    }
    let chains = match named {
        Some(chain) => vec![chain],
        None => session.held_chains()?,
    };
    let mut found = Vec::new();
    let mut candidates = Vec::new();
    for chain in chains {
        let response = session.ask::<Resolve>(json!({"blockchain": chain.name(), "symbols": [token]}))?;
        let ResolveReport { assets, unresolved, .. } = response.report;
        found.extend(assets.into_iter().map(|asset| {
            let contract = asset.token.contract.map_or_else(|| "native".to_owned(), |contract| contract.to_string());
            (chain, contract)
        }));
        candidates.extend(unresolved.into_iter().flat_map(|one| one.candidates));
    }
    match (&found[..], &candidates[..]) {
        ([one], _) => Ok(one.clone()),
        ([], []) => Err(Failure::usage(format!(
            "{token}: no token of this symbol is known: give its contract, or import a registry with `headwater tokens \
             import FILE`"
        ))),
        ([], _) => {
            let named = candidates
                .iter()
                .map(|one| format!("{} on {}", one.contract.as_deref().unwrap_or("native"), &*one.chain));
            let named: Vec<_> = named.collect();
            Err(Failure::usage(format!("{token}: several tokens have this symbol: give one of {}", named.join(", "))))
        }
        _ => {
            let chains: Vec<_> = found.iter().map(|(chain, _)| chain.name()).collect();
            Err(Failure::usage(format!(
                "{token}: several chains have a token of this symbol: name one with --chain {}",
                chains.join(" or --chain ")
            )))
        }
    }
}

fn lines(response: &Response<TokenHoldersReport>, layout: Layout) -> Vec<String> {
    let report = &response.report;
    let symbol = report.symbol.as_deref().unwrap_or("the token");
    let chain = &*report.blockchain;
    if report.holders.is_empty() {
        return vec![format!("nobody holds {symbol} on {chain}")];
    }
    let all = counted(report.holder_count, "holder", "holders");
    let part: Option<f64> = report.holders.iter().map(|holder| holder.pct_of_supply).sum();
    let shown = grouped(report.holders.len() as u64);
    let part = part.map(|part| format!("; the {shown} shown have {part:.2} % of the supply")).unwrap_or_default();
    let mut table = Table::new(["rank", "address", "balance", "% of supply", "US dollars"]);
    for holder in &report.holders {
        let raw = holder.balance_raw.as_deref().unwrap_or_default();
        // The number of the answer is a double; the text is exact.
        let exact = report.decimals.and_then(|decimals| Some(Amount::parse_raw(raw).ok()?.to_decimal(decimals)));
        table.push(vec![
            grouped(holder.rank),
            holder.address.to_string(),
            exact.map_or_else(|| grouped_text(raw), |exact| grouped_text(&exact)),
            holder.pct_of_supply.map(|part| format!("{part:.4}")).unwrap_or_default(),
            holder.balance_usd.map(cells::dollars).unwrap_or_default(),
        ]);
    }
    let head = format!("{symbol} on {chain} has {all}{part}");
    std::iter::once(head).chain(table.lines(layout)).chain(standing(&response.warnings)).collect()
}
