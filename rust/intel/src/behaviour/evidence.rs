//! What a detection rests on.

use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Asset, Usd};

use super::MAX_LISTED;
use super::history::Transfer;

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
    /// How probable a pattern at least as marked is by chance; `None` for rules without a model of chance. It is in no score.
    pub p_value: Option<f64>,
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
    /// Addresses in the order in which money passed them, at most ten.
    Path(Vec<Address>),
    /// Pairs of addresses that belong together, at most ten.
    Pairs(Vec<(Address, Address)>),
    /// A share, factor or number of whole units for each address of a path.
    Numbers(Vec<f64>),
    /// Seconds for each address of a path.
    EachSecs(Vec<i64>),
    /// Words.
    Words(Vec<&'static str>),
    /// An asset.
    Asset(Asset),
    /// A text.
    Text(String),
    /// Features of a classifier: name, value of the address (NaN where it has none), and what it adds in log-odds.
    Features(Vec<(&'static str, f64, f64)>),
}

impl Evidence {
    /// Evidence in these movements, of which the first ten transactions are named.
    pub(super) fn of<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> Self {
        Self::by(transfers.into_iter().map(|transfer| transfer.transaction))
    }

    /// Evidence in the first ten of these transactions, each once.
    pub(super) fn by(those: impl IntoIterator<Item = TransactionRef>) -> Self {
        let mut transactions: Vec<TransactionRef> = Vec::new();
        for transaction in those {
            if transactions.len() == MAX_LISTED {
                break;
            }
            if !transactions.contains(&transaction) {
                transactions.push(transaction);
            }
        }
        Self { transactions, ..Self::default() }
    }

    /// With the window of the rule.
    pub(super) fn within(self, secs: i64) -> Self {
        Self { window_secs: Some(secs), ..self }
    }

    /// With a measured value.
    pub(crate) fn with(mut self, name: &'static str, fact: Fact) -> Self {
        self.facts.push((name, fact));
        self
    }

    /// With the probability of chance.
    pub(super) fn by_chance(self, p_value: f64) -> Self {
        Self { p_value: Some(p_value), ..self }
    }

    /// With a number of something.
    pub(super) fn count(self, name: &'static str, count: usize) -> Self {
        self.with(name, Fact::Count(count as u64))
    }
}
