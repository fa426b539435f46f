//! Disputes of claims about addresses: recorded in the store, and noted among the changes of the back office.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::extract::Request;
use axum::http::Uri;
use axum::response::Response;
use headwater_engine::{ClaimDisputeRequest, DisputeRecord, Error, ErrorKind, Reason, list_disputes, record_dispute};
use headwater_ledger::LedgerError;
use headwater_ledger::labels::DisputeAction;
use headwater_ledger::store::WriterOptions;
use headwater_state::{causes, now_ms};
use headwater_types::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::handler::{Admin, body, query};
use crate::gateway::{Problem, Status};

/// The longest wait for another writer of the store.
const MAX_WAIT: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct OfAddress {
    address: Option<String>,
}

/// `POST /admin/v1/labels/dispute`: the claims count half.
pub(super) async fn dispute(admin: Admin, request: Request) -> Response {
    let recorded = record(&admin, DisputeAction::Dispute, request).await;
    admin.answer(recorded.map(|recorded| json!({"recorded": recorded})))
}

/// `POST /admin/v1/labels/confirm`: they count in full again.
pub(super) async fn confirm(admin: Admin, request: Request) -> Response {
    let recorded = record(&admin, DisputeAction::Confirm, request).await;
    admin.answer(recorded.map(|recorded| json!({"recorded": recorded})))
}

/// `GET /admin/v1/labels/disputes`: the history, the newest first.
pub(super) async fn list(admin: Admin, uri: Uri) -> Response {
    let listed = async {
        let OfAddress { address } = query(&uri)?;
        let ledgers = Arc::clone(admin.gateway().ledgers());
        let listed = tokio::task::spawn_blocking(move || list_disputes(&*ledgers.current()?, address.as_deref()));
        let disputes = listed.await.map_err(|_| Problem::internal())?.map_err(|error| problem(&error))?;
        Ok(json!({"disputes": disputes}))
    };
    admin.answer(listed.await)
}

/// Records a dispute or a confirmation in the store, whose history is what counts, and then among the changes.
async fn record(admin: &Admin, action: DisputeAction, request: Request) -> Result<Vec<DisputeRecord>, Problem> {
    let request: ClaimDisputeRequest = body(request).await?;
    let Some(folder) = admin.gateway().ledgers().folder().map(ToOwned::to_owned) else {
        return Err(Problem::new(Status::Conflict, "this server has no store on disk; disputes cannot be recorded"));
    };
    let (by, one_at_a_time) = (admin.actor().to_owned(), Arc::clone(&admin.shared.disputes));
    let recorded = tokio::task::spawn_blocking(move || {
        let _turn = one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let options = WriterOptions::default().wait_at_most(MAX_WAIT);
        record_dispute(&folder, action, &request, (&by, Timestamp::new(now_ms() / 1000)), options)
    });
    let recorded = recorded.await.map_err(|_| Problem::internal())?.map_err(|error| problem(&error))?;
    let address = recorded.first().map(|record| record.address.to_string()).unwrap_or_default();
    let after = json!(recorded);
    // The store has recorded it, with who and when: an error now would make the caller repeat it.
    if admin.change(move |admin| admin.note_dispute(action.name(), &address, &after)).await.is_err() {
        tracing::error!(action = action.name(), "recorded in the store, but not among the administrative changes");
    }
    Ok(recorded)
}

fn problem(error: &Error) -> Problem {
    match (error.kind, &error.source) {
        (ErrorKind::InvalidInput(reason @ (Reason::AlreadyDisputed | Reason::NotDisputed)), _) => {
            let problem = Problem::invalid(reason, error.field.as_deref(), error.message.clone());
            Problem { status: Status::Conflict, ..problem }
        }
        (_, Some(LedgerError::Locked { .. })) => {
            let message = "another process has been writing to the store for 10 seconds, such as `headwater ingest`: send it again \
                 later";
            Problem::new(Status::Conflict, message).because("store_locked")
        }
        (ErrorKind::Storage | ErrorKind::Internal, _) => {
            tracing::error!(error = causes(error), "disputes of the store cannot be read or written");
            Problem::quietly_from_engine(error)
        }
        _ => Problem::quietly_from_engine(error),
    }
}
