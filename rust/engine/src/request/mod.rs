//! Conventions that all requests share: decoding, switches, checks, paging.

mod arguments;
mod checks;
mod decode;
mod paging;
mod switch;
mod unknown;

pub use crate::response::Warnings;
pub use arguments::{Arguments, CanonicalText};
pub use checks::Checks;
pub use decode::decode;
pub use paging::{Offsets, PageInfo};
pub use switch::{
    Crossing, DirectionFilter, GroupBy, HistoryUnit, RankingSort, Sign, SortOrder, ThirdParty, TraceMethod,
    TransactionSort, TransferSort,
};

pub(crate) use checks::{ListSize, at_most, refused, repair, symbol_text, symbol_texts};
pub(crate) use decode::{RESERVED, decode_with};
pub(crate) use paging::{Cursor, CursorKey, Paging, least_interactions};
