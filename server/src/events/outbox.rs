//! Follows the change feed of the store and makes events of it. Events, their deliveries and the position that was
//! reached are committed together, and only then told to anybody, so that a crash loses none and a repetition adds none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::events::{FeedStep, Follower, Subscription};
use headwater_engine::{Error, ErrorKind, Reason};
use serde_json::json;
use tokio::sync::watch;

use super::cursors;
use super::stream::Found;
use super::webhook::{deliveries, endpoints};
use crate::gateway::{Gateway, causes};
use crate::state::{StateError, Tx, now_ms};

/// How often the feed is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Steps that are followed before they are committed.
const STEPS: usize = 16;
/// How long a failure is left before the next try.
const AGAIN: Duration = Duration::from_secs(1);
/// How often webhooks that another server changed are looked for.
const CHANGES: Duration = Duration::from_secs(1);
/// How often cursors that are too old are looked for.
const PRUNING: Duration = Duration::from_mins(1);
/// The name of the position.
const NAME: &str = "events";

/// The one task that makes events in a server.
pub(crate) struct Outbox {
    gateway: Gateway,
    follower: Option<Follower>,
    /// What the webhooks looked like when they were last read.
    webhooks: Option<endpoints::Fingerprint>,
    looked: tokio::time::Instant,
    pruned: tokio::time::Instant,
}

/// What came of following the feed for a while.
type Followed = (Follower, Result<Vec<Found>, Error>);

impl Outbox {
    pub fn new(gateway: Gateway) -> Self {
        let now = tokio::time::Instant::now();
        Self { gateway, follower: None, webhooks: None, looked: now, pruned: now }
    }

    /// Runs until it is told to stop.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let wait = match self.turn().await {
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
    async fn turn(&mut self) -> Result<bool, ()> {
        let follower = match self.follower.take() {
            Some(follower) => follower,
            None => self.begin().await?,
        };
        let position = follower.position();
        if let Err(error) = self.read_webhooks().await {
            tracing::error!(error = causes(&error), "webhooks could not be read");
            self.follower = Some(follower);
            return Err(());
        }
        let gateway = self.gateway.clone();
        let followed = tokio::task::spawn_blocking(move || follow(&gateway, follower)).await;
        let Ok((follower, found)) = followed else {
            tracing::error!(position, "making events panicked");
            // Begun anew from what was committed.
            return Err(());
        };
        match found {
            Ok(found) if found.is_empty() => {
                self.follower = Some(follower);
                Ok(false)
            }
            Ok(found) => {
                self.commit(found).await;
                self.follower = Some(follower);
                Ok(true)
            }
            Err(error)
                if matches!(error.kind, ErrorKind::InvalidInput(Reason::CursorExpired | Reason::InvalidValue)) =>
            {
                self.lose(position, &error).await
            }
            Err(error) => {
                tracing::error!(error = causes(&error), position, "the change feed could not be read");
                self.follower = Some(follower);
                Err(())
            }
        }
    }

    /// The position that was committed, or for the first time the newest there is: what was there before is history.
    async fn begin(&mut self) -> Result<Follower, ()> {
        let ledgers = Arc::clone(self.gateway.ledgers());
        let newest = tokio::task::spawn_blocking(move || ledgers.feed().map(|feed| feed.newest())).await;
        let newest = match newest {
            Ok(Ok(newest)) => newest,
            Ok(Err(error)) => {
                tracing::error!(error = causes(&error), "the change feed could not be read");
                return Err(());
            }
            Err(_) => return Err(()),
        };
        let position = self.gateway.state().write(move |tx| stored_position(tx, newest)).await.map_err(|error| {
            tracing::error!(error = causes(&error), "the position in the change feed could not be read");
        })?;
        self.webhooks = None;
        self.read_webhooks().await.map_err(|error| {
            tracing::error!(error = causes(&error), "webhooks could not be read");
        })?;
        self.gateway.events().hub().begin(position);
        Ok(Follower::new(Arc::clone(self.gateway.ledgers()), position))
    }

    /// The feed no longer holds what came next, or is another one than before: events are lost, which is written down.
    async fn lose(&mut self, position: u64, error: &Error) -> Result<bool, ()> {
        let ledgers = Arc::clone(self.gateway.ledgers());
        let feed = tokio::task::spawn_blocking(move || ledgers.feed().map(|feed| (feed.oldest(), feed.newest()))).await;
        let Ok(Ok((oldest, newest))) = feed else { return Err(()) };
        // Of a feed that goes on all that is kept is told; one that begins anew has nothing that anybody waits for.
        let next = if newest < position { newest } else { oldest.saturating_sub(1) };
        tracing::error!(
            error = causes(error),
            lost_behind = position,
            going_on_behind = next,
            "EVENTS WERE LOST: the gateway was away longer than the change feed is kept, or the store was made anew"
        );
        let written = self.gateway.state().write(move |tx| {
            mark_lost(tx, position)?;
            set_position(tx, next)
        });
        written.await.map_err(|error| {
            tracing::error!(error = causes(&error), "the loss of events could not be written down");
        })?;
        self.gateway.events().steps().clear();
        // Cursors of streams that lie before the gap would leave it out in silence.
        self.gateway.events().hub().end_all(super::stream::Ending::CursorExpired);
        self.follower = None;
        Ok(true)
    }

    /// Reads the webhooks where they changed, here or in another server.
    async fn read_webhooks(&mut self) -> Result<(), StateError> {
        if !self.gateway.events().webhooks_changed() && self.looked.elapsed() < CHANGES && self.webhooks.is_some() {
            return Ok(());
        }
        self.looked = tokio::time::Instant::now();
        let known = self.webhooks.clone();
        let read = self.gateway.read_state(move |tx| {
            let fingerprint = endpoints::fingerprint(tx)?;
            let same = known.as_ref() == Some(&fingerprint);
            Ok((fingerprint, if same { None } else { Some(endpoints::watched(tx)?) }))
        });
        let (fingerprint, watched) = read.await?;
        if let Some(watched) = watched {
            let gateway = self.gateway.clone();
            let set = tokio::task::spawn_blocking(move || {
                let webhooks = restore(&gateway, watched);
                webhooks.map(|webhooks| gateway.events().hub().set_webhooks(webhooks))
            });
            match set.await {
                Ok(Ok(())) => self.webhooks = Some(fingerprint),
                Ok(Err(error)) => tracing::error!(error = causes(&error), "subscriptions could not be read"),
                Err(_) => tracing::error!("reading subscriptions panicked"),
            }
        }
        Ok(())
    }

    /// Commits what was found, however often it takes, and then tells it.
    async fn commit(&mut self, found: Vec<Found>) {
        let Some(position) = found.last().map(|found| found.position) else { return };
        let rows: Arc<[Row]> = found.iter().flat_map(rows_of).collect();
        let prune = self.pruned.elapsed() >= PRUNING;
        if prune {
            self.pruned = tokio::time::Instant::now();
        }
        loop {
            let rows = Arc::clone(&rows);
            let write = move |tx: &mut Tx<'_>| {
                write(tx, &rows, position)?;
                if prune { cursors::prune(tx, now_ms()) } else { Ok(()) }
            };
            match self.gateway.state().write(write).await {
                Ok(()) => break,
                Err(error) => {
                    tracing::error!(error = causes(&error), position, "events could not be committed: they wait");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
        self.gateway.events().hub().publish(found);
        if rows.iter().any(|row| !row.webhooks.is_empty()) {
            self.gateway.events().wake_deliveries();
        }
    }
}

/// An event on its way into the state.
struct Row {
    id: String,
    kind: &'static str,
    position: u64,
    /// Where a webhook waits for it.
    body: Option<String>,
    webhooks: Vec<Arc<str>>,
}

fn rows_of(found: &Found) -> Vec<Row> {
    let position = found.position;
    let row = |made: &super::stream::Made| Row {
        id: made.event.id.clone(),
        kind: made.event.event_type.name(),
        position,
        body: (!made.webhooks.is_empty()).then(|| made.event.body(None)),
        webhooks: made.webhooks.clone(),
    };
    found.made.iter().map(row).collect()
}

fn write(tx: &mut Tx<'_>, rows: &[Row], position: u64) -> Result<(), StateError> {
    let now = now_ms();
    let existing: BTreeSet<String> = if rows.iter().any(|row| row.body.is_some()) {
        endpoints::watched(tx)?.into_iter().map(|webhook| webhook.id).collect()
    } else {
        BTreeSet::new()
    };
    for row in rows {
        if let Some(body) = &row.body {
            // One that was deleted meanwhile has nowhere to go.
            let webhooks = row.webhooks.iter().map(|id| &**id).filter(|id| existing.contains(*id));
            deliveries::add(tx, (&row.id, row.kind, body), webhooks, now)?;
        }
        cursors::add(tx, &row.id, row.position, now)?;
    }
    set_position(tx, position)
}

/// Takes the next steps and makes their events. Watchers that fail are tried again until they do not: what others made
/// of the step is kept meanwhile.
fn follow(gateway: &Gateway, mut follower: Follower) -> Followed {
    if let Err(error) = note_heads(gateway) {
        return (follower, Err(error));
    }
    let before = follower.position();
    let steps = match follower.next_steps(STEPS) {
        Ok(steps) => steps,
        Err(error) => return (follower, Err(error)),
    };
    gateway.events().steps().keep(&steps);
    let mut found = Vec::with_capacity(steps.len());
    for step in &steps {
        match advance(gateway, step) {
            Ok(one) => found.push(one),
            // What is done is told; the rest is read again.
            Err(_) if !found.is_empty() => break,
            Err(error) => return (Follower::new(Arc::clone(gateway.ledgers()), before), Err(error)),
        }
    }
    let reached = found.last().map_or(before, |one| one.position);
    let follower =
        if reached == follower.position() { follower } else { Follower::new(Arc::clone(gateway.ledgers()), reached) };
    (follower, Ok(found))
}

fn advance(gateway: &Gateway, step: &FeedStep) -> Result<Found, Error> {
    gateway.events().hub().advance(step)
}

/// Tells the hub how far each chain reaches.
fn note_heads(gateway: &Gateway) -> Result<(), Error> {
    let ledger = gateway.ledgers().current()?;
    let heads: serde_json::Map<String, serde_json::Value> = ledger
        .coverage()
        .iter()
        .filter_map(|(chain, coverage)| Some((chain.name().to_owned(), json!(coverage.last_block?))))
        .collect();
    gateway.events().hub().set_heads(serde_json::Value::Object(heads).to_string());
    Ok(())
}

fn restore(gateway: &Gateway, watched: Vec<endpoints::Watched>) -> Result<Vec<(Arc<str>, Subscription)>, Error> {
    let ledger = gateway.ledgers().current()?;
    let mut webhooks = Vec::with_capacity(watched.len());
    for endpoints::Watched { id, event_type, filters } in watched {
        match Subscription::restore(&event_type, &filters, &*ledger) {
            Ok(subscription) => webhooks.push((id.into(), subscription)),
            // One that cannot be read must not stop the others.
            Err(error) => tracing::error!(error = causes(&error), webhook = id, "a webhook cannot be understood"),
        }
    }
    Ok(webhooks)
}

fn stored_position(tx: &mut Tx<'_>, newest: u64) -> Result<u64, StateError> {
    let number = i64::try_from(newest).unwrap_or(i64::MAX);
    tx.execute(
        "INSERT INTO outbox_position (name, position, generation) VALUES (?1, ?2, 0) ON CONFLICT (name) DO NOTHING",
        &[NAME.into(), number.into()],
    )?;
    let row = tx.row("SELECT position FROM outbox_position WHERE name = ?1", &[NAME.into()])?;
    let position = row.map_or(Ok(number), |row| row.int(0))?;
    Ok(u64::try_from(position).unwrap_or(0))
}

fn set_position(tx: &mut Tx<'_>, position: u64) -> Result<(), StateError> {
    let position = i64::try_from(position).unwrap_or(i64::MAX);
    tx.execute("UPDATE outbox_position SET position = ?2 WHERE name = ?1", &[NAME.into(), position.into()])?;
    Ok(())
}

/// Writes down behind which position events are missing.
fn mark_lost(tx: &mut Tx<'_>, position: u64) -> Result<(), StateError> {
    let position = i64::try_from(position).unwrap_or(i64::MAX);
    let name = format!("lost:{}", now_ms());
    tx.execute(
        "INSERT INTO outbox_position (name, position, generation) VALUES (?1, ?2, 0) ON CONFLICT (name) DO NOTHING",
        &[name.as_str().into(), position.into()],
    )?;
    Ok(())
}
