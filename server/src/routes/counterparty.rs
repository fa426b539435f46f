//! Counterparties.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Counterparty ranking
///
/// Who an address dealt with, by amount, number or time.
#[utoipa::path(
    post, path = "/v1/counterparty", tag = "On-chain data",
    request_body(content = serde_json::Value, example = json!({
        "blockchain": "ethereum", "address": "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", "sort": "total_amount"
    }))
)]
pub(super) async fn counterparty(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty", request).await
}

/// Transfers between two addresses
///
/// One row per movement between `target` and `counterparty`, seen from `target`.
#[utoipa::path(
    post, path = "/v1/counterparty/transfer-between", tag = "On-chain data",
    request_body(content = serde_json::Value, example = json!({
        "blockchain": "ethereum", "target": "0xd8da6bf26964af9d7eed9e03e53415d37aa96045",
        "counterparty": "0x28c6c06298d514db089934071355e5743bf21d60"
    }))
)]
pub(super) async fn transfer_between(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty/transfer-between", request).await
}

/// Aggregate statistics for two addresses
///
/// What went which way between `target` and `counterparty`, by symbol.
#[utoipa::path(
    post, path = "/v1/counterparty/overview", tag = "On-chain data",
    request_body(content = serde_json::Value, example = json!({
        "blockchain": "ethereum", "target": "0xd8da6bf26964af9d7eed9e03e53415d37aa96045",
        "counterparty": "0x28c6c06298d514db089934071355e5743bf21d60"
    }))
)]
pub(super) async fn overview(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("counterparty/overview", request).await
}
