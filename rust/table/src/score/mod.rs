//! Scores of addresses: as columns, and as a file that a job writes part by part.

mod columns;
mod error;
mod input;
mod job;

pub use self::columns::{VERSION_PREFIX, score_batch, score_schema};
pub use self::error::ScoreError;
pub use self::input::Addresses;
pub use self::job::{ADDRESSES_PER_PART, Scored, score_file};
