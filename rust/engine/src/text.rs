//! Answers as JSON text, whose length is known only when it is there.

use std::io;

use headwater_ledger::Cancel;
use headwater_ledger::memory::{OverBudget, Reservation};
use serde::Serialize;

use crate::purposes::TEXT;
use crate::{Error, ErrorKind};

/// Bytes that a text begins with: most answers are no longer.
const BEGINNING: usize = 1 << 10;
/// A text is there twice while it grows, and while it is put into its envelope.
const COPIES: usize = 2;

/// The text of a report. Its memory stays with the query, as it is on its way out.
pub(crate) fn text(report: &impl Serialize, cancel: &Cancel) -> Result<String, Error> {
    let mut text = Text { bytes: Vec::with_capacity(BEGINNING), held: cancel.holding(TEXT), refusal: None };
    let written = serde_json::to_writer(&mut text, report);
    match (written, text.refusal) {
        (_, Some(refusal)) => return Err(refusal.into()),
        (Err(error), None) => {
            return Err(Error::new(ErrorKind::Internal, format!("the report has no JSON form: {error}")));
        }
        (Ok(()), None) => {}
    }
    text.held.reach(text.bytes.len() * COPIES)?;
    text.held.keep();
    String::from_utf8(text.bytes).map_err(|_| Error::new(ErrorKind::Internal, "the report is not UTF-8"))
}

struct Text {
    bytes: Vec<u8>,
    held: Reservation,
    /// Why there is no room for more.
    refusal: Option<OverBudget>,
}

impl Text {
    /// Makes room for at least so many bytes more.
    #[cold]
    fn grow(&mut self, by: usize) -> io::Result<()> {
        let room = (self.bytes.len() + by).max(2 * self.bytes.capacity());
        self.held.reach(room).map_err(|refusal| {
            self.refusal = Some(refusal);
            io::Error::from(io::ErrorKind::OutOfMemory)
        })?;
        self.bytes.reserve_exact(room - self.bytes.len());
        Ok(())
    }
}

impl io::Write for Text {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > self.bytes.capacity() - self.bytes.len() {
            self.grow(bytes.len())?;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use headwater_ledger::Memory;
    use headwater_ledger::memory::FREE_BYTES;

    use super::*;
    use crate::Reason;

    #[test]
    fn a_text_as_long_as_its_share_allows_is_written_and_a_longer_one_refused() {
        let report = "x".repeat(99_998);
        let share = 200_000 - FREE_BYTES;
        let enough = Memory::new(1 << 20, share);
        let token = Cancel::within(&enough);
        assert_eq!(text(&report, &token).unwrap(), serde_json::to_string(&report).unwrap());
        // It is held until the token goes, twice as it will be there in its envelope.
        assert_eq!((token.held_bytes(), enough.usage().taken), (share, share));
        drop(token);
        assert_eq!(enough.usage().taken, 0);

        let short = Memory::new(1 << 20, share - 1);
        let error = text(&report, &Cancel::within(&short)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidInput(Reason::QueryTooLarge));
        assert_eq!((error.limit, short.usage().taken), (Some(share - 1), 0));
        assert!(error.message.contains("the bytes of the answer") && error.message.contains("limit"), "{error}");
    }

    #[test]
    fn a_text_is_the_one_that_would_be_written_without_a_budget() {
        let report: Vec<String> = (0..10_000).map(|number| format!("\"{number}\\")).collect();
        assert_eq!(text(&report, &Cancel::new()).unwrap(), serde_json::to_string(&report).unwrap());
    }
}
