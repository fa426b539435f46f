//! What a listener asks of those who connect.

use std::sync::Arc;
use std::time::Duration;

use super::tls::Tls;

/// What a listener asks of those who connect.
#[derive(Debug, Clone)]
pub struct ListenerConfig {
    /// Connections open at a time; more are closed as they come.
    pub connections: usize,
    /// How long the head of a request may take, from its first byte, and a new connection may say nothing.
    pub head: Duration,
    /// How long a connection may be kept without a request under way.
    pub idle: Duration,
    /// How long a client may take next to nothing of its answer.
    pub stall: Duration,
    /// Certificate and key; `None` serves in clear.
    pub tls: Option<Arc<Tls>>,
}

impl Default for ListenerConfig {
    /// 10,240 connections; 5 s for a head, 60 s idle, 30 s stalled.
    fn default() -> Self {
        Self {
            connections: 10_240,
            head: Duration::from_secs(5),
            idle: Duration::from_mins(1),
            stall: Duration::from_secs(30),
            tls: None,
        }
    }
}
