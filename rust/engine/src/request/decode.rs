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
    decode_with((request, &|_| false), method, warnings, &Vec::new)
}

/// Decodes a request of which some fields were typed as text (`is_text`), and whose objects have the fields `nested`, such
/// as `track_setting.limit`: a field outside of its object is offered under that name.
///
/// # Errors
/// As [`decode`].
pub(crate) fn decode_with<R: DeserializeOwned>(
    (request, is_text): (&Value, &dyn Fn(&str) -> bool),
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
    let shared = Shared { method, is_text, unknown: &unknown, reserved: &reserved };
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
    /// Whether a field of a POST was typed as text.
    is_text: &'a dyn Fn(&str) -> bool,
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

/// Returns whether a field of requests is a time in epoch seconds, by its name.
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

    /// The text of a parameter, which may mean something else than text.
    fn parameter(&self) -> Option<&str> {
        let is_parameter = match (self.shared.method, self.place) {
            (Method::Get, _) => true,
            (Method::Post, Place::Field(Place::Root, name)) => (self.shared.is_text)(name),
            (Method::Post, Place::Root | Place::Field(..) | Place::Item(..)) => false,
        };
        if is_parameter { self.value.as_str() } else { None }
    }

    /// The list or object that the text of a parameter writes as JSON.
    fn written_json(&self) -> Option<Value> {
        let text = self.parameter().filter(|text| text.trim_start().starts_with(['[', '{']))?;
        serde_json::from_str(text).ok()
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

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.parameter().map(str::parse::<f64>) {
            Some(Ok(number)) => visitor.visit_f64(number),
            Some(Err(_)) => Err(Self::expected("a number")),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if let Some(value) = self.written_json() {
            return Decoder { value: &value, ..self }.deserialize_seq(visitor);
        }
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
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if let Some(value) = self.written_json() {
            return Decoder { value: &value, ..self }.deserialize_struct(name, known, visitor);
        }
        match self.value {
            Value::Object(fields) => visitor.visit_map(Object::new(fields, Some(known), self.place, self.shared)),
            _ => Err(Self::expected("an object")),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 f32 char bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct map enum identifier
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
#[path = "decode_tests.rs"]
mod tests;
