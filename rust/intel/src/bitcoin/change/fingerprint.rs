//! Properties by which software can be told: whoever spends change with the software that made it repeats them.

use headwater_ledger::read::ScriptType;

use super::candidates::{Abstention, Candidates};
use super::case::{Case, OutputCase};
use crate::bitcoin::TransactionView;

/// A property of transactions that depends on the software that wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fingerprint {
    /// Whether it has a lock time.
    LockTime,
    /// Its version.
    Version,
    /// Whether it signals that it may be replaced (BIP 125).
    Replaceable,
    /// Whether it carries witnesses.
    Segwit,
    /// Whether it spends an output of a form.
    Spends(ScriptType),
    /// All forms of the outputs that it spends.
    AddressTypes,
    /// Whether inputs and outputs stand in the order of BIP 69.
    Ordered,
    /// Whether it spends an output of its own block.
    ZeroConf,
    /// One, two or more inputs, and one, two or more outputs.
    InOutCount,
    /// One, two or more outputs.
    OutputCount,
    /// Its fee.
    AbsoluteFee,
    /// Its fee per virtual byte, in whole satoshis.
    RelativeFee,
    /// Its fee per 1,000 virtual bytes.
    FeePerKilobyte,
}

impl Fingerprint {
    /// What a transaction has of the property, as a number that only equals itself; `None` where it is not known.
    fn of(self, transaction: &TransactionView<'_>) -> Option<u64> {
        match self {
            Self::LockTime => transaction.facts().lock_time.map(|time| u64::from(time > 0)),
            Self::Version => transaction.facts().version.map(u64::from),
            Self::Replaceable => transaction.facts().signals_replacement().map(u64::from),
            Self::Segwit => transaction.is_segwit().map(u64::from),
            Self::Spends(script) => {
                let found = transaction.spent().any(|spent| spent.script == script);
                (found || transaction.has_known_inputs()).then_some(u64::from(found))
            }
            Self::AddressTypes => transaction
                .has_known_inputs()
                .then(|| transaction.spent().fold(0, |all, spent| all | 1 << spent.script as u64)),
            Self::Ordered => transaction.is_ordered().map(u64::from),
            Self::ZeroConf => transaction.spends_own_block().map(u64::from),
            Self::InOutCount => Some(few(transaction.inputs().len()) * 3 + few(transaction.outputs().len())),
            Self::OutputCount => Some(few(transaction.outputs().len())),
            Self::AbsoluteFee => transaction.fee(),
            Self::RelativeFee => transaction.fee_per_kilobyte().map(|fee| fee / 1_000),
            Self::FeePerKilobyte => transaction.fee_per_kilobyte(),
        }
    }

    /// The outputs that are spent by a transaction with the same property, and those of which that is not known: not spent,
    /// or by a transaction that does not tell. Where no output is known to be spent alike, none is left, since most
    /// properties differ between any two transactions. Lock times alone rule out without that.
    pub(super) fn candidates(self, case: &Case<'_>) -> Result<Candidates, Abstention> {
        let own = self.of(&case.transaction).ok_or(Abstention::PropertyUnknown)?;
        let spent = case.outputs_where(|_, output| output.spender.is_some());
        if spent.is_empty() {
            return Err(Abstention::Unspent);
        }
        let known = |output: &OutputCase<'_>| output.spender.and_then(|spender| self.of(&spender));
        let is_alike = case.outputs_where(|_, output| known(output) == Some(own));
        if is_alike.is_empty() && self != Self::LockTime {
            return Ok(Candidates::default());
        }
        Ok(case.outputs_where(|_, output| known(output).is_none_or(|other| other == own)))
    }
}

/// One, two, or more.
fn few(count: usize) -> u64 {
    match count {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}
