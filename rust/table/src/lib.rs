//! Lists of the query engine as files of rows and columns (CSV, lines of JSON, Parquet, Arrow streams), answers in
//! Arrow's memory, and the tables of a store as streams of Arrow batches.
//!
//! Rows are encoded as they are made, some thousand at a time. Columns are the fields of a row in their order. Times
//! are timestamps in UTC where the format has such a type. Exact amounts are text in every format, since none has
//! integers of 256 bits; in memory they are decimals where they fit.
#![forbid(unsafe_code)]

mod amounts;
mod append;
mod builder;
mod encoder;
mod error;
pub mod export;
mod format;
mod frame;
mod graphml;
pub mod scan;
mod schema;
pub mod score;
mod write;

pub use amounts::{UNITS_SCALE, with_decimals};
pub use encoder::Encoder;
pub use error::TableError;
pub use format::Format;
pub use frame::{frame, table};
pub use graphml::{edge_ends, graphml, node_id};
pub use write::{Pages, Written, write};
