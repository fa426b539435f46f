//! What an answer says in its headers: values that are written one behind the other into one piece of memory.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Header lines of ours that are made anew for every answer.
#[derive(Default)]
pub(super) struct Said {
    text: Vec<u8>,
    /// Each with the end of its value.
    lines: [Option<(HeaderName, usize)>; LINES],
    count: usize,
}

/// Most of them.
const LINES: usize = 7;
/// Bytes of their values in nearly every answer.
const USUAL: usize = 192;

impl Said {
    pub fn new() -> Self {
        Self { text: Vec::with_capacity(USUAL), ..Self::default() }
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
        let (text, mut begin) = (Bytes::from(self.text), 0);
        for (name, end) in self.lines.into_iter().flatten() {
            let value = HeaderValue::from_maybe_shared(text.slice(begin..end));
            headers.insert(name, value.expect("ids, names and numbers are header text"));
            begin = end;
        }
    }
}
