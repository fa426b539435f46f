//! What is known of a request while it runs: its ids, its clock, whether its client is still there.

use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method};
use headwater_ledger::{Cancel, Memory};
use tokio::sync::Notify;

use super::limits::{Admitted, Standing};
use super::listener::Peer;
use super::record::CORRELATION_ID;
use super::request_id;
use crate::state::{AuditRow, Caller, KeyId, RequestId, now_ms};

/// One request.
#[derive(Debug)]
pub struct Context {
    /// `UUIDv7`, always made here: it keys ledger and audit, so a client must never choose it.
    pub request_id: RequestId,
    /// The client's own id, where it is a proper one.
    pub correlation_id: Option<String>,
    /// Where it came from.
    pub peer: Arc<Peer>,
    method: Method,
    started: Instant,
    started_ms: i64,
    runs_since: OnceLock<tokio::time::Instant>,
    client_gone: AtomicBool,
    gone: Notify,
    cancel: OnceLock<Cancel>,
    caller: OnceLock<Arc<Caller>>,
    admitted: OnceLock<Admitted>,
    facts: Mutex<Facts>,
}

/// What a request turns out to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub endpoint: Option<&'static str>,
    /// Whether its row in the audit is left to an [`Opening`](super::Opening).
    pub is_opening: bool,
    /// Who calls where it is no key of an account.
    pub named: Option<KeyId>,
    pub parameter_hash: Option<[u8; 32]>,
    /// The parameters themselves, where the audit is to keep them.
    pub parameters: Option<Box<str>>,
    /// Id of the earlier request whose answer is given again.
    pub answered_id: Option<String>,
    /// Cost and balance of a charge that is committed, audit row included.
    pub charged: Option<(i64, i64)>,
    /// What was left of the credits when the answer was made, where it costs nothing: body and headers say the same.
    pub left: Option<i64>,
    /// How the caller stands with its limit.
    pub standing: Option<Standing>,
}

impl Context {
    /// A request that begins.
    pub(super) fn new(method: Method, headers: &HeaderMap, peer: Arc<Peer>) -> Self {
        let started_ms = now_ms();
        Self {
            request_id: request_id::new(started_ms),
            correlation_id: correlation_id(headers),
            peer,
            method,
            started: Instant::now(),
            started_ms,
            runs_since: OnceLock::new(),
            client_gone: AtomicBool::new(false),
            gone: Notify::new(),
            cancel: OnceLock::new(),
            caller: OnceLock::new(),
            admitted: OnceLock::new(),
            facts: Mutex::default(),
        }
    }

    pub(super) fn facts(&self) -> MutexGuard<'_, Facts> {
        // No code panics while it holds the lock with half a change done.
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the route that the request met, for the audit.
    pub fn set_endpoint(&self, path: &'static str) {
        self.facts().endpoint = Some(path);
    }

    /// Names who called, for the audit.
    pub fn set_caller(&self, id: &str) {
        self.facts().named = KeyId::from(id).ok();
    }

    pub(super) fn method(&self) -> &str {
        self.method.as_str()
    }

    /// When it began.
    pub(super) const fn began(&self) -> Instant {
        self.started
    }

    /// The same in Unix milliseconds.
    pub(super) const fn began_ms(&self) -> i64 {
        self.started_ms
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// When a call that may take so long has to be done. Its time runs from when this is asked first: what it then waits
    /// for, another call under its key of repetition above all, is part of it.
    pub(super) fn deadline(&self, budget: Duration) -> tokio::time::Instant {
        *self.runs_since.get_or_init(tokio::time::Instant::now) + budget
    }

    /// The client closed its connection: nothing can be delivered any more.
    pub(super) fn client_left(&self) {
        self.client_gone.store(true, Ordering::SeqCst);
        self.stop();
        self.gone.notify_waiters();
    }

    /// The token that stops the work and holds its memory, which is taken from there. One of a client that has left is
    /// set already.
    pub(super) fn cancel(&self, memory: &Memory) -> &Cancel {
        let cancel = self.cancel.get_or_init(|| memory.token());
        // Whoever leaves now finds the token, or is found by this look.
        fence(Ordering::SeqCst);
        if self.is_client_gone() {
            cancel.cancel();
        }
        cancel
    }

    /// Stops the work, where any was begun.
    pub(super) fn stop(&self) {
        fence(Ordering::SeqCst);
        if let Some(cancel) = self.cancel.get() {
            cancel.cancel();
        }
    }

    /// Resolves when the client has closed its connection.
    pub(super) async fn until_client_leaves(&self) {
        // Asked for before the look: what happens in between is then not missed.
        let gone = self.gone.notified();
        if !self.is_client_gone() {
            gone.await;
        }
    }

    /// Notes who calls.
    pub(super) fn identify(&self, caller: Arc<Caller>) -> &Caller {
        self.caller.get_or_init(|| caller)
    }

    /// Who calls, where that is known.
    pub(super) fn caller(&self) -> Option<&Arc<Caller>> {
        self.caller.get()
    }

    /// The call is let in, with what it holds until it is over.
    pub(super) fn admit(&self, admitted: Admitted) {
        // A call is let in once; a second time what it holds would be given back at once.
        let _ = self.admitted.set(admitted);
    }

    /// What the answer says is left of the caller's credits.
    pub(super) fn remaining(&self) -> Option<i64> {
        self.remaining_of(&mut self.facts())
    }

    /// The same for who has the facts.
    pub(super) fn remaining_of(&self, facts: &mut Facts) -> Option<i64> {
        let caller = self.caller.get()?;
        Some(match facts.charged {
            Some((_, remaining)) => remaining,
            None => *facts.left.get_or_insert_with(|| caller.account().balance()),
        })
    }

    pub(super) fn set_standing(&self, standing: Standing) {
        self.facts().standing = Some(standing);
    }

    pub(super) fn is_client_gone(&self) -> bool {
        self.client_gone.load(Ordering::Relaxed)
    }

    pub(super) fn audit_row(&self, facts: &Facts, status: u16, cost: i64, bytes: u64, took: Duration) -> AuditRow {
        let caller = self.caller.get().map(Arc::as_ref);
        AuditRow {
            request_id: self.request_id,
            correlation_id: self.correlation_id.clone(),
            key_id: caller.map(Caller::key_id).or(facts.named),
            account: caller.map(|caller| caller.account().id()),
            method: self.method.clone(),
            endpoint: facts.endpoint,
            status,
            cost,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            bytes,
            parameter_hash: facts.parameter_hash,
            parameters: facts.parameters.clone(),
            ts_ms: self.started_ms,
        }
    }
}

/// 1 to 64 characters `[A-Za-z0-9._-]`; anything else is passed over, so that it cannot reach a log or a header.
fn correlation_id(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CORRELATION_ID)?.to_str().ok()?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    ((1..=64).contains(&text.len()) && text.bytes().all(fits)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
