//! The canonical bytes and the bloom filter of a receipt, and the fields that follow from others.

use headwater_types::address::contract_address;
use ruint::aliases::U256;
use serde_json::Value;
use sha3::{Digest as _, Keccak256};

use super::header::VerifiedHeader;
use super::place::{check_hash, check_number, check_place};
use super::transaction::{VerifiedTransaction, kind};
use crate::json::{data, fixed, hashes, list, number, optional_address, prefixed, present, quantity, shown};
use crate::mismatch::{Fault, Mismatch, Rule};
use crate::rlp::List;

/// The gas of one blob (EIP-4844).
pub(super) const GAS_PER_BLOB: u64 = 131_072;

/// A bloom filter of 2,048 bits.
pub(super) struct Bloom(pub(super) Box<[u8; 256]>);

impl Bloom {
    pub(super) fn empty() -> Self {
        Self(Box::new([0; 256]))
    }

    /// The byte and the bit of each of the three positions of an entry.
    fn positions(entry: &[u8]) -> [(usize, u8); 3] {
        let hash = Keccak256::digest(entry);
        [0, 2, 4].map(|at| {
            let position = usize::from(u16::from_be_bytes([hash[at], hash[at + 1]]) & 2047);
            (255 - position / 8, 1 << (position % 8))
        })
    }

    pub(super) fn insert(&mut self, entry: &[u8]) {
        for (byte, bit) in Self::positions(entry) {
            self.0[byte] |= bit;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (byte, more) in self.0.iter_mut().zip(other.0.iter()) {
            *byte |= more;
        }
    }

    /// Returns whether a filter may contain an entry; `false` is certain.
    pub(super) fn may_contain(filter: &[u8; 256], entry: &[u8]) -> bool {
        Self::positions(entry).into_iter().all(|(byte, bit)| filter[byte] & bit != 0)
    }
}

/// The sums over the receipts of a block so far.
pub(super) struct Totals {
    pub(super) gas: u64,
    pub(super) log_count: u64,
    pub(super) bloom: Bloom,
}

impl Totals {
    pub(super) fn new() -> Self {
        Self { gas: 0, log_count: 0, bloom: Bloom::empty() }
    }

    /// Takes the sum of gas up to the next receipt, and returns the gas of that one.
    pub(super) fn add_gas(&mut self, cumulative: u64) -> Result<u64, Fault> {
        let gas = cumulative.checked_sub(self.gas).ok_or_else(|| {
            let expected = format!("at least {}, the sum before it", self.gas);
            Fault::value("cumulativeGasUsed", Rule::Derived, cumulative.to_string(), expected)
        })?;
        self.gas = cumulative;
        Ok(gas)
    }
}

/// The content of a log.
pub(super) struct Log {
    pub(super) address: [u8; 20],
    pub(super) topics: Vec<[u8; 32]>,
    data: Vec<u8>,
}

impl Log {
    pub(super) fn read(log: &Value) -> Result<Self, Fault> {
        let topics = hashes(list(log, "topics")?, "topics")?;
        Ok(Self { address: fixed(log, "address")?, topics, data: data(log, "data")? })
    }

    fn encode(&self) -> List {
        let mut topics = List::default();
        for topic in &self.topics {
            topics.bytes(topic);
        }
        let mut fields = List::default();
        fields.bytes(&self.address).list(&topics).bytes(&self.data);
        fields
    }
}

/// Checks that a log was not removed by a reorganisation.
pub(super) fn check_removed(log: &Value) -> Result<(), Fault> {
    match present(log, "removed") {
        None | Some(Value::Bool(false)) => Ok(()),
        removed => Err(Fault::value("removed", Rule::Position, shown(removed), "false, as the block is canonical")),
    }
}

/// Reads the receipt of a transaction, checks what follows from other fields, and returns its canonical bytes.
pub(super) fn read(
    header: &VerifiedHeader,
    index: usize,
    transaction: &VerifiedTransaction,
    receipt: &Value,
    totals: &mut Totals,
) -> Result<Vec<u8>, Fault> {
    check_place(header, index, receipt)?;
    check_hash(receipt, "transactionHash", *transaction.hash().as_bytes(), "the transaction at this position")?;
    check_kind(receipt, transaction)?;
    let cumulative = number(receipt, "cumulativeGasUsed")?;
    let gas = totals.add_gas(cumulative)?;
    check_derived(header, transaction, receipt, gas)?;
    let mut bloom = Bloom::empty();
    let mut logs = List::default();
    for (position, log) in list(receipt, "logs")?.iter().enumerate() {
        let content = read_log(header, index, transaction, log, totals.log_count)
            .map_err(|fault| fault.inside("logs", position))?;
        totals.log_count += 1;
        bloom.insert(&content.address);
        for topic in &content.topics {
            bloom.insert(topic);
        }
        logs.list(&content.encode());
    }
    if present(receipt, "logsBloom").is_some() && fixed::<256>(receipt, "logsBloom")? != *bloom.0 {
        let given = shown(receipt.get("logsBloom"));
        return Err(Fault::value("logsBloom", Rule::Bloom, given, "the bloom filter of the logs of the receipt"));
    }
    totals.bloom.merge(&bloom);
    let mut fields = List::default();
    add_outcome(&mut fields, receipt)?;
    fields.number(cumulative).bytes(&bloom.0[..]).list(&logs);
    let prefix: &[u8] = if transaction.kind == 0 { &[] } else { &[transaction.kind] };
    Ok(fields.prefixed(prefix))
}

fn read_log(
    header: &VerifiedHeader,
    index: usize,
    transaction: &VerifiedTransaction,
    log: &Value,
    log_index: u64,
) -> Result<Log, Fault> {
    check_place(header, index, log)?;
    check_hash(log, "transactionHash", *transaction.hash().as_bytes(), "the transaction of the receipt")?;
    check_number(log, "logIndex", log_index, "the position of the log in the block")?;
    check_removed(log)?;
    Log::read(log)
}

/// Adds the status, or the state root of receipts before Byzantium.
fn add_outcome(fields: &mut List, receipt: &Value) -> Result<(), Fault> {
    if present(receipt, "root").is_some() {
        fields.bytes(&fixed::<32>(receipt, "root")?);
        return Ok(());
    }
    match number(receipt, "status")? {
        status @ (0 | 1) => fields.number(status),
        _ => {
            let given = shown(receipt.get("status"));
            return Err(Fault::new("status", Mismatch::Malformed { given, expected: "0x0 or 0x1" }));
        }
    };
    Ok(())
}

fn check_kind(receipt: &Value, transaction: &VerifiedTransaction) -> Result<(), Fault> {
    if present(receipt, "type").is_some() && kind(receipt)? != transaction.kind {
        let expected = format!("{}, the type of the transaction", transaction.kind);
        return Err(Fault::value("type", Rule::Derived, shown(receipt.get("type")), expected));
    }
    Ok(())
}

/// Checks the fields that no root covers and that follow from others. Nodes may leave them out.
fn check_derived(
    header: &VerifiedHeader,
    transaction: &VerifiedTransaction,
    receipt: &Value,
    gas: u64,
) -> Result<(), Fault> {
    let numbers = [
        ("gasUsed", U256::from(gas), "the difference of the sums"),
        ("effectiveGasPrice", transaction.gas_price(header.base_fee_per_gas), "the price of the transaction"),
        ("blobGasUsed", U256::from(transaction.blob_count as u64 * GAS_PER_BLOB), "the gas of its blobs"),
    ];
    for (name, expected, meaning) in numbers {
        if present(receipt, name).is_some() && quantity(receipt, name)? != expected {
            let text = format!("0x{expected:x}, {meaning}");
            return Err(Fault::value(name, Rule::Derived, shown(receipt.get(name)), text));
        }
    }
    if present(receipt, "from").is_some() {
        check_account(receipt, "from", Some(transaction.from), "the sender of the transaction")?;
        check_account(receipt, "to", transaction.to, "the recipient of the transaction")?;
    }
    // A creation that failed has an address in some clients and null in others.
    let created = transaction.to.is_none().then(|| contract_address(&transaction.from, transaction.nonce));
    if created.is_none() || present(receipt, "contractAddress").is_some() {
        check_account(receipt, "contractAddress", created, "the contract that the transaction creates")?;
    }
    Ok(())
}

fn check_account(object: &Value, name: &str, expected: Option<[u8; 20]>, meaning: &str) -> Result<(), Fault> {
    if optional_address(object, name)? == expected {
        return Ok(());
    }
    let text = expected.map_or("null".to_owned(), |address| prefixed(&address));
    Err(Fault::value(name, Rule::Derived, shown(object.get(name)), format!("{text}, {meaning}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The three bits of an address, worked from its hash by hand.
    #[test]
    fn bloom_of_an_entry_has_the_bits_of_its_hash() {
        let entry = [0; 20];
        let hash = Keccak256::digest(entry);
        assert_eq!(hex::encode(&hash[..6]), "5380c7b7ae81");
        // 0x5380 & 0x7ff = 0x380 = 896; 0xc7b7 & 0x7ff = 0x7b7 = 1,975; 0xae81 & 0x7ff = 0x681 = 1,665.
        let mut bloom = Bloom::empty();
        bloom.insert(&entry);
        let set: Vec<usize> = (0..2048).filter(|bit| bloom.0[255 - bit / 8] >> (bit % 8) & 1 == 1).collect();
        assert_eq!(set, [896, 1_665, 1_975]);
        assert!(Bloom::may_contain(&bloom.0, &entry));
        assert!(!Bloom::may_contain(&bloom.0, &[1; 20]));
    }
}
