//! Tables of lines and commas.

use crate::error::TableError;

/// A table of lines and commas: a file, or a text inside a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowTable<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
    /// The number of lines of the file before the text.
    pub(crate) lines_before: usize,
}

impl<'t> RowTable<'t> {
    /// Returns an error in a line, numbered as in [`RowTable::rows`].
    pub(crate) fn error(&self, line: usize, reason: impl Into<String>) -> TableError {
        TableError::new(self.file, line, reason)
    }

    /// Returns the rows, each with the number of its line in the file. Blank lines and `#` lines are comments.
    pub(crate) fn rows<const FIELDS: usize>(
        self,
    ) -> impl Iterator<Item = Result<(usize, [&'t str; FIELDS]), TableError>> {
        let lines = (self.lines_before + 1..).zip(self.text.lines());
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(move |(number, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            let found = fields.len();
            let fields = <[&str; FIELDS]>::try_from(fields);
            fields
                .map(|fields| (number, fields))
                .map_err(|_| self.error(number, format!("expected {FIELDS} fields, found {found}")))
        })
    }
}
