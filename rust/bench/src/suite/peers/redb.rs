//! redb: a B-tree of keys and values in one file.

use std::path::Path;

use redb::{Database, ReadableDatabase, TableDefinition};

use super::{Engine, Postings, key, row_of, value};
use crate::suite::answer::{Answer, Query, Row};
use crate::suite::counters::{Cost, timed};
use crate::suite::oracle::PAGE;
use crate::suite::{Error, Result};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("postings");

/// Postings in redb.
pub struct RedbPeer {
    database: Database,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Peer { peer: "redb", what: error.to_string() }
}

impl RedbPeer {
    /// Opens the database, loading it from the tables where it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(file: &Path, tables: &Path) -> Result<(Self, Option<Cost>)> {
        if file.exists() {
            return Ok((Self { database: Database::open(file).map_err(failed)? }, None));
        }
        let part = file.with_extension("part");
        let _ = std::fs::remove_file(&part);
        let (loaded, cost) = timed(|| load(&part, tables));
        drop(loaded?);
        std::fs::rename(&part, file).map_err(failed)?;
        Ok((Self { database: Database::open(file).map_err(failed)? }, Some(cost)))
    }

    fn page(&self, account: u32) -> Result<Vec<Row>> {
        let transaction = self.database.begin_read().map_err(failed)?;
        let table = transaction.open_table(TABLE).map_err(failed)?;
        let (first, last) = (key(account, 0), key(account, u32::MAX));
        let range = table.range::<&[u8]>(first.as_slice()..=last.as_slice()).map_err(failed)?;
        let mut rows = Vec::with_capacity(PAGE);
        for entry in range.rev().take(PAGE) {
            let (_, value) = entry.map_err(failed)?;
            rows.push(row_of(value.value()).ok_or_else(|| failed("a short value"))?);
        }
        Ok(rows)
    }
}

fn load(file: &Path, tables: &Path) -> Result<Database> {
    let database = Database::create(file).map_err(failed)?;
    let mut postings = Postings::open(tables)?.peekable();
    while postings.peek().is_some() {
        let transaction = database.begin_write().map_err(failed)?;
        {
            let mut table = transaction.open_table(TABLE).map_err(failed)?;
            for (account, number, row) in postings.by_ref().take(2_000_000) {
                table.insert(key(account, number).as_slice(), value(&row).as_slice()).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)?;
    }
    Ok(database)
}

impl Engine for RedbPeer {
    fn name(&self) -> String {
        "redb".to_owned()
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
