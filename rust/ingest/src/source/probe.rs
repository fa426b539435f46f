//! The beginning of a file, from which its format is detected.

use std::path::Path;

use crate::IngestError;
use crate::source::layout::Layout;
use crate::source::lines::without_mark;
use crate::source::row::same_name;
use crate::source::wrapped::WrappedRows;
use crate::source::{Bounds, Compression, Input, columnar, json, xml};

/// The number of bytes at the beginning of a file that are examined.
const HEAD: u64 = 1 << 20;

/// The content of a file, as far as its beginning shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing at all.
    Empty,
    /// A header line and rows of as many fields.
    Csv,
    /// The same with tabs between the fields and no quotes.
    Tsv,
    /// JSON: one object per line, or one document.
    Json,
    /// Parquet.
    Parquet,
    /// Anything else.
    Binary,
}

/// The beginning of a file, and what kind of content it looks like.
#[derive(Debug)]
pub struct Probe {
    input: Input,
    head: Vec<u8>,
    content: Content,
    columns: Vec<String>,
    first: Vec<Option<String>>,
    floats: Vec<String>,
}

impl Probe {
    pub(crate) fn new(input: Input) -> Result<Self, IngestError> {
        let head = input.head(HEAD)?;
        let content = Content::Binary;
        let mut probe = Self { input, head, content, columns: Vec::new(), first: Vec::new(), floats: Vec::new() };
        if probe.head.is_empty() {
            probe.content = Content::Empty;
        } else if probe.head.starts_with(b"PAR1") && probe.input.compression() == Compression::None {
            let beginning = columnar::parquet_beginning(&probe.input)?;
            (probe.columns, probe.first, probe.floats) = (beginning.columns, beginning.first, beginning.floats);
            probe.content = Content::Parquet;
        } else if probe.input.is_block_file() {
            // Hidden by a key, its bytes look like anything.
        } else if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = probe.head[..] {
            return Err(IngestError::Encoding { path: probe.path().to_owned(), found: "UTF-16" });
        } else {
            probe.look_for_json();
            probe.look_for_csv();
        }
        Ok(probe)
    }

    pub(super) fn text(&self) -> Option<&str> {
        let head = without_mark(&self.head);
        match std::str::from_utf8(head) {
            Ok(text) => Some(text),
            // The head may end inside a character; what is wrong further on is an error of its row.
            Err(error) if error.valid_up_to() > 0 => std::str::from_utf8(&head[..error.valid_up_to()]).ok(),
            Err(_) => None,
        }
    }

    /// The first JSON document, as far as it stands in the head.
    pub(crate) fn document(&self) -> Option<json::Value<'_>> {
        let text = self.text().map(str::trim_start).filter(|text| text.starts_with(['{', '[']))?;
        json::parse_beginning(text)
    }

    /// The name of the outermost element of an XML document, without its namespace.
    pub(crate) fn xml_root(&self) -> Option<String> {
        xml::root(without_mark(&self.head))
    }

    fn look_for_json(&mut self) {
        let Some(value) = self.document() else { return };
        let object = value.items().first().unwrap_or(&value);
        let members = object.members();
        let columns = members.iter().map(|(name, _)| name.clone().into_owned()).collect();
        let first = members.iter().map(|(_, value)| value.text().map(str::to_owned)).collect();
        (self.columns, self.first, self.content) = (columns, first, Content::Json);
    }

    /// The same file as a table of the rows that its JSON document wraps, where it wraps any: an answer of an interface,
    /// objects under their addresses, or one object over several lines.
    pub(crate) fn unwrapped(mut self) -> Self {
        let Some(rows) = self.wrapped() else { return self };
        let document = self.document();
        let first = document.as_ref().and_then(|document| rows.rows(document)?.into_iter().next());
        let Some(first) = first else { return self };
        let members = first.members();
        let columns = members.iter().map(|(name, _)| name.clone().into_owned()).collect();
        let values = members.iter().map(|(_, value)| value.text().map(str::to_owned)).collect();
        (self.columns, self.first) = (columns, values);
        self.input = self.input.with_rows(rows);
        self
    }

    fn wrapped(&self) -> Option<WrappedRows> {
        if self.content != Content::Json {
            return None;
        }
        let mut lines = self.text()?.lines().map(str::trim).filter(|line| !line.is_empty());
        let (first, second) = (lines.next()?, lines.next());
        // A document per line: none of them wraps the others.
        let is_whole = first.starts_with('{') && json::parse(first, &Bounds::default()).is_ok();
        if is_whole && second.is_some() {
            return None;
        }
        let document = self.document()?;
        let is_single = !is_whole && first.starts_with('{') && second.is_some();
        WrappedRows::of(&document).or_else(|| is_single.then(WrappedRows::single))
    }

    fn look_for_csv(&mut self) {
        if self.content != Content::Binary {
            return;
        }
        let Some(text) = self.text() else { return };
        let layout = Layout::of(text);
        let text = (0..layout.preamble).fold(text, |text, _| text.split_once('\n').map_or("", |(_, rest)| rest));
        let mut reader = layout.reader().from_reader(text.as_bytes());
        let mut records = reader.records().map_while(Result::ok);
        // One column is too little to detect a table, except in a list of addresses.
        let is_list =
            |header: &csv::StringRecord| header.get(0).is_some_and(|name| name.trim().eq_ignore_ascii_case("address"));
        let is_header = |header: &csv::StringRecord| {
            (header.len() > 1 || is_list(header))
                && !header.iter().any(|name| name.contains(|letter: char| letter.is_control()))
        };
        let Some(header) = records.next().filter(is_header) else { return };
        let first = records.next();
        self.first = (0..header.len())
            .map(|column| {
                let value = first.as_ref().and_then(|record| record.get(column)).map(str::trim);
                value.filter(|value| !value.is_empty()).map(str::to_owned)
            })
            .collect();
        self.columns = header.iter().map(|name| name.trim().to_owned()).collect();
        self.content = if layout.quotes { Content::Csv } else { Content::Tsv };
        self.input = self.input.with_layout(layout);
    }

    /// The file.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.input.path()
    }

    /// Its first bytes, decompressed: at most 1 MiB.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Describes its content.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Names of its columns: the header of a CSV file, the schema of a Parquet file, the members of the first JSON
    /// object as far as they stand in the head.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns true if it has all of these columns, in whatever case their names are.
    #[must_use]
    pub fn has(&self, columns: &[&str]) -> bool {
        columns.iter().all(|wanted| self.columns.iter().any(|column| same_name(column, wanted)))
    }

    /// Returns true if a column of a Parquet file holds doubles.
    #[must_use]
    pub fn is_float(&self, column: &str) -> bool {
        self.floats.iter().any(|name| same_name(name, column))
    }

    /// The value of a column in the first row, where the head shows it; of a Parquet file only what states block and chain.
    #[must_use]
    pub fn first(&self, column: &str) -> Option<&str> {
        let place = self.columns.iter().position(|name| same_name(name, column))?;
        self.first.get(place)?.as_deref()
    }
}
