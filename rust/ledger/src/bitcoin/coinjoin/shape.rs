//! The counts that the shape rules use.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::Address;

use crate::bitcoin::TransactionView;
use crate::read::ScriptType;

/// Fewer equal outputs than this are weak evidence, which other signs refute.
pub const FEW_EQUAL: usize = 5;
/// Equal outputs up to this amount are marks of tokens.
pub const MAX_MARK: u64 = 10_000;
/// Inputs for each equal output that participants may bring.
pub const MAX_INPUTS_EACH: usize = 10;

/// Amounts and addresses of a transaction, counted.
#[derive(Debug)]
pub(super) struct Shape {
    pub inputs: usize,
    /// Inputs of which it is not held what they spend.
    pub unknown_inputs: usize,
    /// The amounts that the other inputs spend, in satoshis.
    pub input_amounts: Vec<u64>,
    /// The sum that each known address of the inputs brings, in satoshis.
    pub input_sums: Vec<u64>,
    /// Inputs of the address that has most of them.
    max_per_address: usize,
    /// Forms of the scripts of the inputs that are known.
    pub input_forms: BTreeSet<ScriptType>,
    /// Outputs that can be spent: amount in satoshis, and form of the script.
    pub outputs: Vec<(u64, ScriptType)>,
    /// Data outputs.
    pub notes: usize,
    /// True if no two outputs have one address.
    pub has_distinct_outputs: bool,
    /// The number of outputs by amount.
    pub amounts: BTreeMap<u64, usize>,
}

impl Shape {
    /// The shape of a transaction; `None` of a coinbase, and where an address is unknown.
    pub fn of(transaction: &TransactionView<'_>) -> Option<Self> {
        let is_owned = |owner: Option<Address>| owner.is_some();
        let outputs: Vec<_> = transaction.spendable().map(|(_, output)| output).collect();
        if transaction.inputs().is_empty()
            || !transaction.spent().all(|spent| is_owned(spent.owner))
            || !outputs.iter().all(|output| is_owned(output.owner))
        {
            return None;
        }
        let mut by_address: BTreeMap<Address, (usize, u64)> = BTreeMap::new();
        for (owner, amount) in transaction.spent().filter_map(|spent| Some((spent.owner?, spent.amount))) {
            let (inputs, sum) = by_address.entry(owner).or_default();
            (*inputs, *sum) = (*inputs + 1, sum.saturating_add(amount));
        }
        let mut payees: Vec<Address> = outputs.iter().filter_map(|output| output.owner).collect();
        payees.sort_unstable();
        let mut amounts: BTreeMap<u64, usize> = BTreeMap::new();
        for output in &outputs {
            *amounts.entry(output.amount).or_default() += 1;
        }
        Some(Self {
            inputs: transaction.inputs().len(),
            unknown_inputs: transaction.unknown_inputs(),
            input_amounts: transaction.spent().map(|spent| spent.amount).collect(),
            input_sums: by_address.values().map(|(_, sum)| *sum).collect(),
            max_per_address: by_address.values().map(|(inputs, _)| *inputs).max().unwrap_or(0),
            input_forms: transaction.spent().map(|spent| spent.script).collect(),
            notes: transaction.outputs().len() - outputs.len(),
            has_distinct_outputs: payees.windows(2).all(|pair| pair[0] != pair[1]),
            outputs: outputs.iter().map(|output| (output.amount, output.script)).collect(),
            amounts,
        })
    }

    /// The most that there can be of distinct input addresses: unknown ones may all differ.
    pub fn max_input_addresses(&self) -> usize {
        self.input_sums.len() + self.unknown_inputs
    }

    /// Returns whether there can be from `least` to `most` distinct input addresses.
    pub fn may_have_input_addresses(&self, least: usize, most: usize) -> bool {
        self.input_sums.len() <= most && self.max_input_addresses() >= least
    }

    /// Returns whether no address is known to have more than a tenth of the inputs.
    pub const fn lacks_prominent_input_address(&self) -> bool {
        self.max_per_address * 10 <= self.inputs
    }

    /// Returns whether the inputs may all have addresses of their own.
    pub fn may_have_distinct_inputs(&self) -> bool {
        self.max_input_addresses() == self.inputs
    }

    /// The amount that most outputs among some have, and their number; of equally common ones the largest.
    pub fn commonest(&self, is_among: impl Fn(u64) -> bool) -> Option<(u64, usize)> {
        let among = self.amounts.iter().filter(|(amount, _)| is_among(**amount));
        among.map(|(amount, count)| (*amount, *count)).max_by_key(|(amount, count)| (*count, *amount))
    }

    /// Returns whether there are so few equal outputs that other signs refute a CoinJoin.
    pub fn has_few_equal_outputs(&self) -> bool {
        self.commonest(|_| true).is_some_and(|(_, count)| count < FEW_EQUAL)
    }

    /// Returns whether there are so few equal outputs that these signs refute a CoinJoin: marks of tokens, more inputs
    /// than so few people bring, or an equal output in a form that no input has.
    pub fn has_too_few_equal_outputs(&self) -> bool {
        let Some((equal, count)) = self.commonest(|_| true).filter(|(_, count)| *count < FEW_EQUAL) else {
            return false;
        };
        let is_foreign = |form: &ScriptType| self.unknown_inputs == 0 && !self.input_forms.contains(form);
        equal <= MAX_MARK
            || self.inputs > MAX_INPUTS_EACH * count
            || self.outputs.iter().any(|(amount, form)| *amount == equal && is_foreign(form))
    }

    /// Returns whether as many people as there are outputs of an amount can have funded one each: addresses that bring
    /// as much, and what the others bring together. Unknown inputs may bring anything.
    pub fn is_funded(&self, amount: u64, count: usize) -> bool {
        let (alone, others): (Vec<u64>, Vec<u64>) = self.input_sums.iter().partition(|sum| **sum >= amount);
        let together = others.into_iter().map(u128::from).sum::<u128>() / u128::from(amount.max(1));
        (alone.len() + self.unknown_inputs) as u128 + together >= count as u128
    }

    /// Three or four outputs of which two are equal: one payer who pretends to be two looks so, too (Stonewall).
    pub fn is_stonewall(&self) -> bool {
        let pairs = self.amounts.values().filter(|count| **count == 2).count();
        matches!(self.outputs.len(), 3 | 4) && pairs == 1 && self.inputs >= 2
    }
}
