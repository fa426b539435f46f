//! The audit of requests, and the counts of usage that outlive it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::StateError;
use super::db::{Insert, Tx, Value};

/// What is kept of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// `UUIDv7`, made by the server.
    pub request_id: String,
    /// The client's own id.
    pub correlation_id: Option<String>,
    /// Id of the key, where one was shown and known.
    pub key_id: Option<Arc<str>>,
    /// Number of the account of the key.
    pub account: Option<i64>,
    /// HTTP method.
    pub method: String,
    /// Path of the route; `None` when there is none.
    pub endpoint: Option<&'static str>,
    /// Status of the answer; 499 when the client went away before it.
    pub status: u16,
    /// Credits charged.
    pub cost: i64,
    /// From the request's head to the answer.
    pub duration_ms: u64,
    /// Size of the answer's body.
    pub bytes: u64,
    /// Digest of the parameters, not their values.
    pub parameter_hash: Option<[u8; 32]>,
    /// Unix milliseconds of the request.
    pub ts_ms: i64,
}

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

#[derive(Default)]
struct Count {
    calls: i64,
    failed: i64,
    credits: i64,
}

/// Writes rows and adds them to the usage of their accounts.
pub(super) fn write(tx: &mut Tx<'_>, rows: &[AuditRow]) -> Result<(), StateError> {
    const AUDIT: Insert = Insert {
        head:
            "INSERT INTO audit (request_id, correlation_id, key_id, method, endpoint, status, cost, duration_ms, bytes,
                                  parameter_hash, ts_ms)",
        columns: 11,
    };
    let values: Vec<Vec<Value<'_>>> = rows
        .iter()
        .map(|row| {
            vec![
                (&row.request_id).into(),
                row.correlation_id.as_ref().into(),
                row.key_id.as_deref().into(),
                (&row.method).into(),
                row.endpoint.into(),
                i64::from(row.status).into(),
                row.cost.into(),
                i64::try_from(row.duration_ms).unwrap_or(i64::MAX).into(),
                i64::try_from(row.bytes).unwrap_or(i64::MAX).into(),
                row.parameter_hash.as_ref().into(),
                row.ts_ms.into(),
            ]
        })
        .collect();
    if tx.insert(&AUDIT, &values)? != rows.len() as u64 {
        // Some were written by a commit whose answer never came, and are counted already.
        tracing::warn!("rows of the audit were there already");
    }
    let mut counts: BTreeMap<(i64, i64, &str), Count> = BTreeMap::new();
    for row in rows {
        if let (Some(account), Some(endpoint)) = (row.account, row.endpoint) {
            let count = counts.entry((account, row.ts_ms.div_euclid(DAY_MS), endpoint)).or_default();
            count.calls += 1;
            count.failed += i64::from(!(200..300).contains(&row.status));
            count.credits += row.cost;
        }
    }
    for ((account, day, endpoint), count) in counts {
        tx.execute(
            "INSERT INTO usage_day (account_id, day, endpoint, calls, failed, credits) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (account_id, day, endpoint) DO UPDATE SET calls = usage_day.calls + excluded.calls,
                 failed = usage_day.failed + excluded.failed, credits = usage_day.credits + excluded.credits",
            &[
                account.into(),
                day.into(),
                endpoint.into(),
                count.calls.into(),
                count.failed.into(),
                count.credits.into(),
            ],
        )?;
    }
    Ok(())
}
