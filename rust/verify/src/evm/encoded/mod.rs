//! Blocks as their canonical bytes: header, body and receipts in RLP, as history files contain them.
//!
//! Nothing states the hash of such a header: [`read_header`] computes it, and the caller compares it with what it trusts:
//! the parent of the next block, an accumulator. [`verify_encoded`] checks body and receipts against the header, and
//! returns what they contain, so that no second reader is needed.

mod block;
mod header;
mod receipt;
mod transaction;

pub use block::{EncodedBlock, Withdrawal, verify_encoded};
pub use header::{EncodedHeader, read_header};
pub use receipt::{EncodedLog, EncodedReceipt, EncodedReceipts, Outcome};
pub use transaction::EncodedTransaction;
