//! Webhooks as the state keeps them.

use std::collections::BTreeSet;

use headwater_engine::events::EventType;
use headwater_state::{Row, StateError, Tx, checksums};
use headwater_types::Timestamp;
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

/// Webhooks of one account.
pub(crate) const PER_ACCOUNT: i64 = 100;
/// The time for which the secret before a new one still signs.
pub(crate) const GRACE_MS: i64 = 24 * 3600 * 1000;
/// Secrets before the newest one that may still sign.
const OLD_SECRETS: i64 = 10;

/// The status of an endpoint: whether deliveries are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndpointStatus {
    /// They are.
    Active,
    /// The user stopped them; what happens meanwhile waits.
    Paused,
    /// The service stopped them; what happens meanwhile waits.
    Disabled,
}

impl EndpointStatus {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            "active" => Self::Active,
            "paused" => Self::Paused,
            // Written by a newer version: then nothing is sent.
            _ => Self::Disabled,
        }
    }
}

/// A webhook.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Endpoint {
    pub id: String,
    pub target_url: String,
    pub event_type: String,
    pub filters: Json,
    pub status: EndpointStatus,
    pub status_reason: Option<String>,
    pub created_at_ms: i64,
}

/// A webhook as its owner sees it. The signing secret is never part of it.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct WebhookView {
    /// Id of the webhook.
    #[schema(format = "uuid", example = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")]
    pub id: String,
    /// Where deliveries go.
    #[schema(example = "https://hooks.example.com/in")]
    pub target_url: String,
    /// What it tells of.
    #[schema(value_type = EventType, example = "large_transfer")]
    pub event_type: String,
    /// `active`, `paused` (by its owner) or `disabled` (by the service).
    #[schema(pattern = "^(active|paused|disabled)$", example = "active")]
    pub status: String,
    /// Why it is disabled: `gone` (the receiver answered 410) or `only_failures` (no success for 120 hours).
    #[schema(pattern = "^(gone|only_failures)$")]
    pub status_reason: Option<String>,
    /// Which events, defaults included.
    #[schema(value_type = Object)]
    pub filters: Json,
    /// When it was made.
    #[schema(format = DateTime, example = "2026-11-20T10:00:00Z")]
    pub created_at: String,
}

impl From<Endpoint> for WebhookView {
    fn from(endpoint: Endpoint) -> Self {
        let Endpoint { id, target_url, event_type, filters, status, status_reason, created_at_ms } = endpoint;
        let created_at = Timestamp::new(created_at_ms / 1000).to_string();
        Self { id, target_url, event_type, status: status.name().to_owned(), status_reason, filters, created_at }
    }
}

/// A change of a webhook.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Change {
    pub target_url: Option<String>,
    pub filters: Option<Json>,
    pub status: Option<EndpointStatus>,
}

/// Lets changes of an account's webhooks come one after the other, until the transaction ends.
pub(crate) fn hold_account(tx: &mut Tx<'_>, account: i64) -> Result<(), StateError> {
    tx.row("SELECT id FROM account WHERE id = ?1 /*lock*/", &[account.into()]).map(drop)
}

/// Locks a webhook, in whose order its deliveries are changed.
pub(super) fn hold(tx: &mut Tx<'_>, id: &str) -> Result<(), StateError> {
    tx.row("SELECT id FROM webhook_endpoint WHERE id = ?1 /*lock*/", &[id.into()]).map(drop)
}

/// Adds a webhook with its first secret to an account that is held; `false` when it has too many.
pub(crate) fn create(
    tx: &mut Tx<'_>,
    (account, key_id): (i64, &str),
    endpoint: &Endpoint,
    sealed: &[u8],
) -> Result<bool, StateError> {
    let held = count(tx, account)?;
    if held >= PER_ACCOUNT {
        return Ok(false);
    }
    let filters = endpoint.filters.to_string();
    tx.execute(
        "INSERT INTO webhook_endpoint
             (id, account_id, key_id, target_url, event_type, filters, status, created_at_ms, updated_at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        &[
            endpoint.id.as_str().into(),
            account.into(),
            key_id.into(),
            endpoint.target_url.as_str().into(),
            endpoint.event_type.as_str().into(),
            filters.as_str().into(),
            endpoint.status.name().into(),
            endpoint.created_at_ms.into(),
        ],
    )?;
    checksums::renew(tx, &checksums::WEBHOOKS, &[(&endpoint.id).into()])?;
    add_secret(tx, &endpoint.id, 1, sealed, endpoint.created_at_ms)?;
    Ok(true)
}

fn add_secret(tx: &mut Tx<'_>, id: &str, number: i64, sealed: &[u8], now_ms: i64) -> Result<(), StateError> {
    tx.execute(
        "INSERT INTO webhook_secret (endpoint_id, number, sealed, created_at_ms) VALUES (?1, ?2, ?3, ?4)",
        &[id.into(), number.into(), sealed.into(), now_ms.into()],
    )?;
    Ok(())
}

fn count(tx: &mut Tx<'_>, account: i64) -> Result<i64, StateError> {
    let row = tx.row("SELECT count(*) FROM webhook_endpoint WHERE account_id = ?1", &[account.into()])?;
    row.map_or(Ok(0), |row| row.int(0))
}

/// The webhooks of an account, newest first, and how many there are in all.
pub(crate) fn list(tx: &mut Tx<'_>, account: i64, limit: u32, offset: u32) -> Result<(Vec<Endpoint>, u64), StateError> {
    let total = count(tx, account)?;
    let rows = tx.rows(
        "SELECT id, target_url, event_type, filters, status, status_reason, created_at_ms FROM webhook_endpoint
         WHERE account_id = ?1 ORDER BY created_at_ms DESC, id DESC LIMIT ?2 OFFSET ?3",
        &[account.into(), i64::from(limit).into(), i64::from(offset).into()],
    )?;
    let list = rows.iter().map(read).collect::<Result<_, _>>()?;
    Ok((list, u64::try_from(total).unwrap_or(0)))
}

/// A webhook of an account; other accounts' are not there.
pub(crate) fn find(tx: &mut Tx<'_>, account: i64, id: &str) -> Result<Option<Endpoint>, StateError> {
    let row = tx.row(
        "SELECT id, target_url, event_type, filters, status, status_reason, created_at_ms FROM webhook_endpoint
         WHERE account_id = ?1 AND id = ?2",
        &[account.into(), id.into()],
    )?;
    row.as_ref().map(read).transpose()
}

/// The filters of a webhook.
pub(crate) fn filters(tx: &mut Tx<'_>, id: &str) -> Result<Json, StateError> {
    let row = tx.row("SELECT filters FROM webhook_endpoint WHERE id = ?1", &[id.into()])?;
    row.map_or(Ok(Json::Null), |row| Ok(serde_json::from_str(row.text(0)?).unwrap_or(Json::Null)))
}

fn read(row: &Row) -> Result<Endpoint, StateError> {
    Ok(Endpoint {
        id: row.text(0)?.to_owned(),
        target_url: row.text(1)?.to_owned(),
        event_type: row.text(2)?.to_owned(),
        // What is not JSON was not written here: then it names nothing.
        filters: serde_json::from_str(row.text(3)?).unwrap_or(Json::Null),
        status: EndpointStatus::parse(row.text(4)?),
        status_reason: row.maybe_text(5)?.map(str::to_owned),
        created_at_ms: row.int(6)?,
    })
}

/// Removes a webhook with all that belongs to it, or some of that where it is much.
pub(crate) fn delete(tx: &mut Tx<'_>, account: i64, id: &str) -> Result<DeleteOutcome, StateError> {
    if find(tx, account, id)?.is_none() {
        return Ok(DeleteOutcome::Missing);
    }
    if forget_deliveries(tx, id)? {
        return Ok(DeleteOutcome::Part);
    }
    // What refers to it goes with it.
    tx.execute("DELETE FROM webhook_endpoint WHERE id = ?1", &[id.into()])?;
    Ok(DeleteOutcome::Whole)
}

/// Removes some deliveries of a webhook; gives whether there may be more of them.
fn forget_deliveries(tx: &mut Tx<'_>, id: &str) -> Result<bool, StateError> {
    /// Deliveries that one transaction removes.
    const SOME: i64 = 1000;
    hold(tx, id)?;
    // Their attempts go with them.
    let forgotten = tx.execute(
        "DELETE FROM webhook_delivery WHERE endpoint_id = ?1 AND event_id IN (
             SELECT event_id FROM webhook_delivery WHERE endpoint_id = ?1 LIMIT ?2)",
        &[id.into(), SOME.into()],
    )?;
    Ok(forgotten >= SOME.unsigned_abs())
}

/// The outcome of removing a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeleteOutcome {
    /// It was not there.
    Missing,
    /// There is more of it.
    Part,
    /// It is gone.
    Whole,
}

/// Changes a webhook and gives it as it is then; `None` when it is not there. Whatever status is set, what was counted
/// against the receiver is forgotten.
pub(crate) fn change(
    tx: &mut Tx<'_>,
    account: i64,
    id: &str,
    change: &Change,
    now_ms: i64,
) -> Result<Option<Endpoint>, StateError> {
    // First: nobody changes it between the look at it and the write.
    hold(tx, id)?;
    let Some(before) = find(tx, account, id)? else { return Ok(None) };
    let mut endpoint = before.clone();
    if let Some(target_url) = &change.target_url {
        endpoint.target_url.clone_from(target_url);
    }
    if let Some(filters) = &change.filters {
        endpoint.filters.clone_from(filters);
    }
    if let Some(status) = change.status {
        (endpoint.status, endpoint.status_reason) = (status, None);
        tx.execute(
            "UPDATE webhook_endpoint SET failing_since_ms = NULL, throttled_until_ms = NULL WHERE id = ?1",
            &[id.into()],
        )?;
    }
    if endpoint == before {
        return Ok(Some(endpoint));
    }
    let filters = endpoint.filters.to_string();
    // The time is that of the last change of what is watched for: see `fingerprint`.
    tx.execute(
        "UPDATE webhook_endpoint SET target_url = ?2, filters = ?3, status = ?4, status_reason = ?5,
             updated_at_ms = CASE WHEN filters = ?3 THEN updated_at_ms WHEN updated_at_ms < ?6 THEN ?6
                 ELSE updated_at_ms + 1 END
         WHERE id = ?1",
        &[
            id.into(),
            endpoint.target_url.as_str().into(),
            filters.as_str().into(),
            endpoint.status.name().into(),
            endpoint.status_reason.as_deref().into(),
            now_ms.into(),
        ],
    )?;
    checksums::renew(tx, &checksums::WEBHOOKS, &[id.into()])?;
    Ok(Some(endpoint))
}

/// Adds a secret; those before it sign until the grace is over. `false` when the webhook is not there.
pub(crate) fn rotate(tx: &mut Tx<'_>, account: i64, id: &str, sealed: &[u8], now_ms: i64) -> Result<bool, StateError> {
    hold(tx, id)?;
    if find(tx, account, id)?.is_none() {
        return Ok(false);
    }
    let newest = tx.row("SELECT max(number) FROM webhook_secret WHERE endpoint_id = ?1", &[id.into()])?;
    let number = newest.map_or(Ok(None), |row| row.maybe_int(0))?.unwrap_or(0) + 1;
    tx.execute(
        "UPDATE webhook_secret SET expires_at_ms = ?2 WHERE endpoint_id = ?1 AND expires_at_ms IS NULL",
        &[id.into(), (now_ms + GRACE_MS).into()],
    )?;
    tx.execute(
        "DELETE FROM webhook_secret WHERE endpoint_id = ?1 AND (expires_at_ms <= ?2 OR number < ?3)",
        &[id.into(), now_ms.into(), (number - OLD_SECRETS).into()],
    )?;
    add_secret(tx, id, number, sealed, now_ms)?;
    Ok(true)
}

/// The sealed secrets that sign now, the newest first.
pub(crate) fn secrets(tx: &mut Tx<'_>, id: &str, now_ms: i64) -> Result<Vec<Vec<u8>>, StateError> {
    let rows = tx.rows(
        "SELECT sealed FROM webhook_secret WHERE endpoint_id = ?1 AND (expires_at_ms IS NULL OR expires_at_ms > ?2)
         ORDER BY number DESC",
        &[id.into(), now_ms.into()],
    )?;
    rows.iter().map(|row| Ok(row.blob(0)?.to_vec())).collect()
}

/// A webhook as the outbox needs it.
pub(crate) struct WatchedWebhook {
    pub id: String,
    pub event_type: String,
    pub filters: Json,
}

/// All webhooks, whatever their status: what happens while one is stopped waits for it.
pub(crate) fn watched(tx: &mut Tx<'_>) -> Result<Vec<WatchedWebhook>, StateError> {
    let rows = tx.rows("SELECT id, event_type, filters FROM webhook_endpoint ORDER BY id", &[])?;
    rows.iter()
        .map(|row| {
            let filters = serde_json::from_str(row.text(2)?).unwrap_or(Json::Null);
            Ok(WatchedWebhook { id: row.text(0)?.to_owned(), event_type: row.text(1)?.to_owned(), filters })
        })
        .collect()
}

/// The ids of all webhooks.
pub(crate) fn ids(tx: &mut Tx<'_>) -> Result<BTreeSet<String>, StateError> {
    let rows = tx.rows("SELECT id FROM webhook_endpoint", &[])?;
    rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect()
}

/// Returns the number of webhooks, the newest one, and the sum of when the filters of each were last changed, which only
/// grows with a change: another answer means that [`watched`] gives something else. The newest change alone would miss
/// one that a server with a slower clock made.
pub(crate) fn fingerprint(tx: &mut Tx<'_>) -> Result<Fingerprint, StateError> {
    let row =
        tx.row("SELECT count(*), max(id), CAST(coalesce(sum(updated_at_ms), 0) AS BIGINT) FROM webhook_endpoint", &[])?;
    row.map_or(Ok((0, None, 0)), |row| Ok((row.int(0)?, row.maybe_text(1)?.map(str::to_owned), row.int(2)?)))
}

/// The result of [`fingerprint`].
pub(crate) type Fingerprint = (i64, Option<String>, i64);
