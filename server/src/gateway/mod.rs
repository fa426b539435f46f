//! The way of a request through the gateway.
//!
//! `record` is outermost: it gives the request its id, sees every end of it (client gone and panic included) and writes
//! the audit. `call` holds the order of checks of a data endpoint: key, limits, reservation, media type, size, syntax,
//! values, work, settlement. Handlers only name their endpoint.

mod answer;
mod answers;
mod arguments;
mod call;
mod chain_metrics;
mod compression;
mod context;
mod cors;
mod enter;
mod hosts;
mod limits;
mod listener;
mod metrics;
mod own;
mod pool;
mod problem;
mod process_metrics;
mod ready;
mod record;
mod repeat;
mod stream;
mod telemetry;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_engine::{CostClass, ENDPOINTS, Endpoint, Intelligence, QueryEngine};
use headwater_ledger::Memory;
use headwater_ledger::read::Generations;
use headwater_ledger::store::LiveStatus;
use headwater_state::clock::{milliseconds, now_secs};
use headwater_state::{State, StateError, Tx, causes};
use ipnet::IpNet;

pub use answer::Meta;
use answers::AnswerCache;
pub use headwater_engine::Details;
pub use limits::{LimitSettings, Overflow, RedisAddress};
pub use listener::{ListenerConfig, Tls, TlsError, bind};
pub use metrics::Metrics;
pub use problem::{ErrorBody, ErrorEnvelope, Problem, Status};
pub use ready::{NotReady, Readiness};
pub use telemetry::Telemetry;

pub(crate) use arguments::{StrictJson, drain, read_json};
pub(crate) use chain_metrics::{PublishedItems, STOPPED};
pub(crate) use compression::AcceptedCodings;
pub(crate) use context::{Context, Outcome};
pub(crate) use cors::layer as cors_layer;
pub(crate) use enter::AdmittedCall;
pub(crate) use limits::Gate;
use limits::Limits;
pub(crate) use listener::listen;
pub(crate) use metrics::METRICS_TYPE;
pub(crate) use own::{Call, OwnRoute, Repetition, Reply, RequestInput};
use pool::Pool;
pub(crate) use record::{Opening, RecordedRoutes};
pub(crate) use repeat::LONGEST as LONGEST_REPEAT_KEY;

/// Most bytes of a body where the configuration says nothing else.
pub(crate) const BODY_LIMIT: usize = 1 << 20;

/// The part of the configuration that a request needs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// True if a data endpoint needs a key. Without one, calls are free and anonymous: for local use.
    pub auth_required: bool,
    /// Largest body in bytes.
    pub body_limit: usize,
    /// Bytes of answers that are kept for those who ask the same.
    pub cache_bytes: usize,
    /// Bytes that all queries under way may take together.
    pub memory_bytes: u64,
    /// Bytes that one of them may take.
    pub query_memory_bytes: u64,
    /// The time that calls may take.
    pub deadlines: Deadlines,
    /// True if the audit keeps the parameters of calls of data besides their digest.
    pub audit_parameters: bool,
    /// Seconds that the newest block of a followed chain may lie behind the clock while the gateway is ready; 0 for any.
    pub max_lag_secs: u64,
    /// Limits of callers.
    pub limits: LimitSettings,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Host names besides those of loopback that are answered where no key is needed.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call the API from a browser.
    pub cors_origins: Vec<String>,
    /// The inputs of judgements besides the store: parameters, a provider of claims, the clock.
    pub intelligence: Intelligence,
    /// The data endpoints that are served.
    pub endpoints: &'static [Endpoint],
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            auth_required: true,
            body_limit: BODY_LIMIT,
            cache_bytes: 64 << 20,
            memory_bytes: 512 << 20,
            query_memory_bytes: 128 << 20,
            deadlines: Deadlines::default(),
            audit_parameters: false,
            max_lag_secs: 0,
            limits: LimitSettings::default(),
            trusted_proxies: Vec::new(),
            allowed_hosts: Vec::new(),
            cors_origins: Vec::new(),
            intelligence: Intelligence { now_secs: Some(now_secs), ..Intelligence::default() },
            endpoints: ENDPOINTS,
        }
    }
}

/// The time that a call may take: as its class says, or its path where that has a time of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlines {
    /// Calls of free endpoints.
    pub free: Duration,
    /// Calls of light endpoints.
    pub light: Duration,
    /// Calls of medium endpoints.
    pub medium: Duration,
    /// Calls of heavy endpoints.
    pub heavy: Duration,
    /// Calls of single endpoints, by path.
    pub endpoints: BTreeMap<String, Duration>,
}

impl Default for Deadlines {
    /// The query budgets of the classes.
    fn default() -> Self {
        let of = |class: CostClass| Duration::from_secs(class.budget_secs());
        Self {
            free: of(CostClass::Free),
            light: of(CostClass::Light),
            medium: of(CostClass::Medium),
            heavy: of(CostClass::Heavy),
            endpoints: BTreeMap::new(),
        }
    }
}

impl Deadlines {
    /// The same for all calls.
    #[must_use]
    pub const fn all(time: Duration) -> Self {
        Self { free: time, light: time, medium: time, heavy: time, endpoints: BTreeMap::new() }
    }

    /// Returns how long a call of an endpoint may take.
    #[must_use]
    pub fn of(&self, path: &str, class: CostClass) -> Duration {
        self.endpoints.get(path).copied().unwrap_or(match class {
            CostClass::Free => self.free,
            CostClass::Light => self.light,
            CostClass::Medium => self.medium,
            CostClass::Heavy => self.heavy,
        })
    }
}

/// Everything a request needs; cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Parts>);

struct Parts {
    engine: QueryEngine,
    answers: AnswerCache,
    ledgers: Arc<dyn Generations>,
    state: State,
    settings: Settings,
    pool: Pool,
    memory: Memory,
    repeats: Arc<repeat::Repeats>,
    metrics: Metrics,
    telemetry: OnceLock<Telemetry>,
    limits: Limits,
    is_draining: AtomicBool,
}

impl Gateway {
    /// A gateway over a store and its state.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>, state: State, settings: Settings) -> Self {
        let engine = QueryEngine::new(Arc::clone(&ledgers)).with_clock(milliseconds);
        let engine = engine.with_intelligence(settings.intelligence.clone());
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let memory = Memory::new(settings.memory_bytes, settings.query_memory_bytes);
        let pool = Pool::new(cores, memory.clone());
        let (limits, repeats) = (Limits::new(settings.limits.clone()), Arc::default());
        let metrics = Metrics::new(&state);
        metrics.watch_memory(&memory);
        let watched = Arc::clone(&ledgers);
        let help = "1 while the newest generation cannot be read and an earlier one answers";
        metrics.watch("ledger_stale", help, move || i64::from(watched.stale().is_some()));
        let answers = AnswerCache::new(settings.cache_bytes);
        Self(Arc::new(Parts {
            engine,
            answers,
            ledgers,
            state,
            settings,
            pool,
            memory,
            limits,
            repeats,
            metrics,
            telemetry: OnceLock::new(),
            is_draining: AtomicBool::new(false),
        }))
    }

    /// Keys, credits and audit.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.0.state
    }

    /// The memory that queries take.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.0.memory
    }

    /// The figures, for who has some to add.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// All figures as text. Blocks: for threads that may.
    #[must_use]
    pub fn scrape(&self) -> String {
        let ledger = self.0.ledgers.current().ok();
        let followers = self.0.ledgers.folder().map_or_else(|| Ok(Vec::new()), LiveStatus::read_all);
        let followers = followers.unwrap_or_else(|error| {
            tracing::warn!(error = causes(&error), "the status of followers cannot be read");
            Vec::new()
        });
        self.0.metrics.scrape(&self.0.state, ledger.as_deref(), &followers)
    }

    /// Sends a span of every request from now on. Only the first call has an effect.
    pub fn trace_with(&self, telemetry: Telemetry) {
        let _ = self.0.telemetry.set(telemetry);
    }

    /// Returns where spans are sent.
    #[must_use]
    pub fn telemetry(&self) -> Option<&Telemetry> {
        self.0.telemetry.get()
    }

    /// The stores behind the engine.
    pub(crate) fn ledgers(&self) -> &Arc<dyn Generations> {
        &self.0.ledgers
    }

    /// Reads the state on a thread that may block.
    pub(crate) async fn read_state<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StateError> + Send + 'static,
    ) -> Result<T, StateError> {
        let gateway = self.clone();
        tokio::task::spawn_blocking(move || gateway.state().read(work)).await.unwrap_or(Err(StateError::Closed))
    }

    /// Returns whether the end has been announced.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Relaxed)
    }

    /// Returns the part of the configuration that a request needs.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    fn repeats(&self) -> &Arc<repeat::Repeats> {
        &self.0.repeats
    }

    /// Returns `/readyz` that no more traffic should come.
    pub fn drain(&self) {
        self.0.is_draining.store(true, Ordering::Relaxed);
    }

    /// Takes the gateway apart to close its state, once no request is under way any more.
    #[must_use]
    pub fn into_state(self) -> Option<State> {
        Arc::into_inner(self.0).map(|parts| parts.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_deadline_takes_precedence_over_its_class() {
        let seconds = Duration::from_secs;
        let endpoints = BTreeMap::from([("/v1/rates".to_owned(), seconds(9))]);
        let deadlines = Deadlines { endpoints, ..Deadlines::default() };
        assert_eq!(deadlines.of("/v1/rates", CostClass::Free), seconds(9));
        assert_eq!(deadlines.of("/v1/chains", CostClass::Free), seconds(5));
        assert_eq!(deadlines.of("/v1/token/holders", CostClass::Heavy), seconds(60));
    }
}
