//! The providers of a load: which are asked, and which are excluded.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{CallError, FetchError, NodeError};
use crate::transport::Provider;

/// Failures without an answer in between after which a provider is put aside.
const MAX_FAILURES: usize = 4;

/// The wait of a provider that was put aside doubles so often at most.
const MAX_DOUBLINGS: u32 = 4;

/// Failures within such a time are one: calls at the same time meet the same outage.
const ONE_OUTAGE: Duration = Duration::from_secs(1);

/// Failures of a provider without an answer in between.
#[derive(Debug, Default)]
struct Failures {
    count: usize,
    latest: Option<Instant>,
    /// When it was put aside.
    aside: Option<Instant>,
    /// The number of times it was put aside without an answer in between.
    times: u32,
}

impl Failures {
    /// Counts a failure, and returns how many there are.
    fn add(&mut self) -> usize {
        if self.latest.is_none_or(|latest| latest.elapsed() >= ONE_OUTAGE) {
            self.count += 1;
            self.latest = Some(Instant::now());
        }
        self.count
    }
}

/// The providers of one chain.
#[derive(Debug)]
pub struct Providers {
    all: Vec<Provider>,
    failures: Vec<Mutex<Failures>>,
    turn: AtomicUsize,
}

impl Providers {
    /// Reads the addresses of providers.
    ///
    /// # Errors
    /// When the list is empty, or an entry is not the address of a web server.
    pub fn new(urls: &[String], rate: Option<f64>) -> Result<Self, NodeError> {
        let mut all = urls
            .iter()
            .map(|url| url.trim())
            .filter(|url| !url.is_empty())
            .map(|url| Provider::new(url, rate))
            .collect::<Result<Vec<_>, _>>()?;
        if all.len() > 1 {
            all = all.into_iter().map(Provider::with_peers).collect();
        }
        if all.is_empty() {
            return Err(NodeError::NoAddress);
        }
        let failures = all.iter().map(|_| Mutex::default()).collect();
        Ok(Self { all, failures, turn: AtomicUsize::new(0) })
    }

    /// All providers, those that were put aside too.
    #[must_use]
    pub fn all(&self) -> &[Provider] {
        &self.all
    }

    /// Asks each provider, and returns the answers with the name of the provider. One that fails is not asked again.
    ///
    /// # Errors
    /// When none of them answers, with what each of them said, or when the work is cancelled.
    pub(crate) fn check_each<T>(
        &self,
        (first, last): (u64, u64),
        attempt: impl Fn(&Provider) -> Result<T, FetchError>,
    ) -> Result<Vec<(T, String)>, NodeError> {
        let (mut answers, mut reasons) = (Vec::new(), Vec::new());
        for (place, provider) in self.all.iter().enumerate() {
            match attempt(provider) {
                Ok(answer) => answers.push((answer, provider.name().to_owned())),
                Err(FetchError::Call(CallError::Cancelled)) => {
                    return Err(NodeError::Ledger(headwater_ledger::Cancelled.into()));
                }
                Err(error) => {
                    reasons.push(format!("{}: {error}", provider.name()));
                    self.judge(place, &error);
                    provider.note(|card| card.aside = Some(error.to_string()));
                }
            }
        }
        if answers.is_empty() {
            Err(NodeError::NoProvider { first, last, reasons, is_gap: false })
        } else {
            Ok(answers)
        }
    }

    /// Asks each provider that was not put aside, and returns the answers with the name of the provider.
    ///
    /// # Errors
    /// When none of them answers, with what each of them said, or when the work is cancelled.
    pub(crate) fn ask_each<T: Send>(
        &self,
        attempt: impl Fn(&Provider) -> Result<T, FetchError> + Sync,
    ) -> Result<Vec<(T, String)>, NodeError> {
        let (mut answers, mut reasons, mut is_lasting) = (Vec::new(), Vec::new(), true);
        for (place, outcome) in self.at_the_same_time(&attempt).into_iter().enumerate() {
            let name = self.all[place].name();
            match outcome {
                Err(None) => {
                    reasons.push(format!("{name}: {}", self.all[place].card().aside.unwrap_or_default()));
                    is_lasting = false;
                }
                Ok(answer) => {
                    *self.failures_of(place) = Failures::default();
                    answers.push((answer, name.to_owned()));
                }
                Err(Some(FetchError::Call(CallError::Cancelled))) => {
                    return Err(NodeError::Ledger(headwater_ledger::Cancelled.into()));
                }
                Err(Some(error)) => {
                    reasons.push(format!("{name}: {error}"));
                    is_lasting &= error.is_lasting();
                    self.judge(place, &error);
                }
            }
        }
        if answers.is_empty() { Err(NodeError::NoAnswer { reasons, is_lasting }) } else { Ok(answers) }
    }

    /// Asks the providers that were not put aside at the same time; `None` in place of the error of the others.
    fn at_the_same_time<T: Send>(
        &self,
        attempt: &(impl Fn(&Provider) -> Result<T, FetchError> + Sync),
    ) -> Vec<Result<T, Option<FetchError>>> {
        let ask = |provider: &Provider| match provider.card().aside {
            Some(_) => Err(None),
            None => attempt(provider).map_err(Some),
        };
        if let [provider] = &self.all[..] {
            return vec![ask(provider)];
        }
        thread::scope(|scope| {
            let threads: Vec<_> = self.all.iter().map(|provider| scope.spawn(move || ask(provider))).collect();
            threads.into_iter().map(|thread| thread.join().expect("an attempt does not panic")).collect()
        })
    }

    /// Asks providers again that were put aside for longer than a time, which doubles each time without an answer in between.
    pub(crate) fn forgive(&self, after: Duration) {
        for (place, provider) in self.all.iter().enumerate() {
            let mut failures = self.failures_of(place);
            let wait = after * 2_u32.pow(failures.times.saturating_sub(1).min(MAX_DOUBLINGS));
            if provider.card().aside.is_some() && failures.aside.is_none_or(|since| since.elapsed() >= wait) {
                // The next failure puts it aside again.
                *failures = Failures { count: MAX_FAILURES - 1, times: failures.times, ..Failures::default() };
                provider.note(|card| card.aside = None);
            }
        }
    }

    /// Asks one provider after the other until one has the answer. Each call begins with the next one in turn, so that
    /// calls at the same time spread over all.
    ///
    /// # Errors
    /// When no provider has it, with what each of them said, or when the work is cancelled.
    pub(crate) fn ask<T>(
        &self,
        (first, last): (u64, u64),
        attempt: impl Fn(&Provider) -> Result<T, FetchError>,
    ) -> Result<T, NodeError> {
        let begin = self.turn.fetch_add(1, Ordering::Relaxed);
        let (mut reasons, mut is_gap) = (Vec::new(), true);
        for place in (0..self.all.len()).map(|step| (begin + step) % self.all.len()) {
            let provider = &self.all[place];
            if let Some(reason) = provider.card().aside {
                reasons.push(format!("{}: no longer asked: {reason}", provider.name()));
                is_gap = false;
                continue;
            }
            match attempt(provider) {
                Ok(answer) => {
                    *self.failures_of(place) = Failures::default();
                    return Ok(answer);
                }
                Err(FetchError::Call(CallError::Cancelled)) => {
                    return Err(NodeError::Ledger(headwater_ledger::Cancelled.into()));
                }
                Err(FetchError::Store(text)) => return Err(NodeError::Store(text)),
                Err(error) => {
                    reasons.push(format!("{}: {error}", provider.name()));
                    is_gap &= matches!(error, FetchError::Call(CallError::Missing(_)));
                    self.judge(place, &error);
                }
            }
        }
        Err(NodeError::NoProvider { first, last, reasons, is_gap })
    }

    fn failures_of(&self, place: usize) -> MutexGuard<'_, Failures> {
        self.failures[place].lock().expect("no holder of the lock panics")
    }

    /// Notes a failure, and puts the provider aside where another call cannot end better.
    fn judge(&self, place: usize, error: &FetchError) {
        let provider = &self.all[place];
        let aside = match error {
            FetchError::Lie { code, text, .. } => {
                provider.note(|card| card.lied(code, text));
                true
            }
            FetchError::Call(CallError::Missing(_)) => {
                provider.note(|card| card.gaps += 1);
                false
            }
            FetchError::Call(CallError::Refused(_)) => true,
            FetchError::Call(CallError::NoMethod(_)) | FetchError::Unknown(_) | FetchError::Store(_) => false,
            FetchError::Call(_) => self.failures_of(place).add() >= MAX_FAILURES,
        };
        if aside {
            let mut failures = self.failures_of(place);
            (failures.aside, failures.times) = (Some(Instant::now()), failures.times + 1);
            drop(failures);
            provider.note(|card| card.aside = Some(error.to_string()));
        }
    }
}
