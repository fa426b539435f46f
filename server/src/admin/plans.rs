//! Plans.

use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};

use super::desk::{Admin, Named, body};
use crate::state::StateError;

/// `GET /admin/v1/plans`
pub(super) async fn list(admin: Admin) -> Response {
    let plans = admin.look(|office| office.plans()).await;
    admin.answer(plans.map(|plans| json!({"plans": plans})))
}

/// `GET /admin/v1/plans/{name}`
pub(super) async fn show(admin: Admin, Named(name): Named) -> Response {
    let found = admin.look(move |office| {
        let plan = office.plans()?.into_iter().find(|plan| plan.name == name);
        plan.ok_or(StateError::UnknownPlan(name))
    });
    admin.answer(found.await)
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
pub(super) async fn remove(admin: Admin, Named(name): Named) -> Response {
    let named = name.clone();
    let removed = admin.change(move |office| office.remove_plan(&named)).await;
    admin.answer(removed.map(|()| json!({"name": name, "removed": true})))
}
