//! What an answer says in its headers: values that are written one behind the other into one piece of memory.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(super) const CREDIT_COST: HeaderName = HeaderName::from_static("x-credit-cost");
pub(super) const CREDIT_REMAINING: HeaderName = HeaderName::from_static("x-credit-remaining");
pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The lines of nearly every answer, those that are the same for all of them first: to copy them takes less than to look
/// for the place of each.
static USUAL: LazyLock<HeaderMap> = LazyLock::new(|| {
    let anew =
        [REQUEST_ID, CREDIT_COST, CREDIT_REMAINING, POLICY, LIMIT].map(|name| (name, HeaderValue::from_static("")));
    let same = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    same.into_iter().chain(anew).collect()
});

/// Header lines of ours that are made anew for every answer.
#[derive(Default)]
pub(super) struct Said {
    text: Vec<u8>,
    /// Each with the end of its value.
    lines: [Option<(HeaderName, usize)>; LINES],
    count: usize,
}

/// Most of them.
const LINES: usize = 5;
/// Bytes of their values in nearly every answer.
const BYTES: usize = 192;

impl Said {
    pub fn new() -> Self {
        Self { text: Vec::with_capacity(BYTES), ..Self::default() }
    }

    /// A line whose value are these pieces, which are printable text.
    pub fn text(&mut self, name: HeaderName, pieces: &[&str]) {
        for piece in pieces {
            self.text.extend_from_slice(piece.as_bytes());
        }
        self.lines[self.count] = Some((name, self.text.len()));
        self.count += 1;
    }

    /// A line with a number.
    pub fn number(&mut self, name: HeaderName, number: impl itoa::Integer) {
        self.text(name, &[itoa::Buffer::new().format(number)]);
    }

    /// Says all of it.
    pub fn tell(self, headers: &mut HeaderMap) {
        for (name, value) in self.values() {
            headers.insert(name, value);
        }
    }

    /// Says all of it in an answer in JSON, of which the lines are those that nearly every answer has, in that order.
    pub fn usual(self) -> HeaderMap {
        let mut headers = USUAL.clone();
        let same = headers.len() - LINES;
        for ((place, told), (name, value)) in headers.iter_mut().skip(same).zip(self.values()) {
            debug_assert_eq!(*place, name);
            *told = value;
        }
        headers
    }

    fn values(self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        let (text, mut begin) = (Bytes::from(self.text), 0);
        self.lines.into_iter().flatten().map(move |(name, end)| {
            let value = HeaderValue::from_maybe_shared(text.slice(begin..end));
            begin = end;
            (name, value.expect("ids, names and numbers are header text"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_answer_says_the_same_in_either_way() {
        let said = || {
            let mut said = Said::new();
            for (number, name) in [REQUEST_ID, CREDIT_COST, CREDIT_REMAINING, POLICY, LIMIT].into_iter().enumerate() {
                said.text(name, &["value ", &number.to_string()]);
            }
            said
        };
        let mut told = HeaderMap::new();
        said().tell(&mut told);
        let usual = said().usual();
        assert_eq!((told.len(), usual.len()), (5, 8));
        assert!(told.iter().all(|(name, value)| usual[name] == value), "{usual:?}");
        assert_eq!(usual[header::CONTENT_TYPE], "application/json");
        assert_eq!(
            (&usual[header::X_CONTENT_TYPE_OPTIONS], &usual[header::CACHE_CONTROL]),
            (&"nosniff".parse().unwrap(), &"no-store".parse().unwrap())
        );
    }
}
