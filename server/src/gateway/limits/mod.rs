//! Limits of callers: rates, calls at a time, refused keys, plans.
//!
//! A rate is kept per caller and endpoint as a token bucket (`gcra`), in this process (`buckets`) or in Redis
//! (`shared`); above it a call is refused or stands in line (`queue`). Callers are keys. A caller without a key, where
//! none is needed, is the address that it comes from, and one on this machine is not limited: that is local use.

mod admit;
mod buckets;
mod calls;
mod gcra;
mod plan;
mod queue;
mod settings;
mod shared;
mod standing;

use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use headwater_engine::CostClass;

use self::buckets::Buckets;
use self::calls::{Call, Calls};
use self::queue::Lines;
use self::shared::Shared;
use crate::state::KeyId;

#[cfg(test)]
pub(super) use gcra::{Quota, decide};
pub use plan::{NoRate, Plan, Rate};
pub use settings::LimitSettings;
pub use shared::RedisAddress;
pub(super) use standing::Standing;

/// Buckets of callers and endpoints that are kept; those beyond share some.
const BUCKETS: usize = 1 << 20;
/// Addresses that showed wrong keys and are remembered.
const ADDRESSES: usize = 1 << 16;

/// Who calls, as limits see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// A key, by its id.
    Key(KeyId),
    /// An address; of IPv6 the first 64 bits, which is what one customer has.
    Address(IpAddr),
}

impl Hash for Who {
    /// In as few steps as it takes: every call is looked for several times.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Self::Key(id) => hasher.write(id.as_bytes()),
            Self::Address(address) => address.hash(hasher),
        }
    }
}

impl Who {
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

/// What a limit is kept for.
type Bucket = (Who, &'static str);

/// All limits of a gateway.
#[derive(Debug)]
pub(super) struct Limits {
    settings: LimitSettings,
    rates: Buckets<Bucket>,
    /// When those who were refused were told to come back.
    promises: Buckets<Bucket>,
    wrong_keys: Buckets<Who>,
    lines: Lines<Bucket>,
    calls: Calls,
    shared: Option<Shared>,
}

/// A place among the calls of one's own.
#[derive(Debug)]
pub(super) struct Admitted {
    _call: Option<Call>,
}

impl Limits {
    pub fn new(settings: LimitSettings) -> Self {
        Self {
            shared: settings.redis.clone().filter(|_| settings.enabled).map(Shared::new),
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
