//! Judgements about addresses.
//!
//! * [`label`]: what the claims about an address come to.
//! * [`behaviour`]: what it did, as patterns that mean something.
//! * [`bridge`]: which legs of transfers between chains belong together.
//! * [`bitcoin`]: whose outputs of transactions are, as far as rules can tell.
//! * [`risk`]: how risky it is to deal with it, and why.
#![forbid(unsafe_code)]

pub mod behaviour;
pub mod bitcoin;
pub mod bridge;
pub mod classify;
pub mod label;
pub mod risk;
