//! The balances of one bucket in order, and what is summed over them.

use std::ops::{BitAnd, Shr};

use super::wide::Squares;

/// The part of a balance below the leading bits that its bucket shares: 64 bits wide for most, 128 for large ones.
pub(super) trait Offset: Copy + Ord + Default + Shr<u32, Output = Self> + BitAnd<Output = Self> {
    /// All bits.
    const ALL: Self;
    /// The number of bits.
    const WIDTH: u32;

    /// The last bits of a balance.
    fn of(balance: u128) -> Self;

    /// The lowest bits, as many as an index has.
    fn low(self) -> usize;

    /// The last `width` bits.
    #[inline]
    fn below(self, width: u32) -> Self {
        if width == 0 { Self::default() } else { self & (Self::ALL >> (Self::WIDTH - width)) }
    }

    /// The lowest bits after `shift` of them.
    #[inline]
    fn leading(self, shift: u32) -> usize {
        (self >> shift).low()
    }

    /// Sums over offsets in rising order.
    fn moments(ordered: &[Self]) -> Moments;
}

/// Sums over offsets d in rising order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    /// `Σ d`: of the last 64 bits, and of those above.
    pub(super) sum: [u128; 2],
    /// `Σ j·d(j)`, with j = 1 for the smallest, likewise. Of fewer than 2^32 offsets, no sum passes 128 bits.
    pub(super) ranked: [u128; 2],
    /// `Σ d²`
    pub(super) squares: Squares,
}

#[expect(clippy::cast_possible_truncation, reason = "what is cut off is masked, or more than an index has")]
impl Offset for u64 {
    const ALL: Self = Self::MAX;
    const WIDTH: u32 = Self::BITS;

    #[inline]
    fn of(balance: u128) -> Self {
        balance as Self
    }

    #[inline]
    fn low(self) -> usize {
        self as usize
    }

    fn moments(ordered: &[Self]) -> Moments {
        let mut found = Moments::default();
        for (rank, offset) in (1_u128..).zip(ordered) {
            let offset = u128::from(*offset);
            found.sum[0] += offset;
            found.ranked[0] += rank * offset;
            found.squares.add_square(offset * offset);
        }
        found
    }
}

impl Offset for u128 {
    const ALL: Self = Self::MAX;
    const WIDTH: u32 = Self::BITS;

    #[inline]
    fn of(balance: u128) -> Self {
        balance
    }

    #[inline]
    fn low(self) -> usize {
        self as usize
    }

    fn moments(ordered: &[Self]) -> Moments {
        let mut found = Moments::default();
        for (rank, offset) in (1_u128..).zip(ordered) {
            let halves = [offset & Self::from(u64::MAX), offset >> 64];
            for (half, place) in halves.into_iter().zip(0..) {
                found.sum[place] += half;
                found.ranked[place] += rank * half;
            }
            found.squares.add(*offset);
        }
        found
    }
}

/// Up to so many are sorted as they are.
const SHORT: usize = 32;
/// More than so many in one place, and they are not spread: sorted by comparisons.
const CROWD: u32 = 32;
/// Places at most, so that counters stay in the cache.
const PLACES: u32 = 16;

/// Room for one bucket after the other.
#[derive(Debug, Default)]
pub(super) struct Scratch<T> {
    /// The offsets, in any order.
    pub(super) loose: Vec<T>,
    ordered: Vec<T>,
    next: Vec<u32>,
}

impl<T: Offset> Scratch<T> {
    /// The loose offsets, `width` bits each, in rising order: by as many leading bits as give each a place of its own
    /// on average, then by comparing neighbours.
    pub(super) fn ordered(&mut self, width: u32) -> &[T] {
        let Self { loose, ordered, next } = self;
        let count = loose.len();
        let bits = if count > SHORT { count.ilog2().min(width).min(PLACES) } else { 0 };
        if bits == 0 {
            loose.sort_unstable();
            return loose;
        }
        let shift = width - bits;
        next.clear();
        next.resize(1 << bits, 0);
        for offset in &*loose {
            next[offset.leading(shift)] += 1;
        }
        let (mut start, mut most) = (0, 0);
        for next in &mut *next {
            most = most.max(*next);
            start += std::mem::replace(next, start);
        }
        if most > CROWD {
            loose.sort_unstable();
            return loose;
        }
        ordered.resize(count, T::default());
        for offset in &*loose {
            let place = &mut next[offset.leading(shift)];
            ordered[*place as usize] = *offset;
            *place += 1;
        }
        insert(&mut ordered[..count]);
        &ordered[..count]
    }
}

/// Sorts what is nearly in order.
fn insert<T: Offset>(ordered: &mut [T]) {
    // Once along with the larger of two: most are in place then, without a branch that no processor foresees.
    let mut larger = ordered[0];
    for place in 1..ordered.len() {
        let next = ordered[place];
        ordered[place - 1] = larger.min(next);
        larger = larger.max(next);
    }
    ordered[ordered.len() - 1] = larger;
    for place in 1..ordered.len() {
        let moved = ordered[place];
        let mut hole = place;
        while hole > 0 && ordered[hole - 1] > moved {
            ordered[hole] = ordered[hole - 1];
            hole -= 1;
        }
        ordered[hole] = moved;
    }
}
