//! Change and `CoinJoins` of Bitcoin, where sums and traces look at many transactions.

use headwater_intel::bitcoin::change::{RULES, judge};
use headwater_intel::bitcoin::gather::coinjoin_of;
use headwater_ledger::facts::UtxoFacts;
use headwater_ledger::read::{Account, Scan, ScriptType, Transaction, TransactionRef};
use headwater_ledger::{Cancel, Ledger};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Family};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::clusters::gathered;
use crate::request::Warnings;
use crate::walk::attributed;

/// Least confidence from which an output counts as change. From 0.80 on one is named.
const LEAST_CONFIDENCE: f64 = 0.90;

/// Transactions that one call judges, some seconds of work: each takes its inputs, and what spends its outputs.
const MAX_JUDGED: u64 = 20_000;

/// Which pairs of Bitcoin transactions count as counterparties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UtxoPairs {
    /// All of them.
    #[default]
    All,
    /// Those of transactions that are no CoinJoin.
    NoCoinJoins,
    /// Those of them that pay somebody else: not to an output that is change.
    Payments,
}

impl UtxoPairs {
    /// The pairs that a scan of an account ranks, and its movements where they are too many to look for change in their
    /// transactions. Then it is listed of all of them, so that rows compare.
    pub fn within_limit(
        self,
        ledger: &dyn Ledger,
        (account, scan): (Option<&Account>, &Scan),
        cancel: &Cancel,
    ) -> Result<(Self, Option<u64>), Error> {
        let is_long = |account: &&Account| account.chain.family() == Family::Utxo && account.postings > MAX_JUDGED;
        let Some(account) = account.filter(is_long).filter(|_| self == Self::Payments) else { return Ok((self, None)) };
        let count = ledger.count_postings(account, scan, cancel)?;
        Ok(if count > MAX_JUDGED { (Self::NoCoinJoins, Some(count)) } else { (self, None) })
    }
}

/// What a ranking met in UTXO transactions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JudgedPairs {
    /// Transactions that are `CoinJoins`, and so make no pairs.
    pub coinjoins: u64,
    /// Movements too many to look for change.
    pub unjudged: Option<u64>,
}

impl JudgedPairs {
    /// Warns of change that is listed.
    pub fn warn(&self, warnings: &mut Warnings) {
        if let Some(unjudged) = self.unjudged {
            let message = format!(
                "change is looked for in at most {MAX_JUDGED} transactions, and there are {unjudged}: outputs that are change are \
                 listed too; ask for a shorter time"
            );
            warnings.add("change_limit", Some("include_change"), message);
        }
    }
}

/// Who paid whom in a transaction; `None` where it is a CoinJoin that makes no pairs.
pub(crate) fn paired(
    ledger: &dyn Ledger,
    transaction: &Transaction,
    pairs: UtxoPairs,
    cancel: &Cancel,
) -> Result<Option<Attribution>, Error> {
    if pairs == UtxoPairs::All {
        return Ok(Some(attributed(transaction, None)));
    }
    if coinjoin_of(ledger, transaction, cancel)?.is_some_and(|found| found.excludes()) {
        return Ok(None);
    }
    let change = match pairs {
        UtxoPairs::Payments => change_of(ledger, transaction.clone(), cancel)?,
        UtxoPairs::All | UtxoPairs::NoCoinJoins => None,
    };
    Ok(Some(attributed(transaction, change)))
}

/// The output of a transaction that is change; `None` where it went to an address that paid, as nothing left that.
fn change_of(ledger: &dyn Ledger, transaction: Transaction, cancel: &Cancel) -> Result<Option<usize>, Error> {
    if !transaction.facts.utxo.as_ref().is_some_and(may_have_change) {
        return Ok(None);
    }
    let Some(gathered) = gathered(ledger, transaction, cancel)? else { return Ok(None) };
    let case = gathered.case();
    let change = judge(&case, RULES).change.ok().filter(|change| change.confidence >= LEAST_CONFIDENCE);
    let is_of_payer = |output: usize| {
        let owner = case.transaction.outputs()[output].owner;
        owner.is_some_and(|owner| case.transaction.input_addresses().contains(&owner))
    };
    Ok(change.map(|change| change.output).filter(|output| !is_of_payer(*output)))
}

/// Whether somebody paid, and more than one output can be spent.
fn may_have_change(utxo: &UtxoFacts) -> bool {
    !utxo.inputs.is_empty() && utxo.outputs.iter().filter(|output| output.script != ScriptType::OpReturn).count() > 1
}

/// The change of the transactions that a walk comes to.
#[derive(Debug, Default)]
pub(crate) struct ChangeBook {
    /// The address that the change of a transaction went to.
    owners: FxHashMap<TransactionRef, Option<Address>>,
    /// Transactions that were not judged, as too many were before.
    unjudged: u64,
}

impl ChangeBook {
    /// The address that the change of a transaction went to, other than those that paid.
    pub fn owner(
        &mut self,
        ledger: &dyn Ledger,
        transaction: TransactionRef,
        cancel: &Cancel,
    ) -> Result<Option<Address>, Error> {
        if let Some(owner) = self.owners.get(&transaction) {
            return Ok(*owner);
        }
        if self.owners.len() as u64 >= MAX_JUDGED {
            self.unjudged += 1;
            return Ok(None);
        }
        let whole = ledger.transaction(transaction)?;
        let outputs: Vec<_> =
            whole.facts.utxo.iter().flat_map(|utxo| &utxo.outputs).map(|output| output.owner).collect();
        let owner = change_of(ledger, whole, cancel)?.and_then(|place| outputs[place]);
        self.owners.insert(transaction, owner);
        Ok(owner)
    }

    /// Warns of payments that may be change.
    pub fn warn(&self, warnings: &mut Warnings) {
        if self.unjudged > 0 {
            let message = format!(
                "change was looked for in the first {MAX_JUDGED} transactions: in those that the walk came to later, change counts \
                 as paid; ask for fewer hops or a shorter time"
            );
            warnings.add_counted("change_limit", message, self.unjudged);
        }
    }
}
