//! The contents of a ledger as Parquet, for other engines.
//!
//! The table `transfers` has one row per movement and end, as the ledger files them: all rows of an address lie
//! together, oldest first, so that an engine reads one address from one row group. Files are partitioned by chain and
//! by a bucket of the address that every engine can compute:
//!
//! ```text
//! DIR/transfers/chain=ethereum/bucket=00/part-0.parquet … bucket=ff/part-0.parquet
//! DIR/transfers/_headwater.json                       what it holds, written last: without it the export is not whole
//! ```
//!
//! Labels are one file that an import of labels reads back: a plain table, a `TagPack`, or tags of OLI; see [`labels`].
//!
//! The bucket is the first byte of the SHA-256 of the address as text, in hex. The same generation gives the same
//! bytes, whatever the thread count.
#![forbid(unsafe_code)]

mod bucket;
mod error;
mod files;
mod labels;
mod manifest;
mod rows;
mod transfers;

pub use bucket::{BUCKETS, bucket_of};
pub use error::ExportError;
pub use labels::{LabelExport, LabelFormat, labels};
pub use manifest::{ChainExport, MANIFEST, Manifest};
pub use transfers::{TRANSFERS, schema, transfers};
