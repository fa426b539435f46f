//! The benchmark suite: a generator of transfers with the tails of a real token economy, and the measurements of the
//! engine beside its peers on them.
//!
//! * [`generator`]: the same rows on every machine and thread count, as columns, as facts for a store, as query sets.
#![forbid(unsafe_code)]

pub mod generator;
