//! What a Bitcoin transaction shows of the people behind it.
//!
//! * [`change`]: which output went back to whoever paid.
//! * [`change_output`]: the same of many transactions, with the one output that counts as change.
//! * [`change_clusters`]: clusters that change makes one.
//! * [`coinjoin`]: whether several people made it together.
//! * [`links`]: the transactions that link the addresses of a cluster.
//! * [`peel_chain`]: a large coin that is paid out piece by piece.
//!
//! All of it is guesswork by rules: the chain itself does not say whose an output is. Rules are pure functions of a
//! [`change::Case`]; [`gather`] reads what they need from a ledger.

pub mod change;
pub mod change_clusters;
pub mod change_output;
pub mod gather;
pub mod links;
pub mod peel_chain;

pub use headwater_ledger::bitcoin::{TransactionView, coinjoin};
