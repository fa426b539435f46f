//! What a head that cannot be read as a request is answered.
//!
//! The parser of the library refuses it before there is a request that the gateway could answer, with a status and
//! nothing else. In its place goes what every error is: an envelope, an id, the cost of nothing.

use crate::gateway::problem::Problem;
use crate::gateway::{head, request_id};
use crate::state::now_ms;

/// What goes in place of what is to be written, where that is a refusal of the parser.
pub(super) fn in_place_of(written: &[u8]) -> Option<Vec<u8>> {
    // The gateway's own answers have an id.
    let status = written.strip_prefix(b"HTTP/1.1 4")?.get(..2)?;
    if !written.ends_with(b"\r\n\r\n") || written.windows(ID.len()).any(|part| part == ID) {
        return None;
    }
    let problem = match status {
        b"00" => head::unreadable(),
        b"14" | b"31" => head::too_much(),
        _ => return None,
    };
    let date = written.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"date: "));
    Some(answer(&problem, String::from_utf8_lossy(date.unwrap_or_default()).trim_end()))
}

const ID: &[u8] = b"x-request-id";

fn answer(problem: &Problem, date: &str) -> Vec<u8> {
    let request_id = request_id::new(now_ms());
    tracing::info!(request_id = request_id.as_str(), problem = problem.message, "a request could not be read");
    let body = problem.envelope().body_for(request_id.as_str());
    let body = String::from_utf8_lossy(&body);
    format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nx-request-id: {request_id}\r\n\
         x-credit-cost: 0\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\
         content-length: {}\r\n{date}{}\r\n{body}",
        body.len(),
        if date.is_empty() { "" } else { "\r\n" },
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_parser_says_is_replaced() {
        let bare = |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\ndate: now\r\n\r\n").into_bytes();
        for status in ["400 Bad Request", "414 URI Too Long", "431 Request Header Fields Too Large"] {
            let said = String::from_utf8(in_place_of(&bare(status)).unwrap()).unwrap();
            let (head, body) = said.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n") && head.contains("\r\nx-request-id: 0"), "{head}");
            assert!(head.contains(&format!("content-length: {}\r\ndate: now", body.len())), "{head}");
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["error"]["details"]["reason"], "invalid_value");
            assert!(head.contains(body["error"]["request_id"].as_str().unwrap()), "{head}");
        }
        let own = b"HTTP/1.1 400 Bad Request\r\nx-request-id: 1\r\ncontent-length: 0\r\n\r\n";
        for other in [bare("200 OK"), bare("404 Not Found"), own.to_vec(), b"HTTP/1.1 4".to_vec(), Vec::new()] {
            assert_eq!(in_place_of(&other), None);
        }
    }
}
