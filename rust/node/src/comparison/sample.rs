//! The accounts that are compared.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use headwater_ledger::Ledger;
use headwater_types::{Address, Asset, Chain};

use crate::error::NodeError;

/// Returns at most so many addresses of a chain, in order: all of them if the chain has no more, else the largest holders
/// of the native coin and addresses that are spread over all. The choice depends on the store alone.
pub(super) fn accounts(ledger: &dyn Ledger, chain: Chain, most: usize) -> Result<Vec<Address>, NodeError> {
    let all = ledger.addresses(chain, None, most + 1)?;
    if all.len() <= most {
        return Ok(all.into_iter().filter(|address| !address.is_zero()).collect());
    }
    let mut chosen = largest(ledger, chain, most / 4)?;
    for range in ledger.split_addresses(chain, most)? {
        if chosen.len() == most {
            break;
        }
        chosen.extend(ledger.addresses(chain, range.from.as_ref(), 1)?);
    }
    Ok(chosen.into_iter().filter(|address| !address.is_zero()).collect())
}

fn largest(ledger: &dyn Ledger, chain: Chain, most: usize) -> Result<BTreeSet<Address>, NodeError> {
    let mut accounts = Vec::new();
    if let Some(holders) = ledger.holders(chain, &Asset::Native)? {
        holders.visit(&mut |batch| {
            accounts.extend(batch.rows().map(|(account, _)| account).take(most - accounts.len()));
            if accounts.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
    }
    accounts.into_iter().map(|account| Ok(ledger.address(account)?)).collect()
}
