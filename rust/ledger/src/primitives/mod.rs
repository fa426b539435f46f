//! The primitives of all other modules: kinds of movements, scripts and tables, handles, and columns of postings.
//!
//! Nothing here depends on facts, segments or ledgers. [`crate::read`] hands these out under its own name.

mod columns;
mod coverage;
mod handles;
mod holding;
mod movement;
mod script;

pub(crate) use self::columns::ColumnBuffer;
pub use self::columns::{ColumnSet, LARGE, NOBODY, PostingColumns};
pub use self::coverage::{Coverage, CoverageTable, uncovered};
pub use self::handles::{Account, AccountRef, AssetRef, TransactionHead, TransactionRef};
pub(crate) use self::handles::{pack, unpack};
pub use self::holding::{Holding, Opening};
pub(crate) use self::movement::posting_bits;
pub use self::movement::{Direction, MovementKind, Ordinal, PostingFlags, Status};
pub use self::script::ScriptType;
