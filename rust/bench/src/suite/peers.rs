//! The peers.

mod child;
mod fjall;
mod petgraph;
mod redb;

pub use child::Child;
pub use fjall::FjallPeer;
pub use petgraph::PetgraphPeer;
pub use redb::RedbPeer;

use super::Result;
use super::answer::{Answer, Query};
use super::counters::Cost;

/// Whoever answers questions.
pub trait Engine {
    /// Its name in reports.
    fn name(&self) -> String;

    /// Whether it takes part in this question.
    fn takes(&self, query: Query) -> bool;

    /// The answer in the words of the generator, not timed.
    ///
    /// # Errors
    /// When it cannot answer.
    fn answer(&mut self, query: Query) -> Result<Answer>;

    /// Answers once and tells what that took, without the translation into the words of the generator.
    ///
    /// # Errors
    /// When it cannot answer.
    fn time(&mut self, query: Query) -> Result<Cost>;
}

/// The key of a posting in the key-value peers: account, then row, big-endian, so that order is that of the list.
fn key(account: u32, row: u32) -> [u8; 8] {
    (u64::from(account) << 32 | u64::from(row)).to_be_bytes()
}

/// The value of a posting there: time, other, token, direction, amount.
fn value(row: &super::answer::Row) -> [u8; 26] {
    let mut bytes = [0; 26];
    bytes[..4].copy_from_slice(&row.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&row.1.to_le_bytes());
    (bytes[8], bytes[9]) = (row.2, row.3);
    bytes[10..].copy_from_slice(&row.4.to_le_bytes());
    bytes
}

fn row_of(bytes: &[u8]) -> Option<super::answer::Row> {
    let (time, rest) = bytes.split_first_chunk()?;
    let (other, rest) = rest.split_first_chunk()?;
    let ([token, direction], rest) = rest.split_first_chunk()?;
    let (amount, _) = rest.split_first_chunk()?;
    Some(super::answer::Row(
        u32::from_le_bytes(*time),
        u32::from_le_bytes(*other),
        *token,
        *direction,
        u128::from_le_bytes(*amount),
    ))
}

/// The rows of the tables on disk, in order of account and row, for the peers that are loaded from here.
pub(super) struct Postings {
    columns: [std::io::BufReader<std::fs::File>; 7],
}

impl Postings {
    /// Opens the columns of a table folder.
    pub(super) fn open(tables: &std::path::Path) -> Result<Self> {
        let open = |name: &str| -> Result<_> {
            let path = tables.join("postings").join(name);
            let file =
                std::fs::File::open(&path).map_err(super::error::doing(format!("opening {}", path.display())))?;
            Ok(std::io::BufReader::with_capacity(1 << 18, file))
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
    type Item = (u32, u32, super::answer::Row);

    fn next(&mut self) -> Option<Self::Item> {
        use std::io::Read;
        let mut words = [[0; 4]; 4];
        for (column, word) in self.columns.iter_mut().zip(&mut words) {
            column.read_exact(word).ok()?;
        }
        let (mut token, mut direction, mut amount) = ([0], [0], [0; 16]);
        self.columns[4].read_exact(&mut token).ok()?;
        self.columns[5].read_exact(&mut direction).ok()?;
        self.columns[6].read_exact(&mut amount).ok()?;
        let [account, row, time, other] = words.map(u32::from_le_bytes);
        Some((account, row, super::answer::Row(time, other, token[0], direction[0], u128::from_le_bytes(amount))))
    }
}
