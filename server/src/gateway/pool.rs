//! Where the work is done: on threads that may block, with a bounded number of calls at a time.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::CostClass;
use headwater_ledger::Cancel;
use tokio::sync::Semaphore;

/// Slots for work. Heavy calls have their own, so that they cannot take the place of light ones.
#[derive(Debug)]
pub(super) struct Pool {
    heavy: Arc<Semaphore>,
    others: Arc<Semaphore>,
}

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The deadline passed, in the queue or at work.
    Deadline,
    /// The work panicked.
    Panicked,
}

impl Pool {
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self { heavy: Arc::new(Semaphore::new(cores)), others: Arc::new(Semaphore::new(4 * cores)) }
    }

    /// Does `work` within `budget`, the waiting for a slot included. Past it the token is set, and the slot stays
    /// taken until the work has seen it.
    pub async fn run<T: Send + 'static>(
        &self,
        class: CostClass,
        budget: Duration,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let slots = match class {
            CostClass::Heavy => Arc::clone(&self.heavy),
            CostClass::Free | CostClass::Light | CostClass::Medium => Arc::clone(&self.others),
        };
        let run = async {
            let slot = slots.acquire_owned().await.expect("the slots are never closed");
            let done = tokio::task::spawn_blocking(move || {
                let _slot = slot;
                work()
            });
            done.await.map_err(|_| Stopped::Panicked)
        };
        tokio::time::timeout(budget, run).await.unwrap_or_else(|_| {
            cancel.cancel();
            Err(Stopped::Deadline)
        })
    }
}
