//! Prices.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Latest or point-in-time prices
///
/// The latest price at or before `at`, not older than a day; symbols without one are listed in `missing`.
#[utoipa::path(get, path = "/v1/rates", tag = "Assets and market data")]
pub(super) async fn rates(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("rates", request).await
}
