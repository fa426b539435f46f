//! The forms of a table.

/// A form that a table is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Text with commas and a line of names (RFC 4180). Times have two columns, epoch seconds and ISO 8601; lists are joined
    /// by `;`.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// Parquet, compressed with zstd.
    Parquet,
    /// An Arrow IPC stream.
    Arrow,
}

impl Format {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Ndjson, Self::Parquet, Self::Arrow];

    /// The media type, as in `Accept` and `Content-Type`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv",
            Self::Ndjson => "application/x-ndjson",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Arrow => "application/vnd.apache.arrow.stream",
        }
    }

    /// The ending of a file, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// The form that the ending of a file stands for, in any case.
    ///
    /// ```
    /// use headwater_table::Format;
    /// assert_eq!(Format::of_ending("Parquet"), Some(Format::Parquet));
    /// assert_eq!(Format::of_ending("xlsx"), None);
    /// ```
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<Self> {
        let ending = ending.to_ascii_lowercase();
        match ending.as_str() {
            "jsonl" => Some(Self::Ndjson),
            "arrows" => Some(Self::Arrow),
            ending => Self::ALL.into_iter().find(|format| format.ending() == ending),
        }
    }
}
