//! One scan under way: what it reads, and what it is to give.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use headwater_engine::Error;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Chain;

use super::filter::CheckedFilter;
use super::output::internal;

/// A scan under way.
pub(crate) struct Job<'a> {
    pub ledger: &'a dyn Ledger,
    /// The columns asked for, in order.
    pub columns: &'a [&'static str],
    pub schema: &'a SchemaRef,
    pub filter: &'a CheckedFilter,
    pub limit: Option<u64>,
    pub cancel: &'a Cancel,
    pub decoded: &'a AtomicU64,
}

impl Job<'_> {
    /// Returns whether a column is asked for.
    pub fn wants(&self, columns: &[&str]) -> bool {
        self.columns.iter().any(|column| columns.contains(column))
    }

    /// The chains that are read, in their order.
    pub fn chains(&self) -> impl Iterator<Item = Chain> + '_ {
        self.ledger.coverage().keys().copied().filter(|chain| self.filter.holds_chain(*chain))
    }

    /// Counts rows that were decoded, whether they passed the filter or not.
    pub fn count(&self, rows: u64) {
        self.decoded.fetch_add(rows, Ordering::Relaxed);
    }

    pub fn check(&self) -> Result<(), Error> {
        Ok(self.cancel.check().map_err(LedgerError::from)?)
    }

    /// The batch of the columns asked for; `column` makes each of them.
    pub fn batch(&self, column: impl FnMut(&'static str) -> Result<ArrayRef, Error>) -> Result<RecordBatch, Error> {
        let columns = self.columns.iter().copied().map(column).collect::<Result<_, _>>()?;
        RecordBatch::try_new(SchemaRef::clone(self.schema), columns).map_err(|error| internal(&error))
    }

    /// A number of items to decode together: `whole`, or fewer where few rows are asked for.
    pub fn chunk(&self, whole: usize) -> usize {
        const MIN_ITEMS: u64 = 64;
        self.limit.map_or(whole, |limit| usize::try_from(limit.max(MIN_ITEMS)).map_or(whole, |limit| limit.min(whole)))
    }
}
