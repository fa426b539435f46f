//! History from live nodes: fetched at the same time, verified by [`headwater_verify`], and committed in order.
//!
//! - [`load_history`] loads a range of blocks into a store, and continues where a load before it stopped.
//! - [`follow`] adds each new block of live nodes, and takes back those that the nodes replaced.
//! - [`Providers`] are the nodes that are asked, each with a budget of requests and a [`ScoreCard`].
//! - [`compare_balances`] compares a store with the state of a node.
//! - [`prices`] fetches the prices of the symbols of a store from a service.
//! - A source for each family of chains has the calls that bring blocks, and in which file format their answers are read.
#![forbid(unsafe_code)]
// Text of nodes may hold any characters: a slice by byte positions would panic inside one.
#![cfg_attr(not(test), deny(clippy::string_slice))]

mod batches;
mod bitcoin_source;
mod budget;
mod comparison;
mod error;
mod evm_source;
mod follow;
mod heads;
mod history;
mod link_check;
mod pending;
mod pool;
pub mod prices;
mod queue;
mod score_card;
mod score_file;
mod source;
mod sources;
mod spool;
mod transport;
mod tron_source;

pub use comparison::{ComparisonReport, Difference, compare_balances};
pub use error::{CallError, FetchError, NodeError};
pub use follow::{FollowOptions, FollowProgress, FollowReport, FollowStep, follow, split_sockets};
pub use history::{
    BLOCKS_PER_COMMIT, Gap, HistoryOptions, HistoryProgress, HistoryReport, HistoryState, Traces, load_history,
};
pub use pool::Providers;
pub use score_card::{ProviderSummary, ScoreCard};
pub use score_file::{KnownProvider, known_providers};
pub use transport::Provider;
