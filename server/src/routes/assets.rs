//! Chains and tokens.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Supported chains and their tokens
///
/// What is held of each chain, by which rules it is final, and its registry entries (`include=none` leaves them out).
#[utoipa::path(get, path = "/v1/chains", tag = "Assets and market data")]
pub(super) async fn chains(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("chains", request).await
}

/// Full token registry
///
/// The coins of the chains, the core tokens that every server knows, and what was imported, which stands above the core.
/// Meant for building a local table of assets.
#[utoipa::path(get, path = "/v1/registry", tag = "Assets and market data")]
pub(super) async fn registry(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("registry", request).await
}

/// Tokens of one chain
///
/// Complete, the native coin first, then by market value.
#[utoipa::path(get, path = "/v1/assets", tag = "Assets and market data")]
pub(super) async fn assets(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("assets", request).await
}

/// Symbol or contract to asset specification
///
/// In the order of the request; what is not found is listed with candidates and is no error.
#[utoipa::path(post, path = "/v1/resolve", tag = "Assets and market data", request_body = serde_json::Value)]
pub(super) async fn resolve(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("resolve", request).await
}
