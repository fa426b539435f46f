//! Files on the way in: found, decompressed, probed, and read as lines or rows in bounded memory.

mod array;
mod columnar;
mod decimal;
mod discover;
mod input;
pub mod json;
mod lines;
mod nested;
mod object;
mod pages;
mod probe;
mod row;
mod table;

pub(crate) use columnar::{each_parquet_document, text_columns};
pub(crate) use decimal::{plain_decimal, ungrouped};
pub use discover::discover;
pub(crate) use discover::{Origin, discover_with_origin};
pub use input::{Compression, Input};
pub use lines::Lines;
pub(crate) use object::Object;
pub use probe::{Content, Probe};
pub use row::Row;
pub(crate) use row::{Names, hex_bytes, plain_number, time_of};
pub(crate) use table::{Counts, each_row, each_row_under};
