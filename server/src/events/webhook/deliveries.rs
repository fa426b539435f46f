//! Deliveries as the state keeps them: what is due, what became of it, and for how long it is remembered.

use headwater_engine::events::EventType;
use headwater_state::{Insert, StateError, Tx, Value, checksum, checksums};
use headwater_types::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::egress::Attempt;
use super::schedule::{NextStep, Outcome, Verdict};

/// Deliveries of one webhook under way at a time, over all servers of a state.
pub(crate) const PER_ENDPOINT: i64 = 4;
/// The same of one whose receiver said lately that it has too much.
const PER_THROTTLED: i64 = 1;
/// The time for which deliveries and events are remembered.
pub(crate) const KEPT_MS: i64 = 7 * 24 * 3600 * 1000;
/// Rows that are changed in one go, where they may be many: charges wait for each commit.
const SOME: i64 = 1000;

/// A delivery that this server makes.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub event_id: String,
    pub endpoint_id: String,
    /// The account of the webhook.
    pub account: i64,
    pub target_url: String,
    /// Attempts before this one.
    pub attempts: i64,
    pub body: String,
    /// The sealed secrets, the newest first.
    pub sealed: Vec<Vec<u8>>,
}

/// The outcome of a delivery.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryOutcome {
    pub event_id: String,
    pub endpoint_id: String,
    pub attempts: i64,
    pub at_ms: i64,
    pub ended_ms: i64,
    /// `None` where it was broken off before anything came of it.
    pub attempt: Option<Attempt>,
    pub next: NextStep,
    /// For how long the receiver is sent one at a time, where it said that it has too much.
    pub throttled_for_ms: Option<i64>,
}

/// The maximum number of deliveries of a webhook under way, however many wait.
const UNDER_WAY: &str = "SELECT count(*) FROM webhook_delivery WHERE endpoint_id = ?1 AND lease_until_ms >= ?2";

/// A webhook that has something due.
#[derive(Debug, Clone)]
pub(crate) struct DueWebhook {
    pub endpoint_id: String,
    pub account: i64,
}

/// The webhooks that have something due, in order of their ids: those of accounts with a key that is good. One that is
/// throttled is not due while a delivery of it is under way, so that however many are, others do not wait for them.
pub(crate) fn due(tx: &mut Tx<'_>) -> Result<Vec<DueWebhook>, StateError> {
    let now_ms = tx.clock_ms()?;
    let rows = tx.rows(
        "SELECT id, account_id FROM webhook_endpoint
         WHERE status = 'active' AND (throttled_until_ms IS NULL OR throttled_until_ms <= ?1 OR NOT EXISTS (
             SELECT 1 FROM webhook_delivery WHERE endpoint_id = webhook_endpoint.id AND lease_until_ms >= ?1)) AND EXISTS (
             SELECT 1 FROM api_key WHERE api_key.account_id = webhook_endpoint.account_id
                AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)) AND EXISTS (
             SELECT 1 FROM webhook_delivery WHERE endpoint_id = webhook_endpoint.id AND status = 'pending'
                AND next_at_ms <= ?1 AND (lease_until_ms IS NULL OR lease_until_ms < ?1))
         ORDER BY id",
        &[now_ms.into(), (headwater_state::now_ms() / 1000).into()],
    )?;
    rows.iter().map(|row| Ok(DueWebhook { endpoint_id: row.text(0)?.to_owned(), account: row.int(1)? })).collect()
}

/// Takes what is due of one webhook, as far as its places go, for so long; nothing of one that another server is at.
pub(crate) fn claim(tx: &mut Tx<'_>, due: &DueWebhook, owner: &str, term_ms: i64) -> Result<Vec<Claim>, StateError> {
    let DueWebhook { endpoint_id, account } = due;
    let now_ms = tx.clock_ms()?;
    let until_ms = now_ms + term_ms;
    // Locked, so that two servers do not take its places at once.
    let Some(endpoint) = tx.row(
        "SELECT target_url, throttled_until_ms FROM webhook_endpoint WHERE id = ?1 AND status = 'active'
         /*skip locked*/",
        &[endpoint_id.into()],
    )?
    else {
        return Ok(Vec::new());
    };
    let is_throttled = endpoint.maybe_int(1)?.is_some_and(|until_ms| until_ms > now_ms);
    let places = if is_throttled { PER_THROTTLED } else { PER_ENDPOINT };
    let under_way = tx.row(UNDER_WAY, &[endpoint_id.into(), now_ms.into()])?;
    let room = places - under_way.map_or(Ok(0), |row| row.int(0))?;
    if room <= 0 {
        return Ok(Vec::new());
    }
    let rows = tx.rows(
        "SELECT event_id, attempts FROM webhook_delivery
         WHERE endpoint_id = ?1 AND status = 'pending' AND next_at_ms <= ?2
            AND (lease_until_ms IS NULL OR lease_until_ms < ?2)
         ORDER BY next_at_ms, event_id LIMIT ?3 /*skip locked*/",
        &[endpoint_id.into(), now_ms.into(), room.into()],
    )?;
    let target_url = endpoint.text(0)?.to_owned();
    let sealed = super::endpoints::secrets(tx, endpoint_id, headwater_state::now_ms())?;
    let mut claims = Vec::with_capacity(rows.len());
    for row in rows {
        let event_id = row.text(0)?.to_owned();
        tx.execute(
            "UPDATE webhook_delivery SET lease_owner = ?3, lease_until_ms = ?4
             WHERE event_id = ?1 AND endpoint_id = ?2",
            &[event_id.as_str().into(), endpoint_id.into(), owner.into(), until_ms.into()],
        )?;
        checksums::renew(tx, &checksums::DELIVERIES, &[event_id.as_str().into(), endpoint_id.into()])?;
        let event = tx.row(
            "SELECT id, type, created_at_ms, body, checksum FROM outbox_event WHERE id = ?1",
            &[event_id.as_str().into()],
        )?;
        let body = match &event {
            Some(event) if checksums::fits(event) => event.text(3)?.to_owned(),
            Some(_) => {
                give_up_damaged(tx, &event_id, endpoint_id)?;
                continue;
            }
            None => String::new(),
        };
        claims.push(Claim {
            event_id,
            endpoint_id: endpoint_id.clone(),
            account: *account,
            target_url: target_url.clone(),
            attempts: row.int(1)?,
            body,
            sealed: sealed.clone(),
        });
    }
    Ok(claims)
}

/// An event that does not fit its checksum is sent to nobody.
fn give_up_damaged(tx: &mut Tx<'_>, event_id: &str, endpoint_id: &str) -> Result<(), StateError> {
    tracing::error!(
        event_id,
        "an event was changed on the disk and is not delivered: `headwater state check` says more"
    );
    tx.execute(
        "UPDATE webhook_delivery SET status = 'failed', finished_at_ms = ?3, lease_owner = NULL, lease_until_ms = NULL
         WHERE event_id = ?1 AND endpoint_id = ?2",
        &[event_id.into(), endpoint_id.into(), headwater_state::now_ms().into()],
    )?;
    checksums::renew(tx, &checksums::DELIVERIES, &[event_id.into(), endpoint_id.into()])
}

/// Writes down what became of deliveries, as far as they are still this server's.
pub(crate) fn settle_all(tx: &mut Tx<'_>, owner: &str, ended: &[DeliveryOutcome]) -> Result<(), StateError> {
    let mut ended: Vec<&DeliveryOutcome> = ended.iter().collect();
    // Webhook by webhook in order of their ids, so that servers never wait for one another in a circle.
    ended.sort_by(|one, other| one.endpoint_id.cmp(&other.endpoint_id));
    ended.into_iter().try_for_each(|done| settle(tx, owner, done))
}

fn settle(tx: &mut Tx<'_>, owner: &str, done: &DeliveryOutcome) -> Result<(), StateError> {
    // The webhook before its deliveries, in the order in which it is deleted.
    let locked = tx.row(
        "SELECT failing_since_ms FROM webhook_endpoint WHERE id = ?1 /*lock*/",
        &[done.endpoint_id.as_str().into()],
    )?;
    let Some(locked) = locked else { return Ok(()) };
    let failing_since = locked.maybe_int(0)?;
    let (event, endpoint) = (Value::from(&done.event_id), Value::from(&done.endpoint_id));
    let (status, next_at_ms, finished) = match done.next {
        NextStep::Delivered => ("delivered", done.ended_ms, Some(done.ended_ms)),
        NextStep::Retry { after_ms } => ("pending", tx.clock_ms()?.saturating_add(after_ms), None),
        NextStep::Failed => ("failed", done.ended_ms, Some(done.ended_ms)),
    };
    let held = tx.execute(
        "UPDATE webhook_delivery SET status = ?4, attempts = ?5, next_at_ms = ?6, finished_at_ms = ?7,
             lease_owner = NULL, lease_until_ms = NULL
         WHERE event_id = ?1 AND endpoint_id = ?2 AND lease_owner = ?3",
        &[event, endpoint, owner.into(), status.into(), done.attempts.into(), next_at_ms.into(), finished.into()],
    )?;
    if held == 0 {
        return Ok(());
    }
    checksums::renew(tx, &checksums::DELIVERIES, &[event, endpoint])?;
    let Some(attempt) = done.attempt else { return Ok(()) };
    let last = tx.row(
        "SELECT coalesce(max(number), 0) FROM webhook_attempt WHERE event_id = ?1 AND endpoint_id = ?2",
        &[event, endpoint],
    )?;
    let mut values: Vec<Value<'_>> = vec![
        event,
        endpoint,
        (last.map_or(Ok(0), |row| row.int(0))? + 1).into(),
        done.at_ms.into(),
        attempt.outcome.status.map(i64::from).into(),
        i64::try_from(attempt.duration.as_millis()).unwrap_or(i64::MAX).into(),
        failure(attempt).into(),
    ];
    values.push(checksum(&values).into());
    tx.execute(
        "INSERT INTO webhook_attempt (event_id, endpoint_id, number, at_ms, status, duration_ms, error, checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &values,
    )?;
    if let Some(throttled_for_ms) = done.throttled_for_ms {
        let throttled_until_ms = tx.clock_ms()?.saturating_add(throttled_for_ms);
        tx.execute(
            "UPDATE webhook_endpoint SET throttled_until_ms = ?2 WHERE id = ?1",
            &[endpoint, throttled_until_ms.into()],
        )?;
    }
    judge(tx, &done.endpoint_id, failing_since, attempt.outcome, done.ended_ms)
}

/// Returns what went wrong, for the log.
const fn failure(attempt: Attempt) -> Option<&'static str> {
    match (attempt.trouble, attempt.outcome.status) {
        (Some(trouble), _) => Some(trouble.name()),
        (None, Some(200..=299)) => None,
        (None, Some(300..=399)) => Some("redirect_not_followed"),
        (None, _) => Some("status_not_2xx"),
    }
}

fn judge(
    tx: &mut Tx<'_>,
    endpoint_id: &str,
    since: Option<i64>,
    outcome: Outcome,
    now_ms: i64,
) -> Result<(), StateError> {
    match outcome.verdict(since, now_ms) {
        Verdict::Well if since.is_none() => {}
        Verdict::Well => {
            tx.execute("UPDATE webhook_endpoint SET failing_since_ms = NULL WHERE id = ?1", &[endpoint_id.into()])?;
        }
        Verdict::Failing { .. } if since.is_some() => {}
        Verdict::Failing { since_ms } => {
            tx.execute(
                "UPDATE webhook_endpoint SET failing_since_ms = ?2 WHERE id = ?1",
                &[endpoint_id.into(), since_ms.into()],
            )?;
        }
        Verdict::Disabled(why) => {
            tx.execute(
                "UPDATE webhook_endpoint SET status = 'disabled', status_reason = ?2
                 WHERE id = ?1 AND status = 'active'",
                &[endpoint_id.into(), why.name().into()],
            )?;
            checksums::renew(tx, &checksums::WEBHOOKS, &[endpoint_id.into()])?;
        }
    }
    Ok(())
}

/// An event and the webhooks that wait for it, which must exist.
pub(crate) struct AddressedEvent<'a> {
    pub id: &'a str,
    pub kind: &'a str,
    pub body: &'a str,
    pub webhooks: Vec<&'a str>,
}

/// Adds events that are not there, and those of their deliveries that are not there.
pub(crate) fn add(tx: &mut Tx<'_>, events: &[AddressedEvent<'_>], now_ms: i64) -> Result<(), StateError> {
    const EVENT: Insert =
        Insert { head: "INSERT INTO outbox_event (id, type, created_at_ms, body, checksum)", columns: 5 };
    const DELIVERY: Insert = Insert {
        head: "INSERT INTO webhook_delivery (event_id, endpoint_id, status, attempts, next_at_ms, created_at_ms, checksum)",
        columns: 7,
    };
    let mut rows: Vec<Vec<Value<'_>>> = Vec::with_capacity(events.len());
    for one in events {
        let mut values: Vec<Value<'_>> = vec![one.id.into(), one.kind.into(), now_ms.into(), one.body.into()];
        values.push(checksum(&values).into());
        rows.push(values);
    }
    if tx.insert(&EVENT, &rows)? < rows.len() as u64 {
        events.iter().try_for_each(|event| send_again(tx, event))?;
    }
    let due_ms = tx.clock_ms()?;
    let deliveries = events.iter().flat_map(|one| one.webhooks.iter().map(|webhook| (one.id, *webhook)));
    let rows: Vec<Vec<Value<'_>>> = deliveries
        .map(|(event, webhook)| {
            let [event, webhook, status] = [event, webhook, "pending"].map(Value::from);
            let [attempts, due, now] = [0, due_ms, now_ms].map(Value::from);
            let none = Value::Null;
            let checksum = checksum(&[event, webhook, status, attempts, due, none, none, now, none]);
            vec![event, webhook, status, attempts, due, now, checksum.into()]
        })
        .collect();
    tx.insert(&DELIVERY, &rows)?;
    Ok(())
}

/// An event that was found before is found again where somebody waited for its confirmations, of which it says now how
/// many there are.
fn send_again(tx: &mut Tx<'_>, event: &AddressedEvent<'_>) -> Result<(), StateError> {
    let found = tx.row(
        "SELECT created_at_ms FROM outbox_event WHERE id = ?1 AND body <> ?2 /*lock*/",
        &[event.id.into(), event.body.into()],
    )?;
    let Some(found) = found else { return Ok(()) };
    let checksum = checksum(&[event.id.into(), event.kind.into(), found.int(0)?.into(), event.body.into()]);
    tx.execute(
        "UPDATE outbox_event SET body = ?2, checksum = ?3 WHERE id = ?1",
        &[event.id.into(), event.body.into(), checksum.into()],
    )?;
    Ok(())
}

/// A place among the deliveries of a webhook: when one was made (Unix milliseconds), and its event.
pub(crate) type DeliveryPlace = (i64, String);

/// Some deliveries of a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeliveryBatch {
    /// Events of those that do not wait.
    pub settled: Vec<String>,
    /// The last one that was looked at, where there may be more behind it.
    pub last: Option<DeliveryPlace>,
}

/// In the order of an index, so that each look reads its own rows and no others.
const MADE: &str = "SELECT created_at_ms, event_id, status FROM webhook_delivery
    WHERE endpoint_id = ?1 AND (created_at_ms, event_id) > (?2, ?3) AND created_at_ms <= ?4
    ORDER BY created_at_ms, event_id LIMIT ?5";

/// Looks at some of what was made for a webhook behind a place and up to a time.
pub(crate) fn made(
    tx: &mut Tx<'_>,
    endpoint_id: &str,
    behind: &DeliveryPlace,
    to_ms: i64,
) -> Result<DeliveryBatch, StateError> {
    let (behind_ms, event) = behind;
    let rows =
        tx.rows(MADE, &[endpoint_id.into(), (*behind_ms).into(), event.as_str().into(), to_ms.into(), SOME.into()])?;
    let mut found = DeliveryBatch::default();
    for row in &rows {
        if row.text(2)? != "pending" {
            found.settled.push(row.text(1)?.to_owned());
        }
    }
    if let Some(last) = rows.last().filter(|_| rows.len() as u64 >= SOME.unsigned_abs()) {
        found.last = Some((last.int(0)?, last.text(1)?.to_owned()));
    }
    Ok(found)
}

/// Sends some events again that are not waiting anyway; gives how many.
pub(crate) fn replay(tx: &mut Tx<'_>, endpoint_id: &str, events: &[String]) -> Result<u64, StateError> {
    super::endpoints::hold(tx, endpoint_id)?;
    let due_ms = tx.clock_ms()?;
    let mut count = 0;
    for event in events {
        let delivery = [event.into(), endpoint_id.into()];
        let changed = tx.execute(
            "UPDATE webhook_delivery SET status = 'pending', attempts = 0, next_at_ms = ?3, finished_at_ms = NULL
             WHERE event_id = ?1 AND endpoint_id = ?2 AND status <> 'pending'",
            &[delivery[0], delivery[1], due_ms.into()],
        )?;
        if changed > 0 {
            checksums::renew(tx, &checksums::DELIVERIES, &delivery)?;
        }
        count += changed;
    }
    Ok(count)
}

/// The type of the event, which nobody subscribes to and every webhook is sent.
pub(crate) const LOST: &str = "events_lost";

/// The event types of deliveries: those of webhooks, and two that nobody asks for.
struct DeliveryEventType;

impl utoipa::PartialSchema for DeliveryEventType {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        let names = EventType::all().map(EventType::name).chain(["test", LOST]);
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .enum_values(Some(names))
            .into()
    }
}

impl ToSchema for DeliveryEventType {}

/// A delivery as the owner of its webhook sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct DeliveryView {
    /// Id of the event, the same as in `webhook-id`.
    #[schema(pattern = "^evt_[0-9a-f]{32}$", example = "evt_0123456789abcdef0123456789abcdef")]
    pub event_id: String,
    /// What it tells of: what the webhook was made for, a `test`, or `events_lost`, which nobody asks for.
    #[schema(value_type = DeliveryEventType, example = "large_transfer")]
    pub event_type: String,
    /// `pending`, `delivered` or `failed` (all attempts were).
    #[schema(pattern = "^(pending|delivered|failed)$", example = "delivered")]
    pub status: String,
    /// When the event was found.
    #[schema(format = DateTime, example = "2026-11-20T10:00:00Z")]
    pub created_at: String,
    /// When the next attempt is due; null when there is none.
    #[schema(format = DateTime)]
    pub next_attempt_at: Option<String>,
    /// When it was delivered or given up.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// What was tried, in order.
    pub attempts: Vec<AttemptView>,
}

/// One attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct AttemptView {
    /// Number of the attempt, from 1.
    #[schema(minimum = 1)]
    pub number: i64,
    /// When it began.
    #[schema(format = DateTime, example = "2026-11-20T10:00:01Z")]
    pub at: String,
    /// Status of the answer; null where none came.
    #[schema(minimum = 100, maximum = 999, example = 200)]
    pub status: Option<i64>,
    /// How long it took.
    #[schema(minimum = 0)]
    pub duration_ms: i64,
    /// `unreachable`, `tls_failed`, `timeout`, `broken_answer`, `redirect_not_followed` or `status_not_2xx`; null after a
    /// success.
    #[schema(pattern = "^[a-z0-9_]+$")]
    pub error: Option<String>,
}

/// The deliveries of a webhook, newest first, and how many there are in all.
pub(crate) fn list(
    tx: &mut Tx<'_>,
    endpoint_id: &str,
    limit: u32,
    offset: u32,
) -> Result<(Vec<DeliveryView>, u64), StateError> {
    let total = tx.row("SELECT count(*) FROM webhook_delivery WHERE endpoint_id = ?1", &[endpoint_id.into()])?;
    let total = total.map_or(Ok(0), |row| row.int(0))?;
    let rows = tx.rows(
        "SELECT event_id, type, webhook_delivery.status, webhook_delivery.created_at_ms, next_at_ms, finished_at_ms,
             webhook_endpoint.status
         FROM webhook_delivery JOIN outbox_event ON outbox_event.id = event_id
             JOIN webhook_endpoint ON webhook_endpoint.id = endpoint_id
         WHERE endpoint_id = ?1 ORDER BY webhook_delivery.created_at_ms DESC, event_id LIMIT ?2 OFFSET ?3",
        &[endpoint_id.into(), i64::from(limit).into(), i64::from(offset).into()],
    )?;
    let mut list = Vec::with_capacity(rows.len());
    for row in rows {
        let (event_id, status) = (row.text(0)?.to_owned(), row.text(2)?.to_owned());
        // One that waits until its webhook is active again is due at no time.
        let next = if status == "pending" && row.text(6)? == "active" { row.maybe_int(4)? } else { None };
        list.push(DeliveryView {
            attempts: attempts(tx, &event_id, endpoint_id)?,
            event_id,
            event_type: row.text(1)?.to_owned(),
            status,
            created_at: shown(row.int(3)?),
            next_attempt_at: next.map(shown),
            finished_at: row.maybe_int(5)?.map(shown),
        });
    }
    Ok((list, u64::try_from(total).unwrap_or(0)))
}

fn attempts(tx: &mut Tx<'_>, event_id: &str, endpoint_id: &str) -> Result<Vec<AttemptView>, StateError> {
    let rows = tx.rows(
        "SELECT number, at_ms, status, duration_ms, error FROM webhook_attempt
         WHERE event_id = ?1 AND endpoint_id = ?2 ORDER BY number",
        &[event_id.into(), endpoint_id.into()],
    )?;
    rows.iter()
        .map(|row| {
            Ok(AttemptView {
                number: row.int(0)?,
                at: shown(row.int(1)?),
                status: row.maybe_int(2)?,
                duration_ms: row.int(3)?,
                error: row.maybe_text(4)?.map(str::to_owned),
            })
        })
        .collect()
}

fn shown(time_ms: i64) -> String {
    Timestamp::new(time_ms.div_euclid(1000)).to_string()
}

/// Removes some of what is too old; gives whether there may be more of it. Of the oldest events first the attempts, then
/// the deliveries, then themselves: one event can have very many of either. An event that was found before is found again
/// for a webhook that waits for its confirmations, so a delivery can be younger than its event, which stays as long.
pub(crate) fn prune(tx: &mut Tx<'_>, now_ms: i64) -> Result<bool, StateError> {
    const OF_THE_OLDEST: [&str; 3] = [
        "DELETE FROM webhook_attempt WHERE (event_id, endpoint_id, number) IN (
             SELECT event_id, endpoint_id, number FROM webhook_attempt WHERE (event_id, endpoint_id) IN (
                 SELECT event_id, endpoint_id FROM webhook_delivery WHERE created_at_ms < ?1 AND event_id IN (
                     SELECT id FROM outbox_event WHERE created_at_ms < ?1 AND EXISTS (
                         SELECT 1 FROM webhook_delivery AS old WHERE old.event_id = outbox_event.id
                             AND old.created_at_ms < ?1)
                     ORDER BY created_at_ms, seq LIMIT ?2))
             LIMIT ?2 /*skip locked*/)",
        "DELETE FROM webhook_delivery WHERE (event_id, endpoint_id) IN (
             SELECT event_id, endpoint_id FROM webhook_delivery WHERE created_at_ms < ?1 AND event_id IN (
                 SELECT id FROM outbox_event WHERE created_at_ms < ?1 AND EXISTS (
                     SELECT 1 FROM webhook_delivery AS old WHERE old.event_id = outbox_event.id
                         AND old.created_at_ms < ?1)
                 ORDER BY created_at_ms, seq LIMIT ?2)
             LIMIT ?2 /*skip locked*/)",
        "DELETE FROM outbox_event WHERE seq IN (
             SELECT seq FROM outbox_event WHERE created_at_ms < ?1
                 AND NOT EXISTS (SELECT 1 FROM webhook_delivery WHERE event_id = outbox_event.id)
             ORDER BY created_at_ms, seq LIMIT ?2 /*skip locked*/)
             AND NOT EXISTS (SELECT 1 FROM webhook_delivery WHERE event_id = outbox_event.id)",
    ];
    let oldest = now_ms - KEPT_MS;
    for statement in OF_THE_OLDEST {
        if tx.execute(statement, &[oldest.into(), SOME.into()])? >= SOME.unsigned_abs() {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests;
