//! Requests to one node or provider: JSON-RPC and plain HTTP, within a budget, with retries where they can help.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use headwater_ledger::Cancel;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::budget::Budget;
use crate::error::{CallError, NodeError};
use crate::score_card::ScoreCard;

/// The longest time of one request, from its first byte sent to the last byte read.
const TIMEOUT: Duration = Duration::from_mins(1);
/// A request that fails after this time is not tried again where other providers are asked for the same.
const SLOW: Duration = Duration::from_secs(10);
/// The same of a question whose answer is small, such as the newest block.
const BRIEF: Duration = Duration::from_secs(5);
/// Tries of such a question.
const BRIEF_TRIES: u32 = 2;
/// The longest time until a connection is made.
const CONNECT: Duration = Duration::from_secs(10);
/// The maximum size of an answer. Fewer calls at once have smaller ones.
const MAX_ANSWER: u64 = 96 << 20;
/// The lowest rate of requests that can be asked for, in requests a second.
const MIN_RATE: f64 = 0.001;
/// The maximum number of characters of an answer without a result, for callers that show parts of it.
const MAX_EXCERPT: usize = 4_096;
/// Tries of a request that fails for a reason that passes.
const TRIES: u32 = 6;
/// The first wait between two tries; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(250);
/// The longest wait, whatever a provider asks for.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// The time between two looks at the cancel token while waiting.
const STEP: Duration = Duration::from_millis(50);

/// One node or provider. Copies share its budget and its score card.
#[derive(Debug, Clone)]
pub struct Provider {
    url: String,
    name: String,
    login: Option<String>,
    /// True if other providers are asked for the same.
    has_peers: bool,
    agent: Agent,
    /// The longest time of one request, and the number of tries.
    patience: (Duration, u32),
    shared: Arc<ProviderRecord>,
}

/// The part of a provider that its copies share.
#[derive(Debug)]
struct ProviderRecord {
    /// True once it was seen to be of the chain that is followed.
    is_checked: AtomicBool,
    budget: Budget,
    card: Mutex<ScoreCard>,
    number: AtomicU64,
}

/// One answer of a JSON-RPC batch.
#[derive(Deserialize)]
struct Envelope<T> {
    #[serde(default)]
    id: Value,
    result: Option<T>,
    #[serde(default)]
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
}

/// An answer as it came.
struct RawAnswer {
    status: u16,
    /// The wait that the provider asks for.
    after: Option<Duration>,
    text: Vec<u8>,
}

impl Provider {
    /// Reads an address such as `http://127.0.0.1:8545`, `http://user:password@127.0.0.1:8332` or
    /// `https://KEY@api.trongrid.io`: a login without a password is a key of TronGrid. `rate` is the number of
    /// requests a second that it may be asked.
    ///
    /// # Errors
    /// When it is not the address of a web server, or the rate is below 0.001.
    ///
    /// ```
    /// use headwater_node::Provider;
    /// assert_eq!(Provider::new("https://eth.example/v2/SECRET", None).unwrap().name(), "eth.example");
    /// assert_eq!(Provider::new("https://user:p@ss@eth.example?key=SECRET", None).unwrap().name(), "eth.example");
    /// let error = Provider::new("eth.example/v2/SECRET", None).unwrap_err().to_string();
    /// assert!(error.contains("eth.example") && !error.contains("SECRET"), "{error}");
    /// ```
    pub fn new(url: &str, rate: Option<f64>) -> Result<Self, NodeError> {
        if let Some(rate) = rate.filter(|rate| !(rate.is_finite() && *rate >= MIN_RATE)) {
            return Err(NodeError::Rate(rate));
        }
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (login, host) = match authority.rsplit_once('@') {
            Some((login, host)) => (Some(percent_decode_str(login).decode_utf8_lossy().into_owned()), host),
            None => (None, authority),
        };
        let port = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map(|(_, port)| port);
        let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
        let is_web = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https");
        if !is_web || host.is_empty() || !is_port || url.contains(char::is_whitespace) {
            return Err(NodeError::Address { text: host.chars().take(80).collect() });
        }
        let config = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self {
            url: format!("{scheme}://{host}{}", path.trim_end_matches('/')),
            name: host.to_owned(),
            login,
            has_peers: false,
            agent: config.into(),
            patience: (TIMEOUT, TRIES),
            shared: Arc::new(ProviderRecord {
                is_checked: AtomicBool::new(false),
                budget: Budget::new(rate),
                card: Mutex::default(),
                number: AtomicU64::new(1),
            }),
        })
    }

    /// Returns the provider for questions with small answers, which fail after a short time.
    pub(crate) fn brief(&self) -> Self {
        Self { patience: (BRIEF, BRIEF_TRIES), ..self.clone() }
    }

    /// The same, beside other providers that are asked for the same.
    pub(crate) fn with_peers(self) -> Self {
        Self { has_peers: true, ..self }
    }

    /// Runs a check unless it has passed before.
    pub(crate) fn check_once<E>(&self, check: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if !self.shared.is_checked.load(Ordering::Acquire) {
            check()?;
            self.shared.is_checked.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Its host and port. Paths and logins hold keys, and are never shown.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a copy of its score card.
    #[must_use]
    pub fn card(&self) -> ScoreCard {
        self.note(|card| card.clone())
    }

    /// Returns whether it was seen not to have a method.
    pub(crate) fn lacks(&self, method: &str) -> bool {
        self.note(|card| card.lacks.iter().any(|known| known == method))
    }

    /// Writes to its score card.
    pub(crate) fn note<T>(&self, write: impl FnOnce(&mut ScoreCard) -> T) -> T {
        write(&mut self.shared.card.lock().expect("no holder of the lock panics"))
    }

    /// Calls a method.
    ///
    /// # Errors
    /// When the provider refuses or fails after all tries, or the work is cancelled.
    pub fn call(&self, method: &str, params: Value, cancel: &Cancel) -> Result<Value, CallError> {
        let mut answers: Vec<Result<Value, CallError>> = self.batch(method, vec![params], cancel)?;
        answers.pop().unwrap_or_else(|| Err(CallError::Malformed("an empty batch".to_owned())))
    }

    /// Calls a method with several lists of parameters in one request; the answers come in their order. An answer of `null`
    /// is the default of its type.
    ///
    /// # Errors
    /// When the provider refuses or fails the whole request after all tries, or the work is cancelled.
    pub fn batch<T: DeserializeOwned + Default>(
        &self,
        method: &str,
        calls: Vec<Value>,
        cancel: &Cancel,
    ) -> Result<Vec<Result<T, CallError>>, CallError> {
        let count = calls.len() as u64;
        let first = self.shared.number.fetch_add(count, Ordering::Relaxed);
        let requests: Vec<Value> = (first..)
            .zip(calls)
            .map(|(id, params)| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .collect();
        let body = if count == 1 { requests[0].to_string() } else { Value::from(requests).to_string() };
        self.with_tries(cancel, || {
            let text = self.post("", body.as_bytes())?;
            self.answers_of(method, &text, first, count)
        })
    }

    /// Asks a path of the plain HTTP interface of TRON with a JSON body. For an address that ends in `/jsonrpc`, the
    /// interface of the same host is asked.
    ///
    /// # Errors
    /// As [`Provider::call`].
    pub fn ask(&self, path: &str, body: &Value, cancel: &Cancel) -> Result<Value, CallError> {
        let body = body.to_string();
        self.with_tries(cancel, || {
            let text = self.post(path, body.as_bytes())?;
            let answer: Value =
                serde_json::from_slice(&text).map_err(|error| CallError::Malformed(error.to_string()))?;
            // Errors of the interface come with status 200.
            match answer.get("Error").and_then(Value::as_str) {
                Some(error) => Err(refusal_of_text(error).unwrap_or_else(|| CallError::Failed(shown(error)))),
                None => Ok(answer),
            }
        })
    }

    /// Repeats what fails for a reason that passes, with growing waits.
    fn with_tries<T>(&self, cancel: &Cancel, once: impl Fn() -> Result<T, CallError>) -> Result<T, CallError> {
        let mut wait = FIRST_WAIT;
        for tried in 1.. {
            pause(self.shared.budget.take(), cancel)?;
            let began = Instant::now();
            let error = match once() {
                Ok(answer) => {
                    self.shared.budget.answered();
                    self.note(|card| card.answered(began.elapsed()));
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let asked_for = match &error {
                CallError::RateLimited { after } => {
                    self.note(|card| card.rate_limited += 1);
                    let waited = after.unwrap_or(wait).min(MAX_WAIT);
                    let recent = 1.0 / began.elapsed().as_secs_f64().max(0.001);
                    self.shared.budget.slow_down(waited, recent);
                    waited
                }
                CallError::Failed(_) | CallError::Unreachable(_) | CallError::Malformed(_) => {
                    self.note(|card| card.failed += 1);
                    wait
                }
                _ => wait,
            };
            // Where nothing listens, another provider has the answer sooner.
            let is_over = self.has_peers && (matches!(error, CallError::Unreachable(_)) || began.elapsed() >= SLOW);
            if tried >= self.patience.1 || is_over || !error.passes() {
                return Err(error);
            }
            pause(asked_for, cancel)?;
            wait = (wait * 2).min(MAX_WAIT);
        }
        unreachable!("the loop returns at the last try")
    }

    /// Returns the header with the login or key of the caller.
    fn authority(&self) -> Option<(&'static str, String)> {
        let login = self.login.as_ref()?;
        if login.contains(':') {
            return Some(("Authorization", format!("Basic {}", STANDARD.encode(login))));
        }
        // A login without a password is a key, as TronGrid takes it.
        Some(("TRON-PRO-API-KEY", login.clone()))
    }

    /// Describes a connection that failed. Paths and logins hold keys.
    fn cut(&self, error: &ureq::Error) -> CallError {
        let text = format!("the connection failed: {error}").replace(&self.url, &self.name);
        CallError::of_connection(error, text)
    }

    fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, CallError> {
        let base = if path.is_empty() { &self.url } else { self.url.strip_suffix("/jsonrpc").unwrap_or(&self.url) };
        let mut request = self.agent.post(format!("{base}{path}")).header("Content-Type", "application/json");
        request = request.config().timeout_global(Some(self.patience.0)).build();
        if let Some((name, value)) = self.authority() {
            request = request.header(name, value);
        }
        let RawAnswer { status, after, text } = self.received(request.send(body))?;
        let refusal = || refusal_of_text(&String::from_utf8_lossy(&text));
        match status {
            429 | 503 if after.is_some() => Err(CallError::RateLimited { after }),
            429 => Err(refusal().unwrap_or(CallError::RateLimited { after })),
            401 | 403 => Err(refusal().unwrap_or(CallError::Refused(status))),
            413 => Err(CallError::TooMuch("status 413".to_owned())),
            // Bitcoin Core answers errors of calls with status 500 and a body.
            200..=299 | 400 | 404 | 500 if text.starts_with(b"{") || text.starts_with(b"[") => Ok(text),
            404 | 405 => Err(CallError::NoMethod(format!(
                "{} at this address (status {status})",
                if path.is_empty() { "JSON-RPC" } else { path }
            ))),
            200..=299 => {
                Err(refusal()
                    .unwrap_or_else(|| CallError::Malformed(format!("{} bytes that are not JSON", text.len()))))
            }
            status => Err(CallError::Failed(format!("it answered with status {status}"))),
        }
    }

    /// Asks a path of a plain HTTP interface by GET, with headers of the caller, such as one with a key.
    ///
    /// # Errors
    /// As [`Provider::call`]; [`CallError::Missing`] where the path is not found, and [`CallError::TooMuch`] where the
    /// request is refused as it is.
    pub fn get(&self, path: &str, headers: &[(&str, &str)], cancel: &Cancel) -> Result<Value, CallError> {
        self.with_tries(cancel, || self.get_once(path, headers))
    }

    fn get_once(&self, path: &str, headers: &[(&str, &str)]) -> Result<Value, CallError> {
        let mut request = self.agent.get(format!("{}{path}", self.url)).header("Accept", "application/json");
        request = request.config().timeout_global(Some(self.patience.0)).build();
        if let Some((name, value)) = self.authority() {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let RawAnswer { status, after, text } = self.received(request.call())?;
        let excerpt = || {
            let text = String::from_utf8_lossy(&text);
            let words: Vec<&str> = text.split_whitespace().collect();
            format!("status {status}: {}", words.join(" ")).chars().take(MAX_EXCERPT).collect::<String>()
        };
        match status {
            200..=299 => serde_json::from_slice(&text).map_err(|error| CallError::Malformed(error.to_string())),
            429 => Err(CallError::RateLimited { after }),
            503 if after.is_some() => Err(CallError::RateLimited { after }),
            401 | 403 => Err(CallError::Refused(status)),
            404 => Err(CallError::Missing(format!("answer to this request: {}", excerpt()))),
            400..=499 => Err(CallError::TooMuch(excerpt())),
            _ => Err(CallError::Failed(format!("it answered with {}", excerpt()))),
        }
    }

    /// Reads an answer to its end.
    fn received(&self, response: Result<Response<Body>, ureq::Error>) -> Result<RawAnswer, CallError> {
        let mut response = response.map_err(|error| self.cut(&error))?;
        let after = response.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let text = match response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec() {
            Ok(text) => text,
            Err(ureq::Error::BodyExceedsLimit(limit)) => {
                return Err(CallError::TooMuch(format!("an answer of over {limit} bytes")));
            }
            Err(error) => return Err(self.cut(&error)),
        };
        Ok(RawAnswer { status: response.status().as_u16(), after: after.map(Duration::from_secs), text })
    }

    fn answers_of<T: DeserializeOwned + Default>(
        &self,
        method: &str,
        text: &[u8],
        first: u64,
        count: u64,
    ) -> Result<Vec<Result<T, CallError>>, CallError> {
        let malformed = |error: serde_json::Error| CallError::Malformed(error.to_string());
        let envelopes: Vec<Envelope<T>> = match text.first() {
            Some(b'[') => serde_json::from_slice(text).map_err(malformed)?,
            _ => vec![serde_json::from_slice(text).map_err(malformed)?],
        };
        // A refusal of a whole batch comes alone.
        if let ([Envelope { error: Some(error), .. }], true) = (envelopes.as_slice(), count > 1) {
            return Err(match self.refusal(method, error) {
                // Providers limit batches with different messages. Fewer calls at once are the remedy.
                CallError::Failed(text) => CallError::TooMuch(text),
                refusal => refusal,
            });
        }
        let mut answers: Vec<Option<Result<T, CallError>>> = (0..count).map(|_| None).collect();
        for envelope in envelopes {
            let place = if count == 1 { Some(0) } else { envelope.id.as_u64().and_then(|id| id.checked_sub(first)) };
            let slot = place.and_then(|place| answers.get_mut(usize::try_from(place).ok()?));
            let slot = slot.ok_or_else(|| CallError::Malformed("an id that was not asked for".to_owned()))?;
            *slot = Some(match envelope.error.map(|error| self.refusal(method, &error)) {
                // One call too many is asked again with the others.
                Some(limited @ CallError::RateLimited { .. }) => return Err(limited),
                Some(error) => Err(error),
                None => Ok(envelope.result.unwrap_or_default()),
            });
        }
        let missing = || CallError::Malformed("an answer of the batch is missing".to_owned());
        answers.into_iter().map(|answer| answer.ok_or_else(missing)).collect()
    }

    /// Sorts an error of a call by what helps against it. Providers have no common codes: texts decide.
    fn refusal(&self, method: &str, error: &RpcError) -> CallError {
        let text = error.message.to_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
        let message = || format!("error {}: {}", error.code, shown(&error.message));
        if error.code == 429 || says(&["rate limit", "too many requests", "request limit", "capacity", "compute units"])
        {
            CallError::RateLimited { after: None }
        } else if says(&["pruned", "not fully downloaded"]) {
            CallError::Missing(format!("{method}: {}", message()))
        } else if error.code == -32601
            || says(&[
                "method not found",
                "not supported",
                "does not exist/is not available",
                "not available",
                "unsupported method",
            ])
        {
            self.note(|card| card.lacks(method));
            CallError::NoMethod(method.to_owned())
        } else if says(&[
            "block range",
            "range is too",
            "too large",
            "more than 10000",
            "limit exceeded",
            "response size",
            "batch size",
            "too many results",
            "query timeout",
            "timed out",
            "exceeds",
        ]) || error.code == -32005
        {
            CallError::TooMuch(message())
        } else if says(&[
            "not found",
            "unknown block",
            "missing trie node",
            "header not found",
            "pruned",
            "out of range",
        ]) {
            CallError::Missing(message())
        } else {
            CallError::Failed(message())
        }
    }
}

/// Sorts the words in which TRON's interfaces refuse a request; `None` for other words.
fn refusal_of_text(text: &str) -> Option<CallError> {
    let lower = text.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if says(&["suspended for", "allowed_rps", "frequency limit", "daily usage", "computing resources"]) {
        let seconds =
            lower.split_once("suspended for ").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        return Some(CallError::RateLimited { after: seconds.map(Duration::from_secs) });
    }
    says(&["lite fullnode", "unavailable due to config"]).then(|| CallError::NoMethod(shown(text)))
}

fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

/// Waits, unless the work is cancelled.
fn pause(wait: Duration, cancel: &Cancel) -> Result<(), CallError> {
    let until = Instant::now() + wait;
    loop {
        cancel.check().map_err(|_| CallError::Cancelled)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        thread::sleep(left.min(STEP));
    }
}
