//! The queue between the hub and one connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::Notify;

use super::protocol::{Ending, QUEUED_BYTES, QUEUED_MESSAGES};

/// Bytes that are taken out at a time.
const TAKEN: usize = 64 << 10;

/// The queue of one connection. Whoever fills it never waits: a client that does not read ends its own connection and
/// nobody else's.
#[derive(Debug, Default)]
pub(crate) struct Link {
    queue: Mutex<Queue>,
    /// Something was put in, or the connection is to end.
    filled: Notify,
    /// Something was taken out.
    emptied: Notify,
    /// The connection is to end.
    ended: Notify,
    /// Held by the one replay that has events for this connection in memory.
    pub(super) turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Utf8Bytes>,
    bytes: usize,
    ending: Option<Ending>,
    /// The last burst that put something in, and whether there was much room when it began.
    burst: (u64, bool),
}

impl Link {
    /// Puts a message in. Where there is no room for it the connection ends as slow.
    pub fn push(&self, message: Utf8Bytes) {
        let mut queue = self.queue();
        if queue.ending.is_some() {
            return;
        }
        if queue.has_room(message.len()) {
            queue.bytes += message.len();
            queue.messages.push_back(message);
            drop(queue);
            self.filled.notify_one();
        } else {
            queue.end(Ending::SlowConsumer);
            drop(queue);
            self.announce_end();
        }
    }

    /// Puts a message of a burst in, as [`Link::push`] does. Gives `false` where there is no room for it though there was
    /// when the burst began: that client is not slow, the burst is long.
    pub fn push_of(&self, burst: u64, message: Utf8Bytes) -> bool {
        let mut queue = self.queue();
        if queue.burst.0 != burst {
            queue.burst = (burst, queue.messages.len() < QUEUED_MESSAGES / 2 && queue.bytes < QUEUED_BYTES / 2);
        }
        let was_roomy = queue.burst.1;
        if was_roomy && queue.ending.is_none() && !queue.has_room(message.len()) {
            return false;
        }
        drop(queue);
        self.push(message);
        true
    }

    /// Puts a message in once there is room, and so never ends the connection: for those who can wait. Gives `false` when
    /// the connection is to end.
    pub async fn push_slowly(&self, message: Utf8Bytes) -> bool {
        loop {
            let emptied = self.emptied.notified();
            {
                let queue = self.queue();
                if queue.ending.is_some() {
                    return false;
                }
                // Half of the room is left to what cannot wait.
                if queue.messages.len() < QUEUED_MESSAGES / 2 && queue.bytes + message.len() <= QUEUED_BYTES / 2 {
                    drop(queue);
                    self.push(message);
                    return true;
                }
            }
            emptied.await;
        }
    }

    /// Ends the connection; the first reason is kept.
    pub fn end(&self, ending: Ending) {
        self.queue().end(ending);
        self.announce_end();
    }

    fn announce_end(&self) {
        self.filled.notify_one();
        self.emptied.notify_waiters();
        self.ended.notify_waiters();
    }

    /// Waits until the connection is to end.
    pub async fn ended(&self) -> Ending {
        loop {
            let ended = self.ended.notified();
            if let Some(ending) = self.ending() {
                return ending;
            }
            ended.await;
        }
    }

    /// Returns why the connection is to end, if it is.
    pub fn ending(&self) -> Option<Ending> {
        self.queue().ending
    }

    /// Waits for messages and takes some of them out, or says why the connection is to end.
    pub async fn take(&self) -> Result<Vec<Utf8Bytes>, Ending> {
        loop {
            let filled = self.filled.notified();
            {
                let mut queue = self.queue();
                if let Some(ending) = queue.ending {
                    return Err(ending);
                }
                let mut taken = Vec::new();
                let mut bytes = 0;
                while bytes < TAKEN {
                    let Some(message) = queue.messages.pop_front() else { break };
                    bytes += message.len();
                    taken.push(message);
                }
                queue.bytes -= bytes;
                if queue.messages.is_empty() {
                    // An idle connection keeps no room for what it once had.
                    queue.messages = VecDeque::new();
                }
                if !taken.is_empty() {
                    drop(queue);
                    self.emptied.notify_waiters();
                    return Ok(taken);
                }
            }
            filled.await;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No code panics while it holds the lock with half a change done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn has_room(&self, bytes: usize) -> bool {
        self.messages.len() < QUEUED_MESSAGES && self.bytes + bytes <= QUEUED_BYTES
    }

    fn end(&mut self, ending: Ending) {
        if self.ending.is_none() {
            self.ending = Some(ending);
            self.messages = VecDeque::new();
            self.bytes = 0;
        }
    }
}

/// Ends with whoever has it.
pub(super) struct LinkGuard(pub Arc<Link>);

impl Drop for LinkGuard {
    fn drop(&mut self) {
        // Nobody reads any more: who waits for room must not wait for ever.
        self.0.end(Ending::Draining);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Utf8Bytes {
        "x".repeat(length).into()
    }

    #[tokio::test]
    async fn messages_come_out_in_order() {
        let link = Link::default();
        for text in ["a", "b", "c"] {
            link.push(text.into());
        }
        let taken = link.take().await.unwrap();
        assert_eq!(taken.iter().map(Utf8Bytes::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn one_message_or_one_byte_too_many_ends_the_connection() {
        for (count, length) in [(QUEUED_MESSAGES, 1), (16, QUEUED_BYTES / 16)] {
            let link = Link::default();
            for _ in 0..count {
                link.push(message(length));
                assert_eq!(link.ending(), None);
            }
            link.push(message(1));
            assert_eq!(link.take().await, Err(Ending::SlowConsumer));
        }
    }

    #[tokio::test]
    async fn a_long_burst_ends_nobody_who_had_read_before_it() {
        let link = Link::default();
        for _ in 0..QUEUED_MESSAGES {
            assert!(link.push_of(1, message(1)));
        }
        assert!(!link.push_of(1, message(1)));
        assert_eq!(link.ending(), None);
        // The next one finds all of it unread.
        assert!(link.push_of(2, message(1)));
        assert_eq!(link.ending(), Some(Ending::SlowConsumer));
    }

    #[tokio::test]
    async fn who_can_wait_never_ends_the_connection() {
        let link = Arc::new(Link::default());
        let filling = tokio::spawn({
            let link = Arc::clone(&link);
            async move {
                for _ in 0..5000 {
                    assert!(link.push_slowly(message(1000)).await);
                }
            }
        });
        let mut taken = 0;
        while taken < 5000 {
            taken += link.take().await.unwrap().len();
        }
        filling.await.unwrap();
        assert_eq!(taken, 5000);
        link.end(Ending::Draining);
        assert!(!link.push_slowly(message(1)).await);
    }
}
