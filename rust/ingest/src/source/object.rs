//! Objects inside JSON documents, with errors that name the way to the value.

use headwater_types::{Address, Amount, BlockHash, Chain, Timestamp, TxHash};

use crate::error::FieldError;
use crate::source::json::Value;
use crate::source::{hex_bytes, plain_number, truth, whole_number};

/// An object inside a document, and the way to it.
pub(crate) struct Object<'v> {
    value: &'v Value<'v>,
    way: String,
}

impl<'v> Object<'v> {
    /// The document itself.
    pub(crate) fn whole(value: &'v Value<'v>) -> Self {
        Self { value, way: String::new() }
    }

    /// A value that stands at a place of a document.
    pub(crate) fn at(value: &'v Value<'v>, way: String) -> Self {
        Self { value, way }
    }

    fn column(&self, name: &str) -> String {
        format!("{}{name}", self.way)
    }

    /// An error about one of its values.
    pub(crate) fn wrong(&self, name: &str, expected: impl Into<String>) -> FieldError {
        FieldError::new(&self.column(name), self.value.get(name).and_then(Value::text), expected)
    }

    /// A nested object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| matches!(value, Value::Object(_)))?;
        Some(Self { value, way: format!("{}{name}.", self.way) })
    }

    /// The objects of a list.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<Self>, FieldError> {
        let Some(Value::List(items)) = self.value.get(name) else {
            return Err(self.wrong(name, "a list of objects"));
        };
        (0..)
            .zip(items)
            .map(|(number, value): (usize, _)| match value {
                Value::Object(_) => Ok(Self { value, way: format!("{}{name}[{number}].", self.way) }),
                other => Err(FieldError::new(&format!("{}{name}[{number}]", self.way), other.text(), "an object")),
            })
            .collect()
    }

    /// The objects of a list; a missing list has none.
    pub(crate) fn list_if_any(&self, name: &str) -> Result<Vec<Self>, FieldError> {
        if self.has(name) { self.list(name) } else { Ok(Vec::new()) }
    }

    /// The texts of a list; a missing list has none.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&'v str>, FieldError> {
        let items = self.value.get(name).map_or(&[][..], Value::items);
        items.iter().map(|item| item.text().ok_or_else(|| self.wrong(name, "a list of texts"))).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        match self.value.get(name)? {
            Value::Bool(flag) => Some(*flag),
            value => truth(value.text()?),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'v str> {
        self.value.get(name).and_then(Value::text)
    }

    /// A value read from its text; an error when it is there and cannot be read.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'v str) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        match self.value.get(name) {
            None => Ok(None),
            Some(value) => match value.text().and_then(read) {
                Some(read) => Ok(Some(read)),
                None => Err(self.wrong(name, expected)),
            },
        }
    }

    pub(crate) fn need<T>(&self, name: &str, value: Option<T>, expected: &str) -> Result<T, FieldError> {
        value.ok_or_else(|| self.wrong(name, expected))
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, FieldError> {
        self.read(name, "an unsigned whole number of at most 64 bits", whole_number)
    }

    pub(crate) fn needed_number(&self, name: &str) -> Result<u64, FieldError> {
        self.need(name, self.number(name)?, "an unsigned whole number of at most 64 bits")
    }

    pub(crate) fn small_number(&self, name: &str) -> Result<Option<u32>, FieldError> {
        self.read(name, "an unsigned whole number of at most 32 bits", whole_number)
    }

    /// A counter as nodes write it: `0x` hex, or a plain number.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>, FieldError> {
        self.read(name, "an unsigned whole number of at most 64 bits, as digits or in hex after 0x", |text| match text
            .strip_prefix("0x")
        {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
            Some(_) => None,
            None => whole_number(text),
        })
    }

    /// An amount in the smallest unit as nodes write it: `0x` hex, or a plain number.
    pub(crate) fn quantity(&self, name: &str) -> Result<Option<Amount>, FieldError> {
        self.read(name, "an unsigned whole number of at most 256 bits, as digits or in hex after 0x", |text| {
            Amount::parse_hex(text).or_else(|_| Amount::parse_raw(text)).ok()
        })
    }

    /// A time in epoch seconds, as digits or in hex.
    pub(crate) fn epoch_secs(&self, name: &str) -> Result<Option<Timestamp>, FieldError> {
        let expected = || self.wrong(name, "epoch seconds (at most 12 digits)");
        let secs = self.count(name).map_err(|_| expected())?;
        secs.map(|secs| seconds(secs).ok_or_else(expected)).transpose()
    }

    /// A time in epoch milliseconds.
    pub(crate) fn epoch_millis(&self, name: &str) -> Result<Option<Timestamp>, FieldError> {
        self.read(name, "epoch milliseconds (at most 15 digits)", |text| seconds(plain_number::<u64>(text)? / 1000))
    }

    /// An address of the chain.
    pub(crate) fn address_on(&self, name: &str, chain: Chain) -> Result<Option<Address>, FieldError> {
        self.read(name, &format!("an address of {chain}"), |text| Address::parse(chain, text).ok())
    }

    /// The hash of a transaction of the chain.
    pub(crate) fn transaction_on(&self, name: &str, chain: Chain) -> Result<Option<TxHash>, FieldError> {
        self.read(name, "a transaction hash of 64 hex digits", |text| {
            TxHash::parse(chain.family(), text).ok().filter(|hash| !hash.is_made())
        })
    }

    /// The hash of a block of the chain.
    pub(crate) fn block_hash_on(&self, name: &str, chain: Chain) -> Result<Option<BlockHash>, FieldError> {
        self.read(name, "a block hash of 64 hex digits", |text| BlockHash::parse(chain.family(), text).ok())
    }

    /// Bytes in hex after `0x`.
    pub(crate) fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, FieldError> {
        self.read(name, "bytes in hex after 0x", hex_bytes)
    }
}

fn seconds(secs: u64) -> Option<Timestamp> {
    i64::try_from(secs).ok().filter(|secs| *secs < 1_000_000_000_000).map(Timestamp::new)
}
