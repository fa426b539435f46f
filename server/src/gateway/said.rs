//! What an answer says in its headers. Values that are made together are written into one piece of memory.

use std::cell::RefCell;

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use super::limits::Standing;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(super) const CREDIT_COST: HeaderName = HeaderName::from_static("x-credit-cost");
pub(super) const CREDIT_REMAINING: HeaderName = HeaderName::from_static("x-credit-remaining");
pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The lines of nearly every answer, as this thread said them last. In the next one most are the same, and to copy a line
/// takes less than to make it.
#[derive(Debug, Default)]
pub(super) struct Usual {
    lines: HeaderMap,
    cost: Option<i64>,
    remaining: Option<i64>,
    standing: Option<Standing>,
}

impl Usual {
    /// The lines of an answer in JSON to a caller who is told of a limit.
    pub fn lines(id: &str, cost: i64, remaining: i64, standing: Standing) -> HeaderMap {
        thread_local! {
            static LAST: RefCell<Usual> = RefCell::default();
        }
        LAST.with_borrow_mut(|last| last.next(id, cost, remaining, standing))
    }

    fn next(&mut self, id: &str, cost: i64, remaining: i64, standing: Standing) -> HeaderMap {
        if self.lines.is_empty() {
            self.lines = HeaderMap::from_iter([
                // First, where it is found at once.
                (REQUEST_ID, HeaderValue::from_static("")),
                (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
                (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            ]);
        }
        let mut said = Said::default();
        if self.cost.replace(cost) != Some(cost) {
            said.number(CREDIT_COST, cost);
        }
        if self.remaining.replace(remaining) != Some(remaining) {
            said.number(CREDIT_REMAINING, remaining);
        }
        if self.standing.replace(standing) != Some(standing) {
            standing.tell(&mut said);
        }
        said.tell(&mut self.lines);
        let mut lines = self.lines.clone();
        let (_, place) = lines.iter_mut().next().expect("the id has its line");
        *place = HeaderValue::from_str(id).expect("an id is header text");
        lines
    }
}

/// Header lines of ours whose values are made anew.
#[derive(Default)]
pub(super) struct Said {
    text: Vec<u8>,
    /// Each with the end of its value.
    lines: [Option<(HeaderName, usize)>; LINES],
    count: usize,
}

/// Most of them.
const LINES: usize = 5;

impl Said {
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
        let (text, mut begin) = (Bytes::from(self.text), 0);
        for (name, end) in self.lines.into_iter().flatten() {
            let value = HeaderValue::from_maybe_shared(text.slice(begin..end));
            headers.insert(name, value.expect("ids, names and numbers are header text"));
            begin = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::limits::{Quota, Rate, decide};
    use super::*;

    #[test]
    fn the_usual_answer_says_what_others_say_whatever_was_said_before() {
        let standing = |calls| {
            let rate = Rate::new(20, 40);
            Standing::new("medium", rate, &decide(0, 1, Quota::new(rate), calls))
        };
        let mut usual = Usual::default();
        let answers = [("a", 0, 7, 1), ("b", 0, 7, 1), ("c", 5, 2, 1), ("d", 5, 2, 3), ("e", 0, 2, 3), ("f", 0, 7, 1)];
        for (id, cost, remaining, calls) in answers {
            let mut said = Said::default();
            said.text(REQUEST_ID, &[id]);
            said.number(CREDIT_COST, cost);
            said.number(CREDIT_REMAINING, remaining);
            standing(calls).tell(&mut said);
            let mut told = HeaderMap::new();
            said.tell(&mut told);
            let more = [
                ("content-type", "application/json"),
                ("x-content-type-options", "nosniff"),
                ("cache-control", "no-store"),
            ];
            told.extend(more.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))));
            assert_eq!(usual.next(id, cost, remaining, standing(calls)), told);
        }
    }
}
