//! The audit of requests, and the counts of usage that outlive it.
//!
//! Requests that are written together make one page, a JSON array of an array for each: a row of a table for each would
//! cost more than answering many of them. The view `audit` shows the requests of all pages as rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrayvec::ArrayString;
use axum::http::Method;
use serde::{Deserialize, Serialize};

use super::StateError;
use super::db::{Tx, Value, sum};
use crate::json::{push_number, push_text};

/// Id of a request, of at most so many characters as a UUID has. It goes along from hand to hand without a place of its
/// own in memory.
pub type RequestId = ArrayString<36>;

/// What is kept of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// `UUIDv7`, made by the server.
    pub request_id: RequestId,
    /// The client's own id.
    pub correlation_id: Option<String>,
    /// Id of the key, where one was shown and known.
    pub key_id: Option<Arc<str>>,
    /// Number of the account of the key.
    pub account: Option<i64>,
    /// HTTP method.
    pub method: Method,
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

#[derive(Debug, Default)]
struct Count {
    calls: i64,
    failed: i64,
    credits: i64,
}

/// Requests that are written together.
#[derive(Debug, Default)]
pub(super) struct Page {
    first_id: String,
    /// No other page has it: by it a page that is there already is known.
    last_id: String,
    last_ms: i64,
    requests: i64,
    body: Vec<u8>,
    /// By account, day and endpoint.
    counts: BTreeMap<(i64, i64, &'static str), Count>,
}

impl Page {
    /// A page of these requests; `None` where there are none.
    pub fn of(rows: &[AuditRow]) -> Option<Self> {
        let mut page = Self::default();
        for row in rows {
            page.add(row, row.bytes);
        }
        page.finished()
    }

    /// Adds a request, whose answer turned out to have so many bytes.
    pub fn add(&mut self, row: &AuditRow, bytes: u64) {
        self.body.push(if self.requests == 0 { b'[' } else { b',' });
        self.line(row, bytes);
        if self.requests == 0 || row.request_id.as_str() < self.first_id.as_str() {
            row.request_id.as_str().clone_into(&mut self.first_id);
        }
        if row.request_id.as_str() > self.last_id.as_str() {
            row.request_id.as_str().clone_into(&mut self.last_id);
        }
        self.last_ms = self.last_ms.max(row.ts_ms);
        self.requests += 1;
        if let (Some(account), Some(endpoint)) = (row.account, row.endpoint) {
            let count = self.counts.entry((account, row.ts_ms.div_euclid(DAY_MS), endpoint)).or_default();
            count.calls += 1;
            count.failed += i64::from(!(200..300).contains(&row.status));
            count.credits += row.cost;
        }
    }

    /// A request as [`AuditListing`] reads it.
    fn line(&mut self, row: &AuditRow, bytes: u64) {
        let line = &mut self.body;
        let maybe = |line: &mut Vec<u8>, text: Option<&str>| {
            line.push(b',');
            match text {
                Some(text) => push_text(line, text),
                None => line.extend_from_slice(b"null"),
            }
        };
        line.push(b'[');
        push_text(line, &row.request_id);
        maybe(line, row.correlation_id.as_deref());
        maybe(line, row.key_id.as_deref());
        maybe(line, Some(row.method.as_str()));
        maybe(line, row.endpoint);
        for number in [i64::from(row.status), row.cost] {
            line.push(b',');
            push_number(line, number);
        }
        for number in [row.duration_ms, bytes] {
            line.push(b',');
            push_number(line, number);
        }
        match &row.parameter_hash {
            Some(hash) => {
                line.extend_from_slice(b",\"");
                line.extend_from_slice(&hex(hash));
                line.extend_from_slice(b"\",");
            }
            None => line.extend_from_slice(b",null,"),
        }
        push_number(line, row.ts_ms);
        line.push(b']');
    }

    /// The page, ready to be written; `None` where it is empty.
    pub fn finished(mut self) -> Option<Self> {
        self.body.push(b']');
        (self.requests > 0).then_some(self)
    }

    /// How many requests it holds.
    pub fn len(&self) -> usize {
        usize::try_from(self.requests).expect("requests are counted from zero")
    }

    /// Writes it and adds it to the usage of the accounts, unless it is there already: by a commit whose answer never
    /// came.
    pub fn write(&self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        let body = std::str::from_utf8(&self.body).expect("JSON is text");
        let page: [Value<'_>; 5] =
            [(&self.last_id).into(), (&self.first_id).into(), self.last_ms.into(), self.requests.into(), body.into()];
        let [last_id, first_id, last_ms, requests, body] = page;
        let written = tx.execute(
            "INSERT INTO audit_page (last_id, first_id, last_ms, requests, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
            &[last_id, first_id, last_ms, requests, body, sum(&page).into()],
        )?;
        if written == 0 {
            tracing::warn!("a page of the audit was there already");
            return Ok(());
        }
        for ((account, day, endpoint), count) in &self.counts {
            tx.execute(
                "INSERT INTO usage_day (account_id, day, endpoint, calls, failed, credits) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (account_id, day, endpoint) DO UPDATE SET calls = usage_day.calls + excluded.calls,
                     failed = usage_day.failed + excluded.failed, credits = usage_day.credits + excluded.credits",
                &[
                    (*account).into(),
                    (*day).into(),
                    (*endpoint).into(),
                    count.calls.into(),
                    count.failed.into(),
                    count.credits.into(),
                ],
            )?;
        }
        Ok(())
    }
}

fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (byte, digits) in bytes.iter().zip(text.chunks_exact_mut(2)) {
        digits.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

/// Which requests of the audit are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this key only.
    pub key_id: Option<String>,
    /// With this status only.
    pub status: Option<u16>,
    /// Not before, Unix milliseconds.
    pub from_ms: Option<i64>,
    /// Only ids below this one: where a list goes on.
    pub before: Option<String>,
    /// At most so many.
    pub limit: u32,
}

impl AuditFilter {
    fn wants(&self, listing: &AuditListing) -> bool {
        self.key_id.as_ref().is_none_or(|key| listing.key_id.as_ref() == Some(key))
            && self.status.is_none_or(|status| listing.status == i64::from(status))
            && self.from_ms.is_none_or(|from| listing.ts_ms >= from)
            && self.before.as_ref().is_none_or(|before| listing.request_id < *before)
    }
}

/// A request as the audit has it. Pages hold the fields in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditListing {
    /// Id of the request.
    pub request_id: String,
    /// The client's own id.
    pub correlation_id: Option<String>,
    /// Key that was used.
    pub key_id: Option<String>,
    /// HTTP method.
    pub method: String,
    /// Route that was met.
    pub endpoint: Option<String>,
    /// Status; 499 when the client went away.
    pub status: i64,
    /// Credits charged.
    pub cost: i64,
    /// From the request's head to the answer.
    pub duration_ms: i64,
    /// Size of the answer's body.
    pub bytes: i64,
    /// Digest of the parameters, in hex.
    pub parameter_hash: Option<String>,
    /// Unix milliseconds.
    pub ts_ms: i64,
}

/// Requests, newest first.
pub(super) fn list(tx: &mut Tx<'_>, filter: &AuditFilter) -> Result<Vec<AuditListing>, StateError> {
    /// Most pages read at a time: one at first, since it may hold thousands of requests, then twice as many each time.
    const PAGES: i64 = 64;
    let mut at_a_time = 1;
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let mut found: BTreeMap<String, AuditListing> = BTreeMap::new();
    let mut below: Option<String> = None;
    loop {
        let pages = tx.rows(
            "SELECT last_id, body FROM audit_page
             WHERE (CAST(?1 AS TEXT) IS NULL OR last_id < ?1) AND (CAST(?2 AS TEXT) IS NULL OR first_id < ?2)
               AND (CAST(?3 AS BIGINT) IS NULL OR last_ms >= ?3)
             ORDER BY last_id DESC LIMIT ?4",
            &[below.as_ref().into(), filter.before.as_ref().into(), filter.from_ms.into(), at_a_time.into()],
        )?;
        for page in &pages {
            let last_id = page.text(0)?;
            // Pages overlap, but none after this one holds a greater id than its last.
            if found.len() >= limit && found.first_key_value().is_none_or(|(smallest, _)| last_id < smallest.as_str()) {
                return Ok(found.into_values().rev().collect());
            }
            let damaged = |error: serde_json::Error| StateError::Damaged {
                place: format!("the page {last_id} of the audit"),
                what: error.to_string(),
            };
            let listings: Vec<AuditListing> = serde_json::from_str(page.text(1)?).map_err(damaged)?;
            for listing in listings.into_iter().filter(|listing| filter.wants(listing)) {
                found.insert(listing.request_id.clone(), listing);
                if found.len() > limit {
                    found.pop_first();
                }
            }
        }
        match pages.last() {
            Some(last) => {
                below = Some(last.text(0)?.to_owned());
                at_a_time = PAGES.min(2 * at_a_time);
            }
            None => return Ok(found.into_values().rev().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{Access, Home};

    fn row(id: &str, key: &str, status: u16, ts_ms: i64) -> AuditRow {
        AuditRow {
            request_id: RequestId::from(id).unwrap(),
            correlation_id: Some("a\"b".to_owned()),
            key_id: Some(key.into()),
            account: None,
            method: Method::GET,
            endpoint: Some("/v1/chains"),
            status,
            cost: 0,
            duration_ms: 7,
            bytes: 12,
            parameter_hash: Some([0xab; 32]),
            ts_ms,
        }
    }

    #[test]
    fn a_list_is_in_order_over_pages_that_overlap_and_a_page_is_written_once() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        // A long request, `b`, ends when later ones are written already.
        let pages = [
            vec![row("a", "k", 200, 1), row("d", "k", 404, 4)],
            vec![row("c", "l", 200, 3), row("e", "k", 200, 5)],
            vec![row("b", "k", 200, 2), row("f", "l", 200, 6)],
        ];
        for rows in pages.iter().chain(&pages[..1]) {
            let mut page = Page::default();
            for row in rows {
                page.add(row, row.bytes);
            }
            let page = page.finished().unwrap();
            db.transaction(|tx| page.write(tx)).unwrap();
        }
        let mut ids = |filter: AuditFilter| {
            let found = db.transaction(|tx| list(tx, &filter)).unwrap();
            found.into_iter().map(|listing| listing.request_id).collect::<String>()
        };
        let all = AuditFilter { limit: 100, ..AuditFilter::default() };
        assert_eq!(ids(all.clone()), "fedcba");
        assert_eq!(ids(AuditFilter { limit: 2, ..all.clone() }), "fe");
        assert_eq!(ids(AuditFilter { limit: 3, before: Some("e".to_owned()), ..all.clone() }), "dcb");
        assert_eq!(ids(AuditFilter { limit: 1, before: Some("b".to_owned()), ..all.clone() }), "a");
        assert_eq!(ids(AuditFilter { key_id: Some("k".to_owned()), ..all.clone() }), "edba");
        assert_eq!(ids(AuditFilter { status: Some(404), ..all.clone() }), "d");
        assert_eq!(ids(AuditFilter { from_ms: Some(4), ..all.clone() }), "fed");
        assert_eq!(ids(AuditFilter { before: Some("a".to_owned()), ..all }), "");
        let rows = db.transaction(|tx| {
            tx.rows(
                "SELECT request_id, correlation_id, status, bytes, parameter_hash, ts_ms FROM audit
                 ORDER BY request_id",
                &[],
            )
        });
        let rows = rows.unwrap();
        assert_eq!(rows.len(), 6);
        assert_eq!((rows[3].text(0).unwrap(), rows[3].text(1).unwrap()), ("d", "a\"b"));
        assert_eq!((rows[3].int(2).unwrap(), rows[3].int(3).unwrap(), rows[3].int(5).unwrap()), (404, 12, 4));
        assert_eq!(rows[3].digest(4).unwrap(), [0xab; 32]);
    }
}
