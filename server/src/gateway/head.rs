//! The bounds of a request's head, looked at before anything else.

use axum::http::{HeaderMap, Uri};

use super::Problem;
use super::problem::{Details, Status};

/// Longest path and query, in bytes.
const URL: usize = 8 << 10;
/// Most header lines.
const LINES: usize = 64;
/// Most bytes of their names and values together.
const BYTES: usize = 16 << 10;

/// Refuses what is too long.
pub(super) fn check(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
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

fn too_long(limit: usize, message: String) -> Problem {
    let details = Details { reason: "invalid_value".to_owned(), limit: Some(limit as u64), ..Details::default() };
    Problem { details: Some(Box::new(details)), ..Problem::new(Status::BadRequest, message) }
}
