//! Writing a segment in pieces: section writers that take rows in order and hold none of them.
//!
//! The in-memory [`build`](super::build) and a streaming merge feed the same writers:
//!
//! 1. [`AccountsWriter`]: every address once, in order of keys, with the flags it has. This makes the account ids.
//! 2. [`TransactionsWriter`]: every transaction once, in order of rows. This makes the row numbers, and
//!    [`TransactionsWriter::knots`], which postings need.
//! 3. [`HashesWriter`]: (hash, row) in order of hashes; for UTXO chains [`SpendersWriter`]: (hash, input) likewise.
//! 4. [`PostingsWriter`]: for each account in order, its postings in theirs. Hubs get their sub-index on the way.
//! 5. [`FeesWriter`], [`BlocksWriter`], [`TokensWriter`], and [`put_assets`]; where there are opening balances also
//!    [`OpeningsWriter`](super::opening::OpeningsWriter).
//! 6. [`SegmentFile::begin`](super::container::SegmentFile) on the sink, `put` of every writer in any order, [`finish`].
//!    Writers of one kind may be put as soon as they have their last row, which frees what they hold.
//!
//! All writers share one [`Spool`](super::spool::Spool): what they have written so far lies in memory up to its budget
//! and behind that in an unnamed temporary file. Ids that a row names are those of the new segment: who merges keeps
//! for each old segment a table from old to new accounts, assets and rows. Old rows come as
//! [`TransactionRecord`](super::record::TransactionRecord) from `Segment::record` and as
//! [`RawPosting`](super::RawPosting) from `Segment::postings`, changed by the caller and pushed.

mod accounts;
mod columns;
mod hashes;
mod hubs;
mod postings;
mod summary;
mod transactions;

pub(crate) use self::accounts::{AccountsWriter, TokensWriter, put_assets};
pub(crate) use self::hashes::{HashesWriter, SpendersWriter};
pub(crate) use self::postings::{FeesWriter, PostingsWriter};
pub(crate) use self::summary::{BlocksWriter, Frame, Totals, finish};
pub(crate) use self::transactions::TransactionsWriter;
