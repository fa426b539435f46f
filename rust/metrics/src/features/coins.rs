//! Shapes of the transactions of an address on a UTXO chain: a movement there is a net change without a counterparty,
//! so that who else takes part, and how, is read from the transactions.

use headwater_ledger::facts::{OutputFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_types::Address;

use super::times::double;

/// Transactions of an address that are read, at most: evenly spaced, the first one among them. More would hardly change a
/// share, and pools have tens of thousands.
pub(super) const MAX_READ: usize = 64;

/// Outputs up to so many satoshis are dust.
const DUST: u64 = 1_000;

/// Equal outputs up to so many satoshis carry tokens and make no joint transaction.
const TOKEN_DUST: u64 = 2_730;

/// Fewest equal outputs of a transaction that several people make together.
const MIN_EQUAL: usize = 3;

/// The forms of scripts that [`Coins::forms`] counts.
pub const FORMS: [ScriptType; 6] =
    [ScriptType::P2pk, ScriptType::P2pkh, ScriptType::P2sh, ScriptType::P2wpkh, ScriptType::P2wsh, ScriptType::P2tr];

/// Sums over transactions of an address: at most 64, evenly spaced. A **spend** has an input of the address; a **receipt** has
/// none, and an output. Outputs that can never be spent do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Coins {
    /// Coinbases that pay it.
    pub coinbases: u64,
    /// Receipts, coinbases apart. What begins with `in_` is of them.
    pub receipts: u64,
    /// Their inputs.
    pub in_inputs: u64,
    /// Their outputs.
    pub in_outputs: u64,
    /// Their distinct input addresses, as far as they are held.
    pub in_payers: u64,
    /// Sum of its shares of the amounts.
    pub in_shares: f64,
    /// Those in which no output is larger than its own.
    pub in_largest: u64,
    /// Those in which it gets dust alone.
    pub in_dust: u64,
    /// Those in which another output has the same amount as one of its own.
    pub in_equal: u64,
    /// Spends. What begins with `out_` is of them.
    pub spends: u64,
    /// Their inputs.
    pub out_inputs: u64,
    /// Their outputs.
    pub out_outputs: u64,
    /// Most outputs of one.
    pub max_outputs: u64,
    /// Their distinct input addresses.
    pub out_payers: u64,
    /// Inputs of its own.
    pub own_inputs: u64,
    /// Sum of its shares of what the inputs spend.
    pub out_shares: f64,
    /// Those with inputs of other addresses, too.
    pub multi_input: u64,
    /// Those with an output to itself.
    pub self_change: u64,
    /// Those with one output, to another address.
    pub sweeps: u64,
    /// Those of one input address and two outputs.
    pub peels: u64,
    /// Transactions that look like several people's.
    pub joint: u64,
    /// Its outputs, by [`FORMS`].
    pub forms: [u64; FORMS.len()],
}

impl Coins {
    /// Transactions that were read.
    #[must_use]
    pub const fn transactions(&self) -> u64 {
        self.coinbases + self.receipts + self.spends
    }

    /// Adds a transaction of the address.
    pub(super) fn add(&mut self, address: &Address, transaction: &UtxoFacts) {
        let is_own = |output: &&OutputFacts| output.owner.as_ref() == Some(address);
        let outputs = || transaction.outputs.iter().filter(|output| output.script != ScriptType::OpReturn);
        let spent = || transaction.inputs.iter().filter_map(|input| input.spent.as_ref());
        let mut payers: Vec<Address> = spent().filter_map(|spent| spent.owner).collect();
        payers.sort_unstable();
        payers.dedup();
        let (own, own_inputs) = (outputs().filter(is_own), spent().filter(is_own).count() as u64);
        for output in own.clone().chain(spent().filter(is_own)) {
            if let Some(place) = FORMS.iter().position(|form| *form == output.script) {
                self.forms[place] += 1;
            }
        }
        self.joint += u64::from(is_joint(transaction, payers.len()));
        let (all, count) = (outputs().count() as u64, own.clone().count() as u64);
        let sum = |outputs: &mut dyn Iterator<Item = &OutputFacts>| -> f64 {
            double(outputs.map(|output| u128::from(output.amount)).sum())
        };
        if own_inputs > 0 {
            self.spends += 1;
            self.out_inputs += transaction.inputs.len() as u64;
            self.out_outputs += all;
            self.max_outputs = self.max_outputs.max(all);
            self.out_payers += payers.len() as u64;
            self.own_inputs += own_inputs;
            self.out_shares += share(sum(&mut spent().filter(is_own)), sum(&mut spent()));
            self.multi_input += u64::from(payers.len() > 1);
            self.self_change += u64::from(count > 0);
            self.sweeps += u64::from(all == 1 && count == 0);
            self.peels += u64::from(all == 2 && payers.len() == 1);
        } else if transaction.coinbase {
            self.coinbases += u64::from(count > 0);
        } else if count > 0 {
            self.receipts += 1;
            self.in_inputs += transaction.inputs.len() as u64;
            self.in_outputs += all;
            self.in_payers += payers.len() as u64;
            self.in_shares += share(sum(&mut own.clone()), sum(&mut outputs()));
            let most = outputs().map(|output| output.amount).max();
            self.in_largest += u64::from(own.clone().any(|output| Some(output.amount) == most));
            self.in_dust += u64::from(own.clone().all(|output| output.amount <= DUST));
            let occurs = |amount: u64| outputs().filter(|output| output.amount == amount).nth(1).is_some();
            self.in_equal += u64::from(own.clone().any(|output| occurs(output.amount)));
        }
    }
}

/// At least three equal outputs, half of all or more, and as many addresses that may pay for them.
fn is_joint(transaction: &UtxoFacts, payers: usize) -> bool {
    let unknown = transaction.inputs.iter().filter(|input| input.spent.is_none()).count();
    if payers + unknown < MIN_EQUAL || transaction.outputs.len() < MIN_EQUAL {
        return false;
    }
    let outputs = transaction.outputs.iter().filter(|output| output.script != ScriptType::OpReturn);
    let mut amounts: Vec<u64> = outputs.map(|output| output.amount).collect();
    amounts.sort_unstable();
    let equal = amounts.chunk_by(|one, other| one == other).filter(|equal| equal[0] > TOKEN_DUST).map(<[u64]>::len);
    let most = equal.max().unwrap_or(0);
    most >= MIN_EQUAL && 2 * most >= amounts.len() && most <= payers + unknown
}

/// A part of a whole; 0 of nothing, which no sum shall turn into NaN.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
