//! Prices.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Latest or point-in-time prices
///
/// The latest price at or before `at`, not older than a day; symbols without one that can be meant are listed in
/// `missing`. With a `quote`, `price` is in that currency, by the exchange rate of the time of the price.
#[utoipa::path(get, path = "/v1/rates", tag = "Assets and market data")]
pub(super) async fn rates(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("rates", request).await
}

/// Daily prices of one symbol
///
/// In US dollars, one point per UTC day at 00:00:00: the last price at or before it, not older than a day. The last 30
/// days up to the newest price held, unless `start` and `end` say otherwise; at most 3,660 days at once.
#[utoipa::path(get, path = "/v1/rates/history", tag = "Assets and market data")]
pub(super) async fn history(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("rates/history", request).await
}

/// Symbols with prices, and currencies
///
/// What `symbols` and `quote` of the other price calls may name; `detail=true` adds where the prices come from and how
/// far they reach.
#[utoipa::path(get, path = "/v1/rates/symbols", tag = "Assets and market data")]
pub(super) async fn symbols(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("rates/symbols", request).await
}
