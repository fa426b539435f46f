//! Lists of the desk as files of rows and columns: CSV, lines of JSON, Parquet, Arrow streams.
//!
//! Rows are encoded as they are made, some thousand at a time. Columns are the fields of a row in their order; exact
//! amounts are text in every form, since no form has integers of 256 bits.
#![forbid(unsafe_code)]

mod encoder;
mod error;
mod format;
mod schema;
mod write;

pub use encoder::Encoder;
pub use error::TableError;
pub use format::Format;
pub use write::{Pages, Written, write};
