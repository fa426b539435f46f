//! Tables of text that fit a terminal: columns in order of importance, of which the least important are left out first.

use unicode_width::UnicodeWidthStr;

/// Columns between two cells.
const GAP: usize = 2;

/// The narrowest column into which text is wrapped.
const MIN_TEXT: usize = 20;

/// Columns before text below its row.
const INDENT: usize = 4;

/// The room for a table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// The columns of the terminal; `None` without a bound, as in a pipe.
    width: Option<usize>,
    is_whole: bool,
}

impl Layout {
    /// Creates a layout for a terminal of so many columns, or without a bound.
    #[must_use]
    pub const fn of_width(width: Option<usize>) -> Self {
        Self { width, is_whole: false }
    }

    /// Returns the layout that shows every column, however wide the terminal is.
    #[must_use]
    pub const fn whole(self) -> Self {
        Self { width: None, is_whole: true }
    }
}

/// A table with its columns in order of importance.
#[derive(Debug, Clone)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The number of columns that are shown unless all are asked for.
    first: usize,
    /// The number of columns that are shown even where a row then wraps.
    kept: usize,
    /// True if the last of them is text that may continue on further lines.
    has_text: bool,
}

impl Table {
    /// Creates a table without rows. An empty name leaves the head of a column empty.
    #[must_use]
    pub fn new<I: IntoIterator<Item: Into<String>>>(head: I) -> Self {
        let head: Vec<String> = head.into_iter().map(Into::into).collect();
        Self { first: head.len(), head, rows: Vec::new(), kept: 1, has_text: false }
    }

    /// Returns the table that shows only so many columns unless all are asked for.
    #[must_use]
    pub fn with_first(self, first: usize) -> Self {
        Self { first: first.clamp(1, self.head.len().max(1)), ..self }
    }

    /// Returns the table whose first columns are shown even where a row then wraps: without them rows have no subject.
    #[must_use]
    pub fn with_kept(self, kept: usize) -> Self {
        Self { kept, ..self }
    }

    /// Returns the table with text in its last column: a text that is too long continues on the next line.
    #[must_use]
    pub fn with_text(self) -> Self {
        Self { has_text: true, ..self }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Formats the table; a note names the columns for which there was no room.
    #[must_use]
    pub fn lines(&self, layout: Layout) -> Vec<String> {
        let rows: Vec<Vec<String>> = std::iter::once(&self.head)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| plain(cell)).collect())
            .collect();
        let widths = widths(&rows, self.head.len());
        let shown_columns = if layout.is_whole { self.head.len() } else { self.first };
        let text = self.head.len().checked_sub(1).filter(|last| self.has_text && *last < shown_columns);
        let offered: Vec<usize> = (0..shown_columns).filter(|column| Some(*column) != text).collect();
        let mut shown = self.fitting(&offered, &widths, layout.width);
        if shown.len() < offered.len() {
            // Columns without a value are the first to go.
            let filled =
                |column: &usize| self.rows.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.is_empty()));
            let filled: Vec<usize> = offered.iter().copied().filter(filled).collect();
            shown = self.fitting(&filled, &widths, layout.width);
        }
        let left_out = offered.iter().filter(|column| !shown.contains(column)).map(|column| &*self.head[*column]);
        let left_out: Vec<&str> = left_out.collect();
        let numeric: Vec<bool> = (0..self.head.len()).map(|column| is_numeric(&rows, column)).collect();
        let used = shown.iter().map(|column| widths[*column] + GAP).sum();
        let text = text.map(|column| (column, TextPlace::of(widths[column], used, layout.width)));
        let mut lines = Vec::with_capacity(rows.len());
        for (number, row) in rows.iter().enumerate() {
            let mut line = String::new();
            for column in &shown {
                let cell = row.get(*column).map(String::as_str).unwrap_or_default();
                let pad = " ".repeat(widths[*column].saturating_sub(cell.width()));
                line.extend(if numeric[*column] { [pad.as_str(), cell] } else { [cell, pad.as_str()] });
                line.push_str("  ");
            }
            let cell = |column: usize| row.get(column).map(String::as_str).unwrap_or_default();
            match text {
                None => lines.push(line.trim_end().to_owned()),
                Some((column, TextPlace::Beside(room))) => {
                    for (number, part) in wrapped(cell(column), room).iter().enumerate() {
                        let before = if number == 0 { line.clone() } else { " ".repeat(used) };
                        lines.push(format!("{before}{part}").trim_end().to_owned());
                    }
                }
                Some((column, TextPlace::Below(room))) => {
                    lines.push(line.trim_end().to_owned());
                    if number > 0 && !cell(column).is_empty() {
                        let indent = " ".repeat(INDENT);
                        lines.extend(wrapped(cell(column), Some(room)).iter().map(|part| format!("{indent}{part}")));
                    }
                }
            }
        }
        lines.extend(note(&left_out, layout.width));
        lines
    }

    /// Returns the columns for which there is room, the most important first.
    fn fitting(&self, offered: &[usize], widths: &[usize], room: Option<usize>) -> Vec<usize> {
        let Some(room) = room else { return offered.to_vec() };
        let (mut shown, mut used) = (Vec::new(), 0);
        for column in offered {
            let needed = used + widths[*column] + if shown.is_empty() { 0 } else { GAP };
            if needed <= room || *column < self.kept {
                used = needed;
                shown.push(*column);
            }
        }
        shown
    }
}

/// The place of the text of a row.
#[derive(Debug, Clone, Copy)]
enum TextPlace {
    /// Beside the other cells, in so many columns.
    Beside(Option<usize>),
    /// On lines of its own, of so many columns.
    Below(usize),
}

impl TextPlace {
    fn of(width: usize, used: usize, room: Option<usize>) -> Self {
        match room {
            None => Self::Beside(None),
            Some(room) if used + width.min(MIN_TEXT) <= room => Self::Beside(Some(room - used)),
            Some(room) => Self::Below(room.saturating_sub(INDENT).max(MIN_TEXT)),
        }
    }
}

/// Formats rows with aligned columns, whatever their width; the first row is the head.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> Vec<String> {
    fitted(rows, Layout::default())
}

/// Formats rows for the room that there is; the first row is the head.
pub(super) fn fitted(rows: &[Vec<String>], layout: Layout) -> Vec<String> {
    of_rows(rows).map(|table| table.lines(layout)).unwrap_or_default()
}

/// Formats rows whose last column is text, for the room that there is; the first row is the head.
pub(super) fn fitted_text(rows: &[Vec<String>], layout: Layout) -> Vec<String> {
    of_rows(rows).map(|table| table.with_text().lines(layout)).unwrap_or_default()
}

fn of_rows(rows: &[Vec<String>]) -> Option<Table> {
    let (head, rows) = rows.split_first()?;
    let columns = rows.iter().map(Vec::len).chain([head.len()]).max().unwrap_or(0);
    let mut table = Table::new((0..columns).map(|column| head.get(column).cloned().unwrap_or_default()));
    for row in rows {
        table.push(row.clone());
    }
    Some(table)
}

/// Breaks text at spaces into lines of at most so many columns; a longer word keeps its line.
fn wrapped(text: &str, room: Option<usize>) -> Vec<String> {
    let Some(room) = room.filter(|room| text.width() > *room) else { return vec![text.to_owned()] };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.width() + 1 + word.width() <= room {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn widths(rows: &[Vec<String>], columns: usize) -> Vec<usize> {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

/// Returns whether the cells of a column below its head are numbers, which are aligned right.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let is_number = |cell: &str| {
        let digits = cell.strip_prefix(['-', '+']).unwrap_or(cell);
        digits.chars().all(|letter| letter.is_ascii_digit() || ",.%".contains(letter))
    };
    rows.iter().skip(1).filter_map(|row| row.get(column)).all(|cell| is_number(cell))
}

/// Names the columns that were left out, as many as a line has room for.
fn note(left_out: &[&str], room: Option<usize>) -> Option<String> {
    const REMEDY: &str = " (--wide shows all columns)";
    let room = room.unwrap_or(usize::MAX);
    let line = |named: usize| {
        let more = left_out.len() - named;
        let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("not shown: {}{rest}{REMEDY}", left_out[..named].join(", "))
    };
    let fits = (1..=left_out.len()).rev().find(|named| line(*named).width() <= room);
    (!left_out.is_empty()).then(|| line(fits.unwrap_or(1)))
}

/// Escapes the characters of foreign text that break a line or change its direction.
#[must_use]
pub fn plain(cell: &str) -> String {
    let is_kept = |letter: char| {
        !letter.is_control()
            && !matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut text = String::with_capacity(cell.len());
    for letter in cell.chars() {
        if is_kept(letter) { text.push(letter) } else { text.extend(letter.escape_default()) }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    fn movements() -> Table {
        let mut table = Table::new(["time", "amount", "counterparty", "label", "hash"]);
        table.push(row(["2026-01-01 00:00:00Z", "1,234.5", ADDRESS, "Binance", ADDRESS]));
        table.push(row(["2026-01-02 00:00:00Z", "2", ADDRESS, "", ADDRESS]));
        table
    }

    fn lines(table: &Table, width: usize) -> Vec<String> {
        table.lines(Layout::of_width(Some(width)))
    }

    #[test]
    fn table_columns_are_aligned() {
        assert_eq!(table(&[row(["id", "credits"]), row(["abc", "5"])]), ["id   credits", "abc        5"]);
        assert_eq!(table(&[]), Vec::<String>::new());
    }

    #[test]
    fn table_escapes_control_characters() {
        let lines = table(&[row(["name", "n"]), row(["a\nb\u{1b}[2J\u{202e}ü", "5"])]);
        assert_eq!(lines, ["name                    n", "a\\nb\\u{1b}[2J\\u{202e}ü  5"]);
    }

    #[test]
    fn columns_without_room_are_left_out_and_named() {
        for width in [60, 80, 120] {
            let lines = lines(&movements(), width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
        }
        let narrow = [
            "time                   amount  label",
            "2026-01-01 00:00:00Z  1,234.5  Binance",
            "2026-01-02 00:00:00Z        2",
            "not shown: counterparty, hash (--wide shows all columns)",
        ];
        assert_eq!(lines(&movements(), 60), narrow);
        let kept = lines(&movements().with_kept(3), 60);
        assert!(kept[1].ends_with(ADDRESS), "{kept:?}");
        let wider = lines(&movements(), 120);
        assert!(wider[1].contains(ADDRESS) && wider[3].starts_with("not shown: hash"), "{wider:?}");
    }

    #[test]
    fn columns_without_a_value_give_way_to_others() {
        let mut table = Table::new(["time", "label", "hash"]);
        table.push(row(["2026-01-01", "", ADDRESS]));
        assert_eq!(
            lines(&table, 56)[1..],
            [format!("2026-01-01  {ADDRESS}"), "not shown: label (--wide shows all columns)".to_owned()]
        );
        assert_eq!(lines(&table, 70).len(), 2);
    }

    #[test]
    fn addresses_are_never_cut() {
        let mut table = Table::new(["address", "amount"]);
        table.push(row([ADDRESS, "5"]));
        assert_eq!(lines(&table, 20)[1], ADDRESS);
    }

    #[test]
    fn wide_and_pipes_show_whole_rows() {
        let table = movements().with_first(2);
        let piped = table.lines(Layout::of_width(None));
        assert_eq!(piped[0], "time                   amount");
        let whole = table.lines(Layout::of_width(Some(60)).whole());
        assert!(whole[0].ends_with("hash") && whole[1].ends_with(ADDRESS) && whole.len() == 3, "{whole:?}");
    }

    #[test]
    fn double_width_letters_take_two_columns() {
        let lines = table(&[row(["name", "n"]), row(["诈骗模式", "5"]), row(["scam", "6"])]);
        assert_eq!(lines, ["name      n", "诈骗模式  5", "scam      6"]);
    }

    #[test]
    fn text_continues_below_itself() {
        let mut table = Table::new(["points", "detail"]).with_text();
        table.push(row(["12", "received 5 payments from an address under sanctions"]));
        let expected =
            ["points  detail", "    12  received 5 payments from", "        an address under", "        sanctions"];
        assert_eq!(lines(&table, 33), expected);
        let narrow = ["points", "    12", "    received 5 payments", "    from an address", "    under sanctions"];
        assert_eq!(lines(&table, 24), narrow);
    }
}
