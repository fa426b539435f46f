//! Prices from a service: the missing days or hours of the symbols of a store, as versions of prices.
//!
//! - `coin` finds the symbols and their ids, `plan` the periods that are missing.
//! - `coingecko` and `defillama` have the requests and answers of the services, `ask` chooses between them, `client` sends.
//! - `answer` refuses single points, `judge` sets aside prices that differ too much from others.
//! - `journal` keeps answers until they are committed, and periods without a price for good.
//!
//! A service with the same interface as one of these needs its address only. Another interface is a file beside
//! `coingecko`, a variant of [`PriceService`] and its arms in `ask`.

mod answer;
mod ask;
mod client;
mod coin;
mod coingecko;
mod defillama;
mod error;
mod fetch;
mod journal;
mod judge;
mod plan;
mod report;
mod service;
mod step;

pub use answer::{MIN_CONFIDENCE, Refusal, RefusedPrice};
pub use error::PriceError;
pub use fetch::{CurrentPrices, FetchMode, PriceOptions, PriceProgress, fetch_prices};
pub use judge::{NEIGHBOUR_RATIO, PEGGED_RATIO, SOURCE_RATIO};
pub use plan::KnownGaps;
pub use report::{PriceReport, SymbolReport};
pub use service::{KeyType, PriceService, ServiceOptions, UnknownKeyType, UnknownService};
pub use step::{Step, UnknownStep};
