//! The bounds of a request's head, checked before anything else.

use axum::extract::Request;
use axum::http::{Version, header};

use super::Problem;
use super::problem::{Details, Status};

/// Longest path and query, in bytes.
const URL: usize = 8 << 10;
/// Most header lines.
const LINES: usize = 64;
/// Most bytes of their names and values together.
const BYTES: usize = 16 << 10;

/// Refuses what is too long, and what does not say which host it asks, or says it twice (RFC 9112, 3.2).
pub(super) fn check(request: &Request) -> Result<(), Problem> {
    let (uri, headers) = (request.uri(), request.headers());
    if request.version() == Version::HTTP_11 && headers.get_all(header::HOST).iter().count() != 1 {
        let message = "a request of HTTP/1.1 names its host once, in the header Host";
        return Err(Problem::new(Status::BadRequest, message).because("invalid_value"));
    }
    let length = uri.path_and_query().map_or(0, |whole| whole.as_str().len());
    if length > URL {
        return Err(too_long(URL, format!("path and query have {length} bytes, at most {URL} are taken")));
    }
    if headers.len() > LINES {
        return Err(too_long(LINES, format!("there are {} header lines, at most {LINES} are taken", headers.len())));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes > BYTES {
        return Err(too_long(BYTES, format!("the headers have {bytes} bytes, at most {BYTES} are taken")));
    }
    Ok(())
}

/// A head beyond what the parser of the library reads: more than a hundred lines, or 64 KiB.
pub(super) fn too_much() -> Problem {
    let message = format!(
        "the head of the request is too long: at most {URL} bytes of path and query, {LINES} header lines and {BYTES} \
         bytes of headers are taken"
    );
    Problem::new(Status::BadRequest, message).because("invalid_value")
}

/// A head that is none.
pub(super) fn unreadable() -> Problem {
    Problem::new(Status::BadRequest, "this is no HTTP request: its first line or one of its headers cannot be read")
        .because("invalid_value")
}

fn too_long(limit: usize, message: String) -> Problem {
    let details = Details { reason: "invalid_value".to_owned(), limit: Some(limit as u64), ..Details::default() };
    Problem { details: Some(Box::new(details)), ..Problem::new(Status::BadRequest, message) }
}
