//! JSON with exact numbers, in bounded memory.
//!
//! Amounts in JSON lines are numbers of up to 256 bits and node interfaces write coins as decimals: neither survives
//! the 64-bit numbers of an ordinary parser. Here a number stays the text it was written as.

use std::borrow::Cow;

use super::Bounds;

/// A JSON value that borrows from its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is written.
    Number(&'a str),
    /// A string.
    Text(Cow<'a, str>),
    /// An array.
    List(Vec<Value<'a>>),
    /// An object, in the order written. Of a repeated name the last one counts.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// The member of an object; `None` when it is missing, `null`, or this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                let found = members.iter().rev().find(|(member, _)| member == name).map(|(_, value)| value);
                found.filter(|value| **value != Self::Null)
            }
            _ => None,
        }
    }

    /// The text of a string, or a number as it is written.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The items of an array; nothing for anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The members of an object; nothing for anything else.
    #[must_use]
    pub fn members(&self) -> &[(Cow<'a, str>, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }
}

/// Why a text is not a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("JSON with {expected} at byte {at}")]
pub struct JsonError {
    /// Where, in bytes from the start of the text.
    pub at: usize,
    /// The expected value.
    pub expected: String,
}

/// Reads one document.
///
/// # Errors
/// When the text is not exactly one JSON value, is nested deeper or holds more values than the bounds allow.
pub fn parse<'a>(text: &'a str, bounds: &Bounds) -> Result<Value<'a>, JsonError> {
    let mut parser = Parser { text, at: 0, values: 0, lenient: false, bounds };
    let value = parser.value()?;
    parser.blanks();
    if parser.at == text.len() { Ok(value) } else { Err(parser.error("the end of the document")) }
}

/// Reads what can be read of a document that may be cut off, and ignores what follows it: members that are complete
/// are kept.
pub(crate) fn parse_beginning(text: &str) -> Option<Value<'_>> {
    Parser { text, at: 0, values: 0, lenient: true, bounds: &Bounds::default() }.value().ok()
}

struct Parser<'a, 'b> {
    text: &'a str,
    at: usize,
    values: usize,
    lenient: bool,
    bounds: &'b Bounds,
}

/// A list or an object of which the end was not read yet. Documents are nested deeper than a call stack is safe for.
enum Open<'a> {
    List(Vec<Value<'a>>),
    Object { members: Vec<(Cow<'a, str>, Value<'a>)>, name: Cow<'a, str> },
}

impl<'a> Open<'a> {
    fn take(&mut self, value: Value<'a>) {
        match self {
            Self::List(items) => items.push(value),
            Self::Object { members, name } => members.push((std::mem::take(name), value)),
        }
    }

    fn close(self) -> Value<'a> {
        match self {
            Self::List(items) => Value::List(items),
            Self::Object { members, .. } => Value::Object(members),
        }
    }
}

impl<'a> Parser<'a, '_> {
    fn error(&self, expected: impl Into<String>) -> JsonError {
        JsonError { at: self.at, expected: expected.into() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8, expected: &str) -> Result<(), JsonError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.error(expected))
        }
    }

    fn word(&mut self, word: &str, value: Value<'a>) -> Result<Value<'a>, JsonError> {
        if self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes())) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.error("a value"))
        }
    }

    /// Text of the document between two bytes that are ASCII, or stand beside one.
    fn between(&self, start: usize, end: usize) -> Result<&'a str, JsonError> {
        self.text.get(start..end).ok_or_else(|| self.error("whole characters"))
    }

    fn value(&mut self) -> Result<Value<'a>, JsonError> {
        let mut open: Vec<Open<'a>> = Vec::new();
        match self.value_into(&mut open) {
            Err(_) if self.lenient && !open.is_empty() => {
                let innermost = open.pop().map(Open::close);
                let whole = open.into_iter().rev().fold(innermost, |inner, mut outer| {
                    outer.take(inner?);
                    Some(outer.close())
                });
                whole.ok_or_else(|| self.error("a value"))
            }
            outcome => outcome,
        }
    }

    /// Reads a value; what was opened and not closed is left in `open` on an error.
    fn value_into(&mut self, open: &mut Vec<Open<'a>>) -> Result<Value<'a>, JsonError> {
        loop {
            self.values += 1;
            if self.values > self.bounds.document_values {
                let most = self.bounds.document_values;
                return Err(self.error(format!("at most {most} values; raise --max-document-values")));
            }
            if open.len() > self.bounds.document_depth {
                let most = self.bounds.document_depth;
                return Err(self.error(format!("values nested at most {most} deep; raise --max-document-depth")));
            }
            self.blanks();
            let mut value = match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    self.blanks();
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                        Value::Object(Vec::new())
                    } else {
                        open.push(Open::Object { members: Vec::new(), name: Cow::Borrowed("") });
                        self.name_into(open)?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.blanks();
                    if self.peek() == Some(b']') {
                        self.at += 1;
                        Value::List(Vec::new())
                    } else {
                        open.push(Open::List(Vec::new()));
                        continue;
                    }
                }
                Some(b'"') => self.string().map(Value::Text)?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word("true", Value::Bool(true))?,
                Some(b'f') => self.word("false", Value::Bool(false))?,
                Some(b'n') => self.word("null", Value::Null)?,
                _ => return Err(self.error("a value")),
            };
            // Ends everything that ends behind this value.
            loop {
                let Some(innermost) = open.last_mut() else { return Ok(value) };
                innermost.take(value);
                let (end, expected) = match innermost {
                    Open::List(_) => (b']', "',' or ']'"),
                    Open::Object { .. } => (b'}', "',' or '}'"),
                };
                self.blanks();
                if self.peek() == Some(b',') {
                    self.at += 1;
                    self.blanks();
                    self.name_into(open)?;
                    break;
                }
                self.take(end, expected)?;
                value = open.pop().map_or(Value::Null, Open::close);
            }
        }
    }

    /// Reads the name of the next member, where the innermost value is an object.
    fn name_into(&mut self, open: &mut [Open<'a>]) -> Result<(), JsonError> {
        if let Some(Open::Object { name, .. }) = open.last_mut() {
            *name = self.string()?;
            self.blanks();
            self.take(b':', "':'")?;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value<'a>, JsonError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        self.digits()?;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(Value::Number(self.between(start, self.at)?))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.take(b'"', "'\"'")?;
        let start = self.at;
        let mut owned: Option<String> = None;
        let mut plain = start;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let rest = self.between(plain, self.at)?;
                    self.at += 1;
                    return Ok(match owned {
                        Some(mut text) => {
                            text.push_str(rest);
                            Cow::Owned(text)
                        }
                        None => Cow::Borrowed(rest),
                    });
                }
                Some(b'\\') => {
                    let rest = self.between(plain, self.at)?;
                    owned.get_or_insert_default().push_str(rest);
                    self.at += 1;
                    let character = self.escape()?;
                    owned.get_or_insert_default().push(character);
                    plain = self.at;
                }
                Some(0..=0x1f) | None => return Err(self.error("the end of the string")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let escaped = self.peek().ok_or_else(|| self.error("an escape"))?;
        self.at += 1;
        Ok(match escaped {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.error("an escape")),
        })
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            // A lone second half stands for nothing: the mark of a broken character takes its place.
            return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if !self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u")) {
            return Ok(char::REPLACEMENT_CHARACTER);
        }
        self.at += 2;
        let second = self.four_digits()?;
        let joined = || 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        let whole = (0xdc00..0xe000).contains(&second).then(joined).and_then(char::from_u32);
        Ok(whole.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let digits = digits.ok_or_else(|| self.error("four hex digits"))?;
        self.at += 4;
        Ok(u32::from_str_radix(digits, 16).expect("four hex digits are a number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Value<'_>, JsonError> {
        super::parse(text, &Bounds::default())
    }

    #[test]
    fn numbers_stay_the_text_they_were_written_as() {
        let text = r#" {"a": 115792089237316195423570985008687907853269984665640564039457584007913129639935, "b": [-0.10000000, 1E+5]} "#;
        let value = parse(text).unwrap();
        assert_eq!(value.get("a").unwrap().text().unwrap().len(), 78);
        let items: Vec<_> = value.get("b").unwrap().items().iter().filter_map(Value::text).collect();
        assert_eq!(items, ["-0.10000000", "1E+5"]);
    }

    #[test]
    fn strings_are_unescaped() {
        let value = parse(r#"["\u2318", "a\n\"\\\/", "\ud83d\ude00", "\ud83d", "\ud83d\u0041", "ü"]"#).unwrap();
        let items: Vec<_> = value.items().iter().filter_map(Value::text).collect();
        assert_eq!(items, ["\u{2318}", "a\n\"\\/", "\u{1f600}", "\u{fffd}", "\u{fffd}", "ü"]);
    }

    #[test]
    fn what_is_no_json_is_refused_without_a_crash() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "nul",
            "01x",
            "-",
            "1.",
            "\"",
            "\"\\u12\"",
            "\"\\x\"",
            "1 2",
            &deep,
        ] {
            assert!(parse(text).is_err(), "{text:.20}");
        }
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        let bounds = Bounds { document_depth: 3, document_values: 6, ..Bounds::default() };
        let error = |text: &str| super::parse(text, &bounds).unwrap_err().to_string();
        assert!(super::parse("[[[1]]]", &bounds).is_ok());
        assert!(error("[[[[1]]]]").contains("nested at most 3 deep; raise --max-document-depth"));
        assert!(error("[1,2,3,4,5,6]").contains("at most 6 values; raise --max-document-values"));
        // A call tree of the greatest depth that the EVM allows, each call two levels deeper, inside an answer.
        let deep = format!("{}1{}", "{\"calls\":[".repeat(1_024), "]}".repeat(1_024));
        assert!(parse(&format!("{{\"result\":[{{\"result\":{deep}}}]}}")).is_ok());
    }

    #[test]
    fn the_beginning_of_a_cut_document_keeps_its_complete_members() {
        let value = parse_beginning(r#"{"type": "block", "number": 5, "logs_bloom": "0x00"#).unwrap();
        assert_eq!(value.get("type").and_then(Value::text), Some("block"));
        assert_eq!(value.members().len(), 2);
    }
}
