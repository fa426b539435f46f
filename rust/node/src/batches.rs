//! Many calls of one method, in requests of a size that the provider takes.

use std::sync::atomic::{AtomicUsize, Ordering};

use headwater_ledger::Cancel;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::CallError;
use crate::transport::Provider;

/// The number of calls of a request: it grows with each answer, and is halved with each refusal.
#[derive(Debug)]
pub(crate) struct Batches {
    size: AtomicUsize,
    max: usize,
}

impl Batches {
    pub fn new(first: usize, max: usize) -> Self {
        Self { size: AtomicUsize::new(first), max }
    }

    /// Calls a method with each of the lists of parameters. Returns the answers in their order.
    ///
    /// # Errors
    /// When one of the calls fails, or the provider refuses it alone too.
    pub fn call<T: DeserializeOwned + Default>(
        &self,
        provider: &Provider,
        method: &str,
        calls: &[Value],
        cancel: &Cancel,
    ) -> Result<Vec<T>, CallError> {
        let mut answers = Vec::with_capacity(calls.len());
        let mut open = calls;
        while !open.is_empty() {
            let size = self.size.load(Ordering::Relaxed).clamp(1, open.len());
            match provider.batch(method, open[..size].to_vec(), cancel) {
                Ok(some) => {
                    for answer in some {
                        answers.push(answer?);
                    }
                    open = &open[size..];
                    self.size.fetch_max((size + size / 4 + 1).min(self.max), Ordering::Relaxed);
                }
                Err(CallError::TooMuch(_) | CallError::Malformed(_) | CallError::Failed(_)) if size > 1 => {
                    self.size.store(size / 2, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(answers)
    }
}
