//! Cross-origin requests: which web pages may call the API from a browser. By default none.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// The time that browsers keep what a preflight says.
const KEPT: Duration = Duration::from_hours(1);

/// Request headers that a page may send.
const SENT: [HeaderName; 6] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    header::IF_NONE_MATCH,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-correlation-id"),
];

/// Response headers that a page may read, besides those that it always may.
const READ: [HeaderName; 18] = [
    header::ALLOW,
    header::ETAG,
    header::LOCATION,
    header::RETRY_AFTER,
    HeaderName::from_static("idempotent-replayed"),
    HeaderName::from_static("ratelimit"),
    HeaderName::from_static("ratelimit-policy"),
    HeaderName::from_static("x-amount-unit"),
    HeaderName::from_static("x-as-of-block"),
    HeaderName::from_static("x-correlation-id"),
    HeaderName::from_static("x-credit-cost"),
    HeaderName::from_static("x-credit-remaining"),
    HeaderName::from_static("x-next-cursor"),
    HeaderName::from_static("x-pegged"),
    HeaderName::from_static("x-queue-wait-ms"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("x-total-count"),
    HeaderName::from_static("x-warnings"),
];

/// Lets pages of these origins call; `None` where there are none. Keys go in a header and never in cookies, so that
/// credentials of the browser are not allowed.
pub(crate) fn layer(origins: &[String]) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect();
    (!origins.is_empty()).then(|| {
        CorsLayer::new()
            .allow_origin(AllowOrigin::list(origins))
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE])
            .allow_headers(SENT)
            .expose_headers(READ)
            .max_age(KEPT)
    })
}
