//! JSON documents that are read whole.

use super::{Input, json};
use crate::IngestError;
use crate::error::Place;

impl Input {
    /// The whole text, without a byte order mark.
    ///
    /// # Errors
    /// When the file cannot be read, is longer than a document may be, or is not UTF-8.
    pub(crate) fn document_text(&self) -> Result<String, IngestError> {
        let text = String::from_utf8(self.read_document()?).map_err(|error| {
            let at = u64::try_from(error.utf8_error().valid_up_to()).unwrap_or(u64::MAX);
            self.damaged(Some(Place::Byte(at)), "it is not valid UTF-8")
        })?;
        Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
    }

    /// Reads a file that is one JSON document.
    ///
    /// # Errors
    /// When the file cannot be read or is not exactly one JSON document; what `read` gives.
    pub(crate) fn with_document<T>(
        &self,
        read: impl FnOnce(&json::Value<'_>) -> Result<T, IngestError>,
    ) -> Result<T, IngestError> {
        let text = self.document_text()?;
        let value = json::parse(&text, self.bounds()).map_err(|error| {
            let at = u64::try_from(error.at).unwrap_or(u64::MAX);
            self.damaged(Some(Place::Byte(at)), error.to_string())
        })?;
        read(&value)
    }
}
