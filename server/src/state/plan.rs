//! Plans as they are stored: a name, and a definition as JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::Chain;

use super::StateError;
use super::db::Tx;
use crate::gateway::Plan;

/// The plan of accounts that have no other. Where none is stored under this name, it is what the configuration says.
pub const DEFAULT_PLAN: &str = "default";

/// Paths of routes that are no data endpoints and that a key opens.
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

/// Whether this is the path of a route that a key opens.
pub(crate) fn is_endpoint(path: &str) -> bool {
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
        return Err(bad(format!("{unknown:?} is no endpoint: paths are expected, such as /v1/token/holders")));
    }
    if let Some(unknown) = plan.chains.iter().flatten().find(|chain| !Chain::all().any(|one| one.name() == **chain)) {
        return Err(bad(format!("{unknown:?} is no chain")));
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
}
