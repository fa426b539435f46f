//! How long a call may take until it is a 504.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::CostClass;

/// How long a call may take: as its class says, or its path where that has a time of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlines {
    /// Calls of free endpoints.
    pub free: Duration,
    /// Calls of light endpoints.
    pub light: Duration,
    /// Calls of medium endpoints.
    pub medium: Duration,
    /// Calls of heavy endpoints.
    pub heavy: Duration,
    /// Calls of single endpoints, by path.
    pub endpoints: BTreeMap<String, Duration>,
}

impl Default for Deadlines {
    /// The query budgets of the classes.
    fn default() -> Self {
        let of = |class: CostClass| Duration::from_secs(class.budget_secs());
        Self {
            free: of(CostClass::Free),
            light: of(CostClass::Light),
            medium: of(CostClass::Medium),
            heavy: of(CostClass::Heavy),
            endpoints: BTreeMap::new(),
        }
    }
}

impl Deadlines {
    /// The same for all calls.
    #[must_use]
    pub const fn all(time: Duration) -> Self {
        Self { free: time, light: time, medium: time, heavy: time, endpoints: BTreeMap::new() }
    }

    /// How long a call of an endpoint may take.
    #[must_use]
    pub fn of(&self, path: &str, class: CostClass) -> Duration {
        self.endpoints.get(path).copied().unwrap_or(match class {
            CostClass::Free => self.free,
            CostClass::Light => self.light,
            CostClass::Medium => self.medium,
            CostClass::Heavy => self.heavy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_time_of_its_own_stands_before_its_class() {
        let seconds = Duration::from_secs;
        let endpoints = BTreeMap::from([("/v1/rates".to_owned(), seconds(9))]);
        let deadlines = Deadlines { endpoints, ..Deadlines::default() };
        assert_eq!(deadlines.of("/v1/rates", CostClass::Free), seconds(9));
        assert_eq!(deadlines.of("/v1/chains", CostClass::Free), seconds(5));
        assert_eq!(deadlines.of("/v1/token/holders", CostClass::Heavy), seconds(60));
    }
}
