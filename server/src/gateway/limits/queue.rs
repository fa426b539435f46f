//! Lines of calls that wait for their turn, one line per caller and endpoint.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Mutex as Turn;

/// All lines that somebody is in.
#[derive(Debug)]
pub(super) struct Lines<K> {
    lines: Mutex<HashMap<K, Line>>,
    longest: usize,
}

#[derive(Debug, Default)]
struct Line {
    waiting: usize,
    turn: Arc<Turn<()>>,
}

/// A place in a line, given up when it is dropped.
#[derive(Debug)]
pub(super) struct QueuePosition<'a, K: Hash + Eq> {
    lines: &'a Lines<K>,
    key: K,
    turn: Arc<Turn<()>>,
}

impl<K: Hash + Eq + Clone> Lines<K> {
    /// None yet; each may be so long.
    pub fn new(longest: usize) -> Self {
        Self { lines: Mutex::default(), longest }
    }

    /// Calls that wait.
    pub fn waiting(&self, key: &K) -> usize {
        self.lines().get(key).map_or(0, |line| line.waiting)
    }

    /// Takes the last place; `None` when the line is too long.
    pub fn join(&self, key: K) -> Option<QueuePosition<'_, K>> {
        let mut lines = self.lines();
        let line = lines.entry(key.clone()).or_default();
        if line.waiting >= self.longest {
            return None;
        }
        line.waiting += 1;
        let turn = Arc::clone(&line.turn);
        drop(lines);
        Some(QueuePosition { lines: self, key, turn })
    }
}

impl<K> Lines<K> {
    fn lines(&self) -> MutexGuard<'_, HashMap<K, Line>> {
        // No code panics while it holds the lock with half a change done.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq> QueuePosition<'_, K> {
    /// Waits until all who came before are gone. The lock hands itself on in the order in which it was asked for.
    pub async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }
}

impl<K: Hash + Eq> Drop for QueuePosition<'_, K> {
    fn drop(&mut self) {
        let mut lines = self.lines.lines();
        if let Some(line) = lines.get_mut(&self.key) {
            line.waiting -= 1;
            if line.waiting == 0 {
                lines.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_length_is_the_number_of_queued_calls() {
        const LONGEST: usize = 100;
        let lines = Lines::new(LONGEST);
        let places: Vec<_> = (0..LONGEST).map(|_| lines.join("a").unwrap()).collect();
        assert!(lines.join("a").is_none() && lines.join("b").is_some());
        assert_eq!((lines.waiting(&"a"), lines.waiting(&"b")), (LONGEST, 0));
        drop(places);
        assert!(lines.lines.lock().unwrap().is_empty());
    }
}
