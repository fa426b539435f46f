//! Further claims about addresses, from an HTTP service of somebody else. Asked only where the configuration names one.

mod answer;
mod circuit;
mod kept;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderValue, header};
use headwater_engine::ClaimProvider;
use headwater_ledger::labels::{Claim, Level, Scope};
use headwater_types::{Address, Chain};
use serde_json::json;
use tokio::runtime::Handle;
use zeroize::Zeroizing;

use crate::events::webhook::egress::{
    DeliveryError, Egress, EgressSettings, Host, Policy, Scheme, Target, TargetError,
};
use answer::ProviderQuestion;
use circuit::Circuit;
use kept::KeptClaims;

/// Most bytes of an answer.
const MAX_BYTES: usize = 64 << 10;

/// The secret by which a provider recognises its caller. It has no `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderKey(Zeroizing<String>);

impl ProviderKey {
    /// Most characters.
    const LONGEST: usize = 4096;

    /// The key of a text; `None` unless it is 1 to 4096 visible ASCII characters.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=Self::LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(Zeroizing::new(text.to_owned())))
    }

    fn header(&self) -> HeaderValue {
        let bearer = Zeroizing::new(format!("Bearer {}", *self.0));
        let mut value = HeaderValue::from_str(&bearer).expect("visible ASCII characters are header text");
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProviderKey(..)")
    }
}

/// The address of a provider: a URL of `http` or `https` without user, password and fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct ProviderUrl {
    text: Zeroizing<String>,
    target: Target,
}

impl ProviderUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let target = Target::parse(text, Policy::LOCAL)?;
        Ok(Self { text: Zeroizing::new(text.to_owned()), target })
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.target.authority
    }

    /// Returns whether what is sent there can be read on the way: it is not encrypted, and not known to stay on this
    /// machine.
    #[must_use]
    pub fn is_open_on_the_way(&self) -> bool {
        let is_here = match &self.target.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        };
        self.target.scheme == Scheme::Http && !is_here
    }
}

/// Scheme and host alone: a path or query may hold a secret.
impl fmt::Display for ProviderUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.target.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        write!(f, "{scheme}://{}/...", self.target.authority)
    }
}

impl fmt::Debug for ProviderUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The settings of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The address.
    pub url: ProviderUrl,
    /// The name that its claims are shown under.
    pub name: Arc<str>,
    /// The secret by which it recognises its caller.
    pub key: Option<ProviderKey>,
    /// The maximum trust in its claims.
    pub level: Level,
    /// The time that one answer may take.
    pub timeout: Duration,
    /// The time for which an answer is used again.
    pub kept: Duration,
}

/// A provider that is asked over HTTP, as `docs/run-it-for-others.md` describes it.
pub struct HttpProvider {
    settings: ProviderSettings,
    headers: HeaderMap,
    client: Egress,
    runtime: Handle,
    kept: KeptClaims,
    circuit: Circuit,
}

/// The reason why a provider made no claims. The text is for callers.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("there was no answer ({})", .0.name())]
    Delivery(DeliveryError),
    #[error("it answered with the status {0}")]
    Status(u16),
    #[error("its answer has more than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("its answer is not of the protocol")]
    Malformed(String),
}

impl AskError {
    /// A word for the log.
    const fn outcome(&self) -> &'static str {
        match self {
            Self::Delivery(trouble) => trouble.name(),
            Self::Status(_) => "refused",
            Self::TooLarge => "too_large",
            Self::Malformed(_) => "malformed",
        }
    }

    /// Returns further details for an operator.
    fn detail(&self) -> Option<String> {
        match self {
            Self::Malformed(why) => Some(why.clone()),
            Self::Status(status) => Some(status.to_string()),
            Self::Delivery(_) | Self::TooLarge => None,
        }
    }
}

impl HttpProvider {
    /// A provider that is asked on a runtime; threads of the runtime itself must not ask it.
    #[must_use]
    pub fn new(settings: ProviderSettings, runtime: Handle) -> Self {
        let deadline = settings.timeout;
        let client = Egress::new(EgressSettings { policy: Policy::LOCAL, deadline, ..EgressSettings::default() });
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(settings.key.as_ref().map(|key| (header::AUTHORIZATION, key.header())));
        let kept = KeptClaims::new(settings.kept);
        Self { settings, headers, client, runtime, kept, circuit: Circuit::default() }
    }

    /// Asks over the network.
    fn ask(&self, asked: ProviderQuestion) -> Result<Vec<Claim>, AskError> {
        let body = json!({"blockchain": asked.scope.name(), "address": asked.address.to_string()}).to_string();
        let request = (self.headers.clone(), Bytes::from(body));
        let answer = self.runtime.block_on(self.client.ask(&self.settings.url.text, request, MAX_BYTES));
        let (status, body) = answer.map_err(AskError::Delivery)?;
        if !(200..300).contains(&status) {
            return Err(AskError::Status(status));
        }
        if body.len() > MAX_BYTES {
            return Err(AskError::TooLarge);
        }
        answer::claims(&body, asked, &self.settings).map_err(AskError::Malformed)
    }
}

impl ClaimProvider for HttpProvider {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn level(&self) -> Level {
        self.settings.level
    }

    fn claims(&self, chain: &str, address: &Address) -> Result<Vec<Claim>, String> {
        let scope = match chain.parse::<Chain>() {
            Ok(chain) => Scope::Chain(chain),
            Err(_) => Scope::Evm,
        };
        let (asked, begun) = (ProviderQuestion { scope, address: *address }, Instant::now());
        if let Some(claims) = self.kept.get(&asked, begun) {
            return Ok(claims);
        }
        if let Err(pause) = self.circuit.enter(begun) {
            return Err(format!("it failed again and again and is not asked for {} s", pause.as_secs().max(1)));
        }
        let answer = self.ask(asked);
        // The line of the audit: which provider received which address.
        tracing::info!(
            provider = &*self.settings.name,
            blockchain = scope.name(),
            address = %address,
            outcome = answer.as_ref().map_or_else(AskError::outcome, |_| "answered"),
            claims = answer.as_ref().map_or(0, Vec::len),
            detail = answer.as_ref().err().and_then(AskError::detail),
            millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "a provider of claims was asked"
        );
        match answer {
            Ok(claims) => {
                self.circuit.succeeded();
                self.kept.keep(asked, claims.clone(), Instant::now());
                Ok(claims)
            }
            Err(error) => {
                self.circuit.failed(Instant::now());
                Err(error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_key_is_visible_ascii_and_never_shown() {
        let key = ProviderKey::parse("canary-1").unwrap();
        assert!(!format!("{key:?}").contains("canary"));
        let header = key.header();
        assert_eq!((header.as_bytes(), header.is_sensitive()), (&b"Bearer canary-1"[..], true));
        let long = "x".repeat(4097);
        assert!(["", "a b", "a\n", "\u{e9}", &long].into_iter().all(|text| ProviderKey::parse(text).is_none()));
    }

    #[test]
    fn provider_url_is_shown_without_path_and_query() {
        let url = ProviderUrl::parse("https://claims.example.com:8443/canary?token=canary").unwrap();
        for shown in [url.to_string(), format!("{url:?}")] {
            assert_eq!(shown, "https://claims.example.com:8443/...");
        }
        for text in ["claims.example.com", "ftp://x", "https://me:canary@claims.example.com/"] {
            assert!(ProviderUrl::parse(text).is_err(), "{text}");
        }
        for (text, open) in [
            ("http://claims.internal/", true),
            ("http://10.0.0.1/", true),
            ("https://10.0.0.1/", false),
            ("http://127.0.0.1:9/", false),
            ("http://localhost/", false),
        ] {
            assert_eq!(ProviderUrl::parse(text).unwrap().is_open_on_the_way(), open, "{text}");
        }
    }
}
