//! What a segment holds: the one list of its sections, and the records in them.
//!
//! Ids are local to the segment: accounts by their place in the dictionary, assets by theirs (0 is the native coin),
//! transactions by their row. They never leave it.

use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::knots::Knot;
use super::marks::Marks;
use super::pack::PackedSections;
use crate::facts::TokenFacts;

/// A section by name and element type.
pub(crate) struct Section<T> {
    name: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Section<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Section<T> {}

impl<T> Section<T> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self { name, of: PhantomData }
    }

    pub(super) const fn name(self) -> &'static str {
        self.name
    }
}

/// A column of whole numbers: elements in format 1, packed blocks from format 2 on.
#[derive(Clone, Copy)]
pub(super) struct Numeric<T> {
    pub(super) raw: Section<T>,
    pub(super) packed: PackedSections,
}

/// The sections of a column that some rows have no value in.
#[derive(Clone, Copy)]
pub(super) struct OptionalSections<T> {
    pub(super) presence: Section<Presence>,
    pub(super) values: Section<T>,
}

/// A column of whole numbers that some rows have.
#[derive(Clone, Copy)]
pub(super) struct OptionalNumeric<T> {
    pub(super) presence: Section<Presence>,
    pub(super) values: Numeric<T>,
}

/// The sections of a column of amounts.
#[derive(Clone, Copy)]
pub(super) struct AmountSections {
    pub(super) values: Section<u128>,
    pub(super) large_at: Section<u64>,
    pub(super) large: Section<[u8; 32]>,
    pub(super) packed: PackedSections,
}

/// The sections of texts and bytes.
#[derive(Clone, Copy)]
pub(super) struct BlobSections {
    pub(super) starts: Numeric<u64>,
    pub(super) bytes: Section<u8>,
}

macro_rules! packed {
    ($name:literal) => {
        PackedSections { blocks: Section::new($name), starts: Section::new(concat!($name, "#")) }
    };
}

macro_rules! numeric {
    ($name:literal) => {
        Numeric { raw: Section::new($name), packed: packed!($name) }
    };
}

macro_rules! optional_numeric {
    ($name:literal) => {
        OptionalNumeric { presence: Section::new(concat!($name, "?")), values: numeric!($name) }
    };
}

macro_rules! optional {
    ($name:literal) => {
        OptionalSections { presence: Section::new(concat!($name, "?")), values: Section::new($name) }
    };
}

macro_rules! amounts {
    ($name:literal) => {
        AmountSections {
            values: Section::new($name),
            large_at: Section::new(concat!($name, "@")),
            large: Section::new(concat!($name, "+")),
            packed: packed!($name),
        }
    };
}

/// 64 rows of a column: which have a value, and how many values stand before theirs.
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
pub(crate) struct Opened {
    pub(crate) asset: u32,
    pub(crate) row: u32,
}

/// What format 2 has to say beside [`Summary`].
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

/// Where a transaction stands and whom it concerns: 64 bytes, so that one page has all a list shows of it.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Head {
    pub(super) hash: [u8; 32],
    pub(super) block: u32,
    pub(super) time: u32,
    /// Row in the block table.
    pub(super) block_row: u32,
    pub(super) index: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) created: u32,
    pub(super) flags: u32,
}

/// Bits of [`Head::flags`].
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

/// Bits of a posting.
pub(crate) mod posting {
    pub(crate) const KIND: u8 = 3;
    pub(crate) const DIRECTION: u8 = 3 << 2;
    pub(crate) const IN: u8 = 0;
    pub(crate) const OUT: u8 = 1 << 2;
    pub(crate) const OWN: u8 = 2 << 2;
    pub(crate) const SUCCESS: u8 = 1 << 4;
    pub(crate) const FAILED: u8 = 1 << 5;
    /// Of native movements only.
    pub(crate) const CREATES: u8 = 1 << 6;
    /// Of internal and token movements only.
    pub(crate) const UNINDEXED: u8 = 1 << 7;
    /// What tells by kind that the amount is approximate: the bit of the two above that means nothing for the kind. On
    /// UTXO chains none is.
    pub(crate) const APPROXIMATE: [u8; 4] = [UNINDEXED, CREATES, CREATES, 0];

    /// The same for the kind in the lowest bits.
    pub(crate) const fn approximate(flags: u8) -> u8 {
        APPROXIMATE[(flags & KIND) as usize]
    }
}

/// Bits of an account.
pub(super) mod account {
    /// A source states that it is a contract.
    pub(in super::super) const STATED: u8 = 1;
    /// It must be one: a token, the emitter of a log, or created by a transaction.
    pub(in super::super) const IMPLIED: u8 = 2;
}

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
pub(super) const MARKS: Section<Marks> = Section::new("marks");
/// Only where there are opening balances, as the sections of them: tokens in order, and who was stated to hold how much
/// of what in which row, by account, then by row.
pub(super) const OPENED: Section<Opened> = Section::new("opened");
pub(super) const OPENING_ACCOUNTS: Numeric<u32> = numeric!("opening.accounts");
pub(super) const OPENING_ROWS: Numeric<u32> = numeric!("opening.rows");
pub(super) const OPENING_ASSETS: Numeric<u32> = numeric!("opening.assets");
pub(super) const OPENING_AMOUNTS: AmountSections = amounts!("opening.amounts");

/// Keys of the accounts in order, one behind the other.
pub(super) const ACCOUNT_KEYS: Section<u8> = Section::new("account.keys");
/// Where each key ends, when keys differ in length.
pub(super) const ACCOUNT_KEY_STARTS: Numeric<u64> = numeric!("account.key_starts");
/// The first eight bytes of every 128th key.
pub(super) const ACCOUNT_FENCES: Section<u64> = Section::new("account.fences");
pub(super) const ACCOUNT_FLAGS: Numeric<u8> = numeric!("account.flags");
/// Accounts in order of their text; empty when that is the order of their keys.
pub(super) const ACCOUNT_TEXT_ORDER: Numeric<u32> = numeric!("account.text_order");
pub(super) const ACCOUNT_POSTINGS: Section<u64> = Section::new("account.postings");
pub(super) const ACCOUNT_HOLDINGS: Section<u32> = Section::new("account.holdings");

/// The contract of each asset, an account; the native coin comes first and has none.
pub(super) const ASSET_CONTRACTS: Numeric<u32> = numeric!("asset.contracts");
pub(super) const TOKEN_CONTRACTS: Numeric<u32> = numeric!("token.contracts");
pub(super) const TOKEN_SYMBOLS: Numeric<u32> = numeric!("token.symbols");
pub(super) const TOKEN_NAMES: Numeric<u32> = numeric!("token.names");
pub(super) const TOKEN_DECIMALS: Numeric<u16> = numeric!("token.decimals");
pub(super) const BLOBS: BlobSections =
    BlobSections { starts: numeric!("blob.starts"), bytes: Section::new("blob.bytes") };

pub(super) const BLOCK_NUMBERS: Numeric<u64> = numeric!("block.numbers");
pub(super) const BLOCK_TIMES: Numeric<i64> = numeric!("block.times");
pub(super) const BLOCK_HASHES: OptionalSections<[u8; 32]> = optional!("block.hashes");
pub(super) const BLOCK_PARENTS: OptionalSections<[u8; 32]> = optional!("block.parents");

pub(super) const HEADS: Section<Head> = Section::new("tx.heads");
pub(super) const TX_VALUES: AmountSections = amounts!("tx.values");
pub(super) const TX_HAS_VALUE: Section<Presence> = Section::new("tx.values?");
pub(super) const TX_NONCES: OptionalNumeric<u64> = optional_numeric!("tx.nonces");
pub(super) const TX_GAS_LIMITS: OptionalNumeric<u64> = optional_numeric!("tx.gas_limits");
pub(super) const TX_GAS_USED: OptionalNumeric<u64> = optional_numeric!("tx.gas_used");
pub(super) const TX_GAS_PRICES: AmountSections = amounts!("tx.gas_prices");
pub(super) const TX_HAS_GAS_PRICE: Section<Presence> = Section::new("tx.gas_prices?");
pub(super) const TX_PAID_PRICES: AmountSections = amounts!("tx.paid_prices");
pub(super) const TX_HAS_PAID_PRICE: Section<Presence> = Section::new("tx.paid_prices?");
pub(super) const TX_FEES: AmountSections = amounts!("tx.fees");
pub(super) const TX_HAS_FEE: Section<Presence> = Section::new("tx.fees?");
pub(super) const TX_INPUTS: OptionalNumeric<u32> = optional_numeric!("tx.call_data");
pub(super) const TX_METHOD_IDS: OptionalNumeric<u32> = optional_numeric!("tx.method_ids");
pub(super) const TX_METHODS: OptionalNumeric<u32> = optional_numeric!("tx.methods");
pub(super) const TX_FAILURES: OptionalNumeric<u32> = optional_numeric!("tx.failures");
pub(super) const TX_MOVEMENTS: Numeric<u32> = numeric!("tx.movements");
pub(super) const TX_LOGS: Numeric<u32> = numeric!("tx.logs");
pub(super) const TX_SPENDS: Numeric<u32> = numeric!("tx.inputs");
pub(super) const TX_OUTPUTS: Numeric<u32> = numeric!("tx.outputs");

/// First eight bytes of the hashes in order of the hashes, and the row of each.
pub(super) const HASH_PREFIXES: Section<u64> = Section::new("hash.prefixes");
pub(super) const HASH_ROWS: Section<u32> = Section::new("hash.rows");

pub(super) const MOVEMENT_FLAGS: Section<u8> = Section::new("movement.flags");
pub(super) const MOVEMENT_ORDINALS: Section<u64> = Section::new("movement.ordinals");
pub(super) const MOVEMENT_FROM: Section<u32> = Section::new("movement.from");
pub(super) const MOVEMENT_TO: Section<u32> = Section::new("movement.to");
pub(super) const MOVEMENT_ASSETS: Section<u32> = Section::new("movement.assets");
pub(super) const MOVEMENT_AMOUNTS: AmountSections = amounts!("movement.amounts");

pub(super) const LOG_INDEXES: Numeric<u64> = numeric!("log.indexes");
pub(super) const LOG_ADDRESSES: Numeric<u32> = numeric!("log.addresses");
pub(super) const LOG_TOPICS: Numeric<u32> = numeric!("log.topics");
pub(super) const LOG_DATA: Numeric<u32> = numeric!("log.data");
pub(super) const TOPICS: Section<[u8; 32]> = Section::new("topics");

pub(super) const POSTING_ROWS: Section<u32> = Section::new("posting.rows");
pub(super) const POSTING_BLOCKS: Section<u32> = Section::new("posting.blocks");
pub(super) const POSTING_TIMES: Section<u32> = Section::new("posting.times");
pub(super) const POSTING_OTHERS: Section<u32> = Section::new("posting.others");
pub(super) const POSTING_ASSETS: Section<u32> = Section::new("posting.assets");
pub(super) const POSTING_FLAGS: Section<u8> = Section::new("posting.flags");
pub(super) const POSTING_ORDINALS: Section<u64> = Section::new("posting.ordinals");
pub(super) const POSTING_AMOUNTS: AmountSections = amounts!("posting.amounts");

pub(super) const HOLDING_ASSETS: Section<u32> = Section::new("holding.assets");
pub(super) const HOLDING_RECEIVED: AmountSections = amounts!("holding.received");
pub(super) const HOLDING_SENT: AmountSections = amounts!("holding.sent");
pub(super) const HOLDING_FEES: AmountSections = amounts!("holding.fees");

pub(super) const INPUT_HASHES: Section<[u8; 32]> = Section::new("input.hashes");
pub(super) const INPUT_INDEXES: Numeric<u32> = numeric!("input.indexes");
/// What each input spends, where it is known.
pub(super) const INPUT_SPENT: OptionalSections<Output> = optional!("input.spent");
/// Files written before these were known have no such sections.
pub(super) const INPUT_SEQUENCES: OptionalNumeric<u32> = optional_numeric!("input.sequences");
pub(super) const TX_VERSIONS: OptionalNumeric<u32> = optional_numeric!("tx.versions");
pub(super) const TX_LOCK_TIMES: OptionalNumeric<u32> = optional_numeric!("tx.lock_times");
pub(super) const TX_WEIGHTS: OptionalNumeric<u32> = optional_numeric!("tx.weights");
pub(super) const OUTPUTS: Section<Output> = Section::new("outputs");
/// Inputs in order of the output they spend: first eight bytes of its hash, and the input.
pub(super) const SPENDER_PREFIXES: Section<u64> = Section::new("spender.prefixes");
pub(super) const SPENDER_INPUTS: Numeric<u32> = numeric!("spender.inputs");

/// An output.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Output {
    pub(super) amount: u64,
    pub(super) owner: u32,
    pub(super) data: u32,
    /// Place in [`crate::read::ScriptType::ALL`].
    pub(super) script: u32,
    pub(super) reserved: u32,
}

// From format 2 on, in place of the sections of the same things above.

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

/// What fees each account that paid any paid: the accounts, and the sums.
pub(super) const FEE_ACCOUNTS: PackedSections = packed!("fee.accounts");
pub(super) const FEE_SUMS: AmountSections = amounts!("fee.sums");

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
pub(super) const PAIR_RECEIVED: AmountSections = amounts!("hub.received");
pub(super) const PAIR_SENT: AmountSections = amounts!("hub.sent");
/// Places of postings among those of their account.
pub(super) const PAIR_PLACES: PackedSections = packed!("hub.places");
/// Days since [`Summary::first_time`]'s, and what came and went in each.
pub(super) const DAYS: PackedSections = packed!("hub.days");
pub(super) const DAY_RECEIVED: AmountSections = amounts!("hub.day_in");
pub(super) const DAY_SENT: AmountSections = amounts!("hub.day_out");

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
