//! Plans.

use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};

use super::desk::{Admin, Named, Nothing, body, explain};
use crate::gateway::{Plan, Problem};
use crate::state::StateError;

/// All plans; the default one is that of the configuration, unless another is stored.
async fn plans(admin: &Admin) -> Result<Vec<Plan>, Problem> {
    let mut plans = admin.look(|office| office.plans()).await?;
    let default = &admin.gateway().settings().limits.plan;
    if !plans.iter().any(|plan| plan.name == default.name) {
        plans.insert(0, Plan::clone(default));
    }
    Ok(plans)
}

/// `GET /admin/v1/plans`
pub(super) async fn list(admin: Admin, _: Nothing) -> Response {
    admin.answer(plans(&admin).await.map(|plans| json!({"plans": plans})))
}

/// `GET /admin/v1/plans/{name}`
pub(super) async fn show(admin: Admin, Named(name): Named, _: Nothing) -> Response {
    let found = plans(&admin).await.and_then(|plans| {
        let plan = plans.into_iter().find(|plan| plan.name == name);
        plan.ok_or_else(|| explain(&StateError::UnknownPlan(name)))
    });
    admin.answer(found)
}

/// `PUT /admin/v1/plans/{name}`
pub(super) async fn set(admin: Admin, Named(name): Named, request: Request) -> Response {
    let set = async {
        let definition = body::<Value>(request).await?.to_string();
        admin.change(move |office| office.set_plan(&name, &definition)).await
    };
    admin.answer(set.await)
}

/// `DELETE /admin/v1/plans/{name}`
pub(super) async fn remove(admin: Admin, Named(name): Named, _: Nothing) -> Response {
    let named = name.clone();
    let removed = admin.change(move |office| office.remove_plan(&named)).await;
    admin.answer(removed.map(|()| json!({"name": name, "removed": true})))
}
