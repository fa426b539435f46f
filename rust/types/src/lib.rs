//! The words of Headwater: chains, addresses, hashes, amounts, assets and times.
//!
//! Everything here is a value that cannot be wrong once it is made. Text goes in through `parse` functions that
//! name what they did not like; `Display` gives the canonical form of the chain.
#![forbid(unsafe_code)]
// Text of files may hold any characters: a slice by byte positions would panic inside one.
#![cfg_attr(not(test), deny(clippy::string_slice))]

pub mod address;
mod amount;
mod asset;
mod chain;
mod hash;
mod hex_text;
mod network;
mod pico;
mod synthetic_id;
pub mod text;
mod time;

pub use address::{Address, AddressError};
pub use amount::{Amount, AmountError, Balance, SumOverflow};
pub use asset::Asset;
pub use chain::{Chain, Family, UnknownChain};
pub use hash::{BlockHash, HashError, TxHash};
pub use network::{Network, UnknownNetwork};
pub use pico::{Pico, Usd};
pub use time::{TimeError, TimeWindow, Timestamp, TimestampError};
