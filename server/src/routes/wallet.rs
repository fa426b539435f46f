//! Wallets.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Address overview
///
/// Balances, counts, first and last activity.
#[utoipa::path(post, path = "/v1/wallet-overview", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn wallet_overview(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("wallet-overview", request).await
}
