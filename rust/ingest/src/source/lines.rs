//! Lines of text in bounded memory.

use std::io::{BufRead, BufReader, Read};

use crate::IngestError;
use crate::error::Place;
use crate::source::Input;
use crate::source::input::DOCUMENT_BYTES;

/// Bytes up to which the room of a line grows step by step. A longer one gets the room of the longest at once: while it
/// grew it would be held twice.
const GROWN: usize = 16 << 20;

impl Input {
    /// The decompressed content as lines.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn lines(&self) -> Result<Lines, IngestError> {
        Ok(Lines::new(self.clone(), self.open()?, (self.bounds().line_bytes, "--max-line-bytes")))
    }

    /// Like `lines`, where each line is a separate document.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub(crate) fn documents(&self) -> Result<Lines, IngestError> {
        Ok(Lines::new(self.clone(), self.open()?, (self.bounds().document_bytes, DOCUMENT_BYTES)))
    }
}

/// The lines of a file. No line longer than the limit is ever held.
pub struct Lines {
    input: Input,
    reader: BufReader<Box<dyn Read + Send>>,
    line: Vec<u8>,
    number: u64,
    limit: usize,
    /// The option that raises the limit.
    option: &'static str,
}

impl Lines {
    fn new(input: Input, reader: Box<dyn Read + Send>, (limit, option): (usize, &'static str)) -> Self {
        Self { input, reader: BufReader::with_capacity(1 << 16, reader), line: Vec::new(), number: 0, limit, option }
    }

    /// The next line without its end, and its number from 1; `None` at the end of the file. A byte order mark before
    /// the first line is left out.
    ///
    /// # Errors
    /// When the file is damaged or cut off, or the line is longer than the limit of the input.
    pub fn next_line(&mut self) -> Result<Option<(u64, &[u8])>, IngestError> {
        self.line.clear();
        let most = self.limit.saturating_add(1);
        self.read_until(most.min(GROWN))?;
        if self.line.len() == GROWN && self.line.last() != Some(&b'\n') {
            // Where there is not so much room it grows after all.
            let _ = self.line.try_reserve_exact(most - GROWN);
            self.read_until(most - GROWN)?;
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
        } else if self.line.len() > self.limit {
            return Err(self.input.too_large(Some(Place::Line(self.number)), "line", self.limit, self.option));
        }
        let line = if self.number == 1 { without_mark(&self.line) } else { &self.line };
        Ok(Some((self.number, line)))
    }

    /// Reads on to the end of the line, at most so many bytes.
    fn read_until(&mut self, most: usize) -> Result<(), IngestError> {
        let mut bounded = (&mut self.reader).take(most as u64);
        bounded.read_until(b'\n', &mut self.line).map(drop).map_err(|error| self.input.io(error))
    }
}

/// The bytes without a UTF-8 byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}
