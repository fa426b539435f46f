//! The accounts to ask about: with few, some and very many transfers.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::chunk::Generator;
use super::preset::TOKENS;

/// Accounts by how much there is to read of them. Degrees count a transfer to oneself twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuerySets {
    /// 200 of about 20 rows.
    pub light: Vec<u32>,
    /// 40 of about 10,000 rows.
    pub medium: Vec<u32>,
    /// 4 of about one row in 40 of all: 500,000 of 20 M.
    pub heavy: Vec<u32>,
    /// Accounts that occur at all.
    pub active: usize,
    /// Degrees of the ten with most.
    pub top_degrees: Vec<u32>,
    /// The smallest and the largest degree of the light, the medium and the heavy ones.
    pub spans: [(u32, u32); 3],
    /// Up to four tokens: those that most transfers are of where none of them moves 2^128 or more, so that peers hold
    /// every balance exactly.
    pub tokens: Vec<u8>,
}

impl QuerySets {
    /// Counts the degrees over all rows and takes the accounts around each size in the list sorted by degree.
    #[must_use]
    pub fn of(generator: &Generator) -> Self {
        let transfers = generator.preset().transfers();
        let (degrees, tokens) = counted(generator);
        let mut order: Vec<u32> = (0..generator.preset().accounts()).filter(|&id| degrees[id as usize] > 0).collect();
        order.par_sort_unstable_by_key(|&id| (Reverse(degrees[id as usize]), id));

        let around = |degree: u64, count: usize| {
            let middle = order.partition_point(|&id| u64::from(degrees[id as usize]) > degree);
            let first = middle.saturating_sub(count / 2).min(order.len().saturating_sub(count));
            order[first..(first + count).min(order.len())].to_vec()
        };
        let span = |set: &[u32]| {
            let of = |id: Option<&u32>| id.map_or(0, |&id| degrees[id as usize]);
            (of(set.last()), of(set.first()))
        };
        let (light, heavy) = (around(20, 200), around(transfers / 40, 4));
        let medium = around((transfers / 100).min(10_000), 40);
        Self {
            spans: [span(&light), span(&medium), span(&heavy)],
            light,
            medium,
            heavy,
            active: order.len(),
            top_degrees: order.iter().take(10).map(|&id| degrees[id as usize]).collect(),
            tokens,
        }
    }
}

/// Postings of each account, and the tokens that are asked about.
fn counted(generator: &Generator) -> (Vec<u32>, Vec<u8>) {
    let mut degrees = vec![0; generator.preset().accounts() as usize];
    // Transfers of each token; none of those that moved more than peers can hold.
    let mut tokens = [Some(0_u32); TOKENS as usize];
    for number in 0..generator.preset().chunks() {
        let chunk = generator.chunk(number);
        for &account in chunk.from.iter().chain(&chunk.to) {
            degrees[account as usize] += 1;
        }
        for &token in &chunk.token {
            let count = &mut tokens[usize::from(token)];
            *count = count.map(|count| count + 1);
        }
        for &(place, _) in &chunk.high {
            tokens[usize::from(chunk.token[place as usize])] = None;
        }
    }
    let mut exact: Vec<(u32, u8)> =
        tokens.iter().zip(0..).filter_map(|(count, token)| Some((count.filter(|&count| count > 0)?, token))).collect();
    exact.sort_unstable_by_key(|&(count, token)| (Reverse(count), token));
    (degrees, exact.into_iter().take(4).map(|(_, token)| token).collect())
}
