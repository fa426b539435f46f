//! Proofs that an input belongs to the script of the output that it spends, as far as it is stated.
//!
//! Signatures are verified where the script has one of the usual forms: a key, the hash of a key, or `m` of `n` keys, also
//! within P2SH and P2WSH, and the key path of P2TR. Other scripts within P2SH, P2WSH and P2TR are not executed: the hash of
//! the script, or the commitment of the output key to it, is the proof.

use std::sync::LazyLock;

use bitcoin::blockdata::script::Instruction;
use bitcoin::hashes::{Hash as _, hash160, sha256};
use bitcoin::opcodes::all::{OP_CHECKMULTISIG, OP_PUSHNUM_1, OP_PUSHNUM_16};
use bitcoin::secp256k1::{Message, PublicKey, Secp256k1, VerifyOnly, XOnlyPublicKey, ecdsa};
use bitcoin::sighash::{Annex, EcdsaSighashType, Prevouts, SighashCache};
use bitcoin::taproot::{ControlBlock, Signature};
use bitcoin::{PubkeyHash, Script, ScriptBuf, Transaction, TxOut};

static CONTEXT: LazyLock<Secp256k1<VerifyOnly>> = LazyLock::new(Secp256k1::verification_only);

const FORM: &str = "a script of the form of the input";
const HASH: &str = "a script that pays to the hash of the key or script that the input shows";
const SIGNATURE: &str = "a script and a value that the signature of the input covers";
const COMMITMENT: &str = "a script whose key commits to the script that the input shows";

/// The part of a stated output that the block proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The owner and the value: a signature covers both, or the output itself is at hand.
    OwnerAndValue,
    /// The owner. The value, and the script of an output without owner, are as the node states them.
    Owner,
    /// Nothing: the rules of that time, or the form of the input, do not bind it to a script.
    Nothing,
}

/// The rules that a block follows.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveRules {
    /// Scripts in P2SH are executed (BIP 16).
    pub script_hash: bool,
    /// Witnesses are verified (BIP 141).
    pub witness: bool,
    /// Taproot outputs are verified (BIP 341).
    pub taproot: bool,
}

/// A transaction with the stated outputs that it spends.
pub(super) struct Spender<'a> {
    rules: ActiveRules,
    transaction: &'a Transaction,
    spent: &'a [TxOut],
    cache: SighashCache<&'a Transaction>,
}

/// An input, and the code that its signatures cover.
#[derive(Clone, Copy)]
struct SignedInput<'a> {
    index: usize,
    code: &'a Script,
    is_witness: bool,
}

impl<'a> Spender<'a> {
    pub(super) fn new(rules: ActiveRules, transaction: &'a Transaction, spent: &'a [TxOut]) -> Self {
        Self { rules, transaction, spent, cache: SighashCache::new(transaction) }
    }

    /// Returns the proof that an input gives for its stated output, or the script that was expected instead.
    pub(super) fn prove(&mut self, index: usize) -> Result<Proof, &'static str> {
        let (input, script) = (&self.transaction.input[index], self.spent[index].script_pubkey.as_script());
        if script.is_witness_program() {
            if !self.rules.witness {
                return Ok(Proof::Nothing);
            }
            if !input.script_sig.is_empty() {
                return Err(FORM);
            }
            if script.is_p2tr() && self.rules.taproot {
                return self.prove_taproot(index, script);
            }
            return Ok(self.prove_witness(index, script)?.unwrap_or(Proof::Nothing));
        }
        let Some(pushes) = pushes(&input.script_sig) else { return Ok(Proof::Nothing) };
        let mut stack: Vec<&[u8]> = pushes.iter().map(Vec::as_slice).collect();
        let mut code = script;
        if script.is_p2sh() {
            let inner = stack.pop().ok_or(FORM)?;
            if hash160::Hash::hash(inner).as_byte_array()[..] != script.as_bytes()[2..22] {
                return Err(HASH);
            }
            code = Script::from_bytes(inner);
            if !self.rules.script_hash {
                return Ok(Proof::Owner);
            }
            if code.is_witness_program() && self.rules.witness {
                if !stack.is_empty() {
                    return Err(FORM);
                }
                return Ok(self.prove_witness(index, code)?.unwrap_or(Proof::Owner));
            }
        }
        if !input.witness.is_empty() {
            return Err(FORM);
        }
        self.is_signed(SignedInput { index, code, is_witness: false }, &stack)?;
        Ok(Proof::Owner)
    }

    /// Returns the proof for a program of version 0; `None` for other programs, which anyone can spend.
    fn prove_witness(&mut self, index: usize, program: &Script) -> Result<Option<Proof>, &'static str> {
        let mut stack: Vec<&[u8]> = self.transaction.input[index].witness.iter().collect();
        let hash = program.as_bytes().get(2..).unwrap_or_default();
        let code = if program.is_p2wpkh() {
            if stack.len() != 2 {
                return Err(FORM);
            }
            ScriptBuf::new_p2pkh(&PubkeyHash::from_slice(hash).expect("the hash of P2WPKH has 20 bytes"))
        } else if program.is_p2wsh() {
            let inner = stack.pop().ok_or(FORM)?;
            if sha256::Hash::hash(inner).as_byte_array()[..] != *hash {
                return Err(HASH);
            }
            ScriptBuf::from_bytes(inner.to_vec())
        } else {
            return Ok(None);
        };
        let is_signed = self.is_signed(SignedInput { index, code: &code, is_witness: true }, &stack)?;
        Ok(Some(if is_signed { Proof::OwnerAndValue } else { Proof::Owner }))
    }

    fn prove_taproot(&mut self, index: usize, script: &Script) -> Result<Proof, &'static str> {
        let key = XOnlyPublicKey::from_slice(&script.as_bytes()[2..]).map_err(|_| SIGNATURE)?;
        let mut stack: Vec<&[u8]> = self.transaction.input[index].witness.iter().collect();
        let annex = if stack.len() > 1 { stack.last().and_then(|last| Annex::new(last).ok()) } else { None };
        if annex.is_some() {
            stack.pop();
        }
        match stack[..] {
            [] => Err(FORM),
            [signature] => {
                let signature = Signature::from_slice(signature).map_err(|_| FORM)?;
                let (spent, kind) = (Prevouts::All(self.spent), signature.sighash_type);
                let hash = self.cache.taproot_signature_hash(index, &spent, annex, None, kind).map_err(|_| FORM)?;
                let outcome = CONTEXT.verify_schnorr(&signature.signature, &Message::from(hash), &key);
                outcome.map(|()| Proof::OwnerAndValue).map_err(|_| SIGNATURE)
            }
            [.., leaf, control] => {
                let control = ControlBlock::decode(control).map_err(|_| FORM)?;
                let is_committed = control.verify_taproot_commitment(&CONTEXT, key, Script::from_bytes(leaf));
                if is_committed { Ok(Proof::Owner) } else { Err(COMMITMENT) }
            }
        }
    }

    /// Returns whether valid signatures spend a script of a usual form; false for scripts of other forms.
    fn is_signed(&mut self, signed: SignedInput<'_>, stack: &[&[u8]]) -> Result<bool, &'static str> {
        let code = signed.code;
        let (keys, signatures) = if let Some((count, keys)) = multisig(code) {
            (keys, stack.len().checked_sub(count).map(|start| &stack[start..]).ok_or(FORM)?)
        } else if code.is_p2pk() {
            (vec![&code.as_bytes()[1..code.len() - 1]], &stack[stack.len().checked_sub(1).ok_or(FORM)?..])
        } else if code.is_p2pkh() {
            let [.., _, key] = stack else { return Err(FORM) };
            if hash160::Hash::hash(key).as_byte_array()[..] != code.as_bytes()[3..23] {
                return Err(HASH);
            }
            (vec![*key], &stack[stack.len() - 2..stack.len() - 1])
        } else {
            return Ok(false);
        };
        // The signatures are in the order of their keys.
        let mut keys = keys.into_iter();
        for signature in signatures {
            let (kind, der) = signature.split_last().ok_or(FORM)?;
            // Until BIP 66 other encodings than DER were valid.
            let mut signature = ecdsa::Signature::from_der_lax(der).map_err(|_| FORM)?;
            signature.normalize_s();
            let message = self.message(signed, *kind);
            let is_of = |key: &[u8]| {
                PublicKey::from_slice(key).is_ok_and(|key| CONTEXT.verify_ecdsa(&message, &signature, &key).is_ok())
            };
            if !keys.any(is_of) {
                return Err(SIGNATURE);
            }
        }
        Ok(true)
    }

    /// Returns the hash that a signature of a kind signs.
    fn message(&mut self, signed: SignedInput<'_>, kind: u8) -> Message {
        const IN_RANGE: &str = "the input is one of the transaction";
        let SignedInput { index, code, is_witness } = signed;
        if !is_witness {
            return self.cache.legacy_signature_hash(index, code, kind.into()).expect(IN_RANGE).into();
        }
        let (value, known) = (self.spent[index].value, EcdsaSighashType::from_consensus(kind.into()));
        let mut data = Vec::new();
        self.cache.segwit_v0_encode_signing_data_to(&mut data, index, code, value, known).expect(IN_RANGE);
        // The kind itself is signed, though several act as the known one.
        let end = data.len() - 4;
        data[end..].copy_from_slice(&u32::from(kind).to_le_bytes());
        Message::from_digest(bitcoin::hashes::sha256d::Hash::hash(&data).to_byte_array())
    }
}

/// Returns the number of signatures and the keys of a script `m <key>... n OP_CHECKMULTISIG`.
fn multisig<'a>(script: &'a Script) -> Option<(usize, Vec<&'a [u8]>)> {
    let number = |part: &Instruction<'_>| {
        let code = part.opcode()?.to_u8();
        (OP_PUSHNUM_1.to_u8()..=OP_PUSHNUM_16.to_u8()).contains(&code).then(|| usize::from(code - 0x50))
    };
    let parts = script.instructions().collect::<Result<Vec<_>, _>>().ok()?;
    let [needed, keys @ .., count, Instruction::Op(OP_CHECKMULTISIG)] = &parts[..] else { return None };
    let key =
        |part: &Instruction<'a>| if let Instruction::PushBytes(key) = *part { Some(key.as_bytes()) } else { None };
    let keys: Vec<&[u8]> = keys.iter().map(key).collect::<Option<_>>()?;
    (number(count)? == keys.len()).then_some((number(needed)?, keys)).filter(|(needed, keys)| *needed <= keys.len())
}

/// Returns the values that a script pushes; `None` if it does anything else, as inputs could until only pushes were standard.
fn pushes(script: &Script) -> Option<Vec<Vec<u8>>> {
    let value = |instruction: Result<Instruction<'_>, _>| match instruction.ok()? {
        Instruction::PushBytes(bytes) => Some(bytes.as_bytes().to_vec()),
        // The small numbers: a byte each.
        Instruction::Op(op) => match op.to_u8() {
            0x4f => Some(vec![0x81]),
            code @ 0x51..=0x60 => Some(vec![code - 0x50]),
            _ => None,
        },
    };
    script.instructions().map(value).collect()
}
