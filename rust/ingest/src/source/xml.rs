//! XML element by element, in bounded memory.

use std::borrow::Cow;
use std::io::{self, BufReader};

use headwater_types::text::{SHOWN, shortened};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::guarded::Guarded;
use super::{Bounds, Input};
use crate::{IngestError, Place};

/// One end of an element.
pub(crate) struct Element<'a> {
    /// The names of the elements around it and its own, outermost first and joined with `/`, without their namespaces.
    pub(crate) path: &'a str,
    /// Its position.
    pub(crate) place: Place,
    pub(crate) step: Step<'a>,
}

/// The end of an element.
pub(crate) enum Step<'a> {
    /// It begins.
    Start(Attributes<'a>),
    /// It ends; the text since the last end of an element, without blanks around it: of an element without others all it
    /// holds.
    End(&'a str),
}

/// The attributes of an element.
pub(crate) struct Attributes<'a>(BytesStart<'a>);

impl Attributes<'_> {
    /// The value of an attribute, by its name without the namespace.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes().filter_map(Result::ok);
        let found = attributes.find(|attribute| attribute.key.local_name().as_ref() == name.as_bytes())?;
        found.unescape_value().ok().map(Cow::into_owned)
    }
}

/// The name of the outermost element of a document that begins so.
pub(super) fn root(head: &[u8]) -> Option<String> {
    if !head.trim_ascii_start().starts_with(b"<") {
        return None;
    }
    let mut reader = Reader::from_reader(head);
    loop {
        match reader.read_event().ok()? {
            Event::Start(element) | Event::Empty(element) => {
                return std::str::from_utf8(element.local_name().as_ref()).ok().map(str::to_owned);
            }
            Event::Eof => return None,
            Event::End(_)
            | Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
}

/// Reads all elements of a document.
///
/// # Errors
/// When the document is damaged or cut off, or one of its parts is larger than it may be.
pub(crate) fn each_element(
    input: &Input,
    mut handle: impl FnMut(&Element<'_>) -> Result<(), IngestError>,
) -> Result<(), IngestError> {
    let (content, guard) = Guarded::new(input.open()?, input.bounds().line_bytes);
    let mut reader = Reader::from_reader(BufReader::with_capacity(1 << 16, content));
    reader.config_mut().expand_empty_elements = true;
    let mut open = Open::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let position = reader.buffer_position();
        guard.allow_from(position);
        let event = match reader.read_event_into(&mut buffer) {
            Ok(event) => event,
            Err(error) => return Err(failed(input, reader.error_position(), error)),
        };
        let broken = |error: &dyn std::fmt::Display| damaged(input, position, error);
        let place = Place::Byte(position);
        match event {
            Event::Start(element) => {
                if let Some(error) = element.attributes().find_map(Result::err) {
                    return Err(broken(&error));
                }
                let name = element.local_name();
                open.enter(std::str::from_utf8(name.as_ref()).map_err(|error| broken(&error))?);
                open.check(input.bounds()).map_err(|what| input.damaged(Some(place), what))?;
                handle(&Element { path: &open.path, place, step: Step::Start(Attributes(element)) })?;
            }
            Event::End(_) => {
                handle(&Element { path: &open.path, place, step: Step::End(open.text.trim()) })?;
                open.leave();
            }
            Event::Text(text) => open.text.push_str(&text.decode().map_err(|error| broken(&error))?),
            Event::CData(text) => open.text.push_str(&text.decode().map_err(|error| broken(&error))?),
            Event::GeneralRef(name) => open.text.push_str(&resolved(&name).map_err(|error| broken(&error))?),
            Event::Eof => return open.finish().map_err(|what| input.damaged(None, what)),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
        if open.text.len() > input.bounds().line_bytes {
            return Err(too_large(input, position));
        }
    }
}

/// The elements that are open, and the text since the last end of one.
#[derive(Default)]
struct Open {
    path: String,
    /// The length of the path before each of them.
    lengths: Vec<usize>,
    text: String,
}

impl Open {
    fn enter(&mut self, name: &str) {
        self.lengths.push(self.path.len());
        if !self.path.is_empty() {
            self.path.push('/');
        }
        self.path.push_str(name);
        self.text.clear();
    }

    fn leave(&mut self) {
        self.path.truncate(self.lengths.pop().unwrap_or_default());
        self.text.clear();
    }

    fn check(&self, bounds: &Bounds) -> Result<(), String> {
        if self.lengths.len() > bounds.document_depth || self.path.len() > bounds.line_bytes {
            return Err(format!(
                "its elements are nested deeper than {}; raise --max-document-depth",
                bounds.document_depth
            ));
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), String> {
        match self.path.rsplit('/').next().filter(|name| !name.is_empty()) {
            Some(name) => Err(format!("it ends inside of <{name}>: it was cut off")),
            None => Ok(()),
        }
    }
}

fn resolved(name: &BytesRef<'_>) -> Result<String, Cow<'static, str>> {
    let failed = |error: &dyn std::fmt::Display| Cow::Owned(error.to_string());
    if let Some(character) = name.resolve_char_ref().map_err(|error| failed(&error))? {
        return Ok(character.to_string());
    }
    let name = name.decode().map_err(|error| failed(&error))?;
    resolve_predefined_entity(&name)
        .map(str::to_owned)
        .ok_or_else(|| format!("the entity &{name}; is not known").into())
}

fn damaged(input: &Input, position: u64, error: &dyn std::fmt::Display) -> IngestError {
    let error = shortened(&error.to_string(), 2 * SHOWN);
    // The message repeats names of elements, however long they are.
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    input.damaged(Some(Place::Byte(position)), format!("it is not XML: {}", shortened(&error, 2 * SHOWN)))
}

fn too_large(input: &Input, position: u64) -> IngestError {
    input.too_large(Some(Place::Byte(position)), "element", input.bounds().line_bytes, "--max-line-bytes")
}

fn failed(input: &Input, position: u64, error: quick_xml::Error) -> IngestError {
    match error {
        quick_xml::Error::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => too_large(input, position),
        quick_xml::Error::Io(error) => input.io(io::Error::new(error.kind(), error.to_string())),
        error => damaged(input, position, &error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_within(content: &str, bounds: &Bounds) -> Result<Vec<String>, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.xml");
        std::fs::write(&path, content).unwrap();
        let mut seen = Vec::new();
        each_element(&Input::new(&path, bounds)?, |element| {
            seen.push(match &element.step {
                Step::Start(attributes) => format!("<{} {}", element.path, attributes.get("ID").unwrap_or_default()),
                Step::End(text) => format!("{}> {text}", element.path),
            });
            Ok(())
        })?;
        Ok(seen)
    }

    fn read(content: &str) -> Result<Vec<String>, IngestError> {
        read_within(content, &Bounds::default())
    }

    #[test]
    fn element_names_lose_their_namespace_and_texts_their_escapes() {
        let content = "\u{feff}<?xml version=\"1.0\"?><!-- a --><o:List xmlns:o=\"x\"><o:a o:ID=\"1&amp;2\"> b &amp; \
                       &#x63;<![CDATA[<d>]]> </o:a><e/></o:List>";
        let expected = ["<List ", "<List/a 1&2", "List/a> b & c<d>", "<List/e ", "List/e> ", "List> "];
        assert_eq!(read(content).unwrap(), expected);
        assert_eq!(root(content.trim_start_matches('\u{feff}').as_bytes()).as_deref(), Some("List"));
        assert_eq!(root(b"a,b\n<c>"), None);
    }

    #[test]
    fn damaged_and_cut_documents_are_errors() {
        for (content, expected) in [
            ("<a><b>1</b>", "it ends inside of <a>: it was cut off"),
            ("<a><b>1", "it ends inside of <b>"),
            ("<a><b", "not XML"),
            ("<a></b>", "not XML"),
            ("<a>&nothing;</a>", "the entity &nothing; is not known"),
            ("<a b=c></a>", "not XML"),
        ] {
            let error = read(content).unwrap_err().to_string();
            assert!(error.contains(expected), "{content}: {error}");
        }
    }

    #[test]
    fn parts_and_depth_are_bounded() {
        let bounds = Bounds { line_bytes: 1_000, document_depth: 3, ..Bounds::default() };
        assert!(read_within("<a><b><c>1</c></b></a>", &bounds).is_ok());
        let error = |content: &str| read_within(content, &bounds).unwrap_err().to_string();
        assert!(error("<a><b><c><d/></c></b></a>").contains("--max-document-depth"));
        let long = "x".repeat(1 << 20);
        assert!(error(&format!("<a>{long}</a>")).contains("raise --max-line-bytes"));
        assert!(error(&format!("<a b=\"{long}\"/>")).contains("raise --max-line-bytes"));
    }
}
