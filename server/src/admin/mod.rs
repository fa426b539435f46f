//! The admin listener: the back office over HTTP, on an address of its own, with keys of its own.
//!
//! Nothing of it is on the public listener or in the public description. Every request is recorded (it costs nothing), every
//! change in the audit of the back office under `admin:ID`.

mod access;
mod disputes;
mod handler;
mod keys;
mod listener;
mod plans;
mod records;
mod service;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post, put};

use crate::gateway::{Gateway, RecordedRoutes};
use access::Failures;

pub use listener::Listener;

/// Every path of the listener.
pub const PATHS: &[&str] = &[
    "/admin/v1/keys",
    "/admin/v1/keys/{id}",
    "/admin/v1/keys/{id}/rotate",
    "/admin/v1/keys/{id}/credits",
    "/admin/v1/keys/{id}/plan",
    "/admin/v1/plans",
    "/admin/v1/plans/{name}",
    "/admin/v1/audit",
    "/admin/v1/audit/sums",
    "/admin/v1/changes",
    "/admin/v1/usage",
    "/admin/v1/usage/{month}",
    "/admin/v1/lost-answers",
    "/admin/v1/labels/dispute",
    "/admin/v1/labels/confirm",
    "/admin/v1/labels/disputes",
    "/admin/v1/backup",
    "/metrics",
];

/// The part of the configuration that the listener needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// True if `/metrics` needs no key.
    pub open_metrics: bool,
    /// The folder that backups are made in; none can be asked for without one.
    pub backup_dir: Option<PathBuf>,
}

/// The state that the handlers share.
#[derive(Clone)]
struct AdminState {
    gateway: Gateway,
    settings: Arc<Settings>,
    failures: Arc<Failures>,
    /// The store has one writer: disputes are recorded one after the other.
    disputes: Arc<Mutex<()>>,
}

fn routes(gateway: &Gateway, settings: Settings) -> RecordedRoutes {
    let open_metrics = settings.open_metrics;
    let settings = Arc::new(settings);
    let shared = AdminState { gateway: gateway.clone(), settings, failures: Arc::default(), disputes: Arc::default() };
    let mut guarded = Router::new()
        .route("/admin/v1/keys", get(keys::list).post(keys::create))
        .route("/admin/v1/keys/{id}", get(keys::show).delete(keys::revoke))
        .route("/admin/v1/keys/{id}/rotate", post(keys::rotate))
        .route("/admin/v1/keys/{id}/credits", post(keys::credits))
        .route("/admin/v1/keys/{id}/plan", put(keys::assign_plan))
        .route("/admin/v1/plans", get(plans::list))
        .route("/admin/v1/plans/{name}", get(plans::show).put(plans::set).delete(plans::remove))
        .route("/admin/v1/audit", get(records::audit))
        .route("/admin/v1/audit/sums", get(records::sums))
        .route("/admin/v1/changes", get(records::changes))
        .route("/admin/v1/usage", get(records::usage))
        .route("/admin/v1/usage/{month}", get(records::monthly_usage))
        .route("/admin/v1/lost-answers", get(records::lost_answers).post(records::refund_lost))
        .route("/admin/v1/labels/dispute", post(disputes::dispute))
        .route("/admin/v1/labels/confirm", post(disputes::confirm))
        .route("/admin/v1/labels/disputes", get(disputes::list))
        .route("/admin/v1/backup", post(service::back_up));
    let mut open = Router::new().route("/healthz", get(service::healthz)).route("/readyz", get(service::readyz));
    if open_metrics {
        open = open.route("/metrics", get(service::metrics));
    } else {
        guarded = guarded.route("/metrics", get(service::metrics));
    }
    let routes = guarded
        .route_layer(from_fn_with_state(shared.clone(), access::admit))
        .merge(open)
        .fallback(service::no_such_route)
        .method_not_allowed_fallback(service::no_such_method)
        .layer(from_fn(access::name_endpoint))
        .with_state(shared);
    RecordedRoutes::new(gateway.clone(), routes)
}

#[cfg(test)]
mod tests {
    use super::PATHS;

    #[test]
    fn a_path_is_listed_once() {
        let mut paths = PATHS.to_vec();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), PATHS.len());
    }
}
