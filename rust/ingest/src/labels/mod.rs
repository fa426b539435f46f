//! Label files: one file per format in `formats`, and what all of them share.
//!
//! A format reads its files into [`raw::RawLabels`]: texts, as they are written. Everything that formats have in common
//! happens behind it: addresses are read, concepts mapped to codes, sources to provenance groups, and copies joined.

mod counts;
mod formats;
mod normalise;
mod outcome;
mod raw;

pub use counts::Counts;
pub use formats::{PoolTag, read_pool_tags};
pub use outcome::{Foreign, Labels};
