//! The audit of requests, and the counts of usage that outlive it.
//!
//! Requests that are written together make one page, a JSON array of an array for each: a row of a table for each would
//! cost more than answering many of them. Values that requests of a page share are stored once. The view `audit` shows the
//! requests of all pages as rows.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use arrayvec::ArrayString;
use http::Method;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use super::db::{Tx, Value, checksum};
use super::{KeyId, StateError, checksums};

/// Id of a request, of at most so many characters as a UUID has. It goes along from hand to hand without a place of its
/// own in memory.
pub type RequestId = ArrayString<36>;

/// The record of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// `UUIDv7`, made by the server.
    pub request_id: RequestId,
    /// The client's own id.
    pub correlation_id: Option<String>,
    /// Id of the key, where one was shown and known.
    pub key_id: Option<KeyId>,
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
    /// Digest of the parameters.
    pub parameter_hash: Option<[u8; 32]>,
    /// The parameters themselves, where they are to be kept.
    pub parameters: Option<Box<str>>,
    /// Unix milliseconds of the request.
    pub ts_ms: i64,
}

impl AuditRow {
    /// Returns whether the database lists the request: a success of a key, or one that was paid. Others are lines of the
    /// audit log, and are counted in the database.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.cost > 0 || self.key_id.is_some() && self.is_success()
    }

    /// Returns whether what was asked for was given: an answer, or a stream.
    fn is_success(&self) -> bool {
        matches!(self.status, 101 | 200..=299)
    }
}

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// Calls of an account.
#[derive(Debug, Default)]
pub(super) struct Count {
    calls: i64,
    failed: i64,
    credits: i64,
}

impl Count {
    /// Returns the count of one request.
    pub fn of(row: &AuditRow) -> Self {
        Self { calls: 1, failed: i64::from(!row.is_success()), credits: row.cost }
    }

    pub fn add(&mut self, other: &Self) {
        let Self { calls, failed, credits } = other;
        self.calls += calls;
        self.failed += failed;
        self.credits += credits;
    }
}

/// Account, day, endpoint and key.
pub(super) type UsageKey = (i64, i64, &'static str, KeyId);

/// Requests that are written together.
#[derive(Debug)]
pub(super) struct Page {
    first_id: RequestId,
    /// The name of the page: no other has it, so that a page that is there already is known.
    last_id: RequestId,
    last_ms: i64,
    requests: i64,
    body: String,
    counts: BTreeMap<UsageKey, Count>,
}

/// A request as [`listings`] reads it.
#[derive(Serialize)]
struct RequestListing<'a>(
    &'a str,
    Option<&'a str>,
    Option<SharedValue<&'a str>>,
    SharedValue<&'a str>,
    Option<SharedValue<&'a str>>,
    u16,
    i64,
    u64,
    u64,
    Option<SharedValue<String>>,
    i64,
    #[serde(skip_serializing_if = "Option::is_none")] Option<&'a str>,
);

/// A value, or the number of the first request of the page that has the same one.
#[derive(Serialize)]
#[serde(untagged)]
enum SharedValue<T> {
    Value(T),
    SameAs(usize),
}

/// Values of one field, each with the first request that has it.
struct Firsts<T>(HashMap<T, usize>);

impl<T: Hash + Eq + Clone> Firsts<T> {
    fn share(&mut self, value: T, request: usize) -> SharedValue<T> {
        match *self.0.entry(value.clone()).or_insert(request) {
            first if first == request => SharedValue::Value(value),
            first => SharedValue::SameAs(first),
        }
    }
}

impl<T> Default for Firsts<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl Page {
    /// The page of some requests; `None` where there are none.
    pub fn of(rows: &[AuditRow]) -> Option<Self> {
        let (first_id, last_id) =
            (rows.iter().map(|row| row.request_id).min()?, rows.iter().map(|row| row.request_id).max()?);
        let (mut keys, mut methods, mut endpoints, mut hashes) =
            (Firsts::default(), Firsts::default(), Firsts::default(), Firsts::default());
        let mut counts: BTreeMap<UsageKey, Count> = BTreeMap::new();
        let mut lines = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            let hash = row.parameter_hash.map(|hash| hashes.share(hex(&hash), number));
            let parameters = row.parameters.as_deref().filter(|_| matches!(hash, Some(SharedValue::Value(_))));
            lines.push(RequestListing(
                &row.request_id,
                row.correlation_id.as_deref(),
                row.key_id.as_deref().map(|key| keys.share(key, number)),
                methods.share(row.method.as_str(), number),
                row.endpoint.map(|endpoint| endpoints.share(endpoint, number)),
                row.status,
                row.cost,
                row.duration_ms,
                row.bytes,
                hash,
                row.ts_ms,
                parameters,
            ));
            if let (Some(account), Some(endpoint)) = (row.account, row.endpoint) {
                let day = row.ts_ms.div_euclid(DAY_MS);
                let key = row.key_id.unwrap_or_default();
                counts.entry((account, day, endpoint, key)).or_default().add(&Count::of(row));
            }
        }
        let body = serde_json::to_string(&lines).expect("text and numbers have a JSON form");
        let last_ms = rows.iter().map(|row| row.ts_ms).max()?;
        let requests = i64::try_from(rows.len()).expect("requests of a page are few");
        Some(Self { first_id, last_id, last_ms, requests, body, counts })
    }

    /// Returns the number of requests it holds.
    pub fn len(&self) -> usize {
        usize::try_from(self.requests).expect("requests are counted from zero")
    }

    /// Writes it, unless it is there already: by a commit whose answer never came. Returns whether it did.
    fn insert(&self, tx: &mut Tx<'_>) -> Result<bool, StateError> {
        if self.insert_as(tx, &self.last_id)? {
            return Ok(true);
        }
        // Another page ends with the same request where that was reported with two ends: it was charged by a commit of
        // which its server had no record any more. What else this one contains is nowhere else. Its name lies behind
        // the last id, so that lists find it by that.
        let is_there = self.is_there(tx, &self.last_id)?;
        let written = !is_there && self.insert_as(tx, &format!("{}+{}", self.last_id, self.first_id))?;
        if !written {
            tracing::warn!("a page of the audit was there already");
        }
        Ok(written)
    }

    /// Returns whether the page of this name is this one.
    fn is_there(&self, tx: &mut Tx<'_>, name: &str) -> Result<bool, StateError> {
        let row = tx.row("SELECT first_id, requests, body FROM audit_page WHERE last_id = ?1", &[name.into()])?;
        row.map_or(Ok(false), |row| {
            let same = row.text(0)? == self.first_id.as_str() && row.int(1)? == self.requests;
            Ok(same && row.text(2)? == self.body)
        })
    }

    /// Writes it under a name, unless that is taken.
    fn insert_as(&self, tx: &mut Tx<'_>, name: &str) -> Result<bool, StateError> {
        let page: [Value<'_>; 5] = [
            name.into(),
            self.first_id.as_str().into(),
            self.last_ms.into(),
            self.requests.into(),
            (&self.body).into(),
        ];
        let [last_id, first_id, last_ms, requests, body] = page;
        let written = tx.execute(
            "INSERT INTO audit_page (last_id, first_id, last_ms, requests, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT DO NOTHING",
            &[last_id, first_id, last_ms, requests, body, checksum(&page).into()],
        )?;
        Ok(written > 0)
    }
}

/// Writes pages and adds them to the usage of the accounts: once in order for all of them, so that replicas never wait for
/// one another in a circle.
pub(super) fn write<'a>(tx: &mut Tx<'_>, pages: impl IntoIterator<Item = &'a Page>) -> Result<(), StateError> {
    let mut counts: BTreeMap<UsageKey, Count> = BTreeMap::new();
    for page in pages {
        if page.insert(tx)? {
            for (counted, count) in &page.counts {
                counts.entry(*counted).or_default().add(count);
            }
        }
    }
    write_usage(tx, &counts)
}

/// Adds calls to the usage of the accounts.
pub(super) fn write_usage(tx: &mut Tx<'_>, counts: &BTreeMap<UsageKey, Count>) -> Result<(), StateError> {
    for ((account, day, endpoint, key), Count { calls, failed, credits }) in counts {
        let (calls, failed, credits) = (*calls, *failed, *credits);
        let day: [Value<'_>; 4] = [(*account).into(), (*day).into(), (*endpoint).into(), key.as_str().into()];
        let checksum = checksums::of_usage(&day, calls, failed, credits);
        let grown = checksum - checksums::of_usage(&day, 0, 0, 0);
        tx.execute(
            "INSERT INTO usage_day (account_id, day, endpoint, key_id, calls, failed, credits, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (account_id, day, endpoint, key_id) DO UPDATE SET calls = usage_day.calls + excluded.calls,
                 failed = usage_day.failed + excluded.failed, credits = usage_day.credits + excluded.credits,
                 checksum = usage_day.checksum + ?9",
            &[
                day[0],
                day[1],
                day[2],
                day[3],
                calls.into(),
                failed.into(),
                credits.into(),
                checksum.into(),
                grown.into(),
            ],
        )?;
    }
    Ok(())
}

pub(super) fn hex(bytes: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    digits.map(char::from).collect()
}

/// A selection of requests of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Selects the requests of this key.
    pub key_id: Option<String>,
    /// With this status only.
    pub status: Option<u16>,
    /// Not before, Unix milliseconds.
    pub from_ms: Option<i64>,
    /// Only ids below this one: where a list continues.
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

/// A request as the audit has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    /// The parameters, where the server is configured to keep them.
    pub parameters: Option<String>,
}

/// A request as a page has it.
#[derive(Deserialize)]
struct Line {
    request_id: String,
    correlation_id: Option<String>,
    key_id: Option<Common>,
    method: Common,
    endpoint: Option<Common>,
    status: i64,
    cost: i64,
    duration_ms: i64,
    bytes: i64,
    parameter_hash: Option<Common>,
    ts_ms: i64,
    /// With the first digest of them, where they are kept.
    #[serde(default)]
    parameters: Option<String>,
}

/// A text, or the number of the request of the page that has the same one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Common {
    Text(String),
    AsIn(usize),
}

/// The requests of a page.
fn listings(body: &str) -> serde_json::Result<Vec<AuditListing>> {
    let lines: Vec<Line> = serde_json::from_str(body)?;
    let mut listings: Vec<AuditListing> = Vec::with_capacity(lines.len());
    for line in lines {
        let before = &listings;
        // The parameters are where their digest does.
        let parameters = match line.parameter_hash {
            Some(Common::AsIn(place)) => before.get(place).and_then(|same| same.parameters.clone()),
            Some(Common::Text(_)) | None => line.parameters,
        };
        let text = |common: Option<Common>, field: fn(&AuditListing) -> Option<&String>| match common {
            None => Ok(None),
            Some(Common::Text(text)) => Ok(Some(text)),
            Some(Common::AsIn(place)) => {
                let same = before.get(place).and_then(field).cloned();
                same.map(Some).ok_or_else(|| serde_json::Error::custom(format!("no request {place} says what it is")))
            }
        };
        let listing = AuditListing {
            key_id: text(line.key_id, |listing| listing.key_id.as_ref())?,
            method: text(Some(line.method), |listing| Some(&listing.method))?.unwrap_or_default(),
            endpoint: text(line.endpoint, |listing| listing.endpoint.as_ref())?,
            parameter_hash: text(line.parameter_hash, |listing| listing.parameter_hash.as_ref())?,
            request_id: line.request_id,
            correlation_id: line.correlation_id,
            status: line.status,
            cost: line.cost,
            duration_ms: line.duration_ms,
            bytes: line.bytes,
            ts_ms: line.ts_ms,
            parameters,
        };
        listings.push(listing);
    }
    Ok(listings)
}

/// An id below those of all requests since this time: ids begin with the time that they were made at, by a clock that
/// another one may have set since.
fn min_id(from_ms: i64) -> String {
    const SLACK_MS: i64 = 3_600_000;
    let made = from_ms.saturating_sub(SLACK_MS).clamp(0, (1 << 48) - 1);
    format!("{:08x}-{:04x}-0000-0000-000000000000", made >> 16, made & 0xffff)
}

/// Pages by their last id, of which both bounds are given, so that no others are looked at.
const PAGES_BEFORE: &str = "SELECT last_id, first_id, last_ms, requests, body, checksum FROM audit_page
     WHERE last_id < ?1 AND last_id >= ?5 AND (CAST(?2 AS TEXT) IS NULL OR first_id < ?2)
       AND (CAST(?3 AS BIGINT) IS NULL OR last_ms >= ?3)
     ORDER BY last_id DESC LIMIT ?4";

/// Requests, newest first.
pub(super) fn list(tx: &mut Tx<'_>, filter: &AuditFilter) -> Result<Vec<AuditListing>, StateError> {
    /// Most pages read at a time: one at first, since it may hold thousands of requests, then twice as many each time.
    const PAGES: i64 = 64;
    let mut at_a_time = 1;
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let mut found: BTreeMap<String, AuditListing> = BTreeMap::new();
    // No id is greater: it begins with another letter.
    let mut below = "z".to_owned();
    let least = filter.from_ms.map_or_else(String::new, min_id);
    loop {
        let pages = tx.rows(
            PAGES_BEFORE,
            &[(&below).into(), filter.before.as_ref().into(), filter.from_ms.into(), at_a_time.into(), (&least).into()],
        )?;
        for page in &pages {
            let last_id = page.text(0)?;
            // Pages overlap, but none after this one holds a greater id than its last.
            if found.len() >= limit && found.first_key_value().is_none_or(|(smallest, _)| last_id < smallest.as_str()) {
                return Ok(found.into_values().rev().collect());
            }
            if !checksums::fits(page) {
                return Err(StateError::CorruptRow { table: "audit_page", id: last_id.to_owned() });
            }
            let listings = listings(page.text(4)?).map_err(|error| StateError::Damaged {
                place: format!("the page {last_id} of the audit"),
                what: error.to_string(),
            })?;
            for listing in listings.into_iter().filter(|listing| filter.wants(listing)) {
                found.insert(listing.request_id.clone(), listing);
                if found.len() > limit {
                    found.pop_first();
                }
            }
        }
        match pages.last() {
            Some(last) => {
                last.text(0)?.clone_into(&mut below);
                at_a_time = PAGES.min(2 * at_a_time);
            }
            None => return Ok(found.into_values().rev().collect()),
        }
    }
}

#[cfg(test)]
mod tests;
