//! Versions of token listings, prices and exchange rates, each a file of JSON lines.

use std::sync::{Arc, OnceLock};

use headwater_types::{Address, Chain, Timestamp};
use serde::{Deserialize, Serialize};

use super::parts::{FileRef, Storage};
use super::{ImportKind, ImportVersion};
use crate::LedgerError;
use crate::market::{FxPoint, FxTable, MarketStamp, PricePoint, PriceTable, Registry, TokenListing};
use crate::read::Result;

/// One version and where its entries are.
#[derive(Clone)]
pub(super) struct Import {
    pub(super) version: ImportVersion,
    pub(super) file: FileRef,
    pub(super) entries: Arc<Entries>,
}

/// What a version brought.
pub(super) enum Entries {
    Tokens(Vec<TokenListing>),
    Prices(Vec<PricePoint>),
    Fx(Vec<FxPoint>),
}

/// All versions, and what those in force come to.
#[derive(Clone)]
pub(super) struct Imports {
    pub(super) versions: Vec<Import>,
    pub(super) registry: Arc<Registry>,
    pub(super) prices: Arc<PriceTable>,
    pub(super) exchange_rates: Arc<FxTable>,
    /// By chain, made when first asked for.
    stamps: Arc<[OnceLock<MarketStamp>]>,
}

impl Default for Imports {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Imports {
    pub(super) fn new(versions: Vec<Import>) -> Self {
        let in_force = || versions.iter().filter(|import| import.version.in_force);
        let listings = in_force().filter_map(|import| match &*import.entries {
            Entries::Tokens(listings) => Some(listings),
            Entries::Prices(_) | Entries::Fx(_) => None,
        });
        let registry = Registry::new(listings.flatten().cloned());
        let prices = PriceTable::of_imports(in_force().filter_map(|import| match &*import.entries {
            Entries::Prices(points) => Some((import.version.source.as_str(), points.as_slice())),
            Entries::Tokens(_) | Entries::Fx(_) => None,
        }));
        let rates = in_force().filter_map(|import| match &*import.entries {
            Entries::Fx(points) => Some(points),
            Entries::Tokens(_) | Entries::Prices(_) => None,
        });
        let exchange_rates = Arc::new(FxTable::new(rates.flatten()));
        let stamps = Chain::all().map(|_| OnceLock::new()).collect();
        Self { registry: Arc::new(registry), prices: Arc::new(prices), exchange_rates, versions, stamps }
    }

    /// What the values of a chain depend on.
    pub(super) fn stamp(&self, chain: Chain) -> MarketStamp {
        let place = Chain::all().position(|known| known == chain).unwrap_or_default();
        *self.stamps[place].get_or_init(|| MarketStamp::of(&self.registry, &self.prices, chain))
    }

    /// With one more version, and its number.
    pub(super) fn with(&self, source: &str, entries: Entries, storage: &mut dyn Storage) -> Result<(Self, u64)> {
        let number = self.versions.last().map_or(0, |import| import.version.version) + 1;
        let (kind, count, folder) = match &entries {
            Entries::Tokens(listings) => (ImportKind::Tokens, listings.len(), "tokens"),
            Entries::Prices(points) => {
                points.iter().try_for_each(PricePoint::check)?;
                (ImportKind::Prices, points.len(), "prices")
            }
            Entries::Fx(points) => {
                points.iter().try_for_each(FxPoint::check)?;
                (ImportKind::Fx, points.len(), "fx")
            }
        };
        let file = storage.keep_file(folder, "jsonl", entries.to_lines())?;
        let version =
            ImportVersion { version: number, kind, source: source.to_owned(), entries: count as u64, in_force: true };
        let mut versions = self.versions.clone();
        versions.push(Import { version, file, entries: Arc::new(entries) });
        Ok((Self::new(versions), number))
    }

    /// Without a version that is in force.
    pub(super) fn without(&self, version: u64) -> Result<Self> {
        let mut versions = self.versions.clone();
        let import = versions
            .iter_mut()
            .find(|import| import.version.version == version && import.version.in_force)
            .ok_or(LedgerError::UnknownVersion(version))?;
        import.version.in_force = false;
        Ok(Self::new(versions))
    }

    pub(super) fn list(&self) -> Vec<ImportVersion> {
        self.versions.iter().map(|import| import.version.clone()).collect()
    }
}

#[derive(Serialize, Deserialize)]
struct ListingLine {
    chain: Chain,
    contract: String,
    symbol: String,
    name: String,
    decimals: u8,
    verified: bool,
    coingecko_id: Option<String>,
}

/// The price is text, so that it comes back to the last bit.
#[derive(Serialize, Deserialize)]
struct PriceLine {
    symbol: String,
    time: Timestamp,
    usd: String,
}

/// As with a price.
#[derive(Serialize, Deserialize)]
struct FxLine {
    currency: String,
    time: Timestamp,
    per_usd: String,
}

impl Entries {
    fn to_lines(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Tokens(listings) => listings.iter().for_each(|listing| {
                let TokenListing { chain, contract, symbol, name, decimals, verified, coingecko_id } = listing.clone();
                let contract = contract.to_string();
                push_line(&mut out, &ListingLine { chain, contract, symbol, name, decimals, verified, coingecko_id });
            }),
            Self::Prices(points) => points.iter().for_each(|point| {
                let PricePoint { symbol, time, usd } = point.clone();
                push_line(&mut out, &PriceLine { symbol, time, usd: usd.to_string() });
            }),
            Self::Fx(points) => points.iter().for_each(|point| {
                let FxPoint { currency, time, per_usd } = point.clone();
                push_line(&mut out, &FxLine { currency, time, per_usd: per_usd.to_string() });
            }),
        }
        out
    }

    /// Reads what [`Entries::to_lines`] wrote; an error is the text of what is wrong.
    pub(super) fn from_lines(kind: ImportKind, bytes: &[u8]) -> std::result::Result<Self, String> {
        let lines = || bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        match kind {
            ImportKind::Tokens => lines().map(read_listing).collect::<std::result::Result<_, _>>().map(Self::Tokens),
            ImportKind::Prices => lines().map(read_price).collect::<std::result::Result<_, _>>().map(Self::Prices),
            ImportKind::Fx => lines().map(read_rate).collect::<std::result::Result<_, _>>().map(Self::Fx),
        }
    }
}

fn push_line(out: &mut Vec<u8>, line: &impl Serialize) {
    serde_json::to_writer(&mut *out, line).expect("plain records always have a JSON form");
    out.push(b'\n');
}

fn read_listing(line: &[u8]) -> std::result::Result<TokenListing, String> {
    let ListingLine { chain, contract, symbol, name, decimals, verified, coingecko_id } =
        serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let contract = Address::parse(chain, &contract).map_err(|error| error.to_string())?;
    Ok(TokenListing { chain, contract, symbol, name, decimals, verified, coingecko_id })
}

fn read_price(line: &[u8]) -> std::result::Result<PricePoint, String> {
    let PriceLine { symbol, time, usd } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let usd = usd.parse().map_err(|_| format!("{usd:?} is no price"))?;
    Ok(PricePoint { symbol, time, usd })
}

fn read_rate(line: &[u8]) -> std::result::Result<FxPoint, String> {
    let FxLine { currency, time, per_usd } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let per_usd = per_usd.parse().map_err(|_| format!("{per_usd:?} is no exchange rate"))?;
    Ok(FxPoint { currency, time, per_usd })
}
