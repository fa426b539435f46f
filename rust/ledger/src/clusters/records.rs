//! The records that clusters hand out.

use headwater_types::{Address, TxHash};

/// The first appearance of an address on the chain. Earlier ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FirstSeen {
    /// The block.
    pub block: u64,
    /// Position of the transaction in its block; `u32::MAX` where it is not known.
    pub index: u32,
    /// The first eight bytes of the hash of the transaction where its position is not known, else 0.
    pub hash: u64,
    /// Its place among the inputs, then the outputs.
    pub position: u32,
}

impl FirstSeen {
    pub(super) fn new(block: u64, index: Option<u32>, hash: &TxHash, position: u32) -> Self {
        let prefix = hash.as_bytes()[..8].iter().fold(0, |prefix, byte| prefix << 8 | u64::from(*byte));
        let hash = if index.is_some() { 0 } else { prefix };
        Self { block, index: index.unwrap_or(u32::MAX), hash, position }
    }
}

/// Addresses that one person is taken to hold: at least two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cluster {
    /// The address that appears first on the chain.
    pub name: Address,
    /// Number of addresses.
    pub size: u64,
    pub(super) root: Root,
}

/// The place of the members of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Root {
    /// A cluster of the table as it is.
    Stored(u32),
    /// A root of what came later.
    Later(u32),
}

/// An address of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The address.
    pub address: Address,
    /// The first appearance.
    pub first: FirstSeen,
    /// The join that brought it in; `None` of the address that names the cluster.
    pub joined: Option<ClusterJoin>,
}

/// The join that merged the cluster of an address, if only of itself, into an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterJoin {
    /// The first transaction in the order of the chain that spends from both.
    pub transaction: TxHash,
    /// The name of the older cluster then.
    pub into: Address,
}
