//! Arithmetic over what the ledger holds: pure functions, integers throughout, no file, clock or thread order.
#![forbid(unsafe_code)]

pub mod flow;
pub mod utxo_attribution;
