//! Tokens.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Holder ranking
///
/// The largest holders of a token, or of the coin of a chain.
#[utoipa::path(get, path = "/v1/token/holders", tag = "On-chain data")]
pub(super) async fn holders(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("token/holders", request).await
}

/// Holding concentration
///
/// Shares of the largest holders, HHI, Gini, Nakamoto, Theil and entropy.
#[utoipa::path(get, path = "/v1/token/concentration", tag = "On-chain data")]
pub(super) async fn concentration(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("token/concentration", request).await
}

/// Multi-address flow aggregation
///
/// What a set of addresses received and sent of one token, each of them and all together.
#[utoipa::path(get, path = "/v1/token/addresses_flow", tag = "On-chain data")]
pub(super) async fn addresses_flow(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("token/addresses_flow", request).await
}

/// Multi-address flow aggregation, parameters in the body
///
/// The same for lists that are too long for a URL.
#[utoipa::path(post, path = "/v1/token/addresses_flow", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn addresses_flow_by_post(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("token/addresses_flow", request).await
}
