//! What of the configuration the limits go by.

use std::sync::Arc;
use std::time::Duration;

use super::{Plan, Rate, RedisAddress};
use crate::config::Overflow;

/// What of the configuration the limits go by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitSettings {
    /// Whether rates and calls at a time are limited. What protects the process (slots, queues) always is.
    pub enabled: bool,
    /// What becomes of a call above its rate.
    pub overflow: Overflow,
    /// How long a call may stand in line, where they do.
    pub longest_wait: Duration,
    /// Most calls in the line of a caller and endpoint.
    pub longest_line: usize,
    /// The plan of keys that have none, and of callers without a key.
    pub plan: Arc<Plan>,
    /// Refused keys of one address.
    pub wrong_keys: Rate,
    /// Where several gateways keep their limits together.
    pub redis: Option<RedisAddress>,
    /// Number of those gateways: each keeps its share while Redis cannot be reached.
    pub replicas: u32,
}

impl Default for LimitSettings {
    /// Nothing is limited, as in a library; `serve` limits unless it is told not to.
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
