//! The limits of a reader for one input, and what it used.

use std::cell::RefCell;
use std::fmt;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::FuzzOutcome;
use super::engine::save;

/// The longest that one input may take.
const SLOW: Duration = Duration::from_secs(1);
/// Tries of an input that took longer, since the machine may have been busy with something else.
const TRIES: usize = 4;
/// Past it an input is taken never to end.
const HANG: Duration = Duration::from_mins(1);
/// The most by which the process may grow while a reader is tried.
const MEMORY: u64 = 512 << 20;

/// The input under way, and since when.
type CurrentInput = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// Watches over a reader.
pub(super) struct Bounds {
    current: CurrentInput,
    tally: RefCell<Tally>,
    memory_before: Option<u64>,
    /// Its end ends the thread that looks for hangs.
    _stop: mpsc::Sender<()>,
}

/// The counts of inputs so far.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    inputs: u64,
    taken: u64,
    slowest: Duration,
    /// The maximum growth of the process, in bytes, where the system reports it.
    grown: Option<u64>,
}

impl Bounds {
    pub fn begin(name: &'static str) -> Self {
        let current = CurrentInput::default();
        let (stop, stopped) = mpsc::channel();
        let watched = Arc::clone(&current);
        thread::spawn(move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(mpsc::RecvTimeoutError::Timeout) {
                let hanging = watched.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((since, input)) = hanging.as_ref().filter(|(since, _)| since.elapsed() > HANG) {
                    give_up(name, *since, input);
                }
            }
        });
        Self { current, tally: RefCell::default(), memory_before: reset_peak(), _stop: stop }
    }

    /// Hands one input to the reader.
    pub fn over(&self, input: &[u8], check: &impl Fn(&[u8]) -> FuzzOutcome) -> FuzzOutcome {
        let mut fastest = Duration::MAX;
        for _ in 0..TRIES {
            let since = Instant::now();
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some((since, input.to_vec()));
            let met = check(input);
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = None;
            fastest = fastest.min(since.elapsed());
            if fastest <= SLOW {
                let mut tally = self.tally.borrow_mut();
                tally.inputs += 1;
                tally.taken += u64::from(met == FuzzOutcome::Taken);
                tally.slowest = tally.slowest.max(fastest);
                return met;
            }
        }
        panic!("an input of {} bytes takes {fastest:.1?}, at best of {TRIES} tries", input.len());
    }

    /// Returns the counts.
    pub fn end(&self) -> Tally {
        let grown = peak().zip(self.memory_before).map(|(peak, before)| peak.saturating_sub(before));
        assert!(grown.is_none_or(|grown| grown <= MEMORY), "the process grew by {grown:?} bytes");
        Tally { grown, ..*self.tally.borrow() }
    }
}

/// Ends the process: nothing else ends a thread that does not.
fn give_up(name: &str, since: Instant, input: &[u8]) -> ! {
    let place = save(name, input);
    let text = format!("fuzz {name}: no end after {:.0?}: put {} into the corpus\n", since.elapsed(), place.display());
    // Not by the macros, whose text the harness keeps to itself until the test ends.
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::abort()
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, taken, slowest, grown } = self;
        write!(f, "{inputs} inputs, {taken} taken, slowest {slowest:.1?}, memory ")?;
        match grown {
            Some(grown) => write!(f, "+{} MiB", grown >> 20),
            None => write!(f, "not known on this system"),
        }
    }
}

/// Begins to measure the largest resident memory anew; gives the one of now.
fn reset_peak() -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    peak()
}

/// The largest resident memory of the process since, in bytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
