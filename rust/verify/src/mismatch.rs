//! Failures of a verification: the block, the place in the answer, and the difference.

use std::fmt;

/// The class of a failure, by which a caller decides what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The answer contradicts the hashes of the chain: another node should be asked.
    Contradiction,
    /// The answer is incomplete or not in the form of the interface: a wrong call, or a faulty node.
    Malformed,
    /// The answer may be right, but this version of Headwater, or this node, lacks something that the check needs.
    Unsupported,
}

/// A hash that is computed from an answer and compared with the stated one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Digest {
    /// The hash of a block, over its header.
    BlockHash,
    /// The root over all transactions of a block.
    TransactionsRoot,
    /// The root over all receipts of a block.
    ReceiptsRoot,
    /// The root over all withdrawals of a block.
    WithdrawalsRoot,
    /// The hash of the list of ommers (uncles) of a block.
    OmmersHash,
    /// The root over the hashes and total difficulties of the blocks of a history file.
    Accumulator,
    /// The hash of one transaction.
    TransactionHash,
    /// The commitment of a bitcoin block to its witnesses.
    WitnessCommitment,
}

impl Digest {
    /// The stable code of a mismatch.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::BlockHash => "block_hash",
            Self::TransactionsRoot => "transactions_root",
            Self::ReceiptsRoot => "receipts_root",
            Self::WithdrawalsRoot => "withdrawals_root",
            Self::OmmersHash => "ommers_hash",
            Self::Accumulator => "accumulator",
            Self::TransactionHash => "transaction_hash",
            Self::WitnessCommitment => "witness_commitment",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::BlockHash => "block hash",
            Self::TransactionsRoot => "transactions root",
            Self::ReceiptsRoot => "receipts root",
            Self::WithdrawalsRoot => "withdrawals root",
            Self::OmmersHash => "ommers hash",
            Self::Accumulator => "accumulator root",
            Self::TransactionHash => "transaction hash",
            Self::WitnessCommitment => "witness commitment",
        }
    }

    /// The part of the answer that states the hash.
    const fn holder(self) -> &'static str {
        match self {
            Self::BlockHash | Self::TransactionHash => "the answer states",
            Self::TransactionsRoot | Self::ReceiptsRoot | Self::WithdrawalsRoot | Self::OmmersHash => "the header has",
            Self::Accumulator => "the file has",
            Self::WitnessCommitment => "the coinbase transaction has",
        }
    }

    const fn cause(self) -> &'static str {
        match self {
            Self::BlockHash => "the header is changed, or the block is not the one asked for",
            Self::TransactionsRoot => "transactions are missing, changed or in another order",
            Self::ReceiptsRoot => "receipts are missing or changed",
            Self::WithdrawalsRoot => "withdrawals are missing or changed",
            Self::OmmersHash => "ommers are missing or changed",
            Self::Accumulator => "a header or a total difficulty is changed",
            Self::TransactionHash => "a field of the transaction is changed",
            Self::WitnessCommitment => "witnesses are missing or changed",
        }
    }
}

/// A rule that a single value of an answer must follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The answer is for the block that was asked for.
    Block,
    /// The block follows the one before it.
    Parent,
    /// A field that states a position or a reference has the value of its place.
    Position,
    /// A field that follows from others has the value that follows.
    Derived,
    /// The sender is the account that signed.
    Sender,
    /// A signature is valid.
    Signature,
    /// A bloom filter contains its logs.
    Bloom,
    /// A list has as many entries as the block has.
    Count,
    /// The hash of a block is below its target, and the target within the limit of the network.
    ProofOfWork,
    /// A bitcoin block begins with its only coinbase transaction.
    Coinbase,
    /// No transaction is twice in a block.
    Duplicate,
    /// An output that a bitcoin transaction spends has the value and the script that other data show.
    SpentOutput,
}

impl Rule {
    /// The stable code of a mismatch.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Parent => "parent",
            Self::Position => "position",
            Self::Derived => "derived_field",
            Self::Sender => "sender",
            Self::Signature => "signature",
            Self::Bloom => "bloom",
            Self::Count => "count",
            Self::ProofOfWork => "proof_of_work",
            Self::Coinbase => "coinbase",
            Self::Duplicate => "duplicate",
            Self::SpentOutput => "spent_output",
        }
    }
}

/// The difference between an answer and what it should contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// A value is missing or not in its form.
    Malformed {
        /// The value of the answer, cut when long.
        given: String,
        /// The form that was expected.
        expected: &'static str,
    },
    /// The header has fields that this version does not read, and its hash does not match without them.
    UnknownBlockForm {
        /// The names of the fields.
        fields: Vec<String>,
    },
    /// A transaction type or another form that this version does not read.
    UnknownForm {
        /// The value of the answer.
        given: String,
        /// The forms that this version reads.
        known: &'static str,
    },
    /// The receipts of this node cannot be verified, because it does not return a field that their root covers.
    Unverifiable {
        /// The missing field and the remedy.
        reason: &'static str,
    },
    /// A hash differs.
    Hash {
        /// The hash that was computed.
        digest: Digest,
        /// The hash of the answer's content, as the chain writes it.
        computed: String,
        /// The stated hash.
        stated: String,
    },
    /// A single value differs.
    Value {
        /// The rule that it should follow.
        rule: Rule,
        /// The value of the answer.
        given: String,
        /// The value that was expected, with its reason.
        expected: String,
    },
}

impl Mismatch {
    /// The stable code, for reports and metrics.
    ///
    /// ```
    /// use headwater_verify::{Digest, Mismatch};
    /// let mismatch = Mismatch::Hash { digest: Digest::ReceiptsRoot, computed: "0x1".into(), stated: "0x2".into() };
    /// assert_eq!(mismatch.code(), "receipts_root");
    /// ```
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "malformed",
            Self::UnknownBlockForm { .. } => "unknown_block_form",
            Self::UnknownForm { .. } => "unknown_form",
            Self::Unverifiable { .. } => "unverifiable",
            Self::Hash { digest, .. } => digest.code(),
            Self::Value { rule, .. } => rule.code(),
        }
    }

    /// The class of the failure.
    #[must_use]
    pub const fn kind(&self) -> FailureKind {
        match self {
            Self::Malformed { .. } => FailureKind::Malformed,
            Self::UnknownBlockForm { .. } | Self::UnknownForm { .. } | Self::Unverifiable { .. } => {
                FailureKind::Unsupported
            }
            Self::Hash { .. } | Self::Value { .. } => FailureKind::Contradiction,
        }
    }
}

/// A failed verification: the block, the place in the answer, and the difference.
///
/// ```
/// use headwater_verify::{Digest, Mismatch, VerificationError};
/// let error = VerificationError {
///     block: 17_000_000,
///     path: String::new(),
///     mismatch: Mismatch::Hash { digest: Digest::ReceiptsRoot, computed: "0x1".into(), stated: "0x2".into() },
/// };
/// assert_eq!(
///     error.to_string(),
///     "block 17,000,000: the computed receipts root is 0x1, the header has 0x2: receipts are missing or changed"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct VerificationError {
    /// The number of the block that was asked for.
    pub block: u64,
    /// The place in the answer, for example `receipts[3].logs[0].logIndex`; empty for the whole block.
    pub path: String,
    /// The difference.
    pub mismatch: Mismatch,
}

impl VerificationError {
    /// The place and the difference, without the number of the block: for content whose number is not known.
    #[must_use]
    pub fn description(&self) -> String {
        let text = self.to_string();
        text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.to_owned())
    }
}

impl fmt::Display for VerificationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}: ", grouped(self.block))?;
        let path = if self.path.is_empty() { "the block" } else { &self.path };
        match &self.mismatch {
            Mismatch::Malformed { given, expected } => write!(f, "{path} is {given}; expected {expected}"),
            Mismatch::Value { given, expected, .. } => write!(f, "{path} is {given}; expected {expected}"),
            Mismatch::UnknownBlockForm { fields } => write!(
                f,
                "the block has a form that this version does not read (fields: {}): update Headwater",
                fields.join(", ")
            ),
            Mismatch::UnknownForm { given, known } => {
                write!(f, "{path} is {given}, which this version does not read (known: {known}): update Headwater")
            }
            Mismatch::Unverifiable { reason } => write!(f, "{path} cannot be verified: {reason}"),
            Mismatch::Hash { digest, computed, stated } => {
                if !self.path.is_empty() {
                    write!(f, "{path}: ")?;
                }
                let (name, holder, cause) = (digest.name(), digest.holder(), digest.cause());
                write!(f, "the computed {name} is {computed}, {holder} {stated}: {cause}")
            }
        }
    }
}

/// Writes a number with a comma after each third digit.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A difference with its place inside the value that a function reads; callers put their own place before it.
#[derive(Debug)]
pub(crate) struct Fault {
    path: String,
    mismatch: Mismatch,
}

impl Fault {
    pub(crate) fn new(path: impl Into<String>, mismatch: Mismatch) -> Self {
        Self { path: path.into(), mismatch }
    }

    pub(crate) fn value(
        path: impl Into<String>,
        rule: Rule,
        given: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::new(path, Mismatch::Value { rule, given: given.into(), expected: expected.into() })
    }

    /// Returns an error unless both hashes are equal; `write` gives the text of the chain.
    pub(crate) fn compare(
        digest: Digest,
        computed: [u8; 32],
        stated: [u8; 32],
        write: fn(&[u8]) -> String,
    ) -> Result<(), Self> {
        if computed == stated {
            return Ok(());
        }
        let (computed, stated) = (write(&computed), write(&stated));
        Err(Self::new("", Mismatch::Hash { digest, computed, stated }))
    }

    /// The same fault, seen from the entry `index` of the list `name`.
    pub(crate) fn inside(mut self, name: &str, index: usize) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{name}[{index}]{dot}{}", self.path);
        self
    }

    /// The same fault, seen from the object that has the field `name`.
    pub(crate) fn within(mut self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }

    /// The error of a block.
    pub(crate) fn at(self, block: u64) -> VerificationError {
        VerificationError { block, path: self.path, mismatch: self.mismatch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_text_names_block_place_and_difference() {
        let fault = Fault::value("logIndex", Rule::Position, "5", "4, its position in the block");
        let error = fault.inside("logs", 1).inside("receipts", 3).at(1_234_567);
        assert_eq!(
            error.to_string(),
            "block 1,234,567: receipts[3].logs[1].logIndex is 5; expected 4, its position in the block"
        );
        assert_eq!((error.mismatch.code(), error.mismatch.kind()), ("position", FailureKind::Contradiction));
    }

    #[test]
    fn grouped_numbers_have_a_comma_after_each_third_digit() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(number), text);
        }
    }
}
