//! What a caller should know that is no error.

use crate::Warning;

/// Collects warnings in the order they arise, each once.
#[derive(Debug, Default)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// Adds a warning, unless it was given already.
    pub fn add(&mut self, code: &str, field: Option<&str>, message: impl Into<String>) {
        let warning = Warning { code: code.to_owned(), field: field.map(str::to_owned), message: message.into() };
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    /// The warnings, in order.
    #[must_use]
    pub fn into_list(self) -> Vec<Warning> {
        self.0
    }
}
