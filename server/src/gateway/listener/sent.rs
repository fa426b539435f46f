//! A request under way on its connection, from its head to the last of its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use http_body::{Frame, SizeHint};
use hyper::body::Buf;

use super::watchdog::ConnectionWatchdog;
use crate::gateway::sent::OnItsWay;

/// Bytes of an answer that are given out at a time. HTTP/2 asks for more when its client has room for more; who was
/// given all at once would not be seen to take it.
const PIECE: usize = 64 << 10;

/// Counts a request as long as it lives.
#[derive(Debug)]
pub(super) struct Open {
    watchdog: Arc<ConnectionWatchdog>,
    number: u64,
    answered: bool,
    on_its_way: Option<Arc<OnItsWay>>,
}

impl Open {
    pub fn new(watchdog: &Arc<ConnectionWatchdog>) -> Self {
        Self { number: watchdog.begin(), watchdog: Arc::clone(watchdog), answered: false, on_its_way: None }
    }

    /// The answer is there; what is left is to send it.
    pub fn send(mut self, mut answer: Response<Body>) -> Response<Sent> {
        self.answered = true;
        self.on_its_way = answer.extensions_mut().remove();
        answer.map(|body| {
            if !body.is_end_stream() {
                self.waits(true);
            }
            Sent { body, rest: Bytes::new(), open: Some(self) }
        })
    }

    fn waits(&self, waits: bool) {
        self.watchdog.waits(self.number, waits);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.watchdog.handed_over(self.on_its_way.take());
        self.watchdog.end(self.number, self.answered);
    }
}

/// The body of an answer. Who asks for its next piece has room for it; who does not ask lets it wait.
pub(super) struct Sent {
    body: Body,
    /// What the body gave, and nobody asked for yet.
    rest: Bytes,
    /// Goes with the last piece.
    open: Option<Open>,
}

impl Sent {
    fn piece(&mut self) -> Piece {
        let bytes = if self.rest.len() > PIECE { self.rest.split_to(PIECE) } else { std::mem::take(&mut self.rest) };
        let is_last = self.rest.is_empty() && self.body.is_end_stream();
        Piece { bytes, _open: self.open.take_if(|_| is_last) }
    }
}

impl HttpBody for Sent {
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
    use std::task::Waker;

    use super::*;

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
