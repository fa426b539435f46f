//! Scores of addresses: as columns in memory, and as a file that a job writes part by part.

mod columns;
mod error;
mod input;
mod job;
mod part;

pub use self::columns::{VERSION_PREFIX, score_batch, score_schema};
pub use self::error::ScoreError;
pub use self::input::Addresses;
pub use self::job::{ADDRESSES_PER_PART, ScoreJob, ScoreProgress, Scored, score_table};
