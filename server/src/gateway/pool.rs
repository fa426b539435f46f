//! Where the work is done: on threads that may block, with a bounded number of calls at a time and a bounded number that
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

/// Lanes by kind of call.
const LANES: usize = 3;
const HEAVY: usize = 0;
const MEDIUM: usize = 1;
const LIGHT: usize = 2;
/// Calls of each lane that may wait.
const QUEUES: [usize; LANES] = [64, 512, 1024];
/// Calls of each lane that may wait for their clients, at most and for each slot: those without a slot hold a thread.
const AWAY: [usize; LANES] = [16, 128, 256];
const AWAY_PER_SLOT: usize = 16;
/// How long one of them waits at least before it is given up for another: its client reads no more, or hardly.
const PATIENCE: Duration = Duration::from_secs(10);
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

/// The slot of a call at work, for the thread that does it.
#[derive(Debug)]
pub(super) struct Slot {
    crew: Arc<Crew>,
    lane: usize,
}

impl Slot {
    /// Waits for the client, and lets others work meanwhile: it takes as long as the client likes. `None` when too many
    /// calls wait so, and this one waited longest. Where all of those have waited for a short time only, this one keeps
    /// its slot.
    pub fn wait_for<T>(&self, runtime: &Handle, client: impl Future<Output = T>) -> Option<T> {
        let Some(given_up) = self.crew.leave(self.lane, PATIENCE) else {
            return Some(runtime.block_on(client));
        };
        let away = Away { slot: self, given_up };
        let done = runtime.block_on(async {
            tokio::select! {
                biased;
                done = client => Some(done),
                () = away.given_up.notified() => None,
            }
        });
        drop(away);
        done
    }
}

/// A call that waits for its client. Dropped, it takes a slot again, for which it may have to wait.
struct Away<'a> {
    slot: &'a Slot,
    given_up: Arc<Notify>,
}

impl Drop for Away<'_> {
    fn drop(&mut self) {
        self.slot.crew.come_back(self.slot.lane, &self.given_up);
    }
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

    /// The slot of the call that is run with this ticket.
    pub fn slot(&self, ticket: &Ticket) -> Slot {
        Slot { crew: Arc::clone(&self.crew), lane: ticket.lane }
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
    /// set, and the slot stays taken until the work has seen it.
    pub async fn run<T: Send + 'static>(
        &self,
        ticket: Ticket,
        deadline: Instant,
        (context, slot): (&Context, &Arc<CallSlot>),
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let lane = ticket.lane;
        // The call counts as under way until the work is over, whoever waits for it.
        let held = (ticket, Arc::clone(slot));
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
            context.cancel().cancel();
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
    /// Threads whose call is without its slot.
    absent: usize,
    /// Of these calls those that wait for their clients and since when, by lane: who waits longest is first.
    away: [VecDeque<(Instant, Arc<Notify>)>; LANES],
    /// Of these calls those that wait for a slot to go on, by lane.
    back: [VecDeque<mpsc::Sender<()>>; LANES],
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
        let may_begin = |lane: &usize| (has_room || *lane == LIGHT) && self.has_slot(most, *lane);
        let first = |lane: usize| self.waiting[lane].front().map(|(came, _)| (*came, lane));
        let (_, lane) = (0..LANES).filter(may_begin).filter_map(first).min()?;
        let (_, job) = self.waiting[lane].pop_front()?;
        self.at_work[lane] += 1;
        Some((lane, job))
    }

    fn has_slot(&self, most: [usize; LANES], lane: usize) -> bool {
        let has_any = self.at_work[MEDIUM] + self.at_work[LIGHT] < most[LIGHT];
        match lane {
            HEAVY => self.at_work[HEAVY] < most[HEAVY],
            MEDIUM => self.at_work[MEDIUM] < most[MEDIUM] && has_any,
            _ => has_any,
        }
    }

    /// A slot for a call that gave its own away, where there is one. It has its memory already.
    fn take_again(&mut self, most: [usize; LANES], lane: usize) -> bool {
        let has_slot = self.has_slot(most, lane);
        if has_slot {
            self.at_work[lane] += 1;
            self.absent -= 1;
        }
        has_slot
    }

    /// Gives a slot back. Calls that had one go on before others begin: they came before them.
    fn free(&mut self, most: [usize; LANES], lane: usize) {
        self.at_work[lane] -= 1;
        for lane in 0..LANES {
            while !self.back[lane].is_empty() && self.take_again(most, lane) {
                if let Some(waits) = self.back[lane].pop_front() {
                    waits.send(()).expect("a thread that waits for its slot does nothing else");
                }
            }
        }
    }

    fn has_waiting(&self) -> bool {
        self.waiting.iter().any(|line| !line.is_empty())
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
        } else if lines.threads < self.threads() + lines.absent {
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

    /// Most threads with a slot.
    fn threads(&self) -> usize {
        self.most[HEAVY] + self.most[LIGHT]
    }

    /// The call of this thread gives its slot away and waits for its client, until it is told that others need its place.
    /// `None` where too many do so already, and none of them for longer than `patience`.
    fn leave(self: &Arc<Self>, lane: usize, patience: Duration) -> Option<Arc<Notify>> {
        let given_up = Arc::new(Notify::new());
        let mut lines = self.lines();
        if lines.away[lane].len() >= AWAY[lane].min(AWAY_PER_SLOT * self.most[lane]) {
            let (_, longest) = lines.away[lane].pop_front_if(|(since, _)| since.elapsed() >= patience)?;
            longest.notify_one();
        }
        lines.away[lane].push_back((Instant::now(), Arc::clone(&given_up)));
        lines.absent += 1;
        lines.free(self.most, lane);
        if lines.has_waiting() {
            self.call(lines);
        }
        Some(given_up)
    }

    /// The call of this thread goes on, once it has a slot again.
    fn come_back(&self, lane: usize, given_up: &Arc<Notify>) {
        let mut lines = self.lines();
        lines.away[lane].retain(|(_, one)| !Arc::ptr_eq(one, given_up));
        if lines.back[lane].is_empty() && lines.take_again(self.most, lane) {
            return;
        }
        let (sender, has_slot) = mpsc::channel();
        lines.back[lane].push_back(sender);
        drop(lines);
        has_slot.recv().expect("who waits for a slot is in line until it has one");
    }

    /// The life of a thread.
    fn take_turns(self: &Arc<Self>) {
        let mut lines = self.lines();
        loop {
            let has_room = self.memory.has_room();
            if let Some((lane, job)) = lines.next(self.most, has_room) {
                if lines.has_waiting() {
                    self.call(lines);
                } else {
                    drop(lines);
                }
                job();
                lines = self.lines();
                lines.free(self.most, lane);
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

    /// Begins calls of a lane that wait for their clients, which are told by what is given; tells how each ended.
    fn away(pool: &Pool, class: CostClass, calls: usize) -> (Arc<Semaphore>, mpsc::Receiver<bool>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (client, (told, tells)) = (Arc::new(Semaphore::new(0)), mpsc::channel());
        let runtime = Arc::new(runtime);
        for _ in 0..calls {
            let slot = Slot { crew: Arc::clone(&pool.crew), lane: lane(class) };
            let (client, told, runtime) = (Arc::clone(&client), told.clone(), Arc::clone(&runtime));
            pool.crew.put(lane(class), move || {
                let read = slot.wait_for(runtime.handle(), async { client.acquire().await.unwrap().forget() });
                told.send(read.is_some()).unwrap();
            });
        }
        (client, tells)
    }

    fn until(pool: &Pool, what: impl Fn(&Lines) -> bool) {
        let begun = std::time::Instant::now();
        while !what(&pool.crew.lines()) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", pool.crew.lines());
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn calls_that_wait_for_their_clients_take_no_slot_of_others() {
        const CALLS: usize = 40;
        let pool = Pool::new(1, Memory::new(2, 1));
        let patience = Duration::from_secs(30);
        let (client, tells) = away(&pool, CostClass::Medium, CALLS);
        until(&pool, |lines| lines.away[MEDIUM].len() == CALLS);
        for lane in [HEAVY, MEDIUM, LIGHT] {
            let (told, light) = mpsc::channel();
            pool.crew.put(lane, move || told.send(()).unwrap());
            light.recv_timeout(patience).expect("a call of each kind is done");
        }
        // All slots are taken when the clients go on.
        let (done, ends) = mpsc::channel::<()>();
        let ends = Arc::new(Mutex::new(ends));
        for _ in 0..4 {
            let ends = Arc::clone(&ends);
            pool.crew.put(LIGHT, move || assert!(ends.lock().unwrap().recv_timeout(patience).is_err()));
        }
        until(&pool, |lines| lines.at_work[LIGHT] == 4);
        client.add_permits(CALLS);
        until(&pool, |lines| lines.back[MEDIUM].len() == CALLS);
        assert!(tells.try_recv().is_err(), "without a slot none goes on");
        drop(done);
        for _ in 0..CALLS {
            assert!(tells.recv_timeout(patience).unwrap(), "its client has read");
        }
        until(&pool, |lines| lines.at_work == [0; LANES] && lines.absent == 0);
        until(&pool, |lines| lines.threads <= 5);
    }

    #[test]
    fn of_too_many_calls_that_wait_for_their_clients_the_one_that_waits_longest_is_given_up() {
        let pool = Pool::new(1, Memory::new(2, 1));
        let patience = Duration::from_secs(30);
        let (client, tells) = away(&pool, CostClass::Heavy, AWAY[HEAVY]);
        until(&pool, |lines| lines.away[HEAVY].len() == AWAY[HEAVY]);
        // One that comes while nobody has waited for long keeps its slot.
        let (patient_client, patient) = away(&pool, CostClass::Heavy, 1);
        until(&pool, |lines| lines.at_work[HEAVY] == 1);
        assert_eq!(pool.crew.leave(HEAVY, Duration::MAX).map(drop), None);
        assert!(tells.try_recv().is_err(), "none is given up");
        patient_client.add_permits(1);
        assert!(patient.recv_timeout(patience).unwrap());
        let longest = pool.crew.lines().away[HEAVY].front_mut().map(|(since, _)| *since -= PATIENCE);
        assert!(longest.is_some());
        let (other_client, others) = away(&pool, CostClass::Heavy, 1);
        assert!(!tells.recv_timeout(patience).unwrap());
        other_client.add_permits(1);
        assert!(others.recv_timeout(patience).unwrap());
        client.add_permits(AWAY[HEAVY]);
        for _ in 1..AWAY[HEAVY] {
            assert!(tells.recv_timeout(patience).unwrap());
        }
        until(&pool, |lines| lines.at_work == [0; LANES] && lines.absent == 0);
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
