//! Webhooks. They cost nothing and belong to the account of a key: another key's are not there.

use std::sync::LazyLock;

use axum::extract::{Request, State};
use axum::response::Response;
use headwater_engine::columns;
use headwater_state::now_ms;
use serde_json::json;
use utoipa::ToSchema;

use super::own::{Data, OwnOperation};
use crate::events::Events;
use crate::events::webhook::deliveries::DeliveryView;
use crate::events::webhook::endpoints::WebhookView;
use crate::events::webhook::manage::{
    self, CreateWebhookRequest, CreatedWebhook, DeletedWebhook, ReplayRequest, Replayed, RotatedSecret, SentTest,
    UpdateWebhookRequest,
};
use crate::gateway::{OwnRoute, RequestInput};

const DAY_MS: i64 = 86_400_000;

const ALL: &str = crate::events::webhook::PATH;
const ONE: &str = "/v1/webhooks/{id}";
const TEST: &str = "/v1/webhooks/{id}/test";
const ROTATE: &str = "/v1/webhooks/{id}/rotate-secret";
const DELIVERIES: &str = "/v1/webhooks/{id}/deliveries";
const REPLAY: &str = "/v1/webhooks/{id}/replay";

const fn route(path: &'static str, takes: RequestInput) -> OwnRoute {
    OwnRoute { path, takes, columns: None }
}

/// A list of such rows.
const fn list_of<R: ToSchema>(path: &'static str) -> OwnRoute {
    OwnRoute { path, takes: RequestInput::Query, columns: Some(columns::<R>) }
}

/// Register a webhook
///
/// Events are sent to `target_url` by POST, signed as Standard Webhooks says, at least once and in no certain order. A
/// receiver answers 2xx within 20 seconds; else the delivery is tried again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h,
/// 14 h, 20 h and 24 h. An answer of 410 disables the webhook, and so do 120 hours of nothing but failures. The secret
/// is shown this once.
#[utoipa::path(post, path = ALL, tag = "Events", request_body = CreateWebhookRequest)]
pub(super) async fn create(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(ALL, RequestInput::Body), request, |call| manage::create(own, call)).await
}

/// List webhooks
///
/// Those of the key, newest first.
#[utoipa::path(get, path = ALL, tag = "Events")]
pub(super) async fn list(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(list_of::<WebhookView>(ALL), request, |call| manage::list(own, call)).await
}

/// Show a webhook
#[utoipa::path(get, path = ONE, tag = "Events")]
pub(super) async fn show(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(ONE, RequestInput::Nothing), request, |call| manage::show(own, call)).await
}

/// Delete a webhook
///
/// With its deliveries, those that wait included.
#[utoipa::path(delete, path = ONE, tag = "Events")]
pub(super) async fn delete(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(ONE, RequestInput::Nothing), request, |call| manage::delete(own, call)).await
}

/// Change a webhook
///
/// What is left out stays. While a webhook is paused its events wait, for at most 7 days; `active` sends them and wakes
/// a webhook that the service had disabled.
#[utoipa::path(patch, path = ONE, tag = "Events", request_body = UpdateWebhookRequest)]
pub(super) async fn update(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(ONE, RequestInput::Body), request, |call| manage::update(own, call)).await
}

/// Send a test event
///
/// An event of the type `test`, delivered like any other.
#[utoipa::path(post, path = TEST, tag = "Events")]
pub(super) async fn test(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(TEST, RequestInput::Nothing), request, |call| manage::test(own, call)).await
}

/// Rotate the secret of a webhook
///
/// The new secret is shown this once. For 24 hours deliveries carry signatures of both.
#[utoipa::path(post, path = ROTATE, tag = "Events")]
pub(super) async fn rotate(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(ROTATE, RequestInput::Nothing), request, |call| manage::rotate(own, call)).await
}

/// List the deliveries of a webhook
///
/// Newest first, with every attempt, for 7 days.
#[utoipa::path(get, path = DELIVERIES, tag = "Events")]
pub(super) async fn deliveries(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events
        .gateway()
        .answer_own(list_of::<DeliveryView>(DELIVERIES), request, |call| manage::deliveries(own, call))
        .await
}

/// Make deliveries again
///
/// Those of events that were found between two times and are not waiting anyway, under the ids they had.
#[utoipa::path(post, path = REPLAY, tag = "Events", request_body = ReplayRequest)]
pub(super) async fn replay(State(events): State<Events>, request: Request) -> Response {
    let own = events.clone();
    events.gateway().answer_own(route(REPLAY, RequestInput::Body), request, |call| manage::replay(own, call)).await
}

/// When the day of the process began, in epoch seconds: an example of a time that deliveries are kept from.
fn today() -> i64 {
    static TODAY: LazyLock<i64> = LazyLock::new(|| now_ms() / DAY_MS * (DAY_MS / 1000));
    *TODAY
}

/// Returns what the description says of them besides.
pub(super) fn operations() -> Vec<OwnOperation> {
    let id = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b";
    let event = "evt_0123456789abcdef0123456789abcdef";
    let url = "https://hooks.example.com/in";
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
    let filters = json!({"blockchain": "ethereum", "min_amount_usd": 250_000.0});
    let view = json!({
        "id": id, "target_url": url, "event_type": "large_transfer", "status": "active", "status_reason": null,
        "filters": filters, "created_at": "2026-11-20T10:00:00Z"
    });
    let mut created = view.clone();
    created["secret"] = json!(secret);
    let mut paused = view.clone();
    paused["status"] = json!("paused");
    let delivery = json!({
        "event_id": event, "event_type": "large_transfer", "status": "delivered", "created_at": "2026-11-20T10:00:00Z",
        "next_attempt_at": null, "finished_at": "2026-11-20T10:00:06Z", "attempts": [
            {"number": 1, "at": "2026-11-20T10:00:01Z", "status": 503, "duration_ms": 41, "error": "status_not_2xx"},
            {"number": 2, "at": "2026-11-20T10:00:06Z", "status": 200, "duration_ms": 38, "error": null}
        ]
    });
    let rotated = json!({"id": id, "secret": secret, "old_secret_signs_until": "2026-11-21T10:00:00Z"});
    vec![
        OwnOperation::new("create_webhook", ("post", ALL), Data::one::<CreatedWebhook>(), created)
            .created()
            .with_body::<CreateWebhookRequest>(
                json!({"target_url": url, "event_type": "large_transfer", "filters": filters}),
            )
            .repeatable()
            .refused("target_url", "target_url: the host \"10.0.0.1\" of the URL is not on the public internet"),
        OwnOperation::new("list_webhooks", ("get", ALL), Data::list::<WebhookView>(), json!([view])).paged(),
        OwnOperation::new("get_webhook", ("get", ONE), Data::one::<WebhookView>(), view.clone()),
        OwnOperation::new(
            "delete_webhook",
            ("delete", ONE),
            Data::one::<DeletedWebhook>(),
            json!({"id": id, "deleted": true}),
        ),
        OwnOperation::new("update_webhook", ("patch", ONE), Data::one::<WebhookView>(), paused)
            .with_body::<UpdateWebhookRequest>(json!({"status": "paused"}))
            .refused("status", "status: expected active or paused, got \"off\""),
        OwnOperation::new("test_webhook", ("post", TEST), Data::one::<SentTest>(), json!({"event_id": event})),
        OwnOperation::new("rotate_webhook_secret", ("post", ROTATE), Data::one::<RotatedSecret>(), rotated),
        OwnOperation::new(
            "list_webhook_deliveries",
            ("get", DELIVERIES),
            Data::list::<DeliveryView>(),
            json!([delivery]),
        )
        .paged(),
        OwnOperation::new("replay_webhook", ("post", REPLAY), Data::one::<Replayed>(), json!({"replayed": 3}))
            .with_body::<ReplayRequest>(json!({"from": today()}))
            .refused("from", "from: 1600000000 lies more than 7 days back, which deliveries are not kept for"),
    ]
}
