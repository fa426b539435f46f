//! Output scripts: who owns them, which form they have, which data they carry.

use bitcoin::hashes::{Hash, hash160};
use headwater_ledger::facts::OutputFacts;
use headwater_ledger::read::ScriptType;
use headwater_types::address::{UtxoAddress, UtxoPayload, WitnessProgram};
use headwater_types::{Address, Network};

const OP_0: u8 = 0x00;
const OP_PUSHDATA1: u8 = 0x4c;
const OP_PUSHDATA2: u8 = 0x4d;
const OP_PUSHDATA4: u8 = 0x4e;
const OP_1: u8 = 0x51;
const OP_16: u8 = 0x60;
const OP_RETURN: u8 = 0x6a;
const OP_DUP: u8 = 0x76;
const OP_EQUAL: u8 = 0x87;
const OP_EQUALVERIFY: u8 = 0x88;
const OP_HASH160: u8 = 0xa9;
const OP_CHECKSIG: u8 = 0xac;
const OP_CHECKMULTISIG: u8 = 0xae;
/// The most keys a bare multisig may name.
const MAX_KEYS: u8 = 20;

/// The content of an output script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The one address that can spend it; `None` for bare multisig, data and unknown scripts.
    pub owner: Option<Address>,
    /// Its form.
    pub form: ScriptType,
    /// The data that an `OP_RETURN` pushes, concatenated; `None` for other forms.
    pub data: Option<Vec<u8>>,
}

impl Lock {
    /// The facts of an output locked so.
    #[must_use]
    pub fn with_amount(self, satoshis: u64) -> OutputFacts {
        OutputFacts { owner: self.owner, amount: satoshis, script: self.form, data: self.data }
    }
}

/// Reads an output script by the standard templates of Bitcoin Core, in its order.
///
/// An output to a bare public key belongs to the P2PKH address of that key, so that it has a balance; its form stays
/// `p2pk`. A witness program of a version that has no meaning yet has an address, but the form `nonstandard`.
///
/// ```
/// use headwater_ingest::bitcoin::read_script;
/// use headwater_ledger::read::ScriptType;
/// use headwater_types::Network;
/// let script = hex::decode("76a914b5cd7aaed869cd5ccb45868e8666e7e934a2373688ac").unwrap();
/// let lock = read_script(&script, Network::Mainnet);
/// assert_eq!(lock.form, ScriptType::P2pkh);
/// assert_eq!(lock.owner.unwrap().to_string(), "1HaHTfmvoUW6i6nhJf8jJs6tU4cHNmBQHQ");
/// ```
#[must_use]
pub fn read_script(script: &[u8], network: Network) -> Lock {
    let owned = |form, payload| Lock { owner: Some(Address::Utxo(UtxoAddress { network, payload })), form, data: None };
    let unowned = |form| Lock { owner: None, form, data: None };
    match *script {
        [OP_HASH160, 20, ref hash @ .., OP_EQUAL] if hash.len() == 20 => {
            owned(ScriptType::P2sh, UtxoPayload::ScriptHash(twenty(hash)))
        }
        [version @ (OP_0 | OP_1..=OP_16), length, ref program @ ..] if is_program(length, program) => {
            match WitnessProgram::new(version.saturating_sub(OP_1 - 1), program) {
                Some(witness) => owned(witness_form(witness), UtxoPayload::Witness(witness)),
                None => unowned(ScriptType::Nonstandard),
            }
        }
        [OP_RETURN, ref pushes @ ..] => {
            Lock { owner: None, form: ScriptType::OpReturn, data: Some(pushed_bytes(pushes)) }
        }
        [length @ (33 | 65), ref key @ .., OP_CHECKSIG] if key.len() == usize::from(length) && is_key(key) => {
            owned(ScriptType::P2pk, UtxoPayload::PublicKeyHash(hash160::Hash::hash(key).to_byte_array()))
        }
        [OP_DUP, OP_HASH160, 20, ref hash @ .., OP_EQUALVERIFY, OP_CHECKSIG] if hash.len() == 20 => {
            owned(ScriptType::P2pkh, UtxoPayload::PublicKeyHash(twenty(hash)))
        }
        [.., OP_CHECKMULTISIG] if is_multisig(script) => unowned(ScriptType::Multisig),
        _ => unowned(ScriptType::Nonstandard),
    }
}

fn twenty(hash: &[u8]) -> [u8; 20] {
    hash.try_into().expect("the pattern asks for 20 bytes")
}

/// BIP 141: one push of 2 to 40 bytes, and nothing behind it.
fn is_program(length: u8, program: &[u8]) -> bool {
    (2..=40).contains(&length) && program.len() == usize::from(length)
}

fn witness_form(witness: WitnessProgram) -> ScriptType {
    match (witness.version(), witness.program().len()) {
        (0, 20) => ScriptType::P2wpkh,
        (0, 32) => ScriptType::P2wsh,
        (1, 32) => ScriptType::P2tr,
        _ => ScriptType::Nonstandard,
    }
}

/// The form of a public key; whether the point lies on the curve does not matter to who owns the output.
fn is_key(key: &[u8]) -> bool {
    match key.first() {
        Some(2 | 3) => key.len() == 33,
        Some(4 | 6 | 7) => key.len() == 65,
        _ => false,
    }
}

/// `m <key>... n OP_CHECKMULTISIG` with m at most n and as many keys.
fn is_multisig(script: &[u8]) -> bool {
    let Some((body, _)) = script.split_last().map(|(last, body)| (body, last)) else { return false };
    let mut codes = Codes(body);
    let Some(needed) = codes.next().and_then(key_count) else { return false };
    let mut keys: u8 = 0;
    loop {
        match codes.next() {
            Some(Code { push: Some(key), .. }) if is_key(key) => match keys.checked_add(1) {
                Some(more) if more <= MAX_KEYS => keys = more,
                _ => return false,
            },
            Some(last) => {
                return key_count(last) == Some(keys) && needed <= keys && codes.0.is_empty();
            }
            None => return false,
        }
    }
}

/// 1 to 16 by their own codes, 17 to 20 as a push of one byte.
fn key_count(code: Code<'_>) -> Option<u8> {
    match code {
        Code { code: small @ OP_1..=OP_16, .. } => Some(small - (OP_1 - 1)),
        Code { code: 1, push: Some(&[count @ 17..=MAX_KEYS]) } => Some(count),
        _ => None,
    }
}

/// All bytes that are pushed, concatenated. Codes that stand for small numbers push nothing that is data; a push that
/// is longer than the script ends it.
fn pushed_bytes(script: &[u8]) -> Vec<u8> {
    Codes(script).filter_map(|code| code.push).flatten().copied().collect()
}

/// One operation of a script.
#[derive(Debug, Clone, Copy)]
struct Code<'a> {
    code: u8,
    /// The bytes it pushes; `None` for any other operation.
    push: Option<&'a [u8]>,
}

/// The operations of a script, up to its end or to a push that passes it.
struct Codes<'a>(&'a [u8]);

impl<'a> Iterator for Codes<'a> {
    type Item = Code<'a>;

    fn next(&mut self) -> Option<Code<'a>> {
        let (&code, rest) = self.0.split_first()?;
        let prefix = match code {
            OP_PUSHDATA1 => 1,
            OP_PUSHDATA2 => 2,
            OP_PUSHDATA4 => 4,
            _ => 0,
        };
        let read = || -> Option<(Option<&'a [u8]>, &'a [u8])> {
            let (length, rest) = rest.split_at_checked(prefix)?;
            let length = match code {
                1..OP_PUSHDATA1 => usize::from(code),
                _ if prefix > 0 => length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte)),
                _ => return Some((None, rest)),
            };
            let (push, rest) = rest.split_at_checked(length)?;
            Some((Some(push), rest))
        };
        let read = read();
        self.0 = read.map_or(&[], |(_, rest)| rest);
        read.map(|(push, _)| Code { code, push })
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
