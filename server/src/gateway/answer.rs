//! Answers: the success envelope, and what an answer holds until it has left.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Response;
use headwater_engine::{Pagination, Warning};
use headwater_ledger::Cancel;
use headwater_state::{RequestId, UnsentAnswers};
use http_body::{Frame, SizeHint};
use serde::Serialize;
use utoipa::ToSchema;

use super::limits::CallSlot;

/// The `meta` of a success. Fields without a value are left out.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Meta {
    /// Credits deducted by this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub credit_cost: Option<i64>,
    /// Credit balance after this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub credit_remaining: Option<i64>,
    /// Only on lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pagination: Option<Pagination>,
    /// Id of the request, the same as in `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = String, format = "uuid", example = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")]
    pub request_id: Option<RequestId>,
    /// What the caller should know that is no error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// Only on answers with amounts in US dollars: symbols that are valued at one US dollar because their contracts are
    /// pegged and no price of them was imported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pegged: Vec<String>,
}

impl Meta {
    /// The envelope around data that is JSON text already.
    #[must_use]
    pub fn wrap(&self, data: &str) -> Vec<u8> {
        let meta = serde_json::to_string(self).expect("numbers and text have a JSON form");
        [b"{\"data\":", data.as_bytes(), b",\"meta\":", meta.as_bytes(), b"}"].concat()
    }

    /// Bytes of the envelope around so many bytes of data.
    pub(super) fn wrapped_length(&self, data: usize) -> usize {
        self.wrap("").len() + data
    }
}

/// A text so large that its memory stays with its query until it has left.
pub(super) struct LargeBody {
    body: Body,
    _query: Cancel,
}

impl LargeBody {
    /// Texts of fewer bytes are not counted once their query is over.
    pub const FROM: usize = 1 << 20;

    /// The body of such a text.
    pub fn body(text: impl Into<Bytes>, query: &Cancel) -> Body {
        Body::new(Self { body: Body::from(text.into()), _query: query.clone() })
    }
}

impl HttpBody for LargeBody {
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
pub(super) struct InFlightResponse {
    charged: Option<(Arc<UnsentAnswers>, RequestId)>,
    _slot: Option<Arc<CallSlot>>,
}

impl InFlightResponse {
    /// Of an answer; a charged one names its request.
    pub const fn new(charged: Option<(Arc<UnsentAnswers>, RequestId)>, slot: Option<Arc<CallSlot>>) -> Self {
        Self { charged, _slot: slot }
    }

    /// Sends an answer, a charged one with what names its request.
    pub fn send(
        mut response: Response<Body>,
        charged: Option<(Arc<UnsentAnswers>, RequestId)>,
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
    response.body().size_hint().lower() >= LargeBody::FROM as u64
}

impl Drop for InFlightResponse {
    fn drop(&mut self) {
        if let Some((unsent, request_id)) = &self.charged {
            unsent.end(request_id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_ledger::Memory;
    use headwater_ledger::memory::{FREE_BYTES, Purpose};

    #[test]
    fn wrap_leaves_out_fields_without_a_value() {
        let meta = Meta { credit_cost: Some(5), request_id: Some(RequestId::from("id").unwrap()), ..Meta::default() };
        let body = String::from_utf8(meta.wrap("[1]")).unwrap();
        assert_eq!(body, r#"{"data":[1],"meta":{"credit_cost":5,"request_id":"id"}}"#);
        assert_eq!(meta.wrapped_length(3), body.len());
    }

    #[test]
    fn a_large_text_is_counted_until_it_has_left() {
        let memory = Memory::new(1 << 20, 1 << 20);
        let query = memory.token();
        let mut held = query.holding(Purpose { what: "the bytes", narrower: "ask for fewer" });
        held.reach(usize::try_from(FREE_BYTES + 5000).unwrap()).unwrap();
        held.keep();
        let body = LargeBody::body(vec![b' '; LargeBody::FROM], &query);
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(LargeBody::FROM as u64), false));
        drop(query);
        assert_eq!(memory.usage().taken, 5000);
        drop(body);
        assert_eq!(memory.usage().taken, 0);
    }
}
