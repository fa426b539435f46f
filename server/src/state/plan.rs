//! Plans: what the keys of an account may do, and how often.

use std::collections::BTreeMap;

use headwater_engine::CostClass;
use serde::{Deserialize, Serialize};

use super::StateError;

/// The plan of accounts that have no other.
pub const DEFAULT_PLAN: &str = "default";

/// A sustained rate and how many calls may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Calls per second.
    pub per_second: u32,
    /// Calls at once.
    pub burst: u32,
}

/// What the keys of an account may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Rate of each free endpoint.
    #[serde(default = "Plan::free")]
    pub free: Rate,
    /// Rate of each light endpoint.
    #[serde(default = "Plan::light")]
    pub light: Rate,
    /// Rate of each medium endpoint.
    #[serde(default = "Plan::medium")]
    pub medium: Rate,
    /// Rate of each heavy endpoint.
    #[serde(default = "Plan::heavy")]
    pub heavy: Rate,
    /// Calls of one key under way at a time.
    #[serde(default = "Plan::concurrency")]
    pub concurrency: u32,
    /// Names of the endpoints that may be called, such as `token/holders`; all when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoints: Option<Vec<String>>,
    /// Chains that may be asked about; all when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chains: Option<Vec<String>>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            name: DEFAULT_PLAN.to_owned(),
            free: Self::free(),
            light: Self::light(),
            medium: Self::medium(),
            heavy: Self::heavy(),
            concurrency: Self::concurrency(),
            endpoints: None,
            chains: None,
        }
    }
}

impl Plan {
    const fn free() -> Rate {
        Rate { per_second: 100, burst: 200 }
    }

    const fn light() -> Rate {
        Rate { per_second: 50, burst: 100 }
    }

    const fn medium() -> Rate {
        Rate { per_second: 20, burst: 40 }
    }

    const fn heavy() -> Rate {
        Rate { per_second: 5, burst: 10 }
    }

    const fn concurrency() -> u32 {
        20
    }

    /// The rate of each endpoint of a class.
    #[must_use]
    pub const fn rate(&self, class: CostClass) -> Rate {
        match class {
            CostClass::Free => self.free,
            CostClass::Light => self.light,
            CostClass::Medium => self.medium,
            CostClass::Heavy => self.heavy,
        }
    }

    /// Reads a definition as JSON; what it leaves out is as in the default plan.
    ///
    /// # Errors
    /// When it is no plan, or allows nothing.
    pub fn parse(name: &str, definition: &str) -> Result<Self, StateError> {
        let bad = |what: String| StateError::BadPlan { name: name.to_owned(), what };
        let plan: Self = serde_json::from_str(definition).map_err(|error| bad(error.to_string()))?;
        let plan = Self { name: name.to_owned(), ..plan };
        let is_name =
            |text: &str| !text.is_empty() && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_name(name) {
            return Err(bad("a name has 1 to 64 letters, digits or marks".to_owned()));
        }
        for (class, rate) in
            [("free", plan.free), ("light", plan.light), ("medium", plan.medium), ("heavy", plan.heavy)]
        {
            if rate.per_second == 0 || rate.burst == 0 {
                return Err(bad(format!("{class} allows no call: per_second and burst are at least 1")));
            }
        }
        if plan.concurrency == 0 {
            return Err(bad("concurrency is at least 1".to_owned()));
        }
        let known = |endpoint: &str| headwater_engine::ENDPOINTS.iter().any(|one| one.name == endpoint);
        if let Some(unknown) = plan.endpoints.iter().flatten().find(|endpoint| !known(endpoint)) {
            return Err(bad(format!(
                "{unknown:?} is no endpoint: their names are paths without /v1/, as in token/holders"
            )));
        }
        let known = |chain: &str| headwater_types::Chain::all().any(|one| one.name() == chain);
        if let Some(unknown) = plan.chains.iter().flatten().find(|chain| !known(chain)) {
            return Err(bad(format!("{unknown:?} is no chain")));
        }
        Ok(plan)
    }

    /// Whether it lets an endpoint be called.
    #[must_use]
    pub fn allows_endpoint(&self, name: &str) -> bool {
        self.endpoints.as_ref().is_none_or(|allowed| allowed.iter().any(|one| one == name))
    }

    /// Whether it lets a chain be asked about.
    #[must_use]
    pub fn allows_chain(&self, name: &str) -> bool {
        self.chains.as_ref().is_none_or(|allowed| allowed.iter().any(|one| one.eq_ignore_ascii_case(name)))
    }
}

/// All plans by name.
pub(super) type Plans = BTreeMap<String, std::sync::Arc<Plan>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_definition_leaves_out_is_as_in_the_default_plan() {
        let plan =
            Plan::parse("pro", r#"{"heavy": {"per_second": 50, "burst": 100}, "chains": ["ethereum"]}"#).unwrap();
        assert_eq!((plan.heavy.burst, plan.medium, plan.concurrency), (100, Plan::default().medium, 20));
        assert!(plan.allows_chain("Ethereum") && !plan.allows_chain("bitcoin") && plan.allows_endpoint("transactions"));
    }

    #[test]
    fn a_plan_that_cannot_be_meant_is_refused_by_name() {
        for (definition, named) in [
            ("[]", "sequence"),
            (r#"{"heavi": {}}"#, "heavi"),
            (r#"{"heavy": {"per_second": 0, "burst": 1}}"#, "heavy"),
            (r#"{"concurrency": 0}"#, "concurrency"),
            (r#"{"endpoints": ["nope"]}"#, "nope"),
            (r#"{"chains": ["doge"]}"#, "doge"),
        ] {
            let text = Plan::parse("x", definition).unwrap_err().to_string();
            assert!(text.contains(named), "{text}");
        }
    }
}
