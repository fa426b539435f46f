//! A transaction from its canonical bytes: fields, hash and sender.

use ruint::aliases::U256;
use sha3::{Digest as _, Keccak256};

use super::super::transaction::{Fee, Senders, VerifiedTransaction};
use crate::mismatch::{Fault, Mismatch, Rule};
use crate::rlp::{Items, List, is_list, malformed};
use crate::signature::recover;

/// A transaction of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedTransaction<'a> {
    pub(super) verified: VerifiedTransaction,
    chain_id: Option<U256>,
    gas_price: U256,
    gas_limit: u64,
    value: U256,
    input: &'a [u8],
}

impl<'a> EncodedTransaction<'a> {
    /// The hash, the type, the sender and the rest that the interfaces of nodes state too.
    #[must_use]
    pub const fn verified(&self) -> &VerifiedTransaction {
        &self.verified
    }

    /// The chain that the signature is for; `None` without replay protection (before EIP-155).
    #[must_use]
    pub const fn chain_id(&self) -> Option<U256> {
        self.chain_id
    }

    /// The price that each unit of gas costs in wei.
    #[must_use]
    pub const fn gas_price(&self) -> U256 {
        self.gas_price
    }

    /// The gas that the transaction may use.
    #[must_use]
    pub const fn gas_limit(&self) -> u64 {
        self.gas_limit
    }

    /// The value in wei.
    #[must_use]
    pub const fn value(&self) -> U256 {
        self.value
    }

    /// The call data.
    #[must_use]
    pub const fn input(&self) -> &'a [u8] {
        self.input
    }
}

/// The signature of a transaction.
struct Signature {
    is_odd: bool,
    bytes: [u8; 64],
}

/// Reads the next transaction of a list. Returns its canonical bytes too.
pub(super) fn read<'a>(
    base_fee: Option<U256>,
    list: &mut Items<'a>,
    senders: Senders,
) -> Result<(EncodedTransaction<'a>, &'a [u8]), Fault> {
    let item = list.clone().encoded("")?;
    if is_list(item) {
        list.list("")?;
        return Ok((legacy(item, senders)?, item));
    }
    let bytes = list.bytes("")?;
    let Some((kind, payload)) = bytes.split_first() else {
        return Err(malformed("type", "missing".to_owned(), "the type of a transaction, and its fields"));
    };
    if !matches!(kind, 1..=4) {
        let given = format!("0x{kind:x}");
        return Err(Fault::new("type", Mismatch::UnknownForm { given, known: "0x0 to 0x4" }));
    }
    Ok((typed(*kind, bytes, payload, base_fee, senders)?, bytes))
}

/// The fields that follow each other in every type.
struct Call<'a> {
    gas_limit: u64,
    to: Option<[u8; 20]>,
    value: U256,
    input: &'a [u8],
}

impl<'a> Call<'a> {
    fn read(fields: &mut Items<'a>) -> Result<Self, Fault> {
        Ok(Self {
            gas_limit: fields.number("gas")?,
            to: fields.recipient("to")?,
            value: fields.quantity("value")?,
            input: fields.bytes("input")?,
        })
    }
}

fn legacy(bytes: &[u8], senders: Senders) -> Result<EncodedTransaction<'_>, Fault> {
    let mut fields = Items::whole(bytes, "")?;
    let nonce = fields.number("nonce")?;
    let price = fields.quantity("gasPrice")?;
    let call = Call::read(&mut fields)?;
    let mut unsigned = List::default();
    unsigned.encoded(fields.read());
    let v = fields.quantity("v")?;
    let first = U256::from(35);
    // EIP-155: v = 35 + 2 * chain + parity.
    let (chain_id, is_odd) = if v >= first {
        let chain = (v - first) >> 1;
        unsigned.quantity(chain).number(0).number(0);
        (Some(chain), !v.bit(0))
    } else if v == U256::from(27) || v == U256::from(28) {
        (None, v == U256::from(28))
    } else {
        return Err(malformed("v", format!("0x{v:x}"), "0x1b, 0x1c, or 0x23 and above"));
    };
    let signature = signature(&mut fields, is_odd)?;
    let from = sender(senders, || Keccak256::digest(unsigned.finish()).into(), &signature)?;
    let fee = Fee::Price(price);
    Ok(of(0, bytes, (nonce, from, fee, 0), &call, (chain_id, price)))
}

fn typed<'a>(
    kind: u8,
    bytes: &'a [u8],
    payload: &'a [u8],
    base_fee: Option<U256>,
    senders: Senders,
) -> Result<EncodedTransaction<'a>, Fault> {
    let mut fields = Items::whole(payload, "")?;
    let chain_id = fields.quantity("chainId")?;
    let nonce = fields.number("nonce")?;
    let fee = if kind == 1 {
        Fee::Price(fields.quantity("gasPrice")?)
    } else {
        let priority = fields.quantity("maxPriorityFeePerGas")?;
        Fee::Dynamic { max: fields.quantity("maxFeePerGas")?, priority }
    };
    let call = Call::read(&mut fields)?;
    fields.list("accessList")?;
    let mut blob_count = 0;
    if kind == 3 {
        fields.quantity("maxFeePerBlobGas")?;
        let mut hashes = fields.list("blobVersionedHashes")?;
        while !hashes.is_empty() {
            hashes.fixed::<32>("").map_err(|fault| fault.inside("blobVersionedHashes", blob_count))?;
            blob_count += 1;
        }
    }
    if kind == 4 {
        fields.list("authorizationList")?;
    }
    let mut unsigned = List::default();
    unsigned.encoded(fields.read());
    let is_odd = match fields.number("yParity")? {
        0 => false,
        1 => true,
        other => return Err(malformed("yParity", format!("0x{other:x}"), "0x0 or 0x1")),
    };
    let signature = signature(&mut fields, is_odd)?;
    let from = sender(senders, || Keccak256::digest(unsigned.prefixed(&[kind])).into(), &signature)?;
    let price = fee.price(base_fee);
    Ok(of(kind, bytes, (nonce, from, fee, blob_count), &call, (Some(chain_id), price)))
}

fn of<'a>(
    kind: u8,
    bytes: &[u8],
    (nonce, from, fee, blob_count): (u64, [u8; 20], Fee, usize),
    call: &Call<'a>,
    (chain_id, gas_price): (Option<U256>, U256),
) -> EncodedTransaction<'a> {
    let Call { gas_limit, to, value, input } = *call;
    let hash = Keccak256::digest(bytes).into();
    let verified = VerifiedTransaction { hash, kind, from, to, nonce, blob_count, fee };
    EncodedTransaction { verified, chain_id, gas_price, gas_limit, value, input }
}

/// Reads the last two fields.
fn signature(fields: &mut Items<'_>, is_odd: bool) -> Result<Signature, Fault> {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&fields.quantity("r")?.to_be_bytes::<32>());
    bytes[32..].copy_from_slice(&fields.quantity("s")?.to_be_bytes::<32>());
    fields.end("", "the fields of its type")?;
    Ok(Signature { is_odd, bytes })
}

fn sender(senders: Senders, hash: impl FnOnce() -> [u8; 32], signature: &Signature) -> Result<[u8; 20], Fault> {
    if senders == Senders::Trust {
        return Ok([0; 20]);
    }
    recover(hash(), &signature.bytes, signature.is_odd).ok_or_else(|| {
        Fault::value("r, s", Rule::Signature, "not a valid signature", "one from which the sender is recovered")
    })
}
