//! Queries about logs, and the records they hand out.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use headwater_types::{Address, TxHash};

use crate::error::Result;
use crate::primitives::{TransactionHead, TransactionRef};

/// One event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The transaction that emitted it.
    pub transaction: TransactionRef,
    /// The place of the transaction: chain, hash, block, time, position in the block.
    pub head: TransactionHead,
    /// Index in the block, counted by the chain from 0; where sources count none (TRON), by the ingest in the order of the block.
    pub index: u64,
    /// The contract that emitted it.
    pub contract: Address,
    /// Up to four topics. The first one is the hash of the event's signature, unless the event is anonymous.
    pub topics: Vec<[u8; 32]>,
    /// The fields of the event that are not topics, ABI-encoded.
    pub data: Vec<u8>,
}

impl Log {
    /// Its place in the order of the chain, for [`LogFilter::after`].
    #[must_use]
    pub const fn key(&self) -> LogKey {
        LogKey {
            block: self.head.block,
            transaction_index: self.head.index,
            hash: self.head.hash,
            log_index: self.index,
        }
    }
}

/// The place of a log by content: block, position of the transaction in the block (unknown last), its hash, log index.
/// The order is total and the same in every segmentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogKey {
    /// Block number.
    pub block: u64,
    /// Position of the transaction in the block.
    pub transaction_index: Option<u32>,
    /// The transaction.
    pub hash: TxHash,
    /// Index of the log in the block.
    pub log_index: u64,
}

impl LogKey {
    fn rank(&self) -> (u64, u64, TxHash, u64) {
        (self.block, self.transaction_index.map_or(u64::MAX, u64::from), self.hash, self.log_index)
    }
}

impl Ord for LogKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for LogKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The logs to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    /// Emitted by this contract.
    pub contract: Address,
    /// With this first topic.
    pub first_topic: FirstTopic,
    /// In these blocks, both ends included.
    pub blocks: RangeInclusive<u64>,
    /// Behind this place: the last log of the page before.
    pub after: Option<LogKey>,
}

impl LogFilter {
    /// All logs of a contract.
    #[must_use]
    pub const fn of(contract: Address) -> Self {
        Self { contract, first_topic: FirstTopic::Any, blocks: 0..=u64::MAX, after: None }
    }
}

/// The first topics that pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FirstTopic {
    /// Every log, with topics and without.
    #[default]
    Any,
    /// Logs without topics only.
    Absent,
    /// One of these, in any order.
    OneOf(Vec<[u8; 32]>),
}

impl FirstTopic {
    /// Returns whether the first topic of a log passes.
    #[must_use]
    pub fn passes(&self, first: Option<&[u8; 32]>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => first.is_none(),
            Self::OneOf(topics) => first.is_some_and(|first| topics.contains(first)),
        }
    }
}

impl From<[u8; 32]> for FirstTopic {
    fn from(topic: [u8; 32]) -> Self {
        Self::OneOf(vec![topic])
    }
}

/// Logs in order. The first error ends it.
pub type LogScan<'a> = Box<dyn Iterator<Item = Result<Log>> + 'a>;
