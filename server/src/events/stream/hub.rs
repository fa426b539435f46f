//! Subscriptions: one watcher for all who asked for the same, webhooks and streams alike.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use headwater_engine::events::{Event, FeedStep, Subscription, Watcher};
use headwater_engine::{Error, ErrorKind, Reason};
use headwater_ledger::feed::FeedItem;
use headwater_state::{Caller, KeyId, causes};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, watch};

use super::heads::HeadBoard;
use super::link::Link;
use super::protocol::{self, Ending};

/// Streams of one key.
pub(super) const CONNECTIONS_PER_KEY: usize = 10;
/// Replays that are computed at a time.
const REPLAYS: usize = 4;

/// One subscription of a stream.
#[derive(Clone)]
pub(crate) struct Listener {
    /// The queue that its events go to.
    pub link: Arc<Link>,
    /// Its id.
    pub subscription: Arc<str>,
    /// Place among the subscriptions of its connection: events of one block go out in this order.
    pub order: u64,
    /// Unset when it wants no more.
    pub live: Arc<AtomicBool>,
    /// Set while it receives at its own pace what was too much at once.
    pub behind: Arc<AtomicBool>,
}

impl Listener {
    /// Returns whether it is to receive anything more.
    pub fn is_there(&self) -> bool {
        self.live.load(Ordering::Acquire) && self.link.ending().is_none()
    }
}

/// A listener that received only some of a long burst: it receives the rest as it reads.
pub(crate) struct LaggingListener {
    pub listener: Listener,
    pub subscription: Subscription,
    /// Position of the step of which it received some.
    pub position: u64,
    /// The last event of that step that it received.
    pub after: Option<String>,
}

/// An event and its receivers.
pub(crate) struct MadeEvent {
    /// The event.
    pub event: Event,
    /// Ids of the webhooks.
    pub webhooks: Vec<Arc<str>>,
    /// The streams.
    pub listeners: Vec<Listener>,
}

/// The events that one step of the feed made.
pub(crate) struct StepEvents {
    /// Position of the step.
    pub position: u64,
    /// The item of the feed.
    pub item: FeedItem,
    /// The time of its commit, where it is known.
    pub committed: Option<SystemTime>,
    /// The events, those of one subscription in order.
    pub made: Vec<MadeEvent>,
    /// Webhooks whose events are lost.
    pub lost: Vec<Arc<str>>,
}

/// Returns whether an error of a watcher is that of its subscription alone: however often it is tried again, the
/// subscription's events of that step cannot be made.
pub(crate) fn is_of_subscription(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::InvalidInput(Reason::TooManyItems | Reason::CursorExpired))
}

/// The place where events and those who want them meet.
pub(crate) struct Hub {
    board: Mutex<Board>,
    /// Position up to which events have been sent.
    published: watch::Sender<u64>,
    connections: Mutex<HashMap<u64, Connection>>,
    next_connection: AtomicU64,
    max_connections: usize,
    /// True once the server stops.
    is_draining: AtomicBool,
    /// Number of the next burst of events.
    bursts: AtomicU64,
    heads: HeadBoard,
    /// Held by those who compute what was missed.
    pub(super) replays: Semaphore,
}

#[derive(Default)]
struct Board {
    /// Position that all watchers have reached; meaningless until events are made.
    position: u64,
    /// Position that it was begun from.
    from: u64,
    begun: bool,
    groups: HashMap<[u8; 32], Group>,
    /// Events of a step that could not be followed to its end.
    unfinished: Vec<MadeEvent>,
    /// Webhooks whose events of that step are lost.
    lost: Vec<Arc<str>>,
}

struct Group {
    watcher: Watcher,
    webhooks: Vec<Arc<str>>,
    listeners: Vec<Listener>,
}

struct Connection {
    link: Arc<Link>,
    /// True if it has a place among the streams: not until it is known whose it is.
    is_admitted: bool,
    /// As it was when the stream opened.
    caller: Option<Caller>,
}

impl Connection {
    fn key_id(&self) -> Option<KeyId> {
        self.caller.as_ref().map(Caller::key_id)
    }
}

impl Hub {
    /// A hub for at most so many streams.
    pub fn new(max_connections: usize) -> Self {
        Self {
            board: Mutex::default(),
            published: watch::Sender::new(0),
            connections: Mutex::default(),
            next_connection: AtomicU64::new(1),
            is_draining: AtomicBool::new(false),
            max_connections,
            bursts: AtomicU64::new(1),
            heads: HeadBoard::default(),
            replays: Semaphore::new(REPLAYS),
        }
    }

    /// Sets the position that events are made from. Watchers begin anew there, and streams that received another
    /// position are ended: what lies between is not sent to them.
    pub fn begin(&self, position: u64) {
        let mut board = self.board();
        let is_elsewhere = board.begun && board.position != position;
        (board.position, board.from, board.begun) = (position, position, true);
        board.unfinished.clear();
        board.lost.clear();
        for group in board.groups.values_mut() {
            group.watcher = Watcher::new(group.watcher.subscription().clone(), position);
        }
        drop(board);
        if is_elsewhere {
            self.end_all(Ending::Overloaded);
        }
        self.published.send_replace(position);
    }

    /// The position up to which events have been sent, and how to wait for more.
    pub fn published(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    /// Says which webhooks there are.
    pub fn set_webhooks(&self, webhooks: Vec<(Arc<str>, Subscription)>) {
        let mut board = self.board();
        for group in board.groups.values_mut() {
            group.webhooks.clear();
        }
        for (id, subscription) in webhooks {
            board.group(subscription).webhooks.push(id);
        }
        board.forget_empty();
    }

    /// Subscribes a listener to what comes from now on, and returns the current position. The greeting is said first:
    /// no event comes before it, and none that happens behind it is left out. One that is over already does not join.
    /// There is no position of now before events are made: it is the one that they are going to be made from.
    pub fn join(&self, subscription: Subscription, listener: Listener, greeting: String) -> Option<u64> {
        let mut board = self.board();
        listener.link.push(greeting.into());
        if listener.is_there() {
            board.group(subscription).listeners.push(listener);
        }
        board.begun.then_some(board.position)
    }

    /// The same, unless now is past a position.
    pub fn join_at(&self, position: u64, subscription: Subscription, listener: Listener) -> bool {
        let mut board = self.board();
        // A step that could not be followed to its end has been sent to those who listened then.
        let there = board.begun && board.position == position && board.unfinished.is_empty();
        if there && listener.is_there() {
            listener.behind.store(false, Ordering::Release);
            board.group(subscription).listeners.push(listener);
        }
        there
    }

    /// Takes out those of some subscriptions that listen, and gives which those are, the position that events were made
    /// from, and the position of now: what was made up to it they still receive, whether it has been sent yet or not.
    /// There are no such positions before events are made.
    pub fn leave(&self, subscriptions: &[Arc<str>]) -> (Vec<Arc<str>>, Option<(u64, u64)>) {
        let mut board = self.board();
        let left = subscriptions.iter().filter(|one| board.take_out(one).is_some()).map(Arc::clone).collect();
        board.forget_empty();
        (left, board.begun.then_some((board.from, board.position)))
    }

    /// Takes out listeners that are there no more.
    pub fn sweep(&self) {
        let mut board = self.board();
        for group in board.groups.values_mut() {
            group.listeners.retain(Listener::is_there);
        }
        board.forget_empty();
    }

    /// Makes the events of the next step. A subscription whose events cannot be made holds up no other: its streams end
    /// with 4010, its webhooks are among the lost, and it continues behind the step.
    ///
    /// # Errors
    /// When the store cannot be read; the step may be tried again, and nothing is lost or made twice.
    pub fn advance(&self, step: &FeedStep) -> Result<StepEvents, Error> {
        let mut guard = self.board();
        let board = &mut *guard;
        for group in board.groups.values_mut() {
            match group.watcher.advance(step) {
                Ok(events) => board.unfinished.extend(events.into_iter().map(|event| {
                    let (webhooks, listeners) = (group.webhooks.clone(), group.listeners.clone());
                    MadeEvent { event, webhooks, listeners }
                })),
                Err(error) if is_of_subscription(&error) => {
                    let (webhooks, streams) = (group.webhooks.len(), group.listeners.len());
                    tracing::error!(error = causes(&error), webhooks, streams, "events of a subscription were lost");
                    group.listeners.drain(..).for_each(|listener| listener.link.end(Ending::CursorExpired));
                    board.lost.extend(group.webhooks.iter().map(Arc::clone));
                    group.watcher = Watcher::new(group.watcher.subscription().clone(), step.position());
                }
                Err(error) => return Err(error),
            }
        }
        board.position = step.position();
        let (made, lost) = (std::mem::take(&mut board.unfinished), std::mem::take(&mut board.lost));
        Ok(StepEvents { position: step.position(), item: *step.item(), committed: step.committed(), made, lost })
    }

    /// Sends events to the streams, and returns those that could not receive all of it at once, which do not listen any
    /// more. What is sent has been committed. Takes long where many events meet many streams: for threads that may
    /// block.
    pub fn publish(&self, found: Vec<StepEvents>) -> Vec<LaggingListener> {
        let burst = self.bursts.fetch_add(1, Ordering::Relaxed);
        let mut behind: Vec<(Listener, u64, Option<String>)> = Vec::new();
        for StepEvents { position, made, .. } in found {
            let mut queued: Vec<(&Listener, &Event, Arc<str>)> = Vec::new();
            for one in made.iter().filter(|one| !one.listeners.is_empty()) {
                let body: Arc<str> = one.event.body(None).into();
                queued.extend(one.listeners.iter().map(|listener| (listener, &one.event, Arc::clone(&body))));
            }
            // Stable: the events of one subscription stay in their order.
            queued.sort_by_key(|(listener, ..)| listener.order);
            for (place, (listener, event, body)) in queued.iter().enumerate() {
                if !listener.is_there() || listener.behind.load(Ordering::Acquire) {
                    continue;
                }
                let message = protocol::event(&listener.subscription, event.seq, body);
                if !listener.link.push_of(burst, message.into()) {
                    listener.behind.store(true, Ordering::Release);
                    let before = queued[..place].iter().rfind(|(one, ..)| one.subscription == listener.subscription);
                    behind.push((Listener::clone(listener), position, before.map(|(_, event, _)| event.id.clone())));
                }
            }
            self.published.send_replace(position);
        }
        if behind.is_empty() { Vec::new() } else { self.let_fall(behind) }
    }

    /// Takes out listeners that are to receive the rest by a replay.
    fn let_fall(&self, behind: Vec<(Listener, u64, Option<String>)>) -> Vec<LaggingListener> {
        let mut board = self.board();
        let mut fallen = Vec::with_capacity(behind.len());
        for (listener, position, after) in behind {
            match board.take_out(&listener.subscription) {
                Some(subscription) => fallen.push(LaggingListener { listener, subscription, position, after }),
                // It went back to an earlier event, and counts on receiving what was made before it did.
                None if listener.live.load(Ordering::Acquire) => listener.link.end(Ending::SlowConsumer),
                None => {}
            }
        }
        board.forget_empty();
        fallen
    }

    /// Registers a connection, which is informed of the end of the server from now on.
    pub fn register(&self, link: &Arc<Link>) -> u64 {
        let number = self.next_connection.fetch_add(1, Ordering::Relaxed);
        let connection = Connection { link: Arc::clone(link), is_admitted: false, caller: None };
        self.connections().insert(number, connection);
        // Either this is seen here, or the connection by who ends them all.
        if self.is_draining.load(Ordering::SeqCst) {
            link.end(Ending::Draining);
        }
        number
    }

    /// Gives a connection a place among the streams.
    pub fn admit(&self, number: u64, caller: Option<Caller>) -> Result<(), Ending> {
        let key_id = caller.as_ref().map(Caller::key_id);
        let mut connections = self.connections();
        let admitted = || connections.values().filter(|one| one.is_admitted);
        if admitted().count() >= self.max_connections {
            return Err(Ending::Overloaded);
        }
        // Those that are being ended have had their turn.
        let same = admitted().filter(|one| one.key_id() == key_id && one.link.ending().is_none()).count();
        if key_id.is_some() && same >= CONNECTIONS_PER_KEY {
            return Err(Ending::TooManyConnections);
        }
        if let Some(connection) = connections.get_mut(&number) {
            (connection.is_admitted, connection.caller) = (true, caller);
        }
        Ok(())
    }

    /// Forgets a connection.
    pub fn unregister(&self, number: u64) {
        self.connections().remove(&number);
    }

    /// Ends the connections whose caller may not listen any more.
    pub fn end_revoked(&self, may_listen: impl Fn(&Caller) -> bool) {
        for one in self.connections().values() {
            if one.caller.as_ref().is_some_and(|caller| !may_listen(caller)) {
                one.link.end(Ending::Unauthorized);
            }
        }
    }

    /// Ends every stream.
    pub fn end_all(&self, ending: Ending) {
        for one in self.connections().values().filter(|one| one.is_admitted) {
            one.link.end(ending);
        }
    }

    /// Ends every connection, and whichever comes from now on: the server stops.
    pub fn drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
        for one in self.connections().values() {
            one.link.end(Ending::Draining);
        }
    }

    /// Streams that are open, those included that have not said yet who they are.
    pub fn open(&self) -> usize {
        self.connections().len()
    }

    /// Returns the newest blocks.
    pub const fn heads(&self) -> &HeadBoard {
        &self.heads
    }

    /// Returns the number of connections that listen.
    #[cfg(test)]
    pub(super) fn listening(&self) -> usize {
        self.board().groups.values().map(|group| group.listeners.len()).sum()
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // A panic of a watcher leaves the step unfinished, which the next try continues with.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, Connection>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    fn group(&mut self, subscription: Subscription) -> &mut Group {
        let filters = subscription.to_json().to_string();
        let key = Sha256::new_with_prefix(subscription.event_type().name()).chain_update([0]).chain_update(filters);
        let position = self.position;
        let mut key: [u8; 32] = key.finalize().into();
        // Of a step that is not at its end, some have made their events already: who comes now has a group of its own,
        // and receives that step too.
        while self.groups.get(&key).is_some_and(|group| group.watcher.position() > position) {
            key = Sha256::digest(key).into();
        }
        self.groups.entry(key).or_insert_with(|| Group {
            watcher: Watcher::new(subscription, position),
            webhooks: Vec::new(),
            listeners: Vec::new(),
        })
    }

    /// Takes out the listener of a subscription; gives what it listened to.
    fn take_out(&mut self, name: &Arc<str>) -> Option<Subscription> {
        let mut found = None;
        for group in self.groups.values_mut() {
            let listening = group.listeners.len();
            group.listeners.retain(|one| one.subscription != *name);
            if group.listeners.len() < listening {
                found = Some(group.watcher.subscription().clone());
            }
        }
        if found.is_some() {
            // Of a step that is not at its end it received nothing yet.
            self.unfinished.iter_mut().for_each(|made| made.listeners.retain(|one| one.subscription != *name));
        }
        found
    }

    fn forget_empty(&mut self) {
        self.groups.retain(|_, group| !group.webhooks.is_empty() || !group.listeners.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::events::Follower;
    use headwater_ledger::read::Generations;
    use headwater_ledger::store::Writer;
    use headwater_ledger::{Cancel, Store};
    use headwater_testkit::Chainlet;
    use headwater_types::Chain;

    use super::*;

    fn listener(name: &str) -> Listener {
        let (link, live, behind) = (Arc::default(), Arc::new(AtomicBool::new(true)), Arc::default());
        Listener { link, subscription: name.into(), order: 1, live, behind }
    }

    #[test]
    fn a_subscription_whose_events_cannot_be_made_holds_up_no_other() {
        // One more than are sent of one step.
        const TRANSFERS: u64 = (1 << 17) + 1;
        let place = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(place.path()).unwrap();
        writer.begin_events();
        let first = Chainlet::ethereum().at_block(5).transfer(1, 2, 1);
        let block = (1..TRANSFERS).fold(first, |block, amount| block.same_block().transfer(1, 2, amount));
        writer.commit(block.batch(), &Cancel::new()).unwrap();
        let next = Chainlet::ethereum().at_block(6).transfer(1, 2, 10).same_block().transfer(3, 4, 10);
        writer.commit(next.batch(), &Cancel::new()).unwrap();
        drop(writer);
        let store = Arc::new(Store::open(place.path()).unwrap());
        let ledger = store.current().unwrap();
        let watch = |who: u64| {
            let filters = serde_json::json!({"addresses": [headwater_testkit::address(Chain::ETHEREUM, who)]});
            Subscription::parse("address_activity", &filters, &*ledger).unwrap().0
        };
        let hub = Hub::new(9);
        hub.begin(0);
        let (heavy, light) = (listener("heavy"), listener("light"));
        hub.set_webhooks(vec![("much".into(), watch(1)), ("little".into(), watch(3))]);
        hub.join(watch(1), heavy.clone(), String::new());
        hub.join(watch(3), light.clone(), String::new());
        let steps = Follower::new(store.clone(), 0).next_steps(2).unwrap();
        let found: Vec<StepEvents> = steps.iter().map(|step| hub.advance(step).unwrap()).collect();
        let queued = |found: &StepEvents| -> Vec<String> {
            found.made.iter().flat_map(|made| made.webhooks.iter().map(|name| name.to_string())).collect()
        };
        assert_eq!(found[0].lost, [Arc::<str>::from("much")]);
        assert_eq!(queued(&found[0]), Vec::<String>::new());
        assert_eq!(heavy.link.ending(), Some(Ending::CursorExpired));
        // It continues with the next one, like the others.
        let mut both = queued(&found[1]);
        both.sort();
        assert_eq!((both, found[1].lost.len(), light.link.ending()), (vec!["little".into(), "much".into()], 0, None));
    }

    #[test]
    fn listener_is_ended_when_events_restart_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        drop(Writer::open_or_create(place.path()).unwrap());
        let ledger = Store::open(place.path()).unwrap().current().unwrap();
        let (subscription, _) = Subscription::parse("large_transfer", &serde_json::json!({}), &*ledger).unwrap();
        let hub = Hub::new(9);
        let joined = |hub: &Hub| {
            let one = listener("one");
            let number = hub.register(&one.link);
            hub.admit(number, None).unwrap();
            hub.join(subscription.clone(), one.clone(), String::new());
            one
        };
        let early = joined(&hub);
        hub.begin(4);
        let late = joined(&hub);
        hub.begin(4);
        assert_eq!((early.link.ending(), late.link.ending()), (None, None));
        hub.begin(7);
        assert_eq!(late.link.ending(), Some(Ending::Overloaded));
    }

    #[test]
    fn listener_of_a_half_made_step_receives_it_too() {
        let place = tempfile::tempdir().unwrap();
        let mut writer = Writer::open_or_create(place.path()).unwrap();
        writer.begin_events();
        writer.commit(Chainlet::ethereum().at_block(5).transfer(1, 2, 10).batch(), &Cancel::new()).unwrap();
        drop(writer);
        let store = Arc::new(Store::open(place.path()).unwrap());
        let filters =
            serde_json::json!({"addresses": [headwater_testkit::address(headwater_types::Chain::ETHEREUM, 1)]});
        let ledger = store.current().unwrap();
        let (subscription, _) = Subscription::parse("address_activity", &filters, &*ledger).unwrap();
        let step = Follower::new(store.clone(), 0).next_steps(1).unwrap().remove(0);
        let hub = Hub::new(9);
        hub.begin(0);
        hub.join(subscription.clone(), listener("early"), String::new());
        {
            let mut board = hub.board();
            let group = board.groups.values_mut().next().unwrap();
            let (made, listeners) = (group.watcher.advance(&step).unwrap(), group.listeners.clone());
            for event in made {
                board.unfinished.push(MadeEvent { event, webhooks: Vec::new(), listeners: listeners.clone() });
            }
        }
        assert_eq!(hub.join(subscription, listener("late"), String::new()), Some(0));
        let found = hub.advance(&step).unwrap();
        let queued = found.made.iter().flat_map(|made| made.listeners.iter().map(|one| &*one.subscription));
        assert_eq!(queued.collect::<Vec<_>>(), ["early", "late"]);
    }
}
