//! Outputs that a block spends, as a node states them (`getblock <hash> 3`).
//!
//! A block names the outputs that it spends, but has neither their values nor their scripts. Statements are checked:
//!
//! | statement | check |
//! |---|---|
//! | transaction and index | those of the raw block |
//! | value and script | those of the output itself, where a block that is at hand created it |
//! | form of the script | that of the input: witness, or script of the input |
//! | script that pays to a key or its hash, or to `m` of `n` keys | hashes and signatures of the input, also in P2SH and P2WSH |
//! | other script in P2SH or P2WSH | its hash |
//! | P2TR | the signature, or the commitment of the key to the script that the input shows |
//! | value | a transaction spends at least what it creates; the coinbase transaction creates at most subsidy and fees |
//!
//! Signatures of witnesses cover the value as well. Other values remain as the node states them: those of inputs without
//! witness, and of scripts that are not executed. So does the script of an output without owner. [`Proof`] says which it is.

use std::collections::HashMap;

use bitcoin::{Amount, OutPoint, ScriptBuf, TxIn, TxOut};

use super::proof::{ActiveRules, Proof, Spender};
use super::{Rules, VerifiedBlock};
use crate::mismatch::{Fault, Mismatch, Rule, VerificationError};

/// An output that an input spends, as a node states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpentOutput {
    /// The transaction that created it, as it is printed.
    pub txid: String,
    /// The index in that transaction.
    pub index: u32,
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
    /// input, in order. Returns the proof of each.
    ///
    /// # Errors
    /// When an entry is missing, or contradicts the block, an output of [`CreatedOutputs::add`], or the sums of values.
    pub fn verify_spent(
        &self,
        block: &VerifiedBlock,
        stated: &[Vec<SpentOutput>],
    ) -> Result<Vec<Vec<Proof>>, VerificationError> {
        self.check(block, stated).map_err(|fault| fault.at(block.number))
    }

    fn check(&self, block: &VerifiedBlock, stated: &[Vec<SpentOutput>]) -> Result<Vec<Vec<Proof>>, Fault> {
        let rules = Rules::of(block.network);
        let active = rules.active(block);
        let (coinbase, spenders) = block.block.txdata.split_first().expect("a verified block has a first transaction");
        check_count("tx", stated.len(), spenders.len())?;
        let (mut fees, mut proofs) = (0, Vec::with_capacity(spenders.len()));
        for (index, (transaction, stated)) in spenders.iter().zip(stated).enumerate() {
            let within = |fault: Fault| fault.inside("tx", index + 1);
            check_count("vin", stated.len(), transaction.input.len()).map_err(within)?;
            let spent: Vec<TxOut> = stated.iter().map(SpentOutput::output).collect();
            let mut spender = Spender::new(active, transaction, &spent);
            let inputs = transaction.input.iter().zip(stated).enumerate();
            let check = |(place, (input, stated))| {
                self.check_input(input, stated, place, &mut spender)
                    .map_err(|fault: Fault| within(fault.inside("vin", place)))
            };
            proofs.push(inputs.map(check).collect::<Result<Vec<Proof>, Fault>>()?);
            let (spent, created) = (sum(&spent), sum(&transaction.output));
            fees += spent.checked_sub(created).ok_or_else(|| {
                let expected = format!("at least {created} satoshis, the value of its outputs");
                within(Fault::value("vin", Rule::SpentOutput, format!("of {spent} satoshis"), expected))
            })?;
        }
        let created = sum(&coinbase.output);
        let allowed = fees + u128::from(rules.subsidy(block.number));
        if created <= allowed {
            return Ok(proofs);
        }
        let expected =
            format!("at least {} satoshis, which the coinbase transaction pays out", created - (allowed - fees));
        Err(Fault::value("the sum of fees", Rule::SpentOutput, format!("{fees} satoshis"), expected))
    }

    fn check_input(
        &self,
        input: &TxIn,
        spent: &SpentOutput,
        place: usize,
        spender: &mut Spender<'_>,
    ) -> Result<Proof, Fault> {
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
        let Some(created) = self.outputs.get(point) else {
            return spender.prove(place).or_else(|expected| {
                let given = format!("{} of {} satoshis", hex::encode(&spent.script), spent.satoshis);
                contradiction("scriptPubKey", given, expected.to_owned())
            });
        };
        let satoshis = created.value.to_sat();
        if spent.satoshis != satoshis {
            let expected = format!("{satoshis} satoshis, the value of the output itself");
            return contradiction("value", format!("{} satoshis", spent.satoshis), expected);
        }
        if spent.script != created.script_pubkey.as_bytes() {
            let expected = format!("{}, the script of the output itself", created.script_pubkey.to_hex_string());
            return contradiction("scriptPubKey", hex::encode(&spent.script), expected);
        }
        Ok(Proof::OwnerAndValue)
    }
}

impl SpentOutput {
    fn output(&self) -> TxOut {
        TxOut { value: Amount::from_sat(self.satoshis), script_pubkey: ScriptBuf::from_bytes(self.script.clone()) }
    }
}

impl Rules {
    fn active(&self, block: &VerifiedBlock) -> ActiveRules {
        ActiveRules {
            script_hash: block.block.header.time >= self.script_hash_time,
            witness: block.number >= self.witnesses,
            taproot: block.number >= self.taproot,
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
#[path = "spent_outputs_tests.rs"]
mod tests;
