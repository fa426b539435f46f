//! A seeded economy over four chains, with its ground truth.
//!
//! People with habits, hours and weekdays, exchanges with deposit addresses, decentralised exchanges with searchers,
//! mixers, bridges with the events of real protocols, mining pools, issuers, makers of worthless tokens, launderers,
//! poisoners and other criminals, and honest twins that stay just below the thresholds of behaviours live on ethereum,
//! bsc, tron and bitcoin for 400 days or two years. The chains begin with them, so history is complete: nobody ever
//! spends what they do not have, and every balance follows from the facts. What is really so (who owns an address,
//! which output is change, where loot went) is in [`Truth`], beside the chains; [`truth`] lists its tables.
//!
//! Public lists label some of the addresses, and err ([`LabelList`]): tags of explorers, two lists of scams, addresses that
//! services publish themselves, markets, ransomware, sanctions in two editions. Issuers of stablecoins freeze accounts on
//! chain, with the events and contracts of Tether and Circle.
//!
//! The same seed gives the same facts, byte for byte. Randomness comes from one stream per actor, so that one more
//! actor does not reshuffle the habits of the others. One thread makes the economy, slice of time by slice of time
//! ([`Production`]); the chains are never in memory as a whole.
//!
//! Blocks are as far apart as in reality (12 s, 3 s, 3 s, and a Poisson process of 600 s), in [`Preset::Demo`] farther.
//! Coverage claims all blocks for transactions, receipts, traces, token transfers and logs. On the account chains only
//! blocks with transactions have headers, and the first and last of every batch; headers are claimed on bitcoin only.
//!
//! ```no_run
//! use headwater_simulate::{Preset, Production};
//! for slice in Production::new(Preset::S, 1) {
//!     println!("day {}: {} batches", slice.days, slice.batches.len());
//! }
//! ```
#![forbid(unsafe_code)]

mod abi;
mod actors;
mod book;
mod build;
mod clock;
mod directory;
mod economy;
mod error;
mod fees;
mod gas;
mod highlights;
mod identity;
mod labels;
mod live;
mod load;
mod market;
mod preset;
mod production;
mod random;
mod tokens;
pub mod truth;
mod world;

pub use build::{BuildStep, build_store};
pub use economy::{Economy, economy};
pub use error::SimulateError;
pub use highlights::Highlight;
pub use labels::{LabelFile, LabelFormat, LabelList, write_lists};
pub use live::{LiveBlock, LiveBlocks};
pub use load::{ChainSummary, Destination, SimulateReport, simulate};
pub use preset::{Preset, UnknownPreset};
pub use production::{Outcome, Production, Slice};
pub use truth::Truth;
