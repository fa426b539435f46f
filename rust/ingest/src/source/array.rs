//! A JSON array of rows, item by item in bounded memory: some exports write a whole table as one array.

use std::io::{BufRead, BufReader, Read};

use crate::IngestError;
use crate::error::Place;
use crate::source::Input;
use crate::source::lines::without_mark;

/// The items of a file that is one array. No item longer than the limit is ever held.
pub(crate) struct Items {
    input: Input,
    reader: BufReader<Box<dyn Read + Send>>,
    item: Vec<u8>,
    number: u64,
}

/// The position of a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Outside,
    InText,
    AfterBackslash,
}

impl Items {
    /// The items, if the file begins with an array.
    pub(crate) fn of(input: &Input) -> Result<Option<Self>, IngestError> {
        let mut reader = BufReader::with_capacity(1 << 16, input.open()?);
        let start = reader.fill_buf().map_err(|error| input.io(error))?;
        let marked = start.len() - without_mark(start).len();
        reader.consume(marked);
        loop {
            let bytes = reader.fill_buf().map_err(|error| input.io(error))?;
            let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            match bytes.get(blank) {
                Some(b'[') => {
                    reader.consume(blank + 1);
                    return Ok(Some(Self { input: input.clone(), reader, item: Vec::new(), number: 0 }));
                }
                None if blank > 0 => reader.consume(blank),
                _ => return Ok(None),
            }
        }
    }

    /// The next item and its number from 1; `None` after the end of the array. What the item holds is not looked at
    /// but for brackets and quotes.
    pub(crate) fn next_item(&mut self) -> Result<Option<(u64, &[u8])>, IngestError> {
        self.item.clear();
        let (mut state, mut depth) = (State::Outside, 0_usize);
        loop {
            let bytes = self.reader.fill_buf().map_err(|error| self.input.io(error))?;
            if bytes.is_empty() {
                return Err(self
                    .input
                    .damaged(Some(Place::Row(self.number + 1)), "the array has no end: it was cut off"));
            }
            let end = bytes.iter().position(|byte| {
                let ends = state == State::Outside && depth == 0 && matches!(byte, b',' | b']');
                match (state, byte) {
                    (State::Outside, b'"') | (State::AfterBackslash, _) => state = State::InText,
                    (State::InText, b'"') => state = State::Outside,
                    (State::InText, b'\\') => state = State::AfterBackslash,
                    (State::Outside, b'{' | b'[') => depth += 1,
                    (State::Outside, b'}' | b']') => depth = depth.saturating_sub(1),
                    _ => {}
                }
                ends
            });
            let taken = end.unwrap_or(bytes.len());
            self.item.extend_from_slice(&bytes[..taken]);
            let last = end.map(|end| bytes[end] == b']');
            self.reader.consume(taken + usize::from(end.is_some()));
            let limit = self.input.bounds().line_bytes;
            if self.item.len() > limit {
                let place = Some(Place::Row(self.number + 1));
                return Err(self.input.too_large(place, "item", limit, "--max-line-bytes"));
            }
            let Some(last) = last else { continue };
            let item = self.item.trim_ascii();
            if last && item.is_empty() {
                return Ok(None);
            }
            if last {
                // The next call finds the end at once.
                self.reader = BufReader::new(Box::new(&b"]"[..]));
            }
            self.number += 1;
            return Ok(Some((self.number, self.item.trim_ascii())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Bounds;

    fn items(content: &str, limit: usize) -> Result<Option<Vec<String>>, IngestError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.json");
        std::fs::write(&path, content).unwrap();
        let bounds = Bounds { line_bytes: limit, ..Bounds::default() };
        let Some(mut items) = Items::of(&Input::new(&path, &bounds)?)? else { return Ok(None) };
        let mut found = Vec::new();
        while let Some((number, item)) = items.next_item()? {
            found.push(String::from_utf8(item.to_vec()).unwrap());
            assert_eq!(number, found.len() as u64);
        }
        Ok(Some(found))
    }

    #[test]
    fn an_array_is_parted_at_its_own_commas_alone() {
        let found = items("\u{feff} [ {\"a\": [1, 2], \"b\": \"],\\\"[\"} ,\n {\"c\": {}}\n]\n", 100).unwrap().unwrap();
        assert_eq!(found, ["{\"a\": [1, 2], \"b\": \"],\\\"[\"}", "{\"c\": {}}"]);
        assert_eq!(items("[]", 10).unwrap().unwrap(), Vec::<String>::new());
        assert_eq!(items("[1]", 10).unwrap().unwrap(), ["1"]);
        assert_eq!(items("{\"a\": 1}\n", 10).unwrap(), None);
        assert_eq!(items("  ", 10).unwrap(), None);
    }

    #[test]
    fn an_array_that_is_cut_or_has_too_long_an_item_is_damaged() {
        for cut in ["[{\"a\": 1}", "[{\"a\": 1},", "[", "[\"]"] {
            assert!(items(cut, 100).unwrap_err().to_string().contains("cut off"), "{cut}");
        }
        assert!(
            items("[1, \"abcdefghijklm\"]", 10)
                .unwrap_err()
                .to_string()
                .contains("longer than 10 bytes; raise --max-line-bytes")
        );
    }
}
