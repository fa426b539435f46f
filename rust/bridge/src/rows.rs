//! Tables of lines and commas.

use crate::error::TableError;

/// The lines of a table: number from 1, and as many fields as asked for. Blank lines and `#` lines are notes.
pub(crate) fn rows<'t, const FIELDS: usize>(
    file: &'static str,
    text: &'t str,
) -> impl Iterator<Item = Result<(usize, [&'t str; FIELDS]), TableError>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(move |(place, line)| {
        let fields: Vec<&str> = line.split(',').collect();
        let found = fields.len();
        let fields = <[&str; FIELDS]>::try_from(fields);
        fields
            .map(|fields| (place + 1, fields))
            .map_err(|_| TableError::new(file, place + 1, format!("expected {FIELDS} fields, found {found}")))
    })
}
