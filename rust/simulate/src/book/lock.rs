//! Locks of outputs, and the weight of a transaction by the rules of its serialisation (BIP 141, 144).

use headwater_ledger::read::ScriptType;
use headwater_types::Address;
use headwater_types::address::UtxoPayload;

/// The lock of the outputs of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lock {
    /// One key, by its hash.
    P2pkh,
    /// One key of the witness form, wrapped for senders that do not know that form.
    P2shKey,
    /// Two of three keys, by the hash of their script.
    P2shMultisig,
    /// One key, with a witness.
    P2wpkh,
    /// Two of three keys, with a witness.
    P2wshMultisig,
    /// One key, spent by the key path.
    P2tr,
}

/// Bytes of the script of two of three keys.
const MULTISIG_SCRIPT: u64 = 105;
/// Bytes of a push of a key.
const KEY: u64 = 34;
/// Bytes of a signature by BIP 340.
const SCHNORR: u64 = 64;

impl Lock {
    /// All of them; their places are stored in keys.
    pub(crate) const ALL: [Self; 6] =
        [Self::P2pkh, Self::P2shKey, Self::P2shMultisig, Self::P2wpkh, Self::P2wshMultisig, Self::P2tr];

    /// The form of its script.
    pub(crate) const fn script(self) -> ScriptType {
        match self {
            Self::P2pkh => ScriptType::P2pkh,
            Self::P2shKey | Self::P2shMultisig => ScriptType::P2sh,
            Self::P2wpkh => ScriptType::P2wpkh,
            Self::P2wshMultisig => ScriptType::P2wsh,
            Self::P2tr => ScriptType::P2tr,
        }
    }

    /// The usual lock of a form; forms without an address are filed as P2WPKH.
    pub(crate) const fn of(script: ScriptType) -> Self {
        match script {
            ScriptType::P2pk | ScriptType::P2pkh => Self::P2pkh,
            ScriptType::P2sh => Self::P2shKey,
            ScriptType::P2wsh => Self::P2wshMultisig,
            ScriptType::P2tr => Self::P2tr,
            ScriptType::P2wpkh | ScriptType::Multisig | ScriptType::OpReturn | ScriptType::Nonstandard => Self::P2wpkh,
        }
    }

    /// ECDSA signatures that one input takes.
    pub(crate) const fn signatures(self) -> u64 {
        match self {
            Self::P2tr => 0,
            Self::P2pkh | Self::P2shKey | Self::P2wpkh => 1,
            Self::P2shMultisig | Self::P2wshMultisig => 2,
        }
    }

    /// Bytes of the script that unlocks an input, and of its witness with its count (0 for none), when its ECDSA
    /// signatures take these bytes together.
    const fn unlocking(self, signatures: u64) -> (u64, u64) {
        match self {
            Self::P2pkh => (1 + signatures + KEY, 0),
            Self::P2shKey => (23, 1 + 1 + signatures + KEY),
            // An empty push for a flaw of the opcode, and a push of the script by a length of one byte.
            Self::P2shMultisig => (1 + 2 + signatures + 2 + MULTISIG_SCRIPT, 0),
            Self::P2wpkh => (0, 1 + 1 + signatures + KEY),
            Self::P2wshMultisig => (0, 1 + 1 + 2 + signatures + 1 + MULTISIG_SCRIPT),
            Self::P2tr => (0, 1 + 1 + SCHNORR),
        }
    }

    /// Satoshis below which nodes do not relay an output of this form.
    pub(crate) const fn dust(self) -> u64 {
        match self {
            Self::P2pkh => 546,
            Self::P2shKey | Self::P2shMultisig => 540,
            Self::P2wpkh => 294,
            Self::P2wshMultisig | Self::P2tr => 330,
        }
    }
}

/// Bytes of a count or length.
const fn count_bytes(count: u64) -> u64 {
    match count {
        0..=0xfc => 1,
        0xfd..=0xffff => 3,
        _ => 5,
    }
}

/// The script of an address, which is what BIP 69 orders outputs of one amount by.
pub(crate) fn locking_script(address: &Address) -> Vec<u8> {
    let Address::Utxo(address) = address else { return Vec::new() };
    match &address.payload {
        UtxoPayload::PublicKeyHash(hash) => [&[0x76, 0xa9, 20], hash.as_slice(), &[0x88, 0xac]].concat(),
        UtxoPayload::ScriptHash(hash) => [&[0xa9, 20], hash.as_slice(), &[0x87]].concat(),
        UtxoPayload::Witness(witness) => {
            let version = if witness.version() == 0 { 0 } else { 0x50 + witness.version() };
            let program = witness.program();
            let length = u8::try_from(program.len()).expect("a witness program has at most 40 bytes");
            [&[version, length], program].concat()
        }
    }
}

/// Bytes of a script that carries data.
pub(crate) const fn note_bytes(data: u64) -> u64 {
    1 + if data > 75 { 2 } else { 1 } + data
}

/// A transaction as far as its weight goes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    inputs: u64,
    outputs: u64,
    /// Bytes of inputs and outputs, witnesses left out.
    plain: u64,
    /// Bytes of witnesses.
    witness: u64,
    /// Inputs without a witness: a zero each where others have one.
    bare: u64,
}

impl Size {
    /// With one more input, whose ECDSA signatures take these bytes together.
    pub(crate) const fn input(mut self, lock: Lock, signatures: u64) -> Self {
        let (script, witness) = lock.unlocking(signatures);
        self.inputs += 1;
        self.plain += 40 + count_bytes(script) + script;
        self.witness += witness;
        self.bare += (witness == 0) as u64;
        self
    }

    /// With the input of a coinbase, whose script has these bytes.
    pub(crate) const fn coinbase(mut self, script: u64) -> Self {
        self.inputs += 1;
        self.plain += 40 + count_bytes(script) + script;
        self.witness += 1 + 1 + 32;
        self
    }

    /// With one more output, whose script has these bytes.
    pub(crate) const fn output(mut self, script: u64) -> Self {
        self.outputs += 1;
        self.plain += 8 + count_bytes(script) + script;
        self
    }

    /// With an output to an address.
    pub(crate) fn to(self, address: &Address) -> Self {
        self.output(locking_script(address).len() as u64)
    }

    /// With an output of a lock.
    pub(crate) const fn locked(self, lock: Lock) -> Self {
        self.output(match lock {
            Lock::P2pkh => 25,
            Lock::P2shKey | Lock::P2shMultisig => 23,
            Lock::P2wpkh => 22,
            Lock::P2wshMultisig | Lock::P2tr => 34,
        })
    }

    /// Weight units.
    pub(crate) const fn weight_wu(&self) -> u64 {
        let plain = 4 + count_bytes(self.inputs) + count_bytes(self.outputs) + self.plain + 4;
        let witness = if self.witness > 0 { 2 + self.witness + self.bare } else { 0 };
        4 * plain + witness
    }

    /// Virtual bytes.
    pub(crate) const fn virtual_bytes(&self) -> u64 {
        self.weight_wu().div_ceil(4)
    }

    /// The fee at a rate in satoshis per 1000 virtual bytes, rounded up as nodes do.
    pub(crate) const fn fee(&self, rate: u64) -> u64 {
        (self.virtual_bytes() * rate).div_ceil(1_000)
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::consensus::Encodable;
    use bitcoin::script::{Builder, PushBytesBuf};
    use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness};

    use super::*;
    use crate::identity::script_address;

    fn pushes(items: &[usize]) -> ScriptBuf {
        let mut script = Builder::new();
        for &length in items {
            script = script.push_slice(PushBytesBuf::try_from(vec![1; length]).unwrap());
        }
        script.into_script()
    }

    /// An input as that lock unlocks, with signatures of 71 bytes, from the parts that BIP 16, 141 and 341 name.
    fn unlocked(lock: Lock) -> TxIn {
        let (script_sig, items): (_, &[usize]) = match lock {
            Lock::P2pkh => (pushes(&[71, 33]), &[]),
            Lock::P2shKey => (pushes(&[22]), &[71, 33]),
            Lock::P2shMultisig => (pushes(&[0, 71, 71, 105]), &[]),
            Lock::P2wpkh => (pushes(&[]), &[71, 33]),
            Lock::P2wshMultisig => (pushes(&[]), &[0, 71, 71, 105]),
            Lock::P2tr => (pushes(&[]), &[64]),
        };
        let witness = Witness::from_slice(&items.iter().map(|&length| vec![1; length]).collect::<Vec<_>>());
        TxIn { previous_output: OutPoint::null(), script_sig, sequence: Sequence::MAX, witness }
    }

    #[test]
    fn weights_are_those_of_an_independent_serialiser() {
        for count in [1, 2, 260] {
            for first in Lock::ALL {
                for second in Lock::ALL {
                    let locks: Vec<_> = (0..count).map(|place| if place % 2 == 0 { first } else { second }).collect();
                    let mut size = Size::default();
                    let mut output = Vec::new();
                    for &lock in &locks {
                        let address = script_address(1, lock.script(), "x");
                        size = size.input(lock, 71 * lock.signatures()).to(&address);
                        let script_pubkey = ScriptBuf::from_bytes(locking_script(&address));
                        assert_eq!(size.weight_wu() + 4 * 43, {
                            let taproot = size.locked(Lock::P2tr);
                            taproot.weight_wu() - 4 * (count_bytes(taproot.outputs) - count_bytes(size.outputs))
                        });
                        output.push(TxOut { value: Amount::from_sat(5), script_pubkey });
                    }
                    let input = locks.iter().map(|&lock| unlocked(lock)).collect();
                    let whole = Transaction {
                        version: bitcoin::transaction::Version::TWO,
                        lock_time: bitcoin::absolute::LockTime::ZERO,
                        input,
                        output,
                    };
                    let mut bytes = Vec::new();
                    whole.consensus_encode(&mut bytes).unwrap();
                    assert_eq!(size.weight_wu(), whole.weight().to_wu(), "{first:?} {second:?} {count}");
                    assert_eq!(size.virtual_bytes(), whole.vsize() as u64);
                }
            }
        }
    }

    #[test]
    fn a_payment_of_one_key_with_change_has_the_well_known_size() {
        let size = Size::default().input(Lock::P2wpkh, 72).locked(Lock::P2wpkh).locked(Lock::P2wpkh);
        assert_eq!((size.weight_wu(), size.virtual_bytes(), size.fee(2_500)), (562, 141, 353));
        let legacy = Size::default().input(Lock::P2pkh, 72).locked(Lock::P2pkh).locked(Lock::P2pkh);
        assert_eq!(legacy.virtual_bytes(), 226);
    }
}
