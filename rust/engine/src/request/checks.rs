//! Checks that many requests share: chain, address, window, lengths.

use headwater_ledger::Ledger;
use headwater_types::address::inspect::{Correction, Kind, judge};
use headwater_types::address::{Checksum, Reason as AddressReason, eip55};
use headwater_types::text::{SHOWN, shortened};
use headwater_types::{Address, Asset, Chain, Family, Network, TimeError, TimeWindow};

use super::Warnings;
use crate::fields::TimeBound;
use crate::limits::{MAX_ITEMS, MAX_QUERY, MAX_SYMBOL, PAGE_WINDOW};
use crate::{Error, Intelligence, Reason};

/// Hex digits of an EVM address.
const PLACEHOLDER_DIGITS: usize = 40;

/// The size of the lists that a caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListSize {
    /// Pages, each by a call of a client.
    Pages,
    /// Whole lists: a list without a limit has all rows, and a limit may be any number.
    Whole,
}

/// The bounds of the paging of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListBounds {
    /// Rows per page of a request without a limit.
    pub default: u32,
    /// The maximum of rows per page.
    pub max: u32,
    /// The row that pages and offsets reach at most; cursors reach all.
    pub window: u64,
}

/// What turns a request into parameters: the ledger it will be answered from, and a place for warnings.
pub struct Checks<'a> {
    /// The generation that answers.
    pub ledger: &'a dyn Ledger,
    /// What the caller should know.
    pub warnings: &'a mut Warnings,
    /// Stands for the filters of the request: what a cursor is bound to.
    pub(crate) filter_hash: u64,
    /// Maximum of rows that a page of a list may have.
    pub(crate) max_rows: u32,
    /// The size of the lists that the caller asks for.
    pub(crate) list_size: ListSize,
    /// What judgements rest on besides the ledger.
    pub(crate) intelligence: &'a Intelligence,
}

impl Checks<'_> {
    /// Returns the bounds of a list that has so many rows by default and at most, where it is asked for in pages.
    pub(crate) const fn list_bounds(&self, default: u32, max: u32) -> ListBounds {
        match self.list_size {
            ListSize::Pages => ListBounds { default, max, window: PAGE_WINDOW },
            ListSize::Whole => ListBounds { default: u32::MAX, max: u32::MAX, window: u64::MAX },
        }
    }

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

    /// The asset that a contract names: the coin of the chain where [`Checks::is_native`] says so, else the token.
    ///
    /// # Errors
    /// `invalid_contract`.
    pub fn asset(&mut self, chain: Chain, field: &str, text: &str) -> Result<Asset, Error> {
        if self.is_native(Some(chain), field, text) {
            return Ok(Asset::Native);
        }
        self.contract(chain, field, text).map(Asset::Token)
    }

    /// Whether a contract means the coin of the chain: `native`, or on EVM chains the placeholder `0xeeee...eeee`, of
    /// which a warning tells, since no contract has that address.
    pub(crate) fn is_native(&mut self, chain: Option<Chain>, field: &str, text: &str) -> bool {
        if text.eq_ignore_ascii_case("native") {
            return true;
        }
        let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or_default();
        let is_placeholder = chain.is_none_or(|chain| chain.family() == Family::Evm)
            && digits.len() == PLACEHOLDER_DIGITS
            && digits.bytes().all(|digit| digit.eq_ignore_ascii_case(&b'e'));
        if is_placeholder {
            let message = format!("{field}: {text} is a placeholder for the native coin, which is what it is read as");
            self.warnings.add("native_placeholder", Some(field), message);
        }
        is_placeholder
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
            _ => refused(otherwise, field, text, &format!("{error}{}", repair(self, Some(chain), text))),
        })
    }

    /// A time window; see [`TimeWindow::new`].
    ///
    /// # Errors
    /// `time_range` or `milliseconds`.
    pub fn window(&self, start: Option<TimeBound>, end: Option<TimeBound>) -> Result<TimeWindow, Error> {
        let [start, end] = [start, end].map(|bound| bound.map(i64::from));
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

/// What to do about a text that is not an address of a chain, or of any: how `addresses/resolve` repairs it, where else
/// it belongs, or that it is a name.
pub(crate) fn repair(checks: &Checks<'_>, chain: Option<Chain>, text: &str) -> String {
    if text.chars().count() > MAX_QUERY {
        return String::new();
    }
    let network = checks.network(chain.unwrap_or(Chain::BITCOIN));
    let seen = judge(text, chain, network);
    // A TRON address can be written as EVM hex, but who gives one has most likely named the wrong chain.
    if let Some(address) = seen.address.filter(|_| !seen.corrections.contains(&Correction::Base58ToHex)) {
        let of_chain = chain.map(|chain| format!("chain={chain}&")).unwrap_or_default();
        return format!("; GET /v1/addresses/resolve?{of_chain}q=... repairs it: {address}");
    }
    let elsewhere = judge(text, None, network);
    if elsewhere.valid {
        let names: Vec<&str> = elsewhere.chains.iter().map(|chain| chain.display_name()).collect();
        return format!("; it is an address of {}", names.join(" or "));
    }
    match elsewhere.kind {
        Kind::TxHash => "; it is the hash of a transaction".to_owned(),
        Kind::Unknown if is_name(text) => {
            let form =
                if chain.is_none_or(|chain| chain.family() == Family::Evm) { "the 0x address" } else { "the address" };
            format!("; names (ENS and others) are not resolved here: give {form}")
        }
        Kind::Address | Kind::Unknown => String::new(),
    }
}

/// Returns whether a text is most likely a name of a name service, such as `vitalik.eth`.
fn is_name(text: &str) -> bool {
    let labels: Vec<&str> = text.trim().split('.').collect();
    let is_label = |label: &&str| {
        !label.is_empty() && label.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_'))
    };
    labels.len() > 1
        && labels.iter().all(is_label)
        && labels.last().is_some_and(|last| last.chars().all(char::is_alphabetic))
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
    let index = index_in(field);
    Error { index, value: Some(shortened(value, SHOWN)), ..Error::invalid(reason, field, format!("{field}: {why}")) }
}

/// The position in the innermost list of a place such as `filter_criterias[3].symbol`.
pub(super) fn index_in(place: &str) -> Option<u64> {
    let (_, rest) = place.rsplit_once('[')?;
    rest.split_once(']')?.0.parse().ok()
}
