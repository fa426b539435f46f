//! The desk: takes a call by name and gives the answer.

use std::sync::Arc;

use headwater_ledger::Cancel;
use headwater_ledger::read::Generations;
use serde_json::Value;

use crate::analyses::{Call, Description, entry};
use crate::request::Cursor;
use crate::{Answer, Endpoint, Error, ErrorKind};

/// Answers calls over a source of generations. Cheap to clone; share one among all callers.
#[derive(Clone)]
pub struct Desk {
    ledgers: Arc<dyn Generations>,
}

impl Desk {
    /// A desk over a store, or over frames in memory.
    #[must_use]
    pub fn new(ledgers: Arc<dyn Generations>) -> Self {
        Self { ledgers }
    }

    /// Answers one call.
    ///
    /// `request` is a JSON object: the body of a POST, or the query and path parameters of a GET, whose values may
    /// all be strings (`{"symbols": "btc,eth"}`); path parameters go under their own name (`{"hash": "0x..."}`).
    ///
    /// # Errors
    /// See [`crate::ErrorKind`].
    pub fn answer(&self, endpoint: &Endpoint, request: &Value, cancel: &Cancel) -> Result<Answer, Error> {
        cancel.check().map_err(headwater_ledger::LedgerError::from)?;
        let entry = entry(endpoint.name)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("there is no call named {:?}", endpoint.name)))?;
        let ledger = match Cursor::pinned(request)? {
            Some(generation) => self.ledgers.generation(generation)?,
            None => self.ledgers.current()?,
        };
        (entry.run)(&Call { endpoint, request, ledger: &*ledger, cancel })
    }

    /// Request and answer of an endpoint, for its documentation; `None` when there is no such call.
    #[must_use]
    pub fn describe(endpoint: &Endpoint) -> Option<Description> {
        entry(endpoint.name).map(|entry| (entry.describe)())
    }
}
