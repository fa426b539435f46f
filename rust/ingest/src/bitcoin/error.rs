//! Why bytes are rejected as a block.

use headwater_types::Network;

/// Why bytes are not a valid block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The bytes end too early.
    #[error("the block ends at byte {at}, inside {what}: the file is cut short")]
    Truncated {
        /// The item that was being read.
        what: &'static str,
        /// Number of bytes there are.
        at: usize,
    },
    /// A count that the bytes left cannot hold.
    #[error("byte {at} announces {count} for {what}, which the {left} bytes after it cannot hold")]
    ForgedCount {
        /// The counted items.
        what: &'static str,
        /// The position of the count.
        at: usize,
        /// The count.
        count: u64,
        /// Bytes after it.
        left: usize,
    },
    /// A count that is written longer than needed.
    #[error("byte {at} writes the count for {what} longer than needed, which no node accepts")]
    LongCount {
        /// The counted items.
        what: &'static str,
        /// The position of the count.
        at: usize,
    },
    /// Bytes after the last transaction.
    #[error("{0} bytes follow the last transaction of the block")]
    Trailing(usize),
    /// A transaction without inputs or outputs, or with an unknown or superfluous witness flag.
    #[error("transaction {index} of the block has {what}")]
    Malformed {
        /// Its position in the block.
        index: usize,
        /// The fault.
        what: &'static str,
    },
    /// The hash does not meet the bits of the header, or the bits are not a valid target.
    #[error("the hash {hash} does not meet the bits {bits:08x} of the header, so these bytes are not a block")]
    ProofOfWork {
        /// The hash as printed.
        hash: String,
        /// The bits.
        bits: u32,
    },
    /// The bits are easier than the network allows.
    #[error("the bits {bits:08x} of block {hash} are easier than {network} allows: is it of another network?")]
    TooEasy {
        /// The hash as printed.
        hash: String,
        /// The bits.
        bits: u32,
        /// The network it was taken for.
        network: Network,
    },
    /// The Merkle root is not that of the transactions.
    #[error("the transactions have the merkle root {computed}, the header states {stated}: the block was altered")]
    MerkleRoot {
        /// Root in the header.
        stated: String,
        /// Root of the transactions.
        computed: String,
    },
    /// Transactions were repeated so that the Merkle root stays the same (CVE-2012-2459).
    #[error("transactions of the block were repeated to forge its merkle root")]
    RepeatedTransactions,
    /// The witnesses are not those that the coinbase commits to (BIP 141).
    #[error("the witnesses of the block are not those that its coinbase commits to")]
    WitnessCommitment,
    /// More than all the money there is.
    #[error("output {output} of transaction {transaction} holds {satoshis} satoshis, more than can exist")]
    TooMuchMoney {
        /// The transaction as printed.
        transaction: String,
        /// The output.
        output: usize,
        /// Its value.
        satoshis: u64,
    },
}
