//! Pieces of work for threads, whose outcomes are taken in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::error::NodeError;
use crate::source::FetchedBlocks;

/// Pieces that may be fetched before the first of them is taken.
const AHEAD: usize = 32;

/// Pieces of work for threads, whose outcomes are taken in order.
#[derive(Default)]
pub(crate) struct Queue {
    next: AtomicUsize,
    taken: AtomicUsize,
    is_stopped: AtomicBool,
    done: Mutex<BTreeMap<usize, Result<FetchedBlocks, NodeError>>>,
    changed: Condvar,
}

impl Queue {
    /// Fetches pieces until none is left, not too far ahead of what is taken.
    pub fn work(&self, pieces: &[(u64, u64)], fetch: &dyn Fn((u64, u64)) -> Result<FetchedBlocks, NodeError>) {
        let _alarm = Alarm(self);
        while !self.is_stopped.load(Ordering::Acquire) {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = pieces.get(place) else { return };
            while place >= self.taken.load(Ordering::Acquire) + AHEAD {
                if self.is_stopped.load(Ordering::Acquire) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
            let outcome = fetch(*range);
            self.done.lock().expect("no holder of the lock panics").insert(place, outcome);
            self.changed.notify_all();
        }
    }

    /// Waits for the outcome of a piece.
    pub fn take(&self, place: usize) -> Result<FetchedBlocks, NodeError> {
        let mut done = self.done.lock().expect("no holder of the lock panics");
        loop {
            if let Some(outcome) = done.remove(&place) {
                self.taken.store(place + 1, Ordering::Release);
                return outcome;
            }
            assert!(!self.is_stopped.load(Ordering::Acquire), "a thread that fetches blocks panicked");
            done = self.changed.wait(done).expect("no holder of the lock panics");
        }
    }

    /// Ends the work after the pieces that are being fetched.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }
}

/// Wakes who waits for a piece that will never come.
struct Alarm<'a>(&'a Queue);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
            let _done = self.0.done.lock();
            self.0.changed.notify_all();
        }
    }
}
