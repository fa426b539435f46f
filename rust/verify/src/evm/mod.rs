//! Blocks of Ethereum and BSC, as `eth_getBlockByNumber` and `eth_getBlockReceipts` return them, and as canonical bytes
//! ([`encoded`]).
//!
//! The hash of a block covers its header, and roots in the header cover transactions, receipts and withdrawals. Both
//! chains have the same forms, by dates of their own. System transactions of BSC are legacy ones with a gas price of zero.
//! TRON's JSON-RPC has the same methods but none of these hashes: see [`crate::tron`].
//!
//! # Fields that no hash covers
//!
//! | field | check |
//! |---|---|
//! | `number`, `hash`, `blockHash`, `blockNumber`, `blockTimestamp`, `transactionHash`, `transactionIndex`, `logIndex` | equal to the value of their place |
//! | `from` | recovered from the signature ([`Senders::Recover`]) |
//! | `chainId` of a legacy transaction | follows from `v`; ignored in one without replay protection |
//! | `gasPrice` of types 2 to 4, `effectiveGasPrice` | follows from the fee fields and the base fee |
//! | `gasUsed`, `blobGasUsed` and `contractAddress` of a receipt | follows from gas sums, blobs, sender and nonce |
//! | `logsBloom` of a receipt | computed from its logs |
//! | `removed` | must be false |
//! | `status` of a receipt with `root` (before Byzantium) | not verified: only the state root is hashed |
//! | `uncles`, where given | empty exactly where the header says so; the hashes themselves are not verified |
//! | `size`, `totalDifficulty`, `blobGasPrice`, `milliTimestamp` and fields that the tables here do not name | not verified |
//!
//! The proof of work and the votes of validators, by which a chain chooses a header, are not verified: see the crate's docs.
//! Signatures in authorizations of type 4 are covered by the transaction's hash, but their signers are not recovered.

mod blob_fee;
mod block;
pub mod encoded;
mod header;
mod logs;
mod place;
mod receipt;
mod transaction;

pub use block::{
    VerifiedBlock, VerifiedReceipts, VerifiedTransactions, verify_all, verify_block, verify_receipts,
    verify_transactions, verify_withdrawals,
};
pub use header::VerifiedHeader;
pub use logs::{PartlyVerifiedLogs, verify_logs};
pub use transaction::{Senders, VerifiedTransaction};
