//! Whom to ask about: accounts with few, some and very many transfers.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::chunk::Generator;

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
}

impl QuerySets {
    /// Counts the degrees over all rows and takes the accounts around each size in the list sorted by degree.
    #[must_use]
    pub fn of(generator: &Generator) -> Self {
        let transfers = generator.preset().transfers();
        let degrees = degrees(generator);
        let mut order: Vec<u32> = (0..generator.preset().accounts()).filter(|&id| degrees[id as usize] > 0).collect();
        order.par_sort_unstable_by_key(|&id| (Reverse(degrees[id as usize]), id));

        let around = |degree: u64, count: usize| {
            let middle = order.partition_point(|&id| u64::from(degrees[id as usize]) > degree);
            let first = middle.saturating_sub(count / 2).min(order.len().saturating_sub(count));
            order[first..(first + count).min(order.len())].to_vec()
        };
        Self {
            light: around(20, 200),
            medium: around((transfers / 100).min(10_000), 40),
            heavy: around(transfers / 40, 4),
            active: order.len(),
            top_degrees: order.iter().take(10).map(|&id| degrees[id as usize]).collect(),
        }
    }
}

/// Postings of each account.
fn degrees(generator: &Generator) -> Vec<u32> {
    let mut degrees = vec![0; generator.preset().accounts() as usize];
    for number in 0..generator.preset().chunks() {
        let chunk = generator.chunk(number);
        for &account in chunk.from.iter().chain(&chunk.to) {
            degrees[account as usize] += 1;
        }
    }
    degrees
}
