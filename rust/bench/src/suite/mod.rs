//! The measurements: the engine and its peers answer the same questions in one run, in alternating order, and only
//! after their answers were found equal to what the rows say.

#![expect(clippy::cast_precision_loss, reason = "figures for people need no more than 53 bits")]

pub mod answer;
pub mod counters;
pub mod load;
pub mod memory;
pub mod oracle;
pub mod peers;
pub mod questions;
pub mod record;
pub mod report;
pub mod run;
pub mod samples;
pub mod stages;
pub mod tables;
pub mod targets;
pub mod traces;
pub mod units;

pub mod error;
pub mod own;
pub mod sections;

pub use error::{Error, Result};
