//! What the shape rules count.

use std::collections::BTreeMap;

use headwater_types::Address;

use crate::bitcoin::TransactionView;

/// Amounts and addresses of a transaction, counted.
#[derive(Debug)]
pub(super) struct Shape {
    pub inputs: usize,
    /// Inputs of which it is not held what they spend.
    pub unknown_inputs: usize,
    /// What the other inputs spend, in satoshis.
    pub input_amounts: Vec<u64>,
    /// Distinct addresses of the inputs that are known.
    addresses: usize,
    /// Inputs of the address that has most of them.
    most_of_an_address: usize,
    /// Outputs that can be spent, in satoshis.
    pub outputs: Vec<u64>,
    /// Data outputs.
    pub notes: usize,
    /// Whether no two outputs have one address.
    pub has_distinct_outputs: bool,
    /// How often each amount occurs among the outputs.
    pub amounts: BTreeMap<u64, usize>,
}

impl Shape {
    /// The shape of a transaction; `None` of a coinbase, and where an address cannot be told.
    pub fn of(transaction: &TransactionView<'_>) -> Option<Self> {
        let is_owned = |owner: Option<Address>| owner.is_some();
        let outputs: Vec<_> = transaction.spendable().map(|(_, output)| output).collect();
        if transaction.inputs().is_empty()
            || !transaction.spent().all(|spent| is_owned(spent.owner))
            || !outputs.iter().all(|output| is_owned(output.owner))
        {
            return None;
        }
        let mut by_address: BTreeMap<Address, usize> = BTreeMap::new();
        for owner in transaction.spent().filter_map(|spent| spent.owner) {
            *by_address.entry(owner).or_default() += 1;
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
            addresses: by_address.len(),
            most_of_an_address: by_address.values().copied().max().unwrap_or(0),
            notes: transaction.outputs().len() - outputs.len(),
            has_distinct_outputs: payees.windows(2).all(|pair| pair[0] != pair[1]),
            outputs: outputs.iter().map(|output| output.amount).collect(),
            amounts,
        })
    }

    /// The most that there can be of distinct input addresses: unknown ones may all differ.
    pub const fn most_input_addresses(&self) -> usize {
        self.addresses + self.unknown_inputs
    }

    /// Whether there can be from `least` to `most` distinct input addresses.
    pub const fn may_have_input_addresses(&self, least: usize, most: usize) -> bool {
        self.addresses <= most && self.most_input_addresses() >= least
    }

    /// Whether no address is known to have more than a tenth of the inputs.
    pub const fn is_no_input_address_prominent(&self) -> bool {
        self.most_of_an_address * 10 <= self.inputs
    }

    /// Whether the inputs may all have addresses of their own.
    pub const fn may_have_distinct_inputs(&self) -> bool {
        self.most_input_addresses() == self.inputs
    }

    /// The amount that most outputs among some have, and their number; of equally common ones the largest.
    pub fn commonest(&self, is_among: impl Fn(u64) -> bool) -> Option<(u64, usize)> {
        let among = self.amounts.iter().filter(|(amount, _)| is_among(**amount));
        among.map(|(amount, count)| (*amount, *count)).max_by_key(|(amount, count)| (*count, *amount))
    }

    /// Three or four outputs of which two are equal: one payer who pretends to be two looks so, too (Stonewall).
    pub fn is_stonewall(&self) -> bool {
        let pairs = self.amounts.values().filter(|count| **count == 2).count();
        matches!(self.outputs.len(), 3 | 4) && pairs == 1 && self.inputs >= 2
    }
}
