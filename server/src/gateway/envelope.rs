//! The success envelope.

use headwater_engine::{Answer, Pagination, Warning};
use memchr::memmem;
use serde::Serialize;
use utoipa::ToSchema;

use crate::json::{push_number, push_plain};
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
    #[schema(nullable = false, value_type = String, format = "uuid", example = "019aa1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b")]
    pub request_id: Option<RequestId>,
    /// What the caller should know that is no error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Meta {
    /// The envelope around data that is JSON text already.
    #[must_use]
    pub fn wrap(&self, data: String) -> Vec<u8> {
        const BEFORE: &[u8] = b"{\"data\":";
        let mut body = data.into_bytes();
        body.reserve_exact(Answer::ROOM);
        body.extend_from_slice(BEFORE);
        body.rotate_right(BEFORE.len());
        body.extend_from_slice(b",\"meta\":");
        self.write(&mut body);
        body.push(b'}');
        body
    }

    /// Sets the balance in an envelope around so many bytes of data, which was made with a balance of 0.
    pub(super) fn set_remaining(body: &mut Vec<u8>, data: usize, remaining: i64) {
        const PLACE: &[u8] = b"\"credit_remaining\":0";
        let place = memmem::find(&body[data..], PLACE);
        let digit = data + place.expect("it was made with a balance") + PLACE.len() - 1;
        body.splice(digit..=digit, itoa::Buffer::new().format(remaining).bytes());
    }

    /// As the derived form, which takes several times as long; every call has one or two of these.
    fn write(&self, body: &mut Vec<u8>) {
        let Self { credit_cost, credit_remaining, pagination, request_id, warnings } = self;
        let before = body.len();
        if let Some(cost) = credit_cost {
            body.extend_from_slice(b",\"credit_cost\":");
            push_number(body, *cost);
        }
        if let Some(remaining) = credit_remaining {
            body.extend_from_slice(b",\"credit_remaining\":");
            push_number(body, *remaining);
        }
        if let Some(Pagination { limit, offset, total }) = pagination {
            body.extend_from_slice(b",\"pagination\":{\"limit\":");
            push_number(body, *limit);
            body.extend_from_slice(b",\"offset\":");
            push_number(body, *offset);
            if let Some(total) = total {
                body.extend_from_slice(b",\"total\":");
                push_number(body, *total);
            }
            body.push(b'}');
        }
        if let Some(request_id) = request_id {
            body.extend_from_slice(b",\"request_id\":");
            push_plain(body, request_id);
        }
        if !warnings.is_empty() {
            body.extend_from_slice(b",\"warnings\":");
            serde_json::to_writer(&mut *body, warnings).expect("warnings are made of strings");
        }
        match body.get_mut(before) {
            Some(comma) => *comma = b'{',
            None => body.push(b'{'),
        }
        body.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_is_data_and_meta_without_what_has_no_value() {
        let meta = Meta { credit_cost: Some(5), request_id: Some(RequestId::from("id").unwrap()), ..Meta::default() };
        let body = String::from_utf8(meta.wrap("[1]".to_owned())).unwrap();
        assert_eq!(body, r#"{"data":[1],"meta":{"credit_cost":5,"request_id":"id"}}"#);
    }

    #[test]
    fn a_balance_that_is_set_later_stands_where_it_would_have_stood() {
        let data = r#"{"credit_remaining":0}"#;
        for remaining in [0, 7, 1_234_567_890_123] {
            let meta = Meta { credit_cost: Some(5), credit_remaining: Some(0), ..Meta::default() };
            let mut body = meta.wrap(data.to_owned());
            Meta::set_remaining(&mut body, data.len(), remaining);
            let known = Meta { credit_remaining: Some(remaining), ..meta };
            assert_eq!(String::from_utf8(body).unwrap(), String::from_utf8(known.wrap(data.to_owned())).unwrap());
        }
    }

    #[test]
    fn meta_is_written_as_it_is_described() {
        let warning = Warning::new("c", None, "a\"b");
        for present in 0..64 {
            let is = |bit: u32| present >> bit & 1 == 1;
            let meta = Meta {
                credit_cost: is(0).then_some(-5),
                credit_remaining: is(1).then_some(7),
                pagination: is(2).then_some(Pagination { limit: 1, offset: 2, total: is(5).then_some(3) }),
                request_id: is(3).then(|| RequestId::from("id").unwrap()),
                warnings: if is(4) { vec![warning.clone()] } else { Vec::new() },
            };
            let expected = serde_json::to_string(&meta).unwrap();
            assert_eq!(
                String::from_utf8(meta.wrap("0".to_owned())).unwrap(),
                format!(r#"{{"data":0,"meta":{expected}}}"#)
            );
        }
    }
}
