//! Changes of a shared database that concern no credits: events, deliveries, webhooks, tickets. Each is a transaction of
//! its own, on a connection and a thread of its own.
//!
//! In one transaction with the charges they would hold what they have locked until all of those are booked, and two
//! replicas whose batches lock the same rows in another order would wait for one another in a circle.

use tokio::sync::mpsc;

use super::StateError;
use super::db::{Db, TransactionFailure};
use super::health::Watch;
use super::writer::Job;

/// The thread that makes them, one after the other.
pub(super) struct Jobs {
    pub db: Db,
    pub queue: mpsc::Receiver<Box<dyn Job>>,
    /// Kept for its end.
    pub _watch: Watch,
}

impl Jobs {
    /// Runs until every sender is gone and the queue is empty.
    pub fn run(mut self) {
        while let Some(mut job) = self.queue.blocking_recv() {
            let committed = self.db.attempt(|tx| job.run(tx));
            job.finish(committed.map_err(|undone| match undone {
                TransactionFailure::NotBegun(error) | TransactionFailure::Certain(error) => error,
                // Whoever asks for it again finds it done or not: jobs can be repeated.
                TransactionFailure::Unknown(error) => StateError::NotCommitted(crate::causes(&error)),
            }));
        }
    }
}
