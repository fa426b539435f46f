//! The usage of a key.

use axum::extract::{Request, State};
use axum::response::Response;
use headwater_state::{Usage, now_ms};
use serde_json::json;

use super::own::{Data, OwnOperation};
use crate::gateway::{Gateway, OwnRoute, RequestInput};

const USAGE: &str = "/v1/usage";

/// Credits and calls of this month
///
/// Of the account of the key, since the first of the month in UTC. Counts stay when rows of the audit are deleted.
#[utoipa::path(get, path = USAGE, tag = "System")]
pub(super) async fn usage(State(gateway): State<Gateway>, request: Request) -> Response {
    let own = gateway.clone();
    let route = OwnRoute { path: USAGE, takes: RequestInput::Nothing, columns: None };
    let work = |mut call: crate::gateway::Call| async move {
        let account = call.caller.account().id();
        // What was asked before counts, however recently.
        own.state().flush().await.map_err(|error| call.failed(&error))?;
        let usage = own.read_state(move |tx| Usage::read(tx, account, now_ms())).await;
        let usage = usage.map_err(|error| call.failed(&error))?;
        call.left(usage.credit_remaining);
        Ok(call.reply(&usage))
    };
    gateway.answer_own(route, request, work).await
}

pub(super) fn operations() -> Vec<OwnOperation> {
    let example = json!({
        "credit_remaining": 985, "plan": "default", "period_start": 1_793_491_200, "period_end": 1_796_083_199,
        "by_endpoint": [
            {"endpoint": "/v1/chains", "calls": 2, "failed": 0, "credits": 0},
            {"endpoint": "/v1/transactions", "calls": 4, "failed": 1, "credits": 15}
        ]
    });
    vec![OwnOperation::new("usage", ("get", USAGE), Data::one::<Usage>(), example)]
}
