//! What tests of several crates share: small chains by hand, random ones, the same content in many segmentations, and
//! a brute-force oracle. For development only; nothing that is shipped depends on it.
#![forbid(unsafe_code)]

mod chainlet;
mod followed;
mod oracle;
mod segmentations;
pub mod strategies;

pub use chainlet::{Chainlet, address, hash, pay_to, token};
pub use followed::{block_hash, followed};
pub use oracle::{OracleHolding, OracleRow, holdings_of, rows_of};
pub use segmentations::{in_one_segment, over_segmentations};
