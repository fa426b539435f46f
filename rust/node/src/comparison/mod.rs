//! The comparison of a store with a node: balances of accounts, supplies of tokens, unspent outputs.
//!
//! The node is asked about the last block that the store holds. Where the history of the store begins later than the chain,
//! the change since the block before is compared.

mod bitcoin;
mod evm;
mod sample;
mod tron;

use headwater_ledger::read::{Coverage, CoverageTable};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Amount, Asset, Balance, Chain, Family};
use serde::Serialize;

use crate::error::{CallError, FetchError, NodeError};
use crate::pool::Providers;
use crate::sources::source_of;

/// The maximum number of differences that are listed. Counts are of all.
const MAX_LISTED: usize = 100;

/// The blocks over which a store and a node are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// The block whose balances the store begins with; `None` if it holds the first balances of the chain too.
    pub base: Option<u64>,
    /// The block at whose end balances are compared.
    pub block: u64,
}

/// A balance by the store.
#[derive(Debug, Clone)]
pub(crate) struct HeldBalance {
    /// The account.
    pub address: headwater_types::Address,
    /// The asset.
    pub asset: Asset,
    /// The amounts that came in and went out.
    pub balance: Balance,
}

/// A balance on which store and node do not agree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The account; the contract for the supply of a token.
    pub address: String,
    /// `balance`, `supply` or `output`.
    pub what: &'static str,
    /// The contract of the token; none for the native coin.
    pub contract: Option<String>,
    /// The output, as `TRANSACTION:INDEX`.
    pub output: Option<String>,
    /// The amount by the store, in the smallest unit; signed where it is a change.
    pub store: String,
    /// The amount by the node.
    pub node: String,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ComparisonReport {
    /// The chain.
    pub chain: String,
    /// The block at whose end balances are compared.
    pub block: u64,
    /// The block since whose end changes are compared; none where balances are compared as they are.
    pub since_block: Option<u64>,
    /// Accounts of the sample.
    pub accounts: u64,
    /// Balances, supplies and outputs that agree.
    pub equal: u64,
    /// Those that differ.
    pub different: u64,
    /// The first of those that differ; at most 100.
    pub differences: Vec<Difference>,
    /// The reasons for which something was not compared.
    pub not_compared: Vec<String>,
}

impl ComparisonReport {
    fn count(&mut self, difference: Option<Difference>) {
        let Some(difference) = difference else {
            self.equal += 1;
            return;
        };
        self.different += 1;
        if self.differences.len() < MAX_LISTED {
            self.differences.push(difference);
        }
    }

    fn leave_out(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.not_compared.contains(&reason) {
            self.not_compared.push(reason);
        }
    }
}

/// Compares a sample of accounts with a node. `progress` receives how many of them are done.
///
/// # Errors
/// When the history of the chain has gaps, the store cannot be read, or no provider answers.
pub fn compare_balances(
    ledger: &dyn Ledger,
    chain: Chain,
    accounts: usize,
    providers: &Providers,
    progress: &dyn Fn(u64, u64),
    cancel: &Cancel,
) -> Result<ComparisonReport, NodeError> {
    let coverage = ledger.coverage().get(&chain);
    let coverage = coverage.ok_or_else(|| NodeError::Range(format!("the store holds no blocks of {chain}")))?;
    let span = span(chain, coverage)?;
    let source = source_of(chain, Some(coverage), span.block);
    let held = ledger.block(chain, span.block)?.and_then(|block| block.hash);
    providers.check_each((span.block, span.block), |provider| {
        source.check_chain(provider, cancel)?;
        match (held, source.hashes(provider, &[span.block], cancel)?.first().copied().flatten()) {
            (Some(held), Some(stated)) if held != stated => Err(other_branch(span.block)),
            _ => Ok(()),
        }
    })?;
    let sample = sample::accounts(ledger, chain, accounts)?;
    let mut report = ComparisonReport {
        chain: chain.name().to_owned(),
        block: span.block,
        since_block: span.base,
        accounts: sample.len() as u64,
        ..ComparisonReport::default()
    };
    let run = Run { ledger, chain, span, providers, progress, cancel };
    match chain.family() {
        Family::Evm => evm::compare(&run, coverage, &sample, &mut report)?,
        Family::Utxo => bitcoin::compare(&run, &sample, &mut report)?,
        Family::Tron => tron::compare(&run, coverage, &sample, &mut report)?,
    }
    Ok(report)
}

fn other_branch(block: u64) -> FetchError {
    FetchError::Call(CallError::Missing(format!(
        "block {block} as the store holds it: it is on another branch of the chain"
    )))
}

/// The context of a comparison.
struct Run<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    span: Span,
    providers: &'a Providers,
    progress: &'a dyn Fn(u64, u64),
    cancel: &'a Cancel,
}

/// Finds the blocks to compare over: the transactions of one range, which is complete up to the last block.
fn span(chain: Chain, coverage: &Coverage) -> Result<Span, NodeError> {
    match coverage.ranges_of(CoverageTable::Transactions) {
        [] => Err(NodeError::Range(format!(
            "no source of {chain} states that its transactions are complete: balances cannot be compared"
        ))),
        [(first, last)] if coverage.last_block.is_none_or(|block| block <= *last) => {
            let holds_first_balances = *first == 0 && coverage.first_block == Some(0);
            Ok(Span { base: (!holds_first_balances).then_some(first.saturating_sub(1)), block: *last })
        }
        ranges => Err(NodeError::Range(format!(
            "balances of {chain} cannot be compared: its transactions are complete for the blocks {} only, with gaps between \
             or behind them; load the missing blocks first",
            ranges.iter().map(|(first, last)| format!("{first} to {last}")).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// Compares the change of a balance: what was held at the base and came in is what went out and is held now.
fn difference(held: &HeldBalance, base: Amount, now: Amount) -> Option<Difference> {
    let before = held.balance.received().checked_add(base);
    let after = held.balance.sent().checked_add(now);
    if before.is_some() && before == after {
        return None;
    }
    let contract = held.asset.contract().map(ToString::to_string);
    Some(Difference {
        address: held.address.to_string(),
        what: "balance",
        contract,
        output: None,
        store: held.balance.net_decimal(0),
        node: Balance::of(now, base).net_decimal(0),
    })
}
