//! A transaction as a segment files it: ids in place of addresses, assets and texts it shares.
//!
//! What [`build`](super::build) makes of facts, what a [`Segment`](super::Segment) reads from its columns, and what the
//! section writers take, so that a merge goes from one segment to the next by changing ids and nothing else.

use headwater_types::Amount;

/// One transaction, to be used again for the next one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TransactionRecord {
    pub(crate) hash: [u8; 32],
    /// Distance from the segment's first block.
    pub(crate) block: u32,
    /// Distance from the segment's first time.
    pub(crate) time: u32,
    pub(crate) index: Option<u32>,
    /// Accounts, and so everywhere below.
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    pub(crate) created: Option<u32>,
    /// Bits of [`super::layout::head`].
    pub(crate) flags: u32,
    pub(crate) value: Option<Amount>,
    pub(crate) nonce: Option<u64>,
    pub(crate) gas_limit: Option<u64>,
    pub(crate) gas_used: Option<u64>,
    pub(crate) gas_price: Option<Amount>,
    pub(crate) paid_price: Option<Amount>,
    pub(crate) fee: Option<Amount>,
    pub(crate) call_data: Option<Vec<u8>>,
    pub(crate) method_id: Option<[u8; 4]>,
    pub(crate) method: Option<Vec<u8>>,
    pub(crate) failure: Option<Vec<u8>>,
    /// Internal, token and non-fungible movements, in the order of their facts.
    pub(crate) movements: Vec<MovementRecord>,
    pub(crate) logs: Vec<LogRecord>,
    pub(crate) version: Option<u32>,
    pub(crate) lock_time: Option<u32>,
    pub(crate) weight_wu: Option<u32>,
    pub(crate) inputs: Vec<InputRecord>,
    pub(crate) outputs: Vec<OutputRecord>,
}

/// A movement inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MovementRecord {
    /// Bits of [`super::layout::movement`].
    pub(crate) flags: u8,
    /// As stated, or made from the content.
    pub(crate) ordinal: u64,
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    pub(crate) asset: u32,
    pub(crate) amount: Amount,
}

/// An event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogRecord {
    pub(crate) index: u64,
    pub(crate) address: u32,
    pub(crate) topics: Vec<[u8; 32]>,
    pub(crate) data: Vec<u8>,
}

/// An input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputRecord {
    pub(crate) hash: [u8; 32],
    pub(crate) index: u32,
    pub(crate) spent: Option<OutputRecord>,
    pub(crate) sequence: Option<u32>,
}

/// An output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutputRecord {
    pub(crate) amount: u64,
    pub(crate) owner: Option<u32>,
    pub(crate) data: Option<Vec<u8>>,
    /// Place in [`crate::primitives::ScriptType::ALL`].
    pub(crate) script: u32,
}
