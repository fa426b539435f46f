//! The benchmark suite: a generator of transfers with the tails of a real token economy, and the measurements of the
//! engine beside its peers on them.
//!
//! * [`generator`]: the same rows on every machine and thread count, as columns, as facts for a store, as query sets.
//! * `suite`, with the feature of that name: the measurements.
#![forbid(unsafe_code)]

pub mod generator;
#[cfg(feature = "suite")]
pub mod suite;
