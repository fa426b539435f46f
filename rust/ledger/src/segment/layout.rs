//! The layout of a segment: the one list of its sections, and the records in them.
//!
//! Ids are local to the segment: accounts by their place in the dictionary, assets by theirs (0 is the native coin),
//! transactions by their row. They never leave it.

use bytemuck::{Pod, Zeroable};

use super::knots::Knot;
use super::section::{PackedSections, Section};
use crate::facts::TokenFacts;

/// The sections of a column that some rows have no value in.
#[derive(Clone, Copy)]
pub(super) struct OptionalSections<T> {
    pub(super) presence: Section<Presence>,
    pub(super) values: Section<T>,
}

/// The sections of a packed column that some rows have no value in.
#[derive(Clone, Copy)]
pub(super) struct OptionalPacked {
    pub(super) presence: Section<Presence>,
    pub(super) values: PackedSections,
}

/// The sections of texts and bytes.
#[derive(Clone, Copy)]
pub(super) struct BlobSections {
    pub(super) starts: PackedSections,
    pub(super) bytes: Section<u8>,
}

macro_rules! packed {
    ($name:literal) => {
        PackedSections { blocks: Section::new($name), starts: Section::new(concat!($name, "#")) }
    };
}

macro_rules! optional_packed {
    ($name:literal) => {
        OptionalPacked { presence: Section::new(concat!($name, "?")), values: packed!($name) }
    };
}

macro_rules! optional {
    ($name:literal) => {
        OptionalSections { presence: Section::new(concat!($name, "?")), values: Section::new($name) }
    };
}

/// 64 rows of a column: which have a value, and how many values are before theirs.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Presence {
    pub(super) bits: u64,
    pub(super) before: u64,
}

/// Numbers about the whole segment.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Summary {
    pub(super) transactions: u64,
    pub(super) movements: u64,
    pub(super) accounts: u64,
    pub(super) assets: u64,
    /// Blocks and times below are stored as distances from these.
    pub(super) base_block: u64,
    pub(super) base_time: i64,
    pub(super) first_block: u64,
    pub(super) last_block: u64,
    pub(super) first_time: i64,
    pub(super) last_time: i64,
    /// 1 when no later block has an earlier time, so that times can be searched by halving.
    pub(super) times_ordered: u64,
}

/// A token with opening balances, and the first row that states some at their latest block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct OpeningRow {
    pub(crate) asset: u32,
    pub(crate) row: u32,
}

/// More numbers about the whole segment.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Counts {
    /// Seconds per block, rounded down: times are stored by how far they are from that.
    pub(super) pace: u64,
    pub(super) blocks: u64,
    pub(super) tokens: u64,
    pub(super) inputs: u64,
    pub(super) hubs: u64,
    pub(super) fee_payers: u64,
}

/// Bits of a transaction.
pub(super) mod head {
    pub(in super::super) const HAS_INDEX: u32 = 1;
    pub(in super::super) const HAS_TIME: u32 = 1 << 1;
    pub(in super::super) const HAS_BODY: u32 = 1 << 2;
    pub(in super::super) const SUCCESS: u32 = 1 << 3;
    pub(in super::super) const FAILED: u32 = 1 << 4;
    pub(in super::super) const HAS_UTXO: u32 = 1 << 5;
    pub(in super::super) const COINBASE: u32 = 1 << 6;
    /// The value is approximate.
    pub(in super::super) const APPROXIMATE: u32 = 1 << 7;
    /// It carries blobs.
    pub(in super::super) const BLOBS: u32 = 1 << 8;
}

/// Bits of a stored movement.
pub(super) mod movement {
    pub(in super::super) const INTERNAL: u8 = 0;
    pub(in super::super) const TOKEN: u8 = 1;
    pub(in super::super) const NON_FUNGIBLE: u8 = 2;
    pub(in super::super) const OPENING: u8 = 3;
    pub(in super::super) const KIND: u8 = 3;
    pub(in super::super) const UNINDEXED: u8 = 1 << 2;
    /// The amount is.
    pub(in super::super) const APPROXIMATE: u8 = 1 << 3;
}

/// Bits of an account.
pub(super) mod account {
    /// A source states that it is a contract.
    pub(in super::super) const STATED: u8 = 1;
    /// It must be one: a token, the emitter of a log, or created by a transaction.
    pub(in super::super) const IMPLIED: u8 = 2;
}

/// No id: the largest number of its width, which no row reaches.
pub(super) const NONE: u32 = u32::MAX;
/// Seconds of a UTC day.
pub(crate) const SECS_PER_DAY: i64 = 86_400;

/// No decimals are known.
pub(super) const NO_DECIMALS: u16 = u16::MAX;
/// A token that is not fungible, which has no decimals.
pub(super) const NON_FUNGIBLE: u16 = u16::MAX - 1;

/// Decimals of a token as they are stored: a token that is not fungible has none.
pub(super) fn stored_decimals(token: &TokenFacts) -> u16 {
    if token.is_non_fungible { NON_FUNGIBLE } else { token.decimals.map_or(NO_DECIMALS, u16::from) }
}

pub(super) const SUMMARY: Section<Summary> = Section::new("summary");
pub(super) const COUNTS: Section<Counts> = Section::new("counts");
/// Only where there are opening balances, as the sections of them: tokens in order, and who was stated to hold how much
/// of what in which row, by account, then by row.
pub(super) const OPENED: Section<OpeningRow> = Section::new("opened");
pub(super) const OPENING_ACCOUNTS: PackedSections = packed!("opening.accounts");
pub(super) const OPENING_ROWS: PackedSections = packed!("opening.rows");
pub(super) const OPENING_ASSETS: PackedSections = packed!("opening.assets");
pub(super) const OPENING_AMOUNTS: PackedSections = packed!("opening.amounts");

/// Keys of the accounts in order, one behind the other.
pub(super) const ACCOUNT_KEYS: Section<u8> = Section::new("account.keys");
/// The end of each key, when keys differ in length.
pub(super) const ACCOUNT_KEY_STARTS: PackedSections = packed!("account.key_starts");
/// The first eight bytes of every 128th key.
pub(super) const ACCOUNT_FENCES: Section<u64> = Section::new("account.fences");
pub(super) const ACCOUNT_FLAGS: PackedSections = packed!("account.flags");
/// Accounts in order of their text; empty when that is the order of their keys.
pub(super) const ACCOUNT_TEXT_ORDER: PackedSections = packed!("account.text_order");

/// The contract of each asset, an account; the native coin comes first and has none.
pub(super) const ASSET_CONTRACTS: PackedSections = packed!("asset.contracts");
pub(super) const TOKEN_CONTRACTS: PackedSections = packed!("token.contracts");
pub(super) const TOKEN_SYMBOLS: PackedSections = packed!("token.symbols");
pub(super) const TOKEN_NAMES: PackedSections = packed!("token.names");
pub(super) const TOKEN_DECIMALS: PackedSections = packed!("token.decimals");
pub(super) const BLOBS: BlobSections =
    BlobSections { starts: packed!("blob.starts"), bytes: Section::new("blob.bytes") };

pub(super) const BLOCK_NUMBERS: PackedSections = packed!("block.numbers");
pub(super) const BLOCK_TIMES: PackedSections = packed!("block.times");
pub(super) const BLOCK_HASHES: OptionalSections<[u8; 32]> = optional!("block.hashes");
pub(super) const BLOCK_PARENTS: OptionalSections<[u8; 32]> = optional!("block.parents");

pub(super) const TX_VALUES: PackedSections = packed!("tx.values");
pub(super) const TX_HAS_VALUE: Section<Presence> = Section::new("tx.values?");
pub(super) const TX_NONCES: OptionalPacked = optional_packed!("tx.nonces");
pub(super) const TX_GAS_LIMITS: OptionalPacked = optional_packed!("tx.gas_limits");
pub(super) const TX_GAS_USED: OptionalPacked = optional_packed!("tx.gas_used");
pub(super) const TX_GAS_PRICES: PackedSections = packed!("tx.gas_prices");
pub(super) const TX_HAS_GAS_PRICE: Section<Presence> = Section::new("tx.gas_prices?");
pub(super) const TX_PAID_PRICES: PackedSections = packed!("tx.paid_prices");
pub(super) const TX_HAS_PAID_PRICE: Section<Presence> = Section::new("tx.paid_prices?");
pub(super) const TX_FEES: PackedSections = packed!("tx.fees");
pub(super) const TX_HAS_FEE: Section<Presence> = Section::new("tx.fees?");
pub(super) const TX_INPUTS: OptionalPacked = optional_packed!("tx.call_data");
pub(super) const TX_METHOD_IDS: OptionalPacked = optional_packed!("tx.method_ids");
pub(super) const TX_METHODS: OptionalPacked = optional_packed!("tx.methods");
pub(super) const TX_FAILURES: OptionalPacked = optional_packed!("tx.failures");
pub(super) const TX_MOVEMENTS: PackedSections = packed!("tx.movements");
pub(super) const TX_LOGS: PackedSections = packed!("tx.logs");
pub(super) const TX_SPENDS: PackedSections = packed!("tx.inputs");
pub(super) const TX_OUTPUTS: PackedSections = packed!("tx.outputs");

pub(super) const MOVEMENT_AMOUNTS: PackedSections = packed!("movement.amounts");

pub(super) const LOG_INDEXES: PackedSections = packed!("log.indexes");
pub(super) const LOG_ADDRESSES: PackedSections = packed!("log.addresses");
pub(super) const LOG_TOPICS: PackedSections = packed!("log.topics");
pub(super) const LOG_DATA: PackedSections = packed!("log.data");
pub(super) const TOPICS: Section<[u8; 32]> = Section::new("topics");

pub(super) const INPUT_HASHES: Section<[u8; 32]> = Section::new("input.hashes");
pub(super) const INPUT_INDEXES: PackedSections = packed!("input.indexes");
pub(super) const INPUT_SEQUENCES: OptionalPacked = optional_packed!("input.sequences");
pub(super) const TX_VERSIONS: OptionalPacked = optional_packed!("tx.versions");
pub(super) const TX_LOCK_TIMES: OptionalPacked = optional_packed!("tx.lock_times");
pub(super) const TX_WEIGHTS: OptionalPacked = optional_packed!("tx.weights");

/// Hashes in order of rows.
pub(super) const TX_HASHES: Section<[u8; 32]> = Section::new("tx.hashes");
/// Block, time less [`Counts::pace`] times block, index or 0 and one more, accounts or 0 and one more of sender,
/// receiver and created contract, flags.
pub(super) const TX_HEADS: PackedSections = packed!("tx.places");
/// The first four bytes of the hashes in their order, and the row of each.
pub(super) const HASHES: PackedSections = packed!("hash.index");
/// Flags, ordinal, sender, receiver (0 for none, accounts and one more), asset.
pub(super) const MOVEMENTS: PackedSections = packed!("movements");
/// Amount, owner (0 for none, accounts and one more), data likewise, form of script.
pub(super) const OUTPUT_TABLE: PackedSections = packed!("output.table");
/// The same of what inputs spend.
pub(super) const SPENT_TABLE: PackedSections = packed!("spent.table");
pub(super) const HAS_SPENT: Section<Presence> = Section::new("spent.table?");
/// The first four bytes of the hashes that inputs spend, in order, and the input of each.
pub(super) const SPENDERS: PackedSections = packed!("spender.index");
/// For each topic of each log its place among the distinct ones.
pub(super) const TOPIC_IDS: PackedSections = packed!("topic.ids");

/// The fees that each account paid that paid any: the accounts, and the sums.
pub(super) const FEE_ACCOUNTS: PackedSections = packed!("fee.accounts");
pub(super) const FEE_SUMS: PackedSections = packed!("fee.sums");

/// Places of rows in blocks and time, see [`super::knots`]; and the binary logarithm of the rows between two.
pub(super) const KNOTS: Section<Knot> = Section::new("knots");
pub(super) const KNOT_SHIFT: Section<u32> = Section::new("knots.shift");
/// Blocks of postings, account after account, and where each begins.
pub(super) const POSTING_BYTES: Section<u8> = Section::new("posting.bytes");
pub(super) const POSTING_STARTS: PackedSections = packed!("posting.starts");
/// The first posting block of each account, and behind the last account the number of blocks.
pub(super) const ACCOUNT_BLOCKS: PackedSections = packed!("account.blocks");

/// Accounts with more than [`HUB`] postings, ascending, and where their pairs of account and asset end.
pub(super) const HUBS: PackedSections = packed!("hubs");
/// Asset, where its places end, where its days end, and 1 when any posting counts.
pub(super) const PAIRS: PackedSections = packed!("hub.pairs");
pub(super) const PAIR_RECEIVED: PackedSections = packed!("hub.received");
pub(super) const PAIR_SENT: PackedSections = packed!("hub.sent");
/// Places of postings among those of their account.
pub(super) const PAIR_PLACES: PackedSections = packed!("hub.places");
/// Days since [`Summary::first_time`]'s, and what came and went in each.
pub(super) const DAYS: PackedSections = packed!("hub.days");
pub(super) const DAY_RECEIVED: PackedSections = packed!("hub.day_in");
pub(super) const DAY_SENT: PackedSections = packed!("hub.day_out");

/// Postings of an account from which on it is a hub, with a sub-index by asset.
pub(super) const HUB: usize = 1024;

/// Keys per fence.
pub(super) const FENCE_STEP: usize = 128;

/// The first eight bytes of a key or hash as a number that orders like them.
pub(crate) fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// The first four bytes of a hash as a number that orders like them.
pub(super) fn short_prefix(hash: &[u8; 32]) -> u64 {
    prefix(hash) >> 32
}
