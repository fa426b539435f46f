//! The checks of a whole block: each part against the header whose hash was checked.

use headwater_types::Chain;
use serde_json::Value;

use super::header::{self, VerifiedHeader};
use super::receipt::{self, Totals};
use super::transaction::{self, Senders, VerifiedTransaction};
use crate::Part;
use crate::exceptions::{self, Exception};
use crate::json::{fixed, list, number, optional_list, prefixed, present, shown};
use crate::mismatch::{Digest, Fault, Mismatch, Rule, VerificationError};
use crate::rlp::List;
use crate::trie::{EMPTY_ROOT, ordered_root};

/// The transactions of a block, checked against its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTransactions {
    list: Vec<VerifiedTransaction>,
    senders: Senders,
}

impl VerifiedTransactions {
    /// The transactions, in order of the block.
    #[must_use]
    pub fn as_slice(&self) -> &[VerifiedTransaction] {
        &self.list
    }

    /// The parts that were verified.
    #[must_use]
    pub const fn parts(&self) -> &'static [Part] {
        match self.senders {
            Senders::Recover => &[Part::Transactions, Part::Senders],
            Senders::Trust => &[Part::Transactions],
        }
    }
}

/// The receipts of a block, checked against its root and its bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifiedReceipts {
    log_count: u64,
}

impl VerifiedReceipts {
    /// The number of logs of the block.
    #[must_use]
    pub const fn log_count(self) -> u64 {
        self.log_count
    }

    /// The parts that were verified.
    #[must_use]
    pub const fn parts(self) -> &'static [Part] {
        &[Part::Receipts, Part::Bloom]
    }
}

/// A block with all its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedBlock {
    /// The header.
    pub header: VerifiedHeader,
    /// The transactions.
    pub transactions: VerifiedTransactions,
    /// The number of withdrawals.
    pub withdrawal_count: usize,
    /// The receipts, where they were given.
    pub receipts: Option<VerifiedReceipts>,
}

impl VerifiedBlock {
    /// The parts that were verified.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let receipts = self.receipts.map_or(&[][..], VerifiedReceipts::parts);
        [&[Part::Hash, Part::Withdrawals], self.transactions.parts(), receipts].concat()
    }
}

/// Verifies the header of a block: number and hash.
///
/// `asked` is the number that the call asked for, `block` the `result` of `eth_getBlockByNumber`.
///
/// # Errors
/// When the node does not have the block, a field is missing, or the hash of the header is not the stated one.
///
/// ```
/// use headwater_types::Chain;
/// let error = headwater_verify::evm::verify_block(Chain::ETHEREUM, 5, &serde_json::Value::Null).unwrap_err();
/// assert_eq!(error.to_string(), "block 5: the block is null; expected a block: the node does not have it");
/// ```
pub fn verify_block(chain: Chain, asked: u64, block: &Value) -> Result<VerifiedHeader, VerificationError> {
    if !block.is_object() {
        let mismatch =
            Mismatch::Malformed { given: shown(Some(block)), expected: "a block: the node does not have it" };
        return Err(Fault::new("", mismatch).at(asked));
    }
    header::read(chain, asked, block).map_err(|fault| fault.at(asked))
}

/// Verifies the transactions of a block: hashes, senders, positions and root.
///
/// `block` is the answer with full transactions.
///
/// # Errors
/// When a field of a transaction is changed or missing, or the list is not the one of the header. An empty list passes
/// only where the header has the root of the empty list.
pub fn verify_transactions(
    header: &VerifiedHeader,
    block: &Value,
    senders: Senders,
) -> Result<VerifiedTransactions, VerificationError> {
    let check = || {
        let entries = list(block, "transactions")?;
        let mut verified = Vec::with_capacity(entries.len());
        let mut encoded = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let (transaction, bytes) = transaction::read(header, index, entry, senders)
                .map_err(|fault| fault.inside("transactions", index))?;
            verified.push(transaction);
            encoded.push(bytes);
        }
        Fault::compare(Digest::TransactionsRoot, ordered_root(&encoded), header.transactions_root, prefixed)?;
        Ok(VerifiedTransactions { list: verified, senders })
    };
    check().map_err(|fault: Fault| fault.at(header.number))
}

/// Verifies the withdrawals of a block and returns their count. Blocks before Shanghai have none.
///
/// # Errors
/// When the list is not the one of the header.
pub fn verify_withdrawals(header: &VerifiedHeader, block: &Value) -> Result<usize, VerificationError> {
    let check = || {
        let entries = optional_list(block, "withdrawals")?;
        let mut encoded = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            encoded.push(withdrawal(entry).map_err(|fault| fault.inside("withdrawals", index))?);
        }
        let root = header.withdrawals_root.unwrap_or(EMPTY_ROOT);
        Fault::compare(Digest::WithdrawalsRoot, ordered_root(&encoded), root, prefixed)?;
        Ok(entries.len())
    };
    check().map_err(|fault: Fault| fault.at(header.number))
}

fn withdrawal(entry: &Value) -> Result<Vec<u8>, Fault> {
    let mut fields = List::default();
    fields.number(number(entry, "index")?).number(number(entry, "validatorIndex")?);
    fields.bytes(&fixed::<20>(entry, "address")?).number(number(entry, "amount")?);
    Ok(fields.finish())
}

/// Verifies the receipts of a block: status, gas, logs, positions, bloom filters and root.
///
/// `receipts` is the `result` of `eth_getBlockReceipts`, or the list of receipts in order of the block.
///
/// # Errors
/// When receipts are missing or changed, or a field that follows from others has another value. An empty list passes only
/// where the block has no transactions. Receipts before Byzantium without `root` are an error of the kind
/// [`FailureKind::Unsupported`](crate::FailureKind::Unsupported).
pub fn verify_receipts(
    header: &VerifiedHeader,
    transactions: &VerifiedTransactions,
    receipts: &Value,
) -> Result<VerifiedReceipts, VerificationError> {
    check_receipts(header, &transactions.list, receipts).map_err(|fault| fault.at(header.number))
}

fn check_receipts(
    header: &VerifiedHeader,
    transactions: &[VerifiedTransaction],
    receipts: &Value,
) -> Result<VerifiedReceipts, Fault> {
    let Some(entries) = receipts.as_array() else {
        let expected = "a list of receipts: the node does not have them";
        return Err(Fault::new("receipts", Mismatch::Malformed { given: shown(Some(receipts)), expected }));
    };
    if entries.len() != transactions.len() {
        let expected = format!("{}, the number of transactions", transactions.len());
        return Err(Fault::value("the number of receipts", Rule::Count, entries.len().to_string(), expected));
    }
    let mut totals = Totals::new();
    let mut encoded = Vec::with_capacity(entries.len());
    for (index, (entry, transaction)) in entries.iter().zip(transactions).enumerate() {
        let bytes = receipt::read(header, index, transaction, entry, &mut totals)
            .map_err(|fault| fault.inside("receipts", index))?;
        encoded.push(bytes);
    }
    let computed = ordered_root(&encoded);
    if computed != header.receipts_root && entries.iter().all(|entry| present(entry, "root").is_none()) {
        let exception = exceptions::find(header.chain, Exception::ReceiptsWithoutStateRoot, header.number);
        if let Some(known) = exception {
            return Err(Fault::new("receipts", Mismatch::Unverifiable { reason: known.remedy }));
        }
    }
    Fault::compare(Digest::ReceiptsRoot, computed, header.receipts_root, prefixed)?;
    if totals.gas != header.gas_used {
        let expected = format!("{}, the sum of the receipts", totals.gas);
        return Err(Fault::value("gasUsed", Rule::Derived, header.gas_used.to_string(), expected));
    }
    if totals.bloom.0 != header.logs_bloom {
        let expected = "the bloom filter of the logs of the receipts";
        return Err(Fault::value("logsBloom", Rule::Bloom, "another filter", expected));
    }
    Ok(VerifiedReceipts { log_count: totals.log_count })
}

/// Verifies a block with all its parts; receipts are checked where they are given.
///
/// # Errors
/// As [`verify_block`], [`verify_transactions`], [`verify_withdrawals`] and [`verify_receipts`].
pub fn verify_all(
    chain: Chain,
    asked: u64,
    block: &Value,
    receipts: Option<&Value>,
    senders: Senders,
) -> Result<VerifiedBlock, VerificationError> {
    let header = verify_block(chain, asked, block)?;
    let transactions = verify_transactions(&header, block, senders)?;
    let withdrawal_count = verify_withdrawals(&header, block)?;
    let receipts = receipts.map(|receipts| verify_receipts(&header, &transactions, receipts)).transpose()?;
    Ok(VerifiedBlock { header, transactions, withdrawal_count, receipts })
}
