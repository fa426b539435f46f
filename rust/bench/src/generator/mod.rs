//! Transfers whose degrees, repeated counterparties and amounts have the tails of a token economy.
//!
//! Accounts and tokens are drawn by a shifted Zipf law, half of all receivers from the 2000 favourites of their
//! sender. Every chunk of a million rows has a state of its own and every row takes the same number of draws, so any
//! part can be made alone, in any order, on any number of threads.
//!
//! ```
//! use headwater_bench::generator::{Generator, Preset};
//! let generator = Generator::new(Preset::of(1000));
//! let chunk = generator.chunk(0);
//! assert_eq!(chunk.len(), 1000);
//! assert!(chunk.time.is_sorted());
//! ```

mod chunk;
mod coins;
mod draw;
mod facts;
mod holders;
mod names;
mod preset;
mod queries;
mod ranks;

pub use chunk::{Chunk, Generator};
pub use coins::{BLOCK_TRANSACTIONS, Coins};
pub use facts::{FIRST_BLOCK, listings};
pub use holders::{HOLDERS, holder_balances};
pub use names::{STABLECOINS, address_bytes, address_of, token_decimals, token_of, token_symbol, transaction_hash};
pub use preset::{CHUNK_ROWS, Preset, TOKENS};
pub use queries::QuerySets;
pub use ranks::Ranks;
