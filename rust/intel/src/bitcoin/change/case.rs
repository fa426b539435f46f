//! All that rules look at.

use std::collections::BTreeSet;

use headwater_ledger::facts::OutputFacts;
use headwater_types::Address;

use super::candidates::{Abstention, Candidates};
use crate::bitcoin::TransactionView;
use crate::bitcoin::coinjoin::CoinJoin;

/// A transaction and what is known of its outputs from the rest of the chain.
#[derive(Debug, Clone)]
pub struct Case<'a> {
    /// The transaction.
    pub transaction: TransactionView<'a>,
    /// What is known of each output, by its place.
    pub outputs: Vec<OutputCase<'a>>,
    /// Whether the transaction that its first input spends from has one input and two outputs; `None` where it is not held.
    pub follows_one_in_two_out: Option<bool>,
    /// What it is when several people made it together.
    pub coinjoin: Option<CoinJoin>,
}

/// What the rest of the chain tells of one output.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputCase<'a> {
    /// The transaction that spends it; `None` while none is held.
    pub spender: Option<TransactionView<'a>>,
    /// How its address was used; `None` where the history is not held from the first block on.
    pub usage: Option<AddressUsage>,
    /// Whether its address belongs to the cluster of the inputs by common inputs of *other* transactions; `None` where
    /// nothing is known of clusters.
    pub is_in_input_cluster: Option<bool>,
}

/// How the address of an output was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressUsage {
    /// Nothing came to the address, and nothing left it, before this transaction.
    pub is_first_use: bool,
    /// And it received once and was spent from once at most, as far as the data goes.
    pub is_used_once: bool,
}

impl<'a> Case<'a> {
    /// A transaction of whose outputs nothing is known.
    #[must_use]
    pub fn new(transaction: TransactionView<'a>) -> Self {
        let outputs = vec![OutputCase::default(); transaction.outputs().len()];
        Self { transaction, outputs, follows_one_in_two_out: None, coinjoin: None }
    }

    /// The outputs that may be change and of which something holds.
    pub(super) fn outputs_where(&self, holds: impl Fn(&OutputFacts, &OutputCase<'a>) -> bool) -> Candidates {
        let owned = self.transaction.owned().filter(|(place, _)| *place < self.outputs.len());
        owned.filter(|(place, output)| holds(output, &self.outputs[*place])).map(|(place, _)| place).collect()
    }

    /// The inputs' addresses, all of them.
    pub(super) fn known_inputs(&self) -> Result<BTreeSet<Address>, Abstention> {
        if self.transaction.has_known_inputs() {
            Ok(self.transaction.input_addresses())
        } else {
            Err(Abstention::InputsUnknown)
        }
    }
}
