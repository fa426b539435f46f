//! A typed answer: the report of an analysis, and what its answer says besides.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Answer, Pagination, Warning};

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
    /// Whether the same request of the same data always gets this answer.
    pub(crate) is_kept: bool,
}

impl From<Answer> for Response<Value> {
    fn from(answer: Answer) -> Self {
        let report = answer.value();
        let Answer { pagination, warnings, pegged, paid_items, .. } = answer;
        Self { report, pagination, warnings, pegged, paid_items, is_kept: false }
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
