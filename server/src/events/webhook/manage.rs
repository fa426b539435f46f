//! Calls by which owners manage their webhooks.

use headwater_engine::events::{EventFilters, EventType, Subscription};
use headwater_engine::fields::TimeBound;
use headwater_engine::{Error, ErrorKind, Offsets, Pagination, Reason, Warning};
use headwater_state::{StateError, StoredAnswer, find_kept, keep, now_ms};
use headwater_types::{TimeWindow, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Ref, RefBuilder};
use uuid::Uuid;

use super::deliveries::{self, AddressedEvent, DeliveryBatch, KEPT_MS};
use super::egress::{LONGEST, Target, TargetError};
use super::endpoints::{self, Change, DeleteOutcome, Endpoint, EndpointStatus, GRACE_MS, PER_ACCOUNT, WebhookView};
use super::sign::Secret;
use crate::events::Events;
use crate::gateway::{Call, Details, Problem, Repetition, Reply, Status};

/// Rows of a page where nothing else is said.
pub(crate) const DEFAULT_LIMIT: u32 = 20;
/// Most rows of a page.
pub(crate) const MAX_LIMIT: u32 = 1000;

/// A webhook to be made.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateWebhookRequest {
    /// Where deliveries go: https, a public address, at most 2,048 characters.
    #[schema(
        format = "uri",
        pattern = r"^https?://[!-\[\]-~]+$",
        max_length = 2048,
        example = "https://hooks.example.com/in"
    )]
    target_url: String,
    // The type of its events; documented by its schema.
    #[schema(schema_with = event_type)]
    event_type: String,
    /// Which events.
    #[schema(value_type = Option<EventFilters>)]
    filters: Option<Json>,
}

/// Refers to the type of events, with their names.
fn event_type() -> Ref {
    let mut names: Vec<String> = EventType::all().map(|kind| format!("`{kind}`")).collect();
    let last = names.pop().unwrap_or_default();
    let description = format!("{} or {last}.", names.join(", "));
    RefBuilder::new()
        .ref_location_from_schema_name(<EventType as ToSchema>::name())
        .description(Some(description))
        .build()
}

/// What is to change; what is left out stays.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct UpdateWebhookRequest {
    /// Where deliveries go from now on.
    #[schema(format = "uri", pattern = r"^https?://[!-\[\]-~]+$", max_length = 2048)]
    target_url: Option<String>,
    /// Which events from now on, in place of all filters before.
    #[schema(value_type = Option<EventFilters>)]
    filters: Option<Json>,
    /// `active` or `paused`.
    #[schema(pattern = "^(active|paused)$", example = "paused")]
    status: Option<String>,
}

/// A page of a list.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct PageRequest {
    limit: Option<i64>,
    offset: Option<i64>,
}

/// Deliveries to be made again.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ReplayRequest {
    /// Of events found from this time on, in epoch seconds, at most 7 days ago.
    #[schema(value_type = TimeBound, example = 1_763_632_800)]
    from: i64,
    /// Up to this time; now where it is left out.
    #[schema(value_type = Option<TimeBound>)]
    to: Option<i64>,
}

/// A new webhook: its view, and for this once its secret.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedWebhook {
    #[serde(flatten)]
    view: WebhookView,
    /// What deliveries are signed with: `whsec_` and the base64 of 32 bytes. Shown this once only.
    #[schema(pattern = r"^whsec_[A-Za-z0-9+/]{43}=$", example = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")]
    secret: String,
}

/// A webhook that is no more.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeletedWebhook {
    /// Its id.
    #[schema(format = "uuid")]
    id: String,
    /// Always true.
    deleted: bool,
}

/// A delivery that tells of nothing but itself.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SentTest {
    /// Id of its event, by which the deliveries list it.
    #[schema(pattern = "^evt_[0-9a-f]{32}$", example = "evt_0123456789abcdef0123456789abcdef")]
    event_id: String,
}

/// A new secret.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RotatedSecret {
    /// Id of the webhook.
    #[schema(format = "uuid")]
    id: String,
    /// What deliveries are signed with from now on. Shown this once only.
    #[schema(pattern = r"^whsec_[A-Za-z0-9+/]{43}=$")]
    secret: String,
    /// Until then they are signed with the secret before it as well.
    #[schema(format = DateTime)]
    old_secret_signs_until: String,
}

/// Deliveries that are made again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Replayed {
    /// How many.
    replayed: u64,
}

/// Makes a webhook.
pub(crate) async fn create(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let CreateWebhookRequest { target_url, event_type, filters } = call.decode()?;
    check_target(&events, &target_url)?;
    let (filters, warnings) = check_filters(&events, event_type.clone(), filters.unwrap_or(Json::Null)).await?;
    events.gateway().check_watched(Some(&call.caller), &filters)?;
    call.warn(warnings);
    let claim = match call.repetition(events.gateway()).await? {
        Repetition::Without => None,
        Repetition::First(claim) => Some(claim),
        Repetition::Again(reply) => return Ok(reply.created_before("/v1/webhooks")),
    };
    let secret = Secret::generate().map_err(|error| call.failed(&StateError::from(error)))?;
    let sealed = events.gateway().state().home().master().seal(secret.bytes()).map_err(|error| call.failed(&error))?;
    let endpoint = Endpoint {
        id: Uuid::now_v7().to_string(),
        target_url,
        event_type,
        filters,
        status: EndpointStatus::Active,
        status_reason: None,
        created_at_ms: now_ms(),
    };
    let (account, key_id, row) = (call.caller.account().id(), call.caller.key_id(), endpoint.clone());
    let location = format!("/v1/webhooks/{}", endpoint.id);
    let reply = call.reply(&CreatedWebhook { view: endpoint.into(), secret: secret.expose() }).created(location);
    let kept = claim.as_ref().map(|claim| call.keep(events.gateway(), claim, &reply)).transpose()?;
    let request_id = call.context.request_id;
    let request_hash = kept.as_ref().map(|kept| kept.request_hash);
    let made = events.gateway().state().write(move |tx| {
        endpoints::hold_account(tx, account)?;
        // A call whose client did not wait for it may have come through since this one looked.
        if let Some(kept) = &kept
            && let Some(before) = find_kept(tx, account, &kept.key)?
        {
            return Ok(CreateOutcome::Before(before));
        }
        if !endpoints::create(tx, (account, &key_id), &row, &sealed)? {
            return Ok(CreateOutcome::TooMany);
        }
        if let Some(kept) = &kept {
            keep(tx, account, kept, (&request_id, 201), 0)?;
        }
        Ok(CreateOutcome::New)
    });
    match made.await.map_err(|error| call.failed(&error))? {
        CreateOutcome::New => {
            events.webhooks_have_changed();
            Ok(reply)
        }
        CreateOutcome::TooMany => Err(too_many()),
        CreateOutcome::Before(kept) => {
            let again = call.again(events.gateway(), request_hash.unwrap_or_default(), kept)?;
            Ok(again.created_before("/v1/webhooks"))
        }
    }
}

/// The outcome of making a webhook.
enum CreateOutcome {
    New,
    /// Its account has as many as it may have.
    TooMany,
    /// It was made under the same `Idempotency-Key`.
    Before(StoredAnswer),
}

/// Lists the webhooks of the caller.
pub(crate) async fn list(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let page = page(&mut call)?;
    let account = call.caller.account().id();
    let listed = events.gateway().read_state(move |tx| endpoints::list(tx, account, page.limit, page.offset)).await;
    let (webhooks, total) = listed.map_err(|error| call.failed(&error))?;
    let views: Vec<WebhookView> = webhooks.into_iter().map(WebhookView::from).collect();
    call.page(&views, Pagination { limit: page.limit, offset: page.offset, total: Some(total) }).await
}

/// Shows one webhook.
pub(crate) async fn show(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let endpoint = found(&events, &call).await?;
    Ok(call.reply(&WebhookView::from(endpoint)))
}

/// Removes a webhook.
pub(crate) async fn delete(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let (account, id) = (call.caller.account().id(), id_of(&call)?);
    loop {
        // Its deliveries go before it, some at a time: charges of others wait for each commit.
        let key = id.clone();
        let deleted = events.gateway().state().write(move |tx| endpoints::delete(tx, account, &key)).await;
        match deleted.map_err(|error| call.failed(&error))? {
            DeleteOutcome::Missing => return Err(missing()),
            DeleteOutcome::Part => {}
            DeleteOutcome::Whole => break,
        }
    }
    events.webhooks_have_changed();
    Ok(call.reply(&DeletedWebhook { id, deleted: true }))
}

/// Changes a webhook.
pub(crate) async fn update(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let UpdateWebhookRequest { target_url, filters, status } = call.decode()?;
    let before = found(&events, &call).await?;
    let status = match status.as_deref() {
        None => None,
        Some("active") => Some(EndpointStatus::Active),
        Some("paused") => Some(EndpointStatus::Paused),
        Some(other) => {
            let message = format!("status: expected active or paused, got {other:?}");
            return Err(Problem::invalid(Reason::InvalidValue, Some("status"), message));
        }
    };
    if let Some(url) = &target_url {
        check_target(&events, url)?;
    }
    let filters = match filters {
        None => None,
        Some(filters) => {
            let (filters, warnings) = check_filters(&events, before.event_type, filters).await?;
            call.warn(warnings);
            Some(filters)
        }
    };
    // Also of one that was made under another plan; to stop that is always allowed.
    if filters.is_some() || status != Some(EndpointStatus::Paused) {
        events.gateway().check_watched(Some(&call.caller), filters.as_ref().unwrap_or(&before.filters))?;
    }
    let (account, id) = (call.caller.account().id(), before.id);
    let change = Change { target_url, filters, status };
    let changed =
        events.gateway().state().write(move |tx| endpoints::change(tx, account, &id, &change, now_ms())).await;
    let endpoint = changed.map_err(|error| call.failed(&error))?.ok_or_else(missing)?;
    events.webhooks_have_changed();
    Ok(call.reply(&WebhookView::from(endpoint)))
}

/// Says that what is to be delivered has to wait.
fn warn_of_waiting(call: &mut Call, endpoint: &Endpoint) {
    if endpoint.status != EndpointStatus::Active {
        let message = format!("the webhook is {}: deliveries wait until it is active", endpoint.status.name());
        call.warn([Warning::new("not_active", None, message)]);
    }
}

/// Sends an event that reports nothing but itself.
pub(crate) async fn test(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let endpoint = found(&events, &call).await?;
    warn_of_waiting(&mut call, &endpoint);
    let event_id = format!("evt_{}", Uuid::now_v7().simple());
    let timestamp = Timestamp::new(now_ms() / 1000).to_string();
    let body = json!({"id": event_id, "type": "test", "timestamp": timestamp, "data": {"webhook_id": endpoint.id}});
    let (event, body) = (event_id.clone(), body.to_string());
    let added = events.gateway().state().write(move |tx| {
        let webhooks = vec![endpoint.id.as_str()];
        deliveries::add(tx, &[AddressedEvent { id: &event, kind: "test", body: &body, webhooks }], now_ms())
    });
    added.await.map_err(|error| call.failed(&error))?;
    events.wake_deliveries();
    Ok(call.reply(&SentTest { event_id }))
}

/// Gives a webhook a new secret.
pub(crate) async fn rotate(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let (account, id) = (call.caller.account().id(), id_of(&call)?);
    let secret = Secret::generate().map_err(|error| call.failed(&StateError::from(error)))?;
    let sealed = events.gateway().state().home().master().seal(secret.bytes()).map_err(|error| call.failed(&error))?;
    let (key, now) = (id.clone(), now_ms());
    let rotated = events.gateway().state().write(move |tx| endpoints::rotate(tx, account, &key, &sealed, now)).await;
    if !rotated.map_err(|error| call.failed(&error))? {
        return Err(missing());
    }
    let old_secret_signs_until = Timestamp::new((now + GRACE_MS) / 1000).to_string();
    Ok(call.reply(&RotatedSecret { id, secret: secret.expose(), old_secret_signs_until }))
}

/// Lists the deliveries of a webhook.
pub(crate) async fn deliveries(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let page = page(&mut call)?;
    let id = found(&events, &call).await?.id;
    let listed = events.gateway().read_state(move |tx| deliveries::list(tx, &id, page.limit, page.offset)).await;
    let (views, total) = listed.map_err(|error| call.failed(&error))?;
    call.page(&views, Pagination { limit: page.limit, offset: page.offset, total: Some(total) }).await
}

/// Makes deliveries again.
pub(crate) async fn replay(events: Events, mut call: Call) -> Result<Reply, Problem> {
    let ReplayRequest { from, to } = call.decode()?;
    let (from_ms, to_ms) = span(from, to, now_ms())?;
    let endpoint = found(&events, &call).await?;
    warn_of_waiting(&mut call, &endpoint);
    let id = endpoint.id;
    let (mut replayed, mut behind) = (0, Some((from_ms, String::new())));
    while let Some(place) = behind {
        // Found beside the writer, which charges wait for.
        let of = id.clone();
        let made = events.gateway().read_state(move |tx| deliveries::made(tx, &of, &place, to_ms)).await;
        let DeliveryBatch { settled, last } = made.map_err(|error| call.failed(&error))?;
        if !settled.is_empty() {
            let of = id.clone();
            let again = events.gateway().state().write(move |tx| deliveries::replay(tx, &of, &settled)).await;
            replayed += again.map_err(|error| call.failed(&error))?;
        }
        behind = last;
    }
    events.wake_deliveries();
    Ok(call.reply(&Replayed { replayed }))
}

/// Two times in epoch seconds as milliseconds, both included.
fn span(from: i64, to: Option<i64>, now_ms: i64) -> Result<(i64, i64), Problem> {
    for (field, time) in [("from", Some(from)), ("to", to)] {
        match time {
            Some(time) if time.unsigned_abs() > TimeWindow::LAST_SECS.unsigned_abs() => {
                let message = format!("{field}: expected epoch seconds, got {time}, which looks like milliseconds");
                return Err(Problem::invalid(Reason::Milliseconds, Some(field), message));
            }
            _ => {}
        }
    }
    let to_ms = to.map_or(now_ms, |to| to * 1000 + 999);
    let from_ms = from * 1000;
    if from_ms > to_ms {
        let message = format!("from: {from} lies after the end of the time that is asked for");
        return Err(Problem::invalid(Reason::TimeRange, Some("from"), message));
    }
    if from_ms < now_ms - KEPT_MS {
        let message = format!("from: {from} lies more than 7 days back, which deliveries are not kept for");
        return Err(Problem::invalid(Reason::TimeRange, Some("from"), message));
    }
    Ok((from_ms, to_ms))
}

fn check_target(events: &Events, url: &str) -> Result<(), Problem> {
    match Target::parse(url, events.egress().policy()) {
        Ok(_) => Ok(()),
        Err(error) => {
            let mut problem =
                Problem::invalid(Reason::InvalidValue, Some("target_url"), format!("target_url: {error}"));
            if let (TargetError::TooLong(_), Some(details)) = (&error, &mut problem.details) {
                details.limit = Some(LONGEST as u64);
            }
            Err(problem)
        }
    }
}

/// The filters as they hold, and what their owner should know.
async fn check_filters(events: &Events, event_type: String, filters: Json) -> Result<(Json, Vec<Warning>), Problem> {
    // Known without the store, so that a wrong name is reported first.
    EventType::parse(&event_type).map_err(|error| Problem::quietly_from_engine(&error))?;
    let ledgers = events.gateway().ledgers().clone();
    let checked = tokio::task::spawn_blocking(move || {
        let ledger = ledgers.current()?;
        let (subscription, warnings) = Subscription::parse(&event_type, &filters, &*ledger)?;
        Ok::<_, Error>((subscription.to_json(), warnings))
    });
    let checked =
        checked.await.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "the filters could not be checked")));
    checked.map_err(|error| Problem::from_engine(&error, "webhooks"))
}

/// The webhook that the path names. What belongs to others is not there.
async fn found(events: &Events, call: &Call) -> Result<Endpoint, Problem> {
    let (account, id) = (call.caller.account().id(), id_of(call)?);
    let found = events.gateway().read_state(move |tx| endpoints::find(tx, account, &id)).await;
    found.map_err(|error| call.failed(&error))?.ok_or_else(missing)
}

/// Returns the id of a call; what is not an id is the id of no webhook.
fn id_of(call: &Call) -> Result<String, Problem> {
    Uuid::parse_str(call.part("id")).map(|id| id.to_string()).map_err(|_| missing())
}

fn missing() -> Problem {
    Problem::new(Status::NotFound, "there is no webhook with this id: GET /v1/webhooks lists those of the key")
}

fn too_many() -> Problem {
    let details =
        Details { reason: "too_many_items".to_owned(), limit: Some(PER_ACCOUNT.unsigned_abs()), ..Details::default() };
    let message = format!("a key has at most {PER_ACCOUNT} webhooks: delete one that is not needed");
    Problem { details: Some(Box::new(details)), ..Problem::new(Status::BadRequest, message) }
}

fn page(call: &mut Call) -> Result<Offsets, Problem> {
    let PageRequest { limit, offset } = call.decode()?;
    Offsets::new(limit, offset, DEFAULT_LIMIT, MAX_LIMIT).map_err(|error| Problem::quietly_from_engine(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_checked_like_other_times() {
        let now_ms = 1_763_632_800_000;
        let now = now_ms / 1000;
        let reason = |from, to| span(from, to, now_ms).unwrap_err().details.unwrap().reason;
        assert_eq!(span(now - 60, None, now_ms).unwrap(), (now_ms - 60_000, now_ms));
        assert_eq!(span(now - 60, Some(now), now_ms).unwrap(), (now_ms - 60_000, now_ms + 999));
        assert_eq!(reason(now_ms, None), "milliseconds");
        assert_eq!(reason(now - 60, Some(now_ms)), "milliseconds");
        assert_eq!(reason(now - 60, Some(now - 61)), "time_range");
        assert_eq!(reason(now - 8 * 86_400, None), "time_range");
    }
}
