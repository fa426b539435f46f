//! One row of a table, whatever the table is written in, and its values by column name.

use std::borrow::Cow;
use std::collections::HashMap;

use headwater_types::{Address, Amount, BlockHash, Chain, Family, Timestamp, TxHash};
use polars::prelude::StringChunked;

use crate::error::{FieldError, Place};
use crate::source::Object;
use crate::source::json::Value;

/// Where each column of a table stands.
pub(crate) type Header = HashMap<String, usize>;

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

    /// The same row with a number that it tells in another way, where its column is missing.
    pub(crate) fn completed(&self, column: &'a str, number: u64) -> Self {
        Self { given: Some((column, number)), ..*self }
    }

    /// Where the row stands in its file.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether the row has the column at all, be its value missing or not.
    pub(crate) fn has(&self, column: &str) -> bool {
        let column = own_name(self.names, column);
        match &self.cells {
            Cells::Csv { header, .. } | Cells::Frame { header, .. } => header.contains_key(column),
            Cells::Json(value) => value.members().iter().any(|(name, _)| name == column),
        }
    }

    /// The text of a value; lists are joined with commas, and a record with a `string_value` is that text. `None` when
    /// the column or the value is missing.
    ///
    /// # Errors
    /// When the value is no UTF-8 text, or a nested object.
    pub fn text(&self, column: &str) -> Result<Option<Cow<'a, str>>, FieldError> {
        let column = own_name(self.names, column);
        let text =
            match &self.cells {
                Cells::Csv { record, header } => match header.get(column).and_then(|place| record.get(*place)) {
                    Some(bytes) => Some(Cow::Borrowed(std::str::from_utf8(bytes).map_err(|_| {
                        FieldError::new(column, Some(&String::from_utf8_lossy(bytes)), "text in UTF-8")
                    })?)),
                    None => None,
                },
                Cells::Json(value) => match member(value, column) {
                    Some(value) => Some(json_text(column, value)?),
                    None => None,
                },
                Cells::Frame { columns, header, row } => {
                    header.get(column).and_then(|place| columns[*place].get(*row)).map(Cow::Borrowed)
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
        Ok(self.read(column, "an unsigned whole number of at most 64 bits", plain_number)?.or(given))
    }

    /// A small counter.
    ///
    /// # Errors
    /// When the value is no unsigned number of 32 bits.
    pub fn u32(&self, column: &str) -> Result<Option<u32>, FieldError> {
        self.read(column, "an unsigned whole number of at most 32 bits", plain_number)
    }

    /// A time: epoch seconds, or a date and time of day as exports write it.
    ///
    /// # Errors
    /// When the value is neither.
    pub fn time(&self, column: &str) -> Result<Option<Timestamp>, FieldError> {
        self.read(column, "epoch seconds (at most 12 digits), or a date and time of day in UTC", time_of)
    }

    /// An amount in the smallest unit.
    ///
    /// # Errors
    /// When the value is no unsigned whole number of at most 256 bits.
    pub fn amount(&self, column: &str) -> Result<Option<Amount>, FieldError> {
        self.read(column, "an unsigned whole number of at most 256 bits", |text| Amount::parse_raw(text).ok())
    }

    /// An address of the chain.
    ///
    /// # Errors
    /// When the value is none.
    pub fn address(&self, column: &str, chain: Chain) -> Result<Option<Address>, FieldError> {
        self.read(column, &format!("an address of {chain}"), |text| match chain.family() {
            // As the Ethereum interface of a TRON node writes it: without the prefix byte.
            Family::Tron if text.len() == 42 && text.starts_with("0x") => {
                Address::parse(chain, &format!("41{}", &text[2..])).ok()
            }
            Family::Evm | Family::Tron | Family::Utxo => Address::parse(chain, text).ok(),
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

/// A time as the row of a table tells it.
pub(crate) fn time_of(text: &str) -> Option<Timestamp> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let secs: i64 = plain_number(text)?;
        return (secs < 1_000_000_000_000).then_some(Timestamp::new(secs));
    }
    // A bare number with a sign would be a time too, and a bare date would lose the time of day.
    text.contains(':').then(|| text.parse().ok()).flatten().filter(|time: &Timestamp| time.secs() >= 0)
}

/// A member of a document; a dot leads into a record.
fn member<'v>(value: &'v Value<'v>, column: &str) -> Option<&'v Value<'v>> {
    value.get(column).or_else(|| {
        let (record, rest) = column.split_once('.')?;
        member(value.get(record)?, rest)
    })
}

/// The name that a file has for a column.
fn own_name<'n>(names: Names<'n>, column: &'n str) -> &'n str {
    names.iter().find(|(asked, _)| *asked == column).map_or(column, |(_, own)| *own)
}

/// Bytes written as `0x` hex.
pub(crate) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    if digits.len() % 2 != 0 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// A number of digits alone: no sign, blank or exponent.
pub(crate) fn plain_number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
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
