//! fjall: a log-structured merge tree of keys and values.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::keyed::{BuildStep, Key, KeyValues, Postings, failed};
use crate::suite::Result;

/// A keyspace of fjall, and the database that it is of.
pub struct Fjall(Keyspace, Database);

impl KeyValues for Fjall {
    const NAME: &'static str = "fjall";

    fn load(path: &Path, postings: Postings) -> Result<()> {
        let Self(keyspace, database) = Self::open(path)?;
        let mut ingestion = keyspace.start_ingestion().map_err(failed(Self::NAME))?;
        for (key, value) in postings {
            ingestion.write(key, value).map_err(failed(Self::NAME))?;
        }
        ingestion.finish().map_err(failed(Self::NAME))?;
        database.persist(PersistMode::SyncAll).map_err(failed(Self::NAME))
    }

    fn open(path: &Path) -> Result<Self> {
        let database = Database::builder(path).open().map_err(failed(Self::NAME))?;
        let keyspace = database.keyspace("postings", KeyspaceCreateOptions::default).map_err(failed(Self::NAME))?;
        Ok(Self(keyspace, database))
    }

    fn backwards(&self, from: Key, to: Key, visit: &mut dyn FnMut(&[u8]) -> Result<BuildStep>) -> Result<()> {
        for entry in self.0.range(from..=to).rev() {
            if visit(&entry.value().map_err(failed(Self::NAME))?)? == BuildStep::Yes {
                break;
            }
        }
        Ok(())
    }
}
