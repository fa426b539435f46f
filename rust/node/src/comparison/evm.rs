//! Balances of EVM accounts and tokens, and supplies of tokens, by the state of a node.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::read::{Coverage, CoverageTable, uncovered};
use headwater_types::{Address, Amount, Asset, Balance};
use serde_json::{Value, json};

use super::{ComparisonReport, Difference, HeldBalance, Run, difference};
use crate::error::{CallError, FetchError, NodeError};
use crate::transport::Provider;

/// Accounts that are asked about at once.
const ACCOUNTS: usize = 25;
/// The selectors of `balanceOf(address)` and `totalSupply()`.
const BALANCE_OF: &str = "0x70a08231";
const TOTAL_SUPPLY: &str = "0x18160ddd";

/// Compares balances of accounts, and supplies of the tokens that they hold.
pub(super) fn compare(
    run: &Run<'_>,
    coverage: &Coverage,
    sample: &[Address],
    report: &mut ComparisonReport,
) -> Result<(), NodeError> {
    let first = run.span.base.map_or(0, |base| base + 1);
    let is_complete = |table| uncovered(coverage.ranges_of(table), (first, run.span.block)).is_empty();
    let with_coin = is_complete(CoverageTable::Traces) && is_complete(CoverageTable::Receipts);
    if !with_coin {
        report.leave_out("balances of the native coin: fees or internal transfers are not held for all blocks");
    }
    let with_tokens = is_complete(CoverageTable::TokenTransfers);
    if !with_tokens {
        report.leave_out("balances of tokens: token transfers are not held for all blocks");
    }
    let mut tokens = BTreeSet::new();
    for (place, some) in sample.chunks(ACCOUNTS).enumerate() {
        let mut held = Vec::new();
        for address in some {
            held.extend(balances(run, address, with_coin, with_tokens)?);
        }
        tokens.extend(held.iter().map(|balance| balance.asset).filter(|asset| *asset != Asset::Native));
        let calls: Vec<Call> = held.iter().map(Call::of_balance).collect();
        let answers = state(run, &calls)?;
        for (balance, answer) in held.iter().zip(answers) {
            match answer {
                Some((base, now)) => report.count(difference(balance, base, now)),
                None => report.leave_out(format!(
                    "the token {}: it answers no balance",
                    balance.asset.contract().map(ToString::to_string).unwrap_or_default()
                )),
            }
        }
        (run.progress)(((place + 1) * ACCOUNTS).min(sample.len()) as u64, sample.len() as u64);
    }
    if report.differences.iter().any(|difference| difference.contract.is_none()) {
        report.leave_out(
            "priority fees: the store credits them to nobody, so accounts that produce blocks hold less in it",
        );
    }
    supplies(run, &tokens.into_iter().collect::<Vec<_>>(), report)
}

/// Returns what the store holds of an account: the native coin, and tokens with whole amounts.
fn balances(
    run: &Run<'_>,
    address: &Address,
    with_coin: bool,
    with_tokens: bool,
) -> Result<Vec<HeldBalance>, NodeError> {
    let Some(account) = run.ledger.account(run.chain, address)? else { return Ok(Vec::new()) };
    let holdings = run.ledger.holdings(&account)?.into_iter();
    let wanted = holdings.filter(|holding| match holding.asset {
        Asset::Native => with_coin,
        // A history that begins with stated balances is compared as a whole history would be.
        asset @ Asset::Token(_) => with_tokens && run.ledger.opening(run.chain, &asset).is_none(),
    });
    Ok(wanted.map(|held| HeldBalance { address: *address, asset: held.asset, balance: held.balance }).collect())
}

/// Compares the supply of tokens: what left the zero address, less what went there.
fn supplies(run: &Run<'_>, tokens: &[Asset], report: &mut ComparisonReport) -> Result<(), NodeError> {
    let zero = Address::from_key(run.chain.family(), headwater_types::Network::Mainnet, &[0; 20]);
    let account = match zero {
        Some(zero) => run.ledger.account(run.chain, &zero)?,
        None => None,
    };
    let held = match &account {
        Some(account) => run.ledger.holdings(account)?,
        None => Vec::new(),
    };
    let sums: BTreeMap<Asset, Balance> = held.into_iter().map(|holding| (holding.asset, holding.balance)).collect();
    for some in tokens.chunks(ACCOUNTS) {
        let calls: Vec<Call> = some.iter().filter_map(|token| Call::of_supply(*token)).collect();
        let answers = state(run, &calls)?;
        for (token, answer) in some.iter().zip(answers) {
            let contract = token.contract().map(ToString::to_string).unwrap_or_default();
            let Some((base, now)) = answer else {
                report.leave_out(format!("the token {contract}: it answers no supply"));
                continue;
            };
            // The zero address sends what is minted.
            let minted = sums.get(token).map_or(Balance::default(), |sum| Balance::of(sum.sent(), sum.received()));
            let before = minted.received().checked_add(base);
            let is_equal = before.is_some() && before == minted.sent().checked_add(now);
            report.count((!is_equal).then(|| Difference {
                address: contract.clone(),
                what: "supply",
                contract: Some(contract),
                output: None,
                store: minted.net_decimal(0),
                node: Balance::of(now, base).net_decimal(0),
            }));
        }
    }
    Ok(())
}

/// A question about the state at a block.
struct Call {
    method: &'static str,
    target: Value,
}

impl Call {
    fn of_balance(held: &HeldBalance) -> Self {
        match held.asset.contract() {
            None => Self { method: "eth_getBalance", target: json!(held.address.to_string()) },
            Some(contract) => {
                let data = format!("{BALANCE_OF}{:0>64}", hex::encode(held.address.key().as_slice()));
                Self { method: "eth_call", target: json!({"to": contract.to_string(), "data": data}) }
            }
        }
    }

    fn of_supply(token: Asset) -> Option<Self> {
        let contract = token.contract()?.to_string();
        Some(Self { method: "eth_call", target: json!({"to": contract, "data": TOTAL_SUPPLY}) })
    }
}

/// Asks for amounts at the base and at the block; `None` for a contract that answers none.
fn state(run: &Run<'_>, calls: &[Call]) -> Result<Vec<Option<(Amount, Amount)>>, NodeError> {
    let range = (run.span.base.unwrap_or(run.span.block), run.span.block);
    run.providers.ask(range, |provider| {
        let now = amounts(run, provider, calls, run.span.block)?;
        let base = match run.span.base {
            Some(base) => amounts(run, provider, calls, base)?,
            None => vec![Some(Amount::ZERO); calls.len()],
        };
        // A contract that did not exist at the base answers nothing there, and had nothing.
        Ok(base.into_iter().zip(now).map(|(base, now)| Some((base.unwrap_or(Amount::ZERO), now?))).collect())
    })
}

fn amounts(run: &Run<'_>, provider: &Provider, calls: &[Call], block: u64) -> Result<Vec<Option<Amount>>, FetchError> {
    let tag = format!("{block:#x}");
    let mut amounts = vec![None; calls.len()];
    for method in ["eth_getBalance", "eth_call"] {
        let places: Vec<usize> = (0..calls.len()).filter(|place| calls[*place].method == method).collect();
        let asked: Vec<Value> = places.iter().map(|place| json!([calls[*place].target, tag])).collect();
        if asked.is_empty() {
            continue;
        }
        for (place, answer) in places.into_iter().zip(provider.batch(method, asked, run.cancel)?) {
            amounts[place] = match answer {
                Ok(answer) => amount(&answer),
                // A call that the contract reverts.
                Err(CallError::Failed(_)) if method == "eth_call" => None,
                Err(error @ (CallError::Cancelled | CallError::RateLimited { .. } | CallError::Unreachable(_))) => {
                    return Err(error.into());
                }
                Err(error) => {
                    let text = format!(
                        "state of block {block} ({error}): ask a node that keeps old states, or compare soon after a load"
                    );
                    return Err(CallError::Missing(text).into());
                }
            };
        }
    }
    Ok(amounts)
}

/// Reads an amount: a quantity, or the first word of what a contract returned.
fn amount(answer: &Value) -> Option<Amount> {
    let text = answer.as_str()?.strip_prefix("0x")?;
    let word = text.get(..64).unwrap_or(text);
    Amount::parse_hex(word).ok().or_else(|| Amount::parse_hex(&format!("0x{word}")).ok())
}
