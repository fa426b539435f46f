//! Counterparties.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Counterparty ranking
///
/// Who an address dealt with, by amount, number or time.
#[utoipa::path(post, path = "/v1/counterparty", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn counterparty(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty", request).await
}

/// Transfers between two addresses
///
/// One row per movement between `target` and `counterparty`, seen from `target`.
#[utoipa::path(post, path = "/v1/counterparty/transfer-between", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn transfer_between(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty/transfer-between", request).await
}

/// Aggregate statistics for two addresses
///
/// What went which way between `target` and `counterparty`, by symbol.
#[utoipa::path(post, path = "/v1/counterparty/overview", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn overview(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty/overview", request).await
}

/// Counterparty list
///
/// Who an address dealt with; on Bitcoin amounts are attributed in proportion to the net inputs of each transaction.
#[utoipa::path(get, path = "/v2/counterparty/list", tag = "On-chain data")]
pub(super) async fn list(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty/list", request).await
}
