//! What a key may do: rates by class, calls at a time, endpoints and chains.

use std::fmt;
use std::str::FromStr;

use headwater_engine::CostClass;
use serde::{Deserialize, Serialize};

/// A sustained rate with a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Calls per second that may go on for ever, 1 to 100,000.
    pub per_second: u32,
    /// Calls that may come at once after a pause, 1 to 1,000,000.
    pub burst: u32,
}

impl Rate {
    /// A rate with its burst.
    #[must_use]
    pub const fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second, burst }
    }

    /// Whether both numbers lie within their bounds.
    #[must_use]
    pub fn is_possible(self) -> bool {
        (1..=100_000).contains(&self.per_second) && (1..=1_000_000).contains(&self.burst)
    }
}

/// `50/100`: 50 a second, 100 at once.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.per_second, self.burst)
    }
}

/// The text is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected calls per second (1 to 100000), a slash and the burst (1 to 1000000), such as 50/100")]
pub struct NoRate;

impl FromStr for Rate {
    type Err = NoRate;

    fn from_str(text: &str) -> Result<Self, NoRate> {
        let (per_second, burst) = text.split_once('/').ok_or(NoRate)?;
        let rate = Self {
            per_second: per_second.trim().parse().map_err(|_| NoRate)?,
            burst: burst.trim().parse().map_err(|_| NoRate)?,
        };
        if rate.is_possible() { Ok(rate) } else { Err(NoRate) }
    }
}

/// What a key may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// Rate of free endpoints, each of them by itself; the same holds for the other classes.
    pub free: Rate,
    /// Rate of light endpoints.
    pub light: Rate,
    /// Rate of medium endpoints.
    pub medium: Rate,
    /// Rate of heavy endpoints.
    pub heavy: Rate,
    /// Calls at a time.
    pub concurrency: u32,
    /// Paths that may be called; `None` is all of them.
    pub endpoints: Option<Vec<String>>,
    /// Chains that may be asked about; `None` is all of them.
    pub chains: Option<Vec<String>>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            free: Rate::new(100, 200),
            light: Rate::new(50, 100),
            medium: Rate::new(20, 40),
            heavy: Rate::new(5, 10),
            concurrency: 20,
            endpoints: None,
            chains: None,
        }
    }
}

impl Plan {
    /// The rate of a class.
    #[must_use]
    pub const fn rate(&self, class: CostClass) -> Rate {
        match class {
            CostClass::Free => self.free,
            CostClass::Light => self.light,
            CostClass::Medium => self.medium,
            CostClass::Heavy => self.heavy,
        }
    }

    /// Whether the plan has this endpoint, by its path.
    #[must_use]
    pub fn has_endpoint(&self, path: &str) -> bool {
        self.endpoints.as_ref().is_none_or(|paths| paths.iter().any(|one| one == path))
    }

    /// Whether the plan has this chain, by its name.
    #[must_use]
    pub fn has_chain(&self, chain: &str) -> bool {
        self.chains.as_ref().is_none_or(|chains| chains.iter().any(|one| one == chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_back_as_it_is_written_and_nothing_else_is_one() {
        for text in ["1/1", "50/100", "100000/1000000"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for text in ["", "50", "0/1", "1/0", "-1/5", "1.5/3", "100001/1", "1/1000001", "1/2/3", "a/b"] {
            assert_eq!(text.parse::<Rate>(), Err(NoRate), "{text}");
        }
    }

    #[test]
    fn a_plan_without_a_list_has_everything_and_one_with_a_list_only_what_is_on_it() {
        let all = Plan::default();
        assert!(all.has_endpoint("/v1/chains") && all.has_chain("tron"));
        let some = Plan { endpoints: Some(vec!["/v1/chains".into()]), chains: Some(vec!["tron".into()]), ..all };
        assert!(some.has_endpoint("/v1/chains") && !some.has_endpoint("/v1/rates"));
        assert!(some.has_chain("tron") && !some.has_chain("bitcoin"));
    }
}
