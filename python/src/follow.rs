//! Following a chain from Python: each step is one item of an iteration.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_cli::line_of_live_state;
use headwater_ledger::Cancel;
use headwater_ledger::store::{LiveState, LiveStatus};
use headwater_node::{
    FollowOptions, FollowProgress, FollowReport, FollowStep, HistoryProgress, HistoryState, NodeError, Providers,
    Traces, follow, split_sockets,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::Deserialize;

use crate::address::chain_of;
use crate::load::options_of;
use crate::nodes::failed;
use crate::objects::object_of;

/// The time between two looks for signals.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// The options of a follower.
#[derive(Debug, Deserialize)]
struct Choices {
    chain: String,
    from_block: Option<u64>,
    until_block: Option<u64>,
    poll: f64,
    requests_per_second: Option<f64>,
    traces: bool,
}

/// The time for which a follower waits for the end of one that this process has stopped.
const PREDECESSOR: Duration = Duration::from_secs(20);

/// The followers of this process whose threads run.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// The news of a follower.
enum News {
    Step(FollowStep),
    /// Something that the user should read.
    Warning(String),
    End(Result<FollowReport, NodeError>),
}

/// Sends the steps of a follower, and keeps its latest state.
struct StepSender {
    news: Mutex<Sender<News>>,
    state: Arc<Mutex<String>>,
}

impl HistoryProgress for StepSender {
    fn update(&self, _: HistoryState) {}
}

impl FollowProgress for StepSender {
    fn history(&self) -> &dyn HistoryProgress {
        self
    }

    fn state(&self, status: &LiveStatus) {
        let line = line_of_live_state(status);
        if matches!(status.state, LiveState::Waiting { .. }) {
            self.note(&line);
        }
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    fn note(&self, text: &str) {
        let _ = self.news.lock().unwrap_or_else(PoisonError::into_inner).send(News::Warning(text.to_owned()));
    }

    fn advanced(&self, step: &FollowStep) {
        // Nobody iterates any more: the follower is about to be stopped.
        let _ = self.news.lock().unwrap_or_else(PoisonError::into_inner).send(News::Step(step.clone()));
    }
}

/// A follower that runs in a thread until its iteration is closed.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct NativeFollower {
    cancel: Cancel,
    state: Arc<Mutex<String>>,
    news: Mutex<Receiver<News>>,
    /// True once the end was received.
    is_over: AtomicBool,
}

#[pymethods]
impl NativeFollower {
    /// Begins to follow.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn new(py: Python<'_>, rpc: Vec<String>, store: PathBuf, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let choices = options_of::<Choices>(py, options)?;
        let (addresses, sockets) = split_sockets(&rpc);
        let providers = Providers::new(&addresses, choices.requests_per_second).map_err(|error| failed(py, &error))?;
        let options = FollowOptions {
            from: choices.from_block,
            until: choices.until_block,
            poll: Duration::try_from_secs_f64(choices.poll).unwrap_or(Duration::from_secs(1)),
            traces: if choices.traces { Traces::WherePossible } else { Traces::LeftOut },
            sockets,
            ..FollowOptions::new(chain_of(py, &choices.chain)?)
        };
        let (sender, receiver) = channel();
        let follower = Self {
            cancel: Cancel::new(),
            state: Arc::new(Mutex::new(format!("{}: connecting to its nodes", options.chain))),
            news: Mutex::new(receiver),
            is_over: AtomicBool::new(false),
        };
        let (cancel, state) = (follower.cancel.clone(), Arc::clone(&follower.state));
        std::thread::spawn(move || {
            let sender_of_steps = StepSender { news: Mutex::new(sender.clone()), state };
            RUNNING.fetch_add(1, Ordering::AcqRel);
            let began = Instant::now();
            let outcome = loop {
                let outcome = follow(&store, &providers, &options, &sender_of_steps, &cancel);
                let is_own = RUNNING.load(Ordering::Acquire) > 1;
                let is_taken = matches!(outcome, Err(NodeError::FollowedAlready { .. }));
                if !(is_taken && is_own && began.elapsed() < PREDECESSOR && cancel.check().is_ok()) {
                    break outcome;
                }
                std::thread::sleep(SIGNAL_CHECK);
            };
            RUNNING.fetch_sub(1, Ordering::AcqRel);
            // Nobody iterates any more.
            let _ = sender.send(News::End(outcome));
        });
        Ok(follower)
    }

    /// The next step, or a text that the user should read; `None` at the end.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            let received = py.detach(|| {
                let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
                news.recv_timeout(SIGNAL_CHECK)
            });
            match received {
                Ok(News::Step(step)) => return object_of(py, &step).map(Some),
                Ok(News::Warning(text)) => return Ok(Some(PyString::new(py, &text).into_any())),
                Ok(News::End(outcome)) => {
                    self.is_over.store(true, Ordering::Release);
                    return outcome.map(|_| None).map_err(|error| failed(py, &error));
                }
                Err(RecvTimeoutError::Disconnected) if self.is_over.load(Ordering::Acquire) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the thread that follows the chain panicked"));
                }
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            }
        }
    }

    /// Its latest state in a sentence.
    fn state(&self) -> String {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stops it, and waits for its last commit.
    fn close(&self, py: Python<'_>) {
        self.cancel.cancel();
        py.detach(|| {
            let news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
            while let Ok(News::Step(_) | News::Warning(_)) = news.recv() {}
            self.is_over.store(true, Ordering::Release);
        });
    }
}

impl Drop for NativeFollower {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
