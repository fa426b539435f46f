//! Peel chains: a large coin that is paid out piece by piece.
//!
//! Each step has two outputs, a small one that is paid and a large one that the next step spends. Wallets of services make
//! such chains day by day, and so does whoever moves stolen coins: the shape is no sign of guilt.

use headwater_ledger::facts::{OutPoint, UtxoFacts};
use headwater_ledger::read::{Account, Direction, Scan, Transaction};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};

use super::TransactionView;
use super::coinjoin::{Surroundings, coinjoin};

/// Newest spends of an address that are looked at for a chain.
const MOST_SPENDS: usize = 16;

/// What a step of a chain must be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeelRules {
    /// The smaller output is at most so many hundredths of both.
    pub most_peeled_percent: u64,
    /// And at least so many satoshis: outputs of 330 and 546 carry tokens and inscriptions, and pay nobody.
    pub least_peeled: u64,
    /// The next step comes at most so many seconds later; `None` for any time.
    pub most_gap_secs: Option<i64>,
    /// A chain has at least so many steps.
    pub least_steps: usize,
    /// So many are followed from a transaction in each direction: the longest known chains have some thousands.
    pub most_steps: usize,
}

impl Default for PeelRules {
    fn default() -> Self {
        Self {
            most_peeled_percent: 30,
            least_peeled: 1_000,
            most_gap_secs: Some(72 * 3_600),
            least_steps: 5,
            most_steps: 10_000,
        }
    }
}

/// One step of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeelStep {
    /// The transaction.
    pub hash: TxHash,
    /// Its block.
    pub block: u64,
    /// The time of the block.
    pub time: Timestamp,
    /// Place of the smaller output, which is paid.
    pub peeled: u32,
    /// What it holds.
    pub peeled_amount: Amount,
    /// Place of the larger output, which goes on.
    pub rest: u32,
    /// What it holds.
    pub rest_amount: Amount,
}

/// Why a chain goes no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PeelEnd {
    /// The larger output is not spent as far as is held.
    Unspent,
    /// It is spent too late.
    Gap,
    /// It is spent by a transaction that several people made.
    CoinJoin,
    /// It went to a service.
    Service,
    /// It is spent by a transaction that is no such step: with other coins, to one or to many, or to two of about the same size.
    OtherForm,
    /// It was not followed further.
    Truncated,
}

/// A chain of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeelChain {
    /// Its steps, the first one first.
    pub steps: Vec<PeelStep>,
    /// Why it goes no further.
    pub end: PeelEnd,
}

/// Whether an address belongs to a service, where a chain ends: what leaves it is other people's money.
pub type IsService<'a> = &'a mut dyn FnMut(&Address) -> Result<bool, LedgerError>;

/// The chain that a transaction is a step of, from its first step on; `None` where it is no step, or the chain is too short.
///
/// A step spends one coin, or coins of one address, and has two outputs that can be spent. Linear in the steps: two look-ups
/// each.
///
/// # Errors
/// When the ledger cannot be read, or the call is cancelled.
pub fn peel_chain(
    ledger: &dyn Ledger,
    chain: Chain,
    hash: &TxHash,
    (rules, is_service): (&PeelRules, IsService<'_>),
    cancel: &Cancel,
) -> Result<Option<PeelChain>, LedgerError> {
    let mut walk = Walk { ledger, chain, rules, is_service, cancel };
    let Some((mut first, mut transaction)) = walk.step_of(hash)? else { return Ok(None) };
    let mut behind = 0;
    while let Some(before) = walk.before(&first, &transaction)?.filter(|_| behind < rules.most_steps) {
        (first, transaction) = before;
        behind += 1;
    }
    let mut steps = vec![first];
    let end = loop {
        if steps.len() > behind + rules.most_steps {
            break PeelEnd::Truncated;
        }
        match walk.after(steps[steps.len() - 1], &transaction)? {
            Ok((step, next)) => {
                steps.push(step);
                transaction = next;
            }
            Err(end) => break end,
        }
    };
    Ok((steps.len() >= rules.least_steps).then_some(PeelChain { steps, end }))
}

/// The chain in which an address passes a coin on: one of its newest spends within a scan is a step. What it was paid by
/// such chains is none of its doing.
///
/// Steps behind the end of the scan's window are left out.
///
/// # Errors
/// As [`peel_chain`].
pub fn peel_chain_of(
    ledger: &dyn Ledger,
    account: &Account,
    scan: &Scan,
    (rules, is_service): (&PeelRules, IsService<'_>),
    cancel: &Cancel,
) -> Result<Option<PeelChain>, LedgerError> {
    let is_spend = |direction| direction == Direction::Out;
    let postings = ledger.postings(account, scan)?;
    let spends = postings.filter(|posting| posting.as_ref().map_or(true, |posting| is_spend(posting.direction)));
    for spend in spends.take(MOST_SPENDS) {
        let hash = ledger.transaction_head(spend?.transaction)?.hash;
        let Some(mut chain) = peel_chain(ledger, account.chain, &hash, (rules, &mut *is_service), cancel)? else {
            continue;
        };
        let before = chain.steps.len();
        chain.steps.retain(|step| scan.window.contains(step.time));
        if chain.steps.len() < before {
            chain.end = PeelEnd::Truncated;
        }
        if chain.steps.len() >= rules.least_steps {
            return Ok(Some(chain));
        }
    }
    Ok(None)
}

struct Walk<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    rules: &'a PeelRules,
    is_service: IsService<'a>,
    cancel: &'a Cancel,
}

impl Walk<'_> {
    fn transaction(&self, hash: &TxHash) -> Result<Option<Transaction>, LedgerError> {
        self.cancel.check()?;
        let found = self.ledger.find_transaction(self.chain, hash)?;
        found.map(|transaction| self.ledger.transaction(transaction)).transpose()
    }

    fn step_of(&self, hash: &TxHash) -> Result<Option<(PeelStep, Transaction)>, LedgerError> {
        let Some(transaction) = self.transaction(hash)? else { return Ok(None) };
        Ok(step(&transaction, self.rules).ok().map(|step| (step, transaction)))
    }

    /// The step before one.
    fn before(
        &mut self,
        step: &PeelStep,
        transaction: &Transaction,
    ) -> Result<Option<(PeelStep, Transaction)>, LedgerError> {
        let inputs = transaction.facts.utxo.as_ref().map_or(&[][..], |utxo| &utxo.inputs);
        let [input] = inputs else { return Ok(None) };
        let Some((before, transaction)) = self.step_of(&input.previous.hash)? else { return Ok(None) };
        let goes_on = before.rest == input.previous.index && self.is_in_time(&before, step.time);
        if !goes_on || self.is_to_service(&before, &transaction)? {
            return Ok(None);
        }
        Ok(Some((before, transaction)))
    }

    /// The step after one, or why there is none.
    fn after(
        &mut self,
        before: PeelStep,
        transaction: &Transaction,
    ) -> Result<Result<(PeelStep, Transaction), PeelEnd>, LedgerError> {
        if self.is_to_service(&before, transaction)? {
            return Ok(Err(PeelEnd::Service));
        }
        let output = OutPoint { hash: before.hash, index: before.rest };
        let Some((hash, _)) = self.ledger.spender(self.chain, &output)? else { return Ok(Err(PeelEnd::Unspent)) };
        let Some(next) = self.transaction(&hash)? else { return Ok(Err(PeelEnd::Unspent)) };
        if !self.is_in_time(&before, next.head.time) {
            return Ok(Err(PeelEnd::Gap));
        }
        Ok(step(&next, self.rules).map(|step| (step, next)))
    }

    fn is_in_time(&self, before: &PeelStep, time: Timestamp) -> bool {
        self.rules.most_gap_secs.is_none_or(|most| time.secs() - before.time.secs() <= most)
    }

    fn is_to_service(&mut self, step: &PeelStep, transaction: &Transaction) -> Result<bool, LedgerError> {
        let outputs = transaction.facts.utxo.as_ref().map_or(&[][..], |utxo| &utxo.outputs);
        let owner = outputs.get(step.rest as usize).and_then(|output| output.owner);
        owner.map_or(Ok(false), |owner| (self.is_service)(&owner))
    }
}

/// A transaction as a step, or why it is none.
fn step(transaction: &Transaction, rules: &PeelRules) -> Result<PeelStep, PeelEnd> {
    let utxo = transaction.facts.utxo.as_ref().ok_or(PeelEnd::OtherForm)?;
    let view = TransactionView::new(utxo, transaction.head.block, transaction.head.time);
    if coinjoin(&view, Surroundings::default()).is_some_and(|found| found.is_detected()) {
        return Err(PeelEnd::CoinJoin);
    }
    let mut outputs: Vec<_> = view.spendable().map(|(place, output)| (output.amount, place)).collect();
    outputs.sort_unstable();
    let [(peeled_amount, peeled), (rest_amount, rest)] = outputs[..] else { return Err(PeelEnd::OtherForm) };
    let whole = u128::from(peeled_amount) + u128::from(rest_amount);
    let is_small = u128::from(peeled_amount) * 100 <= whole * u128::from(rules.most_peeled_percent);
    if !spends_one_coin(utxo) || !is_small || peeled_amount < rules.least_peeled {
        return Err(PeelEnd::OtherForm);
    }
    let place = |place: usize| u32::try_from(place).map_err(|_| PeelEnd::OtherForm);
    Ok(PeelStep {
        hash: transaction.head.hash,
        block: transaction.head.block,
        time: transaction.head.time,
        peeled: place(peeled)?,
        peeled_amount: Amount::from(peeled_amount),
        rest: place(rest)?,
        rest_amount: Amount::from(rest_amount),
    })
}

/// One input, or all inputs from one address.
fn spends_one_coin(utxo: &UtxoFacts) -> bool {
    let owner = |place: usize| utxo.inputs[place].spent.as_ref().and_then(|spent| spent.owner);
    match utxo.inputs.len() {
        0 => false,
        1 => true,
        inputs => owner(0).is_some() && (1..inputs).all(|place| owner(place) == owner(0)),
    }
}
