//! Windows that slide over movements, the episodes that they find, and the evidence of a detection.

use std::ops::Range;

use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Asset, Usd};

use super::MAX_LISTED;
use super::history::{NOBODY, Transfer};

/// For each movement the longest run from it on that lasts at most so many seconds. Both ends only move forward, so
/// all windows together cost O(n).
pub(super) fn windows(transfers: &[Transfer], secs: i64) -> impl Iterator<Item = Range<usize>> {
    let mut end = 0;
    (0..transfers.len()).map(move |start| {
        let until = transfers[start].time.saturating_add(secs);
        end = end.max(start);
        while transfers.get(end).is_some_and(|transfer| transfer.time <= until) {
            end += 1;
        }
        start..end
    })
}

/// A stretch of movements whose ends only move forward, with its sum and how many are in it of each counterparty.
pub(super) struct Stretch<'t> {
    transfers: &'t [Transfer],
    range: Range<usize>,
    of_each: Vec<u32>,
    distinct: usize,
    usd: Usd,
}

impl<'t> Stretch<'t> {
    /// An empty one at the beginning, of an address with so many counterparties.
    pub fn new(transfers: &'t [Transfer], counterparties: usize) -> Self {
        Self { transfers, range: 0..0, of_each: vec![0; counterparties], distinct: 0, usd: Usd::ZERO }
    }

    /// Moves on to a range that begins and ends no earlier than the last one.
    pub fn slide(&mut self, to: Range<usize>) {
        for place in self.range.end..to.end {
            let transfer = &self.transfers[place];
            self.usd += transfer.usd;
            if let Some(count) = self.of_each.get_mut(transfer.other as usize) {
                self.distinct += usize::from(*count == 0);
                *count += 1;
            }
        }
        for place in self.range.start..to.start {
            let transfer = &self.transfers[place];
            self.usd = self.usd - transfer.usd;
            if let Some(count) = self.of_each.get_mut(transfer.other as usize) {
                *count -= 1;
                self.distinct -= usize::from(*count == 0);
            }
        }
        self.range = to;
    }

    /// Moves on to the movements from one time to another, both included.
    pub fn slide_to_times(&mut self, from: i64, to: i64) {
        let start = self.range.start + self.transfers[self.range.start..].partition_point(|other| other.time < from);
        let last = self.range.end.max(start);
        let end = last + self.transfers[last..].partition_point(|other| other.time <= to);
        self.slide(start..end);
    }

    /// Distinct counterparties in it.
    pub const fn distinct(&self) -> usize {
        self.distinct
    }

    /// US dollars in it.
    pub const fn usd(&self) -> Usd {
        self.usd
    }

    /// The movements in it.
    pub fn transfers(&self) -> &'t [Transfer] {
        &self.transfers[self.range.clone()]
    }
}

/// The finds of windows: how many episodes, when, and the most marked one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Episodes<T> {
    /// How many windows hold that do not overlap.
    pub count: u64,
    /// When the first began.
    pub first: i64,
    /// When the last ended.
    pub last: i64,
    /// The largest measure.
    pub measure: f64,
    /// The note of the window with the largest measure, the first of several.
    pub best: T,
    until: i64,
}

/// Adds a window in which a rule holds, from one time to another.
pub(super) fn note<T>(
    episodes: &mut Option<Episodes<T>>,
    (from, until): (i64, i64),
    measure: f64,
    best: impl FnOnce() -> T,
) {
    match episodes {
        None => *episodes = Some(Episodes { count: 1, first: from, last: until, measure, best: best(), until }),
        Some(episodes) => {
            if from > episodes.until {
                episodes.count += 1;
                episodes.until = until;
            }
            episodes.last = episodes.last.max(until);
            if measure > episodes.measure {
                (episodes.measure, episodes.best) = (measure, best());
            }
        }
    }
}

/// The episodes of two looks at one address together; of equal measures the first is shown.
pub(super) fn join<T>(one: Option<Episodes<T>>, other: Option<Episodes<T>>) -> Option<Episodes<T>> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return one.or(other),
    };
    let (count, first, last) = (one.count + other.count, one.first.min(other.first), one.last.max(other.last));
    let best = if other.measure > one.measure { other } else { one };
    Some(Episodes { count, first, last, ..best })
}

/// A measure mapped from its threshold (0) to its full value (1); 1 from there on.
pub(super) fn intensity(measure: f64, threshold: f64, full: f64) -> f64 {
    if measure >= full { 1.0 } else { ((measure - threshold) / (full - threshold)).clamp(0.0, 1.0) }
}

/// A count as a measure.
#[expect(clippy::cast_precision_loss, reason = "counts of movements are far below 2^53")]
pub(super) fn measure(count: usize) -> f64 {
    count as f64
}

/// Distinct counterparties, nobody apart.
pub(super) fn distinct<'t>(transfers: impl IntoIterator<Item = &'t Transfer>) -> usize {
    let mut others: Vec<_> = transfers.into_iter().map(|transfer| transfer.other).filter(|&of| of != NOBODY).collect();
    others.sort_unstable();
    others.dedup();
    others.len()
}

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
    /// The counts and sums, by the names of the documentation.
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
