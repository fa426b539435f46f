//! Transactions.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Transaction list of an address
///
/// One row per movement, newest first. Pages begin with 1; deep pages go by `cursor`. Unverified tokens, zero values
/// and failed transactions are hidden unless asked for.
#[utoipa::path(post, path = "/v1/transactions", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn transactions(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("transactions", request).await
}

/// Full detail of one transaction
///
/// All movements, inputs and outputs, fee and logs, as far as the sources told them.
#[utoipa::path(get, path = "/v1/transaction/{hash}", tag = "On-chain data")]
pub(super) async fn transaction(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("transaction", request).await
}
