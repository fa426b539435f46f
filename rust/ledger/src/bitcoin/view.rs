//! A Bitcoin transaction as rules read it.

use std::collections::BTreeSet;

use crate::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
use crate::read::ScriptType;
use headwater_types::{Address, Timestamp};

/// Satoshis below which an input links nobody: marks of tokens and inscriptions change hands by trades that seller and buyer
/// sign together.
pub(crate) const DUST_BELOW: u64 = 1_000;

/// A transaction with its place on the chain, borrowed from the facts of a ledger. A fact that the ledger does not hold
/// is `None`, and a rule that needs it abstains.
///
/// ```
/// use headwater_ledger::bitcoin::TransactionView;
/// use headwater_ledger::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
/// use headwater_ledger::read::ScriptType;
/// use headwater_types::{Timestamp, TxHash};
///
/// let output = |amount| OutputFacts { owner: None, amount, script: ScriptType::P2wpkh, data: None };
/// let previous = OutPoint { hash: TxHash::new([1; 32]), index: 0 };
/// let facts = UtxoFacts::new(false, vec![InputFacts::new(previous, Some(output(100)))], vec![output(60), output(39)]);
/// let view = TransactionView::new(&facts, 800_000, Timestamp::new(1_690_168_629));
/// assert_eq!((view.smallest_input(), view.fee(), view.is_segwit()), (Some(100), Some(1), Some(true)));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TransactionView<'a> {
    facts: &'a UtxoFacts,
    block: u64,
    time: Timestamp,
    spends_own_block: Option<bool>,
}

impl<'a> TransactionView<'a> {
    /// A transaction of a block.
    #[must_use]
    pub const fn new(facts: &'a UtxoFacts, block: u64, time: Timestamp) -> Self {
        Self { facts, block, time, spends_own_block: None }
    }

    /// The same, where it is known whether it spends an output of its own block.
    #[must_use]
    pub const fn with_spends_own_block(self, spends_own_block: Option<bool>) -> Self {
        Self { spends_own_block, ..self }
    }

    /// All that is stated of it.
    #[must_use]
    pub const fn facts(&self) -> &'a UtxoFacts {
        self.facts
    }

    /// Height of its block.
    #[must_use]
    pub const fn block(&self) -> u64 {
        self.block
    }

    /// Time of its block.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.time
    }

    /// Returns whether it spends an output that was unconfirmed until its own block; `None` where not looked up.
    #[must_use]
    pub const fn spends_own_block(&self) -> Option<bool> {
        self.spends_own_block
    }

    /// Its inputs. A coinbase has none.
    #[must_use]
    pub fn inputs(&self) -> &'a [InputFacts] {
        &self.facts.inputs
    }

    /// Its outputs.
    #[must_use]
    pub fn outputs(&self) -> &'a [OutputFacts] {
        &self.facts.outputs
    }

    /// The outputs that can be spent, with their places.
    pub fn spendable(&self) -> impl Iterator<Item = (usize, &'a OutputFacts)> + use<'a> {
        self.outputs().iter().enumerate().filter(|(_, output)| output.script != ScriptType::OpReturn)
    }

    /// The spendable outputs that have an owner: those that are not keyless.
    pub fn owned(&self) -> impl Iterator<Item = (usize, &'a OutputFacts)> + use<'a> {
        self.spendable().filter(|(_, output)| !output.is_keyless())
    }

    /// Iterates over the amounts that the inputs spend, as far as they are held.
    pub fn spent(&self) -> impl Iterator<Item = &'a OutputFacts> + use<'a> {
        self.inputs().iter().filter_map(|input| input.spent.as_ref())
    }

    /// Number of inputs of which it is not held what they spend.
    #[must_use]
    pub fn unknown_inputs(&self) -> usize {
        self.inputs().iter().filter(|input| input.spent.is_none()).count()
    }

    /// Returns whether there are inputs, and it is held what each of them spends.
    #[must_use]
    pub fn has_known_inputs(&self) -> bool {
        !self.inputs().is_empty() && self.unknown_inputs() == 0
    }

    /// The addresses that the inputs are known to spend from.
    #[must_use]
    pub fn input_addresses(&self) -> BTreeSet<Address> {
        self.spent().filter_map(|spent| spent.owner).collect()
    }

    /// The owners of the inputs that say who made the transaction, in order. Keyless inputs do not, since anybody can add one,
    /// and dust does not: see [`DUST_BELOW`].
    pub fn signers(&self) -> impl Iterator<Item = Address> + use<'a> {
        let signed = self.spent().filter(|spent| spent.amount >= DUST_BELOW);
        signed.filter_map(|spent| spent.owner).filter(|owner| !owner.is_keyless())
    }

    /// The smallest amount that an input spends, in satoshis; `None` unless all are known.
    #[must_use]
    pub fn smallest_input(&self) -> Option<u64> {
        self.has_known_inputs().then(|| self.spent().map(|spent| spent.amount).min()).flatten()
    }

    /// Inputs less outputs, in satoshis; `None` unless all inputs are known.
    #[must_use]
    pub fn fee(&self) -> Option<u64> {
        let sum = |amounts: &mut dyn Iterator<Item = u64>| amounts.map(u128::from).sum::<u128>();
        let came = self.has_known_inputs().then(|| sum(&mut self.spent().map(|spent| spent.amount)))?;
        let left = sum(&mut self.outputs().iter().map(|output| output.amount));
        came.checked_sub(left).and_then(|fee| u64::try_from(fee).ok())
    }

    /// The fee in satoshis per 1,000 virtual bytes, rounded down.
    #[must_use]
    pub fn fee_per_kilobyte(&self) -> Option<u64> {
        let virtual_bytes = u64::from(self.facts.weight_wu?).div_ceil(4);
        self.fee()?.checked_mul(1_000)?.checked_div(virtual_bytes)
    }

    /// Returns whether it carries witnesses. Known from the forms of the outputs it spends, and from a weight that is
    /// not a multiple of four; a P2SH output may hide either, so such inputs alone prove nothing.
    #[must_use]
    pub fn is_segwit(&self) -> Option<bool> {
        let is_witness =
            |script: ScriptType| matches!(script, ScriptType::P2wpkh | ScriptType::P2wsh | ScriptType::P2tr);
        if self.spent().any(|spent| is_witness(spent.script))
            || self.facts.weight_wu.is_some_and(|weight| weight % 4 != 0)
        {
            return Some(true);
        }
        let may_hide = self.spent().any(|spent| spent.script == ScriptType::P2sh);
        (self.has_known_inputs() && !may_hide).then_some(false)
    }

    /// Returns whether it has one input and two outputs that can be spent: a step of a peel chain looks so.
    #[must_use]
    pub fn is_one_in_two_out(&self) -> bool {
        self.inputs().len() == 1 && self.outputs().len() == 2 && self.spendable().count() == 2
    }

    /// Returns whether inputs and outputs are in the order of BIP 69, as far as amounts show; `None` where there is
    /// nothing to order, or an input does not state what it spends.
    #[must_use]
    pub fn is_ordered(&self) -> Option<bool> {
        let points: Vec<OutPoint> = self.inputs().iter().map(|input| input.previous).collect();
        let is_known = !points.iter().any(OutPoint::is_unknown);
        (is_known && (points.len() > 1 || self.outputs().len() > 1)).then(|| {
            points.is_sorted_by_key(|point| (point.hash, point.index))
                && self.outputs().is_sorted_by_key(|output| output.amount)
        })
    }
}
