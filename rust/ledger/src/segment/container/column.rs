//! Typed views of sections, whose every access is checked and fallible.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;

use super::Container;
use crate::LedgerError;
use crate::error::Result;

/// The elements of one section.
pub(crate) struct Column<T> {
    file: Arc<Container>,
    bytes: Range<usize>,
    length: usize,
    name: &'static str,
    of: PhantomData<fn() -> T>,
}

impl<T: Pod> Column<T> {
    pub(super) fn new(file: Arc<Container>, bytes: Range<usize>, name: &'static str) -> Self {
        let length = bytes.len() / size_of::<T>();
        Self { file, bytes, length, name, of: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn get(&self, at: usize) -> Result<T> {
        if at >= self.length {
            return Err(self.outside(at));
        }
        let start = self.bytes.start + at * size_of::<T>();
        Ok(*bytemuck::from_bytes(self.file.range(start..start + size_of::<T>())?))
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> Result<&[T]> {
        if range.start > range.end || range.end > self.length {
            return Err(self.outside(range.start.max(range.end)));
        }
        if range.is_empty() {
            return Ok(&[]);
        }
        let start = self.bytes.start + range.start * size_of::<T>();
        Ok(bytemuck::cast_slice(self.file.range(start..start + range.len() * size_of::<T>())?))
    }

    pub(crate) fn all(&self) -> Result<&[T]> {
        self.file.will_need(self.bytes.clone());
        self.slice(0..self.length)
    }

    /// Says that places all over a range are soon asked for.
    pub(crate) fn will_need(&self, range: Range<usize>) {
        let place = |at: usize| self.bytes.start + at.min(self.length) * size_of::<T>();
        self.file.will_need(place(range.start)..place(range.end));
    }

    #[cold]
    pub(crate) fn outside(&self, at: usize) -> LedgerError {
        let what = format!("element {at} of {} is asked for, which has {}", self.name, self.length);
        self.file.corrupt(self.bytes.start, what)
    }

    #[cold]
    pub(crate) fn wrong(&self, at: usize, what: &str) -> LedgerError {
        let offset = self.bytes.start + at.min(self.length) * size_of::<T>();
        self.file.corrupt(offset, format!("element {at} of {} {what}", self.name))
    }
}

/// First place of an ordered range where `before` no longer holds.
pub(crate) fn search(range: Range<usize>, mut before: impl FnMut(usize) -> Result<bool>) -> Result<usize> {
    let (mut low, mut high) = (range.start, range.end.max(range.start));
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The same, looked for outwards from a guess: few steps, next to each other, where it is near.
pub(crate) fn search_from(
    range: Range<usize>,
    guess: usize,
    mut before: impl FnMut(usize) -> Result<bool>,
) -> Result<usize> {
    let (mut low, mut high) = (range.start, range.end.max(range.start));
    let mut next = guess.clamp(low, high);
    let mut step = 1;
    while low < high {
        // Past an end there is nothing to ask; the other end was asked or is open.
        let at = next.clamp(low, high - 1);
        if before(at)? {
            low = at + 1;
            if high != range.end {
                break;
            }
            next = at.saturating_add(step);
        } else {
            high = at;
            if low != range.start {
                break;
            }
            next = at.saturating_sub(step);
        }
        step *= 2;
    }
    search(low..high, before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_its_place_from_any_guess_in_few_steps() {
        for (start, end) in [(0, 0), (0, 1), (3, 12), (5, 105)] {
            for place in start..=end {
                for guess in 0..end + 3 {
                    let mut steps = 0;
                    let found = search_from(start..end, guess, |at| {
                        assert!((start..end).contains(&at));
                        steps += 1;
                        Ok(at < place)
                    });
                    assert_eq!(found.unwrap(), place);
                    let off = guess.clamp(start, end).abs_diff(place);
                    assert!(steps <= 2 * (off + 2).ilog2() + 3, "{steps} steps for {off}");
                }
            }
        }
    }
}
