//! Sources on their way into the ledger: one file per public format, read row by row in bounded memory.
//!
//! * [`load()`]: files, folders and patterns into a store, finished with sidecars and the freezes of token issuers.
//! * [`ingest`]: the same files into an open store, without the finish; reports what each file was read as.
//! * [`FORMATS`]: the formats; a further one is one file and one line.
//! * [`bitcoin`]: blocks, block files and the node's JSON, decoded into facts.
//! * [`read_token_registry`], [`read_prices`]: token lists and prices; [`import_tokens`], [`import_prices`]: into a store.
//! * [`frames`]: tables in memory, as Python hands them over.
#![forbid(unsafe_code)]
// Text of files may hold any characters: a slice by byte positions would panic inside one.
#![cfg_attr(not(test), deny(clippy::string_slice))]

pub mod bitcoin;
mod chains;
mod driver;
mod error;
mod formats;
pub mod frames;
mod genesis;
pub mod labels;
mod load;
mod market;
mod networks;
mod options;
mod report;
mod sink;
pub mod source;
mod target;

pub use driver::{ingest, ingest_into};
pub use error::{Fault, FieldError, IngestError, Place, RowError};
pub use formats::{FORMATS, Format, Job, Sniffed, SniffedChain};
pub use load::{FeedItems, FreezeImport, LoadOptions, LoadReport, LoadStart, StoreReport, finish_load, load};
pub use market::{
    Listed, MarketImport, SourceEntries, import_exchange_rates, import_prices, import_tokens, list_exchange_rates,
    list_prices, list_tokens, read_prices, read_sources, read_token_registry,
};
pub use options::{OnError, Options, Progress, ProgressState, Silent, SnapshotOptions};
pub use report::{ChainSource, FileReport, IngestReport, LeftOut, OmittedRows};
pub use sink::Sink;
pub use source::Bounds;
pub use target::{ConsistentCommit, Gathered, HeldToken, StagedBatches, StoreTarget, Target};
