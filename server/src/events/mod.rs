//! Events on their way out: webhooks and the stream.
//!
//! The outbox follows the store's change feed and makes events of it, commits them with their deliveries, and returns the
//! hub of the stream. A courier makes the deliveries. Both run beside the requests, in the tasks of [`EventTasks`].

mod cursors;
mod lost;
mod outbox;
mod reached;
mod running;
mod steps;
pub(crate) mod stream;
pub mod webhook;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRef;
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub use running::EventTasks;

use crate::gateway::Gateway;
use headwater_state::{State, StateError, now_ms};
use steps::Steps;
use stream::Hub;
use webhook::egress::{DEADLINE, Egress, EgressSettings};

/// The pace of the schedule of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Milliseconds that a second of the schedule takes: 1,000, and less in tests.
    pub second_ms: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { second_ms: 1000 }
    }
}

impl Pace {
    /// No deadline is shorter, however fast the schedule runs.
    const SHORTEST: Duration = Duration::from_secs(2);

    /// A time of the schedule as it passes.
    #[must_use]
    pub fn scale_ms(self, time_ms: i64) -> i64 {
        time_ms.saturating_mul(i64::from(self.second_ms)) / 1000
    }

    /// Returns how long one delivery may take.
    #[must_use]
    pub fn deadline(self) -> Duration {
        (DEADLINE * self.second_ms / 1000).max(Self::SHORTEST)
    }

    fn deadline_ms(self) -> i64 {
        i64::try_from(self.deadline().as_millis()).unwrap_or(i64::MAX)
    }
}

/// The time that a client of a stream may take. With a write of 10 s and 2 s more, whoever stopped reading is gone
/// within 15 s.
#[derive(Debug, Clone, Copy)]
pub struct StreamTimes {
    /// To say who it is.
    pub auth: Duration,
    /// To take what is written at a time.
    pub write: Duration,
    /// To read why the stream ends.
    pub close: Duration,
}

impl Default for StreamTimes {
    fn default() -> Self {
        Self { auth: Duration::from_secs(5), write: Duration::from_secs(10), close: Duration::from_secs(2) }
    }
}

/// The part of the configuration that events need.
#[derive(Clone)]
pub struct EventSettings {
    /// The targets that deliveries may have.
    pub egress: EgressSettings,
    /// The pace of the schedule.
    pub pace: Pace,
    /// Origins of web pages that may open a stream, besides the gateway's own, such as `https://app.example.com`.
    pub origins: Vec<String>,
    /// Streams that may be open at a time.
    pub max_streams: usize,
    /// The time that clients of a stream may take.
    pub stream_times: StreamTimes,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            egress: EgressSettings::default(),
            pace: Pace::default(),
            origins: Vec::new(),
            max_streams: 16_384,
            stream_times: StreamTimes::default(),
        }
    }
}

/// Webhooks and streams over a gateway; cheap to clone.
#[derive(Clone)]
pub struct Events(Arc<Parts>);

/// Handlers that need the gateway alone take it from the events.
impl FromRef<Events> for Gateway {
    fn from_ref(events: &Events) -> Self {
        events.gateway().clone()
    }
}

struct Parts {
    gateway: Gateway,
    egress: Arc<Egress>,
    pace: Pace,
    origins: Vec<String>,
    stream_times: StreamTimes,
    hub: Arc<Hub>,
    steps: Steps,
    due: Notify,
    changed: AtomicBool,
    replays: Mutex<JoinSet<()>>,
}

impl Events {
    /// The events of a gateway. One per gateway, since it adds its figures.
    #[must_use]
    pub fn new(gateway: Gateway, settings: EventSettings) -> Self {
        let EventSettings { egress, pace, origins, max_streams, stream_times } = settings;
        let deadline = if pace == Pace::default() { egress.deadline } else { pace.deadline() };
        let hub = Arc::new(Hub::new(max_streams));
        let open = Arc::clone(&hub);
        gateway.metrics().watch(
            "streams_open",
            "Streams that are open, those included that have not said yet who they are",
            move || i64::try_from(open.open()).unwrap_or(i64::MAX),
        );
        let steps = Steps::new(gateway.settings().intelligence.clone());
        Self(Arc::new(Parts {
            gateway,
            egress: Arc::new(Egress::new(EgressSettings { deadline, ..egress })),
            pace,
            origins,
            stream_times,
            hub,
            steps,
            due: Notify::new(),
            changed: AtomicBool::new(false),
            replays: Mutex::default(),
        }))
    }

    /// The gateway below.
    #[must_use]
    pub fn gateway(&self) -> &Gateway {
        &self.0.gateway
    }

    /// The client of deliveries.
    pub(crate) fn egress(&self) -> &Arc<Egress> {
        &self.0.egress
    }

    /// Returns how long clients of a stream may take.
    pub(crate) fn stream_times(&self) -> StreamTimes {
        self.0.stream_times
    }

    /// Returns the hub of events and streams.
    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    /// Returns whether a page of this origin may open a stream here.
    pub(crate) fn admits_origin(&self, origin: &str) -> bool {
        self.0.origins.iter().any(|one| one.eq_ignore_ascii_case(origin))
    }

    /// A webhook was made, changed or removed.
    pub(crate) fn webhooks_have_changed(&self) {
        self.0.changed.store(true, Ordering::Release);
        self.wake_deliveries();
    }

    /// Something may be due.
    pub(crate) fn wake_deliveries(&self) {
        self.0.due.notify_one();
    }

    async fn due(&self) {
        self.0.due.notified().await;
    }

    fn webhooks_changed(&self) -> bool {
        self.0.changed.swap(false, Ordering::AcqRel)
    }

    fn steps(&self) -> &Steps {
        &self.0.steps
    }

    /// Returns where an event was in the feed; `None` for one that is unknown or too old. Blocks: for threads that may.
    fn cursor(state: &State, event: &str) -> Result<Option<u64>, StateError> {
        state.read(|tx| cursors::find(tx, event, now_ms()))
    }

    /// Runs something that ends with its connection, or with the server.
    fn spawn(&self, replay: impl Future<Output = ()> + Send + 'static) {
        let mut replays = self.0.replays.lock().unwrap_or_else(PoisonError::into_inner);
        while replays.try_join_next().is_some() {}
        replays.spawn(replay);
    }

    fn take_replays(&self) -> JoinSet<()> {
        std::mem::take(&mut *self.0.replays.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
