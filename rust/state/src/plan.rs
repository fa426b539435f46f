//! Plans: rates by class, calls at a time, endpoints and chains of a key. Plans are stored under a name, with their
//! definition as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use headwater_engine::CostClass;
use headwater_types::Chain;
use serde::{Deserialize, Serialize};

use super::StateError;
use super::db::Tx;

/// The plan of accounts that have no other. Where none is stored under this name, it is what the configuration says.
pub const DEFAULT_PLAN: &str = "default";

/// Paths of routes that are not data endpoints and that a key opens.
const OTHERS: [&str; 9] = [
    "/v1/stream",
    "/v1/stream/ticket",
    "/v1/usage",
    "/v1/webhooks",
    "/v1/webhooks/{id}",
    "/v1/webhooks/{id}/deliveries",
    "/v1/webhooks/{id}/replay",
    "/v1/webhooks/{id}/rotate-secret",
    "/v1/webhooks/{id}/test",
];

/// Returns whether this is the path of a route that a key opens.
#[must_use]
pub fn is_endpoint(path: &str) -> bool {
    OTHERS.contains(&path) || headwater_engine::ENDPOINTS.iter().any(|one| one.path == path)
}

/// Plans by name.
pub(super) type Plans = BTreeMap<String, Arc<Plan>>;

/// A plan from its definition as JSON; what it leaves out is as in the plan that the product comes with.
///
/// # Errors
/// [`StateError::BadPlan`] when it cannot be meant.
pub(super) fn made(name: &str, definition: &str) -> Result<Plan, StateError> {
    let plan = parse(name, definition)?;
    let bad = |what: String| StateError::BadPlan { name: name.to_owned(), what };
    if let Some(unknown) = plan.endpoints.iter().flatten().find(|path| !is_endpoint(path)) {
        return Err(bad(format!("unknown endpoint {unknown:?}: paths are expected, such as /v1/token/holders")));
    }
    if let Some(unknown) = plan.chains.iter().flatten().find(|chain| !Chain::all().any(|one| one.name() == **chain)) {
        return Err(bad(format!("unknown chain {unknown:?}")));
    }
    Ok(plan)
}

/// The same without a look at the names in its lists: one that was stored stays a plan, whatever routes and chains there
/// are by now.
fn parse(name: &str, definition: &str) -> Result<Plan, StateError> {
    let bad = |what: String| StateError::BadPlan { name: name.to_owned(), what };
    if !definition.trim_start().starts_with('{') {
        return Err(bad(
            "a JSON object is expected, such as {\"heavy\": {\"per_second\": 50, \"burst\": 100}}".to_owned()
        ));
    }
    let plan: Plan = serde_json::from_str(definition).map_err(|error| bad(error.to_string()))?;
    let plan = Plan { name: name.to_owned(), ..plan };
    if name.is_empty() || name.len() > 64 || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad("a name has 1 to 64 letters, digits or marks".to_owned()));
    }
    for (class, rate) in [("free", plan.free), ("light", plan.light), ("medium", plan.medium), ("heavy", plan.heavy)] {
        if !rate.is_possible() {
            return Err(bad(format!("{class}: per_second is 1 to 100000, burst 1 to 1000000")));
        }
    }
    if plan.concurrency == 0 {
        return Err(bad("concurrency is at least 1".to_owned()));
    }
    Ok(plan)
}

/// All plans that are stored.
pub(super) fn read_all(tx: &mut Tx<'_>) -> Result<Plans, StateError> {
    let mut plans = Plans::new();
    for row in tx.rows("SELECT name, definition FROM plan ORDER BY name", &[])? {
        let name = row.text(0)?;
        plans.insert(name.to_owned(), Arc::new(parse(name, row.text(1)?)?));
    }
    Ok(plans)
}

/// A sustained rate with a burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Calls per second that may continue for ever, 1 to 100,000.
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

    /// Returns whether both numbers lie within their bounds.
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

/// The text is not a rate.
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

/// The rights and rates of a key.
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

    /// Returns whether the plan has this endpoint, by its path.
    #[must_use]
    pub fn has_endpoint(&self, path: &str) -> bool {
        self.endpoints.as_ref().is_none_or(|paths| paths.iter().any(|one| one == path))
    }

    /// Returns whether the plan has this chain, by its name.
    #[must_use]
    pub fn has_chain(&self, chain: &str) -> bool {
        self.chains.as_ref().is_none_or(|chains| chains.iter().any(|one| one == chain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_definition_leaves_out_is_as_the_product_comes() {
        let plan = made("pro", r#"{"heavy": {"per_second": 50, "burst": 100}, "chains": ["ethereum"]}"#).unwrap();
        assert_eq!((plan.heavy.burst, plan.medium, plan.concurrency), (100, Plan::default().medium, 20));
        assert!(plan.has_chain("ethereum") && !plan.has_chain("bitcoin") && plan.has_endpoint("/v1/transactions"));
    }

    #[test]
    fn a_plan_that_cannot_be_meant_is_refused_by_name() {
        for (definition, named) in [
            ("[]", "expected"),
            (r#"{"heavi": {}}"#, "heavi"),
            (r#"{"heavy": {"per_second": 0, "burst": 1}}"#, "heavy"),
            (r#"{"concurrency": 0}"#, "concurrency"),
            (r#"{"endpoints": ["nope"]}"#, "nope"),
            (r#"{"endpoints": ["/v1/webhooks/nope"]}"#, "/v1/webhooks/nope"),
            (r#"{"chains": ["doge"]}"#, "doge"),
        ] {
            let text = made("x", definition).unwrap_err().to_string();
            assert!(text.contains(named), "{text}");
        }
    }

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
    fn plan_without_a_list_allows_everything() {
        let all = Plan::default();
        assert!(all.has_endpoint("/v1/chains") && all.has_chain("tron"));
        let some = Plan { endpoints: Some(vec!["/v1/chains".into()]), chains: Some(vec!["tron".into()]), ..all };
        assert!(some.has_endpoint("/v1/chains") && !some.has_endpoint("/v1/rates"));
        assert!(some.has_chain("tron") && !some.has_chain("bitcoin"));
    }
}
