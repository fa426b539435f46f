//! Requests of the audit that wait for the writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::QUEUE;
use super::audit::{AuditRow, Page, Sheet};
use crate::spread::{PLACES, Place, place};

/// Most requests of a place. They make one page.
const MOST: usize = QUEUE / 4;

/// Requests that cost nothing, until the next commit; each thread has a page of its own for them. Nobody waits for them,
/// so that one word to the writer does for many.
#[derive(Debug, Default)]
pub(super) struct Rows {
    places: [Place<Mutex<Sheet>>; PLACES],
    /// Whether the writer was told since it took the last ones.
    told: AtomicBool,
}

impl Rows {
    /// Adds a request and tells whether the writer has to be told; `None` when too many wait already.
    pub fn add(&self, row: &AuditRow) -> Option<bool> {
        let mut sheet = sheet(&self.places[place()]);
        if sheet.len() >= MOST {
            return None;
        }
        sheet.add(row, row.bytes);
        drop(sheet);
        // Looked at behind the lock: a writer that took the page without this request has said before that it wants to
        // be told again. Most are not the first, and only look.
        Some(!self.told.load(Ordering::Acquire) && !self.told.swap(true, Ordering::AcqRel))
    }

    pub fn len(&self) -> usize {
        self.places.iter().map(|place| sheet(place).len()).sum()
    }

    /// All requests, each place a page.
    pub fn take(&self) -> Vec<Page> {
        self.told.store(false, Ordering::Release);
        let take = |place| {
            let mut sheet = sheet(place);
            // As many come until the next time.
            let next = Sheet::of(sheet.len());
            std::mem::replace(&mut *sheet, next).finished()
        };
        self.places.iter().filter_map(take).collect()
    }
}

fn sheet(place: &Place<Mutex<Sheet>>) -> MutexGuard<'_, Sheet> {
    place.0.lock().unwrap_or_else(PoisonError::into_inner)
}
