//! Long calls run without the interpreter lock and end at Ctrl-C.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use headwater_ledger::Cancel;
use pyo3::prelude::*;

const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own with the interpreter lock released, and looks for signals meanwhile: on Ctrl-C
/// the work is cancelled, awaited, and `KeyboardInterrupt` raised.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Cancel) -> T + Send) -> PyResult<T> {
    interruptible_with(py, work, &mut || Ok(()))
}

/// The same with `tick`, which is called a few times a second meanwhile and once at the end; an error of it ends the work.
pub fn interruptible_with<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Cancel) -> T + Send,
    tick: &mut dyn FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let cancel = Cancel::new();
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let worker_cancel = cancel.clone();
        scope.spawn(move || {
            // The receiver lives until the answer has come or the worker has died.
            let _ = sender.send(work(&worker_cancel));
        });
        let mut interrupted = Ok(());
        let receiver = std::sync::Mutex::new(receiver);
        loop {
            let received = py.detach(|| match receiver.lock() {
                Ok(receiver) => receiver.recv_timeout(SIGNAL_CHECK),
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
                    return Err(pyo3::exceptions::PyRuntimeError::new_err("the worker thread panicked"));
                }
            }
        }
    })
}
