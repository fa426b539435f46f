//! Limits of callers: rates, calls at a time, refused keys, plans.
//!
//! A rate is kept per caller and endpoint as a token bucket in this process (`buckets`) or in Redis
//! (`shared`); above it a call is refused or queued (`queue`). Callers are keys. A caller without a key, where none is
//! needed, is the address that it comes from, and one on this machine is not limited: that is local use.

mod buckets;
mod queue;
mod shared;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use headwater_engine::{CostClass, Details};
use headwater_state::{KeyId, Plan, Rate};

use self::buckets::{Buckets, Decision, Quota};
use self::queue::Lines;
use self::shared::SharedLimits;
use super::Problem;
use super::problem::Status;

pub use shared::RedisAddress;

/// Buckets of callers and endpoints that are kept; those beyond share some.
const BUCKETS: usize = 1 << 20;
/// Addresses that showed wrong keys and are remembered.
const ADDRESSES: usize = 1 << 16;
/// The latest time at which a refused caller is asked to come back.
const LATEST_SECS: u64 = 60;
/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;

/// The treatment of a call above its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// It is refused with 429.
    Reject,
    /// It is queued for a while.
    Queue,
}

/// The settings of the limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// True if rates and calls at a time are limited. What protects the process (slots, queues) always is.
    pub enabled: bool,
    /// The treatment of a call above its rate.
    pub overflow: Overflow,
    /// The maximum time a call may be queued, where they do.
    pub longest_wait: Duration,
    /// Most calls in the line of a caller and endpoint.
    pub longest_line: usize,
    /// The plan of keys that have none, and of callers without a key.
    pub plan: Arc<Plan>,
    /// Refused keys of one address.
    pub wrong_keys: Rate,
    /// The Redis where several gateways keep their limits together.
    pub redis: Option<RedisAddress>,
    /// Number of those gateways: each keeps its share while Redis cannot be reached.
    pub replicas: u32,
}

impl Default for LimitSettings {
    /// Nothing is limited, as in a library; `serve` limits by default.
    fn default() -> Self {
        Self {
            enabled: false,
            overflow: Overflow::Reject,
            longest_wait: Duration::from_secs(2),
            longest_line: 100,
            plan: Arc::default(),
            wrong_keys: Rate::new(20, 100),
            redis: None,
            replicas: 1,
        }
    }
}

/// The caller, as limits see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LimitSubject {
    /// A key, by its id.
    Key(KeyId),
    /// An address; of IPv6 the first 64 bits, which is what one customer has.
    Address(IpAddr),
}

impl LimitSubject {
    /// The caller behind an address.
    pub fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & (u128::MAX << 64);
                IpAddr::V6(network.into())
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// A route as limits see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Path of the route.
    pub path: &'static str,
    /// Its class.
    pub class: CostClass,
}

/// The subject and class of a limit.
type Bucket = (LimitSubject, &'static str);

/// All limits of a gateway.
#[derive(Debug)]
pub(super) struct Limits {
    settings: LimitSettings,
    rates: Buckets<Bucket>,
    /// The times at which those who were refused may come back.
    promises: Buckets<Bucket>,
    wrong_keys: Buckets<LimitSubject>,
    lines: Lines<Bucket>,
    calls: Calls,
    shared: Option<SharedLimits>,
}

/// Calls under way by caller.
#[derive(Debug, Default)]
struct Calls(Mutex<CallersWithCalls>);

#[derive(Debug, Default)]
struct CallersWithCalls {
    /// Each caller with a count that is held once here and once by each of its calls.
    callers: HashMap<LimitSubject, Arc<()>>,
    /// Number of callers at which those without a call are removed.
    sweep_at: usize,
}

/// One call under way, counted as long as it is held.
#[derive(Debug)]
pub(super) struct CallSlot(#[expect(dead_code, reason = "it is counted as long as it is held")] Option<Arc<()>>);

impl Calls {
    /// Callers below which none is looked for without a call.
    const FEW: usize = 64;

    /// One more call, unless there are `max` of them.
    fn begin(&self, who: LimitSubject, max: u32) -> Option<CallSlot> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        if held.callers.len() >= held.sweep_at.max(Self::FEW) && !held.callers.contains_key(&who) {
            // When there are many, so that each new one pays for a constant share of it.
            held.callers.retain(|_, calls| Arc::strong_count(calls) > 1);
            held.sweep_at = 2 * held.callers.len();
        }
        let calls = held.callers.entry(who).or_default();
        // More are only begun under the lock; those that end meanwhile may still count.
        (Arc::strong_count(calls) - 1 < max as usize).then(|| CallSlot(Some(Arc::clone(calls))))
    }
}

impl Limits {
    pub fn new(settings: LimitSettings) -> Self {
        Self {
            shared: settings.redis.clone().filter(|_| settings.enabled).map(SharedLimits::new),
            rates: Buckets::new(BUCKETS),
            promises: Buckets::new(BUCKETS),
            wrong_keys: Buckets::new(ADDRESSES),
            lines: Lines::new(settings.longest_line),
            calls: Calls::default(),
            settings,
        }
    }

    /// The plan of who has none.
    pub fn default_plan(&self) -> &Arc<Plan> {
        &self.settings.plan
    }

    /// Refuses an address that showed too many keys that are not valid. Asked for such a key only: a valid one passes.
    pub fn check_address(&self, address: IpAddr) -> Result<(), Problem> {
        if !self.settings.enabled {
            return Ok(());
        }
        let (who, quota) = (LimitSubject::at(address), Quota::new(self.settings.wrong_keys));
        let decision = self.wrong_keys.call(&who, nanoseconds(), quota, 0);
        if decision.remaining > 0 {
            return Ok(());
        }
        let empty_for = quota.interval.saturating_sub(quota.burst - decision.full_in);
        let message = "too many keys that are not valid came from this address: check the header X-API-Key";
        Err(refusal("rate_limited", self.settings.wrong_keys.per_second, message).after(whole_seconds(empty_for)))
    }

    /// A key of this address was refused.
    pub fn note_refused_key(&self, address: IpAddr) {
        if self.settings.enabled {
            self.wrong_keys.call(&LimitSubject::at(address), nanoseconds(), Quota::new(self.settings.wrong_keys), 1);
        }
    }

    /// Checks plan, rate and calls at a time. `who` is `None` where a caller is not limited; `state` becomes that of its
    /// limit, also where the call is refused.
    pub async fn admit(
        &self,
        who: Option<LimitSubject>,
        plan: &Plan,
        gate: Gate,
        client_gone: impl Future<Output = ()>,
        state: &mut Option<RateState>,
    ) -> Result<CallSlot, Problem> {
        let (rate, class) = (plan.rate(gate.class), gate.class.name());
        let Some(who) = who.filter(|_| self.settings.enabled) else {
            return if plan.has_endpoint(gate.path) { Ok(CallSlot(None)) } else { Err(not_in_plan(plan, gate)) };
        };
        let (bucket, quota) = ((who, gate.path), Quota::new(rate));
        if !plan.has_endpoint(gate.path) {
            let decision = self.decide(&bucket, nanoseconds(), quota, 0).await;
            *state = Some(RateState::new(class, rate, &decision));
            return Err(not_in_plan(plan, gate));
        }
        let (decision, waited_ms) = match self.settings.overflow {
            Overflow::Reject => (self.decide(&bucket, nanoseconds(), quota, 1).await, None),
            Overflow::Queue => {
                let started = Instant::now();
                let decision = self.in_line(&bucket, quota, client_gone).await?;
                (decision, Some(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)))
            }
        };
        *state = Some(RateState::new(class, rate, &decision).after_waiting(waited_ms));
        if !decision.is_admitted() {
            return Err(self.too_many(&bucket, quota, rate, &decision));
        }
        self.calls.begin(who, plan.concurrency).ok_or_else(|| {
            let message = format!("{} calls are under way already: wait for one of them to end", plan.concurrency);
            refusal("concurrency", plan.concurrency, message).after(1)
        })
    }

    /// Checks the rate of a page that needs no key, which never waits. `who` is `None` where a caller is not limited.
    pub async fn admit_page(
        &self,
        who: Option<LimitSubject>,
        plan: &Plan,
        path: &'static str,
        state: &mut Option<RateState>,
    ) -> Result<(), Problem> {
        let Some(who) = who.filter(|_| self.settings.enabled) else { return Ok(()) };
        let (rate, class) = (plan.rate(CostClass::Free), CostClass::Free.name());
        let (bucket, quota) = ((who, path), Quota::new(rate));
        let decision = self.decide(&bucket, nanoseconds(), quota, 1).await;
        *state = Some(RateState::new(class, rate, &decision));
        if decision.is_admitted() { Ok(()) } else { Err(self.too_many(&bucket, quota, rate, &decision)) }
    }

    /// The refusal of a call above its rate.
    fn too_many(&self, bucket: &Bucket, quota: Quota, rate: Rate, decision: &Decision) -> Problem {
        let message = format!(
            "{} takes {} calls a second and {} at once from one caller: wait as long as Retry-After says",
            bucket.1, rate.per_second, rate.burst
        );
        let seconds = self.come_back(bucket, quota, decision.retry_in);
        refusal("rate_limited", rate.per_second, message).after(seconds)
    }

    /// One call in its turn. What is not admitted in time is refused, and so is what could not be.
    async fn in_line(
        &self,
        bucket: &Bucket,
        quota: Quota,
        client_gone: impl Future<Output = ()>,
    ) -> Result<Decision, Problem> {
        let before = self.lines.waiting(bucket) as u64;
        let first = self.decide(bucket, nanoseconds(), quota, u64::from(before == 0)).await;
        if before == 0 && first.is_admitted() {
            return Ok(first);
        }
        let wait = (first.full_in + quota.interval * (before + 1)).saturating_sub(quota.burst);
        let refused = Decision { retry_in: wait.max(1), ..first };
        if Duration::from_nanos(wait) > self.settings.longest_wait {
            return Ok(refused);
        }
        let Some(place) = self.lines.join(*bucket) else { return Ok(refused) };
        let admitted = async {
            let _turn = place.turn().await;
            loop {
                let decision = self.decide(bucket, nanoseconds(), quota, 1).await;
                if decision.is_admitted() {
                    return decision;
                }
                tokio::time::sleep(Duration::from_nanos(decision.retry_in)).await;
            }
        };
        tokio::select! {
            waited = tokio::time::timeout(self.settings.longest_wait, admitted) => Ok(waited.unwrap_or(refused)),
            () = client_gone => Err(Problem::new(Status::ClientGone, "the client went away")),
        }
    }

    async fn decide(&self, bucket: &Bucket, now: u64, quota: Quota, calls: u64) -> Decision {
        let Some(shared) = &self.shared else { return self.rates.call(bucket, now, quota, calls) };
        let name = match &bucket.0 {
            LimitSubject::Key(id) => format!("headwater:rate:{id}:{}", bucket.1),
            LimitSubject::Address(address) => format!("headwater:rate:{address}:{}", bucket.1),
        };
        // Computed when it is asked, not when the call began: it must be right for this moment.
        let now = nanoseconds();
        let known = self.rates.full_in(bucket, now);
        match shared.call(&name, now, quota, calls, known).await {
            Some(decision) => {
                self.rates.learn(bucket, now, decision.arrival);
                decision
            }
            None => {
                let share = quota.shared_by(self.settings.replicas);
                self.rates.call(bucket, nanoseconds(), share, calls)
            }
        }
    }

    /// Returns in how many seconds a refused caller may come back. Callers that are refused together get different times,
    /// as many to a second as will be admitted in it.
    fn come_back(&self, bucket: &Bucket, quota: Quota, retry_in: u64) -> u64 {
        let now = nanoseconds();
        let spacing = quota.interval.max(SECOND / (quota.burst / quota.interval));
        self.promises.learn(bucket, now, now + retry_in);
        let promises = Quota { interval: spacing, burst: LATEST_SECS * SECOND };
        let promise = self.promises.call(bucket, now, promises, 1).full_in.saturating_sub(spacing);
        whole_seconds(promise.max(retry_in)).clamp(1, LATEST_SECS)
    }
}

fn refusal(reason: &str, limit: u32, message: impl Into<String>) -> Problem {
    let details = Details { reason: reason.to_owned(), limit: Some(limit.into()), ..Details::default() };
    Problem { details: Some(Box::new(details)), ..Problem::new(Status::TooManyRequests, message) }
}

fn not_in_plan(plan: &Plan, gate: Gate) -> Problem {
    Problem::new(Status::Forbidden, format!("the plan {:?} of this key does not include {}", plan.name, gate.path))
}

/// Nanoseconds of a clock that only goes forward.
fn nanoseconds() -> u64 {
    nanoseconds_at(Instant::now())
}

/// The same at a moment.
fn nanoseconds_at(moment: Instant) -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // 0 is the time before all calls.
    u64::try_from(moment.saturating_duration_since(*START).as_nanos()).unwrap_or(u64::MAX - 1) + 1
}

/// The state of a caller's limit for a class (draft-ietf-httpapi-ratelimit-headers-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RateState {
    class: &'static str,
    rate: Rate,
    remaining: u64,
    full_in_secs: u64,
    waited_ms: Option<u64>,
}

impl RateState {
    pub fn new(class: &'static str, rate: Rate, decision: &Decision) -> Self {
        // Kept in Redis, or as a share of it, a bucket may be smaller than the one that is promised.
        let remaining = decision.remaining.min(rate.burst.into());
        Self { class, rate, remaining, full_in_secs: whole_seconds(decision.full_in), waited_ms: None }
    }

    /// The same after so many milliseconds in the queue.
    pub fn after_waiting(self, waited_ms: Option<u64>) -> Self {
        Self { waited_ms, ..self }
    }

    /// Adds the headers that state it.
    pub fn add_headers(&self, headers: &mut HeaderMap) {
        let Self { class, rate: Rate { per_second, burst }, remaining, full_in_secs, waited_ms } = self;
        let window = burst.div_ceil(*per_second);
        // A class with its parameters as a structured field (RFC 9651).
        let value = |text: String| HeaderValue::try_from(text).expect("names and numbers are header text");
        headers.insert(POLICY, value(format!("\"{class}\";q={burst};w={window}")));
        headers.insert(LIMIT, value(format!("\"{class}\";r={remaining};t={full_in_secs}")));
        if let Some(waited_ms) = waited_ms {
            headers.insert(QUEUE_WAIT, (*waited_ms).into());
        }
    }
}

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const QUEUE_WAIT: HeaderName = HeaderName::from_static("x-queue-wait-ms");

/// Nanoseconds as whole seconds, rounded up.
const fn whole_seconds(nanos: u64) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::buckets::decide;
    use super::*;

    fn who(name: &str) -> LimitSubject {
        LimitSubject::Key(KeyId::from(name).unwrap())
    }

    #[test]
    fn calls_are_counted_by_caller_until_they_end() {
        let calls = Calls::default();
        let first = calls.begin(who("a"), 2).unwrap();
        let second = calls.begin(who("a"), 2).unwrap();
        assert!(calls.begin(who("a"), 2).is_none());
        assert!(calls.begin(who("b"), 2).is_some());
        assert!(calls.begin(who("c"), 0).is_none());
        drop(first);
        assert!(calls.begin(who("a"), 2).is_some());
        drop(second);
    }

    #[test]
    fn idle_callers_are_dropped_when_there_are_many() {
        let calls = Calls::default();
        let stays = calls.begin(who("stays"), 1);
        for number in 0..100_000 {
            assert!(calls.begin(who(&number.to_string()), 1).is_some());
        }
        let kept = calls.0.lock().unwrap().callers.len();
        assert!(kept <= 2 * Calls::FEW, "{kept}");
        assert!(calls.begin(who("stays"), 1).is_none());
        drop(stays);
        assert!(calls.begin(who("stays"), 1).is_some());
    }

    #[test]
    fn the_headers_are_those_of_the_contract() {
        // 3 of 40 taken at 20 a second: full again in 150 ms.
        let quota = Quota::new(Rate::new(20, 40));
        let mut arrival = 0;
        for _ in 0..3 {
            arrival = decide(arrival, 1, quota, 1).arrival;
        }
        let said = |state: RateState| {
            let mut headers = HeaderMap::new();
            state.add_headers(&mut headers);
            headers
        };
        let headers = said(RateState::new("medium", Rate::new(20, 40), &decide(arrival, 1, quota, 0)));
        assert_eq!(headers["ratelimit-policy"], "\"medium\";q=40;w=2");
        assert_eq!(headers["ratelimit"], "\"medium\";r=37;t=1");
        let full = decide(0, 0, Quota::new(Rate::new(5, 10)), 0);
        let waited = RateState::new("heavy", Rate::new(5, 10), &full).after_waiting(Some(12));
        let headers = said(waited);
        assert_eq!(headers["ratelimit-policy"], "\"heavy\";q=10;w=2");
        assert_eq!(headers["ratelimit"], "\"heavy\";r=10;t=0");
        assert_eq!(headers["x-queue-wait-ms"], "12");
    }
}
