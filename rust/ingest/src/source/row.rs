//! One row of a table, whatever the table is written in, and its values by column name.

use std::borrow::Cow;

use headwater_types::{Address, Amount, BlockHash, Chain, Family, Timestamp, TxHash};
use polars::prelude::StringChunked;
use rustc_hash::FxHashMap;

use super::written::{WrittenAmount, hex_bytes, time_of, truth, whole_number, written_amount};
use crate::error::{FieldError, Place};
use crate::source::Object;
use crate::source::json::Value;

/// The names of the columns of a table, in order. A name is found in whatever case it is written.
#[derive(Debug, Default)]
pub(crate) struct Header {
    names: Vec<String>,
    /// Places of names by their length, the last one first: names that differ in case only have the same.
    of_length: FxHashMap<usize, Vec<usize>>,
}

impl Header {
    pub(crate) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let mut of_length: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (place, name) in names.iter().enumerate().rev() {
            of_length.entry(name.len()).or_default().push(place);
        }
        Self { names, of_length }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the position of a column: the last one of this name, else the last one that differs in case only.
    fn place(&self, column: &str) -> Option<usize> {
        let places = self.of_length.get(&column.len())?;
        let find =
            |is_it: fn(&str, &str) -> bool| places.iter().copied().find(|place| is_it(&self.names[*place], column));
        find(|name, column| name == column).or_else(|| find(same_name))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.names.iter().map(String::as_str).enumerate()
    }
}

/// Returns true if two names differ in case at most.
pub(crate) fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Other names of columns: the name that is asked for, and the one that the file has.
pub(crate) type Names<'a> = &'a [(&'a str, &'a str)];

/// One row: values by the name of their column. An empty value is a missing one.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    cells: Cells<'a>,
    place: Place,
    names: Names<'a>,
    given: Option<(&'a str, u64)>,
}

#[derive(Clone, Copy)]
enum Cells<'a> {
    Csv { record: &'a csv::ByteRecord, header: &'a Header },
    Json(&'a Value<'a>),
    Frame { columns: &'a [StringChunked], header: &'a Header, row: usize },
}

impl<'a> Row<'a> {
    pub(crate) fn csv(record: &'a csv::ByteRecord, header: &'a Header, line: u64) -> Self {
        Self { cells: Cells::Csv { record, header }, place: Place::Line(line), names: &[], given: None }
    }

    pub(crate) fn json(value: &'a Value<'a>, place: Place) -> Self {
        Self { cells: Cells::Json(value), place, names: &[], given: None }
    }

    pub(crate) fn frame(columns: &'a [StringChunked], header: &'a Header, row: usize, number: u64) -> Self {
        Self { cells: Cells::Frame { columns, header, row }, place: Place::Row(number), names: &[], given: None }
    }

    /// The same row under the names of another format: what reads that one reads this one too.
    pub(crate) fn renamed(&self, names: Names<'a>) -> Self {
        Self { names, ..*self }
    }

    /// The same row with a number that it states in another way, where its column is missing.
    pub(crate) fn completed(&self, column: &'a str, number: u64) -> Self {
        Self { given: Some((column, number)), ..*self }
    }

    /// Returns the names of the members of a JSON row; of other rows none, whose header names them.
    pub(crate) fn members(&self) -> impl Iterator<Item = &'a str> {
        let members = match &self.cells {
            Cells::Json(value) => value.members(),
            Cells::Csv { .. } | Cells::Frame { .. } => &[],
        };
        members.iter().map(|(name, _)| &**name)
    }

    /// Returns how many items a list of JSON has; 1 for any other value.
    pub(crate) fn items(&self, column: &str) -> usize {
        match &self.cells {
            Cells::Json(value) => member(value, column).map_or(1, |value| value.items().len().max(1)),
            Cells::Csv { .. } | Cells::Frame { .. } => 1,
        }
    }

    /// Returns the position of the row in its file.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Returns true if the row has the column at all, be its value missing or not.
    pub(crate) fn has(&self, column: &str) -> bool {
        let column = own_name(self.names, column);
        match &self.cells {
            Cells::Csv { header, .. } | Cells::Frame { header, .. } => header.place(column).is_some(),
            Cells::Json(value) => value.members().iter().any(|(name, _)| same_name(name, column)),
        }
    }

    /// The text of a value; lists are joined with commas, and a record with a `string_value` is that text. `None` when
    /// the column or the value is missing.
    ///
    /// # Errors
    /// When the value is not UTF-8 text, holds a NUL character, or is a nested object.
    pub fn text(&self, column: &str) -> Result<Option<Cow<'a, str>>, FieldError> {
        let column = own_name(self.names, column);
        let text = match &self.cells {
            Cells::Csv { record, header } => match header.place(column).and_then(|place| record.get(place)) {
                Some(bytes) => Some(Cow::Borrowed(plain_text(bytes).ok_or_else(|| {
                    let expected = "text in UTF-8 without NUL characters";
                    FieldError::new(column, Some(&String::from_utf8_lossy(bytes)), expected)
                })?)),
                None => None,
            },
            Cells::Json(value) => match member(value, column) {
                Some(value) => Some(json_text(column, value)?),
                None => None,
            },
            Cells::Frame { columns, header, row } => {
                header.place(column).and_then(|place| columns[place].get(*row)).map(Cow::Borrowed)
            }
        };
        // `\N` is how dumps of column stores write a missing value.
        Ok(text.filter(|text| !text.is_empty() && text != "\\N"))
    }

    /// The objects of a list, in JSON; `None` when the value is missing or this is no JSON.
    ///
    /// # Errors
    /// When the value is anything else than a list of objects.
    pub(crate) fn objects(&self, column: &str) -> Result<Option<Vec<Object<'a>>>, FieldError> {
        let column = own_name(self.names, column);
        match &self.cells {
            Cells::Json(value) if value.get(column).is_some() => Object::whole(value).list(column).map(Some),
            Cells::Json(_) | Cells::Csv { .. } | Cells::Frame { .. } => Ok(None),
        }
    }

    /// A value that must be there.
    ///
    /// # Errors
    /// When it is missing or no text.
    pub fn need(&self, column: &'static str, expected: &str) -> Result<Cow<'a, str>, FieldError> {
        self.text(column)?.ok_or_else(|| FieldError::new(own_name(self.names, column), None, expected))
    }

    fn read<T>(
        &self,
        column: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, FieldError> {
        match self.text(column)? {
            Some(text) => match read(&text) {
                Some(value) => Ok(Some(value)),
                None => Err(FieldError::new(own_name(self.names, column), Some(&text), expected)),
            },
            None => Ok(None),
        }
    }

    /// A counter.
    ///
    /// # Errors
    /// When the value is no unsigned number of 64 bits.
    pub fn u64(&self, column: &str) -> Result<Option<u64>, FieldError> {
        let given = self.given.filter(|(name, _)| *name == column).map(|(_, number)| number);
        Ok(self.read(column, "an unsigned whole number of at most 64 bits", whole_number)?.or(given))
    }

    /// A small counter.
    ///
    /// # Errors
    /// When the value is no unsigned number of 32 bits.
    pub fn u32(&self, column: &str) -> Result<Option<u32>, FieldError> {
        self.read(column, "an unsigned whole number of at most 32 bits", whole_number)
    }

    /// A truth value.
    ///
    /// # Errors
    /// When the value is neither true nor false.
    pub fn truth(&self, column: &str) -> Result<Option<bool>, FieldError> {
        self.read(column, "1 or true, 0 or false", truth)
    }

    /// A time: a number of seconds (or milli-, micro- or nanoseconds) since 1970, or a date and time of day as exports
    /// write it.
    ///
    /// # Errors
    /// When the value is neither.
    pub fn time(&self, column: &str) -> Result<Option<Timestamp>, FieldError> {
        self.read(column, "epoch seconds, or a date and a time of day", time_of)
    }

    /// An amount in the smallest unit, which must be exact.
    ///
    /// # Errors
    /// When the value is no unsigned whole number of at most 256 bits, or a float that may have lost digits.
    pub fn amount(&self, column: &str) -> Result<Option<Amount>, FieldError> {
        match self.written_amount(column)? {
            Some(WrittenAmount { is_rounded: true, .. }) => {
                let text = self.text(column)?;
                let expected = "all digits of the amount: a float keeps 15 of them";
                Err(FieldError::new(own_name(self.names, column), text.as_deref(), expected))
            }
            written => Ok(written.map(|written| written.amount)),
        }
    }

    /// An amount in the smallest unit, and whether it may have lost digits.
    ///
    /// # Errors
    /// When the value is no unsigned whole number of at most 256 bits.
    pub(crate) fn written_amount(&self, column: &str) -> Result<Option<WrittenAmount>, FieldError> {
        self.read(column, "an unsigned whole number of at most 256 bits", written_amount)
    }

    /// An address of the chain.
    ///
    /// # Errors
    /// When the value is none.
    pub fn address(&self, column: &str, chain: Chain) -> Result<Option<Address>, FieldError> {
        self.read(column, &format!("an address of {chain}"), |text| match chain.family() {
            // As the Ethereum interface of a TRON node writes it: without the prefix byte.
            Family::Tron => match text.strip_prefix("0x") {
                Some(digits) if digits.len() == 40 => Address::parse(chain, &format!("41{digits}")).ok(),
                Some(_) | None => Address::parse(chain, text).ok(),
            },
            Family::Evm | Family::Utxo => Address::parse(chain, text).ok(),
        })
    }

    /// The hash of a transaction.
    ///
    /// # Errors
    /// When the value is none.
    pub fn transaction(&self, column: &str, chain: Chain) -> Result<Option<TxHash>, FieldError> {
        self.read(column, "a transaction hash of 64 hex digits", |text| TxHash::parse(chain.family(), text).ok())
    }

    /// The hash of a block.
    ///
    /// # Errors
    /// When the value is none.
    pub fn block_hash(&self, column: &str, chain: Chain) -> Result<Option<BlockHash>, FieldError> {
        self.read(column, "a block hash of 64 hex digits", |text| BlockHash::parse(chain.family(), text).ok())
    }

    /// Bytes written as `0x` hex.
    ///
    /// # Errors
    /// When the value is anything else.
    pub fn bytes(&self, column: &str) -> Result<Option<Vec<u8>>, FieldError> {
        self.read(column, "bytes in hex after 0x", hex_bytes)
    }
}

/// A field of a text file: blanks around it are no part of it.
fn plain_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!bytes.contains(&0)).then(|| text.trim_matches([' ', '\t']))
}

/// A member of a document, in whatever case its name is; a dot leads into a record.
fn member<'v>(value: &'v Value<'v>, column: &str) -> Option<&'v Value<'v>> {
    let alike = || {
        let mut members = value.members().iter().rev();
        let found = members.find(|(name, _)| same_name(name, column)).map(|(_, value)| value);
        found.filter(|value| **value != Value::Null)
    };
    value.get(column).or_else(alike).or_else(|| {
        let (record, rest) = column.split_once('.')?;
        member(value.get(record)?, rest)
    })
}

/// The name that a file has for a column.
fn own_name<'n>(names: Names<'n>, column: &'n str) -> &'n str {
    names.iter().find(|(asked, _)| *asked == column).map_or(column, |(_, own)| *own)
}

fn json_text<'a>(column: &str, value: &'a Value<'a>) -> Result<Cow<'a, str>, FieldError> {
    Ok(match value {
        Value::Null => Cow::Borrowed(""),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(number) => Cow::Borrowed(*number),
        Value::Text(text) => Cow::Borrowed(text),
        Value::List(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| json_text(column, item)).collect();
            Cow::Owned(items?.join(","))
        }
        Value::Object(_) => match value.get("string_value") {
            Some(text) => json_text(column, text)?,
            None => return Err(FieldError::new(column, Some("{...}"), "a plain value")),
        },
    })
}
