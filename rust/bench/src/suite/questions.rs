//! The questions of a preset.

use std::collections::BTreeSet;

use super::answer::Query;
use crate::generator::{Generator, QuerySets, Ranks};

/// Questions that are reported together.
#[derive(Debug, Clone)]
pub struct Group {
    /// Light, medium, heavy or all.
    pub set: &'static str,
    /// One for each account of the set.
    pub queries: Vec<Query>,
    /// Times that each engine is asked at least.
    pub runs: u64,
}

/// All groups, in the order of the report.
#[must_use]
pub fn groups(generator: &Generator, ranks: &Ranks, sets: &QuerySets) -> Vec<Group> {
    // The middle half of the whole time, and a quarter of a year out of two, whatever the preset.
    let span = u32::try_from(generator.preset().transfers() * 315 / 100).unwrap_or(u32::MAX);
    let start = 1_672_531_200_u32;
    let (half_since, half_until) = (start + span / 4, start + span / 4 * 3);
    let (quarter_since, quarter_until) = (start + span / 2, start + span / 2 + span / 8);
    let (common, rare) = (ranks.token(5), ranks.token(190));

    let of = |set: &[u32]| -> Vec<u32> { set.iter().map(|&id| ranks.account(id)).collect() };
    let all = [("light", of(&sets.light)), ("medium", of(&sets.medium)), ("heavy", of(&sets.heavy))];
    let mut groups = Vec::new();
    let mut push = |set: &'static str, accounts: &[u32], query: &dyn Fn(u32) -> Query| {
        let runs = if set.starts_with("heavy") { 9 } else { 50 };
        groups.push(Group { set, queries: accounts.iter().map(|&account| query(account)).collect(), runs });
    };
    for (set, accounts) in &all {
        push(set, accounts, &|account| Query::Page { account });
    }
    for (set, accounts) in &all[1..] {
        push(set, accounts, &|account| Query::DeepPage { account, until: start + span / 2 });
    }
    for (set, token) in [("heavy", common), ("heavy, rare token", rare)] {
        push(set, &all[2].1, &|account| Query::Filter { account, token, since: quarter_since, until: quarter_until });
    }
    for (set, accounts) in &all {
        push(set, accounts, &|account| Query::Count { account });
    }
    for (set, accounts) in &all {
        push(set, accounts, &|account| Query::Full { account });
    }
    for (set, accounts) in &all[1..] {
        push(set, accounts, &|account| Query::Windowed { account, since: half_since, until: half_until });
    }
    for cap in [10, 50, 200] {
        for (set, accounts) in &all[1..] {
            push(set, accounts, &|account| Query::Trace { account, cap });
        }
    }
    let tokens = sets.tokens.iter().map(|&token| Query::Holders { token: ranks.token(token) });
    groups.push(Group { set: "of a token", queries: tokens.collect(), runs: 50 });
    for query in [Query::Concentration, Query::Balances, Query::Features] {
        groups.push(Group { set: "all", queries: vec![query], runs: 9 });
    }
    groups.retain(|group| !group.queries.is_empty());
    groups
}

/// Every account that some question is about.
#[must_use]
pub fn accounts(groups: &[Group]) -> BTreeSet<u32> {
    groups.iter().flat_map(|group| &group.queries).map(|query| query.account()).collect()
}

/// Every token whose holders some question is about.
#[must_use]
pub fn tokens(groups: &[Group]) -> BTreeSet<u8> {
    let token = |query: &Query| if let Query::Holders { token } = query { Some(*token) } else { None };
    groups.iter().flat_map(|group| &group.queries).filter_map(token).collect()
}
