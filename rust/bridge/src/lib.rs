//! Bridges between chains: which transactions are legs of a transfer, and which legs belong together.
//!
//! Pure: logs in, legs out, no store. [`decode`] reads the legs of one transaction, [`LegTable`] (or [`join`], where a
//! caller groups legs itself) joins them, [`Tables`] contains what both know.
//!
//! # Add a bridge
//!
//! 1. Add its contracts to `tables/contracts.csv`, and its chain numbers, if it has its own, to `tables/chain_ids.csv`.
//! 2. Write `tables/families/<family>.toml`: one `[[event]]` per event with its declaration, and where sender, receiver,
//!    token, amount and key stand in it. `tables/README.md` explains every column. Name the file in `FAMILIES`
//!    (`src/tables/family.rs`).
//! 3. Only if logs contain packed messages, or several logs make one leg: leave `step` out, write
//!    `src/decode/<family>.rs`, and add its function to `CODE` (`src/decode/mod.rs`).
//! 4. Add a worked vector to `src/tests/worked/`.
//!
//! # What counts
//!
//! Anybody can emit any event. A leg is read from a log of a listed contract; where contracts cannot be listed (tokens,
//! managers), from a log beside one of a listed contract that it belongs to. Legs are joined as their [`MatchClass`]
//! allows, and [`Transfer::confidence`] says how much that is worth.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::string_slice))]

mod abi;
mod chain;
mod decode;
mod error;
mod half;
mod log;
mod matching;
mod party;
mod rows;
mod tables;

pub use chain::BridgeChain;
pub use decode::{CelerTransfer, Memo, MemoKind, MemoPayment, celer_transfer_id, decode, memo_leg};
pub use error::TableError;
pub use half::{Half, HalfId, LinkKey, MatchClass, Step, Token};
pub use log::{Log, TokenTransfer, Transaction, account_bytes};
pub use matching::{LegTable, Status, Transfer, join};
pub use party::Party;
pub use tables::{Contract, Event, Family, Tables};

/// Changes whenever the legs of a transaction, or their keys, may be others than before: stored indexes of keys are built
/// again then.
pub const VERSION: u32 = 1;

#[cfg(test)]
mod tests;
