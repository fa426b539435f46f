//! One request while it runs: the bounds of its head, its ids, its clock, whether its client is still connected; and the
//! outcome that its handler returns for headers and audit.

use std::cell::RefCell;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, Response, Version, header};
use headwater_engine::Details;
use headwater_ledger::Cancel;
use headwater_state::{AuditRow, Caller, KeyId, RequestId, now_ms};
use tokio::sync::Notify;
use uuid::Builder;
use uuid::fmt::Hyphenated;

use super::Problem;
use super::limits::RateState;
use super::problem::Status;

pub(super) const CORRELATION_ID: HeaderName = HeaderName::from_static("x-correlation-id");

/// One request.
#[derive(Debug)]
pub struct Context {
    /// `UUIDv7`, always made here: it keys ledger and audit, so a client must never choose it.
    pub request_id: RequestId,
    /// The client's own id, where it is a proper one.
    pub correlation_id: Option<String>,
    /// The address of the other end of its connection.
    pub address: IpAddr,
    method: Method,
    started: Instant,
    started_ms: i64,
    client_gone: AtomicBool,
    gone: Notify,
    cancel: Cancel,
}

impl Context {
    /// A request that begins; `cancel` stops its work and carries its memory.
    pub(super) fn new(method: Method, headers: &HeaderMap, address: IpAddr, cancel: Cancel) -> Self {
        let started_ms = now_ms();
        Self {
            request_id: new_request_id(started_ms),
            correlation_id: correlation_id(headers),
            address,
            method,
            started: Instant::now(),
            started_ms,
            client_gone: AtomicBool::new(false),
            gone: Notify::new(),
            cancel,
        }
    }

    /// The context of a request that reached a handler.
    pub(crate) fn of(request: &Request) -> Arc<Self> {
        request.extensions().get().cloned().expect("the outermost layer gives every request one")
    }

    pub(super) fn method(&self) -> &str {
        self.method.as_str()
    }

    /// When it began, in Unix milliseconds.
    pub(super) const fn began_ms(&self) -> i64 {
        self.started_ms
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The token that stops the work and holds its memory.
    pub(super) const fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The client closed its connection: nothing can be delivered any more.
    pub(super) fn client_left(&self) {
        self.client_gone.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        self.gone.notify_waiters();
    }

    pub(super) fn is_client_gone(&self) -> bool {
        self.client_gone.load(Ordering::SeqCst)
    }

    /// Resolves when the client has closed its connection.
    pub(super) async fn until_client_leaves(&self) {
        // Registered before the check, so that a change in between is not missed.
        let gone = self.gone.notified();
        if !self.is_client_gone() {
            gone.await;
        }
    }
}

/// 1 to 64 characters `[A-Za-z0-9._-]`; anything else is ignored, so that it cannot reach a log or a header.
fn correlation_id(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CORRELATION_ID)?.to_str().ok()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    ((1..=64).contains(&text.len()) && text.bytes().all(fits)).then(|| text.to_owned())
}

/// A committed charge.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommittedCharge {
    pub cost: i64,
    /// The balance after it.
    pub remaining: i64,
}

/// The outcome that a handler returns besides the response. It travels with the response as an extension, and becomes
/// its headers and its row in the audit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcome {
    /// Path of the route.
    pub endpoint: Option<&'static str>,
    /// The caller.
    pub(super) caller: Option<Caller>,
    /// The caller where it is not a key of an account.
    pub(super) actor: Option<KeyId>,
    /// Keyed digest of the canonical request and the format of its answer.
    pub(super) request_hash: Option<[u8; 32]>,
    /// The parameters themselves, where the audit keeps them.
    pub(super) parameters: Option<Box<str>>,
    /// Id of the earlier request whose answer is replayed.
    pub(super) replayed_id: Option<String>,
    /// A committed charge, audit row included.
    pub(super) charged: Option<CommittedCharge>,
    /// The balance that a free answer states; body and headers say the same.
    pub(super) remaining: Option<i64>,
    /// The state of the caller's rate limit.
    pub(super) rate: Option<RateState>,
    /// True if the audit row is written later, by an [`Opening`](super::Opening).
    pub(super) is_opening: bool,
}

impl Outcome {
    /// The outcome of a request that met a route.
    pub fn of(endpoint: &'static str) -> Self {
        Self { endpoint: Some(endpoint), ..Self::default() }
    }

    /// The same of a caller who is not a key of an account.
    pub fn by(self, actor: &str) -> Self {
        Self { actor: KeyId::from(actor).ok(), ..self }
    }

    /// Gives it to a response.
    pub fn attach(self, mut response: Response<Body>) -> Response<Body> {
        response.extensions_mut().insert(self);
        response
    }

    /// Takes it from a response.
    pub fn take(response: &mut Response<Body>) -> Self {
        response.extensions_mut().remove().unwrap_or_default()
    }

    /// The balance that the answer states.
    pub(super) fn told_remaining(&mut self) -> Option<i64> {
        match self.charged {
            Some(charged) => Some(charged.remaining),
            None => {
                let balance = self.caller.as_ref().map(|caller| caller.account().balance());
                self.remaining = self.remaining.or(balance);
                self.remaining
            }
        }
    }

    /// Returns whether nobody showed a valid key.
    pub(super) const fn is_keyless(&self) -> bool {
        self.caller.is_none() && self.actor.is_none()
    }

    pub(super) fn cost(&self) -> i64 {
        self.charged.map_or(0, |charged| charged.cost)
    }

    /// The row in the audit.
    pub(super) fn audit_row(&self, context: &Context, status: u16, cost: i64, bytes: u64) -> AuditRow {
        let caller = self.caller.as_ref();
        AuditRow {
            request_id: context.request_id,
            correlation_id: context.correlation_id.clone(),
            key_id: caller.map(Caller::key_id).or(self.actor),
            account: caller.map(|caller| caller.account().id()),
            method: context.method.clone(),
            endpoint: self.endpoint,
            status,
            cost,
            duration_ms: u64::try_from(context.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes,
            parameter_hash: self.request_hash,
            parameters: self.parameters.clone(),
            ts_ms: context.started_ms,
        }
    }
}

/// Random bytes that a thread fetches from the system at a time.
const FETCHED: usize = 1024;
/// Bits that count what was made within a millisecond.
const COUNTER_BITS: u32 = 12;

/// The last time and counter that were given out.
static LAST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static RANDOM: RefCell<([u8; FETCHED], usize)> = const { RefCell::new(([0; FETCHED], FETCHED)) };
}

/// A `UUIDv7` (RFC 9562, 5.7) that is greater than all that this process made before, so that a list of requests has them
/// as they came: milliseconds, a counter of 12 bits (6.2, method 1), which past its end continues in the next
/// millisecond, and 62 random bits.
pub(super) fn new_request_id(now_ms: i64) -> RequestId {
    let now = u64::try_from(now_ms).unwrap_or(0) << COUNTER_BITS;
    let following = |last: u64| now.max(last + 1);
    let moment = following(LAST.update(Ordering::Relaxed, Ordering::Relaxed, following));
    let mut rest = [0; 10];
    let counter = u16::try_from(moment & ((1 << COUNTER_BITS) - 1)).expect("a counter has 12 bits");
    rest[..2].copy_from_slice(&counter.to_be_bytes());
    rest[2..].copy_from_slice(&random());
    let id = Builder::from_unix_timestamp_millis(moment >> COUNTER_BITS, &rest).into_uuid();
    let mut text = [0; Hyphenated::LENGTH];
    RequestId::from(id.hyphenated().encode_lower(&mut text)).expect("it has the length of a UUID")
}

fn random() -> [u8; 8] {
    RANDOM.with_borrow_mut(|(bytes, used)| {
        if *used + 8 > FETCHED {
            getrandom::fill(bytes).expect("the operating system gives randomness");
            *used = 0;
        }
        let taken = bytes[*used..*used + 8].try_into().expect("eight bytes were asked for");
        *used += 8;
        taken
    })
}

/// Longest path and query, in bytes.
const MAX_URL_BYTES: usize = 8 << 10;
/// Most header lines.
const MAX_HEADER_LINES: usize = 64;
/// Most bytes of their names and values together.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// Refuses what is too long, and what does not say which host it asks, or says it twice (RFC 9112, 3.2).
pub(super) fn check_head(request: &Request) -> Result<(), Problem> {
    let (uri, headers) = (request.uri(), request.headers());
    if request.version() == Version::HTTP_11 && headers.get_all(header::HOST).iter().count() != 1 {
        let message = "a request of HTTP/1.1 names its host once, in the header Host";
        return Err(Problem::new(Status::BadRequest, message).because("invalid_value"));
    }
    let length = uri.path_and_query().map_or(0, |whole| whole.as_str().len());
    if length > MAX_URL_BYTES {
        return Err(too_long(
            MAX_URL_BYTES,
            format!("path and query have {length} bytes, at most {MAX_URL_BYTES} are taken"),
        ));
    }
    if headers.len() > MAX_HEADER_LINES {
        return Err(too_long(
            MAX_HEADER_LINES,
            format!("there are {} header lines, at most {MAX_HEADER_LINES} are taken", headers.len()),
        ));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > MAX_HEADER_BYTES {
        return Err(too_long(
            MAX_HEADER_BYTES,
            format!("the headers have {bytes} bytes, at most {MAX_HEADER_BYTES} are taken"),
        ));
    }
    Ok(())
}

/// A head beyond what the parser of the library reads: more than a hundred lines, or 64 KiB.
pub(super) fn too_much() -> Problem {
    let message = format!(
        "the head of the request is too long: at most {MAX_URL_BYTES} bytes of path and query, {MAX_HEADER_LINES} header lines and {MAX_HEADER_BYTES} \
         bytes of headers are taken"
    );
    Problem::new(Status::BadRequest, message).because("invalid_value")
}

/// A head that is none.
pub(super) fn unreadable() -> Problem {
    Problem::new(Status::BadRequest, "this is no HTTP request: its first line or one of its headers cannot be read")
        .because("invalid_value")
}

fn too_long(limit: usize, message: String) -> Problem {
    let details = Details { reason: "invalid_value".to_owned(), limit: Some(limit as u64), ..Details::default() };
    Problem { details: Some(Box::new(details)), ..Problem::new(Status::BadRequest, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_state::now_ms;
    use std::collections::BTreeSet;
    use std::thread;
    use uuid::Uuid;

    #[test]
    fn a_correlation_id_that_could_do_harm_is_passed_over() {
        let with = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-correlation-id", text.parse().unwrap());
            correlation_id(&headers)
        };
        assert_eq!(with("job-7.A_b").as_deref(), Some("job-7.A_b"));
        assert_eq!(with(&"x".repeat(64)).map(|text| text.len()), Some(64));
        for text in ["", "a b", "a\"b", "{}", &"x".repeat(65)] {
            assert_eq!(with(text), None, "{text:?}");
        }
    }

    #[test]
    fn ids_of_all_threads_are_unique_and_grow() {
        const EACH: usize = 20_000;
        let before = now_ms();
        let made: Vec<Vec<RequestId>> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..EACH).map(|_| new_request_id(now_ms())).collect())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|ids: &Vec<RequestId>| ids.is_sorted()));
        // What is made by one thread after another one made its own is greater.
        let (first, then) = (new_request_id(now_ms()), thread::spawn(|| new_request_id(now_ms())).join().unwrap());
        assert!(first < then && made.iter().flatten().all(|id| *id < first));
        let all: BTreeSet<&RequestId> = made.iter().flatten().collect();
        assert_eq!(all.len(), 4 * EACH);
        let id = Uuid::parse_str(all.first().unwrap()).unwrap();
        assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
        let (seconds, _) = id.get_timestamp().unwrap().to_unix();
        assert!(i64::try_from(seconds).unwrap() - before / 1000 <= 1);
    }
}
