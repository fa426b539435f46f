//! Sees a charged answer leave.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};

use crate::state::Unsent;

/// A body that notes when all of it was handed to the connection, or nobody takes it any more.
pub(super) struct Sent {
    body: Body,
    unsent: Arc<Unsent>,
    request_id: String,
}

impl Sent {
    pub fn body(body: Body, unsent: Arc<Unsent>, request_id: String) -> Body {
        Body::new(Self { body, unsent, request_id })
    }
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(task));
        if frame.is_none() || self.body.is_end_stream() {
            self.unsent.end(&self.request_id);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.unsent.end(&self.request_id);
    }
}
