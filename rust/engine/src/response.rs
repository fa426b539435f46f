//! A typed answer: the report of an analysis, and what its answer says besides.

use std::{fmt, io};

use headwater_ledger::Cancel;
use headwater_ledger::memory::{OverBudget, Reservation};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::purposes::TEXT;
use crate::{AnyRow, Error, ErrorKind, QueryMeta};

/// The answer to one call, with its report as a value.
///
/// It serialises to the envelope `{"data": ..., "meta": ...}` that every interface shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Response<R> {
    /// The `data` of the envelope.
    pub report: R,
    /// The `meta.pagination` of GET lists.
    pub pagination: Option<Pagination>,
    /// The `meta.warnings`.
    pub warnings: Vec<Warning>,
    /// The `meta.pegged`: symbols that the chains of the answer value at one US dollar because no price of them was
    /// imported, in order. Empty where the answer shows no US dollars.
    pub pegged: Vec<String>,
    /// Items that are paid for, where the price is per item ([`crate::Pricing`]).
    pub paid_items: Option<u32>,
    /// The `data.meta` of the report, where it has one.
    pub meta: Option<QueryMeta>,
    /// Whether the same request of the same data always gets this answer.
    pub is_repeatable: bool,
}

/// An answer whose report is of any type.
pub type Answer = Response<Box<dyn AnyReport>>;

/// A report of any type.
pub trait AnyReport: AnyRow + Send + Sync {
    /// Writes its JSON text. The memory of the text stays with the query until it has left.
    ///
    /// # Errors
    /// When the memory of the query is used up, or the report has no JSON form.
    fn json(&self, cancel: &Cancel) -> Result<String, Error>;
}

impl<R: Serialize + Send + Sync> AnyReport for R {
    fn json(&self, cancel: &Cancel) -> Result<String, Error> {
        text(self, cancel)
    }
}

erased_serde::serialize_trait_object!(AnyReport);

impl fmt::Debug for dyn AnyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", serde_json::to_string(self))
    }
}

impl<R: Serialize + Send + Sync + 'static> Response<R> {
    /// The same answer with its report as one of any type.
    pub(crate) fn erased(self) -> Answer {
        let Self { report, pagination, warnings, pegged, paid_items, meta, is_repeatable } = self;
        Response { report: Box::new(report), pagination, warnings, pegged, paid_items, meta, is_repeatable }
    }
}

impl Answer {
    /// The report as a JSON value, to look into.
    #[must_use]
    pub fn value(&self) -> serde_json::Value {
        serde_json::to_value(&self.report).expect("reports have a JSON form")
    }
}

impl<R: Serialize> Serialize for Response<R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut envelope = serializer.serialize_map(Some(2))?;
        envelope.serialize_entry("data", &self.report)?;
        envelope.serialize_entry("meta", &Meta::of(self))?;
        envelope.end()
    }
}

/// The `meta` of an envelope; fields without content are left out.
#[derive(Serialize)]
struct Meta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
    #[serde(skip_serializing_if = "<[Warning]>::is_empty")]
    warnings: &'a [Warning],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pegged: &'a [String],
}

impl<'a> Meta<'a> {
    fn of<R>(response: &'a Response<R>) -> Self {
        Self { pagination: response.pagination, warnings: &response.warnings, pegged: &response.pegged }
    }
}

/// Paging of GET lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Pagination {
    /// Page size used.
    #[schema(minimum = 1)]
    pub limit: u32,
    /// Start offset used.
    pub offset: u32,
    /// Total matching rows, where counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub total: Option<u64>,
}

/// Something the caller should know that is no error. An answer has one entry per code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Warning {
    /// Stable code, such as `partial_data`.
    pub code: String,
    /// The field it is about; of several the first.
    pub field: Option<String>,
    /// Text for people. Where there are several of the code, the texts of the first ones.
    pub message: String,
    /// How many there are of the code, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub count: Option<u64>,
}

impl Warning {
    /// A warning that stands for itself.
    #[must_use]
    pub fn new(code: &str, field: Option<&str>, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), field: field.map(str::to_owned), message: message.into(), count: None }
    }

    /// The same warnings with one entry per code, in the order of the first of each.
    #[must_use]
    pub fn merged(warnings: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut merged: Vec<Self> = Vec::new();
        for warning in warnings {
            match merged.iter_mut().find(|known| known.code == warning.code) {
                Some(known) => known.absorb(&warning),
                None => merged.push(warning),
            }
        }
        merged
    }

    fn absorb(&mut self, other: &Self) {
        /// Bytes of a message that others are added to; beyond them only the count tells.
        const LONGEST: usize = 600;
        self.count = Some(self.count.unwrap_or(1) + other.count.unwrap_or(1));
        if self.message.len() + other.message.len() <= LONGEST {
            self.message.push_str("; ");
            self.message.push_str(&other.message);
        }
    }
}

/// Codes of what may be over when the same is asked again.
const PASSING: [&str; 1] = ["provider_failed"];

/// Collects warnings in the order they arise, each once.
#[derive(Debug, Clone, Default)]
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

    /// Returns whether one of them is about this moment alone, so that the answer is not to be given again.
    pub(crate) fn are_passing(&self) -> bool {
        self.0.iter().any(|warning| PASSING.contains(&warning.code.as_str()))
    }

    /// The warnings in order, one entry per code.
    #[must_use]
    pub fn into_list(self) -> Vec<Warning> {
        Warning::merged(self.0)
    }
}

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
    use super::*;

    #[test]
    fn warnings_of_one_code_become_one_entry_with_count() {
        let empty = |field: &str| Warning::new("not_built", Some(field), format!("{field} is empty"));
        let other = Warning::new("no_data", None, "nothing is held");
        let merged = Warning::merged([empty("labels"), other.clone(), empty("entity_name"), empty("cluster")]);
        let message = "labels is empty; entity_name is empty; cluster is empty".to_owned();
        assert_eq!(merged, [Warning { message, count: Some(3), ..empty("labels") }, other.clone()]);
        assert_eq!(Warning::merged(merged.clone()), merged);
        let twice = Warning::merged(merged.iter().chain(&merged).cloned());
        assert_eq!((twice[0].count, twice[1].count), (Some(6), Some(2)));
        let text = serde_json::to_string(&other).unwrap();
        assert_eq!(text, r#"{"code":"no_data","field":null,"message":"nothing is held"}"#);
    }

    #[test]
    fn warnings_of_one_code_keep_a_bounded_message() {
        let many = (0..1000).map(|number| Warning::new("c", None, format!("{number} is wrong")));
        let merged = Warning::merged(many);
        assert_eq!((merged.len(), merged[0].count), (1, Some(1000)));
        assert!(merged[0].message.starts_with("0 is wrong; 1 is wrong") && merged[0].message.len() <= 620);
    }
}

#[cfg(test)]
mod text_tests {
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
