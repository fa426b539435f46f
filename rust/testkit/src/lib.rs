//! Helpers that tests of several crates share: small chains by hand, random ones, the same content in many
//! segmentations, a brute-force oracle, history files, and random input for readers. For development only; nothing that is
//! shipped depends on it.
#![forbid(unsafe_code)]

mod chainlet;
pub mod era;
mod followed;
pub mod fuzz;
mod labels;
mod model;
mod oracle;
mod segmentations;
pub mod strategies;

pub use chainlet::{ANCHOR, Chainlet, address, hash, pay_to, token, topic};
pub use followed::{block_hash, followed};
pub use labels::{claim, label_import};
pub use model::model;
pub use oracle::{OracleHolding, OracleRow, holdings_of, rows_of};
pub use segmentations::{in_one_segment, over_segmentations};

/// Returns whether the long runs are requested: `HEADWATER_FULL` is set.
#[must_use]
pub fn is_full() -> bool {
    std::env::var_os("HEADWATER_FULL").is_some()
}
