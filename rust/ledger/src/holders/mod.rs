//! Holders: of every asset of a chain its accounts with exact balances, largest first.
//!
//! The table is a file beside the segments that covers a list of them: one pass over their accounts in order of
//! address, sorted by asset and balance within a budget of memory. Segments that are newer than the table, the tail
//! among them, add their changes on reading. A generation continues from the changes that one before found, and reads
//! only the segments that came and went since ([`carried`]). A chain without a table answers the
//! same way as long as it is small. A merge of segments that the table covers carries it on under other names; one that
//! mixes them with newer ones ends it.
//!
//! Measures of concentration need no holder one by one: the table has sums over all balances of an asset, and for each
//! block what those before it hold and its smallest balance. Changes outside of the table, and holders that do not
//! count, are taken out of these sums and put into them; as all are integers, no way to them shows in the result.
//!
//! An opening that comes later begins the history of its token anew: a table that counts what moved before is passed
//! over, and built again.
//!
//! A balance is what an account held at the opening of an asset and received less what it sent, fees included. One that is negative shows that the history
//! begins too late; such accounts are counted apart and are not holders.

mod batch;
mod build;
mod carried;
mod carry;
mod chain;
mod changes;
mod file;
mod moments;
mod ordered;
mod ranked;
mod records;
mod slots;

pub use self::batch::{Balances, HolderBatch, VisitHolders};
pub use self::moments::{Moments, Squares, Sum, Top};
pub use self::ranked::HolderRanking;
pub use self::records::Holders;

pub(crate) use self::build::build;
pub(crate) use self::carried::HolderCache;
pub(crate) use self::carry::carry;
pub(crate) use self::chain::{ChainHolders, HolderTable, is_overtaken};
pub(crate) use self::file::HolderFile;

/// Movements and opening balances outside of the table up to which their changes are found on reading.
pub(crate) const MAX_UNCOVERED: u64 = 4 << 20;
