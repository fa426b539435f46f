//! Requests to a price service, whose answers and errors never show the key.

use std::cell::Cell;

use headwater_ledger::Cancel;
use serde_json::Value;

use super::error::PriceError;
use super::service::{KeyType, PriceService, ServiceOptions};
use crate::error::{CallError, NodeError};
use crate::transport::Provider;

/// The maximum number of characters of an answer in an error.
const MAX_SHOWN: usize = 240;
/// The slowest rate that can be chosen: a request an hour.
const MIN_RATE: f64 = 1.0 / 3_600.0;

/// A price service, with the key of the caller.
pub(super) struct Client<'a> {
    provider: Provider,
    header: Option<&'static str>,
    key: Option<String>,
    requests: Cell<u64>,
    cancel: &'a Cancel,
}

impl<'a> Client<'a> {
    /// Reads the address and the key.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn new(options: &ServiceOptions, cancel: &'a Cancel) -> Result<Self, PriceError> {
        if let Some(rate) = options.requests_per_second.filter(|rate| !rate.is_finite() || *rate < MIN_RATE) {
            return Err(PriceError::Rate(rate));
        }
        let address = options.address();
        let key = options.key.clone();
        if let Some(key) = &key {
            if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(PriceError::Key("is empty, or has characters that no key has"));
            }
            if options.service == PriceService::DefiLlama && !address.contains("{key}") {
                return Err(PriceError::Key("is part of the address at DefiLlama: write {key} in its place in --url"));
            }
        } else if address.contains("{key}") {
            return Err(PriceError::Key("is missing: the address has a place for it"));
        }
        let refused = |error| match error {
            NodeError::Address { text } => PriceError::Address { text },
            _ => PriceError::Address { text: String::new() },
        };
        // The address is read without the key first, so that no error shows it.
        Provider::new(address, None).map_err(refused)?;
        let whole = address.replace("{key}", key.as_deref().unwrap_or_default());
        let provider = Provider::new(&whole, options.rate()).map_err(|_| PriceError::Key("makes no address"))?;
        let header = match (options.service, options.key_type) {
            (PriceService::CoinGecko, KeyType::Demo) => Some("x-cg-demo-api-key"),
            (PriceService::CoinGecko, KeyType::Pro) => Some("x-cg-pro-api-key"),
            (PriceService::DefiLlama, _) => None,
        };
        Ok(Self { provider, header, key, requests: Cell::new(0), cancel })
    }

    /// Asks a path.
    ///
    /// # Errors
    /// When the service refuses or fails after all tries, or the work is cancelled.
    pub fn get(&self, path: &str) -> Result<Value, CallError> {
        let header = self.header.zip(self.key.as_deref());
        self.requests.set(self.requests.get() + 1);
        self.provider.get(path, header.as_slice(), self.cancel).map_err(|error| self.without_key(error))
    }

    /// Returns the number of requests so far, each counted once however often it was tried.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        self.provider.name()
    }

    fn without_key(&self, error: CallError) -> CallError {
        // Cut off after the key is taken out, so that no part of it is left.
        let hidden = |text: String| {
            let text = self.key.as_ref().map_or(text.clone(), |key| text.replace(key, "(key)"));
            text.chars().take(MAX_SHOWN).collect::<String>()
        };
        match error {
            CallError::TooMuch(text) => CallError::TooMuch(hidden(text)),
            CallError::NoMethod(text) => CallError::NoMethod(hidden(text)),
            CallError::Missing(text) => CallError::Missing(hidden(text)),
            CallError::Failed(text) => CallError::Failed(hidden(text)),
            CallError::Unreachable(text) => CallError::Unreachable(hidden(text)),
            CallError::Malformed(text) => CallError::Malformed(hidden(text)),
            other @ (CallError::RateLimited { .. } | CallError::Refused(_) | CallError::Cancelled) => other,
        }
    }
}
