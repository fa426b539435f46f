//! The canonical bytes, the hash and the sender of a transaction.

use headwater_types::TxHash;
use ruint::aliases::U256;
use serde_json::Value;
use sha3::{Digest as _, Keccak256};

use super::header::VerifiedHeader;
use super::place::check_place;
use crate::json::{data, fixed, hashes, number, optional_address, optional_list, prefixed, present, quantity, shown};
use crate::mismatch::{Digest, Fault, Mismatch, Rule};
use crate::rlp::List;
use crate::signature::recover;

/// The treatment of the senders of transactions.
///
/// A recovery takes about as long as hashing some hundred kilobytes, so it dominates the cost of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Senders {
    /// Recover each sender from its signature and compare it with `from`.
    #[default]
    Recover,
    /// Take `from` as the node states it. No hash covers it.
    Trust,
}

/// The fields of a fee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fee {
    Price(U256),
    Dynamic { max: U256, priority: U256 },
}

impl Fee {
    /// The price that each unit of gas costs, given the base fee of the block.
    pub(super) fn price(self, base_fee: Option<U256>) -> U256 {
        match self {
            Self::Price(price) => price,
            Self::Dynamic { max, priority } => max.min(base_fee.unwrap_or_default().saturating_add(priority)),
        }
    }
}

/// A transaction whose fields have the stated hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedTransaction {
    pub(super) hash: [u8; 32],
    pub(super) kind: u8,
    pub(super) from: [u8; 20],
    pub(super) to: Option<[u8; 20]>,
    pub(super) nonce: u64,
    pub(super) blob_count: usize,
    pub(super) fee: Fee,
}

impl VerifiedTransaction {
    /// The hash of the transaction.
    #[must_use]
    pub const fn hash(&self) -> TxHash {
        TxHash::new(self.hash)
    }

    /// The type: 0 to 4.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        self.kind
    }

    /// The sender, recovered or stated (see [`Senders`]).
    #[must_use]
    pub const fn from(&self) -> [u8; 20] {
        self.from
    }

    /// The recipient; `None` where a contract is created.
    #[must_use]
    pub const fn to(&self) -> Option<[u8; 20]> {
        self.to
    }

    /// The counter of the sender.
    #[must_use]
    pub const fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The price that each unit of gas costs, given the base fee of the block.
    pub(super) fn gas_price(&self, base_fee: Option<U256>) -> U256 {
        self.fee.price(base_fee)
    }
}

/// The canonical encoding of a transaction, and what its signature is over.
struct Encoding {
    bytes: Vec<u8>,
    signing_hash: [u8; 32],
    signature: [u8; 64],
    is_odd: bool,
}

/// Reads a transaction, and compares its hash, place and sender. Returns its canonical bytes too.
pub(super) fn read(
    header: &VerifiedHeader,
    index: usize,
    object: &Value,
    senders: Senders,
) -> Result<(VerifiedTransaction, Vec<u8>), Fault> {
    if !object.is_object() {
        let expected = "an object: ask for the block with full transactions";
        return Err(Fault::new("", Mismatch::Malformed { given: shown(Some(object)), expected }));
    }
    let kind = kind(object)?;
    let fee = match kind {
        0 | 1 => Fee::Price(quantity(object, "gasPrice")?),
        _ => {
            Fee::Dynamic { max: quantity(object, "maxFeePerGas")?, priority: quantity(object, "maxPriorityFeePerGas")? }
        }
    };
    let encoded = if kind == 0 { legacy(object)? } else { typed(object, kind, fee)? };
    let hash: [u8; 32] = Keccak256::digest(&encoded.bytes).into();
    Fault::compare(Digest::TransactionHash, hash, fixed(object, "hash")?, prefixed)?;
    check_place(header, index, object)?;
    let transaction = VerifiedTransaction {
        hash,
        kind,
        from: fixed(object, "from")?,
        to: optional_address(object, "to")?,
        nonce: number(object, "nonce")?,
        blob_count: optional_list(object, "blobVersionedHashes")?.len(),
        fee,
    };
    let price = transaction.gas_price(header.base_fee_per_gas);
    if present(object, "gasPrice").is_some() && quantity(object, "gasPrice")? != price {
        let expected = format!("0x{price:x}, which the fee fields and the base fee give");
        return Err(Fault::value("gasPrice", Rule::Derived, shown(object.get("gasPrice")), expected));
    }
    if senders == Senders::Recover {
        check_sender(&transaction, &encoded)?;
    }
    Ok((transaction, encoded.bytes))
}

/// The type of a transaction or receipt; legacy where the node states none.
pub(super) fn kind(object: &Value) -> Result<u8, Fault> {
    if present(object, "type").is_none() {
        return Ok(0);
    }
    let kind = quantity(object, "type")?;
    match u8::try_from(kind) {
        Ok(kind @ 0..=4) => Ok(kind),
        _ => {
            let known = "0x0 to 0x4";
            Err(Fault::new("type", Mismatch::UnknownForm { given: shown(object.get("type")), known }))
        }
    }
}

fn check_sender(transaction: &VerifiedTransaction, encoded: &Encoding) -> Result<(), Fault> {
    let stated = prefixed(&transaction.from);
    match recover(encoded.signing_hash, &encoded.signature, encoded.is_odd) {
        Some(sender) if sender == transaction.from => Ok(()),
        Some(sender) => {
            let expected = format!("{}, the account that signed", prefixed(&sender));
            Err(Fault::value("from", Rule::Sender, stated, expected))
        }
        None => Err(Fault::value("r, s", Rule::Signature, "not a valid signature", "one that the sender made")),
    }
}

/// Adds recipient, value and input, which follow each other in every type.
fn add_call(list: &mut List, object: &Value) -> Result<(), Fault> {
    list.address(optional_address(object, "to")?.as_ref()).quantity(quantity(object, "value")?);
    let name = if present(object, "input").is_some() { "input" } else { "data" };
    let input = data(object, name)?;
    if name == "input" && present(object, "data").is_some() && data(object, "data")? != input {
        return Err(Fault::value("data", Rule::Derived, shown(object.get("data")), "the same bytes as input"));
    }
    list.bytes(&input);
    Ok(())
}

fn legacy(object: &Value) -> Result<Encoding, Fault> {
    let mut list = List::default();
    list.number(number(object, "nonce")?).quantity(quantity(object, "gasPrice")?).number(number(object, "gas")?);
    add_call(&mut list, object)?;
    let v = quantity(object, "v")?;
    let mut unsigned = list.clone();
    let first = U256::from(35);
    let is_odd = if v >= first {
        // EIP-155: v = 35 + 2 * chain + parity.
        let chain = (v - first) >> 1;
        if present(object, "chainId").is_some() && quantity(object, "chainId")? != chain {
            let expected = format!("0x{chain:x}, which v gives");
            return Err(Fault::value("chainId", Rule::Derived, shown(object.get("chainId")), expected));
        }
        unsigned.quantity(chain).number(0).number(0);
        !v.bit(0)
    } else {
        parity(object, "v", v, 27)?
    };
    check_parity(object, is_odd)?;
    seal(object, &list, &unsigned, v, is_odd, &[])
}

fn typed(object: &Value, kind: u8, fee: Fee) -> Result<Encoding, Fault> {
    let mut list = List::default();
    list.quantity(quantity(object, "chainId")?).number(number(object, "nonce")?);
    match fee {
        Fee::Price(price) => list.quantity(price),
        Fee::Dynamic { max, priority } => list.quantity(priority).quantity(max),
    };
    list.number(number(object, "gas")?);
    add_call(&mut list, object)?;
    list.list(&access_list(object)?);
    if kind == 3 {
        list.quantity(quantity(object, "maxFeePerBlobGas")?).list(&hash_list(object, "blobVersionedHashes")?);
    }
    if kind == 4 {
        list.list(&authorizations(object)?);
    }
    let name = if present(object, "yParity").is_some() { "yParity" } else { "v" };
    let v = quantity(object, name)?;
    let is_odd = parity(object, name, v, 0)?;
    check_parity(object, is_odd)?;
    if present(object, "v").is_some() && quantity(object, "v")? != v {
        return Err(Fault::value("v", Rule::Derived, shown(object.get("v")), "the same as yParity"));
    }
    seal(object, &list, &list, v, is_odd, &[kind])
}

/// The parity that a value of `v` states, which counts from `zero`.
fn parity(object: &Value, name: &str, v: U256, zero: u64) -> Result<bool, Fault> {
    match u64::try_from(v).ok().and_then(|v| v.checked_sub(zero)) {
        Some(0) => Ok(false),
        Some(1) => Ok(true),
        _ => {
            let expected = if zero == 0 { "0x0 or 0x1" } else { "0x1b, 0x1c, or 0x23 and above" };
            Err(Fault::new(name, Mismatch::Malformed { given: shown(object.get(name)), expected }))
        }
    }
}

fn check_parity(object: &Value, is_odd: bool) -> Result<(), Fault> {
    if present(object, "yParity").is_some() && quantity(object, "yParity")? != U256::from(u8::from(is_odd)) {
        return Err(Fault::value("yParity", Rule::Derived, shown(object.get("yParity")), "the parity that v gives"));
    }
    Ok(())
}

/// Adds the signature, and hashes what it is over.
fn seal(object: &Value, list: &List, unsigned: &List, v: U256, is_odd: bool, prefix: &[u8]) -> Result<Encoding, Fault> {
    let (r, s) = (quantity(object, "r")?, quantity(object, "s")?);
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(&r.to_be_bytes::<32>());
    signature[32..].copy_from_slice(&s.to_be_bytes::<32>());
    let signing_hash = Keccak256::digest(unsigned.prefixed(prefix)).into();
    let bytes = list.clone().quantity(v).quantity(r).quantity(s).prefixed(prefix);
    Ok(Encoding { bytes, signing_hash, signature, is_odd })
}

fn hash_list(object: &Value, name: &str) -> Result<List, Fault> {
    let mut list = List::default();
    for hash in hashes(optional_list(object, name)?, name)? {
        list.bytes(&hash);
    }
    Ok(list)
}

fn access_list(object: &Value) -> Result<List, Fault> {
    let mut list = List::default();
    for (index, entry) in optional_list(object, "accessList")?.iter().enumerate() {
        let encode = || -> Result<List, Fault> {
            let mut pair = List::default();
            pair.bytes(&fixed::<20>(entry, "address")?).list(&hash_list(entry, "storageKeys")?);
            Ok(pair)
        };
        list.list(&encode().map_err(|fault| fault.inside("accessList", index))?);
    }
    Ok(list)
}

fn authorizations(object: &Value) -> Result<List, Fault> {
    let mut list = List::default();
    for (index, entry) in optional_list(object, "authorizationList")?.iter().enumerate() {
        let encode = || -> Result<List, Fault> {
            let mut fields = List::default();
            fields.quantity(quantity(entry, "chainId")?).bytes(&fixed::<20>(entry, "address")?);
            fields.number(number(entry, "nonce")?);
            let name = if present(entry, "yParity").is_some() { "yParity" } else { "v" };
            fields.quantity(quantity(entry, name)?).quantity(quantity(entry, "r")?).quantity(quantity(entry, "s")?);
            Ok(fields)
        };
        list.list(&encode().map_err(|fault| fault.inside("authorizationList", index))?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The example of EIP-155: nonce 9, 20 gwei, 21,000 gas, one ether, signed with the key of 32 bytes 0x46.
    fn example() -> Value {
        json!({
            "nonce": "0x9", "gasPrice": "0x4a817c800", "gas": "0x5208",
            "to": "0x3535353535353535353535353535353535353535", "value": "0xde0b6b3a7640000", "input": "0x",
            "v": "0x25",
            "r": "0x28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276",
            "s": "0x67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83"
        })
    }

    #[test]
    fn legacy_example_of_eip_155_has_its_published_bytes() {
        let encoded = legacy(&example()).unwrap();
        assert_eq!(
            hex::encode(encoded.signing_hash),
            "daf5a779ae972f972197303d7b574746c7ef83eadac0f2791ad23db92e4c8e53"
        );
        assert_eq!(
            hex::encode(&encoded.bytes),
            "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc\
             2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a\
             3b6d83"
        );
        let sender = recover(encoded.signing_hash, &encoded.signature, encoded.is_odd).unwrap();
        assert_eq!(hex::encode(sender), "9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f");
    }

    #[test]
    fn legacy_chain_that_v_does_not_give_is_refused() {
        let mut object = example();
        object["chainId"] = json!("0x1");
        assert!(legacy(&object).is_ok());
        object["chainId"] = json!("0x38");
        let error = legacy(&object).err().unwrap().at(1);
        assert_eq!(error.to_string(), "block 1: chainId is \"0x38\"; expected 0x1, which v gives");
    }

    #[test]
    fn parity_outside_its_forms_is_refused() {
        for v in ["0x0", "0x1", "0x1a", "0x1d", "0x22"] {
            let mut object = example();
            object["v"] = json!(v);
            assert_eq!(legacy(&object).err().unwrap().at(1).mismatch.code(), "malformed", "{v}");
        }
    }

    #[test]
    fn type_that_is_unknown_has_an_error_of_its_own() {
        let error = kind(&json!({"type": "0x7e"})).unwrap_err().at(5);
        assert_eq!(error.mismatch.code(), "unknown_form");
        assert_eq!(
            error.to_string(),
            "block 5: type is \"0x7e\", which this version does not read (known: 0x0 to 0x4): update Headwater"
        );
        assert_eq!(kind(&json!({})).unwrap(), 0);
    }
}
