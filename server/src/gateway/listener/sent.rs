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
    pub fn send(mut self, mut answer: Response<Body>) -> Response<Body> {
        self.answered = true;
        let on_its_way = answer.extensions_mut().remove();
        answer.map(|body| {
            if body.is_end_stream() {
                self.pulse.handed_over(on_its_way);
                return body;
            }
            self.pulse.waits(self.number, true);
            Body::new(Sent { body, open: self, on_its_way })
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.pulse.end(self.number, self.answered);
    }
}

/// The body of an answer. Who asks for its next piece has room for it; who does not ask lets it wait.
struct Sent {
    body: Body,
    open: Open,
    on_its_way: Option<Arc<OnItsWay>>,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.open.pulse.waits(self.open.number, frame.is_ready());
        if matches!(frame, Poll::Ready(None)) || self.body.is_end_stream() {
            let on_its_way = self.on_its_way.take();
            self.open.pulse.handed_over(on_its_way);
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
