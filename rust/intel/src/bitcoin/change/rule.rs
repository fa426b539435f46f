//! The rules by which change is told from payments.

use std::fmt;

use headwater_ledger::read::ScriptType;

use super::amounts::{address_type, optimal_change, optimal_change_with_fee, peeling_chain, power_of_ten};
use super::candidates::{Abstention, Candidates};
use super::case::Case;
use super::fingerprint::Fingerprint;
use super::history::{address_reuse, fresh_output, legacy, multi_input_change, one_time_change};

/// One rule: it rules out outputs that are no change, and votes where exactly one remains.
///
/// Rules compose, for what they leave are sets: see [`Candidates`]. A further rule is one line in [`RULES`].
///
/// ```
/// use headwater_intel::bitcoin::TransactionView;
/// use headwater_intel::bitcoin::change::{Case, rule};
/// use headwater_ledger::facts::{OutputFacts, UtxoFacts};
/// use headwater_ledger::read::ScriptType;
/// use headwater_types::Timestamp;
///
/// let output = |amount| OutputFacts { owner: None, amount, script: ScriptType::P2wpkh, data: None };
/// let facts = UtxoFacts::new(false, Vec::new(), vec![output(5_000_000), output(1_234_567)]);
/// let case = Case::new(TransactionView::new(&facts, 1, Timestamp::new(0)));
/// assert_eq!(rule("power_of_ten_6").unwrap().vote(&case), Ok(Some(1)), "somebody was paid 0.05 BTC");
/// assert_eq!(rule("power_of_ten_7").unwrap().vote(&case), Ok(None), "neither is a multiple of 0.1 BTC");
/// ```
#[derive(Clone, Copy)]
pub struct Rule {
    name: &'static str,
    weight: f64,
    evidence: Evidence,
    candidates: fn(&Case<'_>) -> Result<Candidates, Abstention>,
}

/// How votes of a rule count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Alone: it says whose the output is.
    Decisive,
    /// With the other groups: of a group the vote of the largest rank counts, and of equal ranks the largest weight.
    Sign(Group, u8),
}

/// Rules that look at one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Group {
    RoundAmount,
    Script,
    Version,
    LockTime,
    Replacement,
    OptimalChange,
    FreshOutput,
    PeelingChain,
    Counts,
    Fees,
    Ordering,
}

impl Rule {
    const fn sign(
        name: &'static str,
        weight: f64,
        group: Group,
        candidates: fn(&Case<'_>) -> Result<Candidates, Abstention>,
    ) -> Self {
        Self { name, weight, evidence: Evidence::Sign(group, 0), candidates }
    }

    const fn decisive(
        name: &'static str,
        weight: f64,
        candidates: fn(&Case<'_>) -> Result<Candidates, Abstention>,
    ) -> Self {
        Self { name, weight, evidence: Evidence::Decisive, candidates }
    }

    /// More zeros stand before fewer.
    const fn round(
        name: &'static str,
        weight: f64,
        digits: u8,
        candidates: fn(&Case<'_>) -> Result<Candidates, Abstention>,
    ) -> Self {
        Self { name, weight, evidence: Evidence::Sign(Group::RoundAmount, digits), candidates }
    }

    /// The name that answers carry.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What a vote counts for, in log-odds: `ln(correct / wrong)` as measured, 7 and 9 where the rule is decisive.
    #[must_use]
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    /// Returns whether it says whose the output is: then no other sign is asked.
    #[must_use]
    pub const fn is_decisive(&self) -> bool {
        matches!(self.evidence, Evidence::Decisive)
    }

    pub(super) const fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// The outputs that the rule cannot rule out.
    ///
    /// # Errors
    /// Why it says nothing of the transaction.
    pub fn candidates(&self, case: &Case<'_>) -> Result<Candidates, Abstention> {
        if case.transaction.owned().take(2).count() < 2 {
            return Err(Abstention::OtherForm);
        }
        (self.candidates)(case)
    }

    /// The output that the rule votes for: the only one that it cannot rule out.
    ///
    /// # Errors
    /// As [`Rule::candidates`].
    pub fn vote(&self, case: &Case<'_>) -> Result<Option<usize>, Abstention> {
        Ok(self.candidates(case)?.single())
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Rule {}

/// Every rule. Weights are those of Möser and Narayanan (2022), measured on 34 million transactions with two outputs
/// whose change was revealed later; those of `peeling_chain`, `legacy`, `fixed_fee` and `one_time_change` are set by hand.
pub static RULES: &[Rule] = {
    use Group::{
        Counts, Fees, FreshOutput, LockTime, OptimalChange, Ordering, PeelingChain, Replacement, Script, Version,
    };
    &[
        Rule::decisive("address_reuse", 7.0, address_reuse),
        Rule::decisive("multi_input_change", 9.0, multi_input_change),
        Rule::sign("fresh_output", 3.17, FreshOutput, fresh_output),
        Rule::sign("legacy", 2.5, FreshOutput, legacy),
        Rule::sign("one_time_change", 2.5, FreshOutput, one_time_change),
        Rule::round("power_of_ten_2", 3.68, 2, |case| Ok(power_of_ten(case, 2))),
        Rule::round("power_of_ten_3", 4.22, 3, |case| Ok(power_of_ten(case, 3))),
        Rule::round("power_of_ten_4", 4.30, 4, |case| Ok(power_of_ten(case, 4))),
        Rule::round("power_of_ten_5", 3.99, 5, |case| Ok(power_of_ten(case, 5))),
        Rule::round("power_of_ten_6", 3.75, 6, |case| Ok(power_of_ten(case, 6))),
        Rule::round("power_of_ten_7", 5.36, 7, |case| Ok(power_of_ten(case, 7))),
        Rule::sign("optimal_change", 2.45, OptimalChange, optimal_change),
        Rule::sign("optimal_change_with_fee", 2.47, OptimalChange, optimal_change_with_fee),
        Rule::sign("address_type", 2.05, Script, address_type),
        Rule::sign("peeling_chain", 3.0, PeelingChain, peeling_chain),
        Rule::sign("locktime", 4.65, LockTime, |case| Fingerprint::LockTime.candidates(case)),
        Rule::sign("version", 4.18, Version, |case| Fingerprint::Version.candidates(case)),
        Rule::sign("rbf", 3.33, Replacement, |case| Fingerprint::Replaceable.candidates(case)),
        Rule::sign("segwit", 2.21, Script, |case| Fingerprint::Segwit.candidates(case)),
        Rule::sign("multisig", 5.54, Script, |case| Fingerprint::Spends(ScriptType::Multisig).candidates(case)),
        Rule::sign("p2pkh", 2.87, Script, |case| Fingerprint::Spends(ScriptType::P2pkh).candidates(case)),
        Rule::sign("p2sh", 2.87, Script, |case| Fingerprint::Spends(ScriptType::P2sh).candidates(case)),
        Rule::sign("p2wpkh", 2.25, Script, |case| Fingerprint::Spends(ScriptType::P2wpkh).candidates(case)),
        Rule::sign("p2wsh", 2.17, Script, |case| Fingerprint::Spends(ScriptType::P2wsh).candidates(case)),
        Rule::sign("address_types", 2.55, Script, |case| Fingerprint::AddressTypes.candidates(case)),
        Rule::sign("ordered", 1.60, Ordering, |case| Fingerprint::Ordered.candidates(case)),
        Rule::sign("zero_conf", 0.49, Ordering, |case| Fingerprint::ZeroConf.candidates(case)),
        Rule::sign("in_out_count", 0.90, Counts, |case| Fingerprint::InOutCount.candidates(case)),
        Rule::sign("output_count", 0.78, Counts, |case| Fingerprint::OutputCount.candidates(case)),
        Rule::sign("absolute_fee", 1.53, Fees, |case| Fingerprint::AbsoluteFee.candidates(case)),
        Rule::sign("relative_fee", 1.64, Fees, |case| Fingerprint::RelativeFee.candidates(case)),
        Rule::sign("fixed_fee", 1.5, Fees, |case| Fingerprint::FeePerKilobyte.candidates(case)),
    ]
};

/// The rule of a name.
#[must_use]
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}
