//! The look of a file that no reader takes, in words.

use headwater_types::text::{SHOWN, shortened};

use super::address_form::has_address_form;
use super::exceptions::is_exception;
use super::json::{self, Value};
use super::layout::Layout;
use super::listing::ListedItems;
use super::shapes::shape_of;
use super::{Bounds, Content, Probe, container};

/// Names of columns or members that a message repeats.
const NAMES: usize = 8;
/// Lines that are looked at.
const LINES: usize = 40;
/// The longest name of a column; what is longer is a sentence.
const LONGEST_NAME: usize = 60;

impl Probe {
    /// Describes a file that no format reads: the predicate of a sentence, such as "is a Markdown text".
    pub(crate) fn seen(&self) -> String {
        appearance(self)
    }
}

fn appearance(probe: &Probe) -> String {
    if let Some(what) = container::unread(probe.head()) {
        return what.to_owned();
    }
    if let Some(shape) = shape_of(probe) {
        return shape.what.to_owned();
    }
    match probe.content() {
        Content::Empty => return "is empty".to_owned(),
        Content::Parquet => return format!("is Parquet with {}", named("column", probe.columns())),
        Content::Json => {
            if let Some(document) = probe.document() {
                return of_document(&document, probe);
            }
        }
        Content::Csv | Content::Tsv | Content::Binary => {}
    }
    match probe.text().filter(|text| is_text(text)) {
        Some(text) => of_text(text, probe),
        None => of_bytes(probe.head()),
    }
}

/// Returns true if a text is one that people write: no control characters but those of lines and tabs.
fn is_text(text: &str) -> bool {
    !text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t' | '\x0c' | '\x1b' | '\x1a'))
}

fn of_bytes(head: &[u8]) -> String {
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).take(64).filter(|byte| **byte == 0).count();
    // Where every other byte is zero, the bytes between them are letters.
    let is_plain = |odd: usize| {
        let mut between = head.iter().skip(odd).step_by(2).take(64).filter(|byte| **byte != 0);
        between.all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
    };
    if head.len() >= 8
        && zeros(0).max(zeros(1)) * 4 > head.len().div_ceil(2).min(64) * 3
        && is_plain(usize::from(zeros(1) < zeros(0)))
    {
        return "is UTF-16 text without a byte order mark: convert it to UTF-8".to_owned();
    }
    let start: Vec<_> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("is binary data of an unknown kind, which begins with the bytes {}", start.join(" "))
}

/// Names with the noun for one of them.
fn named<T: AsRef<str>>(noun: &str, names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).filter(|name| !name.is_empty()).collect();
    let shown: Vec<_> = names.iter().take(NAMES).copied().collect();
    let shown = shortened(&shown.join(", "), SHOWN);
    match names.len() {
        0 => format!("no {noun}s"),
        1 => format!("the {noun} {shown}"),
        count if count > NAMES => format!("the {noun}s {shown} and {} more", count - NAMES),
        _ => format!("the {noun}s {shown}"),
    }
}

fn of_document(document: &Value<'_>, probe: &Probe) -> String {
    let members = |value: &Value<'_>| value.members().iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>();
    let is_lines = || probe.text().is_some_and(|text| text.lines().skip(1).any(|line| line.starts_with('{')));
    let text = probe.text().unwrap_or_default().trim();
    let is_empty = document.members().is_empty() && document.items().is_empty();
    if is_empty && !text.get(1..).is_some_and(|rest| rest.trim_start().starts_with(['}', ']'])) {
        // Nothing of it could be read.
        return of_broken_json(text);
    }
    match document {
        Value::Object(of) if of.is_empty() => "is an empty JSON object".to_owned(),
        Value::Object(of) if of.iter().take(ITEMS).all(|(name, _)| has_address_form(name)) => {
            format!("is a JSON object from addresses to {}", of.first().map_or("nothing", |(_, value)| plural(value)))
        }
        Value::Object(of) if of.iter().any(|(name, inner)| is_exception(name) && !inner.items().is_empty()) => {
            let names = named("member", &members(document));
            format!(
                "is a JSON object with {names}, which lists victims or allowed addresses: put the others into a file"
            )
        }
        Value::Object(_) if is_lines() => format!("is JSON lines with {}", named("member", &members(document))),
        Value::Object(_) => {
            let said = ["error", "message", "detail"].iter().find_map(|name| document.get(name)?.text());
            let said = said.map(|text| format!(" ({:?})", shortened(text, SHOWN))).unwrap_or_default();
            format!("is a JSON object with {}{said}", named("member", &members(document)))
        }
        Value::List(items) => match items.first() {
            None => "is an empty JSON list".to_owned(),
            Some(item @ Value::Object(_)) => {
                format!("is a JSON list of objects with {}", named("member", &members(item)))
            }
            Some(Value::Text(text)) if has_address_form(text) => "is a JSON list of addresses".to_owned(),
            Some(Value::Text(text)) => format!("is a JSON list of texts such as {:?}", shortened(text, SHOWN)),
            Some(item) => format!("is a JSON list of {}", plural(item)),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => "is one JSON value".to_owned(),
    }
}

/// Members or items that decide what a document is.
const ITEMS: usize = 3;

fn plural(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "nulls",
        Value::Bool(_) => "truth values",
        Value::Number(_) => "numbers",
        Value::Text(_) => "texts",
        Value::List(_) => "lists",
        Value::Object(_) => "objects",
    }
}

fn of_text(text: &str, probe: &Probe) -> String {
    let trimmed = text.trim();
    let name = probe.path().to_string_lossy().to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.trim_end_matches(".gz").ends_with(ending));
    let begins = |starts: &[&str]| {
        starts.iter().any(|start| trimmed.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
    };
    let has_line = |starts: &[&str]| {
        let mut lines = trimmed.lines().take(LINES).map(str::trim_start);
        lines.any(|line| starts.iter().any(|start| line.starts_with(start)))
    };
    if trimmed.is_empty() {
        return "holds blanks alone".to_owned();
    }
    if begins(&["version https://git-lfs"]) {
        return "is a pointer of Git LFS, not the file itself: run `git lfs pull`".to_owned();
    }
    if trimmed.lines().count() == 1 && trimmed.contains("annex/objects/") {
        return "is a pointer of git-annex, not the file itself: run `git annex get`".to_owned();
    }
    if trimmed.starts_with('<') {
        return of_markup(
            probe,
            begins(&["<!doctype html", "<html", "<head", "<body", "<div", "<table", "<script", "<meta"]),
        );
    }
    if trimmed.starts_with(['{', '[']) && !is_markdown_link(trimmed) {
        return of_broken_json(trimmed);
    }
    if begins(&["-- mysql dump", "-- postgresql database dump"]) || has_line(&["CREATE TABLE", "INSERT INTO"]) {
        return "is an SQL dump: load it, and export the table as CSV".to_owned();
    }
    if has_line(&["module.exports", "export const", "export default", "const ", "import {"])
        && trimmed.contains(['{', '='])
    {
        return "is source code of JavaScript".to_owned();
    }
    if let Some(table) = of_table(text, probe) {
        return table;
    }
    if trimmed.starts_with('"') && json::parse(trimmed, &Bounds::default()).is_ok() {
        return of_broken_json(trimmed);
    }
    if let Some(list) = of_list(trimmed) {
        return list;
    }
    if ends(&[".md", ".markdown"]) || has_line(&["# ", "## ", "### ", "```", "|---", "| ---", "|:-"]) {
        return "is a Markdown text".to_owned();
    }
    if ends(&[".yaml", ".yml"]) || trimmed.lines().take(LINES).filter(|line| yaml_key(line).is_some()).count() > 1 {
        let keys: Vec<&str> = trimmed.lines().filter_map(yaml_key).collect();
        return format!("is YAML with {}", named("key", &keys));
    }
    if trimmed.lines().count() == 1 {
        return format!("is one line of text: {:?}", shortened(trimmed, SHOWN));
    }
    let first = trimmed.lines().next().unwrap_or_default();
    format!("is a text that begins with {:?}", shortened(first, LONGEST_NAME))
}

fn of_markup(probe: &Probe, is_page: bool) -> String {
    match probe.xml_root() {
        Some(root) if !is_page && !root.eq_ignore_ascii_case("html") => {
            format!("is XML with the root element {}", shortened(&root, SHOWN))
        }
        None if !is_page => "begins with < as XML and HTML do, and is neither".to_owned(),
        _ => "is a web page (HTML): the download failed, needs a login, or is a page about the list".to_owned(),
    }
}

/// Returns true if a text begins with a link of Markdown rather than with a list of JSON.
fn is_markdown_link(text: &str) -> bool {
    text.starts_with('[') && text.lines().next().is_some_and(|line| line.contains("]("))
}

fn of_broken_json(text: &str) -> String {
    if text.starts_with("{'") || text.starts_with("[{'") {
        return "is a value as Python prints it, not JSON: write it with json.dump".to_owned();
    }
    match json::parse(text, &Bounds::default()) {
        Ok(Value::Text(value)) => format!("is one JSON text: {:?}", shortened(&value, SHOWN)),
        Ok(_) => "is one JSON value".to_owned(),
        Err(error) => {
            let line = 1 + text.bytes().take(error.at).filter(|byte| *byte == b'\n').count();
            format!("begins like JSON, and is not: line {line} lacks {}", error.expected)
        }
    }
}

/// A table, where its rows are as long as its header.
fn of_table(text: &str, probe: &Probe) -> Option<String> {
    if !matches!(probe.content(), Content::Csv | Content::Tsv) {
        return None;
    }
    let layout = Layout::of(text);
    let text = (0..layout.preamble).fold(text, |text, _| text.split_once('\n').map_or("", |(_, rest)| rest));
    let mut reader = layout.reader().from_reader(text.as_bytes());
    let mut lengths = reader.records().map_while(Result::ok).take(LINES).map(|record| record.len());
    let header = lengths.next()?;
    let (rows, alike) = lengths.fold((0, 0), |(rows, alike), length| (rows + 1, alike + usize::from(length == header)));
    let names = probe.columns();
    let is_table = alike * 2 >= rows && names.iter().all(|name| name.chars().count() <= LONGEST_NAME);
    let kind = if *probe.content() == Content::Tsv { "a table with tabs" } else { "a table (CSV)" };
    if !is_table {
        return None;
    }
    if let Some(address) = names.iter().find(|name| has_address_form(name)) {
        return Some(format!("is {kind} without a line of column names: its first line has {address}"));
    }
    if rows == 0 && names.iter().any(|name| name.ends_with(['.', '!', '?'])) {
        return None;
    }
    if rows == 0 {
        return Some(format!("is {kind} without a row, with {}", named("column", names)));
    }
    Some(format!("is {kind} with {}", named("column", names)))
}

/// A list of addresses, one a line, alone or with a text behind them.
fn of_list(text: &str) -> Option<String> {
    let is_mark =
        |letter: char| letter.is_whitespace() || matches!(letter, '-' | '*' | '|' | '`' | ',' | ';' | '"' | '\'');
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '/'])).take(LINES);
    let (mut items, mut listed, mut alone) = (ListedItems::default(), 0, 0);
    for line in lines {
        let line = line.trim_start_matches(is_mark);
        let address = line.split(is_mark).next().unwrap_or_default();
        let is_listed = has_address_form(address);
        items.add(is_listed);
        if is_listed {
            listed += 1;
            alone += usize::from(line.trim_end_matches(is_mark).len() == address.len());
        }
    }
    match (items.is_list(), alone == listed) {
        (false, _) => None,
        (true, true) => Some("is a list of addresses, one a line".to_owned()),
        (true, false) => Some("is a list of addresses, one a line, with text behind them".to_owned()),
    }
}

/// The key of a line of YAML at the left margin.
fn yaml_key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'));
    (is_key && (rest.is_empty() || rest.starts_with([' ', '\r']))).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::super::Input;
    use super::*;

    fn seen(name: &str, content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        appearance(&Probe::new(Input::new(&path, &Bounds::default()).unwrap()).unwrap())
    }

    const EVM: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
    const BITCOIN: &str = "3GbBtw4rpfsFTrcpEMFtu9nwD1n9Ewmek8";

    #[test]
    fn texts_are_called_what_they_are() {
        let list = format!("# list\n{EVM}\n\n{BITCOIN}\n");
        let named_list = format!("{EVM} - Example\n{BITCOIN} - Other\n");
        for (name, content, expected) in [
            (
                "a.xml",
                "<?xml version=\"1.0\"?><e:export xmlns:e=\"x\"><a/></e:export>",
                "is XML with the root element export",
            ),
            (
                "a.csv",
                "<!DOCTYPE html><html><meta content=\"width=device-width, initial-scale=1\">",
                "is a web page (HTML)",
            ),
            ("a.csv", "<svg", "begins with < as XML and HTML do"),
            ("a.md", "Words, and more words.\nOther words.\n", "is a Markdown text"),
            ("a.txt", "# Title\n\nSome words, here.\n", "is a Markdown text"),
            ("a.yaml", "name: x\nvalues:\n- 1\n", "is YAML with the keys name, values"),
            ("a.txt", list.as_str(), "is a list of addresses, one a line"),
            ("a.txt", named_list.as_str(), "is a list of addresses, one a line, with text behind them"),
            ("a.txt", "404: Not Found", "is one line of text: \"404: Not Found\""),
            (
                "a.txt",
                "Dear all, here\nis a text.\nIt goes on, and on, and on.\nEnd.\n",
                "is a text that begins with \"Dear all, here\"",
            ),
            ("a.txt", " \n\n", "holds blanks alone"),
            ("a.csv", "", "is empty"),
            ("a.json", "{'a': 1}", "is a value as Python prints it"),
            ("a.json", "{\"a\": 1,\n b}", "is a JSON object with the member a"),
            ("a.json", "{a: 1}", "begins like JSON, and is not: line 1 lacks"),
            ("a.json", "\"0xab\"", "is one JSON text: \"0xab\""),
            ("a.sql", "CREATE TABLE a (b text);\nINSERT INTO a VALUES ('1');\n", "is an SQL dump"),
            ("a.csv", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "is a pointer of Git LFS"),
            ("a.csv", "a,b\n1,2\n", "is a table (CSV) with the columns a, b"),
            ("a.csv", "a,b\n", "is a table (CSV) without a row, with the columns a, b"),
            ("a.tsv", "a\tb\n1\t2\n", "is a table with tabs with the columns a, b"),
        ] {
            let seen = seen(name, content.as_bytes());
            assert!(seen.starts_with(expected), "{content:?}: {seen}");
        }
        let first = seen("a.csv", format!("{EVM},Example\n{BITCOIN},Other\n").as_bytes());
        assert!(first.contains("without a line of column names"), "{first}");
    }

    #[test]
    fn documents_are_called_by_what_they_hold() {
        let map = format!("{{\"{EVM}\": \"Example\"}}");
        let list = format!("[\"{EVM}\"]");
        for (content, expected) in [
            ("{}", "is an empty JSON object"),
            ("[]", "is an empty JSON list"),
            ("[1, 2]", "is a JSON list of numbers"),
            ("[[1], [2]]", "is a JSON list of lists"),
            ("[\"a.example\"]", "is a JSON list of texts such as \"a.example\""),
            ("[{\"a\": 1}]", "is a JSON list of objects with the member a"),
            ("{\"a\": 1}\n{\"a\": 2}\n", "is JSON lines with the member a"),
            ("{\n \"a\": 1,\n \"b\": {}\n}", "is a JSON object with the members a, b"),
            (
                "{\"status\": \"0\", \"message\": \"NOTOK\"}",
                "is a JSON object with the members status, message (\"NOTOK\")",
            ),
            (
                "{\"whitelist\": [{\"address\": \"a\"}]}",
                "is a JSON object with the member whitelist, which lists victims or allowed addresses: put the others into a file",
            ),
            (map.as_str(), "is a JSON object from addresses to texts"),
            (list.as_str(), "is a JSON list of addresses"),
        ] {
            assert_eq!(seen("a.json", content.as_bytes()), expected, "{content}");
        }
    }

    #[test]
    fn bytes_are_named_for_unknown_binary_alone() {
        for (content, expected) in [
            (&b"%PDF-1.7\n%\xe2\xe3"[..], "is a PDF document"),
            (b"\x89PNG\r\n\x1a\n", "is a picture"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an old Excel workbook"),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0\0\0\0\0", "is binary data"),
            (b"a\0d\0d\0r\0e\0s\0s\0\n\0", "is UTF-16 text without a byte order mark"),
            (b"\x01\x02\x03\x04", "is binary data of an unknown kind, which begins with the bytes 01 02 03 04"),
        ] {
            let seen = seen("a.bin", content);
            assert!(seen.starts_with(expected), "{seen}");
        }
    }
}
