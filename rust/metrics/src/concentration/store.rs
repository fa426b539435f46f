//! Balances by their leading bits.

use headwater_ledger::{Cancel, LedgerError};
use rayon::prelude::*;
use ruint::aliases::U256;

use super::order::{Moments, Offset, Scratch};

/// Leading bits below the first one that separate buckets.
const MANTISSA: u32 = 8;
pub(super) const BUCKETS: usize = 129 << MANTISSA;
/// The first bucket whose balances are 2^64 and more apart.
pub(super) const WIDE: usize = (64 + 1 + MANTISSA as usize + 1) << MANTISSA;
/// Balances that one thread takes at a time, at least.
const CHUNK: usize = 1 << 16;

/// The bucket of a balance: its highest bit and those that follow.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the half that has the leading bits")]
fn bucket_of(balance: u128) -> usize {
    let high = (balance >> 64) as u64;
    // The leading bits at the left, the first of them left out.
    let (bits, rest) = if high == 0 {
        let low = balance as u64;
        (64 - low.leading_zeros(), low.wrapping_shl(low.leading_zeros()) << 1)
    } else {
        let zeros = high.leading_zeros();
        (128 - zeros, ((balance << zeros) >> 63) as u64)
    };
    ((bits as usize) << MANTISSA) | (rest >> (64 - MANTISSA)) as usize
}

/// Bits of the balances of a bucket, leading zeros left out.
#[expect(clippy::cast_possible_truncation, reason = "at most 128")]
fn bits_of(bucket: usize) -> u32 {
    (bucket >> MANTISSA) as u32
}

/// Bits of a balance that its bucket does not fix.
fn width_of(bucket: usize) -> u32 {
    bits_of(bucket).saturating_sub(1 + MANTISSA)
}

/// The smallest balance of a bucket other than that of nothing.
pub(super) fn lowest_of(bucket: usize) -> u128 {
    let leading = (1 << MANTISSA | bucket & ((1 << MANTISSA) - 1)) as u128;
    let bits = bits_of(bucket) - 1;
    if bits < MANTISSA { leading >> (MANTISSA - bits) } else { leading << (bits - MANTISSA) }
}

/// Returns where each bucket of some balances begins, and the end.
fn starts_of(balances: &[u128]) -> Vec<usize> {
    let mut starts = vec![0; BUCKETS + 1];
    for balance in balances {
        starts[bucket_of(*balance) + 1] += 1;
    }
    for bucket in 0..BUCKETS {
        starts[bucket + 1] += starts[bucket];
    }
    starts
}

/// The balances of one chunk, bucket by bucket; of most only the last 64 bits, for the bucket fixes the others.
pub(super) struct Chunk {
    starts: Vec<usize>,
    narrow: Vec<u64>,
    wide: Vec<u128>,
}

impl Chunk {
    fn new(balances: &[u128]) -> Self {
        let starts = starts_of(balances);
        let mut next = starts.clone();
        let first_wide = starts[WIDE];
        let mut narrow = vec![0; first_wide];
        let mut wide = vec![0; balances.len() - first_wide];
        for balance in balances {
            let bucket = bucket_of(*balance);
            let place = next[bucket];
            next[bucket] += 1;
            if bucket < WIDE {
                narrow[place] = u64::of(*balance);
            } else {
                wide[place - first_wide] = *balance;
            }
        }
        Self { starts, narrow, wide }
    }
}

/// The chunks that offsets of a width are taken from.
pub(super) trait StoredOffset: Offset {
    fn stored(chunk: &Chunk, bucket: usize) -> &[Self];
}

impl StoredOffset for u64 {
    fn stored(chunk: &Chunk, bucket: usize) -> &[Self] {
        &chunk.narrow[chunk.starts[bucket]..chunk.starts[bucket + 1]]
    }
}

impl StoredOffset for u128 {
    fn stored(chunk: &Chunk, bucket: usize) -> &[Self] {
        let first = chunk.starts[WIDE];
        &chunk.wide[chunk.starts[bucket] - first..chunk.starts[bucket + 1] - first]
    }
}

/// The storage of the balances of a bucket.
pub(super) enum Store<'a> {
    /// In the input itself, which rises or falls, and where its buckets begin if it rose.
    Sorted { balances: &'a [u128], starts: Vec<usize>, rises: bool },
    /// In chunks.
    Chunks(Vec<Chunk>),
}

impl<'a> Store<'a> {
    pub(super) fn new(balances: &'a [u128], cancel: &Cancel) -> Result<Self, LedgerError> {
        cancel.check()?;
        let rises = balances.is_sorted();
        if rises || balances.is_sorted_by(|one, next| one >= next) {
            return Ok(Self::Sorted { balances, starts: starts_of(balances), rises });
        }
        let chunk = |chunk| cancel.check().map(|()| Chunk::new(chunk));
        // As few as there are threads: each is one more place to look for the balances of a bucket.
        let length = balances.len().div_ceil(rayon::current_num_threads()).max(CHUNK);
        Ok(Self::Chunks(balances.par_chunks(length).map(chunk).collect::<Result<_, _>>()?))
    }

    /// Balances below a bucket.
    pub(super) fn below(&self, bucket: usize) -> usize {
        match self {
            Self::Sorted { starts, .. } => starts[bucket],
            Self::Chunks(chunks) => chunks.iter().map(|chunk| chunk.starts[bucket]).sum(),
        }
    }

    /// Returns what the balances of a bucket have above its lowest one, in rising order.
    fn offsets<'s, T: StoredOffset>(&self, bucket: usize, scratch: &'s mut Scratch<T>) -> &'s [T] {
        let width = width_of(bucket);
        scratch.loose.clear();
        match self {
            Self::Sorted { balances, starts, rises } => {
                let (start, end) = (starts[bucket], starts[bucket + 1]);
                let of_bucket = if *rises {
                    &balances[start..end]
                } else {
                    &balances[balances.len() - end..balances.len() - start]
                };
                scratch.loose.extend(of_bucket.iter().map(|balance| T::of(*balance).below(width)));
                if !rises {
                    scratch.loose.reverse();
                }
                &scratch.loose
            }
            Self::Chunks(chunks) => {
                for chunk in chunks {
                    scratch.loose.extend(T::stored(chunk, bucket).iter().map(|word| word.below(width)));
                }
                scratch.ordered(width)
            }
        }
    }

    pub(super) fn moments<T: StoredOffset>(&self, bucket: usize, scratch: &mut Scratch<T>) -> Moments {
        T::moments(self.offsets(bucket, scratch))
    }

    /// The balances of a bucket in rising order.
    pub(super) fn balances(&self, bucket: usize) -> Vec<U256> {
        fn from<T: StoredOffset + Into<u128>>(store: &Store<'_>, bucket: usize) -> Vec<U256> {
            let lowest = lowest_of(bucket);
            let mut scratch = Scratch::default();
            let offsets = store.offsets::<T>(bucket, &mut scratch).iter();
            offsets.map(|offset| U256::from(lowest | (*offset).into())).collect()
        }
        if bucket < WIDE { from::<u64>(self, bucket) } else { from::<u128>(self, bucket) }
    }
}
