//! Follows the change feed of the store and makes events of it. Events, their deliveries and the position that was
//! reached are committed together, and only then sent to anybody, so that a crash loses none and a repetition adds none.
//!
//! Every replica follows the feed, since each serves its own streams. What they commit is the same, under the same ids,
//! and they commit one after the other: whoever comes second to a position finds its deliveries made.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::events::{Event, FeedStep, Follower, Subscription, Watcher};
use headwater_engine::{Error, ErrorKind, Reason};
use headwater_ledger::feed::StoreId;
use headwater_state::{ErrorThrottle, StateError, Tx, causes, now_ms};
use tokio::sync::watch;

use super::Events;
use super::reached::{self, FeedPosition};
use super::stream::{Replay, StepEvents, is_of_subscription};
use super::webhook::deliveries::{self, AddressedEvent, LOST};
use super::webhook::endpoints;
use super::{cursors, lost};
use crate::gateway::PublishedItems;

/// The interval at which the feed is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// Steps that are followed before they are committed.
const STEPS: usize = 16;
/// Events that are found before they are committed, unless a single step makes more.
const EVENTS: usize = 4096;
/// Deliveries that go into one commit, unless a single step makes more: charges wait for each commit.
const DELIVERIES: usize = 5000;
/// The delay after a failure before the next try.
const AGAIN: Duration = Duration::from_secs(1);
/// The interval at which webhooks that another server changed are looked for.
const CHANGES: Duration = Duration::from_secs(1);
/// The interval at which cursors that are too old are looked for.
const PRUNING: Duration = Duration::from_mins(1);

/// The one task that makes events in a server.
pub(crate) struct Outbox {
    events: Events,
    follower: Option<Follower>,
    /// The fingerprint of the webhooks when they were last read.
    webhooks: Option<endpoints::Fingerprint>,
    looked: tokio::time::Instant,
    pruned: tokio::time::Instant,
    recurring: ErrorThrottle,
    /// The items whose events were sent.
    published: PublishedItems,
}

/// The result of following the feed for a while.
type FollowResult = (Follower, Result<Vec<StepEvents>, Error>);

impl Outbox {
    pub fn new(events: Events) -> Self {
        let now = tokio::time::Instant::now();
        Self {
            events,
            follower: None,
            webhooks: None,
            looked: now,
            pruned: now,
            recurring: ErrorThrottle::default(),
            published: PublishedItems::default(),
        }
    }

    /// Runs until it is asked to stop.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let wait = match self.turn(&mut stop).await {
                Ok(true) => continue,
                Ok(false) => LOOK,
                Err(()) => AGAIN,
            };
            tokio::select! {
                _ = stop.changed() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Follows the feed for a few steps; gives whether there may be more. What failed is in the log.
    async fn turn(&mut self, stop: &mut watch::Receiver<bool>) -> Result<bool, ()> {
        let follower = match self.follower.take() {
            Some(follower) => follower,
            None => match self.begin().await? {
                Some(follower) => follower,
                None => return Ok(true),
            },
        };
        let behind = FeedPosition::new(follower.position(), follower.store());
        if let Err(error) = self.read_webhooks().await {
            self.recurring.met("webhooks could not be read", &error);
            self.follower = Some(follower);
            return Err(());
        }
        let events = self.events.clone();
        let followed = tokio::task::spawn_blocking(move || follow(&events, follower)).await;
        let Ok((follower, found)) = followed else {
            tracing::error!(position = behind.position, "making events panicked");
            // Begun anew from what was committed, which may lie ahead of what was sent to the streams here.
            self.events.hub().end_all(super::stream::Ending::Overloaded);
            return Err(());
        };
        match found {
            Ok(found) if found.is_empty() => {
                self.follower = Some(follower);
                Ok(false)
            }
            Ok(found) => {
                self.commit(found, follower.store(), stop).await;
                self.follower = Some(follower);
                Ok(true)
            }
            Err(error)
                if matches!(error.kind, ErrorKind::InvalidInput(Reason::CursorExpired | Reason::InvalidValue)) =>
            {
                self.lose(behind, &error).await
            }
            Err(error) => {
                self.recurring.met("the change feed could not be read", &error);
                self.follower = Some(follower);
                Err(())
            }
        }
    }

    /// The position that was committed, or for the first time the newest there is: what was there before is history.
    /// None where the store is another one than it was.
    async fn begin(&mut self) -> Result<Option<Follower>, ()> {
        let ledgers = Arc::clone(self.events.gateway().ledgers());
        let feed = tokio::task::spawn_blocking(move || ledgers.feed().map(|feed| (feed.newest(), feed.store()))).await;
        let (newest, store) = match feed {
            Ok(Ok(feed)) => feed,
            Ok(Err(error)) => {
                self.recurring.met("the change feed could not be read", &error);
                return Err(());
            }
            Err(_) => return Err(()),
        };
        let now = FeedPosition::new(newest, store);
        let reached =
            self.events.gateway().state().write(move |tx| reached::begin(tx, now)).await.map_err(|error| {
                self.recurring.met("the position in the change feed could not be read", &error);
            })?;
        if reached.is_elsewhere(now) {
            let error = Error::new(ErrorKind::Internal, "the change feed is that of another store than before");
            return self.lose(reached, &error).await.map(|_| None);
        }
        let position = reached.position;
        self.webhooks = None;
        self.read_webhooks().await.map_err(|error| {
            self.recurring.met("webhooks could not be read", &error);
        })?;
        self.events.hub().begin(position);
        let gateway = self.events.gateway();
        let follower = Follower::new(Arc::clone(gateway.ledgers()), position).of_store(store);
        Ok(Some(follower.with_intelligence(gateway.settings().intelligence.clone())))
    }

    /// The feed no longer holds what came next, or is another one than before. Another server may have followed it
    /// meanwhile; where none has, events are lost, which is written down and reported to every webhook.
    async fn lose(&mut self, behind: FeedPosition, error: &Error) -> Result<bool, ()> {
        let ledgers = Arc::clone(self.events.gateway().ledgers());
        let feed = tokio::task::spawn_blocking(move || {
            ledgers.feed().map(|feed| (feed.oldest(), FeedPosition::new(feed.newest(), feed.store())))
        });
        let Ok(Ok((oldest, newest))) = feed.await else { return Err(()) };
        let (position, first) = (behind.position, oldest.saturating_sub(1));
        // Of a feed that continues all that is kept is sent; one that begins anew has nothing that anybody waits for.
        let is_anew = newest.is_elsewhere(behind) || newest.position < position;
        let next = FeedPosition { position: if is_anew { newest.position } else { first }, ..newest };
        let written = self.events.gateway().state().write(move |tx| {
            let stored = reached::lock(tx)?;
            let has_moved = stored.position != position || stored.is_elsewhere(behind);
            let is_kept = (first..=newest.position).contains(&stored.position) && !stored.is_elsewhere(newest);
            if has_moved && is_kept {
                return Ok(false);
            }
            lost::record(tx, position)?;
            cursors::clear(tx)?;
            reached::set(tx, next)?;
            Ok(true)
        });
        let lost = written.await.map_err(|error| {
            self.recurring.met("the loss of events could not be written down", &error);
        })?;
        if lost {
            tracing::error!(
                error = causes(error),
                lost_behind = position,
                going_on_behind = next.position,
                "EVENTS WERE LOST: the events was away longer than the change feed is kept, or the store was made anew; \
                 every webhook is for_streams so by an event of the type events_lost"
            );
            self.events.wake_deliveries();
        } else {
            tracing::warn!(position, "another server followed the change feed meanwhile: going on where it is");
        }
        self.events.steps().clear();
        // Cursors of streams that lie before the gap would leave it out in silence.
        self.events.hub().end_all(super::stream::Ending::CursorExpired);
        self.follower = None;
        Ok(true)
    }

    /// Reads the webhooks where they changed, here or in another server.
    async fn read_webhooks(&mut self) -> Result<(), StateError> {
        if !self.events.webhooks_changed() && self.looked.elapsed() < CHANGES && self.webhooks.is_some() {
            return Ok(());
        }
        self.looked = tokio::time::Instant::now();
        let known = self.webhooks.clone();
        let read = self.events.gateway().read_state(move |tx| {
            // First: what changes behind it is read once more, and not missed.
            let fingerprint = endpoints::fingerprint(tx)?;
            let same = known.as_ref() == Some(&fingerprint);
            Ok((fingerprint, if same { None } else { Some(endpoints::watched(tx)?) }))
        });
        let (fingerprint, watched) = read.await?;
        if let Some(watched) = watched {
            let events = self.events.clone();
            let set = tokio::task::spawn_blocking(move || {
                let webhooks = restore(&events, watched);
                webhooks.map(|webhooks| events.hub().set_webhooks(webhooks))
            });
            match set.await {
                Ok(Ok(())) => self.webhooks = Some(fingerprint),
                Ok(Err(error)) => self.recurring.met("subscriptions could not be read", &error),
                Err(_) => tracing::error!("reading subscriptions panicked"),
            }
        }
        Ok(())
    }

    /// Commits what was found, however often it takes, and then sends it. Where it is asked to stop before, the next
    /// server finds it again.
    async fn commit(&mut self, found: Vec<StepEvents>, store: StoreId, stop: &mut watch::Receiver<bool>) {
        for part in parts(&found) {
            if !self.write_down(part, store, stop).await {
                return;
            }
        }
        let items: Vec<_> = found.iter().map(|step| (step.item, step.committed)).collect();
        let events = self.events.clone();
        let published = tokio::task::spawn_blocking(move || events.hub().publish(found)).await;
        let Ok(behind) = published else {
            tracing::error!("telling the streams panicked: all of them are ended, and none misses an event in silence");
            self.events.hub().end_all(super::stream::Ending::Overloaded);
            return;
        };
        for (item, committed) in items {
            self.published.add(&item, committed, self.events.gateway().metrics().chains());
        }
        for behind in behind {
            self.events.spawn(Replay::of(self.events.clone(), behind).run());
        }
    }

    /// Commits some of it; gives `false` where it is asked to stop before.
    async fn write_down(&mut self, found: &[StepEvents], store: StoreId, stop: &mut watch::Receiver<bool>) -> bool {
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return true };
        let steps = (first.position - 1, last.position);
        let reached = FeedPosition::new(last.position, store);
        let mut rows: Arc<[Row]> = found.iter().flat_map(rows_of).collect();
        let mut webhooks = self.webhooks.clone().map_or(Webhooks::Unknown, Webhooks::AsRead);
        let prune = self.pruned.elapsed() >= PRUNING;
        if prune {
            self.pruned = tokio::time::Instant::now();
        }
        loop {
            let (batch, known) = (Arc::clone(&rows), webhooks.clone());
            let write = move |tx: &mut Tx<'_>| {
                let written = write(tx, &batch, reached, &known)?;
                if prune {
                    cursors::prune(tx, now_ms())?;
                }
                Ok(written)
            };
            match self.events.gateway().state().write(write).await {
                Ok(WriteOutcome::Done) => break,
                // Webhooks that were made or changed before these steps, and that this server had not heard of.
                Ok(WriteOutcome::Stale) => match self.address_anew(found, steps).await {
                    Ok(addressed) => {
                        tracing::debug!(position = steps.1, "webhooks changed while events were made for them");
                        (webhooks, rows) = (Webhooks::ReadSince, addressed);
                        self.events.webhooks_have_changed();
                    }
                    Err(()) if waited(stop).await => {}
                    Err(()) => return false,
                },
                Err(error) => {
                    self.recurring.met("events could not be committed: they wait", &error);
                    if !waited(stop).await {
                        return false;
                    }
                }
            }
        }
        if rows.iter().any(|row| !row.webhooks.is_empty()) {
            self.events.wake_deliveries();
        }
        true
    }

    /// The rows of some steps for the webhooks as they are now.
    async fn address_anew(&self, found: &[StepEvents], (behind, until): (u64, u64)) -> Result<Arc<[Row]>, ()> {
        let watched = self.events.gateway().read_state(endpoints::watched).await.map_err(|error| {
            self.recurring.met("webhooks could not be read", &error);
        })?;
        let for_streams: Vec<Row> = found.iter().flat_map(rows_of).map(Row::without_webhooks).collect();
        let events = self.events.clone();
        let made = tokio::task::spawn_blocking(move || made_for(&events, watched, behind, until));
        match made.await {
            Ok(Ok(made)) => Ok(made.into_iter().chain(for_streams).collect()),
            Ok(Err(error)) => {
                self.recurring.met("events could not be made anew", &error);
                Err(())
            }
            Err(_) => {
                tracing::error!("making events anew panicked");
                Err(())
            }
        }
    }
}

/// Leaves a failure for a while; gives whether to continue then.
async fn waited(stop: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => false,
        () = tokio::time::sleep(AGAIN) => true,
    }
}

/// An event on its way into the state.
struct Row {
    id: String,
    kind: &'static str,
    position: u64,
    /// The body, where a webhook waits for it.
    body: Option<String>,
    webhooks: Vec<Arc<str>>,
}

impl Row {
    fn new(position: u64, event: &Event, webhooks: Vec<Arc<str>>) -> Self {
        let body = (!webhooks.is_empty()).then(|| event.body(None));
        Self { id: event.id.clone(), kind: event.event_type.name(), position, body, webhooks }
    }

    /// Returns the event for webhooks whose events of a step cannot be made.
    fn lost(position: u64, webhooks: Vec<Arc<str>>) -> Self {
        let (id, body) = lost::of_subscription(position, now_ms());
        Self { id, kind: LOST, position, body: Some(body), webhooks }
    }

    fn without_webhooks(self) -> Self {
        Self { body: None, webhooks: Vec::new(), ..self }
    }
}

fn rows_of(found: &StepEvents) -> Vec<Row> {
    let lost = (!found.lost.is_empty()).then(|| Row::lost(found.position, found.lost.clone()));
    let made = found.made.iter().map(|made| Row::new(found.position, &made.event, made.webhooks.clone()));
    made.chain(lost).collect()
}

/// Steps that are committed together: as many as make [`DELIVERIES`], and one at least.
fn parts(found: &[StepEvents]) -> Vec<&[StepEvents]> {
    let mut parts = Vec::new();
    let (mut begin, mut deliveries) = (0, 0);
    for (place, one) in found.iter().enumerate() {
        let more: usize = one.made.iter().map(|made| made.webhooks.len()).sum();
        if place > begin && deliveries + more > DELIVERIES {
            parts.push(&found[begin..place]);
            (begin, deliveries) = (place, 0);
        }
        deliveries += more;
    }
    parts.push(&found[begin..]);
    parts
}

/// Returns what some steps make for webhooks, whatever was made of them before.
fn made_for(
    events: &Events,
    watched: Vec<endpoints::WatchedWebhook>,
    behind: u64,
    until: u64,
) -> Result<Vec<Row>, Error> {
    let (mut steps, mut reached) = (Vec::<Arc<FeedStep>>::new(), behind);
    while reached < until {
        let read = events.steps().after(events.gateway().ledgers(), reached, STEPS)?;
        let Some(last) = read.last() else {
            let message = format!("the change feed ends at {reached}, and events were made up to {until}");
            return Err(Error::new(ErrorKind::Internal, message));
        };
        reached = last.position();
        steps.extend(read.into_iter().filter(|step| step.position() <= until));
    }
    let mut rows = Vec::new();
    for (webhook, subscription) in restore(events, watched)? {
        let mut watcher = Watcher::new(subscription, behind);
        for step in &steps {
            match watcher.advance(step) {
                Ok(made) => {
                    rows.extend(made.iter().map(|event| Row::new(step.position(), event, vec![Arc::clone(&webhook)])));
                }
                Err(error) if is_of_subscription(&error) => {
                    rows.push(Row::lost(step.position(), vec![Arc::clone(&webhook)]));
                    watcher = Watcher::new(watcher.subscription().clone(), step.position());
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(rows)
}

/// The webhooks that rows were made for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Webhooks {
    /// None were read.
    Unknown,
    /// As they were when they were read, which may have been long before the steps were found.
    AsRead(endpoints::Fingerprint),
    /// As they were at some moment after the steps were found. What changed behind that does not concern these steps, and
    /// is not looked at: however often webhooks change, events go out.
    ReadSince,
}

/// The outcome of writing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteOutcome {
    /// They are there, or another server wrote them.
    Done,
    /// The webhooks are others than those that the rows were made for, and nothing was written.
    Stale,
}

fn write(
    tx: &mut Tx<'_>,
    rows: &[Row],
    reached: FeedPosition,
    webhooks: &Webhooks,
) -> Result<WriteOutcome, StateError> {
    let now = now_ms();
    let stored = reached::lock(tx)?;
    if stored.is_elsewhere(reached) {
        // Another server follows the store that was made anew, as this one will when it looks at it next.
        return Ok(WriteOutcome::Done);
    }
    let is_first = stored.position < reached.position;
    if is_first {
        let is_known = match webhooks {
            Webhooks::Unknown => false,
            Webhooks::AsRead(fingerprint) => endpoints::fingerprint(tx)? == *fingerprint,
            Webhooks::ReadSince => true,
        };
        if !is_known {
            return Ok(WriteOutcome::Stale);
        }
        let existing = if rows.iter().any(|row| row.body.is_some()) { endpoints::ids(tx)? } else { BTreeSet::new() };
        let mut events: Vec<AddressedEvent<'_>> = Vec::new();
        for Row { id, kind, body, webhooks, .. } in rows {
            if let Some(body) = body {
                // One that was deleted meanwhile has nowhere to go.
                let webhooks = webhooks.iter().map(|id| &**id).filter(|id| existing.contains(*id)).collect();
                events.push(AddressedEvent { id, kind, body, webhooks });
            }
        }
        deliveries::add(tx, &events, now)?;
    }
    let events: Vec<(&str, u64)> = rows.iter().map(|row| (row.id.as_str(), row.position)).collect();
    cursors::add(tx, &events, now)?;
    if is_first {
        reached::set(tx, reached)?;
    }
    Ok(WriteOutcome::Done)
}

/// Takes the next steps and makes their events. Watchers that fail are tried again until they do not: what others made
/// of the step is kept meanwhile.
fn follow(events: &Events, mut follower: Follower) -> FollowResult {
    if let Err(error) = note_heads(events) {
        return (follower, Err(error));
    }
    let before = follower.position();
    let steps = match follower.next_steps(STEPS) {
        Ok(steps) => steps,
        Err(error) => return (follower, Err(error)),
    };
    events.steps().keep(&steps);
    let mut found: Vec<StepEvents> = Vec::with_capacity(steps.len());
    let mut made = 0;
    for step in &steps {
        match advance(events, step) {
            Ok(one) => {
                made += one.made.len();
                found.push(one);
            }
            // What is done is sent; the rest is read again.
            Err(_) if !found.is_empty() => break,
            Err(error) => {
                follower.go_back_to(before);
                return (follower, Err(error));
            }
        }
        if made >= EVENTS {
            break;
        }
    }
    follower.go_back_to(found.last().map_or(before, |one| one.position));
    (follower, Ok(found))
}

fn advance(events: &Events, step: &FeedStep) -> Result<StepEvents, Error> {
    events.hub().advance(step)
}

/// Informs the hub of the newest blocks.
fn note_heads(events: &Events) -> Result<(), Error> {
    let ledger = events.gateway().ledgers().current()?;
    Ok(events.hub().heads().update(&*ledger)?)
}

fn restore(events: &Events, watched: Vec<endpoints::WatchedWebhook>) -> Result<Vec<(Arc<str>, Subscription)>, Error> {
    let ledger = events.gateway().ledgers().current()?;
    let mut webhooks = Vec::with_capacity(watched.len());
    for endpoints::WatchedWebhook { id, event_type, filters } in watched {
        match Subscription::restore(&event_type, &filters, &*ledger) {
            Ok(subscription) => webhooks.push((id.into(), subscription)),
            // One that cannot be read must not stop the others.
            Err(error) => tracing::error!(error = causes(&error), webhook = id, "a webhook cannot be understood"),
        }
    }
    Ok(webhooks)
}

#[cfg(test)]
mod tests;
