//! Liveness, readiness, and what is not there.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::{IntoResponse, Json, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::openapi::responses::failure;
use super::openapi::{headers, reference};
use crate::gateway::{ErrorEnvelope, Gateway, Outcome, Problem, Readiness, Status, drain};

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Liveness {
    /// `ok` or `ready`.
    #[schema(example = "ok")]
    status: &'static str,
    /// Only of `/readyz`, and only if true: the newest data cannot be read, and answers come from those before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stale: Option<bool>,
}

/// Liveness
///
/// Needs no key and costs nothing.
#[utoipa::path(
    get, path = "/healthz", tag = "System", security(()),
    responses((status = 200, description = "The service is alive.", body = Liveness, example = json!({"status": "ok"})))
)]
pub(super) async fn healthz() -> Response {
    Outcome::of("/healthz").attach(Json(Liveness { status: "ok", stale: None }).into_response())
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
                "code": "service_unavailable", "message": "the service takes no traffic now",
                "details": {"reason": "draining"}, "request_id": headers::REQUEST_ID
            }}))
    )
)]
pub(super) async fn readyz(State(gateway): State<Gateway>) -> Response {
    let response = match gateway.ready().await {
        Ok(readiness) => {
            let stale = (readiness == Readiness::Stale).then_some(true);
            Json(Liveness { status: "ready", stale }).into_response()
        }
        Err(why) => why.problem().response(),
    };
    Outcome::of("/readyz").attach(response)
}

/// Completes the description of what needs no key.
pub(super) fn complete(paths: &mut Value) {
    for (path, id) in [
        ("/healthz", "healthz"),
        ("/readyz", "readyz"),
        ("/docs", "docs"),
        ("/explore", "explore"),
        ("/api-docs/openapi.json", "openapi"),
    ] {
        let operation = &mut paths[path]["get"];
        operation["operationId"] = json!(id);
        operation["parameters"] = json!([headers::correlation_id()]);
        let responses = operation["responses"].as_object_mut().expect("the handler names what it answers");
        let too_long = "path and query have 9000 bytes, at most 8192 are taken";
        let details = json!({"reason": "invalid_value", "limit": 8192});
        let defect = "an unexpected error happened: report it with the request id";
        for (status, description, message) in [
            (Status::BadRequest, "Address or headers of the request are too long.", too_long),
            (Status::InternalServerError, "A defect of the service.", defect),
        ] {
            responses.insert(status.http().to_string(), failure(status, description, message, None));
        }
        responses["400"]["content"]["application/json"]["example"]["error"]["details"] = details;
        if !matches!(path, "/healthz" | "/readyz") {
            let message = format!(
                "{path} takes 100 calls a second and 200 at once from one caller: wait as long as Retry-After says"
            );
            let description = "Too many requests from one address.";
            let limited = failure(Status::TooManyRequests, description, &message, Some("rate_limited"));
            responses.insert("429".to_owned(), limited);
            let known = "The client has it already: `If-None-Match` names its `ETag`.";
            responses.insert("304".to_owned(), json!({"description": known}));
        }
        for response in responses.values_mut() {
            response["headers"] = headers::open();
        }
        for status in ["429", "503"] {
            if let Some(later) = responses.get_mut(status) {
                headers::add(&mut later["headers"], "Retry-After");
            }
        }
        responses.sort_keys();
    }
    paths["/readyz"]["get"]["responses"]["503"]["content"]["application/json"]["schema"] = reference("ErrorEnvelope");
    for (path, title) in [("/docs", "Headwater API"), ("/explore", "Headwater Explore")] {
        paths[path]["get"]["responses"]["200"]["content"]["text/html"] =
            json!({"schema": {"type": "string"}, "example": format!("<!doctype html><title>{title}</title>")});
    }
    paths["/api-docs/openapi.json"]["get"]["responses"]["200"]["content"]["application/json"] = json!({
        "schema": {
            "title": "OpenApiDescription", "type": "object", "required": ["openapi", "info", "paths"], "properties": {
                "openapi": {"type": "string", "pattern": "^3\\.1\\."}, "info": {"type": "object"}, "paths": {"type": "object"}
            }
        },
        "example": {"openapi": "3.1.0", "info": {"title": "Headwater", "version": env!("CARGO_PKG_VERSION")}, "paths": {}}
    });
}

/// 404 for what is not a route.
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
