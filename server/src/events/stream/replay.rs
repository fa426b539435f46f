//! Sends a subscription what it missed, by reading the feed again: the same feed makes the same events.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_engine::events::{Event, FeedStep, Subscription, Watcher};
use headwater_engine::{Error, ErrorKind};
use headwater_state::{StateError, Tx, causes, now_ms};

use super::hub::{LaggingListener, Listener, is_of_subscription};
use super::protocol::{self, Ending};
use crate::events::Events;
use crate::events::cursors;

/// Steps that are read at a time.
const STEPS: usize = 32;
/// Events that are held at a time, unless a single step makes more.
const EVENTS: usize = 256;
/// The delay after a failed read before the next try.
const AGAIN: Duration = Duration::from_secs(1);
/// Failed reads in a row that a replay bears.
const FAILURES: u32 = 10;

/// The place where the events of a subscription begin: behind a position, or behind an event at it.
#[derive(Debug, Clone)]
pub(super) struct StartPosition {
    /// All behind this position.
    pub position: u64,
    /// And at it what came behind this event.
    pub event: Option<String>,
}

/// The position of one that came before events were made: it receives all that are.
pub(super) const FROM_THE_FIRST: u64 = u64::MAX;

impl StartPosition {
    /// The same, where events are made from a position on.
    pub fn known(self, from: u64) -> Self {
        if self.position == FROM_THE_FIRST { Self { position: from, ..self } } else { self }
    }
}

/// Events that the subscription received already.
#[derive(Debug, Clone)]
pub(super) struct DeliveredRange {
    pub since: StartPosition,
    /// Up to this position.
    pub until: u64,
}

/// The scope that resumes behind an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResumeScope {
    /// One subscription, which received it: later than others where it waits for confirmations.
    OfSubscription,
    /// All of a connection, where another subscription may have received it first.
    OfConnection,
}

/// A subscription on its way from an event to now.
pub(crate) struct Replay {
    pub(super) events: Events,
    pub(super) subscription: Subscription,
    pub(super) listener: Listener,
    /// The event it continues behind.
    pub(super) after: String,
    /// The position of that event.
    pub(super) position: u64,
    /// The scope whose place in the feed that is.
    pub(super) place: ResumeScope,
    pub(super) delivered: Option<DeliveredRange>,
    /// True if the subscription receives that event itself.
    pub(super) is_known: bool,
    /// Set once all has been sent.
    pub(super) since: Arc<OnceLock<StartPosition>>,
}

impl Replay {
    /// The replay of a listener that received only some of a long burst.
    pub fn of(events: Events, behind: LaggingListener) -> Self {
        let LaggingListener { listener, subscription, position, after } = behind;
        let (after, since, place) = (after.unwrap_or_default(), Arc::default(), ResumeScope::OfConnection);
        Self { events, subscription, listener, after, position, place, delivered: None, is_known: false, since }
    }

    /// Runs until the subscription listens like others, or is over.
    pub async fn run(mut self) {
        if self.place == ResumeScope::OfSubscription {
            self.position = self.own_position().await;
        }
        let mut published = self.events.hub().published();
        let mut watcher = Watcher::new(self.subscription.clone(), self.position.saturating_sub(1));
        let mut reached = self.position.saturating_sub(1);
        let mut failures = 0;
        while self.is_wanted() {
            let limit = *published.borrow_and_update();
            if reached >= limit {
                // Whoever joins receives whole steps: not before that of the event, which another replica may have sent
                // first.
                if reached >= self.position && self.join(reached).await {
                    return;
                }
                // Something new is on its way, or a step has been made that is not sent yet.
                let _ = tokio::time::timeout(AGAIN, published.changed()).await;
                continue;
            }
            // However many subscriptions of a connection go back, one of them holds events that wait for the client.
            let link = Arc::clone(&self.listener.link);
            let turn = link.turn.lock().await;
            if !self.is_wanted() {
                return;
            }
            let made;
            (watcher, made) = self.advance(watcher, reached, limit).await;
            match made {
                Ok((events, position)) => {
                    failures = 0;
                    reached = position;
                    if let Err(error) = self.note(&events).await {
                        tracing::error!(error = causes(&error), "events of a replay could not be written down");
                        self.listener.link.end(Ending::Overloaded);
                        return;
                    }
                    if !self.send(events).await {
                        return;
                    }
                }
                Err(error) if is_of_subscription(&error) => {
                    self.listener.link.end(Ending::CursorExpired);
                    return;
                }
                Err(error) => {
                    failures += 1;
                    tracing::error!(error = causes(&error), failures, "the feed could not be read for a replay");
                    if failures >= FAILURES {
                        self.listener.link.end(Ending::Overloaded);
                        return;
                    }
                    drop(turn);
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    /// Returns where this subscription receives the event; where it receives others only, where that was.
    async fn own_position(&self) -> u64 {
        let mut reached = self.position.saturating_sub(1);
        let mut watcher = Watcher::new(self.subscription.clone(), reached);
        while self.subscription.waits() && self.is_wanted() {
            let made;
            // To the end of the feed: another replica may have sent more of it than this one has.
            (watcher, made) = self.advance(watcher, reached, u64::MAX).await;
            // What cannot be read is reported where it is sent.
            let Ok((events, position)) = made else { break };
            if let Some((own, _)) = events.iter().find(|(_, event)| event.id == self.after) {
                return *own;
            }
            if position == reached {
                break;
            }
            reached = position;
        }
        self.position
    }

    fn is_wanted(&self) -> bool {
        self.listener.is_there()
    }

    /// Reads some steps and makes their events; gives them and the position that was reached.
    async fn advance(
        &self,
        mut watcher: Watcher,
        reached: u64,
        limit: u64,
    ) -> (Watcher, Result<(Vec<(u64, Event)>, u64), Error>) {
        let events = self.events.clone();
        let fallback = Watcher::new(self.subscription.clone(), reached);
        let _permit = events.hub().replays.acquire().await.expect("the semaphore is never closed");
        let work = events.clone();
        let done = tokio::task::spawn_blocking(move || {
            let made = work
                .steps()
                .after(work.gateway().ledgers(), reached, STEPS)
                .and_then(|steps| advance(&mut watcher, &steps, limit, reached));
            (watcher, made)
        });
        done.await.unwrap_or_else(|_| (fallback, Err(Error::new(ErrorKind::Internal, "a replay panicked"))))
    }

    /// Records the positions of events before they are sent, so that the client can continue behind each of them: nobody
    /// else may have received them.
    async fn note(&self, events: &[(u64, Event)]) -> Result<(), StateError> {
        if events.is_empty() {
            return Ok(());
        }
        let rows: Vec<(String, u64)> = events.iter().map(|(position, event)| (event.id.clone(), *position)).collect();
        let add = move |tx: &mut Tx<'_>| {
            let events: Vec<(&str, u64)> = rows.iter().map(|(event, position)| (event.as_str(), *position)).collect();
            cursors::add(tx, &events, now_ms())
        };
        self.events.gateway().state().write(add).await
    }

    /// Puts events into the queue as there is room; gives `false` when the connection is over.
    async fn send(&mut self, events: Vec<(u64, Event)>) -> bool {
        // What came up to the event at its own position is known to the client.
        let known = events.iter().position(|(position, event)| *position == self.position && event.id == self.after);
        self.is_known |= known.is_some();
        let sent_from = self.delivered.as_ref().and_then(|DeliveredRange { since, .. }| {
            let is_it = |(position, event): &(u64, Event)| {
                *position == since.position && since.event.as_ref() == Some(&event.id)
            };
            events.iter().position(is_it)
        });
        let is_sent = |place: usize, position: u64| {
            self.delivered.as_ref().is_some_and(|DeliveredRange { since, until }| {
                position <= *until
                    && (position > since.position
                        || position == since.position && sent_from.is_some_and(|from| place > from))
            })
        };
        for (place, (position, event)) in events.into_iter().enumerate().skip(known.map_or(0, |place| place + 1)) {
            if is_sent(place, position) {
                continue;
            }
            let message = protocol::event(&self.listener.subscription, event.seq, &event.body(None));
            if !self.is_wanted() || !self.listener.link.push_slowly(message.into()).await {
                return false;
            }
        }
        true
    }

    async fn join(&self, reached: u64) -> bool {
        let (events, subscription, listener) = (self.events.clone(), self.subscription.clone(), self.listener.clone());
        let joined = tokio::task::spawn_blocking(move || events.hub().join_at(reached, subscription, listener));
        let joined = joined.await.unwrap_or(false);
        if joined {
            let from_here = if self.is_known {
                StartPosition { position: self.position, event: Some(self.after.clone()) }
            } else {
                StartPosition { position: self.position.saturating_sub(1), event: None }
            };
            // What was sent before reaches back further where this replay continued behind it.
            let earlier = self.delivered.as_ref().map(|delivered| delivered.since.clone());
            let since = earlier.filter(|since| since.position < from_here.position).unwrap_or(from_here);
            // Set once: a replay joins once.
            let _ = self.since.set(since);
        }
        joined
    }
}

/// A step that fails is tried again with the ones behind it; what the ones before it made is kept.
fn advance(
    watcher: &mut Watcher,
    steps: &[Arc<FeedStep>],
    limit: u64,
    reached: u64,
) -> Result<(Vec<(u64, Event)>, u64), Error> {
    let (mut events, mut position) = (Vec::new(), reached);
    for step in steps.iter().filter(|step| step.position() <= limit) {
        match watcher.advance(step) {
            Ok(made) => {
                position = step.position();
                events.extend(made.into_iter().map(|event| (position, event)));
                if events.len() >= EVENTS {
                    break;
                }
            }
            Err(error) if position == reached => return Err(error),
            Err(_) => break,
        }
    }
    Ok((events, position))
}
