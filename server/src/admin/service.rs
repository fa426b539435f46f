//! The service itself: how it is, its figures, its backup.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Json, Response};
use headwater_state::now_ms;
use serde_json::json;

use super::AdminState;
use super::handler::{Admin, EmptyRequest, explain};
use crate::gateway::{METRICS_TYPE, Problem, Readiness, Status};

/// `GET /healthz`
pub(super) async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// `GET /readyz`
pub(super) async fn readyz(State(shared): State<AdminState>) -> Response {
    match shared.gateway.ready().await {
        Ok(Readiness::Current) => Json(json!({"status": "ready"})).into_response(),
        Ok(Readiness::Stale) => Json(json!({"status": "ready", "stale": true})).into_response(),
        Err(why) => why.problem().response(),
    }
}

/// `GET /metrics`
pub(super) async fn metrics(State(shared): State<AdminState>) -> Response {
    let gateway = shared.gateway.clone();
    match tokio::task::spawn_blocking(move || gateway.scrape()).await {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE));
            response
        }
        Err(_) => Problem::internal().response(),
    }
}

/// `POST /admin/v1/backup`: a new folder in the configured one.
pub(super) async fn back_up(admin: Admin, _: EmptyRequest) -> Response {
    let made = async {
        let Some(folder) = &admin.shared.settings.backup_dir else {
            let message = "no folder for backups is configured: set state.backup_dir, or use `headwater state backup`";
            return Err(Problem::new(Status::Conflict, message));
        };
        let time = chrono::DateTime::from_timestamp_millis(now_ms()).unwrap_or_default();
        let folder = folder.join(time.format("headwater-%Y%m%dT%H%M%S%3fZ").to_string());
        let shown = folder.display().to_string();
        admin.change(move |admin| admin.note_backup(&shown)).await?;
        let (gateway, to) = (admin.gateway().clone(), folder.clone());
        let copied = tokio::task::spawn_blocking(move || gateway.state().home().back_up(&to));
        let checked = copied.await.map_err(|_| Problem::internal())?.map_err(|error| explain(&error))?;
        Ok(json!({"folder": folder, "entries": checked.entries}))
    };
    admin.answer(made.await)
}

/// 404 for what is not a route.
pub(super) async fn no_such_route() -> Response {
    Problem::new(Status::NotFound, "there is no such route on the admin listener").response()
}

/// 405 for a route that has other methods; the router adds `Allow`.
pub(super) async fn no_such_method(method: Method, _: Request) -> Response {
    let message = format!("this route does not take {method}: the header Allow names what it takes");
    Problem::new(Status::MethodNotAllowed, message).response()
}
