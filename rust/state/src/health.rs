//! The health of the writer, as other threads read it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The health of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// The last commit went through.
    Good,
    /// The last commit failed, with a known outcome: nothing of it is there. It may work again by itself.
    Failing,
    /// A commit ended in an unknown state; nothing more is written.
    Latched,
}

/// The health as other threads read it.
#[derive(Debug, Default)]
pub(super) struct HealthFlag(AtomicU8);

impl HealthFlag {
    pub(super) fn set(&self, health: Health) {
        self.0.store(health as u8, Ordering::Release);
    }

    pub(super) fn get(&self) -> Health {
        match self.0.load(Ordering::Acquire) {
            0 => Health::Good,
            1 => Health::Failing,
            _ => Health::Latched,
        }
    }
}

/// Called when a commit ends in an unknown state, or nothing is committed any more. A server ends its process there.
pub type OnLatch = Box<dyn Fn() + Send + Sync>;

/// Latches where the thread that has it panics: who waits for it would wait in vain, and the server say that it is ready.
pub(super) struct Watch {
    pub health: Arc<HealthFlag>,
    pub on_latch: Arc<OnLatch>,
}

impl Watch {
    pub fn latch(&self) {
        self.health.set(Health::Latched);
        (self.on_latch)();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.latch();
        }
    }
}
