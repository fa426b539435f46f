//! Files of every kind, through the same door as those of people.

mod columns;
mod era;
mod evm;
mod forms;
mod parquet;
mod tron;

use std::path::PathBuf;

use headwater_ingest::{Gathered, OnError, Options, Silent, SnapshotOptions, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::store::MemoryStore;
use headwater_testkit::fuzz::{FuzzOutcome, Reader};
use headwater_types::Timestamp;
use tempfile::TempDir;

use crate::fuzz::put;

/// Times of the blocks that the files speak of, since not every file states them.
const BLOCKS: &str = "number,hash,parent_hash,timestamp,gas_limit\n5,,,1000,5000\n46147,,,1438918233,5000\n";

/// A folder with one file, which is written anew for every input, beside one that states times.
struct Door {
    _folder: TempDir,
    name: &'static str,
    path: PathBuf,
}

impl Door {
    fn of(name: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(folder.path().join("blocks.csv"), BLOCKS).unwrap();
        Self { _folder: folder, name, path }
    }

    fn options(on_error: OnError) -> Options {
        let contract = Some("0x00000000000000000000000000000000000000cc".to_owned());
        let at_time = Some(Timestamp::new(1_600_000_000));
        let snapshot = SnapshotOptions { contract, at_block: Some(5), at_time, decimals: Some(6) };
        Options { on_error, snapshot, ..Options::default() }
    }

    fn read(&self, on_error: OnError) -> Result<Vec<Batch>, String> {
        let mut target = Gathered::default();
        let paths = [self.path.clone(), self.path.with_file_name("blocks.csv")];
        let report = ingest_into(&paths, &Self::options(on_error), &mut target, &Silent, &Cancel::new());
        report.map(|_| target.batches).map_err(|error| error.to_string())
    }

    /// Takes the whole file or says which one it is and why not, reads it again the same, and makes facts of it that a
    /// store holds or refuses.
    fn take(&self, input: &[u8]) -> FuzzOutcome {
        put(&self.path, input);
        let read = self.read(OnError::Stop);
        let skipping = self.read(OnError::Skip);
        match &read {
            Ok(batches) => {
                assert_eq!(skipping.as_ref(), Ok(batches), "where nothing is wrong nothing is left out");
                let mut store = MemoryStore::default();
                for batch in batches {
                    let _ = store.commit(batch.clone(), &Cancel::new());
                }
            }
            Err(message) => {
                // What is missing from all files together is said of the block.
                assert!(message.contains(self.name) || message.contains("has no known time"), "{message}");
                assert!(message.len() < 4_000, "a message stays short: {} bytes", message.len());
            }
        }
        FuzzOutcome::from(&read)
    }
}

/// Tries a reader of files of one name.
fn imported(reader: Reader, name: &'static str) {
    // Characters of several bytes, and such as text files hardly have.
    let reader = reader.words(["€", "é", "𝟙", "\0", "١", "\u{feff}"]);
    let door = Door::of(name);
    reader.check(|input| door.take(input));
}
