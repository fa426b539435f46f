//! Postings in stores of keys and values: the key is account and row, the value the rest.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::Engine;
use crate::suite::answer::{Answer, Query, Row};
use crate::suite::counters::{Cost, bytes_below, timed};
use crate::suite::error::doing;
use crate::suite::oracle::PAGE;
use crate::suite::{Error, Result};

/// A store of keys and values in order of their keys.
pub trait KeyValues: Sized {
    /// Its name in reports, which is that of its package.
    const NAME: &'static str;

    /// Fills a new store.
    ///
    /// # Errors
    /// When it cannot be made.
    fn load(path: &Path, postings: Postings) -> Result<()>;

    /// Opens a store that was filled.
    ///
    /// # Errors
    /// When it cannot be read.
    fn open(path: &Path) -> Result<Self>;

    /// Shows the values from one key to another, last first, until `visit` says that it has enough.
    ///
    /// # Errors
    /// When it cannot be read.
    fn backwards(&self, from: Key, to: Key, visit: &mut dyn FnMut(&[u8]) -> Result<BuildStep>) -> Result<()>;
}

/// Account, then row, big-endian, so that order is that of the list.
pub type Key = [u8; 8];

/// The next step of filling a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStep {
    /// Not yet.
    No,
    /// Stop.
    Yes,
}

/// A store that was filled with the postings of a preset.
pub struct KeyedStore<S> {
    store: S,
    /// The cost of filling it, now or when that was.
    pub build: Cost,
    /// The size on disk.
    pub bytes: u64,
}

impl<S: KeyValues> KeyedStore<S> {
    /// Opens the store under a folder, filling it from the tables there where that was not done yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(S::NAME);
        let build = prepared(&path, |path| S::load(path, Postings::open(folder)?))?;
        Ok(Self { store: S::open(&path)?, build, bytes: bytes_below(&path)? })
    }

    fn page(&self, account: u32) -> Result<Vec<Row>> {
        let mut rows = Vec::with_capacity(PAGE);
        self.store.backwards(key(account, 0), key(account, u32::MAX), &mut |value| {
            rows.push(row_of(value).ok_or_else(|| failed(S::NAME)("a short value"))?);
            Ok(if rows.len() == PAGE { BuildStep::Yes } else { BuildStep::No })
        })?;
        Ok(rows)
    }
}

impl<S: KeyValues> Engine for KeyedStore<S> {
    fn name(&self) -> String {
        S::NAME.to_owned()
    }

    fn takes(&self, query: Query) -> bool {
        matches!(query, Query::Page { .. })
    }

    fn answer(&mut self, query: Query) -> Result<Answer> {
        self.page(query.account()).map(Answer::Rows)
    }

    fn time(&mut self, query: Query) -> Result<Cost> {
        let (rows, cost) = timed(|| self.page(query.account()));
        std::hint::black_box(rows?);
        Ok(cost)
    }
}

/// Wraps the error of a peer.
pub(super) fn failed<E: std::fmt::Display>(peer: &'static str) -> impl Fn(E) -> Error {
    move |error| Error::Peer { peer, what: error.to_string() }
}

/// Makes what is at a path unless that was done, and returns what it took, now or then.
fn prepared(path: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<Cost> {
    let kept: PathBuf = path.with_added_extension("cost");
    if let Ok(text) = fs::read_to_string(&kept) {
        return serde_json::from_str(&text).map_err(|error| doing("reading what loading took")(error.into()));
    }
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    let (made, cost) = timed(|| make(path));
    made?;
    fs::write(&kept, serde_json::json!(cost).to_string()).map_err(doing("keeping what loading took"))?;
    Ok(cost)
}

/// The key of a posting.
pub(super) fn key(account: u32, row: u32) -> Key {
    (u64::from(account) << 32 | u64::from(row)).to_be_bytes()
}

/// The value of a posting: time, other, token, direction, amount.
pub(super) fn value(row: &Row) -> [u8; 26] {
    let mut bytes = [0; 26];
    bytes[..4].copy_from_slice(&row.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&row.1.to_le_bytes());
    (bytes[8], bytes[9]) = (row.2, row.3);
    bytes[10..].copy_from_slice(&row.4.to_le_bytes());
    bytes
}

fn row_of(bytes: &[u8]) -> Option<Row> {
    let (time, rest) = bytes.split_first_chunk()?;
    let (other, rest) = rest.split_first_chunk()?;
    let ([token, direction], rest) = rest.split_first_chunk()?;
    let (amount, _) = rest.split_first_chunk()?;
    Some(Row(u32::from_le_bytes(*time), u32::from_le_bytes(*other), *token, *direction, u128::from_le_bytes(*amount)))
}

/// The rows of the tables on disk, in order of account and row.
pub struct Postings {
    columns: [BufReader<File>; 7],
}

impl Postings {
    fn open(tables: &Path) -> Result<Self> {
        let open = |name: &str| -> Result<_> {
            let path = tables.join("postings").join(name);
            let file = File::open(&path).map_err(doing(format!("opening {}", path.display())))?;
            Ok(BufReader::with_capacity(1 << 18, file))
        };
        Ok(Self {
            columns: [
                open("account.u32")?,
                open("row.u32")?,
                open("time.u32")?,
                open("other.u32")?,
                open("token.u8")?,
                open("direction.u8")?,
                open("amount.i128")?,
            ],
        })
    }
}

impl Iterator for Postings {
    type Item = (Key, [u8; 26]);

    fn next(&mut self) -> Option<Self::Item> {
        let mut words = [[0; 4]; 4];
        for (column, word) in self.columns.iter_mut().zip(&mut words) {
            column.read_exact(word).ok()?;
        }
        let (mut token, mut direction, mut amount) = ([0], [0], [0; 16]);
        self.columns[4].read_exact(&mut token).ok()?;
        self.columns[5].read_exact(&mut direction).ok()?;
        self.columns[6].read_exact(&mut amount).ok()?;
        let [account, row, time, other] = words.map(u32::from_le_bytes);
        Some((key(account, row), value(&Row(time, other, token[0], direction[0], u128::from_le_bytes(amount)))))
    }
}
