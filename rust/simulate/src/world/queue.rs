//! Work that falls due, and is put off when it cannot be done.

use std::collections::BTreeMap;

use crate::clock::{DAY, HOUR};

/// Wait after the first failure; it doubles with each further one, up to a day.
const FIRST_DELAY_SECS: i64 = HOUR / 4;

/// Things to do in order of their time, and of arrival where times are equal. What is not due costs nothing, so that
/// what nobody can pay does not slow down those who look after the rest.
pub(crate) struct Queue<T> {
    waiting: BTreeMap<(i64, u64), QueuedWork<T>>,
    arrivals: u64,
}

/// One thing to do.
pub(crate) struct QueuedWork<T> {
    /// The work.
    pub(crate) work: T,
    failures: u32,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> Queue<T> {
    /// Adds work that is to be done at a time.
    pub(crate) fn push(&mut self, time: i64, work: T) {
        self.put(time, QueuedWork { work, failures: 0 });
    }

    /// Takes what was due first, when its time has come.
    pub(crate) fn pop(&mut self, now: i64) -> Option<QueuedWork<T>> {
        let first = self.waiting.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    /// Puts back what could not be done, for later than `now`.
    pub(crate) fn put_off(&mut self, now: i64, due: QueuedWork<T>) {
        let delay = (FIRST_DELAY_SECS << due.failures.min(10)).min(DAY);
        self.put(now + delay, QueuedWork { failures: due.failures + 1, ..due });
    }

    fn put(&mut self, time: i64, due: QueuedWork<T>) {
        self.waiting.insert((time, self.arrivals), due);
        self.arrivals += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_is_in_order_of_time_and_backs_off() {
        let mut queue = Queue::default();
        for (time, work) in [(30, "c"), (10, "a"), (10, "b")] {
            queue.push(time, work);
        }
        assert!(queue.pop(9).is_none());
        assert_eq!(queue.pop(10).map(|due| due.work), Some("a"));
        assert_eq!(queue.pop(10).map(|due| due.work), Some("b"));
        assert!(queue.pop(29).is_none());
        let mut now = 30;
        for delay in [900, 1_800, 3_600, 7_200, 14_400, 28_800, 57_600, 86_400, 86_400] {
            let due = queue.pop(now).unwrap();
            queue.put_off(now, due);
            assert!(queue.pop(now + delay - 1).is_none());
            now += delay;
        }
        assert_eq!((queue.pop(now).map(|due| due.work), queue.waiting.len()), (Some("c"), 0));
    }
}
