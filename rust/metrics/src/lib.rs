//! Arithmetic over what the ledger holds: pure functions, integers throughout, no file, clock or thread order.
#![forbid(unsafe_code)]

pub mod concentration;
pub mod counterparties;
pub mod exact;
pub mod features;
pub mod flow;
pub mod grouping;
pub mod order;
pub mod sums;
pub mod sweep;
pub mod utxo_attribution;
