//! Checks that many requests share: chain, address, window, lengths.

use headwater_ledger::Ledger;
use headwater_types::address::{Checksum, Reason as AddressReason, eip55};
use headwater_types::text::{SHOWN, shortened};
use headwater_types::{Address, Chain, Family, Network, TimeError, TimeWindow};

use crate::desk::Given;
use crate::{Error, Reason};

use super::Warnings;

/// Most entries of a list of symbols or contracts.
pub(crate) const MAX_ITEMS: usize = 100;
/// Most characters of a symbol.
pub(crate) const MAX_SYMBOL: usize = 128;

/// What turns a request into parameters: the ledger it will be answered from, and a place for warnings.
pub struct Checks<'a> {
    /// The generation that answers.
    pub ledger: &'a dyn Ledger,
    /// What the caller should know.
    pub warnings: &'a mut Warnings,
    /// Stands for the filters of the request: what a cursor is bound to.
    pub(crate) fingerprint: u64,
    /// Most rows that a page of a list may have.
    pub(crate) most_rows: u32,
    /// How lists are asked for.
    pub(crate) given: Given,
}

impl Checks<'_> {
    /// The chain a request names.
    ///
    /// # Errors
    /// `unsupported_chain`.
    pub fn chain(&self, field: &str, text: &str) -> Result<Chain, Error> {
        text.parse::<Chain>().map_err(|error| refused(Reason::UnsupportedChain, field, text, &error))
    }

    /// The network that the store holds of a chain; the main one where it holds nothing.
    #[must_use]
    pub fn network(&self, chain: Chain) -> Network {
        self.ledger.coverage().get(&chain).map_or(Network::Mainnet, |coverage| coverage.network)
    }

    /// An address in canonical form.
    ///
    /// # Errors
    /// `invalid_address`, or `network_mismatch` for an address of another network than the store's.
    pub fn address(&mut self, chain: Chain, field: &str, text: &str) -> Result<Address, Error> {
        self.address_or(Reason::InvalidAddress, chain, field, text)
    }

    /// A contract address in canonical form.
    ///
    /// # Errors
    /// `invalid_contract`.
    pub fn contract(&mut self, chain: Chain, field: &str, text: &str) -> Result<Address, Error> {
        self.address_or(Reason::InvalidContract, chain, field, text)
    }

    fn address_or(&mut self, otherwise: Reason, chain: Chain, field: &str, text: &str) -> Result<Address, Error> {
        if chain.family() == Family::Evm && eip55(text) == Checksum::Failed {
            let message =
                format!("{field}: the mixed case of {text} is no EIP-55 checksum of it: check for a typing error");
            self.warnings.add("checksum", Some(field), message);
        }
        let network = self.network(chain);
        Address::parse_on(chain, network, text).map_err(|error| match error.reason {
            AddressReason::NetworkMismatch => {
                let message = format!("{field}: {text:?} is of another network than the {network} data held");
                Error { value: Some(shortened(text, SHOWN)), ..Error::invalid(Reason::NetworkMismatch, field, message) }
            }
            _ => refused(otherwise, field, text, &error),
        })
    }

    /// A time window; see [`TimeWindow::new`].
    ///
    /// # Errors
    /// `time_range` or `milliseconds`.
    pub fn window(&self, start: Option<i64>, end: Option<i64>) -> Result<TimeWindow, Error> {
        TimeWindow::new(start, end).map_err(|error| match error {
            TimeError::StartAfterEnd { start, .. } => {
                refused(Reason::TimeRange, "start_time", &start.to_string(), &error)
            }
            TimeError::Milliseconds(secs) => {
                let field = if start == Some(secs) { "start_time" } else { "end_time" };
                refused(Reason::Milliseconds, field, &secs.to_string(), &error)
            }
        })
    }
}

/// Refuses a list that is too long.
pub(crate) fn at_most<T>(field: &str, items: &[T], limit: usize) -> Result<(), Error> {
    if items.len() <= limit {
        return Ok(());
    }
    let message = format!("{field} has {} entries: at most {limit} are taken", items.len());
    Err(Error { limit: u64::try_from(limit).ok(), ..Error::invalid(Reason::TooManyItems, field, message) })
}

/// Refuses a text that can be no symbol.
pub(crate) fn symbol_text(field: &str, text: &str) -> Result<(), Error> {
    let length = text.chars().count();
    if (1..=MAX_SYMBOL).contains(&length) {
        return Ok(());
    }
    let why = format!("a symbol has 1 to {MAX_SYMBOL} characters, here are {length}");
    let error = refused(Reason::InvalidValue, field, text, &why);
    Err(Error { limit: u64::try_from(MAX_SYMBOL).ok(), ..error })
}

/// Refuses a list of symbols that is too long, or that holds what can be none.
pub(crate) fn symbol_texts(field: &str, texts: &[String]) -> Result<(), Error> {
    at_most(field, texts, MAX_ITEMS)?;
    texts.iter().enumerate().try_for_each(|(index, text)| symbol_text(&format!("{field}[{index}]"), text))
}

/// An invalid value in a named field, with its position where the field is an item of a list.
pub(crate) fn refused(reason: Reason, field: &str, value: &str, why: &dyn std::fmt::Display) -> Error {
    let index = field.rsplit_once('[').and_then(|(_, rest)| rest.split_once(']')).and_then(|(n, _)| n.parse().ok());
    Error { index, value: Some(shortened(value, SHOWN)), ..Error::invalid(reason, field, format!("{field}: {why}")) }
}
