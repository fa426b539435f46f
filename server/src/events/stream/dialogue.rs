//! The dialogue with one client about its stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use headwater_engine::events::Subscription;
use headwater_engine::{Error, ErrorKind, Warning};
use headwater_state::{Caller, causes};
use serde_json::Value;

use super::hub::Listener;
use super::link::Link;
use super::protocol::{self, ADDRESSES, Ending, RejectedMessage, Request, SUBSCRIPTIONS};
use super::replay::{DeliveredRange, FROM_THE_FIRST, Replay, ResumeScope, StartPosition};
use crate::events::Events;

/// The subscriptions of a connection.
pub(super) struct Dialogue {
    events: Events,
    link: Arc<Link>,
    connection_id: String,
    /// The caller who listens; `None` where no key is asked for.
    caller: Option<Caller>,
    subscriptions: HashMap<Arc<str>, SubscriptionState>,
    /// The event behind which subscriptions to come begin: a `resume` that came before them.
    after: Option<String>,
    made: u64,
}

struct SubscriptionState {
    subscription: Subscription,
    listener: Listener,
    /// The position where its events begin; empty while missed events are being sent.
    since: Arc<OnceLock<StartPosition>>,
}

/// An event to continue behind.
struct Cursor {
    after: String,
    /// The position in the feed.
    position: u64,
    place: ResumeScope,
}

impl Dialogue {
    pub fn new(events: Events, link: Arc<Link>, connection_id: String, caller: Option<Caller>) -> Self {
        Self { events, link, connection_id, caller, subscriptions: HashMap::new(), after: None, made: 0 }
    }

    /// Returns the events that it serves.
    pub const fn events(&self) -> &Events {
        &self.events
    }

    /// Takes a message.
    pub async fn hear(&mut self, text: &str) -> Result<(), Ending> {
        match Request::parse(text) {
            Ok(Request::Subscribe { id, event_type, filters, after }) => {
                self.subscribe(&id, (event_type, filters), after).await?;
            }
            Ok(Request::Unsubscribe { id, subscription }) => self.unsubscribe(&id, &subscription).await,
            Ok(Request::Resume { id, after }) => self.resume(&id, after).await?,
            Ok(Request::Ping { id }) => self.link.push(protocol::pong(&id).into()),
            Ok(Request::Auth(_)) => self.refuse(None, "the connection knows already who this is"),
            Err(RejectedMessage { id, message }) => self.refuse(id.as_deref(), &message),
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
        (event_type, filters): (String, Value),
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
        if let Err(problem) = self.events.gateway().check_watched(self.caller.as_ref(), &subscription.to_json()) {
            self.link.push(protocol::error(Some(id), problem.status.code(), &problem.message).into());
            return Ok(());
        }
        if subscription.address_count() > ADDRESSES {
            let message = format!("filters.addresses: a stream's subscription names at most {ADDRESSES} addresses");
            self.refuse(Some(id), &message);
            return Ok(());
        }
        let after = match (after, &self.after) {
            (Some(own), _) => Some((own, ResumeScope::OfSubscription)),
            (None, Some(after)) => Some((after.clone(), ResumeScope::OfConnection)),
            (None, None) => None,
        };
        let cursor = match after {
            Some((after, place)) => {
                let position = self.position_of(&after).await?;
                Some(Cursor { after, position, place })
            }
            None => None,
        };
        let name: Arc<str> = format!("sub_{}", uuid::Uuid::now_v7().simple()).into();
        self.made += 1;
        let listener = Listener {
            link: Arc::clone(&self.link),
            subscription: Arc::clone(&name),
            order: self.made,
            live: Arc::new(AtomicBool::new(true)),
            behind: Arc::new(AtomicBool::new(false)),
        };
        let greeting = protocol::subscribed(id, &name, &warnings);
        let held =
            SubscriptionState { subscription: subscription.clone(), listener: listener.clone(), since: Arc::default() };
        let since = Arc::clone(&held.since);
        if let Some(cursor) = cursor {
            self.link.push(greeting.into());
            self.replay(&held, cursor, None);
            self.subscriptions.insert(name, held);
            return Ok(());
        }
        // Held before it listens: where the connection is over meanwhile, `end` reports it.
        self.subscriptions.insert(name, held);
        let position = self.join(subscription, listener, greeting).await?.unwrap_or(FROM_THE_FIRST);
        // Set once: nothing else was asked of this subscription yet.
        let _ = since.set(StartPosition { position, event: None });
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

    /// Goes back to an event: subscriptions that are there receive what came after it, but for what they received
    /// already; those to come begin there.
    async fn resume(&mut self, id: &str, after: String) -> Result<(), Ending> {
        let position = self.position_of(&after).await?;
        let names: Vec<Arc<str>> = self.subscriptions.keys().map(Arc::clone).collect();
        let asked = names.clone();
        let Some((left, made)) = self.blocking(move |events| events.hub().leave(&asked)).await else {
            return Err(Ending::Overloaded);
        };
        for name in names {
            let Some(held) = self.subscriptions.get_mut(&name) else { continue };
            if !left.contains(&name) {
                let message =
                    format!("{name} is still being told what came after an earlier event: resume again after that");
                self.refuse(Some(id), &message);
                continue;
            }
            let since = std::mem::take(&mut held.since);
            let delivered = since.get().cloned().zip(made);
            let delivered = delivered.map(|(since, (from, until))| DeliveredRange { since: since.known(from), until });
            let cursor = Cursor { after: after.clone(), position, place: ResumeScope::OfConnection };
            self.replay(&self.subscriptions[&name], cursor, delivered);
        }
        self.after = Some(after);
        Ok(())
    }

    fn replay(&self, held: &SubscriptionState, cursor: Cursor, delivered: Option<DeliveredRange>) {
        let Cursor { after, position, place } = cursor;
        let replay = Replay {
            events: self.events.clone(),
            subscription: held.subscription.clone(),
            listener: held.listener.clone(),
            after,
            position,
            place,
            delivered,
            is_known: false,
            since: Arc::clone(&held.since),
        };
        self.events.spawn(replay.run());
    }

    /// Returns where an event was in the feed.
    async fn position_of(&self, event: &str) -> Result<u64, Ending> {
        let name = event.to_owned();
        match self.blocking(move |events| Events::cursor(events.gateway().state(), &name)).await {
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
        self.blocking(move |events| {
            let ledger = events.gateway().ledgers().current()?;
            Subscription::parse(&event_type, &filters, &*ledger)
        })
        .await
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Internal, "a subscription could not be read")))
    }

    async fn join(
        &self,
        subscription: Subscription,
        listener: Listener,
        greeting: String,
    ) -> Result<Option<u64>, Ending> {
        self.blocking(move |events| events.hub().join(subscription, listener, greeting)).await.ok_or(Ending::Overloaded)
    }

    async fn sweep(&self) {
        // Where it panics, listeners that want no more receive nothing all the same.
        let _ = self.blocking(|events| events.hub().sweep()).await;
    }

    /// Does what may wait for the store or for the hub, on a thread that may block; `None` when it panicked.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce(&Events) -> T + Send + 'static) -> Option<T> {
        let events = self.events.clone();
        tokio::task::spawn_blocking(move || work(&events)).await.ok()
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

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use headwater_engine::events::{FeedStep, Watcher};
    use headwater_ledger::store::Writer;
    use headwater_ledger::{Cancel, Store};
    use headwater_testkit::{Chainlet, address};
    use headwater_types::Chain;
    use serde_json::json;
    use tokio::sync::oneshot;
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::events::EventSettings;
    use crate::events::cursors;
    use crate::gateway::{Gateway, Settings};
    use headwater_state::{Home, Options, State};

    const SUBSCRIBE: &str = r#"{"action": "subscribe", "id": "1", "event_type": "large_transfer", "filters": {}}"#;

    fn events(place: &std::path::Path) -> Events {
        drop(Writer::open_or_create(place.join("demo")).unwrap());
        let ledgers = Arc::new(Store::open(place.join("demo")).unwrap());
        let home = Home::in_folder(&place.join("state")).unwrap();
        let state = State::start(&home, Options::default(), Box::new(|| {})).unwrap();
        Events::new(Gateway::new(ledgers, state, Settings::default()), EventSettings::default())
    }

    #[test]
    fn connection_that_ends_while_subscribing_leaves_no_listener() {
        let place = tempfile::tempdir().unwrap();
        let events = events(place.path());
        // One thread that may block: what is put on it is done in order.
        let runtime =
            tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let mut dialogue = Dialogue::new(events.clone(), Arc::default(), "c".to_owned(), None);
            // Holds the thread from when it begins until it may continue.
            let gate = || {
                let ((started, begun), (go_on, held)) = (oneshot::channel(), oneshot::channel::<()>());
                spawn_blocking(move || (started.send(()), held.blocking_recv()));
                (begun, go_on)
            };
            let (_, go_on) = gate();
            let mut hearing = Box::pin(dialogue.hear(SUBSCRIBE));
            assert!(poll!(&mut hearing).is_pending());
            let (begun, put_on) = gate();
            go_on.send(()).unwrap();
            begun.await.unwrap();
            // The filters are read; now it waits to be put on the board, and is broken off.
            assert!(poll!(&mut hearing).is_pending());
            drop(hearing);
            tokio::join!(dialogue.end(), async { put_on.send(()).unwrap() });
            spawn_blocking(|| ()).await.unwrap();
            assert_eq!(events.hub().listening(), 0);
            // One that is not broken off does listen.
            let mut dialogue = Dialogue::new(events.clone(), Arc::default(), "d".to_owned(), None);
            dialogue.hear(SUBSCRIBE).await.unwrap();
            assert_eq!(events.hub().listening(), 1);
            dialogue.end().await;
            assert_eq!(events.hub().listening(), 0);
        });
    }

    /// Another replica has sent the first event of a block, and this one has made none of them.
    #[test]
    fn client_of_a_lagging_replica_receives_nothing_twice() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(place.path().join("demo")).unwrap();
        writer.begin_events();
        let block = Chainlet::ethereum().at_block(5).transfer(1, 2, 10).same_block().transfer(1, 2, 11);
        writer.commit(block.same_block().transfer(1, 2, 12).batch(), &Cancel::new()).unwrap();
        drop(writer);
        let events = events(place.path());
        for waits in [0, 1] {
            let filters = json!({"addresses": [address(Chain::ETHEREUM, 1)], "min_confirmations": waits});
            let ledger = events.gateway().ledgers().current().unwrap();
            let (subscription, _) = Subscription::parse("address_activity", &filters, &*ledger).unwrap();
            let steps = events.steps().after(events.gateway().ledgers(), 0, 10).unwrap();
            let delivered = Watcher::new(subscription, 0).advance(&steps[0]).unwrap();
            let [first, second, third] =
                delivered.iter().map(|event| event.id.clone()).collect::<Vec<_>>().try_into().unwrap();
            let (hub, link) = (events.hub(), Arc::<Link>::default());
            hub.begin(0);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (event, position) = (first.clone(), steps[0].position());
                let note = move |tx: &mut headwater_state::Tx<'_>| cursors::add(tx, &[(event.as_str(), position)], 1 << 41);
                events.gateway().state().write(note).await.unwrap();
                let mut dialogue = Dialogue::new(events.clone(), Arc::clone(&link), "c".to_owned(), None);
                let wish = json!({"action": "subscribe", "id": "1", "event_type": "address_activity", "filters": filters, "after": first});
                dialogue.hear(&wish.to_string()).await.unwrap();
                // Long enough to join too early.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                drop(hub.publish(vec![hub.advance(&steps[0]).unwrap()]));
                let mut heard = Vec::new();
                while heard.last() != Some(&third) {
                    for message in link.take().await.unwrap() {
                        let message: Value = serde_json::from_str(&message).unwrap();
                        heard.extend(message["event"]["id"].as_str().map(str::to_owned));
                    }
                }
                assert_eq!(heard, [second, third]);
                dialogue.end().await;
            });
        }
    }

    /// A events over some blocks, and the events of one address in them.
    struct ScriptedEvents {
        events: Events,
        filters: Value,
        steps: Vec<Arc<FeedStep>>,
        ids: Vec<String>,
    }

    fn made(place: &std::path::Path, blocks: Vec<Chainlet>) -> ScriptedEvents {
        let mut writer = Writer::open_or_create(place.join("demo")).unwrap();
        writer.begin_events();
        for block in blocks {
            writer.commit(block.batch(), &Cancel::new()).unwrap();
        }
        drop(writer);
        let events = events(place);
        let filters = json!({"addresses": [address(Chain::ETHEREUM, 1)]});
        let ledger = events.gateway().ledgers().current().unwrap();
        let (subscription, _) = Subscription::parse("address_activity", &filters, &*ledger).unwrap();
        let steps = events.steps().after(events.gateway().ledgers(), 0, 10).unwrap();
        let mut watcher = Watcher::new(subscription, 0);
        let ids = steps.iter().flat_map(|step| watcher.advance(step).unwrap()).map(|event| event.id).collect();
        ScriptedEvents { events, filters, steps, ids }
    }

    #[test]
    fn client_before_the_first_event_receives_what_it_missed() {
        let place = tempfile::tempdir().unwrap();
        let first = Chainlet::ethereum().at_block(5).transfer(1, 2, 10).same_block().transfer(1, 2, 11);
        let blocks = vec![first, Chainlet::ethereum().at_block(6).transfer(1, 2, 12)];
        let ScriptedEvents { events, filters, steps, ids: made } = made(place.path(), blocks);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let known = made[0].clone();
            let note = move |tx: &mut headwater_state::Tx<'_>| cursors::add(tx, &[(known.as_str(), 1)], 1 << 41);
            events.gateway().state().write(note).await.unwrap();
            let (hub, link) = (events.hub(), Arc::<Link>::default());
            let mut dialogue = Dialogue::new(events.clone(), Arc::clone(&link), "c".to_owned(), None);
            let wish = json!({"action": "subscribe", "id": "1", "event_type": "address_activity", "filters": filters});
            dialogue.hear(&wish.to_string()).await.unwrap();
            // The first block was sent before this server began, to others.
            hub.begin(1);
            drop(hub.publish(vec![hub.advance(&steps[1]).unwrap()]));
            let resume = json!({"action": "resume", "id": "2", "after": made[0]});
            dialogue.hear(&resume.to_string()).await.unwrap();
            while hub.listening() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            let heard: Vec<String> = link.take().await.unwrap().iter().map(|message| message.to_string()).collect();
            let delivered = |id: &String| heard.iter().filter(|message| message.contains(id.as_str())).count();
            // The second of that block as it goes back, and the other block once, as it was made.
            assert_eq!(made.iter().map(delivered).collect::<Vec<_>>(), [0, 1, 1], "{heard:?}");
            dialogue.end().await;
        });
    }

    #[test]
    fn resume_to_an_earlier_event_sends_all_between() {
        let place = tempfile::tempdir().unwrap();
        let blocks = (5..8).map(|number| Chainlet::ethereum().at_block(number).transfer(1, 2, 10)).collect();
        let ScriptedEvents { events, filters, ids: made, .. } = made(place.path(), blocks);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let known = made.clone();
            let note = move |tx: &mut headwater_state::Tx<'_>| {
                cursors::add(tx, &[(known[0].as_str(), 1), (known[1].as_str(), 2)], 1 << 41)
            };
            events.gateway().state().write(note).await.unwrap();
            let (hub, link) = (events.hub(), Arc::<Link>::default());
            let mut dialogue = Dialogue::new(events.clone(), Arc::clone(&link), "c".to_owned(), None);
            let wish = json!({"action": "subscribe", "id": "1", "event_type": "address_activity", "filters": filters});
            dialogue.hear(&wish.to_string()).await.unwrap();
            dialogue.hear(&json!({"action": "resume", "id": "2", "after": made[1]}).to_string()).await.unwrap();
            // Three blocks were sent before this server began, to others.
            hub.begin(3);
            let mut heard = Vec::new();
            for turn in 1..=2 {
                while hub.listening() == 0 {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
                heard.push(link.take().await.unwrap().iter().map(|message| message.to_string()).collect::<String>());
                if turn == 1 {
                    let resume = json!({"action": "resume", "id": "3", "after": made[0]});
                    dialogue.hear(&resume.to_string()).await.unwrap();
                }
            }
            let delivered = |heard: &String| made.iter().map(|id| heard.contains(id.as_str())).collect::<Vec<_>>();
            // At first what came behind the second event, then the second one, which it did not receive yet.
            assert_eq!(heard.iter().map(delivered).collect::<Vec<_>>(), [[false, false, true], [false, true, false]]);
            dialogue.end().await;
        });
    }
}
