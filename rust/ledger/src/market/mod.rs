//! The token registry, prices and exchange rates: small tables that are loaded whole.
//!
//! Each import is a version that can be listed and rolled back; what is read is the union of the versions in force, and
//! under it the core tokens and core prices, which are part of the program.
#![cfg_attr(not(test), deny(clippy::string_slice))]

mod core_prices;
mod core_tokens;
mod fx;
mod listing;
mod look_alike;
mod plausible;
mod prices;
mod registry;
mod valuation;

pub use core_prices::core_prices;
pub use core_tokens::{CORE_SOURCE, core_tokens};
pub use fx::{FX_MAX_AGE_SECS, FxPoint, FxRate, FxTable, USD};
pub use listing::{Price, PricePoint, TokenListing};
pub use look_alike::skeleton;
pub use prices::{ExcludedPrice, Implausible, PRICE_MAX_AGE_SECS, PriceCoverage, PriceTable};
pub use registry::{EntrySource, Registry, RegistryEntry, SymbolMatch, UsdMode};
pub use valuation::{AssetTerms, MarketStamp};
