//! What one client asks of its stream.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_engine::events::Subscription;
use headwater_engine::{Error, ErrorKind, Warning};
use serde_json::Value;

use super::hub::Listener;
use super::link::Link;
use super::protocol::{self, ADDRESSES, Ending, Refused, Request, SUBSCRIPTIONS};
use super::replay::{Replay, Skipped};
use crate::events::Events;
use crate::gateway::{Gateway, causes};
use crate::state::Caller;

/// The subscriptions of a connection.
pub(super) struct Dialogue {
    gateway: Gateway,
    link: Arc<Link>,
    connection_id: String,
    /// Who listens; `None` where no key is asked for.
    caller: Option<Caller>,
    subscriptions: HashMap<Arc<str>, Held>,
    /// Where subscriptions to come begin: a `resume` that came before them.
    after: Option<String>,
    made: u64,
}

struct Held {
    subscription: Subscription,
    listener: Listener,
    /// Position at which it began to listen; `None` while what it missed is being told.
    since: Option<u64>,
}

impl Dialogue {
    pub fn new(gateway: Gateway, link: Arc<Link>, connection_id: String, caller: Option<Caller>) -> Self {
        Self { gateway, link, connection_id, caller, subscriptions: HashMap::new(), after: None, made: 0 }
    }

    /// What it talks for.
    pub const fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Takes a message.
    pub async fn hear(&mut self, text: &str) -> Result<(), Ending> {
        match Request::parse(text) {
            Ok(Request::Subscribe { id, event_type, filters, after }) => {
                self.subscribe(&id, event_type, filters, after).await?;
            }
            Ok(Request::Unsubscribe { id, subscription }) => self.unsubscribe(&id, &subscription).await,
            Ok(Request::Resume { after }) => self.resume(after).await?,
            Ok(Request::Ping { id }) => self.link.push(protocol::pong(&id).into()),
            Ok(Request::Auth(_)) => self.refuse(None, "the connection knows already who this is"),
            Err(Refused { id, message }) => self.refuse(id.as_deref(), &message),
        }
        Ok(())
    }

    /// Says that a message could not be followed.
    pub fn refuse(&self, id: Option<&str>, message: &str) {
        self.link.push(protocol::error(id, "bad_request", message).into());
    }

    async fn subscribe(
        &mut self,
        id: &str,
        event_type: String,
        filters: Value,
        after: Option<String>,
    ) -> Result<(), Ending> {
        if self.subscriptions.len() >= SUBSCRIPTIONS {
            self.refuse(Some(id), &format!("a connection has at most {SUBSCRIPTIONS} subscriptions"));
            return Ok(());
        }
        let (subscription, warnings) = match self.read(event_type, filters).await {
            Ok(read) => read,
            Err(error) => {
                self.link.push(protocol::refusal(id, &self.connection_id, &error).into());
                return Ok(());
            }
        };
        if let Err(problem) = self.gateway.check_watched(self.caller.as_ref(), &subscription.to_json()) {
            self.link.push(protocol::error(Some(id), problem.status.code(), &problem.message).into());
            return Ok(());
        }
        if subscription.address_count() > ADDRESSES {
            let message = format!("filters.addresses: a stream's subscription names at most {ADDRESSES} addresses");
            self.refuse(Some(id), &message);
            return Ok(());
        }
        let after = after.or_else(|| self.after.clone());
        let cursor = match &after {
            Some(after) => Some((after.clone(), self.position_of(after).await?)),
            None => None,
        };
        let name: Arc<str> = format!("sub_{}", uuid::Uuid::now_v7().simple()).into();
        self.made += 1;
        let listener = Listener {
            link: Arc::clone(&self.link),
            subscription: Arc::clone(&name),
            order: self.made,
            live: Arc::new(AtomicBool::new(true)),
        };
        let greeting = protocol::subscribed(id, &name, &warnings);
        let since = match cursor {
            Some((after, position)) => {
                self.link.push(greeting.into());
                self.replay(subscription.clone(), listener.clone(), after, position, None);
                None
            }
            None => Some(self.join(subscription.clone(), listener.clone(), greeting).await?),
        };
        self.subscriptions.insert(name, Held { subscription, listener, since });
        Ok(())
    }

    async fn unsubscribe(&mut self, id: &str, name: &str) {
        match self.subscriptions.remove(name) {
            Some(held) => {
                held.listener.live.store(false, Ordering::Release);
                self.sweep().await;
                self.link.push(protocol::unsubscribed(id, name).into());
            }
            None => self.refuse(Some(id), &format!("subscription: there is no {name:?} on this connection")),
        }
    }

    /// Goes back to an event: subscriptions that are there are told what came after it, but for what they were told
    /// already; those to come begin there.
    async fn resume(&mut self, after: String) -> Result<(), Ending> {
        let position = self.position_of(&after).await?;
        let waiting: Vec<Arc<str>> = self
            .subscriptions
            .iter()
            .filter(|(_, held)| held.since.is_some())
            .map(|(name, _)| Arc::clone(name))
            .collect();
        for name in &waiting {
            self.subscriptions[name].listener.live.store(false, Ordering::Release);
        }
        let now = self.sweep().await;
        for name in waiting {
            let Some(held) = self.subscriptions.get_mut(&name) else { continue };
            let told = held.since.take().map(|since| Skipped { behind: since, until: now });
            held.listener.live = Arc::new(AtomicBool::new(true));
            let (subscription, listener) = (held.subscription.clone(), held.listener.clone());
            self.replay(subscription, listener, after.clone(), position, told);
        }
        self.after = Some(after);
        Ok(())
    }

    fn replay(
        &self,
        subscription: Subscription,
        listener: Listener,
        after: String,
        position: u64,
        told: Option<Skipped>,
    ) {
        let replay = Replay { gateway: self.gateway.clone(), subscription, listener, after, position, told };
        self.gateway.events().spawn(replay.run());
    }

    /// Where an event stood in the feed.
    async fn position_of(&self, event: &str) -> Result<u64, Ending> {
        let name = event.to_owned();
        match self.blocking(move |gateway| Events::cursor(gateway.state(), &name)).await {
            Some(Ok(position)) => position.ok_or(Ending::CursorExpired),
            None => Err(Ending::Overloaded),
            Some(Err(error)) => {
                tracing::error!(
                    connection_id = self.connection_id,
                    error = causes(&error),
                    "a cursor could not be read"
                );
                Err(Ending::Overloaded)
            }
        }
    }

    async fn read(&self, event_type: String, filters: Value) -> Result<(Subscription, Vec<Warning>), Error> {
        self.blocking(move |gateway| {
            let ledger = gateway.ledgers().current()?;
            Subscription::parse(&event_type, &filters, &*ledger)
        })
        .await
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a subscription could not be read")))
    }

    async fn join(&self, subscription: Subscription, listener: Listener, greeting: String) -> Result<u64, Ending> {
        self.blocking(move |gateway| gateway.events().hub().join(subscription, listener, greeting))
            .await
            .ok_or(Ending::Overloaded)
    }

    async fn sweep(&self) -> u64 {
        self.blocking(|gateway| gateway.events().hub().sweep()).await.unwrap_or(0)
    }

    /// Does what may wait for the store or for the hub, on a thread that may block; `None` when it panicked.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(&Gateway) -> T + Send + 'static) -> Option<T> {
        let gateway = self.gateway.clone();
        tokio::task::spawn_blocking(move || work(&gateway)).await.ok()
    }

    /// The connection is over.
    pub async fn end(&mut self) {
        for held in self.subscriptions.values() {
            held.listener.live.store(false, Ordering::Release);
        }
        if !self.subscriptions.is_empty() {
            self.sweep().await;
        }
    }
}
