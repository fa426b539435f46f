//! Judgements about addresses.
//!
//! * [`label`]: what the claims about an address come to.
#![forbid(unsafe_code)]

pub mod label;
