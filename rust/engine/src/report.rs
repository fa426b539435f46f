//! Reports before they have a form: JSON or a table is made of one when somebody asks for it.

use std::sync::OnceLock;

use headwater_ledger::Cancel;
use serde::Serialize;

use crate::columns::Column;
use crate::text::text;
use crate::{Answer, AnyRow, Error, Pagination, Warning};

/// The report of an analysis, whatever its type.
pub(crate) trait Reported: AnyRow + Send + Sync {
    /// Its JSON text. Written without a virtual call per value, since every HTTP answer is made of it.
    fn text(&self, cancel: &Cancel) -> Result<String, Error>;
}

impl<R: Serialize + Send + Sync> Reported for R {
    fn text(&self, cancel: &Cancel) -> Result<String, Error> {
        text(self, cancel)
    }
}

/// The rows of an endpoint's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportRows {
    /// The field of the report that is the list of rows; `None` where the report itself is the only row.
    pub field: Option<&'static str>,
    /// Their columns.
    pub columns: Vec<Column>,
}

/// A successful answer whose report is still a value.
pub struct Report {
    /// None where the answer came from the cache, which has texts.
    value: Option<Box<dyn Reported>>,
    data: OnceLock<String>,
    /// The `meta.pagination` of GET lists.
    pub pagination: Option<Pagination>,
    /// The `meta.warnings`.
    pub warnings: Vec<Warning>,
    /// The `meta.pegged`.
    pub pegged: Vec<String>,
    paid_items: Option<u32>,
}

impl Report {
    pub(crate) fn new(value: Box<dyn Reported>, pagination: Option<Pagination>, warnings: Vec<Warning>) -> Self {
        let pegged = Vec::new();
        Self { value: Some(value), data: OnceLock::new(), pagination, warnings, pegged, paid_items: None }
    }

    pub(crate) fn of_text(Answer { data, pagination, warnings, pegged, paid_items }: Answer) -> Self {
        Self { value: None, data: data.into(), pagination, warnings, pegged, paid_items }
    }

    pub(crate) fn with_pegged(self, pegged: Vec<String>) -> Self {
        Self { pegged, ..self }
    }

    pub(crate) fn with_paid_items(self, paid_items: Option<u32>) -> Self {
        Self { paid_items, ..self }
    }

    pub(crate) fn with_text(self, data: String) -> Self {
        Self { data: data.into(), ..self }
    }

    /// The report as a value; `None` where there is only its text.
    #[must_use]
    pub fn value(&self) -> Option<&dyn AnyRow> {
        self.value.as_ref().map(|value| &**value as &dyn AnyRow)
    }

    /// The `data` of the answer as JSON text.
    ///
    /// # Errors
    /// Internal, where the report has no JSON form.
    pub fn data(&self) -> Result<&str, Error> {
        if let (None, Some(value)) = (self.data.get(), &self.value) {
            let text = value.text(&Cancel::new())?;
            return Ok(self.data.get_or_init(|| text));
        }
        Ok(self.data.get().map_or("null", String::as_str))
    }

    pub(crate) fn into_answer(self, cancel: &Cancel) -> Result<Answer, Error> {
        let data = match (self.data.into_inner(), self.value) {
            (Some(data), _) => data,
            (None, Some(value)) => value.text(cancel)?,
            (None, None) => "null".to_owned(),
        };
        let Self { pagination, warnings, pegged, paid_items, .. } = self;
        Ok(Answer { data, pagination, warnings, pegged, paid_items })
    }
}
