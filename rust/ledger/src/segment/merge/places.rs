//! The places of rows (and inputs) of an old segment in the new one.

/// The number of runs kept before each row is stated by itself.
const RUNS: usize = 1024;

/// New places of old rows, which keep their order: a few runs where segments follow each other, a number for each row
/// where they are interleaved.
pub(super) struct Places {
    /// The beginnings of runs: old and new.
    runs: Vec<(u32, u32)>,
    /// By old row, once there are too many runs.
    each: Vec<u32>,
    length: usize,
    /// The rows that follow the last row that was placed.
    next: (u32, u32),
}

impl Places {
    /// For a segment of so many rows.
    pub(super) fn new(length: usize) -> Self {
        Self { runs: Vec::new(), each: Vec::new(), length, next: (0, 0) }
    }

    /// Places `count` rows that follow each other.
    pub(super) fn push(&mut self, old: u32, new: u32, count: u32) {
        if count == 0 {
            return;
        }
        if !self.each.is_empty() {
            self.append(old, new, count);
        } else if self.runs.is_empty() || self.next != (old, new) {
            if self.runs.len() < RUNS {
                self.runs.push((old, new));
            } else {
                self.append_each();
                self.append(old, new, count);
            }
        }
        self.next = (old + count, new + count);
    }

    fn append(&mut self, old: u32, new: u32, count: u32) {
        for (old, new) in (old..).zip(new..).take(count as usize) {
            self.each[old as usize] = new;
        }
    }

    fn append_each(&mut self) {
        self.each = vec![0; self.length];
        let mut runs = std::mem::take(&mut self.runs);
        runs.push(self.next);
        for pair in runs.windows(2) {
            // Rows between two runs were left out: what is there is never asked for.
            self.append(pair[0].0, pair[0].1, pair[1].0 - pair[0].0);
        }
    }

    /// The new place of a row that was placed.
    #[inline]
    pub(super) fn get(&self, old: u32) -> u32 {
        if !self.each.is_empty() {
            return self.each.get(old as usize).copied().unwrap_or(0);
        }
        let behind = if self.runs.len() == 1 { 1 } else { self.runs.partition_point(|run| run.0 <= old) };
        let Some(run) = behind.checked_sub(1).and_then(|run| self.runs.get(run)) else { return 0 };
        run.1.wrapping_add(old.wrapping_sub(run.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_is_found_where_it_was_put(runs in prop::collection::vec((0..3_u32, 0..3_u32, 1..4_u32), 0..3000)) {
            let (mut old, mut new) = (0, 0);
            let mut expected = Vec::new();
            for (skip_old, skip_new, count) in &runs {
                (old, new) = (old + skip_old, new + skip_new);
                expected.extend((0..*count).map(|step| (old + step, new + step)));
                (old, new) = (old + count, new + count);
            }
            let mut places = Places::new(old as usize);
            let (mut old, mut new) = (0, 0);
            for (skip_old, skip_new, count) in runs {
                (old, new) = (old + skip_old, new + skip_new);
                places.push(old, new, count);
                (old, new) = (old + count, new + count);
            }
            for (old, new) in expected {
                prop_assert_eq!(places.get(old), new);
            }
        }
    }
}
