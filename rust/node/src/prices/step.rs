//! The periods that have one price each: days and hours of UTC.

use std::collections::BTreeSet;
use std::str::FromStr;

/// The length of a period that has one price, which is the one of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Step {
    /// A day.
    #[default]
    Day,
    /// An hour.
    Hour,
}

/// The text is not the name of a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown step {0:?}; use \"1d\" or \"1h\"")]
pub struct UnknownStep(pub String);

impl FromStr for Step {
    type Err = UnknownStep;

    fn from_str(text: &str) -> Result<Self, UnknownStep> {
        match text {
            "1d" => Ok(Self::Day),
            "1h" => Ok(Self::Hour),
            _ => Err(UnknownStep(text.chars().take(40).collect())),
        }
    }
}

impl Step {
    /// Returns its name, as the services write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "1d",
            Self::Hour => "1h",
        }
    }

    /// Returns its length in seconds.
    #[must_use]
    pub const fn secs(self) -> i64 {
        match self {
            Self::Day => 86_400,
            Self::Hour => 3_600,
        }
    }

    /// Returns the longest time before the end of a period at which a price is still that of its end, in seconds.
    #[must_use]
    pub const fn early_secs(self) -> i64 {
        match self {
            Self::Day => 6 * 3_600,
            Self::Hour => 1_800,
        }
    }

    /// Returns the longest time after the end of a period at which a price is still that of its end, in seconds.
    #[must_use]
    pub const fn late_secs(self) -> i64 {
        match self {
            Self::Day => 3_600,
            Self::Hour => 600,
        }
    }

    /// Returns the last second of the period of a time.
    pub(super) const fn end_of(self, time: i64) -> i64 {
        time.div_euclid(self.secs()) * self.secs() + self.secs() - 1
    }

    /// Returns the last second of the last period that has ended at a time.
    pub(super) const fn last_end(self, time: i64) -> i64 {
        self.end_of(time + 1 - self.secs())
    }

    /// Returns the end of the period whose end a time is near to; `None` in between.
    pub(super) fn near_end(self, time: i64) -> Option<i64> {
        let before = self.last_end(time);
        let behind = before + self.secs();
        if time - before <= self.late_secs() {
            return Some(before);
        }
        (behind - time <= self.early_secs()).then_some(behind)
    }
}

/// Consecutive periods, by the ends of the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub first: i64,
    pub last: i64,
}

impl Run {
    /// The ends of its periods.
    pub fn ends(self, step: Step) -> impl Iterator<Item = i64> {
        (0..self.count(step)).map(move |place| self.first + place * step.secs())
    }

    /// The number of its periods.
    pub const fn count(self, step: Step) -> i64 {
        (self.last - self.first) / step.secs() + 1
    }

    /// The times at which a price is one of its periods, both included.
    pub const fn window(self, step: Step) -> (i64, i64) {
        (self.first - step.early_secs(), self.last + step.late_secs())
    }

    /// Divides it into runs of at most so many periods.
    pub fn pieces(self, step: Step, max_count: i64) -> Vec<Self> {
        let begins = (0..self.count(step)).step_by(usize::try_from(max_count).unwrap_or(usize::MAX));
        let piece = |begin: i64| {
            let first = self.first + begin * step.secs();
            Self { first, last: self.last.min(first + (max_count - 1) * step.secs()) }
        };
        begins.map(piece).collect()
    }

    /// Divides it in the middle; `None` for a single period.
    pub fn halves(self, step: Step) -> Option<[Self; 2]> {
        let half = self.count(step) / 2;
        let middle = self.first + half * step.secs();
        (half > 0).then_some([
            Self { first: self.first, last: middle - step.secs() },
            Self { first: middle, last: self.last },
        ])
    }
}

/// Returns the runs of consecutive periods in a set of ends.
pub(super) fn runs(step: Step, ends: &BTreeSet<i64>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &end in ends {
        match runs.last_mut() {
            Some(run) if run.last + step.secs() == end => run.last = end,
            _ => runs.push(Run { first: end, last: end }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    #[test]
    fn near_end_is_that_of_the_closest_period() {
        let near = |time| Step::Day.near_end(time).map(|end| (end + 1) / DAY);
        assert_eq!([near(DAY), near(DAY - 1), near(DAY + 3_599), near(DAY + 3_600)], [Some(1), Some(1), Some(1), None]);
        assert_eq!([near(2 * DAY - 21_601), near(2 * DAY - 21_602)], [Some(2), None]);
        assert_eq!(Step::Hour.near_end(7_199 - 1_800), Some(7_199));
        assert_eq!(
            (Step::Day.end_of(0), Step::Day.last_end(DAY - 1), Step::Day.last_end(DAY - 2)),
            (DAY - 1, DAY - 1, -1)
        );
    }

    #[test]
    fn runs_join_consecutive_periods() {
        let ends = [1, 2, 3, 5, 7, 8].map(|day| day * DAY - 1);
        let found = runs(Step::Day, &ends.into());
        let counts: Vec<_> = found.iter().map(|run| run.count(Step::Day)).collect();
        assert_eq!(counts, [3, 1, 2]);
        assert_eq!(found[0].ends(Step::Day).collect::<Vec<_>>(), ends[..3]);
        assert_eq!(found[0].pieces(Step::Day, 2).len(), 2);
        let [one, two] = found[0].halves(Step::Day).unwrap();
        assert_eq!((one.count(Step::Day), two.count(Step::Day), found[1].halves(Step::Day)), (1, 2, None));
    }
}
