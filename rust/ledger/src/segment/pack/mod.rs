//! Packed columns: whole numbers and amounts in blocks of 128, read in place.
//!
//! * [`bits`]: fields of any width up to 64 in a stream of bytes.
//! * [`ints`]: tables of whole numbers. Each column of a block is a line (base and slope) plus residuals of one width,
//!   so that ids, counters, offsets and times cost the bits they vary by, and any value is read in constant time.
//! * [`amounts`]: stripped decimal zeros and a mantissa of its own length, up to 256 bits.
//!
//! Writing is pushing rows in order: a writer holds one block and hands it to a [`Part`](super::spool::Part), which
//! spills to disk past its budget; nothing is held whole. Reading never trusts a byte: what does not fit is
//! [`Corrupt`](crate::LedgerError::Corrupt), with the place.

mod amounts;
pub(super) mod bits;
mod ints;
#[cfg(test)]
mod tests;

pub(super) use self::amounts::{AmountTable, AmountTableWriter, decode_amounts, encode_amounts};
pub(super) use self::ints::{IntWriter, Ints};

pub(crate) use self::ints::{Table, TableWriter};

/// The placeholder of an amount of 128 bits or more in a list of small ones.
pub(super) const SIDE_TABLE: u128 = u128::MAX;

/// Rows per block.
pub(super) const BLOCK: usize = 128;
