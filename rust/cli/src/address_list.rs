//! Lists of addresses: arguments, or lines of standard input.

use std::io::{self, Read};

use headwater_types::{Address, Chain};

use super::error::Failure;

/// An address as it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GivenAddress {
    pub text: String,
    /// The line of standard input; `None` for an argument.
    pub line: Option<u64>,
}

impl GivenAddress {
    /// Returns an error of this address with its place.
    pub fn refused(&self, why: &str) -> String {
        self.line.map_or_else(|| why.to_owned(), |line| format!("line {line}: {why}"))
    }
}

/// Returns the addresses of arguments; `-` means those of standard input.
pub(super) fn read(arguments: &[String]) -> Result<Vec<GivenAddress>, Failure> {
    if arguments.iter().filter(|argument| *argument == "-").count() > 1 {
        return Err(Failure::usage("- is given twice: standard input can be read once"));
    }
    let mut given = Vec::new();
    for argument in arguments {
        if argument == "-" {
            given.extend(of_standard_input()?);
        } else {
            given.push(GivenAddress { text: argument.clone(), line: None });
        }
    }
    if given.is_empty() {
        return Err(Failure::usage(
            "standard input has no addresses: expected one per line, or a CSV file whose first column has them",
        ));
    }
    Ok(given)
}

/// Returns the addresses of standard input.
pub(super) fn of_standard_input() -> Result<Vec<GivenAddress>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::failed(format!("standard input cannot be read: {error}")))?;
    of_lines(&bytes)
}

/// Returns the first cell of each line; blank lines, comments and a line of names above are left out.
fn of_lines(bytes: &[u8]) -> Result<Vec<GivenAddress>, Failure> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let (mut given, mut is_first) = (Vec::new(), true);
    for (number, line) in (1_u64..).zip(bytes.split(|byte| *byte == b'\n')) {
        let text = std::str::from_utf8(line).map_err(|_| {
            Failure::usage(format!("standard input, line {number} is not UTF-8 text: expected one address per line"))
        })?;
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        let cell = first_cell(text).map_err(|error| {
            Failure::usage(format!("standard input, line {number}: {error}; expected an address, or a row of CSV"))
        })?;
        let is_head = is_first && is_name(&cell);
        is_first = false;
        if is_head {
            continue;
        }
        given.push(GivenAddress { text: cell, line: Some(number) });
    }
    Ok(given)
}

fn first_cell(line: &str) -> Result<String, csv::Error> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(line.trim().as_bytes());
    let mut record = csv::StringRecord::new();
    reader.read_record(&mut record)?;
    Ok(record.get(0).unwrap_or_default().to_owned())
}

/// Returns whether a cell is the name of a column: words that are not an address.
fn is_name(cell: &str) -> bool {
    let is_word = !cell.is_empty() && cell.chars().all(|letter| letter.is_alphabetic() || " _-".contains(letter));
    is_word && Chain::all().all(|chain| Address::parse(chain, cell).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    fn texts(lines: &str) -> Vec<(String, Option<u64>)> {
        of_lines(lines.as_bytes()).unwrap().into_iter().map(|one| (one.text, one.line)).collect()
    }

    #[test]
    fn lines_and_first_columns_are_addresses() {
        let expected = vec![(ONE.to_owned(), Some(3)), ("x1".to_owned(), Some(5))];
        assert_eq!(texts(&format!("# mine\n\n{ONE}\r\n  \nx1\n")), expected);
        let expected = vec![(ONE.to_owned(), Some(2)), (ONE.to_owned(), Some(3))];
        assert_eq!(texts(&format!("\u{feff}Wallet address,note\n{ONE},\"a, b\"\n\"{ONE}\",c")), expected);
        assert_eq!(texts(&format!("{ONE},first\n")), [(ONE.to_owned(), Some(1))]);
        let kept = vec![("rubbish".to_owned(), Some(2)), (ONE.to_owned(), Some(3))];
        assert_eq!(texts(&format!("address\nrubbish\n{ONE}\n")), kept, "one line of names at most");
    }

    #[test]
    fn line_that_is_not_text_is_named() {
        let error = of_lines(b"0xaa\n\xff\xfe\n").unwrap_err();
        assert!(error.code == 2 && error.message.contains("line 2"), "{error:?}");
    }
}
