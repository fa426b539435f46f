//! Blocks of TRON, as the HTTP interface of java-tron returns them (`/wallet/getblockbynum`, `"visible": false`).
//!
//! The id of a block is the SHA-256 of its raw header, whose first eight bytes are replaced by the number. The header has
//! the Merkle root over the bytes of all transactions, their signatures and results included.
//!
//! | content | check |
//! |---|---|
//! | header | the id of the block |
//! | producer | the signature of the header; the account of another key is returned, not refused (see [`Producer`]) |
//! | transactions: raw bytes, signatures, results | `txTrieRoot`, and `txID` of each |
//! | `raw_data` in JSON | equal to the raw bytes, for the contract types of the table; other types are counted |
//! | `contract_address` of a new contract | follows from the id and the owner |
//! | signers of transactions | not verified: permissions of accounts are state |
//! | infos: one per transaction, block, result of contract calls | the block; fees, logs and internal transactions are **not covered by any hash** |
//!
//! TRON's EVM-like JSON-RPC has neither these bytes nor true roots, so it is not verified.

mod contract;
mod fields;
mod header;
mod infos;
mod protobuf;
mod transactions;

pub use header::{Producer, VerifiedHeader, verify_block};
pub use infos::verify_infos;
pub use transactions::{VerifiedTransactions, verify_transactions};
