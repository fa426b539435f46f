//! Balances in order, as far as order is needed.

use std::ops::Range;

use headwater_ledger::{Cancel, LedgerError};
use headwater_types::Amount;
use rayon::prelude::*;
use ruint::aliases::U256;

use super::Balances;
use super::wide::{Ranked, Squares, Wide};
use crate::exact::ExactSum;

/// Leading bits below the first one that tell buckets apart.
const MANTISSA: u32 = 11;
const BUCKETS: usize = 129 << MANTISSA;
/// Balances that one thread takes at a time.
const CHUNK: usize = 1 << 20;
/// Balances of a chunk are counted in 32 bits.
const LONGEST_CHUNK: usize = 1 << 30;
/// Buckets that one thread takes at a time.
const BUCKET_RANGE: usize = 1 << MANTISSA;

/// The bucket of a balance: its highest bit and those that follow.
#[inline]
fn bucket_of(balance: u128) -> usize {
    let bits = 128 - balance.leading_zeros();
    let mantissa = if bits > MANTISSA + 1 { (balance >> (bits - 1 - MANTISSA)) as usize } else { balance as usize };
    ((bits as usize) << MANTISSA) | (mantissa & ((1 << MANTISSA) - 1))
}

/// The smallest balance of a bucket, where all of its balances differ from it by less than 2^64.
fn lowest_of(bucket: usize) -> Option<u128> {
    let bits = u32::try_from(bucket >> MANTISSA).ok()?;
    let mantissa = (bucket & ((1 << MANTISSA) - 1)) as u128;
    match bits.checked_sub(1 + MANTISSA) {
        None => Some(mantissa),
        Some(rest) if rest <= 64 => Some((1 << (bits - 1)) | mantissa << rest),
        Some(_) => None,
    }
}

/// The distances of the balances of a bucket from its lowest one, in rising order: half as wide as balances, so
/// sorted and multiplied in half the time.
#[expect(clippy::cast_possible_truncation, reason = "below 2^64, as the bucket says")]
fn sorted_offsets(chunks: &[Chunk], bucket: usize, lowest: u128, scratch: &mut Vec<u64>) {
    scratch.clear();
    for chunk in chunks {
        scratch.extend(chunk.bucket(bucket).iter().map(|balance| (balance - lowest) as u64));
    }
    scratch.sort_unstable();
}

#[derive(Clone, Copy, Default)]
struct Bucket {
    count: usize,
    sum: ExactSum,
}

/// The balances of one chunk, bucket by bucket.
struct Chunk {
    /// Where each bucket begins, and the end.
    starts: Vec<u32>,
    balances: Vec<u128>,
}

impl Chunk {
    fn new(balances: &[u128]) -> Self {
        let mut starts = vec![0_u32; BUCKETS + 1];
        for balance in balances {
            starts[bucket_of(*balance) + 1] += 1;
        }
        for bucket in 0..BUCKETS {
            starts[bucket + 1] += starts[bucket];
        }
        let mut next = starts.clone();
        let mut scattered = vec![0; balances.len()];
        for balance in balances {
            let place = &mut next[bucket_of(*balance)];
            scattered[*place as usize] = *balance;
            *place += 1;
        }
        Self { starts, balances: scattered }
    }

    fn bucket(&self, bucket: usize) -> &[u128] {
        &self.balances[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}

/// Where the balances of a bucket are found.
enum Store<'a> {
    /// In the input itself, which rises; with the place where each bucket begins.
    Rising(&'a [u128]),
    /// In the input, which falls.
    Falling(&'a [u128]),
    /// In chunks.
    Chunks(Vec<Chunk>),
}

/// Small balances by bucket, large ones in order.
pub(super) struct Buckets<'a> {
    store: Store<'a>,
    /// Counts and sums, by bucket.
    sums: Vec<Bucket>,
    /// Places among all small balances in rising order.
    starts: Vec<usize>,
    /// In rising order.
    large: Vec<Amount>,
    zeros: usize,
}

impl<'a> Buckets<'a> {
    pub(super) fn new(balances: Balances<'a>, cancel: &Cancel) -> Result<Self, LedgerError> {
        let small = balances.small;
        let store = if small.is_sorted() {
            Store::Rising(small)
        } else if small.is_sorted_by(|one, next| one >= next) {
            Store::Falling(small)
        } else {
            let chunk = |chunk| cancel.check().map(|()| Chunk::new(chunk));
            // As few as there are threads: each is one more place to look for the balances of a bucket.
            let length = small.len().div_ceil(rayon::current_num_threads()).clamp(1 << 16, LONGEST_CHUNK);
            Store::Chunks(small.par_chunks(length).map(chunk).collect::<Result<_, _>>()?)
        };
        let mut buckets = vec![Bucket::default(); BUCKETS];
        match &store {
            Store::Rising(balances) | Store::Falling(balances) => {
                for chunk in balances.chunks(CHUNK) {
                    cancel.check()?;
                    count(&mut buckets, 0, chunk);
                }
            }
            Store::Chunks(chunks) => {
                buckets.par_chunks_mut(BUCKET_RANGE).enumerate().for_each(|(number, range)| {
                    let first = number * BUCKET_RANGE;
                    for chunk in chunks {
                        let last = first + range.len();
                        let of_range = chunk.starts[first] as usize..chunk.starts[last] as usize;
                        count(range, first, &chunk.balances[of_range]);
                    }
                });
            }
        }
        let mut starts = Vec::with_capacity(BUCKETS + 1);
        let mut start = 0;
        for bucket in &buckets {
            starts.push(start);
            start += bucket.count;
        }
        starts.push(start);
        let mut large: Vec<_> = balances.large.iter().copied().filter(|balance| !balance.is_zero()).collect();
        large.sort_unstable();
        Ok(Self { store, zeros: buckets[0].count, sums: buckets, starts, large })
    }

    /// Holders of more than nothing.
    pub(super) fn holders(&self) -> usize {
        self.starts[BUCKETS] - self.zeros + self.large.len()
    }

    pub(super) fn total(&self) -> Wide {
        let mut sum = self.large.iter().fold(Wide::ZERO, |sum, balance| sum + Wide::from(*balance));
        for bucket in self.sums.iter().filter(|bucket| bucket.count > 0) {
            sum += Wide::from(bucket.sum.total());
        }
        sum
    }

    /// The balances of a bucket in rising order.
    fn sorted<'s>(&'s self, bucket: usize, scratch: &'s mut Vec<u128>) -> &'s [u128] {
        let Range { start, end } = self.starts[bucket]..self.starts[bucket + 1];
        scratch.clear();
        match &self.store {
            Store::Rising(balances) => return &balances[start..end],
            Store::Falling(balances) => {
                scratch.extend(balances[balances.len() - end..balances.len() - start].iter().rev());
            }
            Store::Chunks(chunks) => {
                for chunk in chunks {
                    scratch.extend_from_slice(chunk.bucket(bucket));
                }
                scratch.sort_unstable();
            }
        }
        scratch
    }

    /// `Σ x²` and `Σ i·x(i)`, with i = 1 for the smallest.
    pub(super) fn moments(&self, cancel: &Cancel) -> Result<(Wide, Wide), LedgerError> {
        let ranges: Vec<_> = (0..BUCKETS).step_by(BUCKET_RANGE).collect();
        let of_range = |first: &usize| {
            cancel.check()?;
            let (mut scratch, mut offsets) = (Vec::new(), Vec::new());
            let (mut squares, mut ranked) = (Squares::default(), Wide::ZERO);
            // Of buckets whose sums have 128 bits, so that no product passes 256.
            let (mut cross, mut narrow) = (U256::ZERO, U256::ZERO);
            for bucket in *first..first + BUCKET_RANGE {
                let Bucket { count, sum } = self.sums[bucket];
                if count == 0 {
                    continue;
                }
                // Those of nothing rank below all, but are no holders.
                let below = self.starts[bucket].saturating_sub(self.zeros) as u128;
                if let (Some(lowest), Some(sum), Store::Chunks(chunks)) =
                    (lowest_of(bucket), sum.total().to_u128(), &self.store)
                {
                    // x = lowest + d: Σ x² = lowest (2 Σ x - n lowest) + Σ d², and Σ j x = lowest n (n + 1) / 2 + Σ j d.
                    sorted_offsets(chunks, bucket, lowest, &mut offsets);
                    let mut inside = 0;
                    for (rank, offset) in (1_u128..).zip(&offsets) {
                        squares.add_square(u128::from(*offset).pow(2));
                        inside += rank * u128::from(*offset);
                    }
                    let (n, lowest, sum) = (U256::from(count), U256::from(lowest), U256::from(sum));
                    cross += lowest * (sum + sum - n * lowest);
                    narrow +=
                        U256::from(below) * sum + U256::from(inside) + n * (n + U256::ONE) / U256::from(2) * lowest;
                    continue;
                }
                ranked += Wide::from(below) * Wide::from(sum.total());
                let mut inside = Ranked::default();
                for (rank, balance) in (1_u32..).zip(self.sorted(bucket, &mut scratch)) {
                    squares.add(*balance);
                    inside.add(rank, *balance);
                }
                ranked += inside.total();
            }
            Ok((squares.total() + Wide::from(cross), ranked + Wide::from(narrow)))
        };
        let parts: Vec<(Wide, Wide)> = ranges.par_iter().map(of_range).collect::<Result<_, LedgerError>>()?;
        let mut sums =
            parts.into_iter().fold((Wide::ZERO, Wide::ZERO), |sums, part| (sums.0 + part.0, sums.1 + part.1));
        let below = (self.starts[BUCKETS] - self.zeros) as u128;
        for (rank, balance) in (below + 1..).zip(&self.large) {
            let balance = Wide::from(*balance);
            sums.0 += balance * balance;
            sums.1 += balance * Wide::from(rank);
        }
        Ok(sums)
    }

    /// What the `count` largest hold together.
    pub(super) fn sum_of_largest(&self, count: usize) -> Wide {
        let mut left = count;
        let mut sum = Wide::ZERO;
        for balance in self.large.iter().rev().take(left) {
            sum += Wide::from(*balance);
        }
        left = left.saturating_sub(self.large.len());
        for (number, bucket) in self.sums.iter().enumerate().rev() {
            if left == 0 {
                break;
            }
            if bucket.count <= left {
                left -= bucket.count;
                if bucket.count > 0 {
                    sum += Wide::from(bucket.sum.total());
                }
                continue;
            }
            let mut scratch = Vec::new();
            for balance in self.sorted(number, &mut scratch).iter().rev().take(left) {
                sum += Wide::from(*balance);
            }
            break;
        }
        sum
    }

    /// The fewest of the largest whose sum is enough; 0 where nobody holds anything.
    pub(super) fn fewest(&self, enough: impl Fn(&Wide) -> bool) -> usize {
        if self.holders() == 0 {
            return 0;
        }
        let (mut sum, mut number) = (Wide::ZERO, 0);
        for balance in self.large.iter().rev() {
            sum += Wide::from(*balance);
            number += 1;
            if enough(&sum) {
                return number;
            }
        }
        for (place, bucket) in self.sums.iter().enumerate().rev().filter(|(_, bucket)| bucket.count > 0) {
            let with_all = sum + Wide::from(bucket.sum.total());
            if !enough(&with_all) {
                (sum, number) = (with_all, number + bucket.count);
                continue;
            }
            let mut scratch = Vec::new();
            for balance in self.sorted(place, &mut scratch).iter().rev() {
                sum += Wide::from(*balance);
                number += 1;
                if enough(&sum) {
                    break;
                }
            }
            break;
        }
        number
    }
}

fn count(buckets: &mut [Bucket], first: usize, balances: &[u128]) {
    for balance in balances {
        let bucket = &mut buckets[bucket_of(*balance) - first];
        bucket.count += 1;
        bucket.sum.add(*balance);
    }
}
