//! Figures of the running service, for Prometheus.
//!
//! Labels are routes, classes, codes and reasons that are in the code, and chains: never a key, an address, or anything
//! else that a client chose, so that their number stays bounded whatever comes in.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::ENDPOINTS;
use headwater_ledger::Memory;
use headwater_ledger::memory::MemoryUse;
use headwater_ledger::store::LiveStatus;
use headwater_state::State;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::chain_metrics::ChainMetrics;
use super::problem::RefusalDetails;
use super::process_metrics;

/// Media type of the figures.
pub(crate) const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Most pairs of code and reason; what would be more is counted together.
const REFUSALS: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    endpoint: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Class {
    class: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    code: &'static str,
    reason: String,
}

/// The end of a request.
#[derive(Debug)]
pub(super) struct RequestEnd<'a> {
    pub endpoint: Option<&'static str>,
    pub status: u16,
    pub took: Duration,
    pub cost: i64,
    /// True if no valid key was shown.
    pub is_keyless: bool,
    pub refused: Option<&'a RefusalDetails>,
}

type Watch = (Gauge, Box<dyn Fn() -> i64 + Send + Sync>);
type WatchCount = (Counter, Box<dyn Fn() -> u64 + Send + Sync>);

/// The figures. Parts that come and go (streams, webhooks) add theirs with [`Metrics::counter`], [`Metrics::gauge`] and
/// [`Metrics::watch`].
pub struct Metrics {
    registry: Mutex<Registry>,
    process: Registry,
    watched: Mutex<Vec<Watch>>,
    counted: Mutex<Vec<WatchCount>>,
    requests: Family<Route, Counter>,
    keyless: Family<Route, Counter>,
    log_lines: Counter,
    log_lost: Counter,
    log_bytes: Gauge,
    durations: Family<Class, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    refused: Family<Refusal, Counter>,
    known: Mutex<HashSet<Refusal>>,
    credits: Counter,
    waiting: Gauge,
    held: Gauge,
    generation: Gauge,
    chains: ChainMetrics,
    deliveries: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics(..)")
    }
}

impl Metrics {
    pub(super) fn new(state: &State) -> Self {
        let mut registry = Registry::with_prefix("headwater");
        let metrics = Self {
            registry: Mutex::default(),
            process: process_metrics::registry(),
            watched: Mutex::default(),
            counted: Mutex::default(),
            requests: Family::default(),
            keyless: Family::default(),
            log_lines: Counter::default(),
            log_lost: Counter::default(),
            log_bytes: Gauge::default(),
            durations: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0005, 2.0, 18))),
            in_flight: Gauge::default(),
            refused: Family::default(),
            known: Mutex::default(),
            credits: Counter::default(),
            waiting: Gauge::default(),
            held: Gauge::default(),
            generation: Gauge::default(),
            chains: ChainMetrics::new(&mut registry),
            deliveries: Gauge::default(),
        };
        process_metrics::register_build(&mut registry);
        registry.register("requests", "Requests that were answered, by route and status", metrics.requests.clone());
        let help = "Requests without a valid key, by route and status";
        registry.register("keyless_requests", help, metrics.keyless.clone());
        registry.register("audit_log_lines", "Lines of the audit log that were written", metrics.log_lines.clone());
        let help = "Lines of the audit log that were lost, because the disk was full or too slow";
        registry.register("audit_log_lost_lines", help, metrics.log_lost.clone());
        registry.register("audit_log_bytes", "Size of the files of the audit log", metrics.log_bytes.clone());
        registry.register(
            "request_duration_seconds",
            "From the head of a request to its answer, by cost class",
            metrics.durations.clone(),
        );
        registry.register("requests_in_flight", "Requests under way", metrics.in_flight.clone());
        registry.register("refused", "Requests that were refused, by code and reason", metrics.refused.clone());
        registry.register("credits_charged", "Credits charged", metrics.credits.clone());
        registry.register("credits_held", "Credits held by requests under way", metrics.held.clone());
        registry.register("state_waiting", "Operations that wait for the writer of the state", metrics.waiting.clone());
        registry.register("state_commit_seconds", "Commits of the state", state.commits().clone());
        registry.register("ledger_generation", "Generation of the store that answers", metrics.generation.clone());
        registry.register("webhook_deliveries_pending", "Deliveries that wait", metrics.deliveries.clone());
        *metrics.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        metrics
    }

    /// A counter of one's own; `_total` is added to its name. Register it once.
    #[must_use]
    pub fn counter(&self, name: &str, help: &str) -> Counter {
        let counter = Counter::default();
        self.register(|registry| registry.register(name, help, counter.clone()));
        counter
    }

    /// A gauge of one's own, set by who registered it. Register it once.
    #[must_use]
    pub fn gauge(&self, name: &str, help: &str) -> Gauge {
        let gauge = Gauge::default();
        self.register(|registry| registry.register(name, help, gauge.clone()));
        gauge
    }

    /// A gauge that is asked whenever somebody looks.
    pub fn watch(&self, name: &str, help: &str, read: impl Fn() -> i64 + Send + Sync + 'static) {
        let gauge = self.gauge(name, help);
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).push((gauge, Box::new(read)));
    }

    /// A count that is kept elsewhere and asked for whenever somebody looks; it must never fall.
    pub fn watch_count(&self, name: &str, help: &str, read: impl Fn() -> u64 + Send + Sync + 'static) {
        let counter = self.counter(name, help);
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).push((counter, Box::new(read)));
    }

    /// The memory that queries take.
    pub(super) fn watch_memory(&self, memory: &Memory) {
        let gauge = |read: fn(&MemoryUse) -> u64| {
            let memory = memory.clone();
            move || i64::try_from(read(&memory.usage())).unwrap_or(i64::MAX)
        };
        let count = |read: fn(&MemoryUse) -> u64| {
            let memory = memory.clone();
            move || read(&memory.usage())
        };
        self.watch("query_memory_bytes", "Memory that queries under way take", gauge(|usage| usage.taken));
        self.watch("query_memory_most_bytes", "Most that they took at a time", gauge(|usage| usage.most));
        let help = "Queries that were refused because they would have taken more memory than one may";
        self.watch_count("query_memory_over_share", help, count(|usage| usage.refused_queries));
        let help = "Queries that were refused because all together would have taken more memory than there is";
        self.watch_count("query_memory_exhausted", help, count(|usage| usage.refused_total));
    }

    /// The figures of chains.
    pub(crate) const fn chains(&self) -> &ChainMetrics {
        &self.chains
    }

    fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// A request begins; it is in flight until the returned guard is dropped.
    pub(super) fn begin(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub(super) fn end(&self, ended: &RequestEnd<'_>) {
        let path = ended.endpoint.unwrap_or("none");
        let data = ENDPOINTS.iter().find(|endpoint| endpoint.path == path);
        let class = data.map_or("service", |endpoint| endpoint.class.name());
        let route = Route { endpoint: path, status: status_class(ended.status) };
        self.requests.get_or_create(&route).inc();
        if ended.is_keyless {
            self.keyless.get_or_create(&route).inc();
        }
        self.durations.get_or_create(&Class { class }).observe(ended.took.as_secs_f64());
        if ended.cost > 0 {
            self.credits.inc_by(ended.cost.unsigned_abs());
        }
        if let Some(RefusalDetails { code, envelope }) = ended.refused {
            let reason = envelope.error.details.as_ref().map(|details| details.reason.clone()).unwrap_or_default();
            let mut refusal = Refusal { code, reason };
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() < REFUSALS {
                known.insert(refusal.clone());
            } else if !known.contains(&refusal) {
                "other".clone_into(&mut refusal.reason);
            }
            drop(known);
            self.refused.get_or_create(&refusal).inc();
        }
    }

    /// All figures as text. Reads the head of the store and the state: for threads that may block.
    pub(super) fn scrape(
        &self,
        state: &State,
        ledger: Option<&dyn headwater_ledger::Ledger>,
        followers: &[LiveStatus],
    ) -> String {
        let pending = state.read(|tx| {
            let row = tx.row("SELECT count(*) FROM webhook_delivery WHERE status = 'pending'", &[])?;
            row.map_or(Ok(0), |row| row.int(0))
        });
        match pending {
            Ok(pending) => _ = self.deliveries.set(pending),
            Err(error) => tracing::warn!(error = headwater_state::causes(&error), "deliveries cannot be counted"),
        }
        self.waiting.set(i64::try_from(state.waiting()).unwrap_or(i64::MAX));
        self.held.set(state.accounts().held());
        let (written, lost) = state.logged_lines();
        self.log_lines.inc_by(written.saturating_sub(self.log_lines.get()));
        self.log_lost.inc_by(lost.saturating_sub(self.log_lost.get()));
        self.log_bytes.set(state.log_use().map_or(0, |log| i64::try_from(log.bytes).unwrap_or(i64::MAX)));
        if let Some(ledger) = ledger {
            self.generation.set(i64::try_from(ledger.generation()).unwrap_or(i64::MAX));
            self.chains.update(ledger, followers);
        }
        for (gauge, read) in self.watched.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            gauge.set(read());
        }
        for (counter, read) in self.counted.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            counter.inc_by(read().saturating_sub(counter.get()));
        }
        let mut out = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing into a string cannot fail.
        let _ = text::encode_registry(&mut out, &registry)
            .and_then(|()| text::encode_registry(&mut out, &self.process))
            .and_then(|()| text::encode_eof(&mut out));
        out
    }
}

/// A request in flight.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

const fn status_class(status: u16) -> &'static str {
    match status {
        // A stream was opened.
        101 => "101",
        200..=299 => "2xx",
        400..=498 => "4xx",
        // The client went away.
        499 => "499",
        500..=599 => "5xx",
        _ => "other",
    }
}
