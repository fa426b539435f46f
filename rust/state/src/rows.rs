//! Requests of the audit that wait for the writer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::QUEUE;
use super::audit::{AuditRow, Page};

/// Requests that cost nothing, until the next commit.
#[derive(Debug, Default)]
pub(super) struct Rows(Mutex<Vec<AuditRow>>);

impl Rows {
    /// Adds a request and returns whether it is the first since the last commit, which the writer must hear of.
    ///
    /// # Errors
    /// The request, when too many wait already.
    pub fn add(&self, row: AuditRow) -> Result<bool, AuditRow> {
        let mut rows = self.rows();
        if rows.len() >= QUEUE {
            return Err(row);
        }
        rows.push(row);
        Ok(rows.len() == 1)
    }

    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// All requests as a page.
    pub fn take(&self) -> Option<Page> {
        let rows = std::mem::take(&mut *self.rows());
        Page::of(&rows)
    }

    fn rows(&self) -> MutexGuard<'_, Vec<AuditRow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
