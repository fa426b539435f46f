//! redb: a B-tree of keys and values in one file.

use std::path::Path;

use redb::{Database, ReadableDatabase, TableDefinition};

use super::keyed::{BuildStep, Key, KeyValues, Postings, failed};
use crate::suite::Result;

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("postings");

/// Rows that are committed together while it is filled.
const ROWS_PER_COMMIT: usize = 2_000_000;

/// A database of redb.
pub struct Redb(Database);

impl KeyValues for Redb {
    const NAME: &'static str = "redb";

    fn load(path: &Path, postings: Postings) -> Result<()> {
        let database = Database::create(path).map_err(failed(Self::NAME))?;
        let mut postings = postings.peekable();
        while postings.peek().is_some() {
            let transaction = database.begin_write().map_err(failed(Self::NAME))?;
            {
                let mut table = transaction.open_table(TABLE).map_err(failed(Self::NAME))?;
                for (key, value) in postings.by_ref().take(ROWS_PER_COMMIT) {
                    table.insert(key.as_slice(), value.as_slice()).map_err(failed(Self::NAME))?;
                }
            }
            transaction.commit().map_err(failed(Self::NAME))?;
        }
        Ok(())
    }

    fn open(path: &Path) -> Result<Self> {
        Database::open(path).map(Self).map_err(failed(Self::NAME))
    }

    fn backwards(&self, from: Key, to: Key, visit: &mut dyn FnMut(&[u8]) -> Result<BuildStep>) -> Result<()> {
        let transaction = self.0.begin_read().map_err(failed(Self::NAME))?;
        let table = transaction.open_table(TABLE).map_err(failed(Self::NAME))?;
        let range = table.range::<&[u8]>(from.as_slice()..=to.as_slice()).map_err(failed(Self::NAME))?;
        for entry in range.rev() {
            let (_, value) = entry.map_err(failed(Self::NAME))?;
            if visit(value.value())? == BuildStep::Yes {
                break;
            }
        }
        Ok(())
    }
}
