//! The table `transfers`: every movement under both its ends.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use headwater_ledger::read::{Direction, Scan, ScanOrder};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain};
use rayon::prelude::*;

use crate::bucket::{addresses, bucket_of};
use crate::files::{Folder, ROW_GROUP, SORTED_BY, Table};
use crate::manifest::{ChainExport, MANIFEST, Manifest};
use crate::rows::Rows;
pub use crate::rows::schema;
use crate::{BUCKETS, ExportError};

/// Name of the table and of its folder.
pub const TRANSFERS: &str = "transfers";

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
    let chains = chosen(ledger, chains)?;
    let folder = Folder::create(&folder.join(TRANSFERS))?;
    let mut manifest = Manifest {
        format: 1,
        table: TRANSFERS.to_owned(),
        generation: ledger.generation(),
        bucket: "first byte of the SHA-256 of the address as text, in hex".to_owned(),
        sorted_by: SORTED_BY.map(str::to_owned).to_vec(),
        chains: chains.iter().map(|chain| (*chain, ChainExport::default())).collect(),
    };
    // Each movement has at most two ends; what has one only makes the bar end early.
    let total = chains.iter().map(|chain| 2 * ledger.coverage()[chain].movements).sum();
    let done = AtomicU64::new(0);
    let export = Export { ledger, folder: folder.path(), done: &done, total, progress, cancel };
    for (chain, held) in &mut manifest.chains {
        *held = export.chain(*chain)?;
    }
    progress(total, total);
    let text = serde_json::to_string_pretty(&manifest).expect("plain records always have a JSON form");
    folder.finish(MANIFEST, &text)?;
    Ok(manifest)
}

fn chosen(ledger: &dyn Ledger, chains: &[Chain]) -> Result<Vec<Chain>, ExportError> {
    let held: Vec<Chain> = ledger.coverage().keys().copied().collect();
    if let Some(missing) = chains.iter().find(|chain| !held.contains(chain)) {
        let names: Vec<_> = held.iter().map(|chain| chain.name()).collect();
        let held = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
        return Err(ExportError::NothingHeld { chain: *missing, held });
    }
    Ok(if chains.is_empty() { held } else { chains.to_vec() })
}

struct Export<'a> {
    ledger: &'a dyn Ledger,
    folder: &'a Path,
    done: &'a AtomicU64,
    total: u64,
    progress: &'a (dyn Fn(u64, u64) + Sync),
    cancel: &'a Cancel,
}

impl Export<'_> {
    fn chain(&self, chain: Chain) -> Result<ChainExport, ExportError> {
        let buckets = addresses(self.ledger, chain, self.cancel)?;
        debug_assert_eq!(buckets.len(), BUCKETS);
        let parts: Vec<ChainExport> =
            buckets.into_par_iter().map(|addresses| self.bucket(chain, &addresses)).collect::<Result<_, _>>()?;
        Ok(parts.iter().fold(ChainExport::default(), |sum, part| ChainExport {
            files: sum.files + part.files,
            addresses: sum.addresses + part.addresses,
            rows: sum.rows + part.rows,
            movements: sum.movements + part.movements,
            bytes: sum.bytes + part.bytes,
        }))
    }

    /// One file: the rows of these addresses, which are of one bucket.
    fn bucket(&self, chain: Chain, addresses: &[Address]) -> Result<ChainExport, ExportError> {
        let mut written = ChainExport::default();
        let mut file: Option<Table> = None;
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
                written.rows += 1;
                let is_primary = posting.direction != Direction::In || posting.counterparty.is_none();
                written.movements += u64::from(is_primary);
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
        if let Some(file) = file {
            written.files = 1;
            written.bytes = file.finish()?;
        }
        Ok(written)
    }

    fn write(
        &self,
        chain: Chain,
        of: &Address,
        file: &mut Option<Table>,
        rows: &mut Rows<'_>,
    ) -> Result<(), ExportError> {
        let table = match file {
            Some(table) => table,
            None => {
                let folder = self.folder.join(format!("chain={chain}/bucket={:02x}", bucket_of(of)));
                std::fs::create_dir_all(&folder).map_err(ExportError::io(&folder))?;
                file.insert(Table::create(folder.join("part-0.parquet"))?)
            }
        };
        let count = rows.len() as u64;
        table.write(&rows.take())?;
        (self.progress)(self.done.fetch_add(count, Ordering::Relaxed) + count, self.total);
        Ok(())
    }
}
