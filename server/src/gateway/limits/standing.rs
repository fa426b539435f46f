//! How a caller stands with its limit, in the headers of every answer it gets.

use super::Rate;
use super::gcra::Decision;
use crate::gateway::said::{LIMIT, POLICY, Said};

/// How a caller stands with the limit of a class (draft-ietf-httpapi-ratelimit-headers-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    class: &'static str,
    rate: Rate,
    remaining: u64,
    full_in_secs: u64,
    waited_ms: Option<u64>,
}

impl Standing {
    pub fn new(class: &'static str, rate: Rate, decision: &Decision) -> Self {
        // Kept in Redis, or as a share of it, a bucket may be smaller than the one that is promised.
        let remaining = decision.remaining.min(rate.burst.into());
        Self { class, rate, remaining, full_in_secs: whole_seconds(decision.full_in), waited_ms: None }
    }

    /// The same after so many milliseconds in line.
    pub fn after_waiting(self, waited_ms: Option<u64>) -> Self {
        Self { waited_ms, ..self }
    }

    /// How long it stood in line, where it did.
    pub const fn waited_ms(&self) -> Option<u64> {
        self.waited_ms
    }

    /// Says so.
    pub fn tell(&self, said: &mut Said) {
        let Self { class, rate, remaining, full_in_secs, .. } = self;
        let window = rate.burst.div_ceil(rate.per_second);
        // A class with its parameters as a structured field (RFC 9651).
        let mut item = |name, [(one, first), (other, second)]: [(&str, u64); 2]| {
            let mut digits = [itoa::Buffer::new(), itoa::Buffer::new()];
            let [a, b] = &mut digits;
            said.text(name, &["\"", class, "\"", one, a.format(first), other, b.format(second)]);
        };
        item(POLICY, [(";q=", rate.burst.into()), (";w=", window.into())]);
        item(LIMIT, [(";r=", *remaining), (";t=", *full_in_secs)]);
    }
}

/// Nanoseconds as whole seconds, rounded up.
pub(super) const fn whole_seconds(nanos: u64) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::super::gcra::{Quota, decide};
    use super::*;

    #[test]
    fn the_headers_are_those_of_the_contract() {
        // 3 of 40 taken at 20 a second: full again in 150 ms.
        let quota = Quota::new(Rate::new(20, 40));
        let mut arrival = 0;
        for _ in 0..3 {
            arrival = decide(arrival, 1, quota, 1).arrival;
        }
        let said = |standing: Standing| {
            let (mut said, mut headers) = (Said::default(), HeaderMap::new());
            standing.tell(&mut said);
            said.tell(&mut headers);
            headers
        };
        let headers = said(Standing::new("medium", Rate::new(20, 40), &decide(arrival, 1, quota, 0)));
        assert_eq!(headers["ratelimit-policy"], "\"medium\";q=40;w=2");
        assert_eq!(headers["ratelimit"], "\"medium\";r=37;t=1");
        let full = decide(0, 0, Quota::new(Rate::new(5, 10)), 0);
        let waited = Standing::new("heavy", Rate::new(5, 10), &full).after_waiting(Some(12));
        let headers = said(waited);
        assert_eq!(headers["ratelimit-policy"], "\"heavy\";q=10;w=2");
        assert_eq!(headers["ratelimit"], "\"heavy\";r=10;t=0");
        assert_eq!(waited.waited_ms(), Some(12));
    }
}
