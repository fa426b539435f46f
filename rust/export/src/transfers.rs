//! The table `transfers`: every movement under both its ends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_ledger::read::{Scan, ScanOrder};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain};
use rayon::prelude::*;

use crate::bucket::{addresses, bucket_of};
use crate::columns::schema;
use crate::files::{FileLayout, Folder, ParquetFile, ROW_GROUP};
use crate::manifest::{ChainExport, FORMAT, FileEntry, MANIFEST, Manifest};
use crate::rows::{Rows, is_primary};
use crate::{BUCKETS, ExportError};

/// Name of the table and of its folder.
pub const TRANSFERS: &str = "transfers";

/// The columns that the rows of a file are sorted by.
const SORTED_BY: [&str; 6] = ["address", "block", "tx_index", "tx_hash", "kind", "ordinal"];

/// The number of these columns that files declare as sorted: readers order `kind` and unknown indexes differently.
const DECLARED_ORDER: i32 = 2;

/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: usize = 4096;

/// Writes the transfers of the chains (of all that are held, when none is named) below `folder`, which must be new or
/// empty, and returns what was written. `progress` receives rows done and rows in all.
///
/// Time O(rows); memory about 40 bytes per address and one row group (65,536 rows) per thread. An export that fails
/// or is cancelled leaves nothing behind.
///
/// # Errors
/// When the folder is not empty, a chain is not held, the ledger cannot be read, a file cannot be written, or the work
/// is cancelled.
pub fn transfers(
    ledger: &dyn Ledger,
    chains: &[Chain],
    folder: &Path,
    progress: &(dyn Fn(u64, u64) + Sync),
    cancel: &Cancel,
) -> Result<Manifest, ExportError> {
    let chains = held_chains(ledger, chains)?;
    let folder = Folder::create(&folder.join(TRANSFERS))?;
    let mut manifest = Manifest {
        format: FORMAT,
        table: TRANSFERS.to_owned(),
        generation: ledger.generation(),
        partitions: ["chain", "bucket"].map(str::to_owned).to_vec(),
        bucket: Some("first byte of the SHA-256 of the address as text, in hex".to_owned()),
        sorted_by: SORTED_BY.map(str::to_owned).to_vec(),
        rows: 0,
        chains: BTreeMap::new(),
        files: Vec::new(),
    };
    let layout = FileLayout {
        table: TRANSFERS,
        generation: ledger.generation(),
        schema: schema(),
        sorted_columns: DECLARED_ORDER,
    };
    // Each movement has at most two ends; what has one only makes the bar end early.
    let total = chains.iter().map(|chain| 2 * ledger.coverage()[chain].movements).sum();
    let done = AtomicU64::new(0);
    let export = Export { ledger, folder: folder.path(), layout, done: &done, total, progress, cancel };
    for chain in chains {
        let (held, files) = export.chain(chain)?;
        manifest.rows += held.rows;
        manifest.chains.insert(chain.name().to_owned(), held);
        manifest.files.extend(files);
    }
    progress(total, total);
    manifest.files.sort_by(|one, other| one.path.cmp(&other.path));
    folder.finish(MANIFEST, &manifest.text())?;
    Ok(manifest)
}

/// Returns the chains to export, in their order: those named, or all that the ledger contains.
///
/// # Errors
/// [`ExportError::NothingHeld`] when the ledger has nothing of a named chain.
pub fn held_chains(ledger: &dyn Ledger, chains: &[Chain]) -> Result<Vec<Chain>, ExportError> {
    let held: Vec<Chain> = ledger.coverage().keys().copied().collect();
    if let Some(missing) = chains.iter().find(|chain| !held.contains(chain)) {
        let names: Vec<_> = held.iter().map(|chain| chain.name()).collect();
        let held = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        return Err(ExportError::NothingHeld { chain: *missing, held });
    }
    Ok(held.into_iter().filter(|chain| chains.is_empty() || chains.contains(chain)).collect())
}

/// The part of an export that is of one bucket.
#[derive(Default)]
struct Bucket {
    addresses: u64,
    movements: u64,
    file: Option<FileEntry>,
}

struct Export<'a> {
    ledger: &'a dyn Ledger,
    folder: &'a Path,
    layout: FileLayout,
    done: &'a AtomicU64,
    total: u64,
    progress: &'a (dyn Fn(u64, u64) + Sync),
    cancel: &'a Cancel,
}

impl Export<'_> {
    fn chain(&self, chain: Chain) -> Result<(ChainExport, Vec<FileEntry>), ExportError> {
        let buckets = addresses(self.ledger, chain, self.cancel)?;
        debug_assert_eq!(buckets.len(), BUCKETS);
        let parts: Vec<Bucket> =
            buckets.into_par_iter().map(|addresses| self.bucket(chain, &addresses)).collect::<Result<_, _>>()?;
        let mut held = ChainExport::of(self.ledger, chain);
        held.addresses = Some(parts.iter().map(|part| part.addresses).sum());
        held.movements = Some(parts.iter().map(|part| part.movements).sum());
        let files: Vec<FileEntry> = parts.into_iter().filter_map(|part| part.file).collect();
        for file in &files {
            held.add(file);
        }
        Ok((held, files))
    }

    /// Writes one file: the rows of these addresses, which are of one bucket.
    fn bucket(&self, chain: Chain, addresses: &[Address]) -> Result<Bucket, ExportError> {
        let mut written = Bucket::default();
        let mut file: Option<ParquetFile> = None;
        let mut rows = Rows::new(self.ledger, chain);
        let scan = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
        for address in addresses {
            self.cancel.check()?;
            let Some(account) = self.ledger.account(chain, address)? else { continue };
            // A contract that only emitted logs has an account and no row.
            if account.postings == 0 {
                continue;
            }
            written.addresses += 1;
            let text = address.to_string();
            for (count, posting) in self.ledger.postings(&account, &scan)?.enumerate() {
                if count % ROWS_PER_CHECK == 0 {
                    self.cancel.check()?;
                }
                let posting = posting?;
                rows.push(&text, &posting)?;
                written.movements += u64::from(is_primary(&posting));
                if rows.len() == ROW_GROUP {
                    self.write(chain, address, &mut file, &mut rows)?;
                }
            }
        }
        if rows.len() > 0
            && let Some(last) = addresses.last()
        {
            self.write(chain, last, &mut file, &mut rows)?;
        }
        written.file = file.map(|file| file.finish(self.folder)).transpose()?;
        Ok(written)
    }

    fn write(
        &self,
        chain: Chain,
        of: &Address,
        file: &mut Option<ParquetFile>,
        rows: &mut Rows<'_>,
    ) -> Result<(), ExportError> {
        let table = match file {
            Some(table) => table,
            None => {
                let path = format!("chain={chain}/bucket={:02x}/part-0.parquet", bucket_of(of));
                file.insert(ParquetFile::create(self.folder.join(path), &self.layout)?)
            }
        };
        let count = rows.len() as u64;
        table.write(&rows.take())?;
        (self.progress)(self.done.fetch_add(count, Ordering::Relaxed) + count, self.total);
        Ok(())
    }
}
