//! Pieces of work for threads, whose outcomes are taken in order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::error::NodeError;
use crate::source::FetchedBlocks;

/// Blocks of one piece of work.
const PIECE: u64 = 10;
/// Pieces that may be fetched before the first of them is taken.
pub(crate) const AHEAD: usize = 32;

/// Ranges of blocks, divided into pieces of work.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// Each range with the number of pieces before it.
    ranges: Vec<(usize, (u64, u64))>,
    count: usize,
}

impl Pieces {
    /// Divides ranges into pieces of at most so many blocks.
    pub fn new(ranges: &[(u64, u64)]) -> Self {
        let mut count = 0;
        let begun = ranges.iter().map(|&(first, last)| {
            let begun = (count, (first, last));
            count += usize::try_from((last - first) / PIECE + 1).unwrap_or(usize::MAX / 2);
            begun
        });
        Self { ranges: begun.collect(), count }
    }

    /// Returns the number of pieces.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Returns a piece.
    pub fn get(&self, place: usize) -> Option<(u64, u64)> {
        let range = self.ranges.partition_point(|(before, _)| *before <= place).checked_sub(1)?;
        let (before, (first, last)) = self.ranges[range];
        let begin = first + (place - before) as u64 * PIECE;
        (begin <= last).then(|| (begin, last.min(begin + PIECE - 1)))
    }
}

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
    pub fn work(&self, pieces: &Pieces, fetch: &dyn Fn((u64, u64)) -> Result<FetchedBlocks, NodeError>) {
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
            let outcome = fetch(range);
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

    /// Returns a guard that ends the work when it is dropped.
    pub fn stop_at_end(&self) -> impl Drop + '_ {
        StopAtEnd(self)
    }

    /// Ends the work after the pieces that are being fetched.
    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }
}

/// Ends the work, whether what takes the pieces returns or panics.
struct StopAtEnd<'a>(&'a Queue);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.stop();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_ranges_once_and_in_order() {
        let pieces = Pieces::new(&[(0, 0), (5, 14), (20, 31)]);
        let all: Vec<(u64, u64)> = (0..pieces.count()).map_while(|place| pieces.get(place)).collect();
        assert_eq!(all, [(0, 0), (5, 14), (20, 29), (30, 31)]);
        assert_eq!(pieces.get(pieces.count()), None);
    }
}
