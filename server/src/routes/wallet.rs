//! Wallets.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Address overview
///
/// Balances, counts, first and last activity.
#[utoipa::path(
    post, path = "/v1/wallet-overview", tag = "On-chain data",
    request_body(content = serde_json::Value, example = json!({
        "blockchain": "ethereum", "address": "0xd8da6bf26964af9d7eed9e03e53415d37aa96045"
    }))
)]
pub(super) async fn wallet_overview(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("wallet-overview", request).await
}
