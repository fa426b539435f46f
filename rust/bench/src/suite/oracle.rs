//! The answers of the rows, by looking at every one of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use super::answer::{Answer, Group, Holder, Query, Row};
use super::{Error, Result};
use crate::generator::{Chunk, Generator, Ranks};

/// Rows that a page has.
pub const PAGE: usize = 100;
/// Holders that a page has.
pub const HOLDERS: usize = 100;
/// Groups that a ranking shows.
pub const TOP: usize = 20;

/// All rows of the accounts that are asked about, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Oracle {
    rows: HashMap<u32, Vec<Row>>,
    /// Received less sent of every account, by token.
    balances: HashMap<u8, HashMap<u32, i128>>,
    /// Strongest edges need the grouped edges of everybody: filled when traces are asked for.
    edges: Edges,
}

/// Outgoing edges of every account: where each account's edges begin, receivers and counts, by receiver.
#[derive(Debug, Clone, Default)]
pub struct Edges {
    /// Places in the two columns below, one more than there are accounts.
    pub starts: Vec<u64>,
    /// Receivers, in order inside an account.
    pub to: Vec<u32>,
    /// The number of occurrences.
    pub count: Vec<u32>,
}

impl Edges {
    /// Groups the pairs of all rows; transfers to oneself are not edges.
    #[must_use]
    pub fn of(generator: &Generator, ranks: &Ranks) -> Self {
        let mut pairs: Vec<u64> = (0..generator.preset().chunks())
            .flat_map(|number| {
                let chunk = generator.chunk(number);
                let pairs = chunk.from.iter().zip(&chunk.to).filter(|(from, to)| from != to);
                pairs
                    .map(|(&from, &to)| u64::from(ranks.account(from)) << 32 | u64::from(ranks.account(to)))
                    .collect::<Vec<_>>()
            })
            .collect();
        pairs.par_sort_unstable();
        let mut edges = Self { starts: vec![0; ranks.len() + 1], ..Self::default() };
        for group in pairs.chunk_by(|one, other| one == other) {
            let (from, to) = ((group[0] >> 32) as usize, u32::try_from(group[0] & 0xffff_ffff).unwrap_or(u32::MAX));
            edges.starts[from + 1] += 1;
            edges.to.push(to);
            edges.count.push(u32::try_from(group.len()).unwrap_or(u32::MAX));
        }
        for place in 1..edges.starts.len() {
            edges.starts[place] += edges.starts[place - 1];
        }
        edges
    }

    /// Receivers and counts of an account, in order of receiver.
    pub fn outgoing(&self, account: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let bound = |place: usize| usize::try_from(self.starts[place]).unwrap_or(usize::MAX);
        let range = bound(account as usize)..bound(account as usize + 1);
        self.to[range.clone()].iter().copied().zip(self.count[range].iter().copied())
    }

    /// Number of edges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.to.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.to.is_empty()
    }
}

/// The row of a posting in a chunk, as seen from one side.
pub(super) fn row_of(chunk: &Chunk, place: usize, ranks: &Ranks, incoming: bool) -> Row {
    let (from, to) = (chunk.from[place], chunk.to[place]);
    let other = ranks.account(if incoming { from } else { to });
    let direction = if from == to { 2 } else { u8::from(!incoming) };
    Row(chunk.time[place], other, ranks.token(chunk.token[place]), direction, chunk.amount[place])
}

impl Oracle {
    /// Collects the rows of accounts and the balances in tokens, given by rank. No transfer of those tokens moves 2^127
    /// or more.
    #[must_use]
    pub fn of(generator: &Generator, ranks: &Ranks, accounts: &BTreeSet<u32>, tokens: &BTreeSet<u8>) -> Self {
        let mut rows: HashMap<u32, Vec<Row>> = accounts.iter().map(|&account| (account, Vec::new())).collect();
        let mut balances: HashMap<u8, HashMap<u32, i128>> =
            tokens.iter().map(|&token| (token, HashMap::new())).collect();
        for number in 0..generator.preset().chunks() {
            let chunk = generator.chunk(number);
            for place in 0..chunk.len() {
                let (from, to) = (ranks.account(chunk.from[place]), ranks.account(chunk.to[place]));
                if let Some(rows) = rows.get_mut(&to) {
                    rows.push(row_of(&chunk, place, ranks, true));
                }
                if from != to
                    && let Some(rows) = rows.get_mut(&from)
                {
                    rows.push(row_of(&chunk, place, ranks, false));
                }
                if let Some(balances) = balances.get_mut(&ranks.token(chunk.token[place])) {
                    let amount = chunk.amount[place].cast_signed();
                    *balances.entry(to).or_default() += amount;
                    *balances.entry(from).or_default() -= amount;
                }
            }
        }
        Self { rows, balances, edges: Edges::default() }
    }

    /// Gives it the edges that traces walk on.
    #[must_use]
    pub fn with_edges(self, edges: Edges) -> Self {
        Self { edges, ..self }
    }

    /// All rows of an account, oldest first.
    #[must_use]
    pub fn rows(&self, account: u32) -> &[Row] {
        self.rows.get(&account).map_or(&[], Vec::as_slice)
    }

    /// Returns whether the answer is what the rows say.
    ///
    /// # Errors
    /// [`Error::Wrong`] with the first difference.
    pub fn check(&self, engine: &str, query: Query, answer: &Answer) -> Result<()> {
        let account = query.account();
        let difference = match query {
            Query::Page { .. } => self.check_rows(account, answer, |_| true),
            Query::DeepPage { until, .. } => self.check_rows(account, answer, |row| row.0 <= until),
            Query::Filter { token, since, until, .. } => {
                self.check_rows(account, answer, |row| row.2 == token && (since..=until).contains(&row.0))
            }
            Query::Count { .. } => check_groups(&self.counts(account), answer),
            Query::Full { .. } => check_groups(&self.groups(account, 0, u32::MAX), answer),
            Query::Windowed { since, until, .. } => check_groups(&self.groups(account, since, until), answer),
            Query::Trace { cap, .. } => self.check_trace(account, cap, answer),
            Query::Holders { token } => self.check_holders(token, answer),
            // Answers about everybody are compared between engines; see `run`.
            Query::Concentration | Query::Balances | Query::Features => None,
        };
        match difference {
            None => Ok(()),
            Some(what) => Err(Error::Wrong { engine: engine.to_owned(), query: query.to_string(), account, what }),
        }
    }

    fn check_rows(&self, account: u32, answer: &Answer, wanted: impl Fn(&Row) -> bool) -> Option<String> {
        let expected: Vec<Row> =
            self.rows(account).iter().rev().filter(|row| wanted(row)).take(PAGE).copied().collect();
        let Answer::Rows(rows) = answer else { return Some(format!("{answer:?} are not rows")) };
        let differs = expected.iter().zip(rows).position(|(one, other)| one != other);
        if let Some(place) = differs {
            return Some(format!("row {place} is {:?}, expected {:?}", rows[place], expected[place]));
        }
        (rows.len() != expected.len()).then(|| format!("{} rows, expected {}", rows.len(), expected.len()))
    }

    fn counts(&self, account: u32) -> BTreeMap<(u32, u8), Group> {
        let mut groups = BTreeMap::new();
        for row in self.rows(account).iter().filter(|row| row.3 < 2) {
            groups.entry((row.1, 255)).or_insert(Group(row.1, 255, 0, 0, 0, 0)).2 += 1;
        }
        groups
    }

    fn groups(&self, account: u32, since: u32, until: u32) -> BTreeMap<(u32, u8), Group> {
        let mut groups = BTreeMap::new();
        for row in self.rows(account).iter().filter(|row| row.3 < 2 && (since..=until).contains(&row.0)) {
            let group = groups.entry((row.1, row.2)).or_insert(Group(row.1, row.2, 0, 0, row.0, row.0));
            group.2 += 1;
            group.3 = group.3.wrapping_add(row.4);
            (group.4, group.5) = (group.4.min(row.0), group.5.max(row.0));
        }
        groups
    }

    fn check_trace(&self, account: u32, cap: u32, answer: &Answer) -> Option<String> {
        let (reached, is_equal) = match answer {
            Answer::Reached(reached) => (reached, false),
            Answer::ReachedEqually(reached) => (reached, true),
            _ => return Some(format!("{answer:?} is not a trace")),
        };
        let expected = trace(account, cap, |account, strongest| {
            strongest.extend(self.edges.outgoing(account));
            strongest.sort_unstable_by_key(|&(to, count)| (Reverse(count), to));
            if is_equal {
                for (_, weight) in strongest.iter_mut() {
                    *weight = 1;
                }
            }
        });
        if reached.len() != expected.len() {
            return Some(format!("{} accounts reached, expected {}", reached.len(), expected.len()));
        }
        let differs = |(one, other): (&(u32, f64), &(u32, f64))| {
            one.0 != other.0 || (one.1 - other.1).abs() > 1e-9 * one.1.abs().max(1e-12)
        };
        let place = expected.iter().zip(reached).position(differs)?;
        Some(format!("{:?} reached, expected {:?}", reached[place], expected[place]))
    }

    fn check_holders(&self, token: u8, answer: &Answer) -> Option<String> {
        let Answer::Holders(holders) = answer else { return Some(format!("{answer:?} are not holders")) };
        let balances = self.balances.get(&token)?.iter();
        let held = |(account, balance): (&u32, &i128)| Some(Holder(*account, u128::try_from(*balance).ok()?));
        let mut expected: Vec<Holder> = balances.filter_map(held).filter(|holder| holder.1 > 0).collect();
        expected.sort_unstable_by_key(|holder| (Reverse(holder.1), holder.0));
        expected.truncate(HOLDERS);
        (*holders != expected).then(|| format!("{holders:?}, expected {expected:?}"))
    }
}

/// The trace that all engines are asked for: one unit leaves the account; at each of three hops what has arrived at a
/// node leaves it along its `cap` strongest edges in proportion to their counts (ties by receiver), and stays where it
/// is at the last hop. `strongest_first` gives the edges of an account in that order, all or the first `cap`.
pub fn trace(account: u32, cap: u32, mut strongest_first: impl FnMut(u32, &mut Vec<(u32, u32)>)) -> Vec<(u32, f64)> {
    let mut reached: BTreeMap<u32, f64> = BTreeMap::new();
    let mut frontier = BTreeMap::from([(account, 1.0)]);
    let mut edges = Vec::new();
    for _ in 0..3 {
        let mut next: BTreeMap<u32, f64> = BTreeMap::new();
        for (node, share) in std::mem::take(&mut frontier) {
            edges.clear();
            strongest_first(node, &mut edges);
            edges.truncate(cap as usize);
            let total: f64 = edges.iter().map(|&(_, count)| f64::from(count)).sum();
            for &(to, count) in &edges {
                *next.entry(to).or_default() += share * f64::from(count) / total;
            }
        }
        for (&node, &share) in &next {
            *reached.entry(node).or_default() += share;
        }
        frontier = next;
    }
    reached.into_iter().collect()
}

/// Every group shown must be a true one, and none that is left out may be larger.
fn check_groups(truth: &BTreeMap<(u32, u8), Group>, answer: &Answer) -> Option<String> {
    let Answer::Groups(groups) = answer else { return Some(format!("{answer:?} are not groups")) };
    if let Some(wrong) = groups.iter().find(|group| truth.get(&(group.0, group.1)) != Some(group)) {
        return Some(format!("{wrong:?}, expected {:?}", truth.get(&(wrong.0, wrong.1))));
    }
    let mut counts: Vec<u64> = truth.values().map(|group| group.2).collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts.truncate(TOP);
    let shown: Vec<u64> = groups.iter().map(|group| group.2).collect();
    (shown != counts).then(|| format!("counts {shown:?}, expected {counts:?}"))
}
