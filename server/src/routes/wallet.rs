//! Wallets.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Daily balance history
///
/// What an address held at the end of each day, in the calendar of any offset or zone.
#[utoipa::path(post, path = "/v1/balance-history", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn balance_history(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("balance-history", request).await
}

/// Address overview
///
/// Balances, counts, first and last activity.
#[utoipa::path(post, path = "/v1/wallet-overview", tag = "On-chain data", request_body = serde_json::Value)]
pub(super) async fn wallet_overview(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("wallet-overview", request).await
}
