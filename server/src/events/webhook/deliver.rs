//! Makes deliveries: takes what is due by lease, sends it, writes down what became of it.
//!
//! Results and new leases go into one commit. A server that dies leaves its leases behind, and when they have run out
//! another one, or the same one after its restart, sends those deliveries again: at least once, under the same id.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use headwater_state::{ErrorThrottle, causes, now_ms};
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::deliveries::{self, Claim, DeliveryOutcome, DueWebhook};
use super::egress::Egress;
use super::endpoints;
use super::schedule::{NextStep, PENALTY_MS};
use super::sign::{Secret, signatures};
use crate::events::Events;
use crate::events::Pace;
use crate::events::stream::prune_tickets;

/// Deliveries under way in one server at a time.
const AT_ONCE: usize = 512;
/// The same of one account, so that its receivers cannot take the places of all others.
const OF_ACCOUNT: usize = AT_ONCE / 4;
/// The maximum time that due deliveries wait for a look.
const LOOK: Duration = Duration::from_millis(250);
/// The delay after a failed commit before the next try.
const AGAIN: Duration = Duration::from_millis(250);
/// The time for which results are gathered before they are committed.
const GATHER: Duration = Duration::from_millis(2);
/// The time that deliveries under way may take to end when the server does.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time by which a lease outlives the deadline of its delivery, in seconds of the schedule.
const LEASE_SECS: i64 = 30;
/// The interval at which what is too old is looked for.
const PRUNING: Duration = Duration::from_mins(1);
/// The pause where more is too old: deliveries and charges have their turn.
const PAUSE: Duration = Duration::from_millis(10);

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// The deliveries of one server.
pub(crate) struct Courier {
    events: Events,
    egress: Arc<Egress>,
    pace: Pace,
    /// Under which leases are taken.
    owner: String,
    under_way: JoinSet<DeliveryOutcome>,
    /// The claims of those under way, by their tasks: for when one is broken off.
    claimed: HashMap<tokio::task::Id, Claim>,
    /// Ended, not yet written down.
    ended: Vec<DeliveryOutcome>,
    /// The webhook that was served last: the next one begins behind it.
    last: String,
    recurring: ErrorThrottle,
}

impl Courier {
    pub fn new(events: Events, egress: Arc<Egress>, pace: Pace) -> Self {
        Self {
            events,
            egress,
            pace,
            owner: uuid::Uuid::now_v7().to_string(),
            under_way: JoinSet::new(),
            claimed: HashMap::new(),
            ended: Vec::new(),
            last: String::new(),
            recurring: ErrorThrottle::default(),
        }
    }

    /// Runs until it is asked to stop.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let (mut pruned, mut longest) = (tokio::time::Instant::now(), LOOK);
        while !*stop.borrow() {
            match self.turn().await {
                Ok(true) => {}
                Ok(false) => self.wait(&mut stop, longest).await,
                Err(error) => {
                    self.recurring.met("deliveries could not be read or written down", &error);
                    tokio::time::sleep(AGAIN).await;
                }
            }
            if pruned.elapsed() >= PRUNING {
                longest = if self.prune().await { PAUSE } else { LOOK };
                if longest == LOOK {
                    pruned = tokio::time::Instant::now();
                }
            }
        }
        self.stop().await;
    }

    /// Writes down what ended and takes what is due; gives whether there is more to take at once.
    async fn turn(&mut self) -> Result<bool, headwater_state::StateError> {
        let room = AT_ONCE.saturating_sub(self.under_way.len());
        let events = self.events.clone();
        let due = self.events.gateway().read_state(move |tx| {
            let mut allowed = Vec::new();
            for due in deliveries::due(tx)? {
                // What a plan leaves out waits, as it does for a key that is revoked.
                if events.gateway().delivers(super::PATH, due.account, || endpoints::filters(tx, &due.endpoint_id))? {
                    allowed.push(due);
                }
            }
            Ok(allowed)
        });
        let due = due.await?;
        let due = self.in_turn(due);
        if self.ended.is_empty() && (due.is_empty() || room == 0) {
            return Ok(false);
        }
        let (ended, owner) = (self.ended.clone(), self.owner.clone());
        let mut held: HashMap<i64, usize> = HashMap::new();
        self.claimed.values().for_each(|claim| *held.entry(claim.account).or_default() += 1);
        let term_ms = self.pace.deadline_ms() + self.pace.scale_ms(LEASE_SECS * 1000);
        let claims = self
            .events
            .gateway()
            .state()
            .write(move |tx| {
                deliveries::settle_all(tx, &owner, &ended)?;
                let (mut claims, mut held) = (Vec::new(), held.clone());
                for endpoint in &due {
                    if claims.len() >= room {
                        break;
                    }
                    let held = held.entry(endpoint.account).or_default();
                    if *held < OF_ACCOUNT {
                        let claimed = deliveries::claim(tx, endpoint, &owner, term_ms)?;
                        *held += claimed.len();
                        claims.extend(claimed);
                    }
                }
                Ok(claims)
            })
            .await?;
        // What ended may have been what a throttled webhook waited for.
        let more = !claims.is_empty() || !self.ended.is_empty();
        self.ended.clear();
        if let Some(claim) = claims.last() {
            self.last.clone_from(&claim.endpoint_id);
        }
        for claim in claims {
            self.send(claim);
        }
        Ok(more)
    }

    /// The webhooks behind the one that was served last come first, so that none waits for ever.
    fn in_turn(&self, mut due: Vec<DueWebhook>) -> Vec<DueWebhook> {
        let first = due.partition_point(|due| due.endpoint_id <= self.last);
        due.rotate_left(first);
        due
    }

    /// Waits for an end, for news, or for a while.
    async fn wait(&mut self, stop: &mut watch::Receiver<bool>, longest: Duration) {
        let events = self.events.clone();
        tokio::select! {
            _ = stop.changed() => {}
            () = events.due() => {}
            Some(ended) = self.under_way.join_next_with_id() => {
                self.note(ended);
                tokio::time::sleep(GATHER).await;
                while let Some(ended) = self.under_way.try_join_next_with_id() {
                    self.note(ended);
                }
            }
            () = tokio::time::sleep(longest) => {}
        }
    }

    fn note(&mut self, ended: Result<(tokio::task::Id, DeliveryOutcome), tokio::task::JoinError>) {
        match ended {
            Ok((task, done)) => {
                self.claimed.remove(&task);
                self.ended.push(done);
            }
            Err(error) => {
                // A delivery that panicked comes again with its lease's end, or now when it was broken off.
                if let Some(claim) = self.claimed.remove(&error.id())
                    && error.is_cancelled()
                {
                    let now = now_ms();
                    self.ended.push(DeliveryOutcome {
                        attempts: claim.attempts,
                        event_id: claim.event_id,
                        endpoint_id: claim.endpoint_id,
                        at_ms: now,
                        ended_ms: now,
                        attempt: None,
                        next: NextStep::Retry { after_ms: 0 },
                        throttled_for_ms: None,
                    });
                }
            }
        }
    }

    fn send(&mut self, claim: Claim) {
        let secrets: Vec<Secret> = claim
            .sealed
            .iter()
            .filter_map(|sealed| {
                let opened = self.events.gateway().state().home().master().open(sealed);
                if let Err(error) = &opened {
                    tracing::error!(error = causes(error), webhook = claim.endpoint_id, "a secret cannot be opened");
                }
                opened.ok().and_then(Secret::from_bytes)
            })
            .collect();
        if secrets.is_empty() {
            // What cannot be signed is not sent: it is due again when its lease has run out, until it is too old. No attempt is
            // counted, since none was made.
            return;
        }
        let task = self.under_way.spawn(deliver(Arc::clone(&self.egress), self.pace, claim.clone(), secrets));
        self.claimed.insert(task.id(), claim);
    }

    /// Removes some of what is too old; gives whether there may be more.
    async fn prune(&self) -> bool {
        let pruned =
            self.events.gateway().state().write(|tx| Ok(deliveries::prune(tx, now_ms())? | prune_tickets(tx)?)).await;
        pruned.unwrap_or_else(|error| {
            self.recurring.met("old deliveries and tickets could not be removed", &error);
            false
        })
    }

    /// Lets deliveries under way end for a while, then breaks them off: others make them.
    async fn stop(mut self) {
        let ending = async {
            while let Some(ended) = self.under_way.join_next_with_id().await {
                self.note(ended);
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, ending).await.is_err() {
            self.under_way.abort_all();
            while let Some(ended) = self.under_way.join_next_with_id().await {
                self.note(ended);
            }
        }
        let (ended, owner) = (std::mem::take(&mut self.ended), self.owner);
        let written = self.events.gateway().state().write(move |tx| deliveries::settle_all(tx, &owner, &ended)).await;
        if let Err(error) = written {
            tracing::error!(error = causes(&error), "the last deliveries could not be written down: they come again");
        }
    }
}

/// Makes one attempt.
async fn deliver(egress: Arc<Egress>, pace: Pace, claim: Claim, secrets: Vec<Secret>) -> DeliveryOutcome {
    let at_ms = now_ms();
    let body = addressed(&claim.body, &claim.endpoint_id);
    let headers = headers(&claim.event_id, at_ms / 1000, &secrets, &body);
    drop(secrets);
    let attempt = egress.post(claim.account, &claim.target_url, headers, Bytes::from(body)).await;
    let attempts = claim.attempts + 1;
    let ended_ms = now_ms();
    let seed = seed(&claim.event_id, &claim.endpoint_id, attempts);
    let next = match attempt.outcome.next(u32::try_from(attempts).unwrap_or(u32::MAX), seed) {
        NextStep::Retry { after_ms } => NextStep::Retry { after_ms: pace.scale_ms(after_ms) },
        next => next,
    };
    let throttled_for_ms = attempt.outcome.throttles().then(|| pace.scale_ms(PENALTY_MS));
    let Claim { event_id, endpoint_id, .. } = claim;
    DeliveryOutcome { event_id, endpoint_id, attempts, at_ms, ended_ms, attempt: Some(attempt), next, throttled_for_ms }
}

/// The body with the id of the webhook that it goes to.
fn addressed(body: &str, endpoint_id: &str) -> String {
    let Ok(mut event) = serde_json::from_str::<Json>(body) else { return body.to_owned() };
    if let Some(data) = event.get_mut("data").and_then(Json::as_object_mut) {
        data.insert("webhook_id".to_owned(), endpoint_id.into());
    }
    event.to_string()
}

fn headers(id: &str, timestamp_secs: i64, secrets: &[Secret], body: &str) -> HeaderMap {
    let text = |text: &str| HeaderValue::from_str(text).expect("ids, numbers and base64 are letters and marks");
    let mut headers = HeaderMap::with_capacity(7);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(concat!("Headwater/", env!("CARGO_PKG_VERSION"))));
    headers.insert(ID, text(id));
    headers.insert(TIMESTAMP, HeaderValue::from(timestamp_secs));
    headers.insert(SIGNATURE, text(&signatures(secrets, id, timestamp_secs, body.as_bytes())));
    headers
}

/// Another number for each attempt of each delivery, the same one whoever asks.
fn seed(event_id: &str, endpoint_id: &str, attempt: i64) -> u64 {
    let bytes = event_id.bytes().chain(endpoint_id.bytes()).chain(attempt.to_le_bytes());
    // FNV-1a: it only has to scatter.
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_names_the_webhook_and_is_otherwise_as_it_was() {
        let body = r#"{"id":"evt_1","type":"large_transfer","data":{"amount":"1.10","n":1.0}}"#;
        let sent = addressed(body, "w");
        assert_eq!(sent, r#"{"id":"evt_1","type":"large_transfer","data":{"amount":"1.10","n":1.0,"webhook_id":"w"}}"#);
    }

    #[test]
    fn the_headers_are_those_of_the_standard() {
        let secret = Secret::from_bytes(vec![7; 32]).unwrap();
        let headers = headers("evt_1", 1_700_000_000, std::slice::from_ref(&secret), "{}");
        assert_eq!(headers["webhook-id"], "evt_1");
        assert_eq!(headers["webhook-timestamp"], "1700000000");
        assert_eq!(headers["webhook-signature"], secret.sign("evt_1", 1_700_000_000, b"{}").as_str());
        assert!(headers["user-agent"].to_str().unwrap().starts_with("Headwater/"));
    }

    #[test]
    fn each_attempt_of_each_delivery_has_its_own_jitter() {
        let seeds = [seed("a", "b", 1), seed("a", "b", 2), seed("a", "c", 1), seed("b", "b", 1)];
        assert_eq!(seeds.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert_eq!(seed("a", "b", 1), seeds[0]);
    }
}
