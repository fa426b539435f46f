//! Reads what a client sent into the JSON object that the desk takes.

use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::FromRequestParts;
use axum::extract::RawPathParams;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use headwater_engine::{Endpoint, Reason, Warning};
use headwater_types::text::shortened;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::problem::{Details, Status};
use super::strict::Strict;
use super::{Problem, Settings};

/// Deepest nesting of a body.
const DEPTH_LIMIT: usize = 32;
/// Most values of a body: three times as many as the largest list that a request may hold.
const VALUES_LIMIT: usize = 1 << 15;
/// How long a whole body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The arguments of a call as they were parsed.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// What the engine takes.
    pub request: Value,
    /// The bytes that were sent: path and query of a GET, the body of a POST.
    pub raw: Vec<u8>,
    /// Query parameters of a POST, which has none.
    pub warnings: Vec<Warning>,
}

impl Arguments {
    /// What was sent, as the audit keeps it where it does. A key that was sent in a wrong place is blotted out.
    pub fn parameters(&self) -> Box<str> {
        /// Characters of them.
        const KEPT: usize = 1024;
        shortened(&without_keys(&String::from_utf8_lossy(&self.raw)), KEPT).into()
    }
}

/// A text without the secrets of keys that stand in it.
fn without_keys(text: &str) -> String {
    const PREFIX: &str = "hw_";
    let mut left = text;
    let mut shown = String::with_capacity(text.len());
    while let Some(place) = left.find(PREFIX) {
        let (before, rest) = left.split_at(place + PREFIX.len());
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        shown.push_str(before);
        shown.push_str("...");
        left = &rest[end..];
    }
    shown + left
}

/// Reads a call of a data endpoint. Some endpoints take their parameters either way.
pub(super) async fn read(
    endpoint: &Endpoint,
    parts: &mut Parts,
    body: &mut Body,
    settings: &Settings,
) -> Result<Arguments, Problem> {
    match parts.method {
        Method::POST => of_body(parts, body, settings).await,
        _ => of_get(endpoint, parts).await,
    }
}

/// The arguments of a GET: the query and the parts of the path, all of them text.
async fn of_get(endpoint: &Endpoint, parts: &mut Parts) -> Result<Arguments, Problem> {
    let raw = parts.uri.path_and_query().map(|whole| whole.as_str().as_bytes().to_vec()).unwrap_or_default();
    let mut fields = read_query(parts.uri.query().unwrap_or_default())?;
    if endpoint.path.contains('{') {
        let path = RawPathParams::from_request_parts(parts, &()).await.map_err(|rejection| {
            Problem::invalid(Reason::InvalidValue, None, format!("the path cannot be read: {}", rejection.body_text()))
        })?;
        for (name, value) in &path {
            if fields.insert(name.to_owned(), Value::String(value.to_owned())).is_some() {
                return Err(given_twice(name));
            }
        }
    }
    Ok(Arguments { request: Value::Object(fields), raw, warnings: Vec::new() })
}

/// The arguments that stand in the query alone.
pub(super) fn of_query(parts: &Parts) -> Result<Arguments, Problem> {
    let query = parts.uri.query().unwrap_or_default();
    let request = Value::Object(read_query(query)?);
    Ok(Arguments { request, raw: query.as_bytes().to_vec(), warnings: Vec::new() })
}

/// The body of a POST, which is to be JSON.
async fn read_post(parts: &Parts, body: &mut Body, settings: &Settings) -> Result<Bytes, Problem> {
    check_media_type(&parts.headers)?;
    let raw = read_body(&parts.headers, body, settings.body_limit).await?;
    if raw.iter().all(u8::is_ascii_whitespace) {
        return Err(Problem::new(Status::UnsupportedMediaType, "the body is empty: a JSON object is expected"));
    }
    Ok(raw)
}

/// The arguments of a POST: its JSON body.
fn of_post(parts: &Parts, raw: Vec<u8>) -> Result<Arguments, Problem> {
    let warnings = meaningless(parts, ": parameters go into the JSON body")?;
    check_shape(&raw)?;
    let Strict(request) = serde_json::from_slice(&raw).map_err(|error| {
        let what = if error.is_data() { "the body cannot be taken" } else { "the body is no JSON" };
        Problem::invalid(Reason::InvalidJson, None, format!("{what}: {error}"))
    })?;
    if !request.is_object() {
        return Err(Problem::invalid(
            Reason::InvalidType,
            None,
            "the body must be a JSON object, such as {\"blockchain\": \"ethereum\"}",
        ));
    }
    Ok(Arguments { request, raw, warnings })
}

/// Warnings of parameters in the query of a call that takes none there.
fn meaningless(parts: &Parts, instead: &str) -> Result<Vec<Warning>, Problem> {
    let given = read_query(parts.uri.query().unwrap_or_default())?;
    let warning = |name: String| {
        Warning::new("unknown_field", Some(&name), format!("the query parameter {name:?} has no meaning here{instead}"))
    };
    Ok(Warning::merged(given.into_iter().map(|(name, _)| warning(name))))
}

/// The arguments of a call that takes none.
pub(super) fn of_nothing(parts: &Parts) -> Result<Arguments, Problem> {
    Ok(Arguments { warnings: meaningless(parts, "")?, ..Arguments::default() })
}

/// The arguments that stand in the body alone.
pub(super) async fn of_body(parts: &Parts, body: &mut Body, settings: &Settings) -> Result<Arguments, Problem> {
    let raw = read_post(parts, body, settings).await?;
    of_post(parts, raw.into())
}

/// The JSON object that a request brings as its body.
pub(crate) async fn read_json(parts: &Parts, body: &mut Body, settings: &Settings) -> Result<Value, Problem> {
    of_body(parts, body, settings).await.map(|arguments| arguments.request)
}

fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |message: String| Err(Problem::new(Status::UnsupportedMediaType, message));
    let mut stated = headers.get_all(header::CONTENT_TYPE).iter();
    let Some(value) = stated.next() else {
        return refused("this call needs a JSON body with the header `Content-Type: application/json`".to_owned());
    };
    if stated.next().is_some() {
        return refused("the header Content-Type stands there more than once".to_owned());
    }
    let text = value.to_str().unwrap_or("(no text)");
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let json = kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
    let utf8 = parts.all(|part| {
        let (name, set) = part.split_once('=').unwrap_or((part, ""));
        let set = set.trim().trim_matches('"');
        !name.trim().eq_ignore_ascii_case("charset")
            || set.eq_ignore_ascii_case("utf-8")
            || set.eq_ignore_ascii_case("utf8")
    });
    if !json || !utf8 {
        return refused(format!("{text:?} is not taken: send `Content-Type: application/json` in UTF-8"));
    }
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    match encodings.find(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        Some(encoding) => refused(format!("{encoding:?} bodies are not taken: send plain JSON")),
        None => Ok(()),
    }
}

async fn read_body(headers: &HeaderMap, body: &mut Body, limit: usize) -> Result<Bytes, Problem> {
    let too_large = || {
        let details =
            Details { reason: "payload_too_large".to_owned(), limit: Some(limit as u64), ..Details::default() };
        let message = format!("the body is larger than the {limit} bytes that are taken");
        Problem { details: Some(Box::new(details)), ..Problem::new(Status::PayloadTooLarge, message) }
    };
    let stated = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if stated.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::invalid(Reason::InvalidJson, None, "the body broke off before its end")),
        Err(_) => {
            let message = format!("the body did not arrive within {} seconds", BODY_TIME.as_secs());
            Err(Problem::invalid(Reason::InvalidValue, None, message))
        }
    }
}

/// Takes what a refused request still sends, within bounds and beside its answer, so that its client reads the refusal
/// and not a broken connection. A client that waits for a go-ahead before it sends anything needs none of it.
pub(crate) fn drain(headers: &HeaderMap, mut body: Body) {
    const BYTES: usize = 4 << 20;
    const TIME: Duration = Duration::from_millis(500);
    if body.is_end_stream() || headers.contains_key(header::EXPECT) {
        return;
    }
    tokio::spawn(async move {
        let rest = async {
            let mut taken = 0;
            while let Some(Ok(frame)) = body.frame().await {
                taken += frame.data_ref().map_or(0, axum::body::Bytes::len);
                if taken > BYTES {
                    break;
                }
            }
        };
        // What is left after that is the client's own risk.
        let _ = tokio::time::timeout(TIME, rest).await;
    });
}

/// Counts brackets outside of strings; what is no JSON at all is left to the parser.
fn check_shape(raw: &[u8]) -> Result<(), Problem> {
    let (mut depth, mut values, mut in_string, mut escaped) = (0_usize, 1_usize, false, false);
    for byte in raw {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > DEPTH_LIMIT {
                    let message = format!("the body is nested deeper than {DEPTH_LIMIT} levels");
                    return Err(Problem::invalid(Reason::InvalidJson, None, message));
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            b',' if !in_string => {
                values += 1;
                if values > VALUES_LIMIT {
                    let message = format!("the body holds more than {VALUES_LIMIT} values");
                    return Err(Problem::invalid(Reason::InvalidJson, None, message));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads `a=1&b=2`. Nothing is guessed: broken escapes, text that is not UTF-8 and names given twice are refused.
fn read_query(query: &str) -> Result<Map<String, Value>, Problem> {
    let mut fields = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).ok_or_else(|| broken_escape(name))?;
        let value = decode(value).ok_or_else(|| broken_escape(&name))?;
        match fields.entry(name) {
            Entry::Vacant(field) => _ = field.insert(Value::String(value)),
            Entry::Occupied(field) => return Err(given_twice(field.key())),
        }
    }
    Ok(fields)
}

fn broken_escape(name: &str) -> Problem {
    let message = format!("the query parameter {name:?} is not percent-encoded UTF-8");
    Problem::invalid(Reason::InvalidValue, Some(name), message)
}

fn given_twice(name: &str) -> Problem {
    let message = format!("the parameter {name:?} is given twice: give it once, lists with commas");
    Problem::invalid(Reason::InvalidValue, Some(name), message)
}

fn decode(text: &str) -> Option<String> {
    if !text.contains(['+', '%']) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                digit(rest.next()?)? * 16 + digit(rest.next()?)?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_a_wrong_place_are_not_kept() {
        let text = r#"{"key": "hw_live_AAAAAAAA_BBB", "b": "hw_admin_X"} hw_test_1&x=hw"#;
        assert_eq!(without_keys(text), r#"{"key": "hw_...", "b": "hw_..."} hw_...&x=hw"#);
        assert_eq!(without_keys("\u{e9}hw_\u{e9}"), "\u{e9}hw_...\u{e9}");
    }

    #[test]
    fn a_query_is_decoded_and_never_guessed() {
        let fields = read_query("q=0xAb%20+c&limit=5&&empty=&flag&%C3%A9=1").unwrap();
        let expected = serde_json::json!({"q": "0xAb  c", "limit": "5", "empty": "", "flag": "", "é": "1"});
        assert_eq!(Value::Object(fields), expected);
        for query in ["q=%", "q=%2", "q=%zz", "q=%ff", "%ff=1", "q=1&q=2", "q=1&%71=2"] {
            let problem = read_query(query).unwrap_err();
            assert_eq!(problem.details.unwrap().reason, "invalid_value", "{query}");
        }
    }

    #[test]
    fn depth_and_values_count_what_stands_outside_of_strings() {
        assert!(check_shape(&vec![b','; VALUES_LIMIT - 1]).is_ok());
        assert!(check_shape(&vec![b','; VALUES_LIMIT]).is_err());
        assert!(check_shape(format!("\"{}\"", ",".repeat(VALUES_LIMIT)).as_bytes()).is_ok());
        assert!(check_shape(&[b'['; 32]).is_ok());
        assert!(check_shape(&[b'['; 33]).is_err());
        let quoted = format!("{{\"a\": \"{}\\\"[\"}}", "[".repeat(100));
        assert!(check_shape(quoted.as_bytes()).is_ok());
        assert!(check_shape("[]".repeat(100).as_bytes()).is_ok());
    }

    #[test]
    fn a_post_must_say_that_it_is_json() {
        let check = |name: &'static str, text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
            headers.insert(name, text.parse().unwrap());
            check_media_type(&headers).is_ok()
        };
        assert!(check_media_type(&HeaderMap::new()).is_err());
        for text in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
            "application/problem+json",
        ] {
            assert!(check("content-type", text), "{text}");
        }
        for text in ["text/plain", "application/x-www-form-urlencoded", "", "application/json; charset=latin1", "json"]
        {
            assert!(!check("content-type", text), "{text}");
        }
        assert!(!check("content-encoding", "gzip"));
        assert!(check("content-encoding", "identity"));
    }
}
