//! Bridges between chains: the legs of transfers in logs, and the legs that belong together.
//!
//! Logs in, legs out, without a store. [`decode`] reads the legs of one transaction, [`LegTable`] (or [`join`], for legs that
//! a caller has grouped) joins them, [`Tables`] contains the facts for both.
//!
//! # Add a bridge
//!
//! 1. Write `tables/families/<family>.toml`: its contracts, its ids of chains, and one `[[event]]` per event with its
//!    declaration and the fields of sender, receiver, token, amount and key. `tables/README.md` explains every column.
//! 2. Add the file to `FAMILIES` (`src/tables/family.rs`).
//!
//! Only if logs contain packed messages, or several logs make one leg: leave `step` out, write `src/decode/<family>.rs`, and
//! add its function to `CODE` (`src/decode/mod.rs`). A worked vector in `src/tests/worked/` tests a new decoder.
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
pub use log::{Log, TokenTransfer, Transaction};
pub use matching::{LegTable, Status, Transfer, join};
pub use party::Party;
pub use tables::{Contract, Event, Family, Tables, account_bytes};

/// Changes whenever the legs of a transaction, or their keys, may be others than before: stored indexes of keys are built
/// again then.
pub const VERSION: u32 = 1;

#[cfg(test)]
mod tests;
