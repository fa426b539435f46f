//! Where the work is done: on threads that may block, with a bounded number of calls at a time and a bounded number that
//! waits for them.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::CostClass;
use headwater_ledger::Memory;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Context;

/// Heavy calls that may wait.
const HEAVY_QUEUE: usize = 64;
/// Medium calls that may wait.
const MEDIUM_QUEUE: usize = 512;
/// Light and free calls that may wait.
const LIGHT_QUEUE: usize = 1024;
/// How long a call waits for memory until it looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Slots for work. Heavy calls have their own, as many as there are cores, so that they cannot take the place of light
/// ones. Of the others a fifth is kept for light and free calls.
#[derive(Debug)]
pub(super) struct Pool {
    heavy: Lane,
    medium: Lane,
    light: Lane,
    memory: Memory,
}

/// The way of one kind of call to its slot.
#[derive(Debug)]
struct Lane {
    /// Calls in work and waiting.
    room: Arc<Semaphore>,
    /// What a call needs to be at work, one of each.
    slots: Vec<Arc<Semaphore>>,
}

impl Lane {
    fn new(slots: Vec<Arc<Semaphore>>, queue: usize) -> Self {
        let at_work = slots.iter().map(|slots| slots.available_permits()).min().unwrap_or(0);
        Self { room: Arc::new(Semaphore::new(at_work + queue)), slots }
    }
}

/// The right to wait for a slot.
#[derive(Debug)]
pub(super) struct Ticket(
    #[expect(dead_code, reason = "it is held, and given back when it is dropped")] OwnedSemaphorePermit,
);

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The deadline passed, in the queue or at work.
    Deadline,
    /// The client went away while the call waited.
    ClientGone,
    /// The work panicked.
    Panicked,
}

impl Pool {
    /// Slots for a machine with so many cores, for work that takes its memory there.
    pub fn new(cores: usize, memory: Memory) -> Self {
        let others = Arc::new(Semaphore::new(4 * cores));
        let medium = Arc::new(Semaphore::new(4 * cores - (4 * cores).div_ceil(5)));
        Self {
            heavy: Lane::new(vec![Arc::new(Semaphore::new(cores))], HEAVY_QUEUE),
            medium: Lane::new(vec![medium, Arc::clone(&others)], MEDIUM_QUEUE),
            light: Lane::new(vec![others], LIGHT_QUEUE),
            memory,
        }
    }

    const fn lane(&self, class: CostClass) -> &Lane {
        match class {
            CostClass::Heavy => &self.heavy,
            CostClass::Medium => &self.medium,
            CostClass::Light | CostClass::Free => &self.light,
        }
    }

    /// A ticket, unless too many wait already.
    pub fn enter(&self, class: CostClass) -> Option<Ticket> {
        Arc::clone(&self.lane(class).room).try_acquire_owned().ok().map(Ticket)
    }

    /// Resolves when there is room for a call that may take a whole share of the memory. One that is under way and
    /// finds none any more is refused instead, as it holds what others wait for.
    async fn until_there_is_room(&self, class: CostClass) {
        while matches!(class, CostClass::Heavy | CostClass::Medium) && !self.memory.has_room() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Does `work` within `budget`, the waiting for a slot and for memory included. Past it the token of the request is set, and the
    /// slot stays taken until the work has seen it. What the call holds is held as long.
    pub async fn run<T: Send + 'static>(
        &self,
        class: CostClass,
        budget: Duration,
        context: &Context,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let entered = context.entered();
        let ticket = entered.as_ref().and_then(|entered| entered.take_ticket());
        let slots = async {
            let mut taken = Vec::with_capacity(2);
            for slots in &self.lane(class).slots {
                let slot = Arc::clone(slots).acquire_owned().await;
                taken.push(slot.expect("the slots are never closed"));
            }
            self.until_there_is_room(class).await;
            taken
        };
        let run = async {
            let slots = tokio::select! {
                slots = slots => slots,
                () = context.until_client_leaves() => return Err(Stopped::ClientGone),
            };
            let done = tokio::task::spawn_blocking(move || {
                let _held = (slots, ticket, entered);
                work()
            });
            done.await.map_err(|_| Stopped::Panicked)
        };
        tokio::time::timeout(budget, run).await.unwrap_or_else(|_| {
            context.cancel.cancel();
            Err(Stopped::Deadline)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_slots_is_kept_for_light_calls_and_every_queue_has_an_end() {
        for (cores, medium) in [(1, 3), (2, 6), (16, 51)] {
            let pool = Pool::new(cores, Memory::new(2, 1));
            let slots = |lane: &Lane| lane.slots.iter().map(|slots| slots.available_permits()).min().unwrap();
            assert_eq!((slots(&pool.heavy), slots(&pool.medium), slots(&pool.light)), (cores, medium, 4 * cores));
        }
        let pool = Pool::new(2, Memory::new(2, 1));
        let tickets: Vec<_> = std::iter::from_fn(|| pool.enter(CostClass::Heavy)).collect();
        assert_eq!(tickets.len(), 2 + HEAVY_QUEUE);
        assert!(pool.enter(CostClass::Light).is_some());
        drop(tickets);
        assert!(pool.enter(CostClass::Heavy).is_some());
    }
}
