//! Look-ups of names: the system's resolver blocks a thread for each, for as long as a name server likes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Names that are looked up at a time.
const AT_ONCE: usize = 32;
/// The same of one account, so that its names cannot hold up those of all others.
const OF_ACCOUNT: usize = AT_ONCE / 4;
/// Accounts below which nothing is looked through for those without a lookup.
const FEW: usize = 64;

/// All lookups under way.
#[derive(Debug)]
pub(super) struct Lookups {
    all: Semaphore,
    of_accounts: Mutex<HashMap<i64, Arc<Semaphore>>>,
}

/// The right to look up a name, given back when it is dropped.
pub(super) struct Lookup<'a> {
    _own: OwnedSemaphorePermit,
    _of_all: SemaphorePermit<'a>,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { all: Semaphore::new(AT_ONCE), of_accounts: Mutex::default() }
    }
}

impl Lookups {
    /// Waits until a name may be looked up for an account: behind others of its own first.
    pub async fn turn(&self, account: i64) -> Lookup<'_> {
        const NEVER: &str = "the semaphore is never closed";
        let own = self.of_account(account).acquire_owned().await.expect(NEVER);
        Lookup { _own: own, _of_all: self.all.acquire().await.expect(NEVER) }
    }

    fn of_account(&self, account: i64) -> Arc<Semaphore> {
        let mut held = self.of_accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= FEW && !held.contains_key(&account) {
            held.retain(|_, lookups| Arc::strong_count(lookups) > 1);
        }
        Arc::clone(held.entry(account).or_insert_with(|| Arc::new(Semaphore::new(OF_ACCOUNT))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn names_of_one_account_that_hang_hold_up_nobody_else() {
        let lookups = Lookups::default();
        let mut hanging = Vec::new();
        for _ in 0..OF_ACCOUNT {
            hanging.push(lookups.turn(1).await);
        }
        let soon = Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, lookups.turn(1)).await.is_err());
        drop(lookups.turn(2).await);
        drop(hanging.pop());
        hanging.push(lookups.turn(1).await);
        for account in 2..1000 {
            drop(lookups.turn(account).await);
        }
        assert!(lookups.of_accounts.lock().unwrap().len() <= FEW);
        assert!(tokio::time::timeout(soon, lookups.turn(1)).await.is_err(), "its place is not forgotten");
    }
}
