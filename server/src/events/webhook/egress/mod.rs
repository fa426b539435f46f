//! Sends deliveries out, and only out: an HTTP client for URLs that strangers chose.
//!
//! A name is resolved anew for every delivery, every answer of the resolver must be admitted, and exactly one of the
//! addresses that were checked is dialled, so that no answer can change between check and use. No redirect is followed, no
//! proxy of the environment is asked, nothing is decompressed. One deadline covers names, connection, TLS, head and body.

mod authorities;
mod dial;
mod exchange;
mod lookups;
mod ranges;
mod target;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use axum::body::Bytes;
use axum::http::HeaderMap;
use rustls::pki_types::CertificateDer;
use tokio_rustls::TlsConnector;

pub use authorities::{AuthoritiesError, authorities};
pub use dial::{Resolve, SystemResolver};
pub use ranges::{Reach, reach};
pub use target::{Host, LONGEST, Policy, Scheme, Scope, Target, TargetError};

use super::schedule::Outcome;
use exchange::BodyCapture;
use lookups::Lookups;

/// The time that a delivery may take in all.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// The settings of egress.
#[derive(Clone)]
pub struct EgressSettings {
    /// The policy.
    pub policy: Policy,
    /// The resolver of names.
    pub resolver: Arc<dyn Resolve>,
    /// Certificates that are trusted besides those of the public authorities.
    pub authorities: Vec<CertificateDer<'static>>,
    /// The time that a delivery may take in all.
    pub deadline: Duration,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self { policy: Policy::PUBLIC, resolver: Arc::new(SystemResolver), authorities: Vec::new(), deadline: DEADLINE }
    }
}

/// The reason why an attempt has no status, or none that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryError {
    /// No connection: the name is not known, leads to no admitted address, or nobody answers there. Which of them is not
    /// reported, so that deliveries cannot be used to explore a network.
    Unreachable,
    /// The connection could not be encrypted, or its certificate is not one of the host.
    TlsFailed,
    /// It did not end in time.
    Timeout,
    /// The connection broke off, or the answer was not HTTP.
    BrokenAnswer,
}

impl DeliveryError {
    /// Returns its name in the log of deliveries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::TlsFailed => "tls_failed",
            Self::Timeout => "timeout",
            Self::BrokenAnswer => "broken_answer",
        }
    }
}

/// One attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The outcome.
    pub outcome: Outcome,
    /// The reason why there is none.
    pub trouble: Option<DeliveryError>,
    /// The time it took. Zero where nobody was reached, since it would reveal what [`DeliveryError::Unreachable`] does
    /// not.
    pub duration: Duration,
}

/// The client.
pub struct Egress {
    policy: Policy,
    resolver: Arc<dyn Resolve>,
    deadline: Duration,
    tls: TlsConnector,
    lookups: Lookups,
    own: ArcSwap<Vec<SocketAddr>>,
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Egress").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Egress {
    /// A client.
    #[must_use]
    pub fn new(settings: EgressSettings) -> Self {
        let EgressSettings { policy, resolver, authorities, deadline } = settings;
        let tls = TlsConnector::from(Arc::new(dial::tls_settings(authorities)));
        Self { policy, resolver, deadline, tls, lookups: Lookups::default(), own: ArcSwap::default() }
    }

    /// Names the addresses that this process listens on, which are not targets under any policy.
    pub fn refuse_own(&self, listeners: Vec<SocketAddr>) {
        self.own.store(Arc::new(listeners));
    }

    /// Returns what the client admits.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.policy
    }

    /// Sends a body with headers on behalf of an account and gives what became of it; never longer than the deadline.
    pub async fn post(&self, account: i64, url: &str, headers: HeaderMap, body: Bytes) -> Attempt {
        let started = Instant::now();
        let sent = self.send(account, url, (headers, body), BodyCapture::Nothing);
        let sent = tokio::time::timeout(self.deadline, sent).await;
        let (outcome, trouble) = match sent {
            Ok(Ok((outcome, _))) => (outcome, None),
            Ok(Err(trouble)) => (Outcome { status: None, retry_after_secs: None }, Some(trouble)),
            Err(_) => (Outcome { status: None, retry_after_secs: None }, Some(DeliveryError::Timeout)),
        };
        let duration = if trouble == Some(DeliveryError::Unreachable) { Duration::ZERO } else { started.elapsed() };
        Attempt { outcome, trouble, duration }
    }

    /// Sends a body with headers and gives the status and the body of the answer; never longer than the deadline. A body of
    /// more than `max_bytes` is cut somewhere behind them.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(
        &self,
        url: &str,
        request: (HeaderMap, Bytes),
        max_bytes: usize,
    ) -> Result<(u16, Vec<u8>), DeliveryError> {
        /// No account has this number.
        const OPERATOR: i64 = 0;
        let asked = self.send(OPERATOR, url, request, BodyCapture::Beyond(max_bytes));
        let (outcome, body) =
            tokio::time::timeout(self.deadline, asked).await.unwrap_or(Err(DeliveryError::Timeout))?;
        Ok((outcome.status.unwrap_or_default(), body))
    }

    async fn send(
        &self,
        account: i64,
        url: &str,
        request: (HeaderMap, Bytes),
        keeps: BodyCapture,
    ) -> Result<(Outcome, Vec<u8>), DeliveryError> {
        // What was admitted when the webhook was made may not be any more.
        let target = Target::parse(url, self.policy).map_err(|_| DeliveryError::Unreachable)?;
        let stream = self.connect(account, &target).await?;
        match target.scheme {
            Scheme::Http => exchange::exchange(stream, &target, request, keeps).await,
            Scheme::Https => {
                let stream = self.encrypt(&target, stream).await?;
                exchange::exchange(stream, &target, request, keeps).await
            }
        }
    }
}
