//! The rules by which walks stop at accounts, and the reasons that they give.

use headwater_intel::label::CodeConfidence;
use headwater_ledger::labels::Code;
use headwater_types::Chain;

/// Distinct counterparties from which an account is a hub, where nothing is said.
pub const HUB_COUNTERPARTIES: u32 = 10_000;

/// Labels whose addresses are not looked through, where nothing is said: what leaves them is other people's money.
pub const STOP_CODES: [Code; 5] = [Code::Exchange, Code::Mixer, Code::Bridge, Code::Dex, Code::MiningPool];

/// Least reliability of a claim that stops a walk.
const MIN_RELIABILITY: f64 = 0.5;
/// Least confidence that age may leave it.
const MIN_CONFIDENCE: f64 = 0.25;

/// Returns whether a code says who an address is, as far as walks are concerned.
#[must_use]
pub fn is_reliable(code: &CodeConfidence) -> bool {
    code.reliability >= MIN_RELIABILITY && code.confidence >= MIN_CONFIDENCE
}

/// The reason for which an account is not looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// The walk has gone as far as was asked.
    DepthLimit,
    /// It is a service by its labels: what comes out of it is other people's money.
    Label,
    /// It deals with too many.
    Hub,
    /// It is a contract.
    Contract,
    /// It has no owner: anybody can spend what it holds.
    NoOwner,
    /// Nothing left it, or came to it.
    NoOutflow,
    /// Its payments are outside of the filters.
    Filtered,
    /// There was no room for it.
    FanoutLimit,
    /// Its payments are outside of the time.
    TimeRange,
    /// Only a part of its history is in the store.
    NotHeld,
    /// The work was over before it.
    TimeBudget,
}

impl Stop {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DepthLimit => "depth_limit",
            Self::Label => "label",
            Self::Hub => "hub",
            Self::Contract => "contract",
            Self::NoOwner => "no_owner",
            Self::NoOutflow => "no_outflow",
            Self::Filtered => "filtered",
            Self::FanoutLimit => "fanout_limit",
            Self::TimeRange => "time_range",
            Self::NotHeld => "not_held",
            Self::TimeBudget => "time_budget",
        }
    }
}

/// The facts about an account that the rules ask for, from the cheapest on: each is read only where those before it do not
/// decide.
pub(super) trait AccountFacts {
    /// The failure to read them.
    type Error;

    /// Returns whether anybody can spend what it holds.
    fn is_keyless(&self) -> bool;

    /// Returns the codes of its labels.
    fn codes(&self) -> Result<Vec<CodeConfidence>, Self::Error>;

    /// Returns whether its history is in the store, as far as sources say.
    fn has_history(&self) -> bool;

    /// Returns whether it is a contract.
    fn is_contract(&mut self) -> Result<bool, Self::Error>;

    /// Returns whether it dealt with more than so many accounts.
    fn deals_with_more_than(&mut self, limit: usize) -> Result<bool, Self::Error>;
}

/// The rules by which walks stop at accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct StopRules {
    /// Labels at whose addresses they stop.
    pub codes: Vec<Code>,
    /// The number of counterparties beyond which an account is a hub.
    pub max_counterparties: usize,
    /// True where they stop at contracts.
    pub at_contracts: bool,
    /// The chains on which they continue over bridges; all of the store where it is `None`.
    pub bridge_chains: Option<Vec<Chain>>,
}

impl StopRules {
    /// Stops at these labels and at hubs of the usual size, not at contracts.
    #[must_use]
    pub const fn at(codes: Vec<Code>) -> Self {
        Self { codes, max_counterparties: HUB_COUNTERPARTIES as usize, at_contracts: false, bridge_chains: None }
    }

    /// Returns the first rule that an account meets; `None` where it is to be looked through.
    pub(super) fn stop<A: AccountFacts>(&self, account: &mut A) -> Result<Option<Stop>, A::Error> {
        Ok(if account.is_keyless() {
            Some(Stop::NoOwner)
        } else if self.is_service(&account.codes()?) {
            Some(Stop::Label)
        } else if !account.has_history() {
            Some(Stop::NotHeld)
        } else if self.at_contracts && account.is_contract()? {
            Some(Stop::Contract)
        } else if account.deals_with_more_than(self.max_counterparties)? {
            Some(Stop::Hub)
        } else {
            None
        })
    }

    /// Returns whether labels say that an account is a service at which walks stop.
    pub(super) fn is_service(&self, codes: &[CodeConfidence]) -> bool {
        codes.iter().any(|code| is_reliable(code) && self.has(code.code))
    }

    /// Returns whether walks follow money over bridges.
    pub(super) fn follows_bridges(&self) -> bool {
        self.codes.contains(&Code::Bridge)
    }

    /// Returns whether walks follow money over bridges to a chain.
    pub(super) fn leads_to(&self, chain: Chain) -> bool {
        self.bridge_chains.as_ref().is_none_or(|chains| chains.contains(&chain))
    }

    /// Returns whether walks stop at an address with a code. The hot wallet of an exchange is one.
    fn has(&self, code: Code) -> bool {
        let meant = if code == Code::ExchangeHotWallet { Code::Exchange } else { code };
        self.codes.contains(&code) || self.codes.contains(&meant)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// An account that meets these rules.
    struct Facts(&'static [Stop]);

    const ORDER: [Stop; 5] = [Stop::NoOwner, Stop::Label, Stop::NotHeld, Stop::Contract, Stop::Hub];

    impl AccountFacts for Facts {
        type Error = Infallible;

        fn is_keyless(&self) -> bool {
            self.0.contains(&Stop::NoOwner)
        }

        fn codes(&self) -> Result<Vec<CodeConfidence>, Infallible> {
            let exchange = CodeConfidence { code: Code::ExchangeHotWallet, confidence: 0.25, reliability: 0.5 };
            Ok(if self.0.contains(&Stop::Label) { vec![exchange] } else { Vec::new() })
        }

        fn has_history(&self) -> bool {
            !self.0.contains(&Stop::NotHeld)
        }

        fn is_contract(&mut self) -> Result<bool, Infallible> {
            Ok(self.0.contains(&Stop::Contract))
        }

        fn deals_with_more_than(&mut self, limit: usize) -> Result<bool, Infallible> {
            assert_eq!(limit, HUB_COUNTERPARTIES as usize);
            Ok(self.0.contains(&Stop::Hub))
        }
    }

    #[test]
    fn first_rule_that_an_account_meets_stops_the_walk() {
        let rules = StopRules { at_contracts: true, ..StopRules::at(STOP_CODES.to_vec()) };
        for first in 0..=ORDER.len() {
            assert_eq!(rules.stop(&mut Facts(&ORDER[first..])), Ok(ORDER.get(first).copied()));
        }
        let at_mixers = StopRules::at(vec![Code::Mixer]);
        assert_eq!(at_mixers.stop(&mut Facts(&[Stop::Label, Stop::Contract])), Ok(None));
    }

    #[test]
    fn doubtful_labels_stop_no_walk() {
        let rules = StopRules::at(vec![Code::Mixer]);
        let mixer = CodeConfidence { code: Code::Mixer, confidence: 0.25, reliability: 0.5 };
        assert!(rules.is_service(&[mixer]));
        assert!(!rules.is_service(&[CodeConfidence { reliability: 0.49, ..mixer }]));
        assert!(!rules.is_service(&[CodeConfidence { confidence: 0.24, ..mixer }]));
        assert!(!rules.is_service(&[CodeConfidence { code: Code::Exchange, ..mixer }]));
    }
}
