//! The log of generations that cannot be read, while an earlier one answers.

use std::sync::Arc;
use std::time::Duration;

use headwater_ledger::read::{Generations, StaleGeneration};

/// The interval at which the store is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Logs when the newest generation cannot be read, why, and when it can be again, until it is dropped.
pub(crate) async fn log_stale(ledgers: Arc<dyn Generations>) {
    let mut known: Option<Arc<StaleGeneration>> = None;
    loop {
        let looked = Arc::clone(&ledgers);
        let found = tokio::task::spawn_blocking(move || {
            // Without anything to serve each call logs its error.
            let _ = looked.current();
            looked.stale()
        });
        let found = found.await.unwrap_or_else(|_| {
            tracing::error!("reading the newest generation panicked");
            None
        });
        match &found {
            Some(stale) if known.as_ref() != found.as_ref() => {
                let StaleGeneration { unreadable, served, error } = &**stale;
                tracing::error!(
                    error,
                    "generation {unreadable} of the store cannot be read: generation {served} answers in its place; see \
                     that this account may read the file, or run `headwater verify`"
                );
            }
            None if known.is_some() => tracing::info!("the newest generation of the store can be read again"),
            Some(_) | None => {}
        }
        known = found;
        tokio::time::sleep(LOOK).await;
    }
}
