//! Rows of the audit that wait for the writer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::QUEUE;
use super::audit::AuditRow;

/// Rows of requests that cost nothing, until the next commit. Nobody waits for them, so that one word to the writer
/// does for many.
#[derive(Debug, Default)]
pub(super) struct Rows(Mutex<Vec<AuditRow>>);

impl Rows {
    /// Adds a row and tells whether it is the only one.
    ///
    /// # Errors
    /// With the row, when too many wait already.
    pub fn add(&self, row: AuditRow) -> Result<bool, Box<AuditRow>> {
        let mut rows = self.rows();
        if rows.len() >= QUEUE {
            return Err(Box::new(row));
        }
        rows.push(row);
        Ok(rows.len() == 1)
    }

    pub fn len(&self) -> usize {
        self.rows().len()
    }

    pub fn take(&self) -> Vec<AuditRow> {
        let mut rows = self.rows();
        // As many come until the next time.
        let room = rows.len();
        std::mem::replace(&mut rows, Vec::with_capacity(room))
    }

    fn rows(&self) -> MutexGuard<'_, Vec<AuditRow>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
