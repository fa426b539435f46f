//! Tells a subscription what it missed, by reading the feed again: the same feed makes the same events.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use headwater_engine::events::{Event, FeedStep, Subscription, Watcher};
use headwater_engine::{Error, ErrorKind, Reason};

use super::hub::Listener;
use super::protocol::{self, Ending};
use crate::events::cursors;
use crate::gateway::{Gateway, causes};
use crate::state::{StateError, Tx, now_ms};

/// Steps that are read at a time.
const STEPS: usize = 32;
/// How long a failed read is left before the next try.
const AGAIN: Duration = Duration::from_secs(1);
/// Failed reads in a row that a replay bears.
const FAILURES: u32 = 10;

/// Positions that the subscription was told of already.
#[derive(Debug, Clone, Copy)]
pub(super) struct Skipped {
    /// All behind this one.
    pub behind: u64,
    /// Up to this one.
    pub until: u64,
}

/// A subscription on its way from an event to now.
pub(super) struct Replay {
    pub gateway: Gateway,
    pub subscription: Subscription,
    pub listener: Listener,
    /// The event it goes on behind.
    pub after: String,
    /// Where that event stood.
    pub position: u64,
    pub told: Option<Skipped>,
}

impl Replay {
    /// Runs until the subscription listens like others, or is over.
    pub async fn run(self) {
        let mut published = self.gateway.events().hub().published();
        let mut watcher = Watcher::new(self.subscription.clone(), self.position.saturating_sub(1));
        let mut reached = self.position.saturating_sub(1);
        let mut failures = 0;
        while self.is_wanted() {
            let limit = *published.borrow_and_update();
            if reached >= limit {
                if self.join(reached).await {
                    return;
                }
                // Something new is on its way, or a step has been made that is not told yet.
                let _ = tokio::time::timeout(AGAIN, published.changed()).await;
                continue;
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
                    if !self.tell(events).await {
                        return;
                    }
                }
                Err(error) if error.kind == ErrorKind::InvalidInput(Reason::CursorExpired) => {
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
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    fn is_wanted(&self) -> bool {
        self.listener.live.load(Ordering::Acquire) && self.listener.link.ending().is_none()
    }

    /// Reads some steps and makes their events; gives them and the position that was reached.
    async fn advance(
        &self,
        mut watcher: Watcher,
        reached: u64,
        limit: u64,
    ) -> (Watcher, Result<(Vec<(u64, Event)>, u64), Error>) {
        let gateway = self.gateway.clone();
        let fallback = Watcher::new(self.subscription.clone(), reached);
        let _permit = gateway.events().hub().replays.acquire().await.expect("the semaphore is never closed");
        let work = gateway.clone();
        let done = tokio::task::spawn_blocking(move || {
            let made = work
                .events()
                .steps()
                .after(work.ledgers(), reached, STEPS)
                .and_then(|steps| advance(&mut watcher, &steps, limit, reached));
            (watcher, made)
        });
        done.await.unwrap_or_else(|_| (fallback, Err(Error::new(ErrorKind::Internal, "a replay panicked"))))
    }

    /// Remembers where the events stood before they are told, so that the client can go on behind each of them: nobody
    /// else may have been told of them.
    async fn note(&self, events: &[(u64, Event)]) -> Result<(), StateError> {
        if events.is_empty() {
            return Ok(());
        }
        let rows: Vec<(String, u64)> = events.iter().map(|(position, event)| (event.id.clone(), *position)).collect();
        let add = move |tx: &mut Tx<'_>| {
            let events: Vec<(&str, u64)> = rows.iter().map(|(event, position)| (event.as_str(), *position)).collect();
            cursors::add(tx, &events, now_ms())
        };
        self.gateway.state().write(add).await
    }

    /// Puts events into the queue as there is room; gives `false` when the connection is over.
    async fn tell(&self, events: Vec<(u64, Event)>) -> bool {
        // What came up to the event at its own position is known to the client.
        let known = events.iter().position(|(position, event)| *position == self.position && event.id == self.after);
        for (position, event) in events.into_iter().skip(known.map_or(0, |place| place + 1)) {
            if self.told.is_some_and(|told| position > told.behind && position <= told.until) {
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
        let (gateway, subscription, listener) =
            (self.gateway.clone(), self.subscription.clone(), self.listener.clone());
        let joined =
            tokio::task::spawn_blocking(move || gateway.events().hub().join_at(reached, subscription, listener));
        joined.await.unwrap_or(false)
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
            }
            Err(error) if position == reached => return Err(error),
            Err(_) => break,
        }
    }
    Ok((events, position))
}
