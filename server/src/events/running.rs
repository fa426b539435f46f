//! The tasks beside the requests, from the start of a server to its end.

use std::net::SocketAddr;
use std::time::Duration;

use headwater_state::now_ms;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Events;
use super::outbox::Outbox;
use super::stream;
use super::webhook::deliver::Courier;

/// The interval at which keys and the end of the server are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// The time that streams may take to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// The tasks that make events, deliver them and watch over streams.
#[must_use = "the tasks end only when they are stopped"]
pub struct EventTasks {
    events: Events,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl EventTasks {
    /// Starts them. `listeners` are the addresses that the process listens on, which no delivery may go to.
    pub fn start(events: &Events, listeners: Vec<SocketAddr>) -> Self {
        events.egress().refuse_own(listeners);
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(Outbox::new(events.clone()).run(stopped.clone()));
        let courier = Courier::new(events.clone(), events.egress().clone(), events.0.pace);
        tasks.spawn(courier.run(stopped.clone()));
        tasks.spawn(watch_over(events.clone(), stopped));
        Self { events: events.clone(), stop, tasks }
    }

    /// Ends them: streams get a message, deliveries under way may end for a while, what is known is written down.
    pub async fn stop(mut self) {
        self.events.hub().drain();
        // Nobody listens when all of them have ended already.
        let _ = self.stop.send(true);
        while let Some(ended) = self.tasks.join_next().await {
            if ended.is_err() {
                tracing::error!("a task of the events panicked");
            }
        }
        self.events.take_replays().shutdown().await;
        let gone = async {
            while self.events.hub().open() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, gone).await.is_err() {
            tracing::warn!("streams were still open at the end");
        }
    }
}

/// Ends streams whose key is no longer valid or whose plan was narrowed or widened, and all of them when the server
/// drains. A client that comes back after a change of its plan finds what it has now.
async fn watch_over(events: Events, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        tokio::select! {
            _ = stop.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
        let hub = events.hub();
        if events.gateway().is_draining() {
            hub.drain();
        }
        let now_secs = now_ms() / 1000;
        hub.end_revoked(|caller| {
            let now = events.gateway().state().accounts().holder(&caller.key_id(), now_secs);
            now.is_some_and(|now| {
                events.gateway().has_endpoint(&now, stream::PATH) && events.gateway().has_same_chains(caller, &now)
            })
        });
    }
}
