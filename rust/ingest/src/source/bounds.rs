//! The maximum sizes of parts of a file that are in memory as a whole.

/// Bounds that keep memory small on hostile input. Each can be raised by an option of the command line, which the error
/// names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a line of text, a row of a table or an item of a list of rows (`--max-line-bytes`).
    pub line_bytes: usize,
    /// Bytes of a JSON document: an answer of a node, a block (`--max-document-bytes`).
    pub document_bytes: usize,
    /// Values of a JSON document; each takes 32 to 56 bytes (`--max-document-values`).
    pub document_values: usize,
    /// The maximum nesting of the values of a document (`--max-document-depth`). Call traces are trees of up to 1,024
    /// calls, each two levels deeper.
    pub document_depth: usize,
    /// Bytes of one column of a row group of a Parquet file, decompressed (`--max-column-bytes`).
    pub column_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            line_bytes: 64 << 20,
            document_bytes: 512 << 20,
            document_values: 32_000_000,
            document_depth: 2_560,
            column_bytes: 2 << 30,
        }
    }
}
