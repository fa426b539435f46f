//! Files on the way in: found, decompressed, probed, and read as lines or rows in bounded memory.

mod address_form;
mod appearance;
mod array;
mod arrow_columns;
mod bounds;
mod columnar;
mod container;
mod discover;
mod document;
mod exceptions;
mod guarded;
mod handle;
mod input;
pub mod json;
mod layout;
mod lines;
mod listing;
mod object;
mod pages;
mod probe;
mod row;
mod shapes;
mod table;
mod wrapped;
mod written;
mod xml;
mod yaml;

pub(crate) use address_form::{has_address_form, prefixed};
pub use bounds::Bounds;
pub(crate) use columnar::{each_parquet_document, text_columns};
pub use container::Compression;
pub use discover::discover;
pub(crate) use discover::{Origin, discover_with_origin};
pub(crate) use exceptions::is_exception;
pub(crate) use handle::Counts;
pub use input::Input;
pub use lines::Lines;
pub(crate) use listing::ListedItems;
pub(crate) use object::Object;
pub use probe::{Content, Probe};
pub(crate) use row::Names;
pub use row::Row;
pub(crate) use shapes::{Subject, shape_of};
pub(crate) use table::{each_json_value, each_row, each_row_under};
pub(crate) use written::{
    WrittenAmount, hex_bytes, list_items, plain_decimal, plain_number, time_of, truth, ungrouped, whole_number,
    written_amount,
};
pub(crate) use xml::{Element, Step, each_element};
pub(crate) use yaml::Yaml;
