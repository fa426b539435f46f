//! From JSON to a request, with an error that names the exact place.
//!
//! A small serde deserializer over [`Value`]: `null` in an object counts as left out, unknown fields are refused together,
//! and the values of GET parameters, which arrive as text, are read as what the field wants.

use std::cell::RefCell;
use std::fmt;

use headwater_types::Timestamp;
use headwater_types::text::{SHOWN, shortened};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};

use super::Warnings;
use super::unknown::UnknownFields;
use crate::{Error, Method, Reason};

/// The object that the specification reserves: clients may send keys in it that have no meaning yet.
pub(crate) const RESERVED: &str = "stop_track_condition";

/// Decodes a request object; a field that it does not have is refused.
///
/// # Errors
/// When a field is unknown, missing or has a value that it cannot have; the error names its place.
pub fn decode<R: DeserializeOwned>(request: &Value, method: Method, warnings: &mut Warnings) -> Result<R, Error> {
    decode_with(request, method, warnings, &Vec::new)
}

/// The same of a request whose objects have the fields `nested`, such as `track_setting.limit`: a field that stands outside
/// of its object is offered under that name.
///
/// # Errors
/// As [`decode`].
pub(crate) fn decode_with<R: DeserializeOwned>(
    request: &Value,
    method: Method,
    warnings: &mut Warnings,
    nested: &dyn Fn() -> Vec<String>,
) -> Result<R, Error> {
    let nothing = Map::new();
    let fields = match request {
        Value::Object(fields) => fields,
        Value::Null => &nothing,
        other => {
            let message = format!("the request is {}: expected a JSON object", kind(other));
            return Err(Error { value: Some(shown(other)), ..Error::invalid(Reason::InvalidType, "", message) });
        }
    };
    let (unknown, reserved) = (RefCell::default(), RefCell::default());
    let shared = Shared { method, unknown: &unknown, reserved: &reserved };
    let decoded = R::deserialize(ObjectDecoder { fields, shared });
    let decoded = decoded.map_err(|error| error.at(&Place::Root, None).into_error());
    if let Some(refusal) = unknown.into_inner().refusal(method, nested) {
        return Err(refusal);
    }
    let reserved = reserved.into_inner();
    if let Some((count, first)) = reserved.first() {
        let message = format!("unknown fields without effect: {}", reserved.list());
        warnings.add_of(count, "unknown_field", Some(first), message);
    }
    decoded
}

/// What every level of one decoding shares.
#[derive(Clone, Copy)]
struct Shared<'a> {
    method: Method,
    /// Fields that refuse the request.
    unknown: &'a RefCell<UnknownFields>,
    /// Fields that are warned of.
    reserved: &'a RefCell<UnknownFields>,
}

/// A place in the request, printed as `filter_criterias[0].symbol`.
#[derive(Clone, Copy)]
enum Place<'a> {
    Root,
    Field(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// A decoding error that finds its place on the way out.
#[derive(Debug)]
pub(crate) struct DecodeError {
    reason: Reason,
    message: String,
    /// The missing field, below the place where the error is stamped.
    missing: Option<&'static str>,
    place: Option<String>,
    index: Option<u64>,
    value: Option<String>,
    /// The value as the message writes it: text in quotes.
    quoted: Option<String>,
    /// Whether it is an integer past 64 bits.
    is_past_range: bool,
    /// Whether an integer was expected, which in some fields is a time.
    wants_integer: bool,
    /// What to give instead.
    advice: Option<String>,
}

impl DecodeError {
    fn new(reason: Reason, message: String) -> Self {
        let (missing, place, index, value, quoted, advice) = (None, None, None, None, None, None);
        let (is_past_range, wants_integer) = (false, false);
        Self { reason, message, missing, place, index, value, quoted, is_past_range, wants_integer, advice }
    }

    fn at(mut self, place: &Place<'_>, value: Option<&Value>) -> Self {
        if self.place.is_none() {
            self.place = Some(match (self.missing, place) {
                (None, place) => place.to_string(),
                (Some(field), Place::Root) => field.to_owned(),
                (Some(field), place) => format!("{place}.{field}"),
            });
            if self.missing.is_none() {
                self.value = value.map(shown);
                self.quoted = value.map(quoted);
            }
            if let (true, Place::Field(_, name)) = (self.wants_integer, place)
                && is_time(name)
            {
                "expected epoch seconds".clone_into(&mut self.message);
                self.advice = value.and_then(Value::as_str).and_then(in_seconds);
            }
            if self.is_past_range && self.place.as_deref() == Some("limit") {
                self.reason = Reason::LimitOutOfRange;
            }
        }
        if let (None, Place::Item(_, index)) = (self.index, place) {
            self.index = u64::try_from(*index).ok();
        }
        self
    }

    fn into_error(self) -> Error {
        let place = self.place.unwrap_or_default();
        let message = if self.missing.is_some() {
            format!("{place} is required")
        } else if let Some(value) =
            self.quoted.as_ref().filter(|_| self.value.as_ref().is_some_and(|value| !value.is_empty()))
        {
            let advice = self.advice.map(|advice| format!(": {advice}")).unwrap_or_default();
            format!("{place}: {}, got {value}{advice}", self.message)
        } else {
            format!("{place}: {}", self.message)
        };
        Error { index: self.index, value: self.value, ..Error::invalid(self.reason, place, message) }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Reason::InvalidValue, message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Reason::InvalidType, format!("expected {}", plain(expected)))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Reason::InvalidValue, format!("expected {}", plain(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self { missing: Some(field), ..Self::new(Reason::MissingField, String::new()) }
    }
}

/// Whether a field of requests is a time in epoch seconds, by its name.
fn is_time(field: &str) -> bool {
    matches!(field, "start_time" | "end_time" | "start" | "end" | "at" | "from" | "to" | "since" | "until")
}

/// What to give for a time that is written otherwise.
fn in_seconds(text: &str) -> Option<String> {
    let time: Timestamp = text.trim().parse().ok()?;
    Some(format!("give {} for {time}", time.secs()))
}

/// What is expected, in words: serde names numbers as Rust does.
fn plain(expected: &dyn Expected) -> String {
    let name = expected.to_string();
    match name.as_str() {
        "f32" | "f64" => "a number".to_owned(),
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => "an integer".to_owned(),
        _ => name,
    }
}

/// What a message says of a value: text in quotes, so that it is told from what it looks like.
fn quoted(value: &Value) -> String {
    match value {
        Value::String(_) => Value::String(shown(value)).to_string(),
        other => shown(other),
    }
}

/// What an answer says of a value: its JSON text, cut when long.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text, SHOWN),
        other => shortened(&other.to_string(), SHOWN),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Decodes one value.
struct Decoder<'a> {
    value: &'a Value,
    place: Place<'a>,
    shared: Shared<'a>,
}

impl Decoder<'_> {
    fn expected(what: &str) -> DecodeError {
        DecodeError::new(Reason::InvalidType, format!("expected {what}"))
    }

    fn expected_integer() -> DecodeError {
        DecodeError { wants_integer: true, ..Self::expected("an integer") }
    }

    /// A number or a text that is no integer, or one of too many digits.
    fn no_integer(&self) -> DecodeError {
        let is_past_range = match self.value {
            Value::Number(number) => number.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() >= FAR),
            Value::String(text) => {
                let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            _ => false,
        };
        if is_past_range {
            let message = format!("expected an integer from {} to {}", i64::MIN, i64::MAX);
            return DecodeError { is_past_range, ..DecodeError::new(Reason::InvalidValue, message) };
        }
        Self::expected_integer()
    }

    /// The text of a GET parameter, where text may stand for something else.
    fn parameter(&self) -> Option<&str> {
        match self.shared.method {
            Method::Get => self.value.as_str(),
            Method::Post => None,
        }
    }
}

/// The first integer behind those of 64 bits, as a double.
const FAR: f64 = 9_223_372_036_854_775_808.0;

/// A JSON number that is an integer, which 1.0 is, too; as a double only where that is exact.
fn integer(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let double = || number.as_f64().filter(|double| double.fract() == 0.0 && double.abs() <= EXACT);
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer of at most 53 bits")]
    number.as_i64().or_else(|| double().map(|double| double as i64))
}

macro_rules! integers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            match (self.value, self.parameter()) {
                (Value::Number(number), _) => {
                    integer(number).map_or_else(|| Err(self.no_integer()), |number| visitor.visit_i64(number))
                }
                (_, Some(text)) => {
                    text.parse().map_or_else(|_| Err(self.no_integer()), |number| visitor.visit_i64(number))
                }
                _ => Err(Self::expected_integer()),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Decoder<'_> {
    type Error = DecodeError;

    integers! { deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, Some(number)) => visitor.visit_f64(number),
                (None, None, None) => Err(Self::expected("a number")),
            },
            Value::String(text) => visitor.visit_str(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(fields) => visitor.visit_map(Object::new(fields, None, self.place, self.shared)),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match (self.value, self.parameter()) {
            (Value::Bool(value), _) => visitor.visit_bool(*value),
            (_, Some("true")) => visitor.visit_bool(true),
            (_, Some("false")) => visitor.visit_bool(false),
            _ => Err(Self::expected("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::String(text) => visitor.visit_str(text),
            _ => Err(Self::expected("text")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match (self.value, self.parameter()) {
            (Value::Array(items), _) => {
                visitor.visit_seq(List { items: items.iter(), index: 0, place: self.place, shared: self.shared })
            }
            (_, Some(text)) => {
                let items: Vec<Value> = text.split(',').map(|item| Value::from(item.trim())).collect();
                visitor.visit_seq(List { items: items.iter(), index: 0, place: self.place, shared: self.shared })
            }
            _ => Err(Self::expected("a list")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match self.value {
            Value::Object(fields) => visitor.visit_map(Object::new(fields, Some(known), self.place, self.shared)),
            _ => Err(Self::expected("an object")),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct map enum identifier
        ignored_any
    }
}

/// Decodes the request itself.
struct ObjectDecoder<'a> {
    fields: &'a Map<String, Value>,
    shared: Shared<'a>,
}

impl<'de> Deserializer<'de> for ObjectDecoder<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Object::new(self.fields, None, Place::Root, self.shared))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Object::new(self.fields, Some(known), Place::Root, self.shared))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A GET parameter without a value: more likely the empty variable of a script than a wish.
struct Nothing;

impl<'de> Deserializer<'de> for Nothing {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, DecodeError> {
        let message = "expected a value: leave the parameter out where there is none";
        Err(DecodeError::new(Reason::InvalidValue, message.to_owned()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The fields of an object, without those that are null or unknown.
struct Object<'a> {
    fields: serde_json::map::Iter<'a>,
    /// The fields that it may have; `None` where any name has a meaning.
    known: Option<&'static [&'static str]>,
    next: Option<(&'a str, &'a Value)>,
    place: Place<'a>,
    shared: Shared<'a>,
}

impl<'a> Object<'a> {
    /// An object; the unknown fields are noted at once, so that they are reported before the faults of others.
    fn new(
        fields: &'a Map<String, Value>,
        known: Option<&'static [&'static str]>,
        place: Place<'a>,
        shared: Shared<'a>,
    ) -> Self {
        if let Some(known) = known {
            let noted = match place {
                Place::Field(Place::Root, RESERVED) => shared.reserved,
                Place::Root | Place::Field(..) | Place::Item(..) => shared.unknown,
            };
            let given = fields.iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
            for name in given.filter(|name| !known.contains(&name.as_str())) {
                noted.borrow_mut().add(name, &Place::Field(&place, name), known);
            }
        }
        Self { fields: fields.iter(), known, next: None, place, shared }
    }
}

impl<'de> de::MapAccess<'de> for Object<'_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        for (name, value) in self.fields.by_ref() {
            if !value.is_null() && self.known.is_none_or(|known| known.contains(&name.as_str())) {
                self.next = Some((name, value));
                return seed.deserialize(de::value::StrDeserializer::new(name)).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DecodeError> {
        let (name, value) = self.next.take().expect("serde asks for a value only after its key");
        let place = Place::Field(&self.place, name);
        let decoder = Decoder { value, place, shared: self.shared };
        let decoded =
            if decoder.parameter() == Some("") { seed.deserialize(Nothing) } else { seed.deserialize(decoder) };
        decoded
            .map_err(|error| match (self.shared.method, value) {
                // The parameter was repeated but is not a list: the error is not about one of its items.
                (Method::Get, Value::Array(_)) if error.place.is_none() => Decoder::expected("one value"),
                _ => error,
            })
            .map_err(|error| error.at(&place, Some(value)))
    }
}

/// The items of a list.
struct List<'a> {
    items: std::slice::Iter<'a, Value>,
    index: usize,
    place: Place<'a>,
    shared: Shared<'a>,
}

impl<'de> de::SeqAccess<'de> for List<'_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some(value) = self.items.next() else { return Ok(None) };
        let place = Place::Item(&self.place, self.index);
        self.index += 1;
        let decoder = Decoder { value, place, shared: self.shared };
        seed.deserialize(decoder).map(Some).map_err(|error| error.at(&place, Some(value)))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Inner {
        symbol: String,
        at_least: Option<i64>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Outer {
        blockchain: String,
        limit: Option<i64>,
        include_all: Option<bool>,
        contracts: Option<Vec<Option<String>>>,
        criteria: Option<Vec<Inner>>,
        ratio: Option<f64>,
        start_time: Option<i64>,
    }

    fn refused(method: Method, request: &Value) -> (Reason, String, Option<String>, Option<u64>) {
        let error = decode::<Outer>(request, method, &mut Warnings::default()).unwrap_err();
        let ErrorKind::InvalidInput(reason) = error.kind else { panic!("{error:?}") };
        (reason, error.field.unwrap(), error.value, error.index)
    }

    #[test]
    fn an_error_names_reason_place_and_value() {
        let post = |request| refused(Method::Post, &request);
        assert_eq!(post(json!({})), (Reason::MissingField, "blockchain".into(), None, None));
        assert_eq!(post(json!({"blockchain": null})).0, Reason::MissingField);
        assert_eq!(
            post(json!({"blockchain": "x", "limit": "5"})),
            (Reason::InvalidType, "limit".into(), Some("5".into()), None)
        );
        assert_eq!(post(json!({"blockchain": "x", "limit": 1.5})).0, Reason::InvalidType);
        assert_eq!(
            post(json!({"blockchain": "x", "criteria": [{"symbol": "a"}, {"at_least": 3}]})),
            (Reason::MissingField, "criteria[1].symbol".into(), None, Some(1))
        );
        assert_eq!(
            post(json!({"blockchain": "x", "contracts": ["a", 7]})),
            (Reason::InvalidType, "contracts[1]".into(), Some("7".into()), Some(1))
        );
        assert_eq!(post(json!([1])).0, Reason::InvalidType);
    }

    #[test]
    fn a_message_says_what_a_client_wrote_in_words_of_its_own() {
        let message = |method, more: &str| {
            let request = serde_json::from_str(&format!("{{\"blockchain\": \"x\", {more}}}")).unwrap();
            let error = decode::<Outer>(&request, method, &mut Warnings::default()).unwrap_err();
            (error.message, error.kind)
        };
        let (kind, range) = (ErrorKind::InvalidInput, "from -9223372036854775808 to 9223372036854775807");
        for (more, expected, reason) in [
            ("\"limit\": \"5\"", "limit: expected an integer, got \"5\"".to_owned(), Reason::InvalidType),
            ("\"limit\": 1.5", "limit: expected an integer, got 1.5".to_owned(), Reason::InvalidType),
            ("\"limit\": true", "limit: expected an integer, got true".to_owned(), Reason::InvalidType),
            (
                "\"include_all\": \"true\"",
                "include_all: expected true or false, got \"true\"".to_owned(),
                Reason::InvalidType,
            ),
            ("\"ratio\": \"a\"", "ratio: expected a number, got \"a\"".to_owned(), Reason::InvalidType),
            (
                "\"limit\": 1180591620717411303424",
                format!("limit: expected an integer {range}, got 1.1805916207174113e+21"),
                Reason::LimitOutOfRange,
            ),
            (
                "\"limit\": 18446744073709551615",
                format!("limit: expected an integer {range}, got 18446744073709551615"),
                Reason::LimitOutOfRange,
            ),
            (
                "\"criteria\": [{\"symbol\": \"a\", \"at_least\": 9223372036854775808}]",
                format!("criteria[0].at_least: expected an integer {range}, got 9223372036854775808"),
                Reason::InvalidValue,
            ),
        ] {
            let (message, of) = message(Method::Post, more);
            assert_eq!((message, of), (expected, kind(reason)), "{more}");
        }
        let (message, of) = message(Method::Get, "\"limit\": \"99999999999999999999\"");
        assert_eq!(message, format!("limit: expected an integer {range}, got \"99999999999999999999\""));
        assert_eq!(of, kind(Reason::LimitOutOfRange));
    }

    #[test]
    fn time_as_a_date_is_refused_with_its_epoch_seconds() {
        for (method, value, advice) in [
            (Method::Post, json!("2025-01-01"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
            (Method::Get, json!("2025-01-01"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
            (Method::Post, json!("2025-01-01T02:00:00+02:00"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
            (Method::Post, json!("1735689600"), ": give 1735689600 for 2025-01-01T00:00:00Z"),
            (Method::Post, json!("yesterday"), ""),
            (Method::Get, json!("01/02/2025"), ""),
        ] {
            let request = json!({"blockchain": "x", "start_time": value});
            let error = decode::<Outer>(&request, method, &mut Warnings::default()).unwrap_err();
            assert_eq!(error.message, format!("start_time: expected epoch seconds, got {value}{advice}"));
            assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::InvalidType));
        }
    }

    #[test]
    fn text_stands_for_other_types_only_as_a_get_parameter() {
        let request = json!({"blockchain": "x", "limit": "5", "include_all": "true", "contracts": "a, b"});
        let got: Outer = decode(&request, Method::Get, &mut Warnings::default()).unwrap();
        assert_eq!((got.limit, got.include_all), (Some(5), Some(true)));
        assert_eq!(got.contracts, Some(vec![Some("a".into()), Some("b".into())]));
        assert_eq!(refused(Method::Get, &json!({"blockchain": "x", "limit": "five"})).0, Reason::InvalidType);
    }

    #[test]
    fn get_parameter_without_a_value_is_refused() {
        for request in [json!({"blockchain": ""}), json!({"blockchain": "x", "limit": ""})] {
            assert_eq!(refused(Method::Get, &request).0, Reason::InvalidValue);
        }
        let got: Outer = decode(&json!({"blockchain": ""}), Method::Post, &mut Warnings::default()).unwrap();
        assert_eq!(got.blockchain, "", "in a body the field itself says whether it may be empty");
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer_however_it_is_written() {
        for (written, integer) in [("1.0", 1), ("2e1", 20), ("-0", 0), ("-0.0", 0), ("9007199254740992.0", 1 << 53)] {
            let request = serde_json::from_str(&format!(r#"{{"blockchain": "x", "limit": {written}}}"#)).unwrap();
            let got: Outer = decode(&request, Method::Post, &mut Warnings::default()).unwrap();
            assert_eq!(got.limit, Some(integer), "{written}");
        }
        let (reason, ..) = refused(Method::Post, &json!({"blockchain": "x", "limit": 9_007_199_254_740_994.0}));
        assert_eq!(reason, Reason::InvalidType);
    }

    #[test]
    fn repeated_parameter_is_a_list_or_refused() {
        let request = json!({"blockchain": "x", "contracts": ["a", "b"]});
        let got: Outer = decode(&request, Method::Get, &mut Warnings::default()).unwrap();
        assert_eq!(got.contracts, Some(vec![Some("a".into()), Some("b".into())]));
        for field in ["blockchain", "limit", "include_all", "ratio"] {
            let mut request = json!({"blockchain": "x"});
            request[field] = json!(["1", "2"]);
            let error = decode::<Outer>(&request, Method::Get, &mut Warnings::default()).unwrap_err();
            assert_eq!(error.message, format!("{field}: expected one value, got [\"1\",\"2\"]"));
            assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::InvalidType));
        }
    }

    #[test]
    fn null_item_stays_and_null_unknown_field_is_ignored() {
        let criteria = json!([{"symbol": "a", "min": null}]);
        let request = json!({"blockchain": "x", "contracts": [null], "symbol": null, "criteria": criteria});
        let mut warnings = Warnings::default();
        let got: Outer = decode(&request, Method::Post, &mut warnings).unwrap();
        assert_eq!((got.contracts, warnings.into_list()), (Some(vec![None]), Vec::new()));
    }

    #[test]
    fn unknown_field_is_refused_before_other_faults() {
        for request in [json!({"blockchian": "x"}), json!({"limit": "5", "blockchian": "x"})] {
            let error = decode::<Outer>(&request, Method::Post, &mut Warnings::default()).unwrap_err();
            assert_eq!(error.message, "unknown field \"blockchian\"; did you mean \"blockchain\"?");
        }
        let request = json!({"blockchain": "x", "criteria": [{"symbol": "a"}, {"symbol": "a", "at_most": 1}]});
        let error = decode::<Outer>(&request, Method::Post, &mut Warnings::default()).unwrap_err();
        assert_eq!((error.field.as_deref(), error.index), (Some("criteria[1].at_most"), Some(1)));
        assert_eq!(error.candidates, ["at_least"]);
    }

    #[derive(Debug, Deserialize)]
    struct Reserving {
        stop_track_condition: Option<Inner>,
    }

    #[test]
    fn unknown_key_of_the_reserved_object_is_a_warning() {
        let mut warnings = Warnings::default();
        let request = json!({"stop_track_condition": {"symbol": "a", "later": 1, "more": 2}});
        let got: Reserving = decode(&request, Method::Post, &mut warnings).unwrap();
        assert_eq!(got.stop_track_condition.map(|inner| inner.symbol).as_deref(), Some("a"));
        let warned = &warnings.into_list()[0];
        assert_eq!((warned.field.as_deref(), warned.count), (Some("stop_track_condition.later"), Some(2)));
        let places = r#""stop_track_condition.later", "stop_track_condition.more""#;
        assert_eq!(warned.message, format!("unknown fields without effect: {places}"));
    }
}
