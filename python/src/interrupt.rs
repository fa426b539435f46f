//! Long calls run without the interpreter lock and end at Ctrl-C.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_ledger::Cancel;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

const SIGNAL_CHECK: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce() + Send>;

/// A thread that waits for jobs. Starting one takes longer than many a call.
struct Worker {
    jobs: Sender<Job>,
    /// The process that started it: a forked one has no threads of its parent.
    process: u32,
}

/// The threads that wait, as many as calls once ran at a time.
static IDLE: Mutex<Vec<Worker>> = Mutex::new(Vec::new());

impl Worker {
    fn start() -> Self {
        let (jobs, queue) = channel::<Job>();
        std::thread::spawn(move || queue.into_iter().for_each(|job| job()));
        Self { jobs, process: std::process::id() }
    }

    /// Runs a job on a waiting thread, or on a new one.
    fn run(job: Job) -> Self {
        let worker = with_idle(Vec::pop).unwrap_or_else(Self::start);
        // A worker whose last job panicked has ended.
        match worker.jobs.send(job) {
            Ok(()) => worker,
            Err(returned) => {
                let worker = Self::start();
                worker.jobs.send(returned.0).expect("a thread that has just started takes jobs");
                worker
            }
        }
    }
}

/// Gives the waiting threads of this process.
fn with_idle<T>(change: impl FnOnce(&mut Vec<Worker>) -> T) -> T {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    idle.retain(|worker| worker.process == process);
    change(&mut idle)
}

/// Runs `work` on another thread with the interpreter lock released, and looks for signals meanwhile: on Ctrl-C the work is
/// cancelled, awaited, and `KeyboardInterrupt` raised.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> T + Send + 'static,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let (sender, receiver) = channel();
    let token = cancel.clone();
    let worker = Worker::run(Box::new(move || {
        // The receiver lives until the answer has come or the worker has died.
        let _ = sender.send(work(&token));
    }));
    let done = wait(py, receiver, &cancel, &mut || Ok(()));
    with_idle(|idle| idle.push(worker));
    done
}

/// Runs `work`, which may borrow, on a thread of its own in the same way. `tick` is called a few times a second meanwhile
/// and once at the end; an error of it ends the work.
pub fn interruptible_with<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> T + Send,
    tick: &mut dyn FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let token = cancel.clone();
        scope.spawn(move || {
            let _ = sender.send(work(&token));
        });
        wait(py, receiver, &cancel, tick)
    })
}

/// Waits for the result of work.
fn wait<T: Send>(
    py: Python<'_>,
    results: Receiver<T>,
    cancel: &Cancel,
    tick: &mut dyn FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let mut interrupted = Ok(());
    let results = Mutex::new(results);
    loop {
        let received = py.detach(|| match results.lock() {
            Ok(results) => results.recv_timeout(SIGNAL_CHECK),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        match received {
            Ok(value) => return interrupted.and_then(|()| tick()).map(|()| value),
            Err(RecvTimeoutError::Timeout) => {
                if interrupted.is_ok()
                    && let Err(signal) = py.check_signals().and_then(|()| tick())
                {
                    cancel.cancel();
                    interrupted = Err(signal);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                interrupted?;
                return Err(PyRuntimeError::new_err("the worker thread panicked"));
            }
        }
    }
}
