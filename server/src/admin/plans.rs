//! Plans.

use axum::extract::Request;
use axum::response::Response;
use headwater_engine::Reason;
use headwater_state::{Plan, Rate, StateError, is_endpoint};
use headwater_types::Chain;
use serde::Deserialize;
use serde_json::json;

use super::handler::{Admin, EmptyRequest, PathName, about, body, explain, unfit};
use crate::gateway::Problem;

/// A plan as a client writes it.
#[derive(Deserialize)]
struct Definition {
    name: Option<String>,
    free: Option<Rate>,
    light: Option<Rate>,
    medium: Option<Rate>,
    heavy: Option<Rate>,
    concurrency: Option<u32>,
    endpoints: Option<Vec<String>>,
    chains: Option<Vec<String>>,
}

impl Definition {
    /// The plan of that name; what is left out is as in the plan that the product comes with.
    fn named(self, name: String) -> Result<Plan, Problem> {
        if let Some(other) = self.name.filter(|other| *other != name) {
            return Err(unfit(Reason::InvalidValue, "name", other, format!("{name:?} as in the path, or none")));
        }
        let usual = Plan::default();
        Ok(Plan {
            name,
            free: self.free.unwrap_or(usual.free),
            light: self.light.unwrap_or(usual.light),
            medium: self.medium.unwrap_or(usual.medium),
            heavy: self.heavy.unwrap_or(usual.heavy),
            concurrency: self.concurrency.unwrap_or(usual.concurrency),
            endpoints: self.endpoints,
            chains: self.chains,
        })
    }
}

/// The field that keeps a plan from being one.
fn fault(plan: &Plan) -> String {
    let rates = [("free", plan.free), ("light", plan.light), ("medium", plan.medium), ("heavy", plan.heavy)];
    let rate = rates.into_iter().find(|(_, rate)| !rate.is_possible()).map(|(name, _)| name.to_owned());
    let concurrency = || (plan.concurrency == 0).then(|| "concurrency".to_owned());
    let endpoint =
        || Some(format!("endpoints[{}]", plan.endpoints.iter().flatten().position(|one| !is_endpoint(one))?));
    let is_chain = |name: &String| Chain::all().any(|chain| chain.name() == *name);
    let chain = || Some(format!("chains[{}]", plan.chains.iter().flatten().position(|one| !is_chain(one))?));
    rate.or_else(concurrency).or_else(endpoint).or_else(chain).unwrap_or_else(|| "name".to_owned())
}

/// All plans; the default one is that of the configuration, unless another is stored.
async fn plans(admin: &Admin) -> Result<Vec<Plan>, Problem> {
    let mut plans = admin.look(|admin| admin.plans()).await?;
    let default = &admin.gateway().settings().limits.plan;
    if !plans.iter().any(|plan| plan.name == default.name) {
        plans.insert(0, Plan::clone(default));
    }
    Ok(plans)
}

/// `GET /admin/v1/plans`
pub(super) async fn list(admin: Admin, _: EmptyRequest) -> Response {
    admin.answer(plans(&admin).await.map(|plans| json!({"plans": plans})))
}

/// `GET /admin/v1/plans/{name}`
pub(super) async fn show(admin: Admin, PathName(name): PathName, _: EmptyRequest) -> Response {
    let found = plans(&admin).await.and_then(|plans| {
        let plan = plans.into_iter().find(|plan| plan.name == name);
        plan.ok_or_else(|| explain(&StateError::UnknownPlan(name)))
    });
    admin.answer(found)
}

/// `PUT /admin/v1/plans/{name}`
pub(super) async fn set(admin: Admin, PathName(name): PathName, request: Request) -> Response {
    let set = async {
        let plan = body::<Definition>(request).await?.named(name)?;
        let (name, definition, field) = (plan.name.clone(), json!(plan).to_string(), fault(&plan));
        let set = admin.change(move |admin| admin.set_plan(&name, &definition)).await;
        set.map_err(|problem| about(problem, &field))
    };
    admin.answer(set.await)
}

/// `DELETE /admin/v1/plans/{name}`
pub(super) async fn remove(admin: Admin, PathName(name): PathName, _: EmptyRequest) -> Response {
    let named = name.clone();
    let removed = admin.change(move |admin| admin.remove_plan(&named)).await;
    admin.answer(removed.map(|()| json!({"name": name, "removed": true})))
}
