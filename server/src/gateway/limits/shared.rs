//! The same buckets in Redis, for several gateways that share one limit.
//!
//! The script is [`super::buckets::decide`] in whole microseconds of Redis's own clock, so that gateways need not agree on
//! the time. Only spans travel: a clock that jumps there moves nothing here.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisError, Script};

use super::buckets::{Decision, Quota};
use super::nanoseconds;

/// The time that an answer of Redis may take before the gateway decides by itself.
const ANSWER: Duration = Duration::from_millis(100);
/// The time that its first answer may take, to which the connection must be made.
const FIRST: Duration = Duration::from_secs(1);
/// The time for which Redis is not asked after it gave no answer, in nanoseconds.
const PAUSE: u64 = 1_000_000_000;
/// The same where it never gave one: each time somebody waits as long as for the first.
const LONG_PAUSE: u64 = 10 * PAUSE;
/// Nanoseconds per microsecond.
const MICRO: u64 = 1000;

const SCRIPT: &str = r"
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local calls, full_in, late = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local kept = redis.call('GET', KEYS[1])
local arrival = now + full_in
if kept then
    arrival = math.max(tonumber(kept), arrival - late)
end
arrival = math.min(math.max(arrival, now), now + burst)
local wanted = arrival + interval * calls
local retry_in = wanted - now - burst
if retry_in <= 0 then
    arrival = wanted
    retry_in = 0
end
if arrival > now then
    redis.call('SET', KEYS[1], string.format('%.0f', arrival), 'PX', math.ceil((arrival - now) / 1000) + 1000)
end
return {arrival - now, retry_in}
";

/// The address of a Redis, such as `redis://127.0.0.1:6379/0`. The text may hold a password, so it is never shown.
#[derive(Clone)]
pub struct RedisAddress(Client);

impl FromStr for RedisAddress {
    type Err = RedisError;

    fn from_str(text: &str) -> Result<Self, RedisError> {
        Client::open(text).map(Self)
    }
}

impl RedisAddress {
    /// Asks for a sign of life. Blocks.
    ///
    /// # Errors
    /// When there is none within a second or two.
    pub fn ping(&self) -> Result<(), RedisError> {
        let mut connection = self.0.get_connection_with_timeout(FIRST)?;
        connection.set_read_timeout(Some(FIRST))?;
        redis::cmd("PING").query(&mut connection)
    }
}

impl PartialEq for RedisAddress {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for RedisAddress {}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.0.get_connection_info();
        write!(f, "{}/{}", info.addr(), info.redis_settings().db())
    }
}

/// Buckets in Redis.
pub(super) struct SharedLimits {
    address: RedisAddress,
    /// Made by the first call, in its runtime.
    manager: OnceLock<ConnectionManager>,
    script: Script,
    /// True once it gave an answer.
    has_answered: AtomicBool,
    /// Until when Redis is not asked.
    pause_until: AtomicU64,
}

impl fmt::Debug for SharedLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shared({})", self.address)
    }
}

impl SharedLimits {
    /// Buckets at an address, which is connected to when it is first asked and again whenever the connection is lost.
    pub fn new(address: RedisAddress) -> Self {
        Self {
            address,
            manager: OnceLock::new(),
            script: Script::new(SCRIPT),
            has_answered: AtomicBool::new(false),
            pause_until: AtomicU64::new(0),
        }
    }

    fn manager(&self) -> ConnectionManager {
        let made = self.manager.get_or_init(|| {
            let config = ConnectionManagerConfig::new()
                .set_connection_timeout(Some(Duration::from_secs(1)))
                .set_response_timeout(Some(ANSWER))
                .set_number_of_retries(1)
                .set_min_delay(Duration::from_millis(50));
            ConnectionManager::new_lazy_with_config(self.address.0.clone(), config)
                .expect("only a configuration with subscriptions is refused")
        });
        made.clone()
    }

    /// Decides on `calls` calls. `full_in` is the minimum that this gateway has taken from the bucket, in
    /// nanoseconds at `now`: a Redis that lost its memory, or was not asked for a while, learns it again. As it hears of
    /// it later than that, by the time of an answer at most, a Redis that remembers takes as much less for true: else
    /// each call that is slower than the one before would shut the bucket by what it is slower. `None` when Redis gives
    /// no answer.
    pub async fn call(&self, key: &str, now: u64, quota: Quota, calls: u64, full_in: u64) -> Option<Decision> {
        let has_answered = self.has_answered.load(Ordering::Relaxed);
        let (limit, pause) = if has_answered { (ANSWER, PAUSE) } else { (FIRST, LONG_PAUSE) };
        if !self.is_to_be_asked(now, has_answered) {
            return None;
        }
        let mut manager = self.manager();
        let mut call = self.script.key(key);
        call.arg(quota.interval.div_ceil(MICRO)).arg(quota.burst.div_ceil(MICRO)).arg(calls);
        call.arg(full_in / MICRO).arg(limit.as_micros());
        let asked = tokio::time::timeout(limit, call.invoke_async::<(u64, u64)>(&mut manager)).await;
        let error = match asked {
            Ok(Ok((full_in, retry_in))) => {
                if !has_answered && !self.has_answered.swap(true, Ordering::Relaxed) {
                    self.pause_until.store(0, Ordering::Relaxed);
                }
                let full_in = (full_in * MICRO).min(quota.burst);
                let remaining = (quota.burst - full_in) / quota.interval;
                return Some(Decision { arrival: now + full_in, remaining, full_in, retry_in: retry_in * MICRO });
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} ms", limit.as_millis()),
        };
        // Another call may have had an answer since this one began.
        let pause = if self.has_answered.load(Ordering::Relaxed) { PAUSE } else { pause };
        // From now on, as this call may have waited for longer than the pause.
        let paused = self.pause_until.fetch_max(nanoseconds() + pause, Ordering::Relaxed);
        // Of those that waited together only the first says so.
        if paused <= now + pause {
            tracing::warn!(error, "Redis gives no answer: limits are kept here meanwhile, each gateway its share");
        }
        None
    }

    /// Returns whether Redis is not left alone for a while. One that failed and never answered keeps a call waiting for
    /// long, so that one call at a time asks it.
    fn is_to_be_asked(&self, now: u64, has_answered: bool) -> bool {
        let until = self.pause_until.load(Ordering::Relaxed);
        let is_first = || {
            let mine = now + LONG_PAUSE;
            self.pause_until.compare_exchange(until, mine, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        until <= now && (until == 0 || has_answered || is_first())
    }
}
