//! Liveness, readiness, and what is not there.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::{IntoResponse, Json, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::gateway::{Context, ErrorEnvelope, Gateway, Problem, Status, drain};

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Liveness {
    /// `ok` or `ready`.
    #[schema(example = "ok")]
    status: &'static str,
}

/// Liveness
///
/// Needs no key and costs nothing.
#[utoipa::path(
    get, path = "/healthz", tag = "System", security(()),
    responses((status = 200, description = "The service is alive.", body = Liveness, example = json!({"status": "ok"})))
)]
pub(super) async fn healthz(Extension(context): Extension<Arc<Context>>) -> Json<Liveness> {
    context.set_endpoint("/healthz");
    Json(Liveness { status: "ok" })
}

/// Readiness
///
/// Needs no key and costs nothing.
#[utoipa::path(
    get, path = "/readyz", tag = "System", security(()),
    responses(
        (status = 200, description = "The service takes traffic.", body = Liveness, example = json!({"status": "ready"})),
        (status = 503, description = "It does not yet, or no more; `details.reason` says why.", body = ErrorEnvelope,
            example = json!({"error": {
                "code": "service_unavailable", "message": "the service takes no traffic now", "details": {"reason": "draining"}
            }}))
    )
)]
pub(super) async fn readyz(State(gateway): State<Gateway>, Extension(context): Extension<Arc<Context>>) -> Response {
    context.set_endpoint("/readyz");
    match gateway.ready().await {
        Ok(()) => Json(Liveness { status: "ready" }).into_response(),
        Err(why) => Problem::new(Status::ServiceUnavailable, "the service takes no traffic now")
            .because(why.reason())
            .response(),
    }
}

/// 404 for what is no route.
pub(super) async fn no_such_route(request: Request) -> Response {
    let (request, body) = request.into_parts();
    drain(&request.headers, body);
    Problem::new(Status::NotFound, format!("there is no route {}: /docs lists them", shown(request.uri.path())))
        .response()
}

/// 405 for a route that has other methods; the router adds `Allow`.
pub(super) async fn no_such_method(method: Method, request: Request) -> Response {
    let (request, body) = request.into_parts();
    drain(&request.headers, body);
    let message = format!("{} does not take {method}: the header Allow names what it takes", shown(request.uri.path()));
    Problem::new(Status::MethodNotAllowed, message).response()
}

/// A path as a message may repeat it.
fn shown(path: &str) -> String {
    const LONGEST: usize = 200;
    let mut text: String = path.chars().take(LONGEST).collect();
    if text.len() < path.len() {
        text.push_str("...");
    }
    text
}
