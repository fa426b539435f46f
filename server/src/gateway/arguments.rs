//! Reads what a client sent into the JSON object that the engine takes, and which form of an answer it accepts.

use std::fmt;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use headwater_engine::{Column, Details, Endpoint, Reason};
use headwater_table::Format;
use headwater_types::text::{SHOWN, shortened};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::problem::Status;
use super::{Problem, Settings};

/// Deepest nesting of a body.
const DEPTH_LIMIT: usize = 32;
/// Most values of a body: three times as many as the largest list that a request may hold.
const VALUES_LIMIT: usize = 1 << 15;
/// The time that a whole body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// The arguments of a call as they were parsed.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// The request as the engine takes it.
    pub request: Value,
    /// The bytes that were sent: path and query of a GET, the body of a POST.
    pub raw: Vec<u8>,
}

impl Arguments {
    /// Returns what was sent, as the audit keeps it where it does. A key that was sent in a wrong place is blotted out.
    pub fn parameters(&self) -> Box<str> {
        /// Characters of them.
        const KEPT: usize = 1024;
        shortened(&without_keys(&String::from_utf8_lossy(&self.raw)), KEPT).into()
    }
}

/// A text without the secrets of keys that are in it.
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
    Ok(Arguments { request: Value::Object(fields), raw })
}

/// The arguments that are in the query alone.
pub(super) fn of_query(parts: &Parts) -> Result<Arguments, Problem> {
    let query = parts.uri.query().unwrap_or_default();
    let request = Value::Object(read_query(query)?);
    Ok(Arguments { request, raw: query.as_bytes().to_vec() })
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
    refuse_query(parts, "; parameters belong in the JSON body")?;
    check_shape(&raw)?;
    let StrictJson(request) = serde_json::from_slice(&raw).map_err(|error| {
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
    Ok(Arguments { request, raw })
}

/// Refuses parameters in the query of a call that takes none there.
fn refuse_query(parts: &Parts, remedy: &str) -> Result<(), Problem> {
    let given = read_query(parts.uri.query().unwrap_or_default())?;
    let Some(name) = given.keys().next() else { return Ok(()) };
    let message = format!("unknown query parameter {:?}{remedy}", shortened(name, SHOWN));
    Err(Problem::invalid(Reason::UnknownField, Some(name), message))
}

/// The arguments of a call that takes none.
pub(super) fn of_nothing(parts: &Parts) -> Result<Arguments, Problem> {
    refuse_query(parts, "; this call takes no parameters")?;
    Ok(Arguments::default())
}

/// The arguments that are in the body alone.
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

/// Counts brackets outside of strings; what is not JSON at all is left to the parser.
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

/// Reads `a=1&b=2`. Nothing is guessed: broken escapes and text that is not UTF-8 are refused. A name that is repeated
/// becomes a list (`a=1&a=2,3` as `a=1,2,3`), which the engine refuses where the parameter is not one.
fn read_query(query: &str) -> Result<Map<String, Value>, Problem> {
    let mut fields = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).ok_or_else(|| broken_escape(name))?;
        let value = decode(value).ok_or_else(|| broken_escape(&name))?;
        match fields.entry(name) {
            Entry::Vacant(field) => _ = field.insert(Value::String(value)),
            Entry::Occupied(field) => append(field.into_mut(), &value),
        }
    }
    Ok(fields)
}

/// Appends the items of a further value to those of a parameter.
fn append(held: &mut Value, more: &str) {
    let items = |text: &str| text.split(',').map(|item| Value::from(item.trim())).collect::<Vec<_>>();
    if let Value::String(first) = held {
        *held = Value::Array(items(first));
    }
    if let Value::Array(list) = held {
        list.extend(items(more));
    }
}

fn broken_escape(name: &str) -> Problem {
    let message = format!("the query parameter {name:?} is not percent-encoded UTF-8");
    Problem::invalid(Reason::InvalidValue, Some(name), message)
}

/// A parameter of the path that is in the query too.
fn given_twice(name: &str) -> Problem {
    let message = format!("the parameter {name:?} stands in the path and in the query: give it once");
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

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The envelope.
    Json,
    /// Rows and columns, without an envelope.
    Table(Format),
}

impl Form {
    /// The offered types; the first is used where the client accepts any.
    const OFFERED: [Self; 5] = [
        Self::Json,
        Self::Table(Format::Csv),
        Self::Table(Format::Ndjson),
        Self::Table(Format::Parquet),
        Self::Table(Format::Arrow),
    ];

    const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Table(format) => format.media_type(),
        }
    }
}

/// A range of media types that the client takes.
struct Range {
    kind: String,
    /// Thousandths.
    quality: u16,
}

/// The form that the client likes best of all that lists are given in; `None` where it takes none of them. Of forms that
/// it likes alike the one that it names first is taken; one that only a range with a star fits comes after those that are
/// named.
pub(super) fn chosen(headers: &HeaderMap) -> Option<Form> {
    chosen_of(&Form::OFFERED, headers)
}

/// The columns and form of a table; `None` for JSON. What is not a list has no columns.
///
/// # Errors
/// A 406 where the client takes nothing that is given.
pub(super) fn form_of(
    headers: &HeaderMap,
    columns: impl FnOnce() -> Option<Vec<Column>>,
) -> Result<Option<(Vec<Column>, Format)>, Problem> {
    match chosen(headers) {
        Some(Form::Json) => Ok(None),
        Some(Form::Table(format)) => match columns() {
            Some(columns) => Ok(Some((columns, format))),
            None if takes_json(headers) => Ok(None),
            None => {
                let message = "this answer is no list, so only application/json is given here: leave `Accept` out, or let it include that";
                Err(Problem::new(Status::NotAcceptable, message))
            }
        },
        None => {
            let forms = Format::ALL.map(Format::media_type).join(", ");
            let message = format!("`Accept` leaves out all that is given here: application/json, and of lists {forms}");
            Err(Problem::new(Status::NotAcceptable, message))
        }
    }
}

/// Returns whether the client takes JSON, where nothing else is given.
pub(super) fn takes_json(headers: &HeaderMap) -> bool {
    chosen_of(&[Form::Json], headers).is_some()
}

fn chosen_of(offered: &[Form], headers: &HeaderMap) -> Option<Form> {
    if !headers.contains_key(header::ACCEPT) {
        return Some(Form::Json);
    }
    let ranges: Vec<Range> = headers
        .get_all(header::ACCEPT)
        .iter()
        // What is not text names no range that fits.
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .filter_map(range)
        .collect();
    if ranges.is_empty() {
        return Some(Form::Json);
    }
    let fitting = |form: &Form| {
        let media_type = form.media_type();
        let group = media_type.split_once('/').map_or(String::new(), |(group, _)| format!("{group}/*"));
        let place = |kind: &str| ranges.iter().position(|range| range.kind == kind);
        // The most specific range that fits decides.
        let (place, named) = match place(media_type) {
            Some(place) => (place, true),
            None => (place(&group).or_else(|| place("*/*")).or_else(|| place("*"))?, false),
        };
        let quality = ranges[place].quality;
        (quality > 0).then_some((quality, named, std::cmp::Reverse(place)))
    };
    let liked = offered.iter().filter_map(|form| Some((fitting(form)?, *form)));
    // Of those that are liked alike the first one offered.
    liked.reduce(|best, other| if other.0 > best.0 { other } else { best }).map(|(_, form)| form)
}

fn range(text: &str) -> Option<Range> {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().filter(|kind| !kind.is_empty())?.to_ascii_lowercase();
    let quality = parts
        .find_map(|part| {
            let (name, quality) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| quality.trim().parse::<f32>().ok())?
        })
        .unwrap_or(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies between 0 and 1000")]
    let quality = (quality.clamp(0.0, 1.0) * 1000.0).round() as u16;
    Some(Range { kind, quality })
}

/// A value in which no object has a field twice. Readers of JSON differ in which of the two they take, so what a proxy
/// checked need not be what we would do.
pub(crate) struct StrictJson(pub Value);

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(StrictJson(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        const SHOWN: usize = 100;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                let name: String = name.chars().take(SHOWN).collect();
                return Err(A::Error::custom(format!("the field {name:?} is given twice")));
            }
            let StrictJson(value) = fields.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
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
        for query in ["q=%", "q=%2", "q=%zz", "q=%ff", "%ff=1"] {
            let problem = read_query(query).unwrap_err();
            assert_eq!(problem.details.unwrap().reason, "invalid_value", "{query}");
        }
    }

    #[test]
    fn repeated_parameter_becomes_one_list() {
        for (query, list) in [
            ("q=1&q=2", serde_json::json!(["1", "2"])),
            ("q=1&%71=2", serde_json::json!(["1", "2"])),
            ("q=1,2&b=x&q=3,%204&q=5", serde_json::json!(["1", "2", "3", "4", "5"])),
            ("q=&q=1", serde_json::json!(["", "1"])),
        ] {
            assert_eq!(read_query(query).unwrap()["q"], list, "{query}");
        }
    }

    #[test]
    fn depth_and_values_ignore_brackets_in_strings() {
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

    fn choose(text: &str) -> Option<Form> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, text.parse().unwrap());
        chosen(&headers)
    }

    #[test]
    fn json_is_given_unless_the_client_says_otherwise() {
        assert_eq!(chosen(&HeaderMap::new()), Some(Form::Json));
        for text in [
            "*/*",
            "",
            "application/json",
            "text/html, */*;q=0.8",
            "APPLICATION/JSON; charset=utf-8",
            "application/*",
            "*",
            "application/json, text/csv;q=0.5",
        ] {
            assert_eq!(choose(text), Some(Form::Json), "{text}");
        }
    }

    #[test]
    fn the_form_that_is_liked_best_is_taken() {
        for (text, format) in [
            ("text/csv", Format::Csv),
            ("text/*", Format::Csv),
            ("application/x-ndjson, application/json;q=0.1", Format::Ndjson),
            ("application/vnd.apache.parquet, */*", Format::Parquet),
            ("text/csv;q=0.5, application/vnd.apache.arrow.stream;q=0.6", Format::Arrow),
            ("application/json;q=0, */*", Format::Csv),
        ] {
            assert_eq!(choose(text), Some(Form::Table(format)), "{text}");
        }
    }

    #[test]
    fn json_is_taken_by_who_likes_something_else_better() {
        for (text, taken) in [
            ("text/csv, application/json;q=0.5", true),
            ("text/csv, */*;q=0.1", true),
            ("application/*, text/csv", true),
            ("text/csv", false),
            ("text/csv, application/json;q=0", false),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT, text.parse().unwrap())]);
            assert_eq!(takes_json(&headers), taken, "{text}");
        }
    }

    #[test]
    fn a_client_that_takes_nothing_offered_gets_nothing() {
        for text in ["text/html", "application/json;q=0", "text/html, image/*", "*/*;q=0.0"] {
            assert_eq!(choose(text), None, "{text}");
        }
    }

    fn read(text: &str) -> Result<Value, serde_json::Error> {
        serde_json::from_str(text).map(|StrictJson(value)| value)
    }

    #[test]
    fn what_has_every_field_once_is_read_as_ever() {
        for text in [
            "null",
            "[true, -1, 18446744073709551615, 0.1, \"\\u00e9\", {}]",
            r#"{"a":{"b":1},"b":{"a":[{"b":1},{"b":2}]}}"#,
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn repeated_field_is_refused_at_any_depth_and_spelling() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"[{"x":{"a":1,"b":2,"a":3}}]"#] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with("the field \"a\" is given twice"), "{error}");
        }
    }
}
