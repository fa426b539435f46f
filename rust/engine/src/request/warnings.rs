//! What a caller should know that is no error.

use crate::Warning;

/// Codes of what may be over when the same is asked again.
const PASSING: [&str; 1] = ["provider_failed"];

/// Collects warnings in the order they arise, each once.
#[derive(Debug, Default)]
pub struct Warnings(Vec<Warning>);

impl Warnings {
    /// Adds a warning, unless it was given already.
    pub fn add(&mut self, code: &str, field: Option<&str>, message: impl Into<String>) {
        self.add_of(1, code, field, message);
    }

    /// Adds a warning that stands for so many of its code.
    pub(crate) fn add_of(&mut self, count: usize, code: &str, field: Option<&str>, message: impl Into<String>) {
        let count = u64::try_from(count).ok().filter(|count| *count > 1);
        let warning = Warning { count, ..Warning::new(code, field, message) };
        if !self.0.contains(&warning) {
            self.0.push(warning);
        }
    }

    /// Adds a warning that says how many it is about.
    pub fn add_counted(&mut self, code: &str, message: impl Into<String>, count: u64) {
        self.0.push(Warning { count: Some(count), ..Warning::new(code, None, message) });
    }

    /// Whether one of them is about this moment alone, so that the answer is not to be given again.
    pub(crate) fn are_passing(&self) -> bool {
        self.0.iter().any(|warning| PASSING.contains(&warning.code.as_str()))
    }

    /// The warnings in order, one entry per code.
    #[must_use]
    pub fn into_list(self) -> Vec<Warning> {
        Warning::merged(self.0)
    }
}
