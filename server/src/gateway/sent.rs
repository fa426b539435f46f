//! Answers on their way: what they hold until they have left.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use headwater_ledger::Cancel;
use http_body::{Frame, SizeHint};

use super::limits::CallSlot;
use crate::state::{RequestId, Unsent};

/// A text so large that its memory stays with its query until it has left.
pub(super) struct Large {
    body: Body,
    _query: Cancel,
}

impl Large {
    /// Texts of fewer bytes are not counted once their query is over.
    pub const FROM: usize = 1 << 20;

    /// The body of such a text.
    pub fn body(text: impl Into<Bytes>, query: &Cancel) -> Body {
        Body::new(Self { body: Body::from(text.into()), _query: query.clone() })
    }
}

impl HttpBody for Large {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(task)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What is kept until an answer has left: that a charged one may be lost with this process, and the place of a large one
/// among its caller's calls. Travels with the response to its connection, which lets go of it
/// when the system has taken the last byte, or nobody takes it any more.
#[derive(Debug)]
pub(super) struct OnItsWay {
    charged: Option<(Arc<Unsent>, RequestId)>,
    _slot: Option<Arc<CallSlot>>,
}

impl OnItsWay {
    /// Of an answer; a charged one names its request.
    pub const fn new(charged: Option<(Arc<Unsent>, RequestId)>, slot: Option<Arc<CallSlot>>) -> Self {
        Self { charged, _slot: slot }
    }

    /// Sends an answer, a charged one with what names its request.
    pub fn send(
        mut response: Response<Body>,
        charged: Option<(Arc<Unsent>, RequestId)>,
        slot: &Arc<CallSlot>,
    ) -> Response<Body> {
        let slot = is_large(&response).then(|| Arc::clone(slot));
        if charged.is_some() || slot.is_some() {
            response.extensions_mut().insert(Arc::new(Self::new(charged, slot)));
        }
        response
    }
}

fn is_large(response: &Response<Body>) -> bool {
    response.body().size_hint().lower() >= Large::FROM as u64
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        if let Some((unsent, request_id)) = &self.charged {
            unsent.end(request_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::Memory;
    use headwater_ledger::memory::{FREE_BYTES, Purpose};

    use super::*;

    #[test]
    fn a_large_text_is_counted_until_it_has_left() {
        let memory = Memory::new(1 << 20, 1 << 20);
        let query = memory.token();
        let mut held = query.holding(Purpose { what: "the bytes", narrower: "ask for fewer" });
        held.reach(usize::try_from(FREE_BYTES + 5000).unwrap()).unwrap();
        held.keep();
        let body = Large::body(vec![b' '; Large::FROM], &query);
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(Large::FROM as u64), false));
        drop(query);
        assert_eq!(memory.usage().taken, 5000);
        drop(body);
        assert_eq!(memory.usage().taken, 0);
    }
}
