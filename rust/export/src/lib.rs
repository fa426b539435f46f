//! The contents of a ledger as Parquet, for other engines.
//!
//! The table `transfers` has one row per movement and end, as the ledger files them: all rows of an address lie
//! together, oldest first, so that an engine reads one address from one row group. Files are partitioned by chain and
//! by a bucket of the address that every engine can compute. Other tables arrive as Arrow batches ([`TableWriter`]) and are
//! partitioned by chain:
//!
//! ```text
//! DIR/transfers/chain=ethereum/bucket=00/part-0.parquet … bucket=ff/part-0.parquet
//! DIR/logs/chain=ethereum/part-0.parquet …
//! DIR/<table>/_headwater.json           heads of the chains, digests of the files; written last: without it the export is not whole
//! ```
//!
//! The bucket is the first byte of the SHA-256 of the address as text, in hex. The same generation gives the same
//! bytes, whatever the thread count. [`read_back`] makes facts of rows again.
//!
//! Labels are one file that an import of labels reads back: a plain table, a `TagPack`, or tags of OLI; see [`labels`].
#![forbid(unsafe_code)]

mod bucket;
mod columns;
mod error;
mod files;
mod labels;
mod manifest;
mod partitioned;
mod read_back;
mod rows;
mod transfers;

pub use bucket::{BUCKETS, bucket_of};
pub use columns::{TRANSFER_COLUMNS, TransferColumn, schema};
pub use error::ExportError;
pub use labels::{LabelExport, LabelFormat, labels};
pub use manifest::{ChainExport, FORMAT, FileEntry, MANIFEST, Manifest};
pub use partitioned::TableWriter;
pub use read_back::{ExportedFacts, ReadBackError, read_back};
pub use transfers::{TRANSFERS, held_chains, transfers};
