//! The services that prices come from, and how they are reached.

use std::fmt;
use std::str::FromStr;

/// A service, by the form of its interface: a proxy or a copy of it has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceService {
    /// CoinGecko, version 3.
    CoinGecko,
    /// The coins of DefiLlama.
    DefiLlama,
}

/// The text is not the name of a service.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown price service {0:?}; use \"coingecko\" or \"defillama\"")]
pub struct UnknownService(pub String);

impl FromStr for PriceService {
    type Err = UnknownService;

    fn from_str(text: &str) -> Result<Self, UnknownService> {
        match text {
            "coingecko" => Ok(Self::CoinGecko),
            "defillama" => Ok(Self::DefiLlama),
            _ => Err(UnknownService(text.chars().take(40).collect())),
        }
    }
}

impl PriceService {
    /// Returns its name, under which its prices are stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoinGecko => "coingecko",
            Self::DefiLlama => "defillama",
        }
    }
}

/// The plan that a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyType {
    /// The free plan of CoinGecko, which reaches 365 days back.
    #[default]
    Demo,
    /// A paid plan.
    Pro,
}

/// The text is not the name of a type of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown type of key {0:?}; use \"demo\" or \"pro\"")]
pub struct UnknownKeyType(pub String);

impl FromStr for KeyType {
    type Err = UnknownKeyType;

    fn from_str(text: &str) -> Result<Self, UnknownKeyType> {
        match text {
            "demo" => Ok(Self::Demo),
            "pro" => Ok(Self::Pro),
            _ => Err(UnknownKeyType(text.chars().take(40).collect())),
        }
    }
}

/// The choices of a connection to a service.
#[derive(Clone)]
pub struct ServiceOptions {
    /// The service.
    pub service: PriceService,
    /// The address of a proxy or of a copy; that of the service if omitted. `{key}` in it becomes the key.
    pub url: Option<String>,
    /// The key. It is in no message.
    pub key: Option<String>,
    /// The plan that the key belongs to.
    pub key_type: KeyType,
    /// Requests a second; if omitted, what the service allows, and of another address as many as it answers.
    pub requests_per_second: Option<f64>,
}

impl fmt::Debug for ServiceOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, url: _, key: _, key_type, requests_per_second } = self;
        let mut shown = f.debug_struct("ServiceOptions");
        shown.field("service", service).field("key_type", key_type).field("requests_per_second", requests_per_second);
        shown.finish_non_exhaustive()
    }
}

impl ServiceOptions {
    /// Creates the options of a service without a key, at its own address.
    #[must_use]
    pub const fn new(service: PriceService) -> Self {
        Self { service, url: None, key: None, key_type: KeyType::Demo, requests_per_second: None }
    }

    /// Returns the address, with `{key}` in the place of a key.
    pub(super) fn address(&self) -> &str {
        let own = match (self.service, self.key_type, &self.key) {
            (PriceService::CoinGecko, KeyType::Demo, _) => "https://api.coingecko.com/api/v3",
            (PriceService::CoinGecko, KeyType::Pro, _) => "https://pro-api.coingecko.com/api/v3",
            (PriceService::DefiLlama, _, None) => "https://coins.llama.fi",
            (PriceService::DefiLlama, _, Some(_)) => "https://pro-api.llama.fi/{key}/coins",
        };
        self.url.as_deref().unwrap_or(own)
    }

    /// Returns the requests a second.
    pub(super) fn rate(&self) -> Option<f64> {
        let own = match (self.service, self.key_type) {
            (PriceService::CoinGecko, KeyType::Demo) => 0.5,
            (PriceService::CoinGecko, KeyType::Pro) | (PriceService::DefiLlama, _) => 8.0,
        };
        self.requests_per_second.or_else(|| self.url.is_none().then_some(own))
    }

    /// Returns the number of days before now that the service has prices of for this caller; `None` without a limit.
    pub(super) fn reach_days(&self) -> Option<i64> {
        let is_limited = self.service == PriceService::CoinGecko
            && self.key_type == KeyType::Demo
            && (self.url.is_none() || self.key.is_some());
        is_limited.then_some(365)
    }
}
