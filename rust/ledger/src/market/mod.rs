//! The token registry and prices: small tables that are loaded whole.
//!
//! Each import is a version that can be listed and rolled back; what is read is the union of the versions in force.

mod prices;
mod registry;
mod valuation;

pub use prices::{PRICE_MAX_AGE_SECS, Price, PricePoint, PriceTable};
pub use registry::{Registry, RegistryEntry, SymbolMatch, TokenListing, UsdMode};
pub use valuation::{AssetTerms, MarketStamp};
