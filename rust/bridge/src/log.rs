//! The input of the decoder: one transaction with its logs, borrowed.

use headwater_types::{Amount, Timestamp, TxHash};

use crate::chain::BridgeChain;

/// An event log of a receipt. Accounts of EVM chains and TRON are 20 bytes, without the prefix 0x41.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log<'a> {
    /// The contract that emitted it.
    pub contract: [u8; 20],
    /// The topics, the hash of the event first.
    pub topics: &'a [[u8; 32]],
    /// The data.
    pub data: &'a [u8],
    /// Its position in the block.
    pub index: u64,
}

/// A transaction with all its logs, in order of their index.
#[derive(Debug, Clone, Copy)]
pub struct Transaction<'a> {
    /// The chain.
    pub chain: BridgeChain,
    /// The height of the block.
    pub block: u64,
    /// The time of the block.
    pub time: Timestamp,
    /// The hash.
    pub hash: TxHash,
    /// True if it was executed; a reverted transaction moves nothing.
    pub succeeded: bool,
    /// The signer, if known.
    pub from: Option<[u8; 20]>,
    /// The account that it calls, if known.
    pub to: Option<[u8; 20]>,
    /// The native coins that it carries, in the smallest unit.
    pub value: Amount,
    /// The call data; on bitcoin and TRON the memo; empty if not known.
    pub input: &'a [u8],
    /// All logs.
    pub logs: &'a [Log<'a>],
    /// Token transfers that a source states apart from the logs. `Transfer` logs are read as well; an index counts once.
    pub transfers: &'a [TokenTransfer],
}

/// A transfer of a token (ERC-20 `Transfer`). Tokens and amounts of legs are taken from those beside the bridge's event
/// where the event states neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenTransfer {
    /// The index of its log in the block.
    pub index: u64,
    /// The contract of the token.
    pub token: [u8; 20],
    /// The sender; zeros for a mint.
    pub from: [u8; 20],
    /// The receiver; zeros for a burn.
    pub to: [u8; 20],
    /// The amount, in the smallest unit.
    pub amount: Amount,
}

/// keccak256 of `Transfer(address,address,uint256)`.
const TRANSFER: [u8; 32] = [
    0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa, 0x95, 0x2b, 0xa7,
    0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef,
];

impl TokenTransfer {
    pub(crate) fn of(log: &Log<'_>) -> Option<Self> {
        let [topic0, from, to] = log.topics else { return None };
        if *topic0 != TRANSFER {
            return None;
        }
        let amount = Amount::from_be_bytes(log.data.try_into().ok()?);
        Some(Self { index: log.index, token: log.contract, from: low_bytes(from), to: low_bytes(to), amount })
    }
}

/// The account in the low bytes of a word.
pub(crate) fn low_bytes(word: &[u8; 32]) -> [u8; 20] {
    std::array::from_fn(|place| word[12 + place])
}
