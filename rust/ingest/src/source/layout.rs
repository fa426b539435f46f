//! The division of the rows of a text file into fields, detected from its first lines.

/// The separator of fields, and the lines before the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) delimiter: u8,
    /// True if fields may be quoted.
    pub(super) quotes: bool,
    /// Lines before the header that are no part of the table.
    pub(super) preamble: u64,
}

impl Default for Layout {
    fn default() -> Self {
        Self { delimiter: b',', quotes: true, preamble: 0 }
    }
}

impl Layout {
    /// The layout of a text that begins so. Spreadsheets may write the delimiter into a line of its own (`sep=;`), and
    /// some sites write their address above the table.
    pub(super) fn of(text: &str) -> Self {
        let mut lines = text.lines();
        let mut preamble = 0;
        let mut stated = None;
        let header = loop {
            let Some(line) = lines.next() else { break "" };
            let line = line.trim();
            let separator = line.trim_matches('"').strip_prefix("sep=").and_then(|rest| rest.bytes().next());
            stated = stated.or(separator);
            let lower = line.trim_start_matches('"').to_ascii_lowercase();
            let is_address = ["http://", "https://", "www."].iter().any(|start| lower.starts_with(start));
            // The first name of a header may begin with such a mark too.
            let is_comment = line.starts_with("# ") || line.starts_with('#') && !line.contains([',', ';', '\t']);
            let is_preamble = separator.is_some() || line.is_empty() || is_comment || is_address;
            if !is_preamble {
                break line;
            }
            preamble += 1;
        };
        let delimiter = stated.unwrap_or_else(|| {
            if header.contains('\t') && !header.contains([',', '"']) {
                b'\t'
            } else if header.contains(';') && !header.contains(',') {
                b';'
            } else {
                b','
            }
        });
        Self { delimiter, quotes: delimiter != b'\t', preamble }
    }

    /// Returns the reader of rows.
    pub(super) fn reader(self) -> csv::ReaderBuilder {
        let mut rows = csv::ReaderBuilder::new();
        rows.has_headers(false).flexible(true).delimiter(self.delimiter).quoting(self.quotes);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_follows_from_the_first_lines() {
        let layout = |text: &str| {
            let Layout { delimiter, quotes, preamble } = Layout::of(text);
            (char::from(delimiter), quotes, preamble)
        };
        assert_eq!(layout("hash,value\n1;2\n"), (',', true, 0));
        assert_eq!(layout("hash;value\n"), (';', true, 0));
        assert_eq!(layout("hash\tvalue\n"), ('\t', false, 0));
        assert_eq!(layout("a\tb,c\n"), (',', true, 0));
        assert_eq!(layout("sep=;\r\nhash;value\r\n"), (';', true, 1));
        assert_eq!(layout("\"sep=,\"\nhash,value\n"), (',', true, 1));
        assert_eq!(layout("#block,hash\n"), (',', true, 0));
        assert_eq!(layout("https://www.example.org\n\n# made today\nUnix,Date\n"), (',', true, 3));
        assert_eq!(layout(""), (',', true, 0));
    }
}
