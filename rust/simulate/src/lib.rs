//! A small seeded economy over four chains, with its ground truth.
//!
//! People with habits and hours, exchanges with deposit addresses, a mixer, a bridge, mining pools, issuers, makers of
//! worthless tokens and three crimes live on ethereum, bsc, tron and bitcoin for 120 days. The chains begin with them,
//! so history is complete: nobody ever spends what they do not have, and every balance follows from the facts. What is
//! really so (who owns an address, which output is change, where loot went) stands in [`Truth`], beside the chains.
//!
//! The same seed gives the same facts, byte for byte. Randomness comes from one stream per actor, so that one more
//! actor does not reshuffle the habits of the others. Blocks are minutes apart, farther than in reality, so that a
//! small economy is not mostly empty blocks.
//!
//! ```no_run
//! use headwater_simulate::{Preset, economy};
//! let economy = economy(Preset::Demo, 1);
//! assert!(economy.batches.iter().any(|batch| !batch.transactions.is_empty()));
//! ```
#![forbid(unsafe_code)]

mod abi;
mod actors;
mod book;
mod clock;
mod economy;
mod error;
mod gas;
mod highlights;
mod identity;
mod labels;
mod load;
mod market;
mod preset;
mod random;
mod tokens;
pub mod truth;
mod world;

pub use economy::{Economy, economy};
pub use error::SimulateError;
pub use highlights::Highlight;
pub use load::{ChainSummary, SimulateReport, simulate};
pub use preset::{Preset, UnknownPreset};
pub use truth::Truth;
