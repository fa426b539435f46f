//! Transactions.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Transaction list of an address
///
/// One row per movement, newest first. Pages begin with 1; deep pages go by `cursor`. Unverified tokens, zero values
/// and failed transactions are hidden unless asked for.
#[utoipa::path(
    post, path = "/v1/transactions", tag = "On-chain data",
    request_body(content = serde_json::Value, example = json!({
        "blockchain": "ethereum", "address": "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", "direction": "in", "limit": 20
    }))
)]
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
