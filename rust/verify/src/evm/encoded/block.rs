//! The checks of a body and its receipts against a header.

use sha3::{Digest as _, Keccak256};

use super::super::transaction::Senders;
use super::header::EncodedHeader;
use super::receipt::{self, EncodedReceipt, EncodedReceipts};
use super::transaction::{self, EncodedTransaction};
use crate::json::prefixed;
use crate::mismatch::{Digest, Fault, VerificationError};
use crate::rlp::Items;
use crate::trie::ordered_root;

/// A block whose parts were checked against the hash of its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedBlock<'a> {
    /// The transactions, in order of the block.
    pub transactions: Vec<EncodedTransaction<'a>>,
    /// The withdrawals of validators.
    pub withdrawals: Vec<Withdrawal>,
    /// The receipts in order of the transactions, where they were given.
    pub receipts: Option<Vec<EncodedReceipt<'a>>>,
}

/// A withdrawal of a validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Withdrawal {
    /// The account that is credited.
    pub address: [u8; 20],
    /// The amount in gwei.
    pub amount_gwei: u64,
}

/// Verifies a body, and its receipts where they are given, against a header.
///
/// Checked: the roots of transactions, withdrawals and receipts, the hash of the ommers, the sum of gas, and the bloom
/// filters. Senders are recovered from the signatures with [`Senders::Recover`], and zero with [`Senders::Trust`], since
/// nothing states them.
///
/// # Errors
/// When a part is not the one that the header commits to, or not in its canonical form.
pub fn verify_encoded<'a>(
    header: &EncodedHeader,
    body: &'a [u8],
    receipts: Option<EncodedReceipts<'a>>,
    senders: Senders,
) -> Result<EncodedBlock<'a>, VerificationError> {
    check(header, body, receipts, senders).map_err(|fault| fault.at(header.verified.number))
}

fn check<'a>(
    header: &EncodedHeader,
    body: &'a [u8],
    receipts: Option<EncodedReceipts<'a>>,
    senders: Senders,
) -> Result<EncodedBlock<'a>, Fault> {
    let mut parts = Items::whole(body, "body")?;
    let transactions = transactions(header, parts.list("transactions")?, senders)?;
    let ommers = Keccak256::digest(parts.encoded("ommers")?).into();
    Fault::compare(Digest::OmmersHash, ommers, header.ommers_hash, prefixed)?;
    let withdrawals = withdrawals(header, &mut parts)?;
    parts.end("body", "transactions, ommers, and withdrawals where the header has their root")?;
    let receipts = receipts.map(|receipts| receipt::read_all(header, &transactions, receipts)).transpose()?;
    Ok(EncodedBlock { transactions, withdrawals, receipts })
}

fn transactions<'a>(
    header: &EncodedHeader,
    mut list: Items<'a>,
    senders: Senders,
) -> Result<Vec<EncodedTransaction<'a>>, Fault> {
    let mut read = Vec::new();
    let mut encoded = Vec::new();
    while !list.is_empty() {
        let (transaction, bytes) = transaction::read(header.verified.base_fee_per_gas, &mut list, senders)
            .map_err(|fault| fault.inside("transactions", read.len()))?;
        read.push(transaction);
        encoded.push(bytes);
    }
    Fault::compare(Digest::TransactionsRoot, ordered_root(&encoded), header.verified.transactions_root, prefixed)?;
    Ok(read)
}

fn withdrawals(header: &EncodedHeader, parts: &mut Items<'_>) -> Result<Vec<Withdrawal>, Fault> {
    let Some(root) = header.verified.withdrawals_root else { return Ok(Vec::new()) };
    let mut list = parts.list("withdrawals")?;
    let mut read = Vec::new();
    let mut encoded = Vec::new();
    while !list.is_empty() {
        encoded.push(list.clone().encoded("withdrawals")?);
        read.push(withdrawal(&mut list).map_err(|fault| fault.inside("withdrawals", read.len()))?);
    }
    Fault::compare(Digest::WithdrawalsRoot, ordered_root(&encoded), root, prefixed)?;
    Ok(read)
}

fn withdrawal(list: &mut Items<'_>) -> Result<Withdrawal, Fault> {
    let mut fields = list.list("")?;
    fields.number("index")?;
    fields.number("validatorIndex")?;
    let withdrawal = Withdrawal { address: fields.fixed("address")?, amount_gwei: fields.number("amount")? };
    fields.end("", "four fields")?;
    Ok(withdrawal)
}
