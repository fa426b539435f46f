//! Outputs that a block spends, as a node states them (`getblock <hash> 3`).
//!
//! A block names the outputs that it spends, but has neither their values nor their scripts. Some of what a node states of
//! them can be checked:
//!
//! | statement | check |
//! |---|---|
//! | transaction and index | those of the raw block |
//! | value and script | those of the output itself, where a block that is at hand created it |
//! | script that pays to a hash | the hash of the key or script that the input shows |
//! | value | a transaction spends at least what it creates; the coinbase transaction creates at most subsidy and fees |
//!
//! Other values, and scripts that pay to a key, remain as the node states them: only signatures cover them.

use std::collections::HashMap;

use bitcoin::blockdata::script::Instruction;
use bitcoin::hashes::{Hash as _, hash160, sha256};
use bitcoin::{OutPoint, Script, TxIn, TxOut};

use super::{Rules, VerifiedBlock};
use crate::mismatch::{Fault, Mismatch, Rule, VerificationError};

/// An output that an input spends, as a node states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentOutput {
    /// The transaction that created it, as it is printed.
    pub txid: String,
    /// The index in that transaction.
    pub index: u32,
    /// The block that created it.
    pub height: u64,
    /// The value in satoshis.
    pub satoshis: u64,
    /// The script.
    pub script: Vec<u8>,
}

/// The outputs that verified blocks created.
#[derive(Debug, Default)]
pub struct CreatedOutputs<'a> {
    outputs: HashMap<OutPoint, &'a TxOut>,
}

impl<'a> CreatedOutputs<'a> {
    /// Adds the outputs of a block.
    pub fn add(&mut self, block: &'a VerifiedBlock) {
        for transaction in &block.block.txdata {
            let txid = transaction.compute_txid();
            let points = (0..).map(|vout| OutPoint { txid, vout });
            self.outputs.extend(points.zip(&transaction.output));
        }
    }

    /// Checks what a node states of the outputs that a block spends: for each transaction but the first, one entry for each
    /// input, in order.
    ///
    /// # Errors
    /// When an entry is missing, or contradicts the block, an output of [`CreatedOutputs::add`], or the sums of values.
    pub fn verify_spent(&self, block: &VerifiedBlock, stated: &[Vec<SpentOutput>]) -> Result<(), VerificationError> {
        self.check(block, stated).map_err(|fault| fault.at(block.number))
    }

    fn check(&self, block: &VerifiedBlock, stated: &[Vec<SpentOutput>]) -> Result<(), Fault> {
        let rules = Rules::of(block.network);
        let (coinbase, spenders) = block.block.txdata.split_first().expect("a verified block has a first transaction");
        check_count("tx", stated.len(), spenders.len())?;
        let mut fees = 0;
        for (index, (transaction, stated)) in spenders.iter().zip(stated).enumerate() {
            let within = |fault: Fault| fault.inside("tx", index + 1);
            check_count("vin", stated.len(), transaction.input.len()).map_err(within)?;
            for (place, (input, spent)) in transaction.input.iter().zip(stated).enumerate() {
                let check = self.check_input(block.number, &rules, input, spent);
                check.map_err(|fault| within(fault.inside("vin", place)))?;
            }
            let spent = stated.iter().map(|spent| u128::from(spent.satoshis)).sum::<u128>();
            let created = sum(&transaction.output);
            fees += spent.checked_sub(created).ok_or_else(|| {
                let expected = format!("at least {created} satoshis, the value of its outputs");
                within(Fault::value("vin", Rule::SpentOutput, format!("of {spent} satoshis"), expected))
            })?;
        }
        let created = sum(&coinbase.output);
        let allowed = fees + u128::from(rules.subsidy(block.number));
        if created <= allowed {
            return Ok(());
        }
        let expected =
            format!("at least {} satoshis, which the coinbase transaction pays out", created - (allowed - fees));
        Err(Fault::value("the sum of fees", Rule::SpentOutput, format!("{fees} satoshis"), expected))
    }

    fn check_input(&self, number: u64, rules: &Rules, input: &TxIn, spent: &SpentOutput) -> Result<(), Fault> {
        let point = &input.previous_output;
        let txid = point.txid.to_string();
        if spent.txid != txid {
            return Err(Fault::value("txid", Rule::Position, &spent.txid, format!("{txid}, as in the raw block")));
        }
        if spent.index != point.vout {
            let expected = format!("{}, as in the raw block", point.vout);
            return Err(Fault::value("vout", Rule::Position, spent.index.to_string(), expected));
        }
        let contradiction = |name: &str, given: String, expected: String| {
            Err(Fault::value(name, Rule::SpentOutput, given, expected).within("prevout"))
        };
        if spent.height > number {
            return contradiction("height", spent.height.to_string(), "an earlier block".to_owned());
        }
        if let Some(created) = self.outputs.get(point) {
            let satoshis = created.value.to_sat();
            if spent.satoshis != satoshis {
                let expected = format!("{satoshis} satoshis, the value of the output itself");
                return contradiction("value", format!("{} satoshis", spent.satoshis), expected);
            }
            if spent.script != created.script_pubkey.as_bytes() {
                let expected = format!("{}, the script of the output itself", created.script_pubkey.to_hex_string());
                return contradiction("scriptPubKey", hex::encode(&spent.script), expected);
            }
        }
        match shows_owner(number >= rules.witnesses, input, Script::from_bytes(&spent.script)) {
            Some(false) => {
                let expected = "the script that the key or script of the input belongs to".to_owned();
                contradiction("scriptPubKey", hex::encode(&spent.script), expected)
            }
            Some(true) | None => Ok(()),
        }
    }
}

fn check_count(name: &str, given: usize, expected: usize) -> Result<(), Fault> {
    if given == expected {
        return Ok(());
    }
    let expected = format!("{expected} with spent outputs, as many as the raw block has");
    Err(Fault::value(name, Rule::Count, given.to_string(), expected))
}

fn sum(outputs: &[TxOut]) -> u128 {
    outputs.iter().map(|output| u128::from(output.value.to_sat())).sum()
}

/// Returns whether an input shows the key or script whose hash a script pays to; `None` for scripts without a hash, and for
/// inputs that compute what they show.
fn shows_owner(has_witnesses: bool, input: &TxIn, script: &Script) -> Option<bool> {
    let bytes = script.as_bytes();
    if script.is_p2pkh() {
        Some(hash160::Hash::hash(&last_push(&input.script_sig)?).as_byte_array() == &bytes[3..23])
    } else if script.is_p2sh() {
        Some(hash160::Hash::hash(&last_push(&input.script_sig)?).as_byte_array() == &bytes[2..22])
    } else if script.is_p2wpkh() && has_witnesses {
        Some(input.witness.last().is_some_and(|key| hash160::Hash::hash(key).as_byte_array() == &bytes[2..22]))
    } else if script.is_p2wsh() && has_witnesses {
        Some(input.witness.last().is_some_and(|inner| sha256::Hash::hash(inner).as_byte_array() == &bytes[2..34]))
    } else {
        None
    }
}

/// Returns the last value that a script pushes, empty if it pushes nothing; `None` if it does anything else.
fn last_push(script: &Script) -> Option<Vec<u8>> {
    let mut last = Vec::new();
    for instruction in script.instructions() {
        last = match instruction.ok()? {
            Instruction::PushBytes(bytes) => bytes.as_bytes().to_vec(),
            // The small numbers: a byte each.
            Instruction::Op(op) => match op.to_u8() {
                0x4f => vec![0x81],
                code @ 0x51..=0x60 => vec![code - 0x50],
                _ => return None,
            },
        };
    }
    Some(last)
}

/// Reads an amount in bitcoin, which JSON has as a double: 53 bits count all satoshis that there can be, so the nearest
/// satoshi is the one that was written.
///
/// # Errors
/// When it is negative, or more than can exist.
///
/// ```
/// use headwater_verify::bitcoin::satoshis;
/// assert_eq!(satoshis(0.29).unwrap(), 29_000_000);
/// assert_eq!(satoshis(20_999_999.976_9).unwrap(), 2_099_999_997_690_000);
/// assert!(satoshis(-1.0).is_err() && satoshis(21_000_001.0).is_err());
/// ```
pub fn satoshis(bitcoin: f64) -> Result<u64, Mismatch> {
    const COINS: f64 = 21e6;
    if !(0.0..=COINS).contains(&bitcoin) {
        return Err(Mismatch::Malformed { given: bitcoin.to_string(), expected: "an amount in BTC" });
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2.1e15, and not negative")]
    Ok((bitcoin * 1e8).round() as u64)
}

#[cfg(test)]
mod tests {
    use bitcoin::absolute::LockTime;
    use bitcoin::hashes::Hash as _;
    use bitcoin::script::{Builder, PushBytesBuf};
    use bitcoin::{Amount, Block, ScriptBuf, Sequence, Transaction, Txid, Witness};
    use headwater_types::Network;

    use super::*;

    const KEY: [u8; 33] = [2; 33];

    fn push(bytes: &[u8]) -> ScriptBuf {
        Builder::new().push_slice(PushBytesBuf::try_from(bytes.to_vec()).unwrap()).into_script()
    }

    fn input(previous_output: OutPoint, script_sig: ScriptBuf, witness: &[&[u8]]) -> TxIn {
        TxIn { previous_output, script_sig, sequence: Sequence::MAX, witness: Witness::from_slice(witness) }
    }

    fn pays(satoshis: u64, script_pubkey: ScriptBuf) -> TxOut {
        TxOut { value: Amount::from_sat(satoshis), script_pubkey }
    }

    /// Block 7 of regtest: a coinbase transaction of 50 BTC and 10 satoshis, a transaction that spends an output from
    /// before, and one that spends the output of that.
    fn block(script_sig: ScriptBuf, witness: &[&[u8]]) -> VerifiedBlock {
        let mut block: Block = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
        block.txdata[0].output[0].value = Amount::from_sat(5_000_000_010);
        let like = block.txdata[0].clone();
        let transaction = |input: TxIn, satoshis: u64| Transaction {
            input: vec![input],
            output: vec![pays(satoshis, ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&KEY)))],
            lock_time: LockTime::ZERO,
            ..like.clone()
        };
        let before = OutPoint { txid: Txid::from_byte_array([9; 32]), vout: 1 };
        let first = transaction(input(before, script_sig, witness), 94);
        let inner = OutPoint { txid: first.compute_txid(), vout: 0 };
        let second = transaction(input(inner, push(&KEY), &[]), 90);
        block.txdata.extend([first, second]);
        VerifiedBlock { number: 7, network: Network::Regtest, block }
    }

    fn stated(block: &VerifiedBlock, script: &Script) -> Vec<Vec<SpentOutput>> {
        let spent = |place: usize, satoshis, script: &Script| {
            let point = block.block.txdata[place].input[0].previous_output;
            let (txid, index) = (point.txid.to_string(), point.vout);
            vec![SpentOutput { txid, index, height: 3, satoshis, script: script.to_bytes() }]
        };
        vec![spent(1, 100, script), spent(2, 94, &block.block.txdata[1].output[0].script_pubkey)]
    }

    fn verify(block: &VerifiedBlock, stated: &[Vec<SpentOutput>]) -> Result<(), String> {
        let mut created = CreatedOutputs::default();
        created.add(block);
        created.verify_spent(block, stated).map_err(|error| error.to_string())
    }

    #[test]
    fn stated_outputs_that_fit_the_block_are_accepted() {
        let block = block(push(&KEY), &[]);
        let stated = stated(&block, &ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&KEY)));
        verify(&block, &stated).unwrap();
    }

    type Change<'a> = &'a dyn Fn(&mut Vec<Vec<SpentOutput>>);

    #[test]
    fn statements_that_contradict_the_block_are_refused() {
        let block = block(push(&KEY), &[]);
        let script = ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&KEY));
        let other = ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&[3; 33])).into_bytes();
        let good = stated(&block, &script);
        let refused = |change: Change<'_>| {
            let mut stated = good.clone();
            change(&mut stated);
            verify(&block, &stated).unwrap_err()
        };
        let inner =
            "block 7: tx[2].vin[0].prevout.value is 95 satoshis; expected 94 satoshis, the value of the output itself";
        assert_eq!(refused(&|all| all[1][0].satoshis = 95), inner);
        let cases: [(Change<'_>, &str); 9] = [
            (&|all| all[0][0].txid = "00".to_owned(), "tx[1].vin[0].txid"),
            (&|all| all[0][0].index = 0, "tx[1].vin[0].vout"),
            (&|all| all[0][0].height = 8, "tx[1].vin[0].prevout.height"),
            (&|all| all[0][0].script.clone_from(&other), "tx[1].vin[0].prevout.scriptPubKey"),
            (&|all| all[1][0].script.clone_from(&other), "the script of the output itself"),
            (&|all| all[0][0].satoshis = 93, "at least 94 satoshis, the value of its outputs"),
            (&|all| all[0][0].satoshis = 99, "the sum of fees is 9 satoshis; expected at least 10 satoshis"),
            (&|all| all[0].clear(), "tx[1].vin is 0"),
            (&|all| all.truncate(1), "tx is 1"),
        ];
        for (change, part) in cases {
            let error = refused(change);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn hashes_of_all_forms_are_compared_with_the_input() {
        let wrong = [3; 33];
        for (script, script_sig, witness) in [
            (ScriptBuf::new_p2sh(&bitcoin::ScriptHash::hash(&KEY)), push(&KEY), vec![]),
            (ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::hash(&KEY)), ScriptBuf::new(), vec![&[1][..], &KEY]),
            (ScriptBuf::new_p2wsh(&bitcoin::WScriptHash::hash(&KEY)), ScriptBuf::new(), vec![&[1][..], &KEY]),
        ] {
            let good = block(script_sig, &witness);
            verify(&good, &stated(&good, &script)).unwrap();
            let bad = block(push(&wrong), &[&wrong]);
            assert!(verify(&bad, &stated(&bad, &script)).is_err(), "{script}");
            let none = block(ScriptBuf::new(), &[]);
            assert!(verify(&none, &stated(&none, &script)).is_err(), "{script}");
        }
    }

    /// The scripts of inputs could compute what they show, until only pushes were standard.
    #[test]
    fn script_that_is_not_only_pushes_is_not_compared() {
        let computed = Builder::new().push_slice([1; 3]).push_opcode(bitcoin::opcodes::all::OP_DUP).into_script();
        let block = block(computed, &[]);
        verify(&block, &stated(&block, &ScriptBuf::new_p2pkh(&bitcoin::PubkeyHash::hash(&KEY)))).unwrap();
    }
}
