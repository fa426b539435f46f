//! YAML documents, and JSON ones in the same shape, in bounded memory, with every scalar as the text that stands in the file.
//!
//! A reader that types scalars turns an unquoted `0x05` into a number and `NO` into `false`: addresses and names would be
//! lost. Aliases share their node, so a small file cannot grow without bound.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, StrInput};

use super::json::{self, Value};
use super::{Bounds, Input};
use crate::IngestError;
use crate::error::Place;

/// The key that copies the members of other mappings.
const MERGE: &str = "<<";

/// A value of a YAML document, and the line on which it begins; of JSON the row of the innermost list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Yaml {
    place: Place,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Text(String),
    List(Vec<Rc<Yaml>>),
    Map(Vec<(String, Rc<Yaml>)>),
}

impl Yaml {
    /// The documents of a file.
    ///
    /// # Errors
    /// When the file cannot be read, is not valid YAML, or is nested deeper or holds more values than the bounds allow.
    pub(crate) fn documents(input: &Input) -> Result<Vec<Rc<Self>>, IngestError> {
        let content = input.read_document()?;
        let text = std::str::from_utf8(super::lines::without_mark(&content)).map_err(|error| {
            let at = u64::try_from(error.valid_up_to()).unwrap_or(u64::MAX);
            input.damaged(Some(Place::Byte(at)), "it is not valid UTF-8")
        })?;
        if text.trim_start().starts_with(['{', '['])
            && let Ok(document) = json::parse(text, input.bounds())
        {
            return Ok(vec![Rc::new(Self::of_json(&document, 1))]);
        }
        parse(text, input.bounds())
            .map_err(|error| input.damaged(Some(Place::Line(error.line)), format!("YAML: {}", error.what)))
    }

    /// A JSON value in a row: strings, numbers and truth values are the texts that they are written as.
    fn of_json(value: &Value<'_>, row: u64) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(truth) => Kind::Text(truth.to_string()),
            Value::Number(number) => Kind::Text((*number).to_owned()),
            Value::Text(text) => Kind::Text(text.clone().into_owned()),
            Value::List(items) => {
                let is_of_rows = matches!(items.first(), Some(Value::Object(_)));
                let row_of = |number: u64| if is_of_rows { number } else { row };
                Kind::List(
                    (1..).zip(items).map(|(number, item)| Rc::new(Self::of_json(item, row_of(number)))).collect(),
                )
            }
            Value::Object(members) => {
                let member = |(name, value): &(std::borrow::Cow<'_, str>, Value<'_>)| {
                    (name.clone().into_owned(), Rc::new(Self::of_json(value, row)))
                };
                Kind::Map(members.iter().map(member).collect())
            }
        };
        Self { place: Place::Row(row), kind }
    }

    /// Its beginning.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// The text of a scalar; `None` for `null`, lists and mappings.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// The items of a list; nothing for anything else.
    pub(crate) fn items(&self) -> &[Rc<Self>] {
        match &self.kind {
            Kind::List(items) => items,
            Kind::Null | Kind::Text(_) | Kind::Map(_) => &[],
        }
    }

    /// The members of a mapping with those it merges; nothing for anything else.
    pub(crate) fn members(&self) -> &[(String, Rc<Self>)] {
        match &self.kind {
            Kind::Map(members) => members,
            Kind::Null | Kind::Text(_) | Kind::List(_) => &[],
        }
    }

    /// The value of a key; `None` when it is missing or `null`. Of a repeated key the last value counts.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let found = self.members().iter().rev().find(|(name, _)| name == key).map(|(_, value)| &**value);
        found.filter(|value| value.kind != Kind::Null)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct YamlError {
    line: u64,
    what: String,
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        Self { line: line_of(error.marker().line()), what: error.info().to_owned() }
    }
}

fn line_of(line: usize) -> u64 {
    u64::try_from(line).unwrap_or(u64::MAX)
}

/// A list or mapping whose end is not reached yet.
struct Open {
    line: u64,
    anchor: usize,
    content: Content,
}

enum Content {
    List(Vec<Rc<Yaml>>),
    Map { members: Vec<(String, Rc<Yaml>)>, merged: Vec<(String, Rc<Yaml>)>, key: Option<String> },
}

struct Builder<'b> {
    bounds: &'b Bounds,
    values: usize,
    open: Vec<Open>,
    anchors: FxHashMap<usize, Rc<Yaml>>,
    documents: Vec<Rc<Yaml>>,
}

fn parse(text: &str, bounds: &Bounds) -> Result<Vec<Rc<Yaml>>, YamlError> {
    let mut builder =
        Builder { bounds, values: 0, open: Vec::new(), anchors: FxHashMap::default(), documents: Vec::new() };
    let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
    while let Some(next) = parser.next_event() {
        let (event, span) = next?;
        let line = line_of(span.start.line());
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let kind = if is_null { Kind::Null } else { Kind::Text(text.into_owned()) };
                builder.add(line, anchor, kind)?;
            }
            Event::SequenceStart(anchor, _) => builder.open(line, anchor, Content::List(Vec::new()))?,
            Event::MappingStart(anchor, _) => {
                builder.open(line, anchor, Content::Map { members: Vec::new(), merged: Vec::new(), key: None })?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.close()?,
            Event::Alias(anchor) => {
                let node = builder.anchors.get(&anchor).map(Rc::clone);
                let what = || YamlError { line, what: "an alias inside its own anchor".to_owned() };
                builder.take(line, node.ok_or_else(what)?)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd => {}
        }
    }
    Ok(builder.documents)
}

impl Builder<'_> {
    fn count(&mut self, line: u64, values: usize) -> Result<(), YamlError> {
        self.values = self.values.saturating_add(values);
        let max = self.bounds.document_values;
        if self.values > max {
            let what = format!("at most {max} values; raise --max-document-values");
            return Err(YamlError { line, what });
        }
        Ok(())
    }

    fn open(&mut self, line: u64, anchor: usize, content: Content) -> Result<(), YamlError> {
        let max = self.bounds.document_depth;
        if self.open.len() >= max {
            let what = format!("values nested at most {max} deep; raise --max-document-depth");
            return Err(YamlError { line, what });
        }
        self.open.push(Open { line, anchor, content });
        Ok(())
    }

    fn close(&mut self) -> Result<(), YamlError> {
        let Some(Open { line, anchor, content }) = self.open.pop() else { return Ok(()) };
        let kind = match content {
            Content::List(items) => Kind::List(items),
            Content::Map { mut members, merged, .. } => {
                for (name, value) in merged {
                    if members.iter().all(|(held, _)| *held != name) {
                        members.push((name, value));
                    }
                }
                self.count(line, members.len())?;
                Kind::Map(members)
            }
        };
        self.add(line, anchor, kind)
    }

    fn add(&mut self, line: u64, anchor: usize, kind: Kind) -> Result<(), YamlError> {
        let node = Rc::new(Yaml { place: Place::Line(line), kind });
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        self.take(line, node)
    }

    fn take(&mut self, line: u64, node: Rc<Yaml>) -> Result<(), YamlError> {
        self.count(line, 1)?;
        let Some(innermost) = self.open.last_mut() else {
            self.documents.push(node);
            return Ok(());
        };
        match &mut innermost.content {
            Content::List(items) => items.push(node),
            Content::Map { members, merged, key } => match key.take() {
                None => *key = Some(node.text().unwrap_or_default().to_owned()),
                Some(name) if name == MERGE => {
                    // The first mapping of a list wins, so a later one only adds what is missing.
                    merged.extend(node.members().iter().cloned());
                    merged.extend(node.items().iter().flat_map(|item| item.members().iter().cloned()));
                    let added = merged.len();
                    self.count(line, added)?;
                }
                Some(name) => members.push((name, node)),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Rc<Yaml> {
        Rc::clone(&parse(text, &Bounds::default()).unwrap()[0])
    }

    fn text<'y>(yaml: &'y Yaml, key: &str) -> Option<&'y str> {
        yaml.get(key).and_then(Yaml::text)
    }

    #[test]
    fn scalars_stay_the_text_they_were_written_as() {
        let yaml = document("a: 0x0005\nb: NO\nc: 'null'\nd: null\ne:\nf: 1e3\ng: \"BTC \"\n");
        let values: Vec<_> = ["a", "b", "c", "d", "e", "f", "g"].iter().map(|key| text(&yaml, key)).collect();
        assert_eq!(values, [Some("0x0005"), Some("NO"), Some("null"), None, None, Some("1e3"), Some("BTC ")]);
        assert_eq!(yaml.get("f").unwrap().place(), Place::Line(6));
    }

    #[test]
    fn merged_members_stand_behind_own_ones() {
        let yaml =
            document("x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 0\none: {<<: *y}\nlist: [*x]\n");
        let merged = yaml.get("z").unwrap();
        assert_eq!([text(merged, "a"), text(merged, "b"), text(merged, "c")], [Some("0"), Some("1"), Some("2")]);
        assert_eq!(text(yaml.get("one").unwrap(), "c"), Some("2"));
        assert_eq!(text(&yaml.get("list").unwrap().items()[0], "a"), Some("1"));
    }

    #[test]
    fn documents_out_of_bounds_are_refused() {
        let bounds = Bounds { document_depth: 3, document_values: 40, ..Bounds::default() };
        let error = |text: &str| parse(text, &bounds).unwrap_err().what;
        assert!(error("[[[[1]]]]").contains("--max-document-depth"));
        assert!(error(&"- 1\n".repeat(50)).contains("--max-document-values"));
        assert_eq!(error("&a [*a]"), "an alias inside its own anchor");
        assert!(parse("a: [1", &bounds).is_err());
        // Each mapping merges the one before twice.
        let merge = |n: i32| format!("k{n}: &a{n}\n  <<: [*a{0}, *a{0}]\n  m{n}: 1\n", n - 1);
        let merges = (1..40).map(merge).collect::<Vec<_>>().concat();
        assert!(error(&format!("k0: &a0 {{m0: 1}}\n{merges}")).contains("--max-document-values"));
    }
}
