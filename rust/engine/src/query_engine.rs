//! The query engine: takes a call by name and gives the answer.

use std::sync::Arc;

use headwater_ledger::feed::Feed;
use headwater_ledger::read::Generations;
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::Chain;

use crate::address_chains::chains_of;
use crate::analysis::{Analysis, respond};
use crate::endpoint::Query;
use crate::endpoint::{Call, Clock};
use crate::limits::{MAX_LIMIT, MAX_TABLE};
use crate::request::{Arguments, ListSize};
use crate::score::{ScoreColumns, Scorer};
use crate::{Answer, Endpoint, Error, ErrorKind, Intelligence, Response, TableSink};

/// Answers calls over a source of generations. Cheap to clone; share one among all callers.
#[derive(Clone)]
pub struct QueryEngine {
    ledgers: Arc<dyn Generations>,
    clock: Option<Clock>,
    list_size: ListSize,
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

impl QueryEngine {
    /// An engine over a store, or over frames in memory, without a clock.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>) -> Self {
        let (clock, list_size, intelligence) = (None, ListSize::Pages, Intelligence::default());
        Self { ledgers, clock, list_size, intelligence }
    }

    /// The same with a clock, by which `query_duration_ms` is measured.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock: Some(clock), ..self }
    }

    /// The same with what judgements rest on besides the ledger.
    #[must_use]
    pub fn with_intelligence(self, intelligence: Intelligence) -> Self {
        Self { intelligence, ..self }
    }

    /// The same with whole lists: a request without a limit has all rows, and a limit may be any number.
    #[must_use]
    pub fn with_whole_lists(self) -> Self {
        Self { list_size: ListSize::Whole, ..self }
    }

    /// The same over other generations.
    #[must_use]
    pub fn over(&self, ledgers: Arc<dyn Generations>) -> Self {
        Self { ledgers, ..self.clone() }
    }

    /// The same, for which the newest generation stays the one that it is now: pages that follow one another without a
    /// cursor are read from one state of the data.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn pinned(&self) -> Result<Self, Error> {
        let current = self.ledgers.current()?;
        let ledgers = Arc::new(Pinned { current, all: Arc::clone(&self.ledgers) });
        Ok(Self { ledgers, list_size: ListSize::Whole, ..self.clone() })
    }

    /// Scores of addresses of a chain, of the newest generation.
    ///
    /// # Errors
    /// When a class is wanted of a chain without a classifier, or the store cannot be read.
    pub fn scorer(&self, chain: Chain, columns: ScoreColumns) -> Result<Scorer, Error> {
        let ledger = self.ledgers.current()?;
        let store = self.ledgers.fingerprint(ledger.generation())?;
        Scorer::new((ledger, store), self.intelligence.clone(), chain, columns)
    }

    /// Returns the chains that an address can be on, for calls that name none: those whose addresses have its form; of
    /// several those on which it has movements, else those with movements of anybody. Never empty.
    ///
    /// # Errors
    /// When the text is not an address of any chain, or the store cannot be read.
    pub fn chains_of(&self, address: &str) -> Result<Vec<Chain>, Error> {
        chains_of(&*self.ledgers.current()?, address)
    }

    /// Answers one call with its typed report.
    ///
    /// # Errors
    /// See [`crate::ErrorKind`].
    pub fn ask<A: Analysis>(
        &self,
        arguments: impl Into<Arguments>,
        cancel: &Cancel,
    ) -> Result<Response<A::Report>, Error> {
        cancel.check().map_err(LedgerError::from)?;
        let query = A::ENDPOINT.query(arguments);
        let ledger = self.ledger(&query)?;
        respond::<A>(&self.call(&query, &*ledger, cancel))
    }

    /// Answers one call of an endpoint that is known by its name.
    ///
    /// # Errors
    /// See [`crate::ErrorKind`].
    pub fn answer(
        &self,
        endpoint: &Endpoint,
        arguments: impl Into<Arguments>,
        cancel: &Cancel,
    ) -> Result<Answer, Error> {
        cancel.check().map_err(LedgerError::from)?;
        let query = endpoint.query(arguments);
        self.answer_from(&*self.ledger(&query)?, &query, cancel)
    }

    /// Answers a query from a generation, which [`QueryEngine::ledger`] gives.
    ///
    /// # Errors
    /// See [`crate::ErrorKind`].
    pub fn answer_from(&self, ledger: &dyn Ledger, query: &Query, cancel: &Cancel) -> Result<Answer, Error> {
        cancel.check().map_err(LedgerError::from)?;
        query.endpoint().answer(&self.call(query, ledger, cancel))
    }

    /// Checks a query without answering it. Reads the store: for threads that may block.
    ///
    /// # Errors
    /// Those of an answer that are the fault of the request.
    pub fn check(&self, query: &Query, shape: Shape) -> Result<(), Error> {
        let ledger = self.ledger(query)?;
        let max_rows = match shape {
            Shape::Envelope => MAX_LIMIT,
            Shape::Table => MAX_TABLE,
        };
        query.endpoint().check(&self.call(query, &*ledger, &Cancel::new()), max_rows)
    }

    /// Answers a query as a table: its rows one after the other, at most 100,000.
    ///
    /// # Errors
    /// As [`QueryEngine::answer`]; `NotFound` where the answer is not a list ([`Endpoint::columns`]).
    pub fn table(&self, query: &Query, cancel: &Cancel, sink: &mut dyn TableSink) -> Result<(), Error> {
        cancel.check().map_err(LedgerError::from)?;
        let ledger = self.ledger(query)?;
        query.endpoint().write(&self.call(query, &*ledger, cancel), sink).unwrap_or_else(|| {
            let name = query.endpoint().name;
            Err(Error::new(ErrorKind::NotFound, format!("the answer of {name:?} is not a list")))
        })
    }

    /// Returns the generation that a query is answered from: that of its cursor, else the newest.
    ///
    /// # Errors
    /// When the cursor is not valid, or the store cannot be read.
    pub fn ledger(&self, query: &Query) -> Result<Arc<dyn Ledger>, Error> {
        Ok(match query.generation()? {
            Some(generation) => self.ledgers.generation(generation)?,
            None => self.ledgers.current()?,
        })
    }

    fn call<'a>(&'a self, query: &'a Query, ledger: &'a dyn Ledger, cancel: &'a Cancel) -> Call<'a> {
        let Self { list_size, clock, intelligence, .. } = self;
        Call { query, ledger, list_size: *list_size, clock: *clock, intelligence, cancel }
    }
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

    fn fingerprint(&self, number: u64) -> Result<Option<String>, LedgerError> {
        self.all.fingerprint(number)
    }

    fn feed(&self) -> Result<Feed, LedgerError> {
        self.all.feed()
    }
}
