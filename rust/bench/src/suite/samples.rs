//! Many runs of one question, and the figures that are reported of them.

use serde::{Deserialize, Serialize};

use super::counters::Cost;

/// The times of the runs of one question.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    wall_ns: Vec<u64>,
    cpu_ns: u64,
    operations: u64,
}

impl Samples {
    /// Adds one operation.
    pub fn push(&mut self, cost: Cost) {
        self.wall_ns.push(cost.wall_ns);
        self.cpu_ns += cost.cpu_ns;
        self.operations += 1;
    }

    /// Adds a pass of several operations, each timed by the clock and all together by the processor.
    pub fn push_pass(&mut self, wall_ns: &[u64], cpu_ns: u64) {
        self.wall_ns.extend_from_slice(wall_ns);
        self.cpu_ns += cpu_ns;
        self.operations += wall_ns.len() as u64;
    }

    /// Number of operations.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// The figures; `None` of nothing.
    #[must_use]
    pub fn figures(&self) -> Option<Figures> {
        let mut sorted = self.wall_ns.clone();
        sorted.sort_unstable();
        let at = |part: usize| sorted.get((sorted.len() * part / 100).min(sorted.len().saturating_sub(1))).copied();
        Some(Figures {
            operations: self.operations,
            median_ns: at(50)?,
            p95_ns: at(95)?,
            cpu_ns: self.cpu_ns / self.operations.max(1),
        })
    }
}

/// The figures that are reported of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Operations timed.
    pub operations: u64,
    /// Half were faster.
    pub median_ns: u64,
    /// One in twenty was slower.
    pub p95_ns: u64,
    /// Processor time of one operation on average, all threads.
    pub cpu_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_sorted_samples() {
        let mut samples = Samples::default();
        for wall_ns in (1..=100).rev() {
            samples.push(Cost { wall_ns, cpu_ns: 2 });
        }
        let figures = samples.figures().expect("there are samples");
        assert_eq!((figures.median_ns, figures.p95_ns, figures.cpu_ns, figures.operations), (51, 96, 2, 100));
        assert_eq!(Samples::default().figures(), None);
    }
}
