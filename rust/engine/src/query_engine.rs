//! The query engine: takes a call by name and gives the answer.

use std::sync::Arc;
use std::time::Instant;

use headwater_ledger::feed::Feed;
use headwater_ledger::read::Generations;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Chain;
use serde_json::Value;

use crate::analysis::{Analysis, Made};
use crate::cache::{Cache, Data, Kept, Question};
use crate::call::{Call, respond};
use crate::intelligence::Intelligence;
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::query_meta::Headed;
use crate::request::{CanonicalRequest, Cursor, Given};
use crate::score::{ScoreColumns, Scorer};
use crate::{Answer, Endpoint, Error, ErrorKind, Report, Response, TableSink};

/// Most bytes of an answer that is kept though it costs little to make.
const SMALL: usize = 16 << 10;

/// Answers calls over a source of generations. Cheap to clone; share one among all callers.
#[derive(Clone)]
pub struct QueryEngine {
    ledgers: Arc<dyn Generations>,
    cache: Option<Arc<Cache>>,
    clock: Option<Clock>,
    given: Given,
    intelligence: Intelligence,
}

/// What an answer comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One JSON object.
    Envelope,
    /// Rows alone, of which there may be more.
    Table,
}

/// When the text of an answer is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Text {
    Now,
    OnDemand,
}

/// Milliseconds since any fixed moment.
pub type Clock = fn() -> u64;

impl QueryEngine {
    /// An engine over a store, or over frames in memory. It keeps no answers and takes no time.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>) -> Self {
        let (cache, clock, given, intelligence) = (None, None, Given::Parts, Intelligence::default());
        Self { ledgers, cache, clock, given, intelligence }
    }

    /// The same with a cache of answers up to so many bytes, by generation and parameters: of those that are costly to
    /// make, which carry `data.meta`, and of small ones.
    #[must_use]
    pub fn with_cache(self, most_bytes: usize) -> Self {
        Self { cache: Some(Arc::new(Cache::new(most_bytes))), ..self }
    }

    /// The same with a clock, by which `query_duration_ms` is told.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// The same with what judgements rest on besides the ledger.
    #[must_use]
    pub fn with_intelligence(self, intelligence: Intelligence) -> Self {
        Self { intelligence, ..self }
    }

    /// The same over other generations, without a cache.
    #[must_use]
    pub fn over(&self, ledgers: Arc<dyn Generations>) -> Self {
        Self { ledgers, cache: None, ..self.clone() }
    }

    /// The same, for which the newest generation stays the one that it is now: pages that follow one another without a
    /// cursor are read from one state of the data.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn pinned(&self) -> Result<Self, Error> {
        let current = self.ledgers.current()?;
        let ledgers = Arc::new(Pinned { current, all: Arc::clone(&self.ledgers) });
        Ok(Self { ledgers, given: Given::Whole, ..self.clone() })
    }

    /// Scores of addresses of a chain, of the newest generation.
    ///
    /// # Errors
    /// When a class is wanted of a chain without a classifier, or the store cannot be read.
    pub fn scorer(&self, chain: Chain, columns: ScoreColumns) -> Result<Scorer, Error> {
        Scorer::new(self.ledgers.current()?, self.intelligence.clone(), chain, columns)
    }

    /// Answers one call with its typed report; `request` is as in [`QueryEngine::answer`].
    ///
    /// # Errors
    /// See [`crate::ErrorKind`].
    pub fn ask<A: Analysis>(&self, request: &Value, cancel: &Cancel) -> Result<Response<A::Report>, Error> {
        cancel.check().map_err(LedgerError::from)?;
        let request = CanonicalRequest::new(A::ENDPOINT.name, request.clone());
        let ledger = self.ledger(request.request())?;
        let started = self.now_ms();
        let mut response = respond::<A>(&self.call(A::ENDPOINT, &request, &*ledger, cancel))?;
        if let Some(meta) = A::meta(&mut response.report) {
            meta.query_duration_ms = self.since(started);
        }
        Ok(response)
    }

    /// Answers one call.
    ///
    /// `request` is a JSON object: the body of a POST, or the query and path parameters of a GET, whose values may
    /// all be strings (`{"symbols": "btc,eth"}`); path parameters go under their own name (`{"hash": "0x..."}`).
    ///
    /// # Errors
    /// See [`crate::ErrorKind`].
    pub fn answer(&self, endpoint: &Endpoint, request: &Value, cancel: &Cancel) -> Result<Answer, Error> {
        self.answer_canonical(endpoint, &CanonicalRequest::new(endpoint.name, request.clone()), cancel)
    }

    /// Answers one call whose canonical form is known.
    ///
    /// # Errors
    /// As [`QueryEngine::answer`].
    pub fn answer_canonical(
        &self,
        endpoint: &Endpoint,
        request: &CanonicalRequest,
        cancel: &Cancel,
    ) -> Result<Answer, Error> {
        self.make(endpoint, request, cancel, Text::Now)?.into_answer(cancel)
    }

    /// Answers one call with its report as a value, of which a table can be made without any text.
    ///
    /// # Errors
    /// As [`QueryEngine::answer`].
    pub fn report(&self, endpoint: &Endpoint, request: &Value, cancel: &Cancel) -> Result<Report, Error> {
        self.make(endpoint, &CanonicalRequest::new(endpoint.name, request.clone()), cancel, Text::OnDemand)
    }

    fn make(
        &self,
        endpoint: &Endpoint,
        request: &CanonicalRequest,
        cancel: &Cancel,
        text: Text,
    ) -> Result<Report, Error> {
        cancel.check().map_err(LedgerError::from)?;
        let ledger = self.ledger(request.request())?;
        let started = self.now_ms();
        let question = Question::new(ledger.generation(), request);
        if let Some(kept) = self.cache.as_ref().and_then(|cache| cache.get(&question)) {
            return Ok(Report::of_text(complete(&kept, self.since(started), true)));
        }
        let call = self.call(endpoint, request, &*ledger, cancel);
        let Made { report, pagination, warnings, pegged, meta, is_kept, paid_items } = endpoint.run(&call)?;
        if !is_kept {
            return Ok(Report::new(report, pagination, warnings).with_pegged(pegged).with_paid_items(paid_items));
        }
        // An answer without a meta costs little to make again, and so is kept only where there is a text anyway.
        if meta.is_none() && text == Text::OnDemand {
            return Ok(Report::new(report, pagination, warnings).with_pegged(pegged).with_paid_items(paid_items));
        }
        let data = report.text(cancel)?;
        let data = match meta.and_then(|meta| Headed::new(&data, meta)) {
            Some(headed) => Data::Headed(headed),
            None if data.len() <= SMALL => Data::Whole(data),
            None => {
                let report = Report::new(report, pagination, warnings).with_pegged(pegged);
                return Ok(report.with_paid_items(paid_items).with_text(data));
            }
        };
        let kept = Arc::new(Kept { data, pagination, warnings, pegged, paid_items });
        if let Some(cache) = &self.cache {
            cache.keep(question, Arc::clone(&kept));
        }
        let Answer { data, pagination, warnings, pegged, paid_items } = complete(&kept, self.since(started), false);
        let report = Report::new(report, pagination, warnings).with_pegged(pegged);
        Ok(report.with_paid_items(paid_items).with_text(data))
    }

    /// Whether a call asks for what can be answered, without answering it. Reads the store: for threads that may block.
    ///
    /// # Errors
    /// Those of an answer that are the fault of the request.
    pub fn check(&self, endpoint: &Endpoint, request: &CanonicalRequest, shape: Shape) -> Result<(), Error> {
        let ledger = self.ledger(request.request())?;
        let max_rows = match shape {
            Shape::Envelope => MAX_LIMIT,
            Shape::Table => MAX_TABLE,
        };
        let cancel = Cancel::new();
        endpoint.check(&self.call(endpoint, request, &*ledger, &cancel), max_rows)
    }

    fn call<'a>(
        &'a self,
        endpoint: &Endpoint,
        request: &'a CanonicalRequest,
        ledger: &'a dyn Ledger,
        cancel: &'a Cancel,
    ) -> Call<'a> {
        let Endpoint { method, chains, reads, .. } = *endpoint;
        let (given, intelligence) = (self.given, &self.intelligence);
        Call { method, chains, reads, request, ledger, given, intelligence, cancel }
    }

    /// The answer of a call where it is cached and no wait is needed; `None` means to call [`QueryEngine::answer_canonical`] on a
    /// thread that may block.
    #[must_use]
    pub fn at_hand(&self, request: &CanonicalRequest, now: Instant) -> Option<Answer> {
        let cache = self.cache.as_ref()?;
        // One with a cursor is answered from the generation of that.
        if !matches!(Cursor::pinned(request.request()), Ok(None)) {
            return None;
        }
        let kept = cache.get(&Question::new(self.ledgers.at_hand(now)?, request))?;
        let took_ms = self.clock.map_or(0, |_| u64::try_from(now.elapsed().as_millis()).unwrap_or(u64::MAX));
        Some(complete(&kept, took_ms, true))
    }

    /// Answers one call as a table: its rows one after the other, at most 100,000.
    ///
    /// # Errors
    /// As [`QueryEngine::answer`]; `NotFound` where the answer is not a list ([`Endpoint::columns`]).
    pub fn table(
        &self,
        endpoint: &Endpoint,
        request: &CanonicalRequest,
        cancel: &Cancel,
        sink: &mut dyn TableSink,
    ) -> Result<(), Error> {
        cancel.check().map_err(LedgerError::from)?;
        let ledger = self.ledger(request.request())?;
        let call = self.call(endpoint, request, &*ledger, cancel);
        endpoint.write(&call, sink).unwrap_or_else(|| {
            Err(Error::new(ErrorKind::NotFound, format!("the answer of {:?} is not a list", endpoint.name)))
        })
    }

    /// The generation that a request is answered from.
    fn ledger(&self, request: &Value) -> Result<Arc<dyn Ledger>, Error> {
        Ok(match Cursor::pinned(request)? {
            Some(generation) => self.ledgers.generation(generation)?,
            None => self.ledgers.current()?,
        })
    }

    fn now_ms(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }

    fn since(&self, started: u64) -> u64 {
        self.now_ms().saturating_sub(started)
    }
}

fn complete(kept: &Kept, took_ms: u64, cached: bool) -> Answer {
    let data = match &kept.data {
        Data::Whole(text) => text.clone(),
        Data::Headed(headed) => headed.complete(took_ms, cached),
    };
    let Kept { pagination, paid_items, .. } = *kept;
    Answer { data, pagination, warnings: kept.warnings.clone(), pegged: kept.pegged.clone(), paid_items }
}

/// Generations of which the newest one does not change.
struct Pinned {
    current: Arc<dyn Ledger>,
    all: Arc<dyn Generations>,
}

impl Generations for Pinned {
    fn current(&self) -> Result<Arc<dyn Ledger>, LedgerError> {
        Ok(Arc::clone(&self.current))
    }

    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>, LedgerError> {
        self.all.generation(number)
    }

    fn feed(&self) -> Result<Feed, LedgerError> {
        self.all.feed()
    }
}
