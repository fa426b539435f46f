//! Address utilities.

use axum::extract::{Request, State};
use axum::response::Response;

use crate::gateway::Gateway;

/// Address validation and correction
///
/// Spaces, case, prefixes and forms are put right; a changed character never is, it is only named in `candidates`.
#[utoipa::path(get, path = "/v1/addresses/resolve", tag = "Address utilities")]
pub(super) async fn resolve(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("addresses/resolve", request).await
}

/// Prefix autocomplete
///
/// Addresses that were seen on a chain, the most active first.
#[utoipa::path(get, path = "/v1/addresses/autocomplete", tag = "Address utilities")]
pub(super) async fn autocomplete(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.answer("addresses/autocomplete", request).await
}
