//! Sums over balances, bucket by bucket.

use headwater_ledger::{Cancel, LedgerError};
use headwater_types::{Amount, SumOverflow};
use rayon::prelude::*;
use ruint::aliases::U256;

use super::Balances;
use super::order::{Moments, Scratch};
use super::store::{BUCKETS, Store, WIDE, lowest_of};
use super::wide::{Int1024, Sum};

/// Buckets that one thread takes at a time.
const RANGE: usize = 16;

/// A bucket that holds something.
struct Bucket {
    number: usize,
    count: usize,
    sum: U256,
}

/// The sums over buckets.
#[derive(Default)]
struct Part {
    buckets: Vec<Bucket>,
    squares: Sum,
    ranked: Sum,
}

impl Part {
    /// Adds a bucket with balances L + d(j), of which b are below: `Σ x² = L (Σ x + Σ d) + Σ d²`, and
    /// `Σ i·x(i) = b Σ x + L n (n + 1) / 2 + Σ j·d(j)`.
    fn add(&mut self, number: usize, (below, count): (usize, usize), moments: &Moments) {
        let (n, lowest) = (Sum::from(count), Sum::from(lowest_of(number)));
        let [offsets, ranked] =
            [moments.sum, moments.ranked].map(|[low, high]| Sum::from(low) + (Sum::from(high) << 64));
        let sum: Sum = n * lowest + offsets;
        self.squares += lowest * (sum + offsets) + moments.squares.total();
        self.ranked += Sum::from(below) * sum + ((lowest * n * (n + Sum::ONE)) >> 1) + ranked;
        self.buckets.push(Bucket { number, count, sum: sum.to() });
    }

    fn join(mut self, other: Self) -> Self {
        self.buckets.extend(other.buckets);
        self.squares += other.squares;
        self.ranked += other.ranked;
        self
    }
}

/// Small balances by bucket, large ones in order.
pub(super) struct Buckets<'a> {
    store: Store<'a>,
    /// The sums of small balances.
    sums: Part,
    /// In rising order.
    large: Vec<U256>,
    /// Holders of more than nothing.
    pub(super) holders: usize,
    /// The total of all balances.
    pub(super) total: U256,
}

impl<'a> Buckets<'a> {
    pub(super) fn new(balances: Balances<'a>, cancel: &Cancel) -> Result<Self, LedgerError> {
        let store = Store::new(balances.small, cancel)?;
        // Those of nothing have the first bucket for themselves; they rank below all, but are not holders.
        let zeros = store.below(1);
        let of_range = |(narrow, wide): &mut (Scratch<u64>, Scratch<u128>), range: usize| {
            cancel.check()?;
            let mut part = Part::default();
            let first = (range * RANGE).max(1);
            let mut below = store.below(first);
            for bucket in first..(range + 1) * RANGE {
                let end = store.below(bucket + 1);
                if end > below {
                    let moments =
                        if bucket < WIDE { store.moments(bucket, narrow) } else { store.moments(bucket, wide) };
                    part.add(bucket, (below - zeros, end - below), &moments);
                }
                below = end;
            }
            Ok(part)
        };
        let parts: Vec<Part> = (0..BUCKETS / RANGE)
            .into_par_iter()
            .map_init(Default::default, of_range)
            .collect::<Result<_, LedgerError>>()?;
        let sums = parts.into_iter().fold(Part::default(), Part::join);
        let as_integer = |balance: &Amount| U256::from_be_bytes(balance.to_be_bytes());
        let mut large: Vec<_> = balances.large.iter().map(as_integer).filter(|balance| !balance.is_zero()).collect();
        large.sort_unstable();
        let mut all = sums.buckets.iter().map(|bucket| bucket.sum).chain(large.iter().copied());
        let total = all.try_fold(U256::ZERO, U256::checked_add).ok_or(SumOverflow)?;
        Ok(Self { holders: balances.small.len() - zeros + large.len(), store, sums, large, total })
    }

    /// `Σ x²` and `Σ i·x(i)`, with i = 1 for the smallest.
    pub(super) fn moments(&self) -> (Int1024, Int1024) {
        let sums = (Int1024::from(self.sums.squares), Int1024::from(self.sums.ranked));
        let first = self.holders - self.large.len() + 1;
        (first..).zip(&self.large).fold(sums, |(squares, ranked), (rank, balance)| {
            let balance = Int1024::from(*balance);
            (squares + balance * balance, ranked + balance * Int1024::from(rank))
        })
    }

    /// Takes the largest, one after the other, until their number and sum are enough; or all of them.
    pub(super) fn largest(&self, enough: impl Fn(usize, U256) -> bool) -> (usize, U256) {
        let (mut count, mut sum) = (0, U256::ZERO);
        for balance in self.large.iter().rev() {
            if enough(count, sum) {
                return (count, sum);
            }
            (count, sum) = (count + 1, sum + balance);
        }
        for bucket in self.sums.buckets.iter().rev() {
            if !enough(count + bucket.count, sum + bucket.sum) {
                (count, sum) = (count + bucket.count, sum + bucket.sum);
                continue;
            }
            for balance in self.store.balances(bucket.number).iter().rev() {
                if enough(count, sum) {
                    break;
                }
                (count, sum) = (count + 1, sum + balance);
            }
            break;
        }
        (count, sum)
    }
}
