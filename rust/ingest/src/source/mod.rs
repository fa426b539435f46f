//! Files on the way in: found, decompressed, probed, and read as lines or rows in bounded memory.

mod columnar;
mod discover;
mod input;
pub mod json;
mod lines;
mod probe;
mod row;
mod table;

pub(crate) use columnar::text_columns;
pub use discover::discover;
pub(crate) use discover::{Origin, discover_with_origin};
pub use input::{Compression, Input};
pub use lines::Lines;
pub use probe::{Content, Probe};
pub use row::Row;
pub(crate) use row::{hex_bytes, plain_number};
pub(crate) use table::{Counts, each_row};
