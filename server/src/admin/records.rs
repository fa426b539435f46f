//! Records of the audit and of changes.

use axum::http::Uri;
use axum::response::Response;
use headwater_engine::Reason;
use headwater_state::{AuditFilter, SumFilter, now_ms};
use headwater_types::TimeWindow;
use serde::Deserialize;
use serde_json::json;

use super::handler::{Admin, EmptyRequest, PathName, explain, query, unfit};
use crate::gateway::Problem;

/// Most rows of an answer.
const MOST: u32 = 1000;

#[derive(Deserialize)]
struct Requests {
    key_id: Option<String>,
    status: Option<i64>,
    /// Unix seconds.
    since: Option<i64>,
    cursor: Option<String>,
    #[serde(default = "page")]
    limit: i64,
}

#[derive(Deserialize)]
struct Sums {
    status: Option<i64>,
    /// Unix seconds.
    since: Option<i64>,
    cursor: Option<String>,
    #[serde(default = "page")]
    limit: i64,
}

#[derive(Deserialize)]
struct Page {
    cursor: Option<String>,
    #[serde(default = "page")]
    limit: i64,
}

#[derive(Deserialize)]
struct OfKey {
    key_id: String,
}

#[derive(Deserialize)]
struct OfAnyKey {
    key_id: Option<String>,
}

const fn page() -> i64 {
    50
}

fn checked(limit: i64) -> Result<u32, Problem> {
    let fits = u32::try_from(limit).ok().filter(|limit| (1..=MOST).contains(limit));
    fits.ok_or_else(|| unfit(Reason::LimitOutOfRange, "limit", limit, format!("1 to {MOST}")))
}

/// A status that the audit may hold.
fn status(number: i64) -> Result<u16, Problem> {
    let fits = u16::try_from(number).ok().filter(|status| (100..=599).contains(status));
    fits.ok_or_else(|| unfit(Reason::InvalidValue, "status", number, "an HTTP status, 100 to 599"))
}

/// Unix seconds as Unix milliseconds.
fn milliseconds(since: i64) -> Result<i64, Problem> {
    match since {
        0..=TimeWindow::LAST_SECS => Ok(since * 1000),
        ..0 => Err(unfit(Reason::InvalidValue, "since", since, "epoch seconds, 0 or more")),
        _ => Err(unfit(Reason::Milliseconds, "since", since, "epoch seconds, not milliseconds")),
    }
}

/// The cursor behind the last row; null when the list may have ended.
fn next<T>(rows: &[T], limit: u32, id: impl Fn(&T) -> String) -> Option<String> {
    rows.last().filter(|_| rows.len() == limit as usize).map(id)
}

/// `GET /admin/v1/audit`
pub(super) async fn audit(admin: Admin, uri: Uri) -> Response {
    let found = async {
        let Requests { key_id, status, since, cursor, limit } = query(&uri)?;
        let limit = checked(limit)?;
        let (status, from_ms) = (status.map(self::status).transpose()?, since.map(milliseconds).transpose()?);
        let filter = AuditFilter { key_id, status, from_ms, before: cursor, limit };
        let rows = admin.look(move |admin| admin.audit(&filter)).await?;
        let next = next(&rows, limit, |row| row.request_id.clone());
        Ok(json!({"requests": rows, "next_cursor": next}))
    };
    admin.answer(found.await)
}

/// `GET /admin/v1/audit/sums`: the requests that are lines of the audit log, counted, and what the log takes.
pub(super) async fn sums(admin: Admin, uri: Uri) -> Response {
    let found = async {
        let Sums { status, since, cursor, limit } = query(&uri)?;
        let limit = checked(limit)?;
        let (status, from_ms) = (status.map(self::status).transpose()?, since.map(milliseconds).transpose()?);
        let from_secs = from_ms.map(|from| from / 1000);
        let filter = SumFilter { status, from_secs, after: cursor, limit };
        let rows = admin.look(move |admin| admin.request_sums(&filter)).await?;
        let next = next(&rows, limit, headwater_state::RequestSum::cursor);
        let gateway = admin.gateway().clone();
        let log = tokio::task::spawn_blocking(move || gateway.state().log_use()).await;
        let log = log.map_err(|_| Problem::internal())?;
        Ok(json!({"sums": rows, "next_cursor": next, "log": log}))
    };
    admin.answer(found.await)
}

/// `GET /admin/v1/changes`
pub(super) async fn changes(admin: Admin, uri: Uri) -> Response {
    let found = async {
        let Page { cursor, limit } = query(&uri)?;
        let limit = checked(limit)?;
        let rows = admin.look(move |admin| admin.changes(cursor.as_deref(), limit)).await?;
        let next = next(&rows, limit, |row| row.id.clone());
        Ok(json!({"changes": rows, "next_cursor": next}))
    };
    admin.answer(found.await)
}

/// `GET /admin/v1/usage`
pub(super) async fn usage(admin: Admin, uri: Uri) -> Response {
    let found = async {
        let OfKey { key_id } = query(&uri)?;
        admin.look(move |admin| admin.usage(&key_id, now_ms())).await
    };
    admin.answer(found.await)
}

/// `GET /admin/v1/usage/{month}`: calls and credits by key and endpoint
pub(super) async fn monthly_usage(admin: Admin, PathName(month): PathName, uri: Uri) -> Response {
    let found = async {
        let OfAnyKey { key_id } = query(&uri)?;
        let month = month.parse().map_err(|error| explain(&error))?;
        admin.look(move |admin| admin.monthly_usage(month, key_id.as_deref())).await
    };
    admin.answer(found.await)
}

/// `GET /admin/v1/lost-answers`: charges whose answers may never have arrived.
pub(super) async fn lost_answers(admin: Admin, _: EmptyRequest) -> Response {
    const ALL: u32 = 10_000;
    let lost = admin.look(|admin| admin.lost_answers(ALL)).await;
    admin.answer(lost.map(|lost| json!({"lost": lost})))
}

/// `POST /admin/v1/lost-answers`: gives all of them back.
pub(super) async fn refund_lost(admin: Admin, _: EmptyRequest) -> Response {
    let refunded = admin.change(|admin| admin.refund_lost()).await;
    admin.answer(refunded.map(|refunded| json!({"refunded_requests": refunded})))
}
