//! The watchdog of a connection: until when it may continue as it does; requests and answers report to it.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use http_body::{Frame, SizeHint};
use hyper::body::Buf;

use super::ListenerConfig;
use crate::gateway::answer::InFlightResponse;

/// Bytes that a client must take while an answer waits for it, per time of [`ListenerConfig::stall`].
const TRICKLE: usize = 32 << 10;
/// Times of [`ListenerConfig::stall`] that a body of HTTP/2 may wait for its client, who takes enough of others meanwhile.
const PASSED_OVER: u32 = 20;
/// Requests of one connection that its client may give up before that counts as a flood.
const ABANDONED: u64 = 100;

/// The reason why a connection is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndReason {
    /// Nothing was asked for a while.
    Idle,
    /// The head of a request did not arrive in its time.
    SlowHead,
    /// The client does not take its answer.
    Stalled,
    /// The client asks and gives up, again and again.
    Flood,
}

/// The watchdog of one connection. What is beside the beat says whether there is anything to look for in it: for most
/// requests there is not.
#[derive(Debug)]
pub(super) struct ConnectionWatchdog {
    beat: Mutex<Beat>,
    http2: AtomicBool,
    is_blocked: AtomicBool,
    hands_over: AtomicBool,
    /// Bytes that the socket took, of HTTP/2, since the last look that found enough of them.
    taken: AtomicUsize,
}

#[derive(Debug)]
struct Beat {
    /// Requests so far, those that the client gave up among them, and those under way.
    requests: u64,
    abandoned: u64,
    open: usize,
    /// Since when no request is under way.
    quiet_since: Instant,
    /// True if a byte came after that, and when the first one did, as far as a look has found.
    heard: bool,
    heard_at: Option<Instant>,
    /// Since when the socket takes less than is offered, and what it took since.
    blocked: Option<(Instant, usize)>,
    /// Bodies of HTTP/2 that wait for their client, and since when.
    waiting: HashMap<u64, Instant>,
    /// When their client was last found to have taken enough.
    flowed_at: Instant,
    /// Answers whose last byte was handed over, until all that was handed over is written.
    handed_over: Vec<Arc<InFlightResponse>>,
}

impl ConnectionWatchdog {
    pub fn new(http2: bool) -> Self {
        let now = Instant::now();
        let beat = Beat {
            requests: 0,
            abandoned: 0,
            open: 0,
            quiet_since: now,
            heard: false,
            heard_at: None,
            blocked: None,
            waiting: HashMap::new(),
            flowed_at: now,
            handed_over: Vec::new(),
        };
        Self {
            beat: Mutex::new(beat),
            http2: AtomicBool::new(http2),
            is_blocked: AtomicBool::new(false),
            hands_over: AtomicBool::new(false),
            taken: AtomicUsize::new(0),
        }
    }

    /// The connection speaks HTTP/2.
    pub fn is_http2(&self) -> bool {
        self.http2.load(Ordering::Acquire)
    }

    pub fn speaks_http2(&self) {
        self.http2.store(true, Ordering::Release);
    }

    /// Bytes came.
    pub fn heard(&self) {
        let mut beat = self.beat();
        // When that was is asked for by who looks, a moment later: most heads come whole, and nobody has to know.
        beat.heard = beat.open == 0;
    }

    /// `offered` bytes were to be written and `taken` of them were.
    pub fn wrote(&self, offered: usize, taken: usize) {
        if self.is_http2() {
            self.taken.fetch_add(taken, Ordering::Relaxed);
        }
        if taken >= offered {
            return self.unblock();
        }
        let mut beat = self.beat();
        self.is_blocked.store(true, Ordering::Release);
        if let Some((_, bytes)) = &mut beat.blocked {
            *bytes += taken;
            if *bytes >= TRICKLE {
                beat.blocked = Some((Instant::now(), 0));
            }
        } else {
            beat.blocked = Some((Instant::now(), 0));
        }
    }

    /// Notes that what was taken cannot be written yet.
    pub fn holds_back(&self) {
        if !self.is_blocked.load(Ordering::Acquire) {
            self.is_blocked.store(true, Ordering::Release);
            self.beat().blocked = Some((Instant::now(), 0));
        }
    }

    /// Nothing waits for the socket any more.
    fn unblock(&self) {
        if self.is_blocked.load(Ordering::Acquire) {
            self.is_blocked.store(false, Ordering::Release);
            let mut beat = self.beat();
            beat.blocked = None;
            if beat.open == 0 {
                // Until now its client was busy with an answer.
                beat.quiet_since = Instant::now();
            }
        }
    }

    /// The last byte of an answer was taken to be written.
    pub fn handed_over(&self, in_flight: Option<Arc<InFlightResponse>>) {
        if let Some(in_flight) = in_flight {
            self.beat().handed_over.push(in_flight);
            self.hands_over.store(true, Ordering::Release);
        }
    }

    /// All that was taken is written.
    pub fn flushed(&self) {
        self.unblock();
        self.let_go();
    }

    /// Answers that were handed over are written.
    fn let_go(&self) {
        if self.hands_over.load(Ordering::Acquire) {
            self.hands_over.store(false, Ordering::Release);
            let written = std::mem::take(&mut self.beat().handed_over);
            drop(written);
        }
    }

    /// A request begins; gives its number on this connection.
    pub fn begin(&self) -> u64 {
        let mut beat = self.beat();
        beat.requests += 1;
        beat.open += 1;
        (beat.heard, beat.heard_at) = (false, None);
        beat.requests
    }

    /// The body of a request waits for its client, or does so no more.
    pub fn waits(&self, request: u64, waits: bool) {
        if !self.is_http2() {
            return;
        }
        let mut beat = self.beat();
        if waits {
            beat.waiting.insert(request, Instant::now());
        } else {
            beat.waiting.remove(&request);
        }
    }

    /// A request ended; `answered` when its answer was begun.
    pub fn end(&self, request: u64, answered: bool) {
        let mut beat = self.beat();
        beat.open -= 1;
        beat.abandoned += u64::from(!answered);
        if !beat.waiting.is_empty() {
            beat.waiting.remove(&request);
        }
        if beat.open == 0 {
            beat.quiet_since = Instant::now();
        }
    }

    /// Until when the connection may continue as it does, and why no longer; `None` while requests are at work.
    ///
    /// To be asked after the connection did what it could.
    pub fn until(&self, config: &ListenerConfig) -> Option<(Instant, EndReason)> {
        if !self.is_blocked.load(Ordering::Acquire) {
            // HTTP/2 lets go of an answer after the flush that wrote it.
            self.let_go();
        }
        let mut beat = self.beat();
        if beat.abandoned > ABANDONED && 2 * beat.abandoned > beat.requests {
            return Some((beat.quiet_since, EndReason::Flood));
        }
        let blocked = beat.blocked.map(|(since, _)| since + config.stall);
        let stalled = blocked.into_iter().chain(self.passed_over(&mut beat, config)).min();
        let stalled = stalled.map(|until| (until, EndReason::Stalled));
        let quiet = if beat.open > 0 || beat.blocked.is_some() {
            None
        } else if self.is_http2() {
            Some((beat.quiet_since + config.idle, EndReason::Idle))
        } else if beat.heard {
            Some((*beat.heard_at.get_or_insert_with(Instant::now) + config.head, EndReason::SlowHead))
        } else if beat.requests == 0 {
            Some((beat.quiet_since + config.head, EndReason::SlowHead))
        } else {
            Some((beat.quiet_since + config.idle, EndReason::Idle))
        };
        stalled.into_iter().chain(quiet).min_by_key(|(until, _)| *until)
    }

    /// Until when the bodies that wait for their client may do so. All of them wait for what it takes of any.
    fn passed_over(&self, beat: &mut Beat, config: &ListenerConfig) -> Option<Instant> {
        let since = beat.waiting.values().copied().min()?;
        if self.taken.load(Ordering::Relaxed) >= TRICKLE {
            self.taken.store(0, Ordering::Relaxed);
            beat.flowed_at = Instant::now();
        }
        Some((since.max(beat.flowed_at) + config.stall).min(since + PASSED_OVER * config.stall))
    }

    fn beat(&self) -> MutexGuard<'_, Beat> {
        // No code panics while it holds the lock with half a change done.
        self.beat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of an answer that are given out at a time. HTTP/2 asks for more when its client has room for more; who was
/// given all at once would not be seen to take it.
const PIECE: usize = 64 << 10;

/// Counts a request as long as it lives.
#[derive(Debug)]
pub(super) struct Open {
    watchdog: Arc<ConnectionWatchdog>,
    number: u64,
    answered: bool,
    in_flight: Option<Arc<InFlightResponse>>,
}

impl Open {
    pub fn new(watchdog: &Arc<ConnectionWatchdog>) -> Self {
        Self { number: watchdog.begin(), watchdog: Arc::clone(watchdog), answered: false, in_flight: None }
    }

    /// The answer is there; what is left is to send it.
    pub fn send(mut self, mut answer: Response<Body>) -> Response<PacedBody> {
        self.answered = true;
        self.in_flight = answer.extensions_mut().remove();
        answer.map(|body| {
            if !body.is_end_stream() {
                self.waits(true);
            }
            PacedBody { body, rest: Bytes::new(), open: Some(self) }
        })
    }

    fn waits(&self, waits: bool) {
        self.watchdog.waits(self.number, waits);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.watchdog.handed_over(self.in_flight.take());
        self.watchdog.end(self.number, self.answered);
    }
}

/// The body of an answer. Who asks for its next piece has room for it; who does not ask lets it wait.
pub(super) struct PacedBody {
    body: Body,
    /// The data that the body gave, and nobody asked for yet.
    rest: Bytes,
    /// Goes with the last piece.
    open: Option<Open>,
}

impl PacedBody {
    fn piece(&mut self) -> Piece {
        let bytes = if self.rest.len() > PIECE { self.rest.split_to(PIECE) } else { std::mem::take(&mut self.rest) };
        let is_last = self.rest.is_empty() && self.body.is_end_stream();
        Piece { bytes, _open: self.open.take_if(|_| is_last) }
    }
}

impl HttpBody for PacedBody {
    type Data = Piece;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Piece>, axum::Error>>> {
        if self.rest.is_empty() {
            let frame = Pin::new(&mut self.body).poll_frame(cx);
            if let Some(open) = &self.open {
                open.waits(frame.is_ready());
            }
            match frame {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) => self.rest = bytes,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers.map_data(Piece::from)))),
                },
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                // It did not say before that it was at its end: a last piece without bytes does.
                Poll::Ready(None) => {
                    let open = self.open.take();
                    return Poll::Ready(
                        open.map(|open| Ok(Frame::data(Piece { bytes: Bytes::new(), _open: Some(open) }))),
                    );
                }
            }
        } else if let Some(open) = &self.open {
            open.waits(true);
        }
        Poll::Ready(Some(Ok(Frame::data(self.piece()))))
    }

    fn is_end_stream(&self) -> bool {
        self.open.is_none() || (self.rest.is_empty() && self.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

/// A part of an answer. The last one holds its request until the connection has written it, or nobody takes it any more.
#[derive(Debug)]
pub(super) struct Piece {
    bytes: Bytes,
    _open: Option<Open>,
}

impl From<Bytes> for Piece {
    fn from(bytes: Bytes) -> Self {
        Self { bytes, _open: None }
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        self.bytes.len()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_state::RequestId;
    use std::task::Waker;
    use std::time::Duration;

    fn left(watchdog: &ConnectionWatchdog) -> Option<(u64, EndReason)> {
        let (until, why) = watchdog.until(&ListenerConfig::default())?;
        // What is left is a moment less than the whole time.
        Some((until.saturating_duration_since(Instant::now()).as_secs() + 1, why))
    }

    fn short() -> ListenerConfig {
        ListenerConfig { idle: Duration::from_secs(1), ..ListenerConfig::default() }
    }

    #[test]
    fn head_has_5_seconds_and_an_idle_connection_60() {
        let watchdog = ConnectionWatchdog::new(false);
        assert_eq!(left(&watchdog), Some((5, EndReason::SlowHead)));
        watchdog.heard();
        let request = watchdog.begin();
        assert_eq!(left(&watchdog), None);
        watchdog.end(request, true);
        assert_eq!(left(&watchdog), Some((60, EndReason::Idle)));
        watchdog.heard();
        assert_eq!(left(&watchdog), Some((5, EndReason::SlowHead)));
        assert_eq!(left(&ConnectionWatchdog::new(true)), Some((60, EndReason::Idle)));
    }

    #[test]
    fn a_client_that_takes_too_little_of_its_answer_has_30_seconds() {
        let watchdog = ConnectionWatchdog::new(false);
        watchdog.begin();
        watchdog.wrote(1000, 10);
        assert_eq!(left(&watchdog), Some((30, EndReason::Stalled)));
        watchdog.wrote(990, 990);
        assert_eq!(left(&watchdog), None);
        watchdog.holds_back();
        assert_eq!(left(&watchdog), Some((30, EndReason::Stalled)));
        watchdog.flushed();
        assert_eq!(left(&watchdog), None);
        let watchdog = ConnectionWatchdog::new(true);
        let request = watchdog.begin();
        watchdog.waits(request, true);
        assert_eq!(left(&watchdog), Some((30, EndReason::Stalled)));
        watchdog.waits(request, false);
        assert_eq!(left(&watchdog), None);
    }

    #[test]
    fn reading_client_is_neither_idle_nor_stalled() {
        let watchdog = ConnectionWatchdog::new(false);
        let request = watchdog.begin();
        watchdog.wrote(1, 0);
        watchdog.end(request, true);
        assert_eq!(watchdog.until(&short()).map(|(_, why)| why), Some(EndReason::Stalled));
        watchdog.flushed();
        assert_eq!(watchdog.until(&short()).map(|(_, why)| why), Some(EndReason::Idle));
        watchdog.begin();
        assert_eq!(left(&watchdog), None);
    }

    #[test]
    fn http2_body_waits_longer_while_others_are_read() {
        let watchdog = ConnectionWatchdog::new(true);
        let request = watchdog.begin();
        watchdog.waits(request, true);
        let until = || watchdog.until(&short()).unwrap().0;
        let first = until();
        std::thread::sleep(Duration::from_millis(2));
        watchdog.wrote(TRICKLE - 1, TRICKLE - 1);
        assert_eq!(until(), first);
        watchdog.wrote(1, 1);
        assert!(until() > first);
    }

    #[test]
    fn a_client_that_gives_up_most_of_what_it_asks_is_a_flood() {
        let watchdog = ConnectionWatchdog::new(true);
        for turn in 0..400 {
            let request = watchdog.begin();
            watchdog.end(request, turn % 2 == 0);
        }
        assert_eq!(left(&watchdog), Some((60, EndReason::Idle)), "half of them were answered");
        for _ in 0..2 {
            let request = watchdog.begin();
            watchdog.end(request, false);
        }
        assert_eq!(left(&watchdog).map(|(_, why)| why), Some(EndReason::Flood));
    }

    #[test]
    fn answer_is_in_flight_until_all_of_it_is_written() {
        let watchdog = ConnectionWatchdog::new(false);
        let in_flight = Arc::new(InFlightResponse::new(Some((Arc::default(), RequestId::default())), None));
        let still = Arc::downgrade(&in_flight);
        watchdog.flushed();
        watchdog.handed_over(Some(in_flight));
        watchdog.wrote(100, 100);
        assert!(still.upgrade().is_some(), "what the system took may have been a part");
        watchdog.flushed();
        assert!(still.upgrade().is_none());
    }

    /// The lengths of the pieces that an answer is given out in.
    fn pieces(length: usize) -> Vec<usize> {
        let open = Open::new(&Arc::new(ConnectionWatchdog::new(true)));
        let mut sent = open.send(Response::new(Body::from(vec![b'x'; length]))).into_body();
        let mut pieces = Vec::new();
        let mut left = length;
        while !sent.is_end_stream() {
            assert_eq!(sent.size_hint().exact(), Some(left as u64));
            let frame = Pin::new(&mut sent).poll_frame(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(Some(Ok(frame))) = frame else { panic!("a text is there at once") };
            let piece = frame.into_data().unwrap();
            left -= piece.remaining();
            pieces.push(piece.remaining());
        }
        pieces
    }

    #[test]
    fn a_small_answer_is_one_piece_and_a_large_one_several() {
        assert!(pieces(0).is_empty());
        assert_eq!(pieces(1), [1]);
        assert_eq!(pieces(PIECE), [PIECE]);
        assert_eq!(pieces(2 * PIECE + 1), [PIECE, PIECE, 1]);
    }

    #[test]
    fn a_request_is_under_way_until_its_last_piece_is_gone() {
        let watchdog = Arc::new(ConnectionWatchdog::new(false));
        let mut sent = Open::new(&watchdog).send(Response::new(Body::from("text"))).into_body();
        let frame = Pin::new(&mut sent).poll_frame(&mut Context::from_waker(Waker::noop()));
        drop(sent);
        assert_eq!(watchdog.until(&super::super::ListenerConfig::default()), None);
        drop(frame);
        assert!(watchdog.until(&super::super::ListenerConfig::default()).is_some());
    }
}
