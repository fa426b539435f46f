//! The worker pool: threads that may block, with a bounded number of calls at a time and a bounded number that
//! waits for them.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use headwater_engine::CostClass;
use headwater_ledger::Memory;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

use super::Context;
use super::limits::CallSlot;

/// The number of priorities, by kind of call.
const PRIORITIES: usize = 3;
const HEAVY: usize = 0;
const MEDIUM: usize = 1;
const LIGHT: usize = 2;
/// The maximum number of queued calls of each priority.
const QUEUES: [usize; PRIORITIES] = [64, 512, 1024];
/// The maximum number of calls of each priority that wait for their clients, also for each slot: those without a slot
/// hold a thread.
const BLOCKED: [usize; PRIORITIES] = [16, 128, 256];
const BLOCKED_PER_SLOT: usize = 16;
/// The minimum time for which one of them waits before it is given up for another: its client reads no more, or hardly.
const BLOCKED_TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which calls wait for memory until it is looked at again: an answer that is sent gives its own back, too.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

const fn priority(class: CostClass) -> usize {
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
    /// The calls at work and queued, by priority.
    room: [Arc<Semaphore>; PRIORITIES],
    workers: Arc<Workers>,
}

/// The right to wait for a slot.
#[derive(Debug)]
pub(super) struct Ticket {
    priority: usize,
    /// Held, and given back when it is dropped.
    _place: OwnedSemaphorePermit,
}

/// The slot of a call at work, for the thread that does it.
#[derive(Debug)]
pub(super) struct Slot {
    workers: Arc<Workers>,
    priority: usize,
}

impl Slot {
    /// Waits for the client, and lets others work meanwhile: it takes as long as the client likes. `None` when too many
    /// calls wait so, and this one waited longest. Where all of those have waited for a short time only, this one keeps
    /// its slot.
    pub fn wait_for<T>(&self, runtime: &Handle, client: impl Future<Output = T>) -> Option<T> {
        let Some(given_up) = self.workers.release(self.priority, BLOCKED_TIMEOUT) else {
            return Some(runtime.block_on(client));
        };
        let blocked = BlockedCall { slot: self, given_up };
        let done = runtime.block_on(async {
            tokio::select! {
                biased;
                done = client => Some(done),
                () = blocked.given_up.notified() => None,
            }
        });
        drop(blocked);
        done
    }
}

/// A call that waits for its client. Dropped, it takes a slot again, for which it may have to wait.
struct BlockedCall<'a> {
    slot: &'a Slot,
    given_up: Arc<Notify>,
}

impl Drop for BlockedCall<'_> {
    fn drop(&mut self) {
        self.slot.workers.reacquire(self.slot.priority, &self.given_up);
    }
}

/// The reason why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
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
            room: std::array::from_fn(|priority| Arc::new(Semaphore::new(most[priority] + QUEUES[priority]))),
            workers: Arc::new(Workers { lines: Mutex::default(), wake: Condvar::new(), most, memory }),
        }
    }

    /// The slot of the call that is run with this ticket.
    pub fn slot(&self, ticket: &Ticket) -> Slot {
        Slot { workers: Arc::clone(&self.workers), priority: ticket.priority }
    }

    /// Returns whether there are tickets.
    pub fn has_room(&self, class: CostClass) -> bool {
        self.room[priority(class)].available_permits() > 0
    }

    /// A ticket, unless too many wait already.
    pub fn enter(&self, class: CostClass) -> Option<Ticket> {
        let priority = priority(class);
        let place = Arc::clone(&self.room[priority]).try_acquire_owned().ok()?;
        Some(Ticket { priority, _place: place })
    }

    /// Does `work` until `deadline`, the waiting for a slot and for memory included. Past it the token of the request is
    /// set, and the slot stays taken until the work has seen it.
    pub async fn run<T: Send + 'static>(
        &self,
        ticket: Ticket,
        deadline: Instant,
        (context, slot): (&Context, &Arc<CallSlot>),
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StopReason> {
        let priority = ticket.priority;
        // The call counts as under way until the work is over, whoever waits for it.
        let held = (ticket, Arc::clone(slot));
        let (done, mut result) = oneshot::channel();
        // Taken when it begins, or before by who gives up, with all that it holds.
        let waits = Arc::new(Mutex::new(Some((held, work, done))));
        let begins = Arc::clone(&waits);
        self.workers.put(priority, move || {
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
                made = &mut result => return made.map_err(|_| StopReason::Panicked),
                () = context.until_client_leaves() => {}
            }
            match taken(&waits) {
                Some(_) => Err(StopReason::ClientGone),
                None => result.await.map_err(|_| StopReason::Panicked),
            }
        };
        tokio::time::timeout_at(deadline, run).await.unwrap_or_else(|_| {
            context.cancel().cancel();
            drop(taken(&waits));
            Err(StopReason::Deadline)
        })
    }
}

/// Returns the queued call, if nobody took it yet.
fn taken<T>(waits: &Mutex<Option<T>>) -> Option<T> {
    waits.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.workers.lines().closed = true;
        self.workers.wake.notify_all();
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// The threads that do the work. They come as they are needed; one that is done takes the next call itself, so that
/// under load nobody has to be woken for it.
#[derive(Debug)]
struct Workers {
    lines: Mutex<Lines>,
    wake: Condvar,
    /// Most calls at work: heavy, medium, and medium and light together.
    most: [usize; PRIORITIES],
    memory: Memory,
}

#[derive(Default)]
struct Lines {
    /// Queued calls by priority, each with the number in which it came.
    waiting: [VecDeque<(u64, Job)>; PRIORITIES],
    at_work: [usize; PRIORITIES],
    came: u64,
    threads: usize,
    idle: usize,
    /// Threads whose call is without its slot.
    absent: usize,
    /// Those of these calls that wait for their clients and since when, by priority: who waits longest is first.
    blocked: [VecDeque<(Instant, Arc<Notify>)>; PRIORITIES],
    /// Those of these calls that wait for a slot to continue, by priority.
    back: [VecDeque<mpsc::Sender<()>>; PRIORITIES],
    /// True if a thread was called that has not looked yet. It calls the next one where there is more to do.
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
    /// Returns, of the calls that have a slot, the one that came first. Heavy and medium ones need room for a whole
    /// share of the memory; one that is under way and finds none any more is refused instead, as it holds what others
    /// wait for.
    fn next(&mut self, most: [usize; PRIORITIES], has_room: bool) -> Option<(usize, Job)> {
        let may_begin = |priority: &usize| (has_room || *priority == LIGHT) && self.has_slot(most, *priority);
        let first = |priority: usize| self.waiting[priority].front().map(|(came, _)| (*came, priority));
        let (_, priority) = (0..PRIORITIES).filter(may_begin).filter_map(first).min()?;
        let (_, job) = self.waiting[priority].pop_front()?;
        self.at_work[priority] += 1;
        Some((priority, job))
    }

    fn has_slot(&self, most: [usize; PRIORITIES], priority: usize) -> bool {
        let has_any = self.at_work[MEDIUM] + self.at_work[LIGHT] < most[LIGHT];
        match priority {
            HEAVY => self.at_work[HEAVY] < most[HEAVY],
            MEDIUM => self.at_work[MEDIUM] < most[MEDIUM] && has_any,
            _ => has_any,
        }
    }

    /// A slot for a call that gave its own away, where there is one. It has its memory already.
    fn take_again(&mut self, most: [usize; PRIORITIES], priority: usize) -> bool {
        let has_slot = self.has_slot(most, priority);
        if has_slot {
            self.at_work[priority] += 1;
            self.absent -= 1;
        }
        has_slot
    }

    /// Gives a slot back. Calls that had one continue before others begin: they came before them.
    fn free(&mut self, most: [usize; PRIORITIES], priority: usize) {
        self.at_work[priority] -= 1;
        for priority in 0..PRIORITIES {
            while !self.back[priority].is_empty() && self.take_again(most, priority) {
                if let Some(waits) = self.back[priority].pop_front() {
                    waits.send(()).expect("a thread that waits for its slot does nothing else");
                }
            }
        }
    }

    fn has_waiting(&self) -> bool {
        self.waiting.iter().any(|line| !line.is_empty())
    }
}

impl Workers {
    fn lines(&self) -> MutexGuard<'_, Lines> {
        // No code panics while it holds the lock.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a call in line and sees to it that a thread takes it.
    fn put(self: &Arc<Self>, priority: usize, job: impl FnOnce() + Send + 'static) {
        let mut lines = self.lines();
        lines.came += 1;
        let came = lines.came;
        lines.waiting[priority].push_back((came, Box::new(job)));
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
        } else if lines.threads < self.threads() + lines.absent {
            lines.threads += 1;
            drop(lines);
            let workers = Arc::clone(self);
            if let Err(error) = thread::Builder::new().name("call".to_owned()).spawn(move || workers.take_turns()) {
                // Those that are there continue; without any the call ends at its deadline.
                tracing::error!(%error, "no thread for calls can be started");
                self.lines().threads -= 1;
            }
        }
    }

    /// Most threads with a slot.
    fn threads(&self) -> usize {
        self.most[HEAVY] + self.most[LIGHT]
    }

    /// The call of this thread gives its slot away and waits for its client, until others need its place.
    /// `None` where too many do so already, and none of them for longer than `timeout`.
    fn release(self: &Arc<Self>, priority: usize, timeout: Duration) -> Option<Arc<Notify>> {
        let given_up = Arc::new(Notify::new());
        let mut lines = self.lines();
        if lines.blocked[priority].len() >= BLOCKED[priority].min(BLOCKED_PER_SLOT * self.most[priority]) {
            let (_, longest) = lines.blocked[priority].pop_front_if(|(since, _)| since.elapsed() >= timeout)?;
            longest.notify_one();
        }
        lines.blocked[priority].push_back((Instant::now(), Arc::clone(&given_up)));
        lines.absent += 1;
        lines.free(self.most, priority);
        if lines.has_waiting() {
            self.call(lines);
        }
        Some(given_up)
    }

    /// The call of this thread continues, once it has a slot again.
    fn reacquire(&self, priority: usize, given_up: &Arc<Notify>) {
        let mut lines = self.lines();
        lines.blocked[priority].retain(|(_, one)| !Arc::ptr_eq(one, given_up));
        if lines.back[priority].is_empty() && lines.take_again(self.most, priority) {
            return;
        }
        let (sender, has_slot) = mpsc::channel();
        lines.back[priority].push_back(sender);
        drop(lines);
        has_slot.recv().expect("who waits for a slot is in line until it has one");
    }

    /// The life of a thread.
    fn take_turns(self: &Arc<Self>) {
        let mut lines = self.lines();
        loop {
            let has_room = self.memory.has_room();
            if let Some((priority, job)) = lines.next(self.most, has_room) {
                if lines.has_waiting() {
                    self.call(lines);
                } else {
                    drop(lines);
                }
                job();
                lines = self.lines();
                lines.free(self.most, priority);
            } else if lines.closed || lines.idle >= self.threads() {
                // Those beyond came in place of others that are back.
                lines.threads -= 1;
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
    fn light_calls_keep_a_fifth_of_slots_and_queues_are_bounded() {
        for (cores, medium) in [(1, 3), (2, 6), (16, 51)] {
            let pool = Pool::new(cores, Memory::new(2, 1));
            assert_eq!(pool.workers.most, [cores, medium, 4 * cores]);
        }
        let pool = Pool::new(2, Memory::new(2, 1));
        let tickets: Vec<_> = std::iter::from_fn(|| pool.enter(CostClass::Heavy)).collect();
        assert_eq!(tickets.len(), 2 + QUEUES[HEAVY]);
        assert!(pool.enter(CostClass::Light).is_some());
        drop(tickets);
        assert!(pool.enter(CostClass::Heavy).is_some());
    }

    #[test]
    fn calls_are_taken_in_order_as_far_as_there_are_slots() {
        let most = Pool::new(1, Memory::new(2, 1)).workers.most;
        let mut lines = Lines::default();
        for (came, priority) in [HEAVY, HEAVY, MEDIUM, MEDIUM, MEDIUM, MEDIUM, LIGHT, LIGHT].into_iter().enumerate() {
            lines.waiting[priority].push_back((came as u64, Box::new(|| ())));
        }
        let taken: Vec<usize> = std::iter::from_fn(|| lines.next(most, true).map(|(priority, _)| priority)).collect();
        assert_eq!(taken, [HEAVY, MEDIUM, MEDIUM, MEDIUM, LIGHT], "one heavy, three medium of four others");
        lines.at_work[MEDIUM] -= 1;
        assert_eq!(lines.next(most, false).map(|(priority, _)| priority), Some(LIGHT), "the others need memory");
        lines.at_work[LIGHT] -= 1;
        assert_eq!(lines.next(most, true).map(|(priority, _)| priority), Some(MEDIUM), "it came before the last");
    }

    /// Begins calls of a priority that wait for their clients, and sends how each ended.
    fn blocked(pool: &Pool, class: CostClass, calls: usize) -> (Arc<Semaphore>, mpsc::Receiver<bool>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (client, (reports, outcomes)) = (Arc::new(Semaphore::new(0)), mpsc::channel());
        let runtime = Arc::new(runtime);
        for _ in 0..calls {
            let slot = Slot { workers: Arc::clone(&pool.workers), priority: priority(class) };
            let (client, reports, runtime) = (Arc::clone(&client), reports.clone(), Arc::clone(&runtime));
            pool.workers.put(priority(class), move || {
                let read = slot.wait_for(runtime.handle(), async { client.acquire().await.unwrap().forget() });
                reports.send(read.is_some()).unwrap();
            });
        }
        (client, outcomes)
    }

    fn until(pool: &Pool, what: impl Fn(&Lines) -> bool) {
        let begun = std::time::Instant::now();
        while !what(&pool.workers.lines()) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", pool.workers.lines());
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn calls_that_wait_for_their_clients_take_no_slot_of_others() {
        const CALLS: usize = 40;
        let pool = Pool::new(1, Memory::new(2, 1));
        let timeout = Duration::from_secs(30);
        let (client, outcomes) = blocked(&pool, CostClass::Medium, CALLS);
        until(&pool, |lines| lines.blocked[MEDIUM].len() == CALLS);
        for priority in [HEAVY, MEDIUM, LIGHT] {
            let (reports, light) = mpsc::channel();
            pool.workers.put(priority, move || reports.send(()).unwrap());
            light.recv_timeout(timeout).expect("a call of each kind is done");
        }
        // All slots are taken when the clients continue.
        let (done, ends) = mpsc::channel::<()>();
        let ends = Arc::new(Mutex::new(ends));
        for _ in 0..4 {
            let ends = Arc::clone(&ends);
            pool.workers.put(LIGHT, move || assert!(ends.lock().unwrap().recv_timeout(timeout).is_err()));
        }
        until(&pool, |lines| lines.at_work[LIGHT] == 4);
        client.add_permits(CALLS);
        until(&pool, |lines| lines.back[MEDIUM].len() == CALLS);
        assert!(outcomes.try_recv().is_err(), "without a slot none continues");
        drop(done);
        for _ in 0..CALLS {
            assert!(outcomes.recv_timeout(timeout).unwrap(), "its client has read");
        }
        until(&pool, |lines| lines.at_work == [0; PRIORITIES] && lines.absent == 0);
        until(&pool, |lines| lines.threads <= 5);
    }

    #[test]
    fn longest_blocked_call_is_given_up_for_others() {
        let pool = Pool::new(1, Memory::new(2, 1));
        let timeout = Duration::from_secs(30);
        let (client, outcomes) = blocked(&pool, CostClass::Heavy, BLOCKED[HEAVY]);
        until(&pool, |lines| lines.blocked[HEAVY].len() == BLOCKED[HEAVY]);
        // One that comes while nobody has waited for long keeps its slot.
        let (patient_client, patient) = blocked(&pool, CostClass::Heavy, 1);
        until(&pool, |lines| lines.at_work[HEAVY] == 1);
        assert_eq!(pool.workers.release(HEAVY, Duration::MAX).map(drop), None);
        assert!(outcomes.try_recv().is_err(), "none is given up");
        patient_client.add_permits(1);
        assert!(patient.recv_timeout(timeout).unwrap());
        let longest = pool.workers.lines().blocked[HEAVY].front_mut().map(|(since, _)| *since -= BLOCKED_TIMEOUT);
        assert!(longest.is_some());
        let (other_client, others) = blocked(&pool, CostClass::Heavy, 1);
        assert!(!outcomes.recv_timeout(timeout).unwrap());
        other_client.add_permits(1);
        assert!(others.recv_timeout(timeout).unwrap());
        client.add_permits(BLOCKED[HEAVY]);
        for _ in 1..BLOCKED[HEAVY] {
            assert!(outcomes.recv_timeout(timeout).unwrap());
        }
        until(&pool, |lines| lines.at_work == [0; PRIORITIES] && lines.absent == 0);
    }

    #[test]
    fn call_does_not_wait_for_a_thread_that_wakes_up() {
        let pool = Pool::new(1, Memory::new(2, 1));
        let (reports, outcomes) = std::sync::mpsc::channel();
        let timeout = Duration::from_secs(30);
        for _ in 0..200 {
            // One thread, idle.
            let first = reports.clone();
            pool.workers.put(LIGHT, move || first.send(()).unwrap());
            outcomes.recv_timeout(timeout).unwrap();
            // The first of two lasts until the second is done.
            let (done, ends) = std::sync::mpsc::channel();
            pool.workers.put(LIGHT, move || assert!(ends.recv_timeout(timeout).is_ok()));
            pool.workers.put(LIGHT, move || done.send(()).unwrap());
            let last = reports.clone();
            pool.workers.put(LIGHT, move || last.send(()).unwrap());
            outcomes.recv_timeout(timeout).expect("all were taken");
        }
    }
}
