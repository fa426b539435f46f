//! Balances of TRON accounts, by nodes that keep their history.

use headwater_ledger::read::{Coverage, CoverageTable, uncovered};
use headwater_types::{Address, Amount, Asset};
use serde_json::{Value, json};

use super::{ComparisonReport, HeldBalance, Run, difference};
use crate::error::{CallError, FetchError, NodeError};
use crate::transport::Provider;

/// Compares balances of the native coin.
pub(super) fn compare(
    run: &Run<'_>,
    coverage: &Coverage,
    sample: &[Address],
    report: &mut ComparisonReport,
) -> Result<(), NodeError> {
    report.leave_out("balances of tokens: nodes of TRON answer those of the newest block only");
    let first = run.span.base.map_or(0, |base| base + 1);
    let is_complete = |table| uncovered(coverage.ranges_of(table), (first, run.span.block)).is_empty();
    if !(is_complete(CoverageTable::Traces) && is_complete(CoverageTable::Receipts)) {
        report.leave_out("balances of the native coin: fees or internal transfers are not held for all blocks");
        return Ok(());
    }
    for (place, address) in sample.iter().enumerate() {
        let Some(account) = run.ledger.account(run.chain, address)? else { continue };
        let holdings = run.ledger.holdings(&account)?;
        for held in holdings.into_iter().filter(|held| held.asset == Asset::Native) {
            let range = (run.span.base.unwrap_or(run.span.block), run.span.block);
            let (base, now) = run.providers.ask(range, |provider| {
                let now = balance(run, provider, address, run.span.block)?;
                let base = run.span.base.map(|base| balance(run, provider, address, base)).transpose()?;
                Ok((base.unwrap_or(Amount::ZERO), now))
            })?;
            let held = HeldBalance { address: *address, asset: held.asset, balance: held.balance };
            report.count(difference(&held, base, now));
        }
        (run.progress)(place as u64 + 1, sample.len() as u64);
    }
    Ok(())
}

/// Asks for the balance at a block. Nodes have it with `storage.balance.history.lookup = true` only.
fn balance(run: &Run<'_>, provider: &Provider, address: &Address, block: u64) -> Result<Amount, FetchError> {
    let header = provider.ask("/wallet/getblockbynum", &json!({"num": block}), run.cancel)?;
    let hash = header["blockID"].as_str().ok_or_else(|| CallError::Missing(format!("block {block}")))?;
    let question = json!({
        "account_identifier": {"address": address.to_string()},
        "block_identifier": {"hash": hash, "number": block},
        "visible": true,
    });
    let answer = provider.ask("/wallet/getaccountbalance", &question, run.cancel)?;
    match (answer.get("Error"), answer.get("balance")) {
        (Some(error), _) => {
            Err(CallError::Missing(format!("balances of earlier blocks (storage.balance.history.lookup): {error}"))
                .into())
        }
        // A field with its default value is left out.
        (None, None) => Ok(Amount::ZERO),
        (None, Some(balance)) => Amount::parse_raw(&number(balance)).map_err(|_| {
            CallError::Malformed(format!("the balance of {address} at block {block} is {balance}")).into()
        }),
    }
}

fn number(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
