//! What a caller should know that is no error.

use crate::Warning;

/// Collects warnings in the order they arise, each once.
#[derive(Debug, Default)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// Adds a warning, unless it was given already.
    pub fn add(&mut self, code: &str, field: Option<&str>, message: impl Into<String>) {
        let (code, field) = (code.to_owned(), field.map(str::to_owned));
        let warning = Warning { code, field, message: message.into(), count: None };
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    /// Adds a warning that says how many it is about.
    pub fn add_counted(&mut self, code: &str, message: impl Into<String>, count: u64) {
        self.0.push(Warning { code: code.to_owned(), field: None, message: message.into(), count: Some(count) });
    }

    /// The warnings, in order.
    #[must_use]
    pub fn into_list(self) -> Vec<Warning> {
        self.0
    }
}
