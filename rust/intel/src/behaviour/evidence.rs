//! What a detection rests on.

use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Usd};

use super::transfer::Transfer;

/// Most transactions and addresses that a detection lists.
pub const MOST_LISTED: usize = 10;

/// One detector's find.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// How marked it is: 0 at the threshold, 1 from the full value on.
    pub intensity: f64,
    /// How many episodes.
    pub occurrences: u64,
    /// When the first one began, epoch seconds.
    pub first: i64,
    /// When the last one ended, epoch seconds.
    pub last: i64,
    /// By what it can be checked.
    pub evidence: Evidence,
}

/// By what a detection can be checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    /// Transactions of the most marked episode, in order of time, at most ten.
    pub transactions: Vec<TransactionRef>,
    /// The length of the window of the rule; `None` for rules about all that is known of the address.
    pub window_secs: Option<i64>,
    /// What was counted and summed, by the names of the documentation.
    pub facts: Vec<(&'static str, Fact)>,
}

/// One measured value.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A number of something.
    Count(u64),
    /// US dollars.
    Usd(Usd),
    /// A share or a factor.
    Ratio(f64),
    /// Seconds.
    Secs(i64),
    /// Whole units of an asset.
    Units(f64),
    /// A word.
    Word(&'static str),
    /// Addresses in order, at most ten.
    Addresses(Vec<Address>),
}

impl Evidence {
    /// Evidence in these movements, of which the first ten transactions are named.
    pub(super) fn of<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> Self {
        let mut transactions: Vec<TransactionRef> = Vec::new();
        for transfer in transfers {
            if transactions.len() == MOST_LISTED {
                break;
            }
            if !transactions.contains(&transfer.transaction) {
                transactions.push(transfer.transaction);
            }
        }
        Self { transactions, ..Self::default() }
    }

    /// With the window of the rule.
    pub(super) fn within(self, secs: i64) -> Self {
        Self { window_secs: Some(secs), ..self }
    }

    /// With a measured value.
    pub(super) fn with(mut self, name: &'static str, fact: Fact) -> Self {
        self.facts.push((name, fact));
        self
    }

    /// With a number of something.
    pub(super) fn count(self, name: &'static str, count: usize) -> Self {
        self.with(name, Fact::Count(count as u64))
    }
}
