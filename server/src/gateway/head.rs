//! The head of a request: its bounds, looked at before anything else, and the memory that it was read into.
//!
//! As it comes, its parts share the buffer of the connection, which reads into another one for as long as they live: two
//! buffers in turn leave holes behind, several kilobytes per connection. So nothing waits for long with such a head.

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Request, Uri, Version, header};

use super::Problem;
use super::problem::{Details, Status};

/// Longest path and query, in bytes.
const URL: usize = 8 << 10;
/// Most header lines.
const LINES: usize = 64;
/// Most bytes of their names and values together.
const BYTES: usize = 16 << 10;

/// Refuses what is too long, and what does not say which host it asks, or says it twice (RFC 9112, 3.2).
pub(super) fn check(parts: &Parts) -> Result<(), Problem> {
    let Parts { uri, headers, version, .. } = parts;
    if *version == Version::HTTP_11 && headers.get_all(header::HOST).iter().count() != 1 {
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

/// Gives the buffer back: all that was to be read of a head has been.
pub(super) fn release(parts: &mut Parts) {
    parts.headers.clear();
    parts.uri = Uri::default();
}

/// A request whose head is its own.
pub(super) fn detached<B>(mut request: Request<B>) -> Request<B> {
    if request.version() >= Version::HTTP_2 {
        return request;
    }
    for value in request.headers_mut().values_mut() {
        let sensitive = value.is_sensitive();
        *value = HeaderValue::from_bytes(value.as_bytes()).expect("it is the value of a header already");
        value.set_sensitive(sensitive);
    }
    // What was read as an address has a text that reads as the same one.
    let uri = request.uri();
    let copied = match (uri.scheme(), uri.authority(), uri.path_and_query()) {
        (None, None, Some(path)) => {
            PathAndQuery::from_maybe_shared(Bytes::copy_from_slice(path.as_str().as_bytes())).map(Uri::from)
        }
        _ => uri.to_string().parse(),
    };
    if let Ok(uri) = copied {
        *request.uri_mut() = uri;
    }
    request
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_of_its_own_says_what_the_shared_one_said() {
        for uri in ["/", "*", "/v1/a%20b?c=d&e=%ff", "http://example.com:80/x?y", "example.com:443", "//a/b?", "/a#b"] {
            let Ok(uri) = uri.parse::<axum::http::Uri>() else { panic!("{uri}") };
            let mut request = Request::builder().uri(uri).header("x-one", "1").body(()).unwrap();
            request.headers_mut().append("x-one", HeaderValue::from_bytes(b"\xff two").unwrap());
            request.headers_mut().get_mut("x-one").unwrap().set_sensitive(true);
            let (expected, found) = (request.clone(), detached(request));
            assert_eq!((found.uri(), found.headers()), (expected.uri(), expected.headers()));
            assert!(found.headers()["x-one"].is_sensitive());
        }
    }
}
