//! Where the work is done: on threads that may block, with a bounded number of calls at a time and a bounded number that
//! waits for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use headwater_engine::CostClass;
use headwater_ledger::Memory;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use super::Context;

/// Lanes by kind of call.
const LANES: usize = 3;
const HEAVY: usize = 0;
const MEDIUM: usize = 1;
const LIGHT: usize = 2;
/// Calls of each lane that may wait.
const QUEUES: [usize; LANES] = [64, 512, 1024];
/// How long calls wait for memory until it is looked at again: an answer that is sent gives its own back, too.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

const fn lane(class: CostClass) -> usize {
    match class {
        CostClass::Heavy => HEAVY,
        CostClass::Medium => MEDIUM,
        CostClass::Light | CostClass::Free => LIGHT,
    }
}

/// Slots for work. Heavy calls have their own, as many as there are cores, so that they cannot take the place of light
/// ones. Of the others a fifth is kept for light and free calls.
#[derive(Debug)]
pub(super) struct Pool {
    /// Calls at work and waiting, by lane.
    room: [Arc<Semaphore>; LANES],
    crew: Arc<Crew>,
}

/// The right to wait for a slot.
#[derive(Debug)]
pub(super) struct Ticket {
    lane: usize,
    /// Held, and given back when it is dropped.
    _place: OwnedSemaphorePermit,
}

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
        let light = 4 * cores;
        let most = [cores, light - light.div_ceil(5), light];
        Self {
            room: std::array::from_fn(|lane| Arc::new(Semaphore::new(most[lane] + QUEUES[lane]))),
            crew: Arc::new(Crew { lines: Mutex::default(), wake: Condvar::new(), most, memory }),
        }
    }

    /// Whether there are tickets.
    pub fn has_room(&self, class: CostClass) -> bool {
        self.room[lane(class)].available_permits() > 0
    }

    /// A ticket, unless too many wait already.
    pub fn enter(&self, class: CostClass) -> Option<Ticket> {
        let lane = lane(class);
        let place = Arc::clone(&self.room[lane]).try_acquire_owned().ok()?;
        Some(Ticket { lane, _place: place })
    }

    /// Does `work` until `deadline`, the waiting for a slot and for memory included. Past it the token of the request is
    /// set, and the slot stays taken until the work has seen it. What the call holds is held as long.
    pub async fn run<T: Send + 'static>(
        &self,
        ticket: Ticket,
        deadline: Instant,
        context: &Arc<Context>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let lane = ticket.lane;
        // What the call holds is held until the work is over, whoever waits for it.
        let held = (ticket, Arc::clone(context));
        let (done, mut result) = oneshot::channel();
        // Taken when it begins, or before by who gives up, with all that it holds.
        let waits = Arc::new(Mutex::new(Some((held, work, done))));
        let begins = Arc::clone(&waits);
        self.crew.put(lane, move || {
            let Some((held, work, done)) = taken(&begins) else { return };
            // What panicked is never looked at again.
            let made = (!done.is_closed()).then(|| catch_unwind(AssertUnwindSafe(work)));
            drop(held);
            if let Some(Ok(made)) = made {
                // Whoever waited may be gone.
                let _ = done.send(made);
            }
        });
        let run = async {
            tokio::select! {
                biased;
                made = &mut result => return made.map_err(|_| Stopped::Panicked),
                () = context.until_client_leaves() => {}
            }
            match taken(&waits) {
                Some(_) => Err(Stopped::ClientGone),
                None => result.await.map_err(|_| Stopped::Panicked),
            }
        };
        tokio::time::timeout_at(deadline, run).await.unwrap_or_else(|_| {
            context.stop();
            drop(taken(&waits));
            Err(Stopped::Deadline)
        })
    }
}

/// What waits, if nobody took it yet.
fn taken<T>(waits: &Mutex<Option<T>>) -> Option<T> {
    waits.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.crew.lines().closed = true;
        self.crew.wake.notify_all();
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads that do the work. They come as they are needed; one that is done takes the next call itself, so that
/// under load nobody has to be woken for it.
#[derive(Debug)]
struct Crew {
    lines: Mutex<Lines>,
    wake: Condvar,
    /// Most calls at work: heavy, medium, and medium and light together.
    most: [usize; LANES],
    memory: Memory,
}

#[derive(Default)]
struct Lines {
    /// Calls that wait, by lane, each with the number in which it came.
    waiting: [VecDeque<(u64, Job)>; LANES],
    at_work: [usize; LANES],
    came: u64,
    threads: usize,
    idle: usize,
    /// Whether a thread was called that has not looked yet. It calls the next one where there is more to do.
    called: bool,
    closed: bool,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waiting = self.waiting.each_ref().map(VecDeque::len);
        f.debug_struct("Lines").field("waiting", &waiting).field("at_work", &self.at_work).finish_non_exhaustive()
    }
}

impl Lines {
    /// Of the calls that have a slot, the one that came first. Heavy and medium ones need room for a whole share of the
    /// memory; one that is under way and finds none any more is refused instead, as it holds what others wait for.
    fn next(&mut self, most: [usize; LANES], has_room: bool) -> Option<(usize, Job)> {
        let others = self.at_work[MEDIUM] + self.at_work[LIGHT];
        let has_slot = |lane| match lane {
            HEAVY => has_room && self.at_work[HEAVY] < most[HEAVY],
            MEDIUM => has_room && self.at_work[MEDIUM] < most[MEDIUM] && others < most[LIGHT],
            _ => others < most[LIGHT],
        };
        let first = |lane: usize| self.waiting[lane].front().map(|(came, _)| (*came, lane));
        let (_, lane) = (0..LANES).filter(|lane| has_slot(*lane)).filter_map(first).min()?;
        let (_, job) = self.waiting[lane].pop_front()?;
        self.at_work[lane] += 1;
        Some((lane, job))
    }
}

impl Crew {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        // No code panics while it holds the lock.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a call in line and sees to it that a thread takes it.
    fn put(self: &Arc<Self>, lane: usize, job: impl FnOnce() + Send + 'static) {
        let mut lines = self.lines();
        lines.came += 1;
        let came = lines.came;
        lines.waiting[lane].push_back((came, Box::new(job)));
        self.call(lines);
    }

    /// Sees to it that a thread looks at what waits: one that is idle, or else a new one. Nobody is woken while another
    /// is waking up: calls that come together are then taken by few threads. Who takes a call and leaves some calls again.
    fn call(self: &Arc<Self>, mut lines: MutexGuard<'_, Lines>) {
        if lines.idle > 0 {
            if !std::mem::replace(&mut lines.called, true) {
                drop(lines);
                self.wake.notify_one();
            }
        } else if lines.threads < self.most[HEAVY] + self.most[LIGHT] {
            lines.threads += 1;
            drop(lines);
            let crew = Arc::clone(self);
            if let Err(error) = thread::Builder::new().name("call".to_owned()).spawn(move || crew.take_turns()) {
                // Those that are there go on; without any the call ends at its deadline.
                tracing::error!(%error, "no thread for calls can be started");
                self.lines().threads -= 1;
            }
        }
    }

    /// The life of a thread.
    fn take_turns(self: &Arc<Self>) {
        let mut lines = self.lines();
        loop {
            let has_room = self.memory.has_room();
            if let Some((lane, job)) = lines.next(self.most, has_room) {
                if lines.waiting.iter().any(|line| !line.is_empty()) {
                    self.call(lines);
                } else {
                    drop(lines);
                }
                job();
                lines = self.lines();
                lines.at_work[lane] -= 1;
            } else if lines.closed {
                return;
            } else {
                lines.idle += 1;
                let waits_for_room = !has_room && lines.waiting[..LIGHT].iter().any(|line| !line.is_empty());
                lines = if waits_for_room {
                    self.wake.wait_timeout(lines, LOOK_AGAIN).unwrap_or_else(PoisonError::into_inner).0
                } else {
                    self.wake.wait(lines).unwrap_or_else(PoisonError::into_inner)
                };
                lines.idle -= 1;
                lines.called = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_slots_is_kept_for_light_calls_and_every_queue_has_an_end() {
        for (cores, medium) in [(1, 3), (2, 6), (16, 51)] {
            let pool = Pool::new(cores, Memory::new(2, 1));
            assert_eq!(pool.crew.most, [cores, medium, 4 * cores]);
        }
        let pool = Pool::new(2, Memory::new(2, 1));
        let tickets: Vec<_> = std::iter::from_fn(|| pool.enter(CostClass::Heavy)).collect();
        assert_eq!(tickets.len(), 2 + QUEUES[HEAVY]);
        assert!(pool.enter(CostClass::Light).is_some());
        drop(tickets);
        assert!(pool.enter(CostClass::Heavy).is_some());
    }

    #[test]
    fn calls_are_taken_in_the_order_they_came_as_far_as_there_are_slots() {
        let most = Pool::new(1, Memory::new(2, 1)).crew.most;
        let mut lines = Lines::default();
        for (came, lane) in [HEAVY, HEAVY, MEDIUM, MEDIUM, MEDIUM, MEDIUM, LIGHT, LIGHT].into_iter().enumerate() {
            lines.waiting[lane].push_back((came as u64, Box::new(|| ())));
        }
        let taken: Vec<usize> = std::iter::from_fn(|| lines.next(most, true).map(|(lane, _)| lane)).collect();
        assert_eq!(taken, [HEAVY, MEDIUM, MEDIUM, MEDIUM, LIGHT], "one heavy, three medium of four others");
        lines.at_work[MEDIUM] -= 1;
        assert_eq!(lines.next(most, false).map(|(lane, _)| lane), Some(LIGHT), "the others need memory");
        lines.at_work[LIGHT] -= 1;
        assert_eq!(lines.next(most, true).map(|(lane, _)| lane), Some(MEDIUM), "it came before the last");
    }

    #[test]
    fn a_call_that_comes_while_a_thread_wakes_up_does_not_wait_for_the_one_before_it() {
        let pool = Pool::new(1, Memory::new(2, 1));
        let (told, tells) = std::sync::mpsc::channel();
        let patience = Duration::from_secs(30);
        for _ in 0..200 {
            // One thread, idle.
            let first = told.clone();
            pool.crew.put(LIGHT, move || first.send(()).unwrap());
            tells.recv_timeout(patience).unwrap();
            // The first of two lasts until the second is done.
            let (done, ends) = std::sync::mpsc::channel();
            pool.crew.put(LIGHT, move || assert!(ends.recv_timeout(patience).is_ok()));
            pool.crew.put(LIGHT, move || done.send(()).unwrap());
            let last = told.clone();
            pool.crew.put(LIGHT, move || last.send(()).unwrap());
            tells.recv_timeout(patience).expect("all were taken");
        }
    }
}
