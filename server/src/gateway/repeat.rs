//! Requests that a client repeats under one `Idempotency-Key`: answered again, paid once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response};
use headwater_engine::Reason;
use headwater_ledger::LedgerError;
use headwater_ledger::read::{Generations, Ledger};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, timeout_at};

use super::Problem;
use super::problem::Status;

/// Longest key.
pub(crate) const LONGEST: usize = 255;
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The key that a request comes under, where it has one.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut shown = headers.get_all(KEY).iter();
    let Some(value) = shown.next() else { return Ok(None) };
    let text = value.to_str().unwrap_or_default();
    // A tab is text to the library of headers.
    if shown.next().is_some() || text.is_empty() || text.len() > LONGEST || text.contains('\t') {
        let message = format!("Idempotency-Key is one text of 1 to {LONGEST} visible ASCII characters");
        return Err(Problem::invalid(Reason::InvalidValue, Some("Idempotency-Key"), message));
    }
    Ok(Some(text.to_owned()))
}

/// Requests under way by account and key, so that those that come meanwhile wait for their answer.
#[derive(Debug, Default)]
pub(super) struct Repeats(Mutex<Places>);

/// Whoever holds the lock of an account and key has its turn.
type Places = HashMap<(i64, String), Arc<tokio::sync::Mutex<()>>>;

/// The turn of one request under its key.
#[derive(Debug)]
pub(super) struct Turn {
    repeats: Arc<Repeats>,
    place: (i64, String),
    guard: Option<OwnedMutexGuard<()>>,
}

impl Repeats {
    /// Waits until no other request under this key is under way, as long as the request that waits may take.
    pub async fn turn(self: &Arc<Self>, account: i64, key: &str, deadline: Instant) -> Result<Turn, Problem> {
        let place = (account, key.to_owned());
        let lock = Arc::clone(self.map().entry(place.clone()).or_default());
        // Made before it waits, so that the place is tidied whatever becomes of the waiting.
        let mut turn = Turn { repeats: Arc::clone(self), place, guard: None };
        match timeout_at(deadline, lock.lock_owned()).await {
            Ok(guard) => {
                turn.guard = Some(guard);
                Ok(turn)
            }
            Err(_) => Err(under_way()),
        }
    }

    fn map(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(self.guard.take());
        let mut map = self.repeats.map();
        // Whoever waits or works holds the lock too.
        if map.get(&self.place).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            map.remove(&self.place);
        }
    }
}

/// Says that an answer was paid by an earlier request.
pub(super) fn mark(response: &mut Response<Body>) {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
}

/// The refusal of a repetition that came too early.
pub(super) fn under_way() -> Problem {
    let message = "another call with the same Idempotency-Key is still under way: send this one again in a moment";
    Problem::new(Status::TooManyRequests, message).because("concurrency").after(1)
}

/// The refusal of a key that belongs to another request.
pub(super) fn mismatch() -> Problem {
    Problem::new(Status::Conflict, "this Idempotency-Key was used for another request: give each request its own")
        .because("idempotency_mismatch")
}

/// A store at one of its generations.
pub(super) struct LedgerAt {
    pub ledgers: Arc<dyn Generations>,
    pub number: u64,
}

impl Generations for LedgerAt {
    fn current(&self) -> Result<Arc<dyn Ledger>, LedgerError> {
        self.ledgers.generation(self.number)
    }

    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>, LedgerError> {
        self.ledgers.generation(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_repetition_is_one_visible_text() {
        let read = |shown: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in shown {
                headers.append(KEY, HeaderValue::from_bytes(value).unwrap());
            }
            key(&headers).map_err(|problem| problem.status)
        };
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[b"order 4711"]), Ok(Some("order 4711".to_owned())));
        assert_eq!(read(&[&[b'x'; LONGEST]]), Ok(Some("x".repeat(LONGEST))));
        let refused: [&[&[u8]]; 5] = [&[b""], &[b"a", b"a"], &[b"a\tb"], &[b"\xe9"], &[&[b'x'; LONGEST + 1]]];
        for shown in refused {
            assert_eq!(read(shown), Err(Status::BadRequest), "{shown:?}");
        }
    }
}
