//! Texts and addresses as numbers in their order.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Values with a number each: first in order of their arrival, in the end in their own order.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    numbers: FxHashMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { numbers: FxHashMap::default() }
    }
}

impl<T: Ord + Hash + Clone> Numbered<T> {
    /// The number of a value.
    pub(super) fn number(&mut self, value: T) -> u32 {
        let next = u32::try_from(self.numbers.len()).unwrap_or(u32::MAX);
        *self.numbers.entry(value).or_insert(next)
    }

    /// The number of a value that was given one.
    pub(super) fn find<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> Option<u32>
    where
        T: std::borrow::Borrow<Q>,
    {
        self.numbers.get(value).copied()
    }

    /// The values in order, and the place of each number in it.
    pub(super) fn ordered(self) -> Ordered<T> {
        let mut values: Vec<(T, u32)> = self.numbers.into_iter().collect();
        values.sort_unstable();
        let mut places = vec![0; values.len()];
        for (place, (_, number)) in (0..).zip(&values) {
            if let Some(slot) = usize::try_from(*number).ok().and_then(|number| places.get_mut(number)) {
                *slot = place;
            }
        }
        Ordered { values: values.into_iter().map(|(value, _)| value).collect(), places }
    }
}

/// Values in order.
#[derive(Debug)]
pub(super) struct Ordered<T> {
    values: Vec<T>,
    places: Vec<u32>,
}

impl<T> Ordered<T> {
    /// The place of a number.
    pub(super) fn place(&self, number: u32) -> u32 {
        usize::try_from(number).ok().and_then(|number| self.places.get(number)).copied().unwrap_or(u32::MAX)
    }

    /// Puts places where numbers stand.
    pub(super) fn renumber(&self, numbers: &mut [Option<u32>]) {
        for number in numbers.iter_mut().flatten() {
            *number = self.place(*number);
        }
    }

    /// The value at a place.
    pub(super) fn value(&self, place: u32) -> Option<&T> {
        self.values.get(usize::try_from(place).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_places_in_order() {
        let mut texts = Numbered::default();
        assert_eq!(["b", "c", "a", "b"].map(|text| texts.number(text)), [0, 1, 2, 0]);
        assert_eq!((texts.find("c"), texts.find("d")), (Some(1), None));
        let ordered = texts.ordered();
        let mut numbers = [Some(0), None, Some(2)];
        ordered.renumber(&mut numbers);
        assert_eq!(numbers, [Some(1), None, Some(0)]);
        assert_eq!((ordered.value(2), ordered.value(3)), (Some(&"c"), None));
    }
}
