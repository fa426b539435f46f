//! Celer cBridge: the id of a transfer, and the relay request in call data.

use headwater_types::Amount;
use sha3::{Digest, Keccak256};

use super::call::Call;
use super::context::Context;
use super::draft::Draft;
use super::packed::{ByteReader, hex_text};
use crate::half::{LinkKey, MatchClass, Step, Token};
use crate::tables::{Contract, Family};

/// The inputs of a transfer id of Celer's pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CelerTransfer {
    /// The sender.
    pub sender: [u8; 20],
    /// The receiver.
    pub receiver: [u8; 20],
    /// The token on the source chain.
    pub token: [u8; 20],
    /// The amount, in its smallest unit.
    pub amount: Amount,
    /// The EVM id of the destination.
    pub destination: u64,
    /// The sender's number: for most clients a clock in milliseconds.
    pub nonce: u64,
    /// The EVM id of the source.
    pub source: u64,
}

/// The key of a transfer through Celer's pools where the source's log is absent: keccak256 of `sender 20 | receiver 20 |
/// token 20 | amount 32 | destination u64 | nonce u64 | source u64` (`bridges.md` 7; Bridge.sol of cBridge).
///
/// ```
/// use headwater_bridge::{CelerTransfer, celer_transfer_id};
/// use headwater_types::Amount;
/// let transfer = CelerTransfer {
///     sender: [1; 20],
///     receiver: [1; 20],
///     token: [2; 20],
///     amount: Amount::from(5),
///     destination: 56,
///     nonce: 7,
///     source: 1,
/// };
/// assert!(celer_transfer_id(&transfer).as_str().starts_with("0x"));
/// assert_ne!(celer_transfer_id(&transfer), celer_transfer_id(&CelerTransfer { nonce: 8, ..transfer }));
/// ```
#[must_use]
pub fn celer_transfer_id(transfer: &CelerTransfer) -> LinkKey {
    let parts: [&[u8]; 7] = [
        &transfer.sender,
        &transfer.receiver,
        &transfer.token,
        &transfer.amount.to_be_bytes(),
        &transfer.destination.to_be_bytes(),
        &transfer.nonce.to_be_bytes(),
        &transfer.source.to_be_bytes(),
    ];
    LinkKey::new(hex_text(&Keccak256::digest(parts.concat())))
}

/// The leg of `relay(request, ...)`: the request is a protobuf of sender, receiver, token, amount, source chain,
/// destination chain and source transfer id.
pub(super) fn relay_leg(context: &Context<'_>, family: &Family, contract: &Contract, call: &Call<'_>) -> Option<Draft> {
    let mut request = Request::default();
    let mut message = ByteReader(call.bytes("request")?);
    while !message.0.is_empty() {
        request.field(&mut message)?;
    }
    let own = context.transaction.chain.evm_id();
    let (id, source) = (request.source_id?, request.source?);
    if id.len() != 32 || request.destination != own {
        return None;
    }
    let other = context.tables.chain_of(family, &source.to_string());
    let leg = context.call_leg(family, contract, Step::Received, MatchClass::UniqueId, hex_text(id));
    Some(leg.with(|half| {
        half.other_chain = other;
        half.sender = request.sender.map(|sender| crate::party::Party::from_bytes(other, sender));
        half.receiver = request.receiver.and_then(|to| to.try_into().ok()).map(|to| context.here(to));
        half.token =
            request.token.and_then(|token| token.try_into().ok()).map(|token| Token::Contract(context.here(token)));
        half.amount = request.amount.and_then(amount);
    }))
}

fn amount(bytes: &[u8]) -> Option<Amount> {
    let mut word = [0; 32];
    word.get_mut(32_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(Amount::from_be_bytes(word))
}

#[derive(Default)]
struct Request<'a> {
    sender: Option<&'a [u8]>,
    receiver: Option<&'a [u8]>,
    token: Option<&'a [u8]>,
    amount: Option<&'a [u8]>,
    source: Option<u64>,
    destination: Option<u64>,
    source_id: Option<&'a [u8]>,
}

impl<'a> Request<'a> {
    /// Reads one field of the protobuf: a number or bytes, the only kinds in it.
    fn field(&mut self, message: &mut ByteReader<'a>) -> Option<()> {
        let tag = varint(message)?;
        match tag & 7 {
            0 => {
                let number = varint(message)?;
                match tag >> 3 {
                    5 => self.source = Some(number),
                    6 => self.destination = Some(number),
                    _ => {}
                }
            }
            2 => {
                let length = usize::try_from(varint(message)?).ok()?;
                let bytes = message.take(length)?;
                let field = match tag >> 3 {
                    1 => &mut self.sender,
                    2 => &mut self.receiver,
                    3 => &mut self.token,
                    4 => &mut self.amount,
                    7 => &mut self.source_id,
                    _ => return Some(()),
                };
                *field = Some(bytes);
            }
            _ => return None,
        }
        Some(())
    }
}

fn varint(message: &mut ByteReader<'_>) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = message.u8()?;
        let part = u64::from(byte & 0x7f);
        if part.checked_shl(shift)? >> shift != part {
            return None;
        }
        number |= part << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
