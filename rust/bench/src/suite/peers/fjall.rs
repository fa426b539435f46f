//! fjall: a log-structured merge tree of keys and values.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Engine, Postings, key, row_of, value};
use crate::suite::answer::{Answer, Query, Row};
use crate::suite::counters::{Cost, timed};
use crate::suite::oracle::PAGE;
use crate::suite::{Error, Result};

/// Postings in fjall.
pub struct FjallPeer {
    keyspace: Keyspace,
    _database: Database,
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Peer { peer: "fjall", what: error.to_string() }
}

impl FjallPeer {
    /// Opens the database, loading it from the tables where it is not there yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path, tables: &Path) -> Result<(Self, Option<Cost>)> {
        let ready = folder.with_extension("ready");
        let mut cost = None;
        if !ready.exists() {
            let _ = std::fs::remove_dir_all(folder);
            let (loaded, took) = timed(|| load(folder, tables));
            loaded?;
            std::fs::write(&ready, "").map_err(failed)?;
            cost = Some(took);
        }
        let (database, keyspace) = open(folder)?;
        Ok((Self { keyspace, _database: database }, cost))
    }

    fn page(&self, account: u32) -> Result<Vec<Row>> {
        let mut rows = Vec::with_capacity(PAGE);
        for entry in self.keyspace.range(key(account, 0)..=key(account, u32::MAX)).rev().take(PAGE) {
            let value = entry.value().map_err(failed)?;
            rows.push(row_of(&value).ok_or_else(|| failed("a short value"))?);
        }
        Ok(rows)
    }
}

fn open(folder: &Path) -> Result<(Database, Keyspace)> {
    let database = Database::builder(folder).open().map_err(failed)?;
    let keyspace = database.keyspace("postings", KeyspaceCreateOptions::default).map_err(failed)?;
    Ok((database, keyspace))
}

fn load(folder: &Path, tables: &Path) -> Result<()> {
    let (database, keyspace) = open(folder)?;
    let mut ingestion = keyspace.start_ingestion().map_err(failed)?;
    for (account, number, row) in Postings::open(tables)? {
        ingestion.write(key(account, number), value(&row)).map_err(failed)?;
    }
    ingestion.finish().map_err(failed)?;
    database.persist(PersistMode::SyncAll).map_err(failed)
}

impl Engine for FjallPeer {
    fn name(&self) -> String {
        "fjall".to_owned()
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
