//! The success envelope.

use headwater_engine::{Pagination, Warning};
use serde::Serialize;
use utoipa::ToSchema;

use crate::state::RequestId;

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
    #[schema(nullable = false, value_type = String, example = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")]
    pub request_id: Option<RequestId>,
    /// What the caller should know that is no error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrap_leaves_out_fields_without_a_value() {
        let meta = Meta { credit_cost: Some(5), request_id: Some(RequestId::from("id").unwrap()), ..Meta::default() };
        let body = String::from_utf8(meta.wrap("[1]")).unwrap();
        assert_eq!(body, r#"{"data":[1],"meta":{"credit_cost":5,"request_id":"id"}}"#);
        assert_eq!(meta.wrapped_length(3), body.len());
    }
}
