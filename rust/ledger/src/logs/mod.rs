//! Event logs by contract and first topic, in the order of the chain.
//!
//! Segments hold the logs of their transactions. The index of a segment says where in it the logs of a contract and a
//! first topic are, so that a question about a few of many logs reads these few. It lies in a file beside the segment and
//! repeats neither topics nor data. Segments without one (small ones, new ones of a load, those of which the file is
//! stale) are searched log by log; the answer is the same.
//!
//! # Format
//!
//! A container of checked pages with these sections, in which accounts and rows are those of the segment:
//!
//! ```text
//! log.summary     accounts, transactions and bytes of the segment; groups; logs
//! log.groups      packed, a row per group: contract (an account), where its entries begin
//! log.entries     packed, a row per log: row of the transaction, position among the logs of the row
//! ```
//!
//! A group is the logs of one contract with one first topic. Groups are in order of contract, then of topic; logs without
//! topics come first. Entries are in order of group, row and position, which is the order of the chain inside a group.
//! Both tables are packed by blocks of 128 rows: about two to four bytes per log. The topic of a group is read from its
//! first log.
//!
//! # Cost
//!
//! With an index a question costs two binary searches per segment (contracts; topics of the contract, each step with a
//! look at the segment) and one more for the beginning of the blocks asked for, then constant time per log shown. A million
//! logs in a development build: 8 microseconds to the first log, under 2 per log. Without an index the contracts of all logs
//! of these blocks are decoded. Segments are opened when the scan comes to their first block. Memory: one key per open
//! segment, for [`FirstTopic::Any`] one per first topic of the contract (4096 at most, past that the segment is searched),
//! and the log that is shown. Building an index takes one pass and one sort, 48 bytes per log within the memory of the
//! work, the rest in temporary files.
//!
//! # Errors
//!
//! A scan ends with the first error: damage to a segment or an index, with file and place, or
//! [`LedgerError::Cancelled`](crate::LedgerError::Cancelled).
//!
//! # Example
//!
//! ```
//! use headwater_ledger::Cancel;
//! use headwater_ledger::logs::{FirstTopic, LogFilter};
//! use headwater_ledger::read::Logs;
//! use headwater_ledger::store::in_memory;
//! use headwater_testkit::{Chainlet, address, topic};
//! use headwater_types::Chain;
//!
//! // Contract 9 emits two events in block 1 and one without topics in block 2.
//! let chain = Chainlet::ethereum()
//!     .transfer(1, 9, 0)
//!     .log(9, &[7, 1], b"first")
//!     .log(9, &[8], b"")
//!     .transfer(2, 9, 0)
//!     .log(9, &[], b"last");
//! let ledger = in_memory(vec![chain.batch()], vec![], vec![])?.snapshot();
//! let contract = address(Chain::ETHEREUM, 9);
//!
//! let filter = LogFilter { first_topic: FirstTopic::from(topic(7)), ..LogFilter::of(contract) };
//! let page = ledger.log_page(Chain::ETHEREUM, &filter, 10, &Cancel::new())?;
//! assert_eq!(page.len(), 1);
//! assert_eq!((page[0].head.block, page[0].index, &page[0].data[..]), (1, 0, &b"first"[..]));
//! assert_eq!(page[0].topics, [topic(7), topic(1)]);
//!
//! // The next page of all logs begins behind the last log of the one before.
//! let all = LogFilter::of(contract);
//! let first = ledger.log_page(Chain::ETHEREUM, &all, 2, &Cancel::new())?;
//! let next = LogFilter { after: first.last().map(|log| log.key()), ..all };
//! let rest = ledger.log_page(Chain::ETHEREUM, &next, 2, &Cancel::new())?;
//! assert_eq!((first.len(), rest.len(), &rest[0].data[..]), (2, 1, &b"last"[..]));
//!
//! assert_eq!(ledger.transaction_logs(first[0].transaction)?, first);
//! # Ok::<(), headwater_ledger::LedgerError>(())
//! ```

mod build;
mod cursor;
mod file;
mod merge;
mod records;

pub use self::records::{FirstTopic, Log, LogFilter, LogKey, LogScan};

pub(crate) use self::build::build;
pub(crate) use self::file::LogFile;
pub(crate) use self::merge::{LogMerge, of_transaction};

/// Segments with fewer logs never have an index: to look at all contracts of so few costs no more than to search for one.
pub(crate) const MIN_LOGS: u64 = 1024;

/// First topics of a contract in a segment up to which its groups are merged; past that all logs are looked at.
const MAX_GROUPS: usize = 4096;
