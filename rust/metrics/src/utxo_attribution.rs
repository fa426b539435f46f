//! Payers and payees of a UTXO transaction, where the chain itself does not say.
//!
//! A transaction of the UTXO family joins inputs and outputs without pairing them. The rule here is that of the
//! address relations of `GraphSense`, exactly. Inputs and outputs of one address are netted first, so change back to an
//! input address disappears; an address that lost is a sender of `net_in`, one that gained a receiver of `net_out`, and
//!
//! ```text
//! denominator = total input - gross inputs of owned inputs + net inputs of the senders
//! value(a -> b) = round half up (net_in(a) · net_out(b) / denominator)
//! ```
//!
//! so an input without an owner (bare multisig, unknown script) keeps its weight, and the fee is shared pro rata and
//! attributed to nobody. The numbers are a convention, not an observation: they say what share of an output an input
//! would have paid had all inputs paid for all outputs alike.

use std::collections::HashMap;

use headwater_ledger::facts::{InputFacts, OutputFacts};
use headwater_ledger::read::Transaction;
use headwater_types::{Address, Amount};
use ruint::aliases::U256;

/// The form of a transaction, where it decides whether anybody paid anybody. Shape rules judge it from the equal
/// outputs of a transaction; a mere flag in a source does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Shape {
    /// Inputs belong to one spender, or to several who pay together.
    #[default]
    Ordinary,
    /// A `CoinJoin`: its inputs and outputs are unrelated by design, so there are no pairs.
    CoinJoin,
}

/// The amounts that one address put into a transaction and got out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetChange {
    /// The address.
    pub address: Address,
    /// Sum of the outputs it owns, in the smallest unit.
    pub gross_out: u128,
    /// Sum of the inputs it owns, in the smallest unit; inputs of unknown amount are not in it.
    pub gross_in: u128,
}

impl NetChange {
    /// Returns what the address lost; 0 when it gained.
    #[must_use]
    pub const fn net_in(&self) -> u128 {
        self.gross_in.saturating_sub(self.gross_out)
    }

    /// Returns what the address gained; 0 when it lost.
    #[must_use]
    pub const fn net_out(&self) -> u128 {
        self.gross_out.saturating_sub(self.gross_in)
    }
}

/// A payment of one address to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// The attributed amount; may round to 0.
    pub value: Amount,
}

/// One transaction, attributed.
#[derive(Debug, Clone)]
pub struct Attribution {
    changes: Vec<NetChange>,
    positions: HashMap<Address, usize>,
    /// `None` when there are no pairs: see [`Attribution::has_pairs`].
    denominator: Option<u128>,
    unresolved_inputs: usize,
}

/// Attributes one transaction from its inputs and outputs, each as (owner, amount) in order. `None` as owner is
/// for scripts without a single owner; `None` as amount for an input whose previous output is not held.
///
/// A coinbase has no inputs here, hence no pairs: what it pays out is in [`Attribution::changes`]. With any input
/// amount unknown there are no pairs either, because the shares are unknown; nothing is guessed.
///
/// Linear time and memory in inputs and outputs; pairs are made only when asked for.
///
/// ```
/// use headwater_metrics::utxo_attribution::{Shape, pairs};
/// use headwater_types::{Address, Amount, Chain};
/// let address = |text| Address::parse(Chain::BITCOIN, text).unwrap();
/// let alice = address("1FDCgJ8m2xDyVmYuankk13XReVC2Zvs5cz");
/// let bob = address("1HxbaBMF2jXBVnagoHvaA6rLxmaYL8gb8T");
/// let shop = address("1231PgW8KbpwKkvACPhp13fcL6fM5sKGvy");
/// // 1 and 3 go in, 2 come out; 2 are the fee.
/// let found = pairs(&[(Some(alice), Some(1)), (Some(bob), Some(3))], &[(Some(shop), 2)], Shape::Ordinary);
/// assert_eq!(found.value(&alice, &shop), Some(Amount::from(1))); // 1 · 2 / 4 = 0.5, half goes up
/// assert_eq!(found.value(&bob, &shop), Some(Amount::from(2))); // 3 · 2 / 4 = 1.5
/// ```
#[must_use]
pub fn pairs(
    inputs: &[(Option<Address>, Option<u64>)],
    outputs: &[(Option<Address>, u64)],
    shape: Shape,
) -> Attribution {
    let mut attribution = Attribution {
        changes: Vec::new(),
        positions: HashMap::new(),
        denominator: None,
        unresolved_inputs: inputs.iter().filter(|(_, amount)| amount.is_none()).count(),
    };
    // Sums of u64 in u128 cannot overflow: memory holds fewer than 2^64 inputs.
    let mut unowned_input: u128 = 0;
    for &(owner, amount) in inputs {
        let amount = u128::from(amount.unwrap_or(0));
        match owner {
            Some(address) => attribution.change_of(address).gross_in += amount,
            None => unowned_input += amount,
        }
    }
    for &(owner, amount) in outputs {
        if let Some(address) = owner {
            attribution.change_of(address).gross_out += u128::from(amount);
        }
    }
    if attribution.unresolved_inputs == 0 && shape == Shape::Ordinary {
        // total - owned gross + net of senders, with the first two cancelled.
        let net_inputs: u128 = attribution.changes.iter().map(NetChange::net_in).sum();
        attribution.denominator = Some(unowned_input + net_inputs);
    }
    attribution
}

impl Attribution {
    /// Attributes a transaction of a ledger. One without inputs and outputs has no pairs.
    #[must_use]
    pub fn of_transaction(transaction: &Transaction) -> Self {
        Self::without_output(transaction, None)
    }

    /// Attributes a transaction as if it did not have one of its outputs, which must not be of an address that paid.
    #[must_use]
    pub fn without_output(transaction: &Transaction, output: Option<usize>) -> Self {
        let Some(utxo) = &transaction.facts.utxo else { return pairs(&[], &[], Shape::Ordinary) };
        let spent = |input: &InputFacts| match &input.spent {
            Some(output) => (output.owner, Some(output.amount)),
            None => (None, None),
        };
        let of_output = |output: &OutputFacts| (output.owner, output.amount);
        let inputs: Vec<_> = utxo.inputs.iter().map(spent).collect();
        let kept = utxo.outputs.iter().enumerate().filter(|(place, _)| output != Some(*place));
        let outputs: Vec<_> = kept.map(|(_, output)| of_output(output)).collect();
        pairs(&inputs, &outputs, Shape::Ordinary)
    }

    fn change_of(&mut self, address: Address) -> &mut NetChange {
        let position = *self.positions.entry(address).or_insert_with(|| {
            self.changes.push(NetChange { address, gross_out: 0, gross_in: 0 });
            self.changes.len() - 1
        });
        &mut self.changes[position]
    }

    /// Every address of the transaction by first occurrence, inputs before outputs: the order that the ordinals of
    /// UTXO rows count.
    #[must_use]
    pub fn changes(&self) -> &[NetChange] {
        &self.changes
    }

    /// Returns what one address put in and got out; `None` when it takes no part.
    #[must_use]
    pub fn change(&self, address: &Address) -> Option<&NetChange> {
        self.positions.get(address).map(|&position| &self.changes[position])
    }

    /// Inputs whose amount is unknown. When there are any, no pair is made and changes are those of the known part.
    #[must_use]
    pub const fn unresolved_inputs(&self) -> usize {
        self.unresolved_inputs
    }

    /// Returns whether pairs can be attributed at all: not with inputs of unknown amount, and not in a `CoinJoin`.
    #[must_use]
    pub const fn has_pairs(&self) -> bool {
        self.denominator.is_some()
    }

    /// Returns what `from` paid `to`; `None` for an unknown pair.
    #[must_use]
    pub fn value(&self, from: &Address, to: &Address) -> Option<Amount> {
        self.pair(self.change(from)?, self.change(to)?).map(|pair| pair.value)
    }

    /// All pairs, by sender and then receiver in the order of [`Attribution::changes`]. There are as many as senders
    /// times receivers.
    pub fn all(&self) -> impl Iterator<Item = Pair> + '_ {
        self.changes
            .iter()
            .filter(|change| change.net_in() > 0)
            .flat_map(|from| self.changes.iter().filter_map(|to| self.pair(from, to)))
    }

    /// The pairs in which one address takes part: all as their sender, or all as their receiver, since nobody is both.
    pub fn of<'a>(&'a self, address: &Address) -> impl Iterator<Item = Pair> + use<'a> {
        let own = self.change(address).copied();
        self.changes.iter().filter_map(move |other| {
            let own = own.as_ref()?;
            self.pair(own, other).or_else(|| self.pair(other, own))
        })
    }

    /// Returns the counterparties of an address with what moved between them.
    #[must_use]
    pub fn counterparties(&self, address: &Address) -> Vec<(Address, Amount)> {
        let other = |pair: Pair| if pair.from == *address { pair.to } else { pair.from };
        self.of(address).map(|pair| (other(pair), pair.value)).collect()
    }

    /// Returns the same with shares that together are at most what their payee got: shares are rounded, and the last ones
    /// of a payee are reduced where their sum would exceed it. Payer and payee have the same amounts.
    #[must_use]
    pub fn bounded_counterparties(&self, address: &Address) -> Vec<(Address, Amount)> {
        if self.change(address).is_some_and(|change| change.net_out() > 0) {
            return self.payers(address);
        }
        let of_payee = |(payee, _): (Address, Amount)| {
            let own = self.payers(&payee).into_iter().find(|(payer, _)| payer == address);
            own.map(|(_, value)| (payee, value))
        };
        self.counterparties(address).into_iter().filter_map(of_payee).collect()
    }

    /// Returns who paid an address, and how much: together at most what it got.
    fn payers(&self, payee: &Address) -> Vec<(Address, Amount)> {
        let mut rest = Amount::from_u128(self.change(payee).map_or(0, NetChange::net_out));
        let paid = |pair: Pair| {
            let value = pair.value.min(rest);
            rest = rest.checked_sub(value).unwrap_or(Amount::ZERO);
            (pair.from, value)
        };
        self.of(payee).map(paid).collect()
    }

    fn pair(&self, from: &NetChange, to: &NetChange) -> Option<Pair> {
        let denominator = self.denominator?;
        let (net_in, net_out) = (from.net_in(), to.net_out());
        (net_in > 0 && net_out > 0).then(|| Pair {
            from: from.address,
            to: to.address,
            value: share(net_in, net_out, denominator),
        })
    }
}

/// `a · b / whole`, half up. `whole` is at least `a`, hence the share at most `b`.
fn share(a: u128, b: u128, whole: u128) -> Amount {
    let rounded = |quotient: u128, remainder: u128| quotient + u128::from(remainder >= whole - remainder);
    let exact = if let Some(product) = a.checked_mul(b) {
        rounded(product / whole, product % whole)
    } else {
        let (quotient, remainder) = (U256::from(a) * U256::from(b)).div_rem(U256::from(whole));
        let small = |part: U256| u128::try_from(part).expect("a share is at most what is shared");
        rounded(small(quotient), small(remainder))
    };
    Amount::from_u128(exact)
}

#[cfg(test)]
#[path = "utxo_attribution_tests.rs"]
mod tests;
