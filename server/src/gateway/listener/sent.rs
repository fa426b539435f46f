//! A request under way on its connection, from its head to the last of its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use http_body::{Frame, SizeHint};

use super::pulse::Pulse;
use crate::gateway::sent::OnItsWay;

/// Counts a request as long as it lives.
#[derive(Debug)]
pub(super) struct Open {
    pulse: Arc<Pulse>,
    number: u64,
    answered: bool,
}

impl Open {
    pub fn new(pulse: &Arc<Pulse>) -> Self {
        Self { number: pulse.begin(), pulse: Arc::clone(pulse), answered: false }
    }

    /// The answer is there; what is left is to send it.
    pub fn send(mut self, mut answer: Response<Body>) -> Response<Sent> {
        self.answered = true;
        let on_its_way = answer.extensions_mut().remove();
        answer.map(|body| {
            let mut sent = Sent { body, open: self, on_its_way };
            if sent.is_end_stream() {
                sent.hand_over();
            } else {
                sent.open.pulse.waits(sent.open.number, true);
            }
            sent
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.pulse.end(self.number, self.answered);
    }
}

/// The body of an answer. Who asks for its next piece has room for it; who does not ask lets it wait.
pub(super) struct Sent {
    body: Body,
    open: Open,
    on_its_way: Option<Arc<OnItsWay>>,
}

impl Sent {
    fn hand_over(&mut self) {
        self.open.pulse.handed_over(self.on_its_way.take());
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.open.pulse.waits(self.open.number, frame.is_ready());
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            self.hand_over();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
