//! The errors between a file and the store.

use std::fmt;
use std::path::PathBuf;

use headwater_ledger::{Cancelled, LedgerError};
use headwater_types::Chain;
use headwater_types::text::{SHOWN, shortened};

/// Everything an ingest can fail with. A message names the file, and where it can the row, the column and the value.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The operating system refused.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// A path or pattern names nothing.
    #[error("no file is named by {0:?}: give files, folders or patterns such as 'data/*.csv.gz'")]
    NoInput(String),
    /// A pattern is malformed.
    #[error("{pattern:?} is no pattern: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// The fault.
        reason: String,
    },
    /// No format knows the file.
    #[error("{} is in no known format: it {seen}.\n{hint}", path.display())]
    Unrecognised {
        /// The file.
        path: PathBuf,
        /// The content seen at its beginning.
        seen: String,
        /// The files that are read in its place, in lines.
        hint: String,
    },
    /// A file was read, or all files were, and gave nothing.
    #[error("{} gives no {what}: {reason}", path.display())]
    NothingRead {
        /// The file, or the first of several.
        path: PathBuf,
        /// The expected content.
        what: &'static str,
        /// Why there is none.
        reason: String,
    },
    /// A format was named that is not there, or that cannot read the file.
    #[error("format {name:?} cannot read {}{missing}; the formats are\n{known}", path.display())]
    WrongFormat {
        /// The file.
        path: PathBuf,
        /// The name given.
        name: String,
        /// The missing columns of the closest table, or a description of the file.
        missing: String,
        /// Names of the formats.
        known: String,
    },
    /// No format of labels knows the file.
    #[error("{} is in no known format of labels: it {seen}.\n{hint}", path.display())]
    UnknownLabels {
        /// The file.
        path: PathBuf,
        /// The content seen at its beginning.
        seen: String,
        /// The remedy, in lines.
        hint: String,
    },
    /// A format of labels was named that is not there.
    #[error("unknown label format {name:?}; use one of\n{known}")]
    NoLabelFormat {
        /// The name given.
        name: String,
        /// Names of the formats, in lines.
        known: String,
    },
    /// Files that are one list of labels are in several formats.
    #[error("{} and the files beside it are in several formats ({formats}), but are read as one list", path.display())]
    MixedLabels {
        /// The first path.
        path: PathBuf,
        /// The formats.
        formats: String,
    },
    /// Files of labels were read and gave no claim.
    #[error("{} was read as {format}, and gives no claim: {why}", path.display())]
    NoClaims {
        /// The first file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// The outcome of the rows.
        why: String,
    },
    /// A list that is never empty has no address.
    #[error("{}: no address found; lists in the format {format} are never empty, so the file is probably cut off: get it \
             again", path.display())]
    EmptyList {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: &'static str,
    },
    /// An incomplete set of files would delist the addresses of the missing file.
    #[error(
        "{missing} is missing, and {lost} sanctioned addresses of version {version} are in none of the files, such as \
             {example}; import {missing} too, or pass --accept-shrinking if they were delisted"
    )]
    IncompleteList {
        /// The missing file.
        missing: &'static str,
        /// The version that the files would replace.
        version: u64,
        /// The number of addresses.
        lost: usize,
        /// One of them.
        example: String,
    },
    /// The file is known, and has no addresses of which it says anything.
    #[error("{} {what}", path.display())]
    NoAddresses {
        /// The file.
        path: PathBuf,
        /// Its description, and the remedy.
        what: String,
    },
    /// Labels could not be joined.
    #[error("cannot join the labels of {}", path.display())]
    Frame {
        /// The first file.
        path: PathBuf,
        /// The error of polars.
        #[source]
        source: polars::error::PolarsError,
    },
    /// A chain was named that the files of this format are never of.
    #[error("{} is in the format {format}, which is of {known}: it cannot be of {chain}", path.display())]
    WrongChain {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// The chain given.
        chain: Chain,
        /// Names of the chains that it may be of.
        known: String,
    },
    /// A file is of another chain than those of its format.
    #[error("{} cannot be taken as {chain}: {why}", path.display())]
    ForeignChain {
        /// The file.
        path: PathBuf,
        /// The chain that it would be filed under.
        chain: Chain,
        /// The evidence, and the remedy.
        why: String,
    },
    /// A file that names no chain may be of several.
    #[error("{} names no chain, and lies beside files of {chains}: name its chain with --chain, or put the files of each chain into a folder of their own", path.display())]
    AmbiguousChain {
        /// The file.
        path: PathBuf,
        /// The chains of the files beside it.
        chains: String,
    },
    /// The text of the file is not UTF-8 throughout.
    #[error("{} is {found} text: convert it to UTF-8", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// The encoding found.
        found: &'static str,
    },
    /// A column that the format cannot do without is missing.
    #[error("{} has no column {column:?}, which {format} needs", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: &'static str,
        /// The format.
        format: &'static str,
    },
    /// A file needs an option for a property that it does not state.
    #[error("{} needs {option}: {why}", path.display())]
    MissingOption {
        /// The file.
        path: PathBuf,
        /// The option.
        option: &'static str,
        /// The missing or wrong value.
        why: String,
    },
    /// The container (compression, Parquet, framing) is cut off or damaged.
    #[error("{} is damaged{}: {what}", path.display(), place.map(|place| format!(" at {place}")).unwrap_or_default())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, as far as it is known.
        place: Option<Place>,
        /// The damage.
        what: String,
    },
    /// A part of the file is larger than the bound on what is held in memory.
    #[error("{}: {}the {part} is longer than {limit} bytes; raise {option}", path.display(), place.map(|place| format!("{place}: ")).unwrap_or_default())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Where, as far as it is known.
        place: Option<Place>,
        /// The part.
        part: &'static str,
        /// The bound in bytes.
        limit: usize,
        /// The option of the command line that raises it.
        option: &'static str,
    },
    /// The file is packed in a way that is not read.
    #[error("{} {what}", path.display())]
    Container {
        /// The file.
        path: PathBuf,
        /// Its description, and the remedy.
        what: String,
    },
    /// A row cannot be what it claims.
    #[error(transparent)]
    Row(Box<RowError>),
    /// The store cannot take what was read.
    #[error("{}, blocks {first} to {last}: {reason}", path.display())]
    Refused {
        /// The file that was read last.
        path: PathBuf,
        /// The lowest block since the last commit.
        first: u64,
        /// The highest one.
        last: u64,
        /// The fault.
        reason: Box<LedgerError>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// The work was stopped from outside.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// The longest line of a message that consists of several.
const WIDTH: usize = 96;

/// Divides a text into lines that a terminal shows whole.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.len() + word.len() < WIDTH) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Joins names with commas into lines that a terminal shows whole.
pub(crate) fn in_lines<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut().filter(|line| line.len() + name.len() < WIDTH) {
            Some(line) => *line = format!("{line}, {name}"),
            None => lines.push(format!("  {name}")),
        }
    }
    lines.join(",\n")
}

/// A place inside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A line of a text file, counted from 1, the header included.
    Line(u64),
    /// A row of a table, counted from 1.
    Row(u64),
    /// A byte of the decompressed content, counted from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// A row that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}, {place}: {field}", file.display())]
pub struct RowError {
    /// The file.
    pub file: PathBuf,
    /// The position in it.
    pub place: Place,
    /// The column and the value.
    pub field: FieldError,
}

/// A value that was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column:?} is {value}, expected {expected}", value = shown(value.as_deref()))]
pub struct FieldError {
    /// The column, or what stands for one (`row` when the row as a whole is wrong).
    pub column: String,
    /// The value as found, cut when long; `None` when it is missing.
    pub value: Option<String>,
    /// The expected value.
    pub expected: String,
}

impl FieldError {
    /// An error about one value.
    #[must_use]
    pub fn new(column: &str, value: Option<&str>, expected: impl Into<String>) -> Self {
        let (column, value) = (shortened(column, SHOWN), value.map(|value| shortened(value, SHOWN)));
        Self { column, value, expected: expected.into() }
    }
}

fn shown(value: Option<&str>) -> String {
    value.map_or_else(|| "missing".to_owned(), |value| format!("{value:?}"))
}

/// Why the reading of a row stopped: the row is wrong and may be skipped, or nothing can go on.
#[derive(Debug)]
pub enum Fault {
    /// The row is wrong.
    Field(FieldError),
    /// Nothing can go on.
    Fatal(IngestError),
}

impl Fault {
    /// The same fault under the names that the file has for its columns; see [`crate::source::Row::renamed`].
    pub(crate) fn renamed(mut self, names: &[(&str, &str)]) -> Self {
        if let Self::Field(field) = &mut self
            && let Some((_, own)) = names.iter().find(|(asked, _)| *asked == field.column)
        {
            (*own).clone_into(&mut field.column);
        }
        self
    }
}

impl From<FieldError> for Fault {
    fn from(error: FieldError) -> Self {
        Self::Field(error)
    }
}

impl From<IngestError> for Fault {
    fn from(error: IngestError) -> Self {
        Self::Fatal(error)
    }
}
