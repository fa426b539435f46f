//! Answers on their way: what they hold until they have left.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use headwater_ledger::Cancel;
use http_body::{Frame, SizeHint};

use crate::state::{RequestId, Unsent};

/// Texts of fewer bytes are not counted once their query is over.
const LARGE: usize = 1 << 20;

/// A text so large that its memory stays with its query until it has left.
pub(super) struct Large {
    body: Body,
    _query: Cancel,
}

impl Large {
    /// The body of a text, large or not.
    pub fn body(text: impl Into<Bytes>, query: &Cancel) -> Body {
        let text = text.into();
        let is_large = text.len() >= LARGE;
        let body = Body::from(text);
        if is_large { Body::new(Self { body, _query: query.clone() }) } else { body }
    }
}

impl HttpBody for Large {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(task)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A charged answer that may be lost with this process. Travels with the response to its connection, which lets go of
/// it when the system has taken the last byte, or nobody takes it any more.
#[derive(Debug)]
pub(super) struct OnItsWay {
    unsent: Arc<Unsent>,
    request_id: RequestId,
}

impl OnItsWay {
    pub const fn new(unsent: Arc<Unsent>, request_id: RequestId) -> Self {
        Self { unsent, request_id }
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.unsent.end(&self.request_id);
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::Memory;
    use headwater_ledger::memory::{FREE_BYTES, Purpose};

    use super::*;

    #[test]
    fn a_large_text_is_counted_until_it_has_left_and_a_small_one_is_not() {
        for (length, counted) in [(LARGE, 5000), (LARGE - 1, 0)] {
            let memory = Memory::new(1 << 20, 1 << 20);
            let query = memory.token();
            let mut held = query.holding(Purpose { what: "the bytes", narrower: "ask for fewer" });
            held.reach(usize::try_from(FREE_BYTES + 5000).unwrap()).unwrap();
            held.keep();
            let body = Large::body(vec![b' '; length], &query);
            assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(length as u64), false));
            drop(query);
            assert_eq!(memory.usage().taken, counted);
            drop(body);
            assert_eq!(memory.usage().taken, 0);
        }
    }
}
