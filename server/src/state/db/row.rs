//! Values on their way to the database, and rows on their way back.

use crate::state::StateError;

/// A parameter of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Nothing.
    Null,
    /// An integer.
    Int(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Blob(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Blob(value)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(value: &'a [u8; N]) -> Self {
        Self::Blob(value)
    }
}

impl<'a> From<&'a Vec<u8>> for Value<'a> {
    fn from(value: &'a Vec<u8>) -> Self {
        Self::Blob(value)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Value<'_> {
    /// Hands out bytes that tell the type, the length and the value.
    fn feed(&self, each: &mut dyn FnMut(&[u8])) {
        let (tag, bytes): (u8, &[u8]) = match self {
            Self::Null => (0, &[]),
            Self::Int(value) => {
                each(&[1]);
                return each(&value.to_be_bytes());
            }
            Self::Text(text) => (2, text.as_bytes()),
            Self::Blob(bytes) => (3, bytes),
        };
        each(&[tag]);
        each(&(bytes.len() as u64).to_be_bytes());
        each(bytes);
    }

    /// The same in one piece.
    pub(in crate::state) fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        self.feed(&mut |bytes| all.extend_from_slice(bytes));
        all
    }
}

/// A checksum of a row: no single flipped bit keeps it.
pub(crate) fn checksum(values: &[Value<'_>]) -> i64 {
    let mut hasher = crc32fast::Hasher::new();
    for value in values {
        value.feed(&mut |bytes| hasher.update(bytes));
    }
    i64::from(hasher.finalize())
}

/// A value as it came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row; columns are named by their place, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row(pub(super) Vec<Cell>);

impl Row {
    /// Its columns, to be written elsewhere.
    #[must_use]
    pub fn values(&self) -> Vec<Value<'_>> {
        self.0
            .iter()
            .map(|cell| match cell {
                Cell::Null => Value::Null,
                Cell::Int(value) => Value::Int(*value),
                Cell::Text(text) => Value::Text(text),
                Cell::Blob(bytes) => Value::Blob(bytes),
            })
            .collect()
    }

    /// About how much memory it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let bytes = |cell: &Cell| match cell {
            Cell::Null | Cell::Int(_) => 0,
            Cell::Text(text) => text.len(),
            Cell::Blob(bytes) => bytes.len(),
        };
        self.0.iter().map(bytes).sum::<usize>() + self.0.len() * size_of::<Cell>()
    }

    /// An integer, or null.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn maybe_int(&self, column: usize) -> Result<Option<i64>, StateError> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(Some(*value)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Text(_) | Cell::Blob(_)) | None => Err(StateError::Shape { column, expected: "an integer" }),
        }
    }

    /// Text, or null.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn maybe_text(&self, column: usize) -> Result<Option<&str>, StateError> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Int(_) | Cell::Blob(_)) | None => Err(StateError::Shape { column, expected: "text" }),
        }
    }

    /// Bytes, or null.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn maybe_blob(&self, column: usize) -> Result<Option<&[u8]>, StateError> {
        match self.0.get(column) {
            Some(Cell::Blob(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            Some(Cell::Int(_) | Cell::Text(_)) | None => Err(StateError::Shape { column, expected: "bytes" }),
        }
    }

    /// An integer.
    ///
    /// # Errors
    /// When the column is something else or null.
    pub fn int(&self, column: usize) -> Result<i64, StateError> {
        self.maybe_int(column)?.ok_or(StateError::Shape { column, expected: "an integer" })
    }

    /// Text.
    ///
    /// # Errors
    /// When the column is something else or null.
    pub fn text(&self, column: usize) -> Result<&str, StateError> {
        self.maybe_text(column)?.ok_or(StateError::Shape { column, expected: "text" })
    }

    /// Bytes.
    ///
    /// # Errors
    /// When the column is something else or null.
    pub fn blob(&self, column: usize) -> Result<&[u8], StateError> {
        self.maybe_blob(column)?.ok_or(StateError::Shape { column, expected: "bytes" })
    }

    /// A digest of 32 bytes.
    ///
    /// # Errors
    /// When the column is something else.
    pub fn digest(&self, column: usize) -> Result<[u8; 32], StateError> {
        self.blob(column)?.try_into().map_err(|_| StateError::Shape { column, expected: "32 bytes" })
    }
}
