//! Walks over the graph of who paid whom: accounts are nodes, what moved between two of them an edge.
//!
//! * [`trace`]: money followed hop by hop, and exposure; the rules, and their source over a ledger.
//! * [`paths`]: how money went from one account to others.
//! * [`taint`]: how traced money mixes with other money.
//! * [`rank`]: which account to look through next.
//! * [`expand`]: an amount spread along the strongest edges, for the benchmark; [`source`], [`stored`] and [`csr`] are its graphs.
#![forbid(unsafe_code)]

pub mod csr;
pub mod expand;
pub mod paths;
pub mod rank;
pub mod source;
pub mod stored;
pub mod taint;
pub mod trace;
