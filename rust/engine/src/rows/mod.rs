//! Rows of movements: one record, one way to make it, one way to list it.

mod listing;
mod row;
mod seen;
mod signs;
mod utxo_sides;

pub use listing::Excluded;
pub use row::TransferRow;
pub use signs::{MovementSigns, status_name, transfer_type};

pub(crate) use listing::Listing;
pub(crate) use row::RowParts;
pub(crate) use utxo_sides::UtxoSides;
