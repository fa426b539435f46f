//! Handles of what one ledger value holds: the place of a segment in the upper half, the id in it in the lower one.

use headwater_types::{Address, Chain, Timestamp, TxHash};

/// A handle of an id in a segment.
pub(crate) const fn pack(segment: u32, id: u32) -> u64 {
    (segment as u64) << 32 | id as u64
}

/// The segment and the id of a handle.
pub(crate) fn unpack(handle: u64) -> (u32, u32) {
    let low = u32::try_from(handle & u64::from(u32::MAX)).expect("32 bits were kept");
    (u32::try_from(handle >> 32).expect("32 bits are left"), low)
}

/// An opaque handle of an account inside one ledger value. Two handles may name one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountRef(pub(crate) u64);

impl AccountRef {
    /// The counterparty and the asset whose numbers in a part of the ledger make a key: the counterparty's in the upper
    /// half, the asset's in the lower one. See [`PostingColumns`].
    #[must_use]
    pub const fn of_key(part: u32, key: u64) -> (Self, AssetRef) {
        let part = (part as u64) << 32;
        (Self(part | key >> 32), AssetRef(part | key & 0xffff_ffff))
    }
}

/// An opaque handle of an asset inside one ledger value. Two handles may name one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssetRef(pub(crate) u64);

/// An opaque handle of a transaction inside one ledger value. One transaction has one handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionRef(pub(crate) u64);

impl TransactionRef {
    /// The part of the ledger that has the transaction. Within a part handles grow in the order of the chain.
    #[must_use]
    pub fn part(self) -> u32 {
        unpack(self.0).0
    }
}

/// An address that was seen on a chain.
#[derive(Debug, Clone)]
pub struct Account {
    /// The chain.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// Number of postings over all time: how much work a full scan is.
    pub postings: u64,
    /// True if the address is known to be a contract.
    pub is_contract: bool,
    /// Its place in each segment, for the implementation only.
    pub(crate) places: Vec<(u32, u32)>,
}

impl Account {
    /// A handle of the account, the one of the first segment that files it. Accounts of a ledger have one.
    #[must_use]
    pub fn handle(&self) -> Option<AccountRef> {
        self.places.first().map(|(segment, id)| AccountRef(pack(*segment, *id)))
    }
}

/// The place of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionHead {
    /// The chain.
    pub chain: Chain,
    /// Its hash.
    pub hash: TxHash,
    /// Block number.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// Position in the block.
    pub index: Option<u32>,
}
