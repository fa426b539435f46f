//! Tokens that change balances without transfers: sums of their movements drift away from what accounts hold.
//!
//! A token is one of them where `rebasing_tokens.csv` lists it, or where its own contract logged an event that only such
//! tokens log. What other contracts log about a token is no evidence: anybody can log anything about any token.

use std::collections::HashSet;
use std::sync::LazyLock;

use headwater_ledger::Cancel;
use headwater_ledger::logs::{FirstTopic, LogFilter};
use headwater_ledger::read::Logs;
use headwater_types::{Address, Asset, Chain};
use sha3::{Digest, Keccak256};

use crate::Error;
use crate::request::Warnings;

/// The code of warnings about balances of such tokens.
pub(crate) const CODE: &str = "rebasing_by_transfers";

/// Known ones, which need no logs: liquid staking, elastic supply, and interest-bearing tokens.
const LISTED: &str = include_str!("rebasing_tokens.csv");

/// Events of tokens that rebase. Those of the pools of Aave, since its second version, and of its forks mint, burn and move
/// balances that are scaled by an index; stETH and AMPL, and their forks, log each change. `Mint(address,uint256,uint256)` of
/// Aave's second version is not among them, since pairs of Uniswap log it too.
const EVENTS: [&str; 6] = [
    "BalanceTransfer(address,address,uint256,uint256)",
    "Burn(address,address,uint256,uint256,uint256)",
    "Initialized(address,address,address,address,uint8,string,string,bytes)",
    "LogRebase(uint256,uint256)",
    "Mint(address,address,uint256,uint256,uint256)",
    "TokenRebased(uint256,uint256,uint256,uint256,uint256,uint256,uint256)",
];

static TOKENS: LazyLock<HashSet<(Chain, Address)>> = LazyLock::new(|| {
    let rows = LISTED.lines().skip(1).filter_map(|line| {
        let mut cells = line.split(',');
        let chain = Chain::from_name(cells.next()?)?;
        Some((chain, Address::parse(chain, cells.next()?).ok()?))
    });
    rows.collect()
});

static TOPICS: LazyLock<Vec<[u8; 32]>> =
    LazyLock::new(|| EVENTS.iter().map(|event| Keccak256::digest(event).into()).collect());

/// Warns that balances of a token are those that its transfers add up to.
pub(crate) fn warn(name: &str, field: &str, warnings: &mut Warnings) {
    let message =
        format!("{name} changes balances without transfers: what its transfers add up to may differ from them");
    warnings.add(CODE, Some(field), message);
}

/// Returns whether an asset is known to rebase. A token that is not listed costs a look-up in the index of logs.
///
/// # Errors
/// When the logs cannot be read, or the work is cancelled.
pub(crate) fn rebases<L: Logs + ?Sized>(
    ledger: &L,
    chain: Chain,
    asset: &Asset,
    cancel: &Cancel,
) -> Result<bool, Error> {
    let Some(contract) = asset.contract() else { return Ok(false) };
    if TOKENS.contains(&(chain, *contract)) {
        return Ok(true);
    }
    let filter = LogFilter { first_topic: FirstTopic::OneOf(TOPICS.clone()), ..LogFilter::of(*contract) };
    Ok(!ledger.log_page(chain, &filter, 1, cancel)?.is_empty())
}

#[cfg(test)]
mod tests {
    use headwater_ledger::store::in_memory;
    use headwater_testkit::{Chainlet, address};

    use super::*;

    const CHAIN: Chain = Chain::ETHEREUM;

    /// Returns whether contract 9 rebases where a contract logged an event.
    fn logged(by: u64, event: &str) -> bool {
        let mut batch = Chainlet::ethereum().transfer(1, 9, 0).log(by, &[1], b"").batch();
        batch.transactions[0].logs[0].topics = vec![Keccak256::digest(event).into()];
        let ledger = in_memory(vec![batch], vec![], vec![]).unwrap().snapshot();
        rebases(&*ledger, CHAIN, &Asset::Token(address(CHAIN, 9)), &Cancel::new()).unwrap()
    }

    #[test]
    fn token_rebases_where_its_contract_logs_events_of_such() {
        for event in EVENTS {
            assert!(logged(9, event), "{event}");
            assert!(!logged(8, event), "another contract logged {event}");
        }
        for event in ["Transfer(address,address,uint256)", "Mint(address,uint256,uint256)"] {
            assert!(!logged(9, event), "{event}");
        }
    }

    #[test]
    fn listed_tokens_rebase_on_their_chain_alone() {
        assert_eq!(TOKENS.len(), LISTED.lines().count() - 1, "each row is a token of its own");
        let ledger = in_memory(vec![], vec![], vec![]).unwrap().snapshot();
        let of = |chain, asset: &Asset| rebases(&*ledger, chain, asset, &Cancel::new()).unwrap();
        // aEthUSDC of Aave's third version, and M of M0.
        for text in ["0x98c23e9d8f34fefb1b7bd6a91b7ff122f4e16f5c", "0x866a2bf4e572cbcf37d5071a7a58503bfb36be1b"] {
            let asset = Asset::Token(Address::parse(CHAIN, text).unwrap());
            assert!(of(CHAIN, &asset) && !of(Chain::BSC, &asset));
        }
        // sUSDS is a share of a vault: its balances do not grow.
        let share = Address::parse(CHAIN, "0xa3931d71877c0e7a3148cb7eb4463524fec27fbd").unwrap();
        assert!(!of(CHAIN, &Asset::Token(share)) && !of(CHAIN, &Asset::Native));
    }
}
